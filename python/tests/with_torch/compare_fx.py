"""Makes the same edits by `torch.fx` and by `oxport.fx` on the same programs, and compares all that can be seen.

    compare_fx.py [NAME ...]          programs of fixtures/programs; all by default

Both graphs are edited by the same code, whose choices are drawn with a fixed seed. Compared are, after every edit: the
names, opcodes, targets, arguments, users and inputs of all nodes; at the end also the printed graph, the table, the
lines of nodes, and the graph that PyTorch reads from the file of the edited program.
Needs PyTorch and tabulate; it is run by hand.
"""

from __future__ import annotations

import contextlib
import io
import pathlib
import random
import sys
import warnings

import oxport
import oxport.fx
import torch

PROGRAMS = pathlib.Path(__file__).resolve().parents[3] / "fixtures" / "programs"
SAME = ["aten.relu.default", "aten.neg.default", "aten.sigmoid.default", "aten.clone.default", "aten.abs.default"]


class Skipped(Exception):
    """A program that cannot be compared."""


def target(text: str):
    """The operator of PyTorch of that name."""
    found = torch.ops
    for name in text.split("."):
        found = getattr(found, name)
    return found


def shown(node) -> tuple:
    """What can be seen of a node."""
    names = lambda nodes: [n.name for n in nodes]  # noqa: E731
    kind = str(node.target) if node.op != "call_function" else calls(node)
    return (
        node.name,
        node.op,
        kind,
        str(node.args),
        str(node.kwargs),
        names(node.users),
        names(node.all_input_nodes),
        str(node),
    )


def calls(node) -> str:
    """The function of a call, as both print it in a graph."""
    return node.format_node().split("target=")[1].split("](")[0]


def dump(graph) -> list:
    return [shown(node) for node in graph.nodes]


def table(graph) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        graph.print_tabular()
    # PyTorch prints functions of Python by their `repr`.
    rows = [line.split() for line in out.getvalue().splitlines() if not line.startswith("---")]
    return "\n".join(" ".join(row) for row in rows if not row[2].startswith(("<", "operator.", "torch.")))


class Pair:
    """One graph of PyTorch and one of oxport, with the same nodes."""

    def __init__(self, path: pathlib.Path) -> None:
        self.exported = torch.export.load(path)
        self.program = oxport.load(path)
        self.graphs = (self.exported.graph, self.program.graph)

    def both(self, index: int):
        return tuple(list(graph.nodes)[index] for graph in self.graphs)

    def names(self) -> list[str]:
        return [node.name for node in self.graphs[0].nodes]

    def node(self, name: str):
        return tuple(next(n for n in graph.nodes if n.name == name) for graph in self.graphs)


def is_tensor(node) -> bool:
    return isinstance(node.meta.get("val"), torch.Tensor) and node.meta["val"].is_floating_point()


def shape(node) -> str:
    return str(tuple(node.meta["val"].shape))


def edit(pair: Pair, draw: random.Random) -> str:
    """One edit of both graphs; what it was."""
    mine = list(pair.graphs[0].nodes)
    inner = [n for n in mine if n.op == "call_function"]
    tensors = [n for n in mine if n.op in ("call_function", "placeholder") and is_tensor(n)]
    chosen = draw.choice(tensors)
    one, two = pair.node(chosen.name)
    last_input = [n for n in mine if n.op == "placeholder"][-1]
    what = draw.choice(["after", "before", "name", "target", "kwarg", "args", "move", "copy", "input", "erase", "dead"])
    op = draw.choice(SAME)
    if what == "after" and chosen.op == "call_function":
        for n, f, g in ((one, target(op), pair.graphs[0]), (two, op, pair.graphs[1])):
            with g.inserting_after(n):
                new = g.call_function(f, (n,))
            n.replace_all_uses_with(new, delete_user_cb=lambda user, new=new: user is not new)
            new.meta["custom"] = {}
            if g is pair.graphs[0]:
                new.meta["val"] = n.meta["val"]
    elif what == "before":
        user = draw.choice([*list(chosen.users), next(iter(reversed(mine)))])
        if user.op == "placeholder":
            return "nothing"
        name = draw.choice([None, "mine", "input", "relu_7", chosen.name])
        for n, u, f, g in zip((one, two), pair.node(user.name), (target(op), op), pair.graphs):
            with g.inserting_before(u):
                new = g.call_function(f, args=(n,), name=name)
            # What does not use the node is left alone here; PyTorch gives it a new place among the users of its inputs.
            if n in u.all_input_nodes:
                u.replace_input_with(n, new)
            if g is pair.graphs[0]:
                new.meta["val"] = n.meta["val"]
    elif what == "target":
        # Of several users, one with another target comes last here, as one with other arguments does in both.
        unary = [n for n in inner if str(n.target) in SAME and is_tensor(n.args[0])]
        unary = [n for n in unary if list(n.args[0].users)[-1] is n]
        if not unary:
            return "nothing"
        for n, f in zip(pair.node(draw.choice(unary).name), (target(op), op)):
            n.target = f
    elif what == "kwarg":
        for n, f, g in zip((one, two), (torch.ops.aten.sum.default, "aten.sum.default"), pair.graphs):
            new = None
            with g.inserting_before(next(iter(reversed(g.nodes)))):
                new = g.call_function(f, (n,))
            new.update_kwarg("dtype", torch.float64)
            new.update_arg(0, n)
    elif what == "args":
        for n, f, g in zip((one, two), (torch.ops.aten.add.Tensor, torch.ops.aten.add.Tensor), pair.graphs):
            with g.inserting_before(next(iter(reversed(g.nodes)))):
                new = (
                    g.call_function(f, (n,), {"alpha": 2})
                    if g is pair.graphs[0]
                    else g.call_function(f, (n, n), {"alpha": 2})
                )
            if g is pair.graphs[0]:
                new.insert_arg(1, n)
            new.args = (n, 1.5)
            new.kwargs = {}
            if g is pair.graphs[0]:
                new.meta["val"] = n.meta["val"]
    elif what == "name":
        name = f"renamed_{draw.randrange(1 << 40)}x"
        one, two = pair.node(draw.choice(inner).name)
        # By `name`, PyTorch does not take note of the new name, and would give it again.
        one._rename(name)
        two.name = name
    elif what == "move":
        # To where it stood, by the other way round.
        n = draw.choice(inner)
        for n in pair.node(n.name):
            before, behind = n.prev, n.next
            behind.prepend(n)
            if before.op == "call_function":
                before.append(n)
    elif what == "copy":
        # In a file, a subgraph that is called twice is two, an element that is taken twice is one, and one that is
        # never taken is a node of its own.
        tensors = [n for n in inner if isinstance(n.meta.get("val"), torch.Tensor)]
        free = [
            n
            for n in tensors
            if calls(n) != "operator.getitem" and not any(i.op == "get_attr" for i in n.all_input_nodes)
        ]
        if not free:
            return "nothing"
        n = draw.choice(free)
        for n, g in zip(pair.node(n.name), pair.graphs):
            with g.inserting_after(n):
                g.node_copy(n, lambda x: x)
    elif what == "input":
        other = draw.choice(tensors)
        users = [u for u in chosen.users if u.op == "call_function" and str(u.target) in SAME]
        if not users or not other < users[0] or shape(other) != shape(chosen):
            return "nothing"
        user = users[0].name
        for u, old, new in zip(pair.node(user), pair.node(chosen.name), pair.node(other.name)):
            u.replace_input_with(old, new)
    elif what == "erase":
        unused = [n for n in inner if not n.users and str(n.target) in [*SAME, "aten.sum.default", "aten.add.Tensor"]]
        if not unused:
            return "nothing"
        for n, g in zip(pair.node(draw.choice(unused).name), pair.graphs):
            g.erase_node(n)
    elif what == "dead":
        made = {*SAME, "aten.sum.default", "aten.add.Tensor"}
        answers = [g.eliminate_dead_code(lambda n: str(n.target) not in made) for g in pair.graphs]
        # PyTorch drops within subgraphs, too, there by its own judgment.
        assert answers[0] == answers[1] or pair.graphs[1].subgraphs, answers
    del last_input
    return what


def compare(path: pathlib.Path, steps: int, seed: int) -> int:
    """Edits a program in both ways; the number of edits."""
    try:
        pair = Pair(path)
    except Exception as error:  # noqa: BLE001 - a class or an operator that is not installed
        raise Skipped(f"PyTorch does not load it: {str(error)[:80]}") from None
    draw = random.Random(seed)
    if dump(pair.graphs[0]) != dump(pair.graphs[1]):
        # PyTorch renames calls that give nothing when it loads them; all names differ from there on.
        raise Skipped("PyTorch loads it with other names")
    if not any(is_tensor(n) for n in pair.graphs[0].nodes if n.op in ("call_function", "placeholder")):
        return 0
    done = 0
    for step in range(steps):
        what = edit(pair, draw)
        done += what != "nothing"
        left, right = (dump(graph) for graph in pair.graphs)
        if left != right:
            differ = [(a, b) for a, b in zip(left, right) if a != b]
            raise SystemExit(f"{path.parent.name}, step {step}, {what}:\n  {differ[:1]}\n{len(left)} {len(right)}")
    left, right = pair.graphs
    assert [a.format_node() for a in left.nodes] == [b.format_node() for b in right.nodes]
    assert str(left) == str(right), path
    rows = [table(graph).splitlines() for graph in (left, right)]
    assert rows[0] == rows[1], [pair for pair in zip(*rows) if pair[0] != pair[1]]
    nodes = list(right.nodes)
    assert [n.name for n in reversed(left.nodes)] == [n.name for n in reversed(right.nodes)]
    assert [a < b for a, b in zip(nodes, nodes[1:])] == [True] * (len(nodes) - 1)
    for op in ("placeholder", "call_function", "get_attr", "output"):
        wanted = [n.name for n in left.nodes if n.op == op]
        assert [n.name for n in right.find_nodes(op=op)] == wanted
    for n in left.find_nodes(op="call_function", target=torch.ops.aten.relu.default):
        assert right.find_nodes(op="call_function", target=torch.ops.aten.relu.default).count(pair.node(n.name)[1]) == 1
    pair.program.recompile()
    found = oxport.load(pair.program.to_bytes()).verify()
    assert all(d.severity == "warning" for d in found), found
    loaded = torch.export.load(io.BytesIO(pair.program.to_bytes()))
    # A file does not say where a subgraph's node stands.
    lines = [sorted(str(graph).splitlines()) for graph in (loaded.graph, right)]
    assert lines[0] == lines[1], [pair for pair in zip(*lines) if pair[0] != pair[1]][:2]
    return done


def main() -> None:
    warnings.filterwarnings("ignore")
    wanted = set(sys.argv[1:])
    total = 0
    for folder in sorted(PROGRAMS.iterdir()):
        if wanted and folder.name not in wanted:
            continue
        try:
            total += sum(compare(folder / "program.pt2", 40, seed) for seed in range(3))
        except Skipped as why:
            print(f"{folder.name}: {why}", flush=True)
            continue
        print(f"{folder.name}: same", flush=True)
    print(f"{total} edits")


if __name__ == "__main__":
    main()
