"""Exports a model of PyTorch, edits and optimizes it, and hands it back to PyTorch. Needs PyTorch.

optimize_for_torch.py
"""

from __future__ import annotations

import io

import oxport
import oxport.fx
import torch


class Net(torch.nn.Module):
    """Two layers with more calls than are needed."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = torch.nn.Linear(8, 16), torch.nn.Linear(16, 4)
        self.dropout = torch.nn.Dropout(0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.dropout(torch.relu(self.first(x)))
        return self.second(y.transpose(0, 1).transpose(0, 1) * 1.0).relu().relu()


def main() -> None:
    torch.manual_seed(0)
    net = Net().eval()
    batch = torch.export.Dim("batch", min=1, max=64)
    x = torch.randn(5, 8)
    exported = torch.export.export(net, (x,), dynamic_shapes=({0: batch},))
    file = io.BytesIO()
    torch.export.save(exported, file)
    program = oxport.load(file.getvalue())

    graph = program.graph
    last = graph.output_node().args[0][0]
    # PyTorch's own operators name what is called.
    assert last.target == torch.ops.aten.relu.default
    with graph.inserting_after(last):
        doubled = graph.call_function(torch.ops.aten.mul.Tensor, (last, 2))
        graph.output_node().replace_input_with(last, doubled)
    program.recompile()

    better = program.optimize("exact", target="aten")
    back = torch.export.load(io.BytesIO(better.to_bytes()))
    count = lambda p: len(list(p.graph.nodes))  # noqa: E731
    for rows in (1, 5, 64):
        x = torch.randn(rows, 8)
        torch.testing.assert_close(back.module()(x), 2 * net(x))
        torch.testing.assert_close(torch.from_numpy(better(x.numpy())), 2 * net(x))
    print(f"PyTorch's program has {count(exported)} nodes, the one that it got back {count(back)}")
    assert count(back) < count(exported)


if __name__ == "__main__":
    main()
