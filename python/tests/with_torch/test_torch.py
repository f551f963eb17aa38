"""Beside PyTorch: every program of the fixtures is called as the module that was exported, with tensors.

Run by hand, in an environment with PyTorch: `pytest python/tests/with_torch`.
"""

from __future__ import annotations

import importlib
import io
import pathlib
import sys
import threading

import numpy as np
import oxport
import pytest

torch = pytest.importorskip("torch", reason="these tests compare with PyTorch")
import torch.utils._pytree as pytree  # noqa: E402

PROGRAMS = pathlib.Path(__file__).resolve().parents[3] / "fixtures" / "programs"
NAMES = sorted(p.name for p in PROGRAMS.iterdir() if (p / "program.pt2").exists())

# Classes and operators that programs of the fixtures name: PyTorch loads them where they are registered.
sys.path.insert(0, str(PROGRAMS.parent))
zoo = importlib.import_module("zoo")
oxport.register_namedtuple(zoo.Pair, serialized_type_name="fixtures.Pair")
oxport.register_dataclass(zoo.Sample, serialized_type_name="fixtures.Sample")
#: What a program needs beside PyTorch.
NEEDS = {"torchvision_regions": "torchvision", "torchao_dynamic": "torchao", "torchao_weight_only": "torchao"}


def exported(name: str) -> torch.export.ExportedProgram:
    if name in NEEDS:
        pytest.importorskip(NEEDS[name], reason=f"PyTorch loads it with {NEEDS[name]} only")
        if NEEDS[name] == "torchao":
            importlib.import_module("torchao.quantization")
    return torch.export.load(PROGRAMS / name / "program.pt2")


def arguments(name: str, program: torch.export.ExportedProgram) -> tuple:
    values = oxport.read_values(PROGRAMS / name / "io.safetensors")
    flat = [values[f"in.{i}"] for i in range(sum(k.startswith("in.") for k in values))]
    flat = [torch.from_numpy(np.array(x)) if isinstance(x, np.ndarray) else x for x in flat]
    flat = [x.torch().clone() if isinstance(x, oxport.Tensor) else x for x in flat]
    return pytree.tree_unflatten(flat, program.call_spec.in_spec)


def close(a: object, b: object) -> None:
    if isinstance(b, torch.Tensor):
        assert isinstance(a, torch.Tensor) and a.dtype == b.dtype and a.shape == b.shape
        loose = {"rtol": 3e-2, "atol": 3e-2} if b.dtype in (torch.bfloat16, torch.float16) else {}
        loose = loose or ({"rtol": 1e-3, "atol": 1e-4} if b.dtype == torch.float32 else {})
        torch.testing.assert_close(a, b.detach(), equal_nan=True, **loose)
    else:
        assert a == b and type(a) is type(b)


@pytest.mark.parametrize("name", NAMES)
def test_calls_give_what_pytorch_gives(name: str) -> None:
    theirs, ours = exported(name), oxport.load(PROGRAMS / name / "program.pt2")
    module = theirs.module()
    for _ in range(2):
        args, kwargs = arguments(name, theirs)
        other_args, other_kwargs = pytree.tree_map(
            lambda x: x.clone() if isinstance(x, torch.Tensor) else x, (args, kwargs)
        )
        torch.manual_seed(0)
        with torch.no_grad():
            want = module(*args, **kwargs)
        got = ours(*other_args, **other_kwargs)
        got_flat, got_spec = pytree.tree_flatten(got)
        want_flat, want_spec = pytree.tree_flatten(want)
        assert len(got_flat) == len(want_flat)
        for a, b in zip(got_flat, want_flat, strict=True):
            close(a, b)
        # What the program wrote to its inputs, the caller sees.
        for a, b in zip(pytree.tree_leaves(other_args), pytree.tree_leaves(args), strict=True):
            close(a, b)


def test_a_program_of_pytorch_is_optimized_and_given_back() -> None:
    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a = torch.nn.Linear(4, 8)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.relu(self.a(x).t().t() * 1.0)

    x = torch.randn(3, 4)
    program = torch.export.export(Net().eval(), (x,))
    better = oxport.optimize(program)
    assert isinstance(better, torch.export.ExportedProgram)
    assert len(better.graph.nodes) < len(program.run_decompositions({}).graph.nodes)
    torch.testing.assert_close(better.module()(x), program.module()(x), rtol=0, atol=0)
    buffer = io.BytesIO()
    torch.export.save(better, buffer)
    torch.testing.assert_close(oxport.load(buffer.getvalue())(x), program.module()(x))


def test_tensors_are_shared_without_a_copy() -> None:
    x = torch.arange(6.0).view(2, 3)
    t = oxport.Tensor(x)
    assert t.__array_interface__["data"][0] == x.data_ptr()
    x[0, 0] = 9
    assert t.tolist()[0][0] == 9
    own = t.copy()
    back = torch.from_dlpack(own)
    assert back.data_ptr() == own.__array_interface__["data"][0]
    for dtype in (torch.bfloat16, torch.float16, torch.bool, torch.uint8, torch.int64, torch.complex64, torch.float64):
        y = torch.ones(2, 2).to(dtype)
        assert torch.equal(oxport.Tensor(y).copy().torch(), y), dtype


def test_tensors_that_are_not_plain_memory() -> None:
    p = torch.nn.Parameter(torch.ones(2))
    assert oxport.Tensor(p).tolist() == [1.0, 1.0]
    assert oxport.Tensor(torch.tensor([1 + 2j]).conj()).tolist() == [1 - 2j]
    with pytest.raises(oxport.UsageError, match="CPU"):
        oxport.Tensor(torch.empty(2, device="meta"))


def test_threads_at_once() -> None:
    program = oxport.load(PROGRAMS / "mlp" / "program.pt2", threads=1)
    x = torch.randn(5, 16)
    want = program(x)
    wrong = []

    def work() -> None:
        wrong.extend(1 for _ in range(200) if not torch.equal(program(x), want))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
