# test verify
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, n: "i64[]", x: "f32[3]"):
            cond_graph_0 = self.cond_graph_0
            body_graph_0 = self.body_graph_0
            while_loop = torch.ops.higher_order.while_loop(cond_graph_0, body_graph_0, [n, x], [])
            # error[subgraph]: the condition `cond_graph_0` gives the tensor i64[], not one bool
            # error[subgraph]: value 1 that `body_graph_0` carries on was the tensor f32[3], but is given the tensor f64[3]
            getitem: "i64[]" = while_loop[0]
            getitem_1: "f32[3]" = while_loop[1]
            return (getitem_1,)

        class cond_graph_0(torch.nn.Module):
            def forward(self, n: "i64[]", x: "f32[3]"):
                add: "i64[]" = torch.ops.aten.add.Tensor(n, 1)
                return add

        class body_graph_0(torch.nn.Module):
            def forward(self, n: "i64[]", x: "f32[3]"):
                to: "f64[3]" = torch.ops.aten.to.dtype(x, torch.float64)
                return (n, to)
