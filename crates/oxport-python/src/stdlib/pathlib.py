# Paths as texts; what asks the disk is refused.

import pathlib


def _parts(text):
    root = "/" if text.startswith("/") else ""
    return root, [part for part in text.split("/") if part not in ("", ".")]


class PurePath:
    def __init__(self, *segments):
        text = ""
        for segment in segments:
            segment = str(segment)
            text = segment if segment.startswith("/") or not text else text + "/" + segment
        self.root, self._tail = _parts(text)

    def _of(self, tail):
        made = type(self)(self.root)
        made.root, made._tail = self.root, list(tail)
        return made

    def __str__(self):
        return self.root + "/".join(self._tail) or "."

    __fspath__ = as_posix = __str__

    def __repr__(self):
        name = {"PurePath": "PurePosixPath", "Path": "PosixPath"}.get(type(self).__name__, type(self).__name__)
        return f"{name}({str(self)!r})"

    def __truediv__(self, other):
        return type(self)(self, other)

    def __rtruediv__(self, other):
        return type(self)(other, self)

    def __eq__(self, other):
        return isinstance(other, PurePath) and str(self) == str(other)

    def __lt__(self, other):
        return self.parts < other.parts

    def __hash__(self):
        return hash(str(self))

    def joinpath(self, *segments):
        return type(self)(self, *segments)

    drive = ""
    anchor = property(lambda self: self.root)
    parts = property(lambda self: ((self.root,) if self.root else ()) + tuple(self._tail))
    parent = property(lambda self: self._of(self._tail[:-1]))
    parents = property(lambda self: tuple(self._of(self._tail[:i]) for i in reversed(range(len(self._tail)))))
    name = property(lambda self: self._tail[-1] if self._tail else "")

    @property
    def suffix(self):
        name = self.name
        at = name.rfind(".")
        return name[at:] if 0 < at < len(name) - 1 else ""

    @property
    def suffixes(self):
        return ["." + part for part in self.name.lstrip(".").split(".")[1:]]

    @property
    def stem(self):
        return self.name[: len(self.name) - len(self.suffix)]

    def with_name(self, name):
        return self._of(self._tail[:-1] + [name])

    def with_suffix(self, suffix):
        return self.with_name(self.stem + suffix)

    def with_stem(self, stem):
        return self.with_name(stem + self.suffix)

    def is_absolute(self):
        return self.root != ""

    def relative_to(self, other):
        other = PurePath(other)
        if self.parts[: len(other.parts)] != other.parts:
            message = f"{str(self)!r} is not in the subpath of {str(other)!r} OR one path is relative and the other is absolute."
            raise ValueError(message)
        made = self._of(self.parts[len(other.parts):])
        made.root = ""
        return made

    def is_relative_to(self, other):
        parts = PurePath(other).parts
        return self.parts[: len(parts)] == parts


class Path(PurePath):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(pathlib, f"Path.{name}")

    def expanduser(self):
        return self

    absolute = resolve = expanduser

    @classmethod
    def cwd(cls):
        return cls(".")

    @classmethod
    def home(cls):
        return cls("~")


PurePosixPath, PosixPath = PurePath, Path
