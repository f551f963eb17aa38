"""Graphs that are edited as with `torch.fx`: what an edit does."""

from __future__ import annotations

import copy
import gc
import pathlib

import numpy as np
import oxport
import pytest
from oxport import fx

from graphs import names, node, read, run


@pytest.fixture
def mlp() -> oxport.Program:
    return read("mlp")


def test_an_inserted_call_is_inferred_and_run() -> None:
    program = read("mlp")
    before = run(program, "mlp")[0]
    graph = program.graph
    softmax = node(graph, "softmax")
    with graph.inserting_after(softmax):
        double = graph.call_function("aten.mul.Tensor", (softmax, 2.0))
    assert (
        double.name == "mul_tensor" and str(double.meta["val"]) == "f32[s31, 5]" and double.meta["val"].device == "cpu"
    )
    assert graph.is_edited and softmax.replace_all_uses_with(double, lambda user: user is not double) == [
        graph.output_node()
    ]
    assert np.array_equal(run(program, "mlp")[0], before), "edits take effect by recompile"
    program.recompile()
    assert not graph.is_edited and graph is program.graph and node(graph, "mul_tensor") is double
    assert np.array_equal(run(program, "mlp")[0], before * 2)
    again = oxport.load(program.to_bytes())
    assert np.array_equal(run(again, "mlp")[0], before * 2) and not again.verify()


def test_metas_behind_an_edit_are_inferred_anew(mlp: oxport.Program) -> None:
    graph = mlp.graph
    linear, gelu = node(graph, "linear"), node(graph, "gelu")
    with graph.inserting_after(linear):
        wide = graph.call_function("aten._to_copy.default", (linear,), {"dtype": "float64"})
    gelu.replace_input_with(linear, wide)
    assert wide.kwargs == {"dtype": fx.dtype("float64")} and wide.kwargs["dtype"] == "torch.float64"
    assert gelu.meta["val"].dtype == "float64"
    # The layer norm's weights are float32, which is said where it goes wrong, and changes nothing.
    program_before, graph_before = mlp.show("fx"), str(graph)
    with pytest.raises(oxport.ProgramError) as error:
        mlp.recompile()
    assert [(d.code, d.at) for d in error.value.diagnostics] == [("refused", "node layer_norm")]
    assert mlp.show("fx") == program_before and str(graph) == graph_before and graph.is_edited
    assert "val" not in node(graph, "layer_norm").meta
    with pytest.raises(oxport.ProgramError):
        graph.lint()
    with graph.inserting_before(node(graph, "layer_norm")):
        back = graph.call_function("aten._to_copy.default", (gelu,), {"dtype": fx.dtype("float32")})
    node(graph, "layer_norm").replace_input_with(gelu, back)
    graph.lint()
    mlp.recompile()
    assert str(node(graph, "layer_norm").meta["val"]) == "f32[s31, 48]" and mlp.verify() == []


def test_targets_arguments_and_names_are_set(mlp: oxport.Program) -> None:
    graph = mlp.graph
    gelu = node(graph, "gelu")
    gelu.target = "aten.relu.default"
    assert gelu.target == "aten.relu.default" and gelu.name == "gelu"
    gelu.name = "rectified"
    assert str(node(graph, "layer_norm").args[0]) == "rectified"
    dropout = node(graph, "dropout")
    dropout.update_arg(1, 0.25)
    assert dropout.args[1:] == (0.25, False)
    softmax = node(graph, "softmax")
    softmax.args = softmax.args[:1]
    softmax.insert_arg(1, 1)
    softmax.update_kwarg("dtype", "float64")
    assert softmax.args[1] == 1 and softmax.kwargs == {"dtype": "torch.float64"}
    softmax.kwargs = {}
    mlp.recompile()
    assert "%rectified : [num_users=1] = call_function[target=torch.ops.aten.relu.default]" in str(graph)
    assert mlp.verify() == []


def test_nodes_are_moved_and_erased_while_they_are_iterated(mlp: oxport.Program) -> None:
    graph = mlp.graph
    with graph.inserting_before(graph.output_node()):
        made = [graph.call_function("aten.neg.default", (node(graph, "gelu"),)) for _ in range(3)]
    assert names(made) == ["neg_default", "neg_default_1", "neg_default_2"]
    made[0].append(made[2])
    assert names(list(graph.nodes)[-4:]) == ["neg_default", "neg_default_2", "neg_default_1", "output"]
    node(graph, "layer_norm").prepend(made[1])
    assert made[1].next.name == "layer_norm"
    seen = []
    for n in graph.nodes:
        seen.append(n.name)
        if n in made:
            graph.erase_node(n)
    assert {str(n) for n in made} <= set(seen) and len(graph.nodes) == 18
    assert repr(made[0]) == "neg_default"
    for touch in (lambda: made[0].args, lambda: made[0].meta["val"], lambda: graph.erase_node(made[0])):
        with pytest.raises(fx.GraphError, match="the node `neg_default` was erased"):
            touch()
    with graph.inserting_after(node(graph, "gelu")):
        # A name is given once, as by PyTorch.
        assert graph.call_function("aten.neg.default", (node(graph, "gelu"),)).name == "neg_default_3"


def test_where_nodes_are_inserted(mlp: oxport.Program) -> None:
    graph = mlp.graph
    x = node(graph, "input")
    made = graph.call_function("aten.neg.default", (x,))
    assert made.next is graph.output_node()
    with graph.inserting_before():
        assert graph.call_function("aten.neg.default", (x,)).prev is x
        with graph.inserting_after(node(graph, "gelu")):
            first = graph.call_function("aten.neg.default", (x,))
            second = graph.call_function("aten.neg.default", (x,))
            assert names([first.prev, second.prev, second.next]) == [second.name, "gelu", first.name]
        # Each comes right behind the inputs, so that the last is the first.
        assert graph.call_function("aten.neg.default", (x,)).next.name == "neg_default_1"
    graph.inserting_before(node(graph, "gelu"))
    with pytest.raises(ZeroDivisionError), graph.inserting_after():
        raise ZeroDivisionError
    assert graph.call_function("aten.neg.default", (x,)).next.name == "gelu"


def test_tensors_are_lifted(mlp: oxport.Program) -> None:
    graph = mlp.graph
    scale = graph.parameter("scale.weight", np.full(5, 3.0, np.float32))
    shift = graph.constant("shift", np.ones(5, np.float32))
    count = graph.buffer("count", np.zeros((), np.int64))
    cache = graph.buffer("cache", np.zeros(2, np.float32), persistent=False)
    assert names([scale, count, cache, shift]) == ["p_scale_weight", "b_count", "b_cache", "c_shift"]
    assert names(graph.nodes)[8:13] == [*names([scale, count, cache, shift]), "input"]
    softmax = node(graph, "softmax")
    with graph.inserting_after(softmax):
        new = graph.call_function("aten.addcmul.default", (shift, softmax, scale))
    graph.output_node().args = ((new,),)
    before = run(mlp, "mlp")[0]
    mlp.recompile()
    assert np.allclose(run(mlp, "mlp")[0], before * 3 + 1)
    assert "scale.weight" in mlp.state_dict() and "count" in mlp.state_dict() and "cache" not in mlp.state_dict()
    again = oxport.load(mlp.to_bytes())
    assert again.verify() == [] and np.allclose(run(again, "mlp")[0], before * 3 + 1)
    graph.erase_node(count)
    mlp.recompile()
    assert "count" not in mlp.state_dict() and mlp.verify() == []
    for name, message in (
        ("shift", "has a tensor `shift` already"),
        ("", "expected a name"),
        ("a..b", "expected a name"),
    ):
        with pytest.raises(fx.GraphError, match=message):
            graph.parameter(name, np.ones(2, np.float32))


def test_dead_code_goes_and_effects_stay() -> None:
    program = read("item_check")
    graph = program.graph
    kept = [n.name for n in graph.nodes]
    assert not graph.eliminate_dead_code() and not graph.is_edited
    x = next(n for n in graph.nodes if n.op == "placeholder")
    with graph.inserting_after(x):
        first = graph.call_function("aten.neg.default", (x,))
        # As in PyTorch, it comes right behind the input, before the other.
        second = graph.call_function("aten.neg.default", (first,))
    with pytest.raises(fx.GraphError, match="Argument '.*' of Node '.*' was used before it has been defined!"):
        graph.eliminate_dead_code()
    assert "val" not in second.meta
    first.append(second)
    assert str(second.meta["val"]) == str(first.meta["val"])
    assert [n.name for n in graph.nodes if n.op == "call_function" and not n.is_impure() and not n.users] != []
    assert graph.eliminate_dead_code() and [n.name for n in graph.nodes] == kept
    with graph.inserting_after(x):
        drawn = graph.call_function("aten.rand_like.default", (x,), {"dtype": "float32"})
    assert drawn.is_impure() and not drawn.is_impure(impure_random=False) and x.is_impure()
    assert not graph.eliminate_dead_code() and graph.eliminate_dead_code(lambda n: n.is_impure(False))
    asked: list[str] = []
    graph.eliminate_dead_code(lambda n: asked.append(n.name) or True)
    assert all(node(graph, name).op == "call_function" for name in asked)


def test_subgraphs_are_edited() -> None:
    program = read("cond")
    graph = program.graph
    branch = graph.subgraphs["true_graph_0"]
    assert graph.subgraphs["true_graph_0"] is branch and branch.owning_program is program
    assert list(graph.subgraphs) == ["true_graph_0", "false_graph_0", "true_graph_1", "false_graph_1"]
    relu = node(branch, "relu")
    relu.target = "aten.gelu.default"
    with pytest.raises(fx.GraphError, match="expected a node of this graph, got `relu` of another one"):
        graph.call_function("aten.neg.default", (relu,))
    program.recompile()
    assert "gelu" in str(program.graph.subgraphs["true_graph_0"]) and program.verify() == []
    # What a branch returns is what its call gives; both must agree.
    with branch.inserting_after(relu):
        wide = branch.call_function("aten._to_copy.default", (relu,), {"dtype": "float64"})
    branch.output_node().args = ((wide,),)
    with pytest.raises(oxport.ProgramError) as error:
        program.recompile()
    assert any("cond" in d.at or "true_graph_0" in d.at for d in error.value.diagnostics)
    graph.reset()
    assert "gelu" in str(graph.subgraphs["true_graph_0"]) and not graph.is_edited
    with pytest.raises(fx.GraphError, match="is of the graph before it was reset"):
        relu.name


def test_what_autocast_casts_is_inferred_so() -> None:
    program = read("autocast_block")
    graph = program.graph
    region = next(g for g in graph.subgraphs.values() if g.find_nodes(op="call_function", target="aten.linear.default"))
    linear = region.find_nodes(op="call_function", target="aten.linear.default")[0]
    x = linear.args[0]
    with region.inserting_before(linear):
        product = region.call_function("aten.linear.default", linear.args)
    with region.inserting_before(linear):
        total = region.call_function("aten.prod.default", (product,))
    assert x.meta["val"].dtype == "float32" and product.meta["val"].dtype == "bfloat16"
    assert total.meta["val"].dtype == "float32", "a class of its own computes in float32"
    region.erase_node(total)
    region.erase_node(product)
    assert program.graph.is_edited
    program.recompile()
    assert program.verify() == []


def test_data_dependent_sizes_are_bound_anew_and_kept() -> None:
    program = read("masked_select")
    graph = program.graph
    x = next(n for n in graph.nodes if n.op == "placeholder" and n.meta["val"].dtype == "float32")
    known = {str(s) for n in graph.nodes for s in getattr(n.meta.get("val"), "shape", ()) if not isinstance(s, int)}
    found = graph.call_function("aten.nonzero.default", (x,))
    count = found.meta["val"].shape[0]
    assert str(count).startswith("u") and str(count) not in known and graph.range_of(count)[0] == 0
    behind = graph.call_function("aten.mul.Tensor", (found, 2))
    assert behind.meta["val"].shape[0] == count
    # The size stays the one that it was when what it is of changes.
    with graph.inserting_before(found):
        found.update_arg(0, graph.call_function("aten.neg.default", (x,)))
    assert found.meta["val"].shape[0] == count == behind.meta["val"].shape[0]
    program.recompile()
    assert oxport.load(program.to_bytes()).verify() == []


def test_a_branch_is_given_one_more_operand() -> None:
    program = read("cond")
    graph = program.graph
    cond, x = node(graph, "cond"), node(graph, "x")
    with graph.inserting_before(cond):
        more = graph.call_function("aten.neg.default", (x,))
    for name in ("true_graph_0", "false_graph_0"):
        branch = graph.subgraphs[name]
        more_inside = branch.placeholder("more", like=more)
        answer = branch.output_node().args[0][0]
        with branch.inserting_after(answer):
            total = branch.call_function("aten.add.Tensor", (answer, answer))
        assert str(more_inside.meta["val"]) == str(more.meta["val"])
        branch.output_node().args = ((total,),)
    cond.update_arg(3, [*cond.args[3], more])
    program.recompile()
    assert program.verify() == [] and len(cond.args[3]) == 6


def test_nodes_are_copied_with_their_origin(mlp: oxport.Program) -> None:
    graph, other = mlp.graph, read("mlp").graph
    gelu = node(graph, "gelu")
    with graph.inserting_after(gelu):
        own = graph.node_copy(gelu)
        foreign = graph.node_copy(node(other, "gelu"), lambda n: node(graph, n.name))
    assert names([own, foreign]) == ["gelu_1", "gelu_2"] and own.args == foreign.args == gelu.args
    assert own.meta["nn_module_stack"] == gelu.meta["nn_module_stack"]
    with pytest.raises(fx.GraphError, match="expected a node of this graph"):
        graph.node_copy(node(other, "gelu"))
    with pytest.raises(fx.GraphError, match="of the opcode placeholder cannot be copied"):
        graph.node_copy(node(graph, "input"))


def test_metadata_is_set_and_kept(mlp: oxport.Program) -> None:
    graph = mlp.graph
    gelu = node(graph, "gelu")
    with graph.inserting_after(gelu):
        new = graph.call_function("aten.relu.default", (gelu,))
    assert list(new.meta) == ["val"]
    gelu.replace_all_uses_with(new, lambda n: n is not new, propagate_meta=True)
    assert new.meta["torch_fn"] == gelu.meta["torch_fn"]
    with pytest.raises(fx.GraphError, match="already has .meta keys"):
        gelu.replace_all_uses_with(new, propagate_meta=True)
    new.meta["custom"] = {"stage": 1}
    new.meta["note"] = "by hand"
    new.stack_trace = 'File "net.py", line 3, in forward\n    return relu(x)'
    del new.meta["torch_fn"]
    mlp.recompile()
    meta = node(oxport.load(mlp.to_bytes()).graph, "relu_default").meta
    assert meta["custom"] == {"stage": 1} and "torch_fn" not in meta and "net.py" in meta["stack_trace"]
    assert meta["note"] == "by hand"
    for key, value, message in (
        ("val", "x", "cannot be set"),
        ("flag", True, "expected a string, which is what a program keeps, got bool"),
        ("custom", object(), "not JSON serializable"),
        ("nn_module_stack", {"a": ("b",)}, "expected a dict from keys"),
        ("torch_fn", ("a;b", "c"), "without `;`"),
    ):
        with pytest.raises(fx.GraphError, match=message):
            new.meta[key] = value
    with pytest.raises(KeyError):
        del new.meta["missing"]


def test_a_copy_is_apart(mlp: oxport.Program) -> None:
    graph = mlp.graph
    for made in (graph.copy(), copy.copy(graph), copy.deepcopy(graph)):
        assert str(made) == str(graph) and made.owning_program is None
        node(made, "gelu").target = "aten.relu.default"
        assert node(made, "gelu") != node(graph, "gelu") and "relu" not in str(graph)
        made.lint()
        with pytest.raises(fx.GraphError, match="belongs to no program"):
            made.reset()


def test_the_graph_follows_its_program(mlp: oxport.Program) -> None:
    graph = mlp.graph
    node(graph, "gelu").target = "aten.relu.default"
    graph.reset()
    assert "gelu.default" in str(graph) and not graph.is_edited
    mlp.recompile()
    program = oxport.Program
    assert isinstance(mlp, program)
    owner = read("mlp")
    alone = owner.graph
    del owner
    gc.collect()
    assert alone.owning_program is None and len(alone.nodes) == 18


MODULES = """ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[3]"):
            mul: "f32[3]" = torch.ops.aten.mul.Tensor(x, 2)
            relu: "f32[3]" = torch.ops.aten.relu.default(mul)
            add: "f32[3]" = torch.ops.aten.add.Tensor(relu, 1)
            return (add,)

Graph signature:
    # inputs
    x: USER_INPUT
    # outputs
    add: USER_OUTPUT
Range constraints: {}
#: whole(1)
#: dialect('TRAINING')
"""
LEAF = '{"type": null, "context": null, "children_spec": []}'
CALL = (
    '[1, {"type": "builtins.tuple", "context": "null", "children_spec": [{"type": "builtins.tuple", "context": "null", '
    f'"children_spec": [{LEAF}]}}, {{"type": "builtins.dict", "context": "[]", "children_spec": []}}]}}]'
)


def test_signatures_of_modules_follow_names(tmp_path: pathlib.Path, recwarn: pytest.WarningsRecorder) -> None:
    module = "#: module({}, in_spec = '{}', out_spec = '[1, {}]', names = {}, inputs = {}, outputs = {})\n"
    text = MODULES + module.format("''", CALL, LEAF, "['x']", [], [])
    text += module.format("'s'", CALL, LEAF, None, [["tensor", "mul"]], [["tensor", "add"]])
    file = tmp_path / "modules.fx"
    file.write_text(text)
    program = oxport.load(file)
    graph = program.graph

    def kept() -> str:
        return next((line for line in program.show("whole").splitlines() if "#: module('s'" in line), "")

    assert "[['tensor', 'mul']]" in kept()
    node(graph, "mul").name = "product"
    add = node(graph, "add")
    with graph.inserting_after(add):
        new = graph.call_function("aten.sub.Tensor", (add.args[0], 1), name="less")
    add.replace_all_uses_with(new)
    graph.erase_node(add)
    program.recompile()
    assert "[['tensor', 'product']]" in kept() and "[['tensor', 'less']]" in kept() and not recwarn.list
    assert oxport.load(program.to_bytes()).verify() == []
    # A value that is gone leaves the module without a signature, which is said.
    relu = node(graph, "relu")
    relu.args = (node(graph, "x"),)
    graph.eliminate_dead_code()
    with pytest.warns(UserWarning, match="module `s` lost its signature, which names the erased `product`"):
        program.recompile()
    assert "product" not in kept() and oxport.load(program.to_bytes()).verify() == []


def test_names_of_inputs_are_followed_by_the_signature() -> None:
    program = read("input_mutation")
    for n in program.graph.find_nodes(op="placeholder"):
        n.name = f"{n.name}_renamed"
    program.recompile()
    assert program.verify() == [] and "_renamed" in program.show()


def test_what_a_call_gives_its_branches_is_handed_on() -> None:
    program = read("cond")
    graph = program.graph
    branch = graph.subgraphs["true_graph_1"]
    getitem = node(graph, "getitem")
    assert node(branch, "mul").meta["val"].dtype == "float32"
    with graph.inserting_after(getitem):
        wide = graph.call_function("aten._to_copy.default", (getitem,), {"dtype": "float64"})
    getitem.replace_all_uses_with(wide, lambda user: user is not wide)
    assert node(branch, "getitem").meta["val"].dtype == node(branch, "mul").meta["val"].dtype == "float64"
    assert node(graph, "getitem_1").meta["val"].dtype == "float64"
    program.recompile()
    assert program.verify() == [] and oxport.load(program.to_bytes()).verify() == []
