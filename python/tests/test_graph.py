"""Graphs that are inspected as with `torch.fx`."""

from __future__ import annotations

import copy
import gc
import operator
import pickle

import oxport
import pytest
from oxport import fx

from conftest import PROGRAMS
from graphs import names, node, read


@pytest.fixture
def mlp() -> oxport.Program:
    return read("mlp")


def test_a_graph_is_one_object_and_its_nodes_are_known_again(mlp: oxport.Program) -> None:
    graph = mlp.graph
    assert mlp.graph is graph and graph.owning_program is mlp
    gelu = node(graph, "gelu")
    assert node(graph, "gelu") is gelu and gelu.graph is graph
    assert gelu == node(mlp.graph, "gelu") and hash(gelu) == hash(node(graph, "gelu"))
    assert gelu != node(graph, "silu") and gelu != "gelu"
    identity = (gelu, hash(gelu))
    del gelu
    gc.collect()
    assert (node(graph, "gelu"), hash(node(graph, "gelu"))) == identity
    assert len(graph.nodes) == 18 == len(list(graph.nodes)) and node(graph, "silu") in graph.nodes
    assert names(reversed(graph.nodes)) == names(graph.nodes)[::-1]


def test_nodes_have_what_those_of_torch_fx_have(mlp: oxport.Program) -> None:
    graph = mlp.graph
    linear = node(graph, "linear")
    assert (linear.op, linear.name, str(linear)) == ("call_function", "linear", "linear")
    assert names(linear.args) == ["input", "p_0_weight", "p_0_bias"] and linear.kwargs == {}
    assert names(linear.all_input_nodes) == ["input", "p_0_weight", "p_0_bias"]
    assert names(linear.users) == ["gelu"] and list(linear.users.values()) == [None]
    assert linear.next.name == "gelu" and linear.prev.name == "input"
    assert next(iter(graph.nodes)).prev is None and graph.output_node().next is None
    assert linear < linear.next and linear.next > linear and linear <= linear and linear >= linear.prev
    assert graph.output_node().args == ((node(graph, "softmax"),),)
    assert node(graph, "input").target == "input" and graph.output_node().target == "output"
    norm = node(graph, "layer_norm")
    assert norm.args[1] == [48] and norm.args[4:] == (1e-05, False)
    # What is read cannot be changed by mistake.
    for change in (
        lambda: norm.args[1].append(3),
        lambda: norm.args[1].__setitem__(0, 3),
        lambda: norm.kwargs.update(a=1),
        lambda: norm.kwargs.__setitem__("a", 1),
        lambda: linear.users.clear(),
    ):
        with pytest.raises(fx.GraphError, match="what is read of a node is a copy"):
            change()
    assert copy.deepcopy(norm.args[1]) == [48] == pickle.loads(pickle.dumps(norm.args[1])) and hash(norm.args[1])
    assert type(norm.args[1]) is fx.immutable_list and dict(norm.kwargs) == {} == copy.copy(norm.kwargs)


def test_targets_are_equal_to_all_spellings(mlp: oxport.Program) -> None:
    target = node(mlp.graph, "softmax").target
    assert str(target) == "aten.softmax.int" and target.qualified == "torch.ops.aten.softmax.int"
    for text in ("aten.softmax.int", "aten::softmax.int", "torch.ops.aten.softmax.int"):
        assert target == text and text == target and not target != text
    assert target != "aten.softmax.default" and target != 3 and target in {"aten.softmax.int": None}
    relu = node(mlp.graph, "gelu").target
    assert relu == "aten.gelu.default" and relu == "aten::gelu" and relu == "torch.ops.aten.gelu.default"
    graph = read("cond").graph
    cond, getitem = graph.find_nodes(op="call_function", target="cond")[0], node(graph, "getitem")
    assert cond.target == "higher_order.cond" and cond.target == "torch.ops.higher_order.cond" and cond.target == "cond"
    assert getitem.target == operator.getitem and getitem.target == "operator.getitem" == str(getitem.target)
    assert getitem.target != operator.add and node(graph, "gt_1").target == operator.gt


def test_nodes_are_found_by_opcode_and_target(mlp: oxport.Program) -> None:
    graph = mlp.graph
    assert names(graph.find_nodes(op="call_function", target="aten.linear.default")) == [
        "linear",
        "linear_1",
        "linear_2",
    ]
    assert names(graph.find_nodes(op="placeholder", target="input")) == ["input"]
    assert len(graph.find_nodes(op="call_function")) == 8 and graph.find_nodes(op="get_attr") == []
    assert graph.find_nodes(op="output") == [graph.output_node()]
    with pytest.raises(fx.GraphError, match="expected one of placeholder"):
        graph.find_nodes(op="call_module")


def test_metadata_is_what_was_recorded(mlp: oxport.Program) -> None:
    meta = node(mlp.graph, "linear").meta
    val = meta["val"]
    assert val.dtype == "float32" and str(val) == "f32[s31, 48]" and val.shape[1] == 48
    assert str(val.shape[0]) == "s31" and mlp.graph.range_of(val.shape[0]) == (0, None)
    assert mlp.graph.range_of(7) == (7, 7)
    derived = read("derived_dim").graph
    sizes = {str(s): s for n in derived.nodes if "val" in n.meta for s in getattr(n.meta["val"], "shape", ())}
    assert derived.range_of(sizes["s33"]) == (0, 100) and derived.range_of(sizes["s33"] * 2 + 1) == (1, 201)
    assert list(meta) == ["val", "stack_trace", "nn_module_stack", "torch_fn"] and len(meta) == 4
    assert meta["nn_module_stack"]["L__self__0"] == ("0", "torch.nn.modules.linear.Linear")
    assert meta["torch_fn"] == ("linear_1", "builtin_function_or_method.linear")
    assert "F.linear" in meta["stack_trace"] == node(mlp.graph, "linear").stack_trace
    assert "custom" not in meta and meta.get("custom") is None
    with pytest.raises(KeyError):
        meta["custom"]
    assert node(read("cond").graph, "cond").meta["val"][0].shape[1] == 4


def test_graphs_are_printed_as_by_pytorch(mlp: oxport.Program, capsys: pytest.CaptureFixture[str]) -> None:
    graph = mlp.graph
    lines = str(graph).splitlines()
    assert lines[0] == "graph():" and lines[-1] == "    return (softmax,)"
    assert lines[1:] == ["    " + n.format_node() for n in graph.nodes]
    assert node(graph, "gelu").format_node(include_tensor_metadata=True) == (
        '%gelu : Tensor "f32[s31, 48][48, 1]cpu"[num_users=1] = call_function[target=torch.ops.aten.gelu.default]'
        "(args = (%linear,), kwargs = {})"
    )
    graph.print_tabular()
    table = capsys.readouterr().out.splitlines()
    assert table[0].split() == ["opcode", "name", "target", "args", "kwargs"] and set(table[1]) == {"-", " "}
    assert "call_function  gelu        aten.gelu.default        (linear,)" in table[12]
    assert repr(graph) == "<oxport.fx.Graph of 18 nodes>"


@pytest.mark.parametrize("name", sorted(p.name for p in PROGRAMS.iterdir()))
def test_every_program_can_be_seen_and_copied_node_by_node(name: str) -> None:
    program = read(name)

    def see(graph: fx.Graph) -> None:
        for n in graph.nodes:
            assert "val" in n.meta or n.op != "placeholder"
            assert all(n in i.users for i in n.all_input_nodes) and all(n in u.all_input_nodes for u in n.users)
            dict(n.meta), n.format_node(include_tensor_metadata=True), repr(n.kwargs)
            if n.op in ("call_function", "output"):
                # What is read and set again is what it was.
                before = (repr(n.args), repr(n.kwargs))
                n.args, n.kwargs = n.args, n.kwargs
                assert (repr(n.args), repr(n.kwargs)) == before
            if n.op == "call_function":
                n.target = n.target
        for inner in graph.subgraphs.values():
            see(inner)

    before = program.show("fx")
    see(program.graph)
    program.recompile()
    assert program.show("fx") == before
