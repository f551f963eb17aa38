"""Classes that results are made of.

A program names the classes of its arguments and results as `torch.export` registered them. Arguments of your own named
tuples and dataclasses need no registration; results of registered classes are made of them, others of plain containers:
a named tuple of that name, or a dict for a dataclass. Nothing is ever imported because a file names it.
"""

from __future__ import annotations

import collections
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

#: The serialized names of registered named tuples and dataclasses, by class.
NAMES: dict[type, str] = {}
_CLASSES: dict[str, type] = {}
_FLATTEN: dict[type, tuple[str, Callable[[Any], tuple[Iterable[Any], str]]]] = {}
_UNFLATTEN: dict[str, Callable[[list[Any], str], Any]] = {}
_GENERATED: dict[tuple[str, tuple[str, ...]], type] = {}


def _name(cls: type, name: str | None) -> str:
    return name if name is not None else f"{cls.__module__}.{cls.__qualname__}"


def register_dataclass(cls: type, *, serialized_type_name: str | None = None) -> None:
    """Makes results of this dataclass, where a program names it as `torch.export.register_dataclass` did."""
    if not hasattr(cls, "__dataclass_fields__"):
        raise TypeError(f"expected a dataclass, got {cls!r}")
    _register(cls, serialized_type_name)


def register_namedtuple(cls: type, *, serialized_type_name: str | None = None) -> None:
    """Makes results of this named tuple, where a program names it so."""
    if not (issubclass(cls, tuple) and hasattr(cls, "_fields")):
        raise TypeError(f"expected a named tuple, got {cls!r}")
    _register(cls, serialized_type_name)


def _register(cls: type, name: str | None) -> None:
    name = _name(cls, name)
    NAMES[cls] = name
    _CLASSES[name] = cls


def register_pytree_node(
    cls: type,
    flatten: Callable[[Any], tuple[Iterable[Any], str]],
    unflatten: Callable[[list[Any], str], Any],
    *,
    serialized_type_name: str | None = None,
) -> None:
    """Takes objects of a class apart and makes them.

    `flatten` gives the children and the context as the JSON text that the program has, `unflatten` is given both.
    """
    name = _name(cls, serialized_type_name)
    _FLATTEN[cls] = (name, flatten)
    _UNFLATTEN[name] = unflatten


def _flatten(x: Any) -> tuple[str, tuple[list[Any], str]] | None:
    found = _FLATTEN.get(type(x))
    if found is None:
        return None
    name, flatten = found
    children, context = flatten(x)
    return name, (list(children), context)


def _named_tuple(name: str, fields: list[str] | None, children: list[Any]) -> Any:
    cls = _CLASSES.get(name)
    if cls is not None:
        return cls(*children)
    if fields is None or not all(f.isidentifier() for f in fields):
        return tuple(children)
    key = (name, tuple(fields))
    if key not in _GENERATED:
        short = name.rsplit(".", 1)[-1]
        made = collections.namedtuple(short if short.isidentifier() else "NamedTuple", fields, rename=True)
        _GENERATED[key] = made
    return _GENERATED[key](*children)


def _dataclass(name: str, fields: list[str], children: list[Any], none: list[str]) -> Any:
    values = dict(zip(fields, children)) | dict.fromkeys(none)
    cls = _CLASSES.get(name)
    return values if cls is None else cls(**values)


def _return_type(name: str, children: list[Any]) -> Any:
    torch = sys.modules.get("torch")
    cls = getattr(getattr(torch, "return_types", None), name, None)
    return tuple(children) if cls is None else cls(children)


def _custom(name: str, context: str, children: list[Any]) -> Any:
    unflatten = _UNFLATTEN.get(name)
    return tuple(children) if unflatten is None else unflatten(children, context)
