"""The exceptions of this package, and what they carry."""

from __future__ import annotations

from collections import namedtuple


class Diagnostic(namedtuple("Diagnostic", ["code", "severity", "at", "message", "notes"])):
    """One problem of a program: a stable code, how bad it is, where it is, what is wrong, and what would help."""

    __slots__ = ()

    def __str__(self) -> str:
        notes = "".join(f"\n  note: {note}" for note in self.notes)
        return f"{self.severity}[{self.code}] at {self.at}: {self.message}{notes}"


class Error(Exception):
    """What every exception of this package is."""

    #: The diagnostics of an invalid program or file, else empty.
    diagnostics: list[Diagnostic] = []


class UsageError(Error, ValueError):
    """An argument of a function of this package is wrong."""


class ProgramError(Error, ValueError):
    """A program or file is not valid; `diagnostics` has every problem."""


class UnsupportedError(Error, NotImplementedError):
    """A program is valid, and something in it is not supported; `missing` has operators without a kernel."""

    missing: list[str] = []


class RunError(Error, RuntimeError):
    """A call failed: an assertion of the program, an operator, memory."""


class InputError(RunError, ValueError):
    """The arguments of a call are not those of the program: their structure, shapes, or dtypes."""


class LimitError(RunError, MemoryError):
    """A call needs a larger buffer than is allowed."""


class FileError(Error, OSError):
    """A file cannot be read or written, or holds something else than expected; `path` says which, where it is known."""

    path: object = None
