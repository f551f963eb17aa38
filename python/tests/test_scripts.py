"""Whole scripts, as a user has them: each runs in an interpreter of its own."""

from __future__ import annotations

import importlib.util
import os
import pathlib
import subprocess
import sys

import numpy as np
import oxport
import oxport.fx
import pytest

from conftest import PROGRAMS

SCRIPTS = pathlib.Path(__file__).resolve().parent / "scripts"
MLP = PROGRAMS / "mlp" / "program.pt2"


def script(name: str, *args: object) -> list[str]:
    """The lines that a script prints."""
    package = str(pathlib.Path(oxport.__file__).resolve().parents[1])
    environment = {**os.environ, "PYTHONPATH": package}
    command = [sys.executable, str(SCRIPTS / name), *map(str, args)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def inputs() -> list[np.ndarray]:
    return [oxport.read_values(PROGRAMS / "mlp" / "io.safetensors")["in.0"]]


def test_a_program_is_inspected() -> None:
    lines = script("inspect_graph.py", MLP)
    assert lines[0] == "18 nodes, 8 calls deep" and "  3 x aten.linear.default" in lines
    assert "size s31: 0.." in lines and "unused: []" in lines
    assert "linear_1: aten.linear.default in module '4' gives f32[s31, 32], reads dropout" in lines
    assert lines[-1] == "    return (softmax,)"
    lines = script("inspect_graph.py", PROGRAMS / "cond" / "program.pt2")
    assert "  2 x cond" in lines and "  2 x operator.gt" not in lines and "  1 x operator.gt" in lines


def test_a_program_is_edited(tmp_path: pathlib.Path) -> None:
    lines = script("edit_graph.py", MLP, tmp_path / "edited.pt2")
    assert lines == ["1 of GELU, 1 of dropout", "refused: the output cannot be an argument", "f32[s31, 5]"]
    edited, program = oxport.load(tmp_path / "edited.pt2"), oxport.load(MLP)
    assert edited.verify() == [] and "scale.weight" in edited.state_dict()
    assert [n.name for n in edited.graph.nodes if n.name in ("dropout", "scaled", "gelu")] == ["gelu", "scaled"]
    (got,), (want,) = edited.call_flat(inputs()), program.call_flat(inputs())
    assert not np.array_equal(got, want * 0.5) and np.allclose(got, want * 0.5, atol=1e-3)


def test_a_program_is_optimized_without_pytorch(tmp_path: pathlib.Path) -> None:
    lines = script("optimize_alone.py", MLP, PROGRAMS / "mlp" / "io.safetensors", tmp_path / "better.pt2")
    assert len(lines) == 1 and lines[0].startswith("20 nodes, ") and lines[0].endswith(" optimized, the same bits")


@pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="hands a program back to PyTorch, which is not here"
)
def test_a_program_is_optimized_and_handed_back_to_pytorch() -> None:
    assert script("optimize_for_torch.py")[-1].startswith("PyTorch's program has ")
