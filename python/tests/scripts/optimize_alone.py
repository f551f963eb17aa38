"""Optimizes a program without PyTorch, and compares what both compute.

optimize_alone.py PROGRAM VALUES OUTPUT
"""

from __future__ import annotations

import sys

import numpy as np
import oxport
import oxport.fx


def main() -> None:
    file, values, output = sys.argv[1:]
    program = oxport.load(file)
    recorded = oxport.read_values(values)
    inputs = [recorded[f"in.{i}"] for i in range(len(program.inputs))]
    graph = program.graph
    with graph.inserting_before(graph.output_node()):
        # Work that the optimizer takes away again.
        (results,) = graph.output_node().args
        twice = graph.call_function("aten.neg.default", (graph.call_function("aten.neg.default", (results[0],)),))
    graph.output_node().update_arg(0, (twice, *results[1:]))
    program.recompile()
    better = program.optimize("exact")
    before, after = program.call_flat(inputs), better.call_flat(inputs)
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))
    assert not better.graph.find_nodes(op="call_function", target="aten.neg.default")
    better.save(output)
    again = oxport.load(output)
    assert not again.verify() and str(again.graph) == str(better.graph)
    print(f"{len(graph.nodes)} nodes, {len(better.graph.nodes)} optimized, the same bits")


if __name__ == "__main__":
    main()
