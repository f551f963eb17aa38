# test verify
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, p: "f32[]", x: "f32[4, 3]"):
            true_graph_0 = self.true_graph_0
            false_graph_0 = self.false_graph_0
            cond = torch.ops.higher_order.cond(p, true_graph_0, false_graph_0, [x])
            # error[subgraph]: `false_graph_0` gives 2 values, the other branch 1
            # error[subgraph]: the predicate is the tensor f32[], not one bool
            getitem: "f32[4, 3]" = cond[0]
            return (getitem,)

        class true_graph_0(torch.nn.Module):
            def forward(self, x: "f32[4, 3]"):
                return (x,)

        class false_graph_0(torch.nn.Module):
            def forward(self, x: "f32[4, 3]"):
                sum_1: "f32[]" = torch.ops.aten.sum.default(x)
                return (sum_1, x)
