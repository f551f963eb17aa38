"""Calls: arguments of every kind, buffers, errors, operators and rules of Python, threads."""

from __future__ import annotations

import collections
import dataclasses
import pathlib
import threading
import time

import numpy as np
import oxport
import pytest


@pytest.fixture
def mlp(programs: pathlib.Path) -> oxport.Program:
    return oxport.load(programs / "mlp" / "program.pt2", threads=1)


def test_arrays_are_read_in_place(mlp: oxport.Program) -> None:
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    t = oxport.Tensor(x)
    assert t.__array_interface__["data"] == (x.ctypes.data, True)
    assert np.shares_memory(t.numpy(), x) and not t.numpy().flags.writeable
    assert oxport.Tensor(x.T).strides == (1, 4)
    assert oxport.Tensor(np.lib.stride_tricks.as_strided(x, (2, 2), (0, 8))).tolist() == [[0.0, 2.0], [0.0, 2.0]]


def test_arrays_of_another_layout_are_copied() -> None:
    x = np.arange(6).reshape(2, 3)
    assert oxport.Tensor(x[::-1, ::-1]).tolist() == [[5, 4, 3], [2, 1, 0]]
    assert oxport.Tensor(x.astype(">i8")).tolist() == x.tolist()
    pairs = np.zeros(3, dtype=[("a", "i4"), ("b", "f8")])
    pairs["b"] = [1, 2, 3]
    assert oxport.Tensor(pairs["b"]).tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    "dtype",
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128".split(),
)
def test_every_dtype_goes_there_and_back(dtype: str) -> None:
    x = np.array([[0, 1], [1, 0]]).astype(dtype)
    t = oxport.Tensor(x)
    assert (t.dtype, t.shape, t.size, t.nbytes) == (dtype, (2, 2), 4, x.nbytes)
    assert np.array_equal(t.numpy(), x) and t.numpy().dtype == x.dtype
    assert t.tolist() == x.tolist()
    assert np.array_equal(np.from_dlpack(t.copy()), x)
    assert oxport.Tensor(x[:0]).numpy().shape == (0, 2)
    assert oxport.Tensor(x[0, 1]).item() == x[0, 1].item()


def test_dlpack_of_read_only_memory_says_so() -> None:
    t = oxport.Tensor(np.ones(3, np.float32))
    with pytest.raises(BufferError, match="read-only"):
        t.__dlpack__()
    assert "dltensor_versioned" in repr(t.__dlpack__(max_version=(1, 0)))
    assert "dltensor_versioned" not in repr(t.copy().__dlpack__())
    del t


def test_what_is_no_array_is_refused(mlp: oxport.Program) -> None:
    for wrong, why in [
        (object(), "got builtins.object"),
        (np.array(["a"]), "got one of <U1"),
        (np.array([None]), "got one of object"),
        (b"abc", "got builtins.bytes"),
    ]:
        with pytest.raises(oxport.UsageError, match=why):
            mlp(wrong)
    deep: list = []
    for _ in range(10_000):
        deep = [deep]
    with pytest.raises(oxport.UsageError, match="500 deep"):
        mlp(deep)


def test_results_belong_to_the_caller(mlp: oxport.Program) -> None:
    x = np.ones((2, 16), np.float32)
    first, second = mlp(x), mlp(x)
    assert first.flags.writeable and not np.shares_memory(first, second)
    first[:] = 0
    assert np.array_equal(mlp(x), second) and second.any()


def test_wrong_arguments_are_located(mlp: oxport.Program) -> None:
    x = np.ones((2, 16), np.float32)
    with pytest.raises(oxport.InputError, match="expected tuple of 1, got tuple of 2"):
        mlp(x, x)
    with pytest.raises(oxport.InputError, match=r"shape\[1\]"):
        mlp(x[:, :3])
    with pytest.raises(oxport.InputError, match="expected tuple of 1, got tuple of 0"):
        mlp(wrong=x)
    strict = oxport.load(pathlib.Path(__file__).parents[2] / "fixtures/programs/mlp/program.pt2", checks="strict")
    with pytest.raises(oxport.InputError, match="float64|f64"):
        strict(x.astype(np.float64))


def test_an_invalid_file_has_diagnostics(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "model.pt2"
    file.write_bytes(b"no archive")
    with pytest.raises(oxport.ProgramError) as error:
        oxport.load(file)
    assert [d.code for d in error.value.diagnostics] == ["zip"] == [d.code for d in oxport.verify(file)]
    with pytest.raises(oxport.FileError) as missing:
        oxport.load(tmp_path / "nothing.pt2")
    assert "nothing.pt2" in str(missing.value)


def test_a_program_of_bytes_and_of_a_file(programs: pathlib.Path, mlp: oxport.Program) -> None:
    path = programs / "mlp" / "program.pt2"
    x = np.ones((2, 16), np.float32)
    with path.open("rb") as file:
        assert np.array_equal(oxport.load(file)(x), mlp(x))
    assert np.array_equal(oxport.load(path.read_bytes())(x), mlp(x))
    assert not oxport.diff(oxport.load(mlp.to_bytes()), mlp)["graph"]


def test_buffers(programs: pathlib.Path) -> None:
    program = oxport.load(programs / "kv_cache" / "program.pt2")
    values = oxport.read_values(programs / "kv_cache" / "io.safetensors")
    inputs = [values[f"in.{i}"] for i in range(sum(k.startswith("in.") for k in values))]
    start = {name: t.numpy().copy() for name, t in program.buffers().items()}
    assert start
    other = program.fork()
    program.call_flat(inputs)
    after = program.buffers()
    assert any(not np.array_equal(t.numpy(), start[name]) for name, t in after.items())
    assert all(np.array_equal(t.numpy(), start[name]) for name, t in other.buffers().items())
    other.set_buffers(after)
    assert all(np.array_equal(t.numpy(), after[name].numpy()) for name, t in other.buffers().items())
    program.reset()
    assert all(np.array_equal(t.numpy(), start[name]) for name, t in program.buffers().items())
    with pytest.raises(oxport.InputError, match="mutates no buffer `nothing`"):
        program.set_buffers({"nothing": np.zeros(1)})
    name = next(iter(start))
    with pytest.raises(oxport.InputError, match=f"buffer `{name}`: expected"):
        program.set_buffers({name: np.zeros(1, np.float16)})


def test_a_functional_call_leaves_the_buffers(programs: pathlib.Path) -> None:
    program = oxport.load(programs / "kv_cache" / "program.pt2")
    values = oxport.read_values(programs / "kv_cache" / "io.safetensors")
    inputs = tuple(values[f"in.{i}"] for i in range(sum(k.startswith("in.") for k in values)))
    start = {name: t.numpy().copy() for name, t in program.buffers().items()}
    result, state = program.functional_call({}, inputs)
    assert all(np.array_equal(t.numpy(), start[name]) for name, t in program.buffers().items())
    expected = program(*inputs)
    assert type(result) is type(expected) and len(result) == len(expected)
    assert all(np.array_equal(a, b) for a, b in zip(result, expected, strict=True))
    assert all(np.array_equal(t.numpy(), state[name]) for name, t in program.buffers().items())


def test_inputs_that_the_program_writes(programs: pathlib.Path) -> None:
    program = oxport.load(programs / "input_mutation" / "program.pt2")
    values = oxport.read_values(programs / "input_mutation" / "io.safetensors")
    inputs = [np.array(values[f"in.{i}"]) for i in range(sum(k.startswith("in.") for k in values))]
    program.call_flat(inputs)
    written = {int(k.removeprefix("inmut.")): v for k, v in values.items() if k.startswith("inmut.")}
    assert written
    for i, want in written.items():
        np.testing.assert_allclose(inputs[i], want, rtol=1e-5)
    frozen = [np.array(x) for x in inputs]
    for x in frozen:
        x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        program.call_flat(frozen)


def captured(tmp_path: pathlib.Path, source: str, entry: str, inputs: list[str]) -> oxport.Program:
    file = tmp_path / "source.py"
    file.write_text("import torch\n" + source)
    return oxport.capture(file, entry, inputs)


KEEPS = """
class Keeps(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("last", torch.zeros(3))

    def forward(self, x):
        self.last.copy_(x)
        return x
"""

SWAPS = """
def swaps(x, y):
    z = x.clone()
    x.copy_(y)
    y.copy_(z)
    return x + y
"""


@pytest.mark.parametrize("of", [lambda x: x, oxport.Tensor, lambda x: oxport.Tensor(x).copy()], ids=["array", "lent", "own"])
def test_what_a_call_keeps_is_not_the_callers_memory(tmp_path: pathlib.Path, of: object) -> None:
    program = captured(tmp_path, KEEPS, "Keeps()", ["x: f32[3]"]).decompose("functional")
    # The new value of the buffer is the input itself, as in programs of which copies were dropped.
    (copy,) = program.graph.find_nodes(op="call_function", target="aten.copy.default")
    copy.replace_all_uses_with(copy.args[1])
    program.graph.erase_node(copy)
    program.recompile()
    x = np.ones(3, np.float32)
    given = of(x)
    result = program(given)
    assert program.buffers()["last"].tolist() == [1.0] * 3 and not np.shares_memory(result, given)
    memory = x if np.shares_memory(x, np.asarray(given)) else np.asarray(given)
    memory[:] = 5
    assert program.buffers()["last"].tolist() == [1.0] * 3 and result.tolist() == [1.0] * 3


def test_inputs_may_take_one_anothers_values(tmp_path: pathlib.Path) -> None:
    program = captured(tmp_path, SWAPS, "swaps", ["x: f32[2]", "y: f32[2]"]).decompose("functional")
    for node in list(program.graph.nodes):
        if node.target in ("aten.copy.default", "aten.clone.default"):
            node.replace_all_uses_with(node.args[-1])
    program.graph.eliminate_dead_code()
    program.recompile()
    x, y = np.zeros(2, np.float32), np.ones(2, np.float32)
    assert program(x, y).tolist() == [1.0, 1.0]
    assert (x.tolist(), y.tolist()) == ([1.0, 1.0], [0.0, 0.0])


def test_copies_of_overlapping_elements_have_room_for_all() -> None:
    x = np.lib.stride_tricks.as_strided(np.arange(4.0), (2, 2), (24, 0))
    assert oxport.Tensor(x).copy().tolist() == [[0.0, 0.0], [3.0, 3.0]]


@dataclasses.dataclass
class Sample:
    value: object
    parts: list
    weight: object = None


Pair = collections.namedtuple("Pair", ["left", "right"])


def structured(programs: pathlib.Path) -> tuple[oxport.Program, tuple, dict, dict]:
    folder = programs / "pytree_inputs"
    values = oxport.read_values(folder / "io.safetensors")
    x = [values[f"in.{i}"] for i in range(sum(k.startswith("in.") for k in values))]
    table = {"x": x[0], "nested": [x[1]]}
    args = (table, Pair(x[2], {"r": x[3]}), Sample(x[4], [x[5], x[6]]), x[7])
    kwargs = {"bias": x[13], "times": x[8], "scale": x[9], "mode": x[10], "flag": x[11], "none": x[12]}
    return oxport.load(folder / "program.pt2"), args, kwargs, values


def test_arguments_of_the_callers_classes_need_no_registration(programs: pathlib.Path) -> None:
    program, args, kwargs, values = structured(programs)
    result = program(*args, **kwargs)
    assert list(result) == ["y", "pair", "ordered", "half"]
    np.testing.assert_allclose(result["y"], values["out.0"], rtol=1e-5)
    pair = result["pair"]
    assert type(pair).__name__ == "Pair" and isinstance(pair, tuple)
    assert isinstance(pair.right[0], dict) and list(pair.right[0]) == ["value", "parts", "weight"]
    assert isinstance(result["ordered"], collections.OrderedDict) and result["ordered"]["a"] == (3, None, True)
    with pytest.raises(oxport.InputError, match="another order than that of the export"):
        program(dict(reversed(args[0].items())), *args[1:], **kwargs)
    with pytest.raises(oxport.InputError, match="at "):
        program(args[0], tuple(args[1]), *args[2:], **kwargs)
    with pytest.raises(oxport.InputError):
        program(*args, **(kwargs | {"times": 4}))


def test_results_are_of_registered_classes(programs: pathlib.Path) -> None:
    oxport.register_namedtuple(Pair, serialized_type_name="fixtures.Pair")
    oxport.register_dataclass(Sample, serialized_type_name="fixtures.Sample")
    program, args, kwargs, values = structured(programs)
    pair = program(*args, **kwargs)["pair"]
    assert type(pair) is Pair and type(pair.right[0]) is Sample and pair.right[0].weight is None
    np.testing.assert_allclose(pair.right[0].value, values["out.2"], rtol=1e-5)
    for wrong in (oxport.register_namedtuple, oxport.register_dataclass):
        with pytest.raises(TypeError, match="expected"):
            wrong(dict)


def test_an_operator_of_python(tmp_path: pathlib.Path) -> None:
    calls = []

    @oxport.operator("mylib::scaled(Tensor x, float by=2.0) -> Tensor")
    def scaled(x: np.ndarray, by: float) -> np.ndarray:
        calls.append((x.shape, by))
        return x * np.float32(by)

    @oxport.operator(
        "mylib::halves(Tensor x) -> (Tensor, Tensor)",
        meta=lambda x: [x.like(shape=[x.shape[0] // 2, *x.shape[1:]])] * 2,
    )
    def halves(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return x[: len(x) // 2], x[len(x) // 2 :]

    text = tmp_path / "model.fx"
    text.write_text(
        """
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[4, 2]"):
            y: "f32[4, 2]" = torch.ops.mylib.scaled.default(x, 3.0)
            halves = torch.ops.mylib.halves.default(y)
            a: "f32[2, 2]" = halves[0]
            b: "f32[2, 2]" = halves[1];  halves = None
            c: "f32[2, 2]" = torch.ops.aten.add.Tensor(a, b)
            return (c,)

Graph signature:
    # inputs
    x: USER_INPUT
    # outputs
    c: USER_OUTPUT
"""
    )
    program = oxport.load(text, operators=[scaled, halves])
    x = np.arange(8, dtype=np.float32).reshape(4, 2)
    assert np.array_equal(program.call_flat([x])[0], 3 * (x[:2] + x[2:]))
    assert calls == [((4, 2), 3.0)]
    with pytest.raises(oxport.UnsupportedError) as missing:
        oxport.load(text).prepare()
    assert any("scaled" in name for name in missing.value.missing)

    @oxport.operator("mylib::scaled(Tensor x, float by=2.0) -> Tensor")
    def broken(x: np.ndarray, by: float) -> np.ndarray:
        raise ZeroDivisionError("no")

    with pytest.raises(oxport.Error, match="ZeroDivisionError: no"):
        oxport.load(text, operators=[broken, halves]).call_flat([x])

    @oxport.operator("mylib::scaled(Tensor x, float by=2.0) -> Tensor")
    def wrong(x: np.ndarray, by: float) -> np.ndarray:
        return x[:1]

    with pytest.raises(oxport.Error, match=r"expected f32\[4, 2\], as the meta function says, got f32\[1, 2\]"):
        oxport.load(text, operators=[wrong, halves]).call_flat([x])


def test_a_rule_of_python(tmp_path: pathlib.Path) -> None:
    text = tmp_path / "model.fx"
    text.write_text(
        """
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[4, 2]"):
            y: "f32[4, 2]" = torch.ops.aten.abs.default(x)
            z: "f32[4, 2]" = torch.ops.aten.sqrt.default(y)
            w: "f32[4, 2]" = torch.ops.aten.mul.Tensor(z, z)
            return (w,)

Graph signature:
    # inputs
    x: USER_INPUT
    # outputs
    w: USER_OUTPUT
"""
    )
    program = oxport.load(text)
    rule = oxport.Rule("square-of-root", "(mul.Tensor (sqrt (abs ?x)) (sqrt (abs ?x)))", "(abs ?x)", rounding=True)
    assert len(program.optimize("exact", further=[rule]).show("fx").splitlines()) > 4
    better = program.optimize("fast", further=[rule])
    assert better.report["rules"]["square-of-root"] == 1 and "sqrt" not in better.show("fx")
    with pytest.raises(oxport.ProgramError, match="wrong-rule"):
        program.optimize(further=[oxport.Rule("wrong-rule", "(no_such_op ?x)", "?x")])


def test_optimized_programs_say_what_was_done(mlp: oxport.Program) -> None:
    better = mlp.optimize("fast", freeze=True, validate=True)
    assert better.report["validated"] is True and mlp.report is None
    x = np.ones((2, 16), np.float32)
    np.testing.assert_allclose(better(x), mlp(x), rtol=1e-5)
    for wrong in [{"rules": "none"}, {"target": "gpu"}, {"time_limit": -1.0}, {"grow": -1.0}]:
        with pytest.raises(oxport.UsageError, match="expected"):
            mlp.optimize(**wrong)


def test_decompose_save_and_diff(mlp: oxport.Program, tmp_path: pathlib.Path) -> None:
    core = mlp.decompose()
    assert "addmm" in core.show("fx") and "aten.linear" not in core.show("fx")
    core.save(tmp_path / "core.pt2")
    again = oxport.load(tmp_path / "core.pt2")
    assert oxport.diff(oxport.load(core.to_bytes()), again)["equal"] and not oxport.diff(again, mlp)["equal"]
    oxport.convert(tmp_path / "core.pt2", tmp_path / "core.json")
    assert oxport.diff(oxport.load(tmp_path / "core.json"), again)["equal"]
    assert oxport.scan(tmp_path / "core.pt2") == []


def test_intermediate_values_and_comparisons(mlp: oxport.Program) -> None:
    x = np.ones((2, 16), np.float32)
    values = mlp.intermediates(x)
    assert np.array_equal(next(v for k, v in values.items() if k.startswith("softmax")), mlp(x))
    found = mlp.compare(mlp.optimize("fast"), x)
    assert found["different"] == 0 and found["compared"] > 3


def test_source_is_captured(tmp_path: pathlib.Path) -> None:
    source = tmp_path / "net.py"
    source.write_text(
        "import torch\n\nclass Net(torch.nn.Module):\n    def __init__(self, n):\n        super().__init__()\n"
        "        self.a = torch.nn.Linear(4, n)\n\n    def forward(self, x):\n        return torch.relu(self.a(x))\n"
    )
    program = oxport.capture(source, "Net(8)", ["x: f32[b, 4]"], dims=["b=1..64"])
    assert program(np.zeros((5, 4), np.float32)).shape == (5, 8)
    assert str(program.inputs[0]) == "x: f32[b, 4]" or "f32[" in str(program.inputs[0])
    with pytest.raises(oxport.Error, match="NameError|no_such"):
        source.write_text("import torch\ndef f(x):\n    return no_such(x)\n")
        oxport.capture(source, "f", ["x: f32[2]"])


def test_the_interpreter_runs_while_a_program_does(programs: pathlib.Path) -> None:
    started = threading.Event()

    @oxport.operator("mylib::slow(Tensor x) -> Tensor")
    def slow(x: np.ndarray) -> np.ndarray:
        started.set()
        time.sleep(0.2)
        return x.copy()

    text = (
        'ExportedProgram:\n    class GraphModule(torch.nn.Module):\n        def forward(self, x: "f32[2]"):\n'
        '            y: "f32[2]" = torch.ops.mylib.slow.default(x)\n            return (y,)\n\n'
        "Graph signature:\n    # inputs\n    x: USER_INPUT\n    # outputs\n    y: USER_OUTPUT\n"
    )
    file = programs.parent.parent / "target" / "slow.fx"
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    program = oxport.load(file, operators=[slow])
    results = []
    threads = [threading.Thread(target=lambda: results.append(program.call_flat([np.ones(2, np.float32)]))) for _ in "ab"]
    for t in threads:
        t.start()
    assert started.wait(5)
    for t in threads:
        t.join(10)
    assert len(results) == 2


def test_shapes_are_symbolic(mlp: oxport.Program) -> None:
    fake = mlp.inputs[0].value
    batch, width = fake.shape
    assert (fake.dtype, width, fake.ndim, fake.device) == ("float32", 16, 2, "cpu")
    assert batch == batch and batch != 3 and batch * 2 // 2 == batch and hash(batch) == hash(batch + 0)
    assert batch.free_symbols == [str(batch)]
    with pytest.raises(oxport.UsageError, match="symbolic"):
        batch < 3  # noqa: B015
    with pytest.raises(ZeroDivisionError):
        batch // 0


def test_what_a_notebook_shows(mlp: oxport.Program) -> None:
    assert repr(mlp).startswith("<oxport.Program")
    html = mlp._repr_html_()
    assert html.count("<table") == 1 and "softmax" in html and "<script" not in html
