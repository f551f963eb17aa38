"""What a call of a program takes and gives."""

from __future__ import annotations

from collections import namedtuple


class Port(namedtuple("Port", ["key", "path", "value", "is_constant"])):
    """An input or output: the key of tensor files, the path in the caller's code, and what it is.

    `value` is an `oxport.Fake` for a tensor, else a number, a string or None; `is_constant` is true for an input that
    must have this value.
    """

    __slots__ = ()

    def __str__(self) -> str:
        return f"{self.path or self.key}: {self.value}"
