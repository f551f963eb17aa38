"""The package without NumPy, PyTorch and pytest: what it does with Python alone. Run by python/test.sh first."""

from __future__ import annotations

import importlib.util
import pathlib
import sys

import oxport

ROOT = pathlib.Path(__file__).resolve().parents[2]


def same(got: object, want: object) -> bool:
    if isinstance(want, list):
        return len(got) == len(want) and all(same(a, b) for a, b in zip(got, want))
    return abs(got - want) <= 1e-4 * max(abs(want), 1e-2)


def main() -> None:
    for name in ("mlp", "llama_block", "resnet_small", "gru", "cond"):
        folder = ROOT / "fixtures" / "programs" / name
        program = oxport.load(folder / "program.pt2")
        values = oxport.read_values(folder / "io.safetensors")
        inputs = [values[f"in.{i}"] for i in range(len(program.inputs))]
        for i, got in enumerate(program.call_flat(inputs)):
            want = oxport.Tensor(values[f"out.{i}"])
            assert same(oxport.Tensor(got).tolist(), want.tolist()), f"{name}: output {i}"
    program = oxport.load(ROOT / "fixtures" / "programs" / "mlp" / "program.pt2")
    result = program(oxport.Tensor([[0.5] * 16, [1.0] * 16]))
    assert oxport.Tensor(result).shape == (2, 5)
    assert program.graph.find_nodes(op="call_function", target="aten.linear.default")
    assert program.verify() == [] and program.optimize("fast", freeze=True).report["nodes_after"] > 0
    try:
        program(oxport.Tensor([[1.0]]))
    except oxport.InputError as error:
        assert "shape[1]" in str(error)
    else:
        raise AssertionError("expected an InputError")
    if importlib.util.find_spec("numpy") is None:
        assert isinstance(result, oxport.Tensor) and "numpy" not in sys.modules
    print("the package runs five programs of PyTorch with Python alone")


main()
