"""Looks at a program: what it calls, where its weights are, how values flow, what its sizes may be.

inspect_graph.py PROGRAM
"""

from __future__ import annotations

import collections
import sys

import oxport
from oxport import fx


def operators(graph: fx.Graph) -> collections.Counter[str]:
    """How often each operator is called, in subgraphs, too."""
    found = collections.Counter(str(node.target) for node in graph.nodes if node.op == "call_function")
    for inner in graph.subgraphs.values():
        found += operators(inner)
    return found


def module_of(node: fx.Node) -> str:
    """The path of the innermost module that made the call."""
    stack = node.meta.get("nn_module_stack", {})
    return list(stack.values())[-1][0] if stack else ""


def depth(graph: fx.Graph) -> int:
    """The number of calls on the longest way from an input to the output."""
    steps: dict[fx.Node, int] = {}
    for node in graph.nodes:
        before = max((steps[used] for used in node.all_input_nodes), default=0)
        steps[node] = before + (node.op == "call_function")
    return steps[graph.output_node()]


def sizes(graph: fx.Graph) -> dict[str, str]:
    """The symbolic sizes of the inputs, with their ranges."""
    found = {}
    for node in graph.find_nodes(op="placeholder"):
        for size in getattr(node.meta.get("val"), "shape", ()):
            if not isinstance(size, int):
                low, high = graph.range_of(size)
                found[str(size)] = f"{low}..{'' if high is None else high}"
    return found


def main() -> None:
    program = oxport.load(sys.argv[1])
    graph = program.graph
    print(f"{len(graph.nodes)} nodes, {depth(graph)} calls deep")
    for target, count in sorted(operators(graph).items()):
        print(f"  {count} x {target}")
    for name, bounds in sizes(graph).items():
        print(f"size {name}: {bounds}")
    for node in graph.find_nodes(op="call_function"):
        val = node.meta.get("val")
        widest = max(node.all_input_nodes, key=lambda n: len(n.users), default=None)
        print(f"{node.name}: {node.target} in module {module_of(node)!r} gives {val}, reads {widest}")
    unused = [node.name for node in graph.nodes if not node.users and not node.is_impure()]
    print(f"unused: {unused}")
    print(graph)


if __name__ == "__main__":
    main()
