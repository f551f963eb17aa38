# test verify
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, p: "b8[]", x: "f32[4, 3]"):
            true_graph_0 = self.true_graph_0
            # error[attribute]: there is no subgraph `true_graph_0`
            cond = torch.ops.higher_order.cond(p, true_graph_0, true_graph_0, [x])
            # error[no-meta]: `cond` has no meta value
            getitem: "f32[4, 3]" = cond[0]
            return (getitem,)
