"""Every program of the fixtures, run in Python with NumPy, beside the outputs that PyTorch computed."""

from __future__ import annotations

import json
import pathlib

import numpy as np
import oxport
import pytest
from conftest import PROGRAMS

NAMES = sorted(p.name for p in PROGRAMS.iterdir() if (p / "program.pt2").exists())
SETS = [(name, file.name) for name in NAMES for file in sorted((PROGRAMS / name).glob("io*.safetensors"))]

#: By dtype: the factor of the largest expected value that results may differ by, as in docs/conformance.md.
TOLERANCES = {"float16": 1e-2, "bfloat16": 3e-2, "float64": 1e-9}


def numbered(values: dict, prefix: str) -> list:
    keys = sorted((int(k.removeprefix(prefix)), k) for k in values if k.startswith(prefix))
    return [values[k] for _, k in keys]


def plain(x: object) -> tuple[str, np.ndarray]:
    """The dtype and the elements, of those that NumPy lacks as float32."""
    if isinstance(x, oxport.Tensor):
        return x.dtype, x.to("float32").numpy()
    array = np.asarray(x)
    return array.dtype.name, array


def assert_close(got: object, want: object, factor: float) -> None:
    (got_dtype, got), (want_dtype, want) = plain(got), plain(want)
    assert got_dtype == want_dtype and got.shape == want.shape
    if got.dtype.kind not in "fc" or got.size == 0:
        assert np.array_equal(got, want)
        return
    finite = np.isfinite(want)
    assert np.array_equal(got[~finite], want[~finite], equal_nan=True)
    largest = max(np.abs(want[finite]).max(initial=0.0), 1e-6)
    assert np.abs(got[finite] - want[finite]).max(initial=0.0) <= TOLERANCES.get(want_dtype, factor) * largest


def test_there_are_programs() -> None:
    assert len(NAMES) >= 40 and len(SETS) >= 90


@pytest.mark.parametrize(("name", "file"), SETS)
def test_outputs_are_those_of_pytorch(name: str, file: str) -> None:
    folder: pathlib.Path = PROGRAMS / name
    stats = json.loads((folder / "stats.json").read_text())
    try:
        program = oxport.load(folder / "program.pt2", seed=stats.get("seed") or 0)
        program.prepare()
    except oxport.UnsupportedError as error:
        pytest.skip(f"not supported: {error}")
    values = oxport.read_values(folder / file)
    outputs = program.call_flat(numbered(values, "in."))
    wanted = numbered(values, "out.")
    assert len(outputs) == len(wanted)
    factor = max(1e-4, *(4 * (d or {}).get("rel", 0) for d in stats["diff_no_mkldnn"]))
    for got, want in zip(outputs, wanted, strict=True):
        assert_close(got, want, factor)
    buffers = program.buffers()
    for key in [k for k in values if k.startswith("mut.")]:
        assert_close(buffers[key.removeprefix("mut.")], oxport.Tensor(values[key]), factor)
