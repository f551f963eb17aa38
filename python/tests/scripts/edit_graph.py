"""Edits a program and writes it: GELU becomes its tanh form, dropout goes, and the output is scaled by a new weight.

edit_graph.py PROGRAM OUTPUT
"""

from __future__ import annotations

import sys

import numpy as np
import oxport
from oxport import fx


def approximate(graph: fx.Graph) -> int:
    """Makes every GELU one of the tanh form, in subgraphs, too; how many there were."""
    found = graph.find_nodes(op="call_function", target="aten.gelu.default")
    for gelu in found:
        gelu.update_kwarg("approximate", "tanh")
    return len(found) + sum(approximate(inner) for inner in graph.subgraphs.values())


def without_dropout(graph: fx.Graph) -> int:
    """Drops every call of dropout that does not train."""
    found = [n for n in graph.find_nodes(op="call_function", target="aten.dropout.default") if n.args[2] is False]
    for dropout in found:
        dropout.replace_all_uses_with(dropout.args[0])
        graph.erase_node(dropout)
    return len(found)


def scaled(graph: fx.Graph, by: float) -> None:
    """Scales the first result by a parameter."""
    (results,) = graph.output_node().args
    weight = graph.parameter("scale.weight", np.full((), by, np.float32))
    with graph.inserting_after(results[0]):
        product = graph.call_function("aten.mul.Tensor", (results[0], weight), name="scaled")
    graph.output_node().args = ((product, *results[1:]),)


def main() -> None:
    program = oxport.load(sys.argv[1])
    graph = program.graph
    print(f"{approximate(graph)} of GELU, {without_dropout(graph)} of dropout")
    scaled(graph, 0.5)
    try:
        # A program is taken whole and valid, or not at all.
        wrong = graph.call_function("aten.relu.default", (graph.output_node(),))
    except fx.GraphError as error:
        print(f"refused: {error}")
    else:
        raise AssertionError(wrong)
    program.recompile()
    program.save(sys.argv[2])
    print(graph.output_node().args[0][0].meta["val"])


if __name__ == "__main__":
    main()
