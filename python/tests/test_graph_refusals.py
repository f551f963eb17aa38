"""Wrong edits of graphs, edits by threads, and anything at all: what is said, and that nothing breaks."""

from __future__ import annotations

import operator
import random
import threading

import numpy as np
import oxport
import pytest
from oxport import fx

from conftest import PROGRAMS
from graphs import node, read, run


@pytest.fixture
def mlp() -> oxport.Program:
    return read("mlp")


def wrong(mlp: oxport.Program) -> list:
    graph = mlp.graph
    x, gelu, linear, output = (node(graph, name) for name in ("input", "gelu", "linear", "output"))
    deep: list = []
    for _ in range(100_000):
        deep = [deep]
    call = graph.call_function
    return [
        (
            lambda: graph.erase_node(gelu),
            "Tried to erase Node gelu but it still had 1 users in the graph: {layer_norm: None}!",
        ),
        (lambda: graph.erase_node(output), "the output of a graph cannot be erased"),
        (lambda: graph.erase_node(x), "but it still had 1 users"),
        (
            lambda: call("aten.reluu.default", (x,)),
            "there is no operator `torch.ops.aten.reluu.default`; similar: aten::relu",
        ),
        (lambda: call("mylib.f.default", (x,)), "there is no operator `torch.ops.mylib.f.default`"),
        (lambda: call(print, (x,)), "there is no operator `builtins.print`"),
        (lambda: call("nothing", (x,)), "there is no operator `nothing`"),
        (lambda: call(3, (x,)), "expected an operator, got int"),
        (lambda: call("aten.mm.default", (x, x)), "mm_default: aten::mm: mat1 and mat2 shapes"),
        (lambda: call("aten.relu.default", ()), "relu_default: aten::relu: "),
        (lambda: call("aten.relu.default", (x, 1, 2)), "relu_default: aten::relu takes 1 positional arguments, not 3"),
        (lambda: call("aten.relu.default", ("x",)), "relu_default: aten::relu: "),
        (lambda: call("aten.relu.default", (x,), {"y": 1}), "relu_default: aten::relu has no argument `y`"),
        (lambda: call("aten.relu.default", (x,), {1: x}), "expected a string as a key, got 1"),
        (lambda: call("aten.relu.default", x), "expected a tuple of arguments, got Node"),
        (lambda: call("aten.add.Tensor", (x, 2**70)), "expected an int of 64 bits"),
        (lambda: call("aten.add.Tensor", (x, deep)), "nested deeper than 32 lists"),
        (lambda: call("aten.add.Tensor", (x, np.ones(2))), "got ndarray; lift a tensor by `parameter`"),
        (
            lambda: call("aten.add.Tensor", (x, object())),
            "expected a node, a number, a string, None, or lists of these, got object",
        ),
        (
            lambda: call("aten.add.Tensor", (x, x.meta["val"].shape[0])),
            "got the size s31; a symbolic size is a value of the graph",
        ),
        (lambda: call("aten.add.Tensor", (x, output)), "the output cannot be an argument"),
        (lambda: call("aten.add.Tensor", (x, slice(1))), "got slice"),
        (lambda: call(operator.getitem, (x, 0)), "getitem: _operator::getitem: `input` is no tuple or list"),
        (lambda: graph.placeholder("y"), "the inputs of a program are those of its call"),
        (lambda: graph.output((x,)), "the graph has an output already"),
        (
            lambda: graph.get_attr("0.weight"),
            "`0.weight` is an input of the graph in an exported program: use the node `p_0_weight`",
        ),
        (lambda: graph.get_attr("weight"), "there is no subgraph `weight`"),
        (lambda: graph.create_node("call_module", "layer"), "an exported program has no call_module nodes"),
        (lambda: graph.create_node("loop", "layer"), "expected call_function, get_attr or placeholder"),
        (lambda: setattr(x, "args", (1,)), "`input` is an input and takes no arguments"),
        (lambda: setattr(x, "target", "aten.relu.default"), "`input` is no call"),
        (lambda: setattr(output, "args", (linear, gelu)), "expected one tuple of what the graph returns"),
        (lambda: setattr(output, "kwargs", {"a": gelu}), "the output takes no keyword arguments"),
        (lambda: setattr(gelu, "target", "aten.nothing.default"), "there is no operator"),
        (lambda: setattr(gelu, "name", "linear"), "the name `linear` is taken"),
        (lambda: setattr(gelu, "name", "a b"), 'expected a Python identifier as name of a node, got "a b"'),
        (lambda: setattr(gelu, "name", ""), "expected a Python identifier"),
        (lambda: gelu.update_arg(7, x), "there are 1 positional arguments, none at 7"),
        (lambda: gelu.insert_arg(7, x), "insert_args index must be between 0 and len\\(self.args\\), got 7"),
        (lambda: output.append(gelu), "a call cannot stand behind the output"),
        (lambda: x.prepend(gelu), "a call cannot stand before the input `input`"),
        (lambda: gelu.append(x), "`input` cannot be moved"),
        (lambda: gelu.append(output), "`output` cannot be moved"),
        (lambda: graph.parameter("w", "text"), "expected an array, got str"),
    ]


def test_what_is_wrong_is_said_and_changes_nothing(mlp: oxport.Program) -> None:
    before = str(mlp.graph)
    for i, (edit, message) in enumerate(wrong(mlp)):
        with pytest.raises(oxport.Error, match=message.replace("{", "\\{").replace("?", "\\?")):
            edit()
            raise AssertionError(f"edit {i} was taken")
        assert str(mlp.graph) == before, i
    mlp.recompile()
    # Behind an input is behind all of them.
    inputs = mlp.graph.find_nodes(op="placeholder")
    with mlp.graph.inserting_after(inputs[0]):
        made = mlp.graph.call_function("aten.relu.default", (inputs[-1],))
    assert made.prev is inputs[-1]
    mlp.graph.erase_node(made)
    with (
        mlp.graph.inserting_before(node(mlp.graph, "input")),
        pytest.raises(fx.GraphError, match="stand before the input"),
    ):
        mlp.graph.call_function("aten.relu.default", (node(mlp.graph, "input"),))
    gelu = node(mlp.graph, "gelu")
    with mlp.graph.inserting_after(gelu):
        new = mlp.graph.call_function("aten.relu.default", (gelu,))
    with mlp.graph.inserting_after(new):
        mlp.graph.erase_node(new)
        with pytest.raises(fx.GraphError, match="the node at which nodes are inserted was erased"):
            mlp.graph.call_function("aten.relu.default", (gelu,))


def test_what_is_found_at_the_end_is_found_at_recompile(mlp: oxport.Program) -> None:
    graph = mlp.graph
    gelu, linear = node(graph, "gelu"), node(graph, "linear")
    for edit, code in (
        (lambda: setattr(linear, "args", (gelu, *linear.args[1:])), "order"),
        (lambda: gelu.replace_all_uses_with(node(graph, "softmax")), "order"),
        (lambda: gelu.update_kwarg("approximate", "nothing"), "refused"),
        (lambda: setattr(gelu, "args", ()), "arguments"),
        (lambda: setattr(gelu, "args", (gelu,)), "order"),
        (lambda: setattr(gelu, "args", ([1, 2],)), "arguments"),
        (lambda: setattr(gelu, "target", "aten.mm.default"), "arguments"),
        (lambda: setattr(gelu, "target", "aten.relu_.default"), None),
        (lambda: setattr(gelu, "name", "class"), "name"),
        (lambda: graph.output_node().update_arg(0, (gelu, gelu)), "signature"),
        (lambda: graph.output_node().update_arg(0, ()), "signature"),
        (lambda: graph.output_node().update_arg(0, ([gelu],)), "document"),
        (lambda: gelu.update_kwarg("approximate", ["a", 1, linear]), "document"),
        (lambda: gelu.meta.update(nn_module_stack="a,"), "metadata"),
    ):
        edit()
        assert graph.is_edited
        if code is None:
            mlp.recompile()
            continue
        with pytest.raises(oxport.ProgramError) as error:
            mlp.recompile()
        assert code in [d.code for d in error.value.diagnostics], (code, error.value.diagnostics)
        graph.reset()
        gelu, linear = node(graph, "gelu"), node(graph, "linear")


def test_what_belongs_to_others_is_refused(mlp: oxport.Program) -> None:
    graph, other = mlp.graph, read("mlp").graph
    foreign, gelu = node(other, "gelu"), node(graph, "gelu")
    for edit in (
        lambda: graph.call_function("aten.relu.default", (foreign,)),
        lambda: graph.erase_node(foreign),
        lambda: graph.inserting_after(foreign),
        lambda: gelu.replace_all_uses_with(foreign),
        lambda: gelu.replace_input_with(foreign, gelu),
        lambda: gelu.append(foreign),
        lambda: gelu < foreign,
        lambda: setattr(gelu, "args", ([foreign],)),
    ):
        with pytest.raises(fx.GraphError, match="expected a node of this graph, got `gelu` of another one"):
            edit()
    assert foreign not in graph.nodes and gelu != foreign


def test_threads_edit_one_graph(mlp: oxport.Program) -> None:
    graph, failures = mlp.graph, []
    x = node(graph, "input")

    def work(i: int) -> None:
        try:
            for _ in range(40):
                made = graph.call_function("aten.neg.default", (x,), name=f"n{i}")
                str(graph), len(graph.nodes), made.users, made.meta["val"]
                if i == 0:
                    mlp.recompile()
                graph.erase_node(made)
        except BaseException as error:  # noqa: BLE001 - a panic is none of Exception
            failures.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not failures and len(graph.nodes) == 18
    mlp.recompile()
    assert mlp.verify() == []


def test_an_operator_of_python_that_edits_the_graph_is_refused() -> None:
    held: list = []

    def meta(x: oxport.Fake) -> oxport.Fake:
        if held:
            str(held[0])
        return x

    twice = oxport.operator("mylib::twice(Tensor x) -> Tensor", meta=meta)(lambda x: x * 2)
    program = oxport.load(PROGRAMS / "mlp" / "program.pt2", operators=[twice])
    graph = program.graph
    made = graph.call_function("mylib.twice.default", (node(graph, "softmax"),))
    graph.output_node().args = ((made,),)
    before = run(program, "mlp")[0]
    program.recompile()
    assert np.array_equal(run(program, "mlp")[0], before * 2)
    held.append(graph)
    with pytest.raises(fx.GraphError, match="the graph is in use by the edit that asks this function"):
        graph.call_function("mylib::twice", (made,))


ANY_OP = """aten.add.Tensor aten.relu.default aten.view.default aten.sum.dim_IntList aten.cat.default aten.item.default
    aten.nonzero.default cond while_loop _operator.getitem operator.add aten.relu_.default aten.split.Tensor
    aten.slice.Tensor aten.sym_size.int math.trunc torch.sym_max aten._to_copy.default aten.index.Tensor""".split()
CONSTANTS = [1, -1, 0, 2**62, 1.5, float("nan"), True, None, "x", [1, 2], (), {"a": 1}, b"x", fx.dtype("float64")]
REFUSED = (oxport.Error, TypeError, ValueError, KeyError, OverflowError)


class Chance:
    """Edits of a program that are drawn, most of them wrong."""

    def __init__(self, name: str, seed: int) -> None:
        self.draw, self.program = random.Random(seed), read(name)
        self.met: list[fx.Node] = []

    def node(self) -> fx.Node:
        """A node of the graph, or one that was met before."""
        return self.draw.choice(self.met if self.draw.random() < 0.2 else self.nodes)

    def value(self) -> object:
        choice = self.draw.choice([None, None, None, self.node(), self.node(), [self.node()]])
        return self.draw.choice(CONSTANTS) if choice is None else choice

    def values(self) -> tuple:
        return tuple(self.value() for _ in range(self.draw.randrange(4)))

    def op(self) -> str:
        return self.draw.choice(ANY_OP)

    def edit(self) -> None:
        """One edit."""
        graph = self.draw.choice([self.program.graph, *self.program.graph.subgraphs.values()])
        self.nodes = list(graph.nodes)
        self.met = (self.met + self.draw.sample(self.nodes, min(2, len(self.nodes))))[-30:]
        name = self.draw.choice(["a", "x", "", "class", "p_0_weight", "\u00e9", "1", "a.b", "true_graph_0"])
        edits = [
            lambda: graph.call_function(self.op(), self.values()),
            lambda: graph.call_function(self.op(), self.values(), {"dim": self.value()}, name=name),
            lambda: graph.get_attr(self.draw.choice(["true_graph_0", "body_graph_0", "submod_1", "x"])),
            lambda: setattr(self.node(), "args", self.values()),
            lambda: setattr(self.node(), "kwargs", {name: self.value()}),
            lambda: setattr(self.node(), "target", self.op()),
            lambda: setattr(self.node(), "name", name),
            lambda: self.node().replace_all_uses_with(self.node()),
            lambda: self.node().replace_input_with(self.node(), self.node()),
            lambda: self.node().append(self.node()),
            lambda: self.node().prepend(self.node()),
            lambda: self.node().update_arg(self.draw.randrange(4), self.value()),
            lambda: self.node().update_kwarg(self.draw.choice(["dim", "alpha", "dtype"]), self.value()),
            lambda: self.node().insert_arg(self.draw.randrange(4), self.value()),
            lambda: graph.erase_node(self.node()),
            lambda: graph.eliminate_dead_code(),
            lambda: graph.node_copy(self.node()),
            lambda: graph.placeholder(name, like=self.node()),
            lambda: graph.constant(name, np.ones(self.draw.randrange(3), np.float32)),
            lambda: self.node().meta.update({self.draw.choice(["custom", "x", "nn_module_stack"]): self.value()}),
            lambda: graph.output_node().update_arg(0, self.values()),
        ]
        place = self.draw.choice([graph.inserting_after, graph.inserting_before])
        with place(self.node() if self.draw.random() < 0.7 else None):
            self.draw.choice(edits)()
        self.node().meta.get("val"), str(graph), self.node().users, graph.copy()

    def run(self, steps: int) -> tuple[int, int]:
        """That many edits; how many were taken, and how many programs of them."""
        taken = programs = 0
        for _ in range(steps):
            try:
                self.edit()
                taken += 1
            except REFUSED:
                pass
            if self.draw.random() < 0.1:
                try:
                    self.program.recompile()
                    programs += 1
                except oxport.ProgramError:
                    if self.draw.random() < 0.5:
                        self.program.graph.reset()
        self.program.graph.reset()
        assert [d for d in self.program.verify() if d.severity == "error"] == []
        return taken, programs


@pytest.mark.parametrize(
    "name", ["mlp", "cond", "kv_cache", "item_check", "autocast_block", "scan", "inplace_views", "input_mutation"]
)
def test_nothing_panics_whatever_is_edited(name: str) -> None:
    # A panic is no `Exception`, and would end the test.
    taken, programs = Chance(name, 7).run(300)
    assert taken > 80 and programs > 0
