"""Graphs of programs, to be inspected and edited as with `torch.fx`.

`program.graph` is a `Graph` over a copy of the program. Its nodes are read and edited under the names that `torch.fx`
has; `program.recompile()` checks the edited program as a whole, and only then the program is that one. PyTorch is not
needed, and not imported: its operators, dtypes and functions are taken where they are given.
"""

from __future__ import annotations

import json
import threading
import weakref
from collections.abc import Iterator, MutableMapping
from typing import Any

from oxport import _oxport
from oxport._oxport import Graph, Node, Program
from oxport.errors import UsageError

__all__ = ["Graph", "GraphError", "Meta", "Node", "Target", "device", "dtype", "layout", "memory_format"]


class GraphError(UsageError, RuntimeError):
    """An edit of a graph is refused; the graph is as it was."""


_PYTHON = ("_operator", "math", "builtins", "torch")


def _name(text: str) -> str:
    """The name of an operator in any spelling: `aten::add.Tensor`, `aten::relu`, `_operator::add`."""
    if text.startswith("operator."):
        return "_operator::" + text.removeprefix("operator.")
    if "::" in text:
        return text.removesuffix(".default")
    first, _, rest = text.removeprefix("torch.ops.").partition(".")
    if not rest:
        return f"higher_order::{first}"
    if first in _PYTHON and not text.startswith("torch.ops."):
        return "::".join(text.rsplit(".", 1))
    return f"{first}::{rest.removesuffix('.default')}"


def _refuse(self: object, *args: object, **kwargs: object) -> Any:
    raise GraphError(
        "what is read of a node is a copy: set its `args` or `kwargs`, or call `update_arg` or `update_kwarg`"
    )


class immutable_list(list[Any]):
    """A list among the arguments of a node; a node is not changed by changing it, and so it cannot be."""

    append = clear = extend = insert = pop = remove = reverse = sort = _refuse
    __delitem__ = __iadd__ = __imul__ = __setitem__ = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))

    def __reduce__(self) -> Any:
        return immutable_list, (tuple(self),)


class immutable_dict(dict[str, Any]):
    """A dict that is read of a node; a node is not changed by changing it, and so it cannot be."""

    clear = pop = popitem = setdefault = update = _refuse
    __delitem__ = __ior__ = __setitem__ = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> Any:
        return immutable_dict, (tuple(self.items()),)


class Target(str):
    """What a call calls, as PyTorch prints its operator: `aten.add.Tensor`, `operator.getitem`, `cond`.

    It is equal to every spelling of the operator (`aten::add.Tensor`, `torch.ops.aten.add.Tensor`), and to the operator
    itself; as the key of a dict it is the text that it prints.
    """

    __slots__ = ("qualified",)

    #: With the module: `torch.ops.aten.add.Tensor`, `operator.getitem`.
    qualified: str

    def __new__(cls, text: str) -> Target:
        shown = text.removeprefix("torch.ops.").removeprefix("higher_order.")
        full = text
        if text.startswith("_operator."):
            shown = full = text.removeprefix("_")
        own = super().__new__(cls, shown)
        own.qualified = full
        return own

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Target):
            return self.qualified == other.qualified
        if isinstance(other, str):
            return _name(self.qualified) == _name(other)
        if callable(other):
            try:
                return _name(self.qualified) == _name(_target_of(other))
            except GraphError:
                return False
        return NotImplemented

    def __ne__(self, other: object) -> bool:
        same = self.__eq__(other)
        return same if same is NotImplemented else not same

    __hash__ = str.__hash__


def _target_of(target: Any) -> str:
    """The name of what is called: an operator of PyTorch, or a function of Python."""
    classes = {c.__name__ for c in type(target).__mro__ if c.__module__ == "torch._ops"}
    if "HigherOrderOperator" in classes:
        return f"higher_order::{target.name()}"
    if "OpOverload" in classes:
        return f"torch.ops.{target}"
    if classes:
        raise GraphError(f"expected an operator with its overload, such as aten.add.Tensor, got {target}")
    module, name = getattr(target, "__module__", None), getattr(target, "__name__", None)
    if not isinstance(module, str) or not isinstance(name, str):
        raise GraphError(f"expected an operator, got {type(target).__name__}")
    return f"{'_operator' if module == 'operator' else module}::{name}"


class _Constant(str):
    """A constant of PyTorch by its name: equal to that of PyTorch, and to the name without `torch.`."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if type(other).__module__ == "torch":
            other = str(other)
        if isinstance(other, str):
            return self.removeprefix("torch.") == other.removeprefix("torch.")
        return NotImplemented

    def __ne__(self, other: object) -> bool:
        same = self.__eq__(other)
        return same if same is NotImplemented else not same

    __hash__ = str.__hash__

    def __repr__(self) -> str:
        return str.__str__(self)


class _OfTorch(_Constant):
    __slots__ = ()

    def __new__(cls, name: str) -> Any:
        return super().__new__(cls, "torch." + str(name).removeprefix("torch."))


class dtype(_OfTorch):
    """A dtype as an argument: `dtype("float32")` is equal to `torch.float32`."""

    __slots__ = ()


class layout(_OfTorch):
    """A layout as an argument: `layout("strided")`."""

    __slots__ = ()


class memory_format(_OfTorch):
    """A memory format as an argument: `memory_format("channels_last")`."""

    __slots__ = ()


class device(_Constant):
    """A device as an argument: `device("cpu")`, `device("cuda:0")`."""

    __slots__ = ()

    def __repr__(self) -> str:
        kind, _, index = self.partition(":")
        return f"device(type='{kind}', index={index})" if index else f"device(type='{kind}')"


class Meta(MutableMapping[str, Any]):
    """The metadata of a node: `val`, which the graph infers, and what was recorded at the export.

    | key | value |
    |---|---|
    | `val` | an `oxport.Fake`, a number or `oxport.SymInt`, or a list of these; it cannot be set |
    | `stack_trace` | a string |
    | `nn_module_stack` | a dict from keys to pairs of a module's path and class |
    | `source_fn_stack` | a list of pairs of a name and a target |
    | `torch_fn` | a tuple of strings |
    | `from_node`, `custom` | lists and dicts of plain data |
    | any other | a string |

    What is set is kept by the program, and written to its file; a program keeps nothing but this.
    """

    __slots__ = ("_node",)

    def __init__(self, node: Node) -> None:
        self._node = node

    def __getitem__(self, key: str) -> Any:
        if key == "val":
            val = self._node._val()
            if val is None:
                raise KeyError(key)
            return val[0]
        return _parsed(key, self._node._texts()[key])

    def __setitem__(self, key: str, value: Any) -> None:
        if not isinstance(key, str):
            raise GraphError(f"expected a string as a key of metadata, got {type(key).__name__}")
        self._node._set_text(key, _written(key, value))

    def __delitem__(self, key: str) -> None:
        if key not in self:
            raise KeyError(key)
        self._node._set_text(key, None)

    def __iter__(self) -> Iterator[str]:
        if self._node._val() is not None:
            yield "val"
        yield from self._node._texts()

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return repr(dict(self))


def _apart(entry: str) -> list[str]:
    """The parts between commas that are in no brackets."""
    parts, depth = [""], 0
    for c in entry:
        depth += (c in "([") - (c in ")]")
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return parts


def _parsed(key: str, text: str) -> Any:
    """A text of metadata as PyTorch has it; one that is not as PyTorch writes it, as it is."""
    entries = [entry for entry in text.split(";") if entry]
    if key == "nn_module_stack":
        parts = [_apart(entry) for entry in entries]
        return {p[0]: (p[1], p[2]) for p in parts} if all(len(p) == 3 for p in parts) else text
    if key == "source_fn_stack":
        parts = [entry.split(",") for entry in entries]
        return [(p[0], p[1]) for p in parts] if all(len(p) == 2 for p in parts) else text
    if key == "torch_fn":
        return tuple(entries)
    if key in ("from_node", "custom"):
        try:
            return json.loads(text)
        except ValueError:
            return text
    return text


def _written(key: str, value: Any) -> str:
    """The text of a value of metadata."""
    if isinstance(value, str):
        return value
    parts: list[Any] | None = None
    if key == "nn_module_stack" and isinstance(value, dict):
        parts = [[name, *entry] for name, entry in value.items()]
        if any(len(p) != 3 for p in parts):
            raise GraphError("nn_module_stack: expected a dict from keys to pairs of path and class")
    elif key == "source_fn_stack" and isinstance(value, (list, tuple)):
        parts = [list(entry) for entry in value]
        if any(len(p) != 2 for p in parts):
            raise GraphError("source_fn_stack: expected a list of pairs of name and target")
    elif key == "torch_fn" and isinstance(value, (list, tuple)):
        parts = [[entry] for entry in value]
    if parts is not None:
        if not all(isinstance(part, str) and ";" not in part for entry in parts for part in entry):
            raise GraphError(f"{key}: expected strings without `;`")
        return ";".join(",".join(entry) for entry in parts)
    if key in ("from_node", "custom"):
        try:
            return json.dumps(value)
        except (TypeError, ValueError) as e:
            raise GraphError(f"{key}: {e}") from None
    raise GraphError(f"{key}: expected a string, which is what a program keeps, got {type(value).__name__}")


def _format_argument(a: Any) -> str:
    if isinstance(a, Node):
        return f"%{a.name}"
    if isinstance(a, tuple):
        return f"({', '.join(map(_format_argument, a))}{',' if len(a) == 1 else ''})"
    if isinstance(a, list):
        return f"[{', '.join(map(_format_argument, a))}]"
    if isinstance(a, dict):
        return f"{{{', '.join(f'{key}: {_format_argument(value)}' for key, value in a.items())}}}"
    return str(a)


def _format_node(node: Node, include_tensor_metadata: bool) -> str:
    if node.op == "output":
        return f"return {node.args[0]}"
    target = node.target
    described = ""
    if node.op == "call_function" and include_tensor_metadata:
        val = node.meta.get("val")
        if isinstance(val, _oxport.Fake):
            strides = ", ".join(map(str, val.strides))
            described = f'Tensor "{val}[{strides}]{val.device}"'
    line = f"%{node.name} : {described}[num_users={len(node.users)}] = {node.op}"
    if node.op != "call_function":
        default = f"(default={node.args[0]})" if node.args else ""
        return f"{line}[target={target}]{default}"
    args, kwargs = _format_argument(node.args), _format_argument(node.kwargs)
    return f"{line}[target={target.qualified}](args = {args}, kwargs = {kwargs})"


def _print_tabular(graph: Graph) -> None:
    rows = [["opcode", "name", "target", "args", "kwargs"]]
    rows += [[n.op, n.name, str(n.target), str(n.args), str(n.kwargs)] for n in graph.nodes]
    widths = [max(len(row[i]) for row in rows) for i in range(5)]
    rows.insert(1, ["-" * width for width in widths])
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


_graphs: weakref.WeakKeyDictionary[Program, Graph] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


def _graph(program: Program) -> Graph:
    """The graph of this program, the same object each time. Edits take effect by `recompile`."""
    with _lock:
        graph = _graphs.get(program)
    if graph is None:
        made = _oxport._graph_of(program)
        with _lock:
            graph = _graphs.setdefault(program, made)
    _oxport._follow(program, graph)
    return graph


def _recompile(self: Program) -> None:
    """Takes the edits of `graph`, after the whole program was checked; an error leaves program and graph as they were.

    Raises `ProgramError` with everything that is wrong with the edited program.
    """
    with _lock:
        graph = _graphs.get(self)
    if graph is not None:
        _oxport._recompile(self, graph)


def _reset(graph: Graph) -> None:
    program = graph.owning_program
    if program is None:
        raise GraphError("a copy of a graph belongs to no program that it could be set back to")
    _oxport._reset(program, graph)
