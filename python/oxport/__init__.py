"""Run, check and improve programs exported by `torch.export`, without PyTorch.

    import oxport

    program = oxport.load("model.pt2")      # nothing in the file is executed
    y = program(x)                          # arrays in, arrays out, as the module that was exported

Arrays are read in place: NumPy's, tensors of PyTorch on the CPU, and whatever has the array interface or DLPack.
"""

from __future__ import annotations

import os

from ._oxport import Fake, Operator, Program, Rule, SymInt, Tensor, convert, diff, read_values, scan
from ._oxport import capture as _capture
from ._oxport import read as _read
from .errors import (
    Diagnostic,
    Error,
    FileError,
    InputError,
    LimitError,
    ProgramError,
    RunError,
    UnsupportedError,
    UsageError,
)
from .ports import Port
from .pytree import register_dataclass, register_namedtuple, register_pytree_node

# Imported for type checkers only: these modules take longer to import than this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any, BinaryIO

    import torch.export

__version__ = "0.1.0"

__all__ = [
    "Diagnostic",
    "Error",
    "Fake",
    "FileError",
    "InputError",
    "LimitError",
    "Operator",
    "Port",
    "Program",
    "ProgramError",
    "Rule",
    "RunError",
    "SymInt",
    "Tensor",
    "UnsupportedError",
    "UsageError",
    "capture",
    "convert",
    "diff",
    "load",
    "operator",
    "optimize",
    "read_values",
    "register_dataclass",
    "register_namedtuple",
    "register_pytree_node",
    "scan",
    "verify",
]


def load(
    file: str | os.PathLike[str] | bytes | BinaryIO,
    *,
    opt: str = "exact",
    threads: int = 0,
    seed: int = 0,
    checks: str = "torch",
    model: str | None = None,
    limits: Sequence[str] = (),
    operators: Iterable[Operator] = (),
) -> Program:
    """Reads a program: a `.pt2` archive, a `.json` program with `.safetensors` beside it, a text, or an archive's bytes.

    Args:
        file: a path, the bytes of a `.pt2` archive, or a file that is open for reading bytes.
        opt: how the program is optimized before it runs: `none`, `exact` (the same bits) or `fast` (may round otherwise).
        threads: the number of threads of a call; 0 means all cores.
        seed: the seed of random operators.
        checks: how strictly inputs are checked: `torch` as PyTorch does, or `strict` (dtypes and full ranges, too).
        model: which model of an archive with several.
        limits: raised or lowered limits, as `"nodes=1M"`.
        operators: operators of yours that the program calls.

    Weights of a path are mapped: they are read when they are used. Processes share those that are used in place; weights
    of products and convolutions are packed, once for each process.
    """
    settings = (opt, threads, seed, checks, model, list(limits), list(operators))
    if isinstance(file, bytes):
        return _read(None, file, *settings)
    if isinstance(file, (str, os.PathLike)):
        return _read(file, None, *settings)
    return _read(None, file.read(), *settings)


def verify(file: str | os.PathLike[str] | bytes | BinaryIO) -> list[Diagnostic]:
    """All problems of a program, those that keep it from being read included; an empty list if it is valid."""
    try:
        return load(file).verify()
    except ProgramError as error:
        if error.diagnostics:
            return error.diagnostics
        raise


def capture(
    file: str | os.PathLike[str],
    entry: str,
    inputs: Sequence[str] = (),
    *,
    dims: Sequence[str] = (),
    weights: str | os.PathLike[str] | None = None,
    path: Sequence[str | os.PathLike[str]] = (),
    train: bool = False,
    opt: str = "exact",
    threads: int = 0,
    seed: int = 0,
    checks: str = "torch",
) -> Program:
    """Captures a module of PyTorch source, without running it in Python and without PyTorch.

    Args:
        file: the source file.
        entry: the module's class with its arguments, as `"Net(3, bias=False)"`, or a function.
        inputs: the arguments of the call, as `"x: f32[b, 3, 224, 224]"` or `"n: 3"`.
        dims: the ranges of named sizes, as `"b=1..64"`.
        weights: the state dict, safetensors or a `.pth` of `torch.save`.
        path: folders in which imports are found, beside the file's own.
        train: leaves the module in training mode.
    """
    return _capture(
        file, entry, list(inputs), list(dims), weights, list(path), train, (opt, threads, seed, checks)
    )


def operator(
    schema: str, *, meta: Callable[..., Any] | None = None
) -> Callable[[Callable[..., Any]], Operator]:
    """Makes an operator of a function, as a decorator.

        @oxport.operator("mylib::scale(Tensor x, float by) -> Tensor")
        def scale(x, by):
            return x * by

        program = oxport.load("model.pt2", operators=[scale])

    The function is given arrays of NumPy (read-only) and numbers, and returns arrays. `meta` says what the results are:
    it is given `oxport.Fake` for tensors and gives one for each result. By default the result is as the first tensor.
    """

    def like_first(*args: Any) -> Any:
        return next(a for a in args if isinstance(a, Fake))

    return lambda function: Operator(schema, meta or like_first, function)


def optimize(
    program: torch.export.ExportedProgram | Program, *, rules: str = "exact", **settings: Any
) -> torch.export.ExportedProgram | Program:
    """Optimizes a program by equality saturation; a program of PyTorch is given back as one.

    It goes through the bytes of an archive in memory: `torch.export.save`, `Program.optimize`, `torch.export.load`.
    For PyTorch's own execution, `target="aten"` is the default. Settings are those of `Program.optimize`.
    """
    if isinstance(program, Program):
        return program.optimize(rules, **settings)
    import io

    import torch.export

    file = io.BytesIO()
    torch.export.save(program, file)
    settings.setdefault("target", "aten")
    better = load(file.getvalue()).optimize(rules, **settings)
    return torch.export.load(io.BytesIO(better.to_bytes()))
