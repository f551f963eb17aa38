# packaging.version: the order of versions (PEP 440), without the checks.

import re


class InvalidVersion(ValueError):
    pass


_PARTS = re.compile(r"^\s*v?(?:(\d+)!)?(\d+(?:\.\d+)*)[-_.]?(?:(a|alpha|b|beta|c|rc|pre|preview)[-_.]?(\d*))?(?:[-_.]?(post|rev|r)[-_.]?(\d*)|-(\d+))?(?:[-_.]?(dev)[-_.]?(\d*))?(?:\+([a-z0-9.]+))?\s*$", re.IGNORECASE)
_PHASES = {"a": "a", "alpha": "a", "b": "b", "beta": "b", "c": "rc", "rc": "rc", "pre": "rc", "preview": "rc"}


class Version:
    def __init__(self, text):
        found = _PARTS.match(text)
        if found is None:
            raise InvalidVersion(f"Invalid version: {text!r}")
        epoch, release, phase, phase_n, post, post_n, dash_n, dev, dev_n, local = found.groups()
        self._text = text.strip()
        self.epoch = int(epoch or 0)
        self.release = tuple(int(part) for part in release.split("."))
        self.pre = (_PHASES[phase.lower()], int(phase_n or 0)) if phase else None
        self.post = int(post_n or dash_n or 0) if post or dash_n else None
        self.dev = int(dev_n or 0) if dev else None
        self.local = local
        self.major, self.minor, self.micro = (self.release + (0, 0, 0))[:3]
        self.is_prerelease = self.pre is not None or self.dev is not None
        self.is_devrelease, self.is_postrelease = self.dev is not None, self.post is not None
        self.base_version = (f"{self.epoch}!" if self.epoch else "") + ".".join(str(part) for part in self.release)
        self.public = self._text.split("+")[0]
        trimmed = list(self.release)
        while len(trimmed) > 1 and trimmed[-1] == 0:
            trimmed.pop()
        if self.pre is None and self.post is None and self.dev is not None:
            pre = ("", 0)
        else:
            pre = self.pre or ("z", 0)
        post = -1 if self.post is None else self.post
        dev = float("inf") if self.dev is None else self.dev
        self._key = (self.epoch, trimmed, pre, post, dev, local or "")

    def __str__(self):
        return self._text

    def __repr__(self):
        return f"<Version('{self._text}')>"

    def __hash__(self):
        return hash(str(self._key))

    def __eq__(self, other):
        return isinstance(other, Version) and self._key == other._key

    def __lt__(self, other):
        return self._key < other._key

    def __le__(self, other):
        return self._key <= other._key

    def __gt__(self, other):
        return self._key > other._key

    def __ge__(self, other):
        return self._key >= other._key


def parse(text):
    return Version(text)
