# test verify
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, n: "i64[]", x: "f32[3]"):
            cond_graph_0 = self.cond_graph_0
            body_graph_0 = self.body_graph_0
            body_graph_1 = self.body_graph_1
            while_loop = torch.ops.higher_order.while_loop(cond_graph_0, body_graph_0, [n, x], [])
            # error[subgraph]: value 1 that `body_graph_0` carries on was the tensor f32[3], but is given the int 3
            getitem: "i64[]" = while_loop[0]
            while_loop_1 = torch.ops.higher_order.while_loop(cond_graph_0, body_graph_1, [n, x], [])
            # error[subgraph]: `body_graph_1` gives 3 values for 2 that are carried
            getitem_1: "i64[]" = while_loop_1[0]
            return (getitem, getitem_1)

        class cond_graph_0(torch.nn.Module):
            def forward(self, n: "i64[]", x: "f32[3]"):
                lt: "b8[]" = torch.ops.aten.lt.Scalar(n, 3)
                return lt

        class body_graph_0(torch.nn.Module):
            def forward(self, n: "i64[]", x: "f32[3]"):
                sym_size_int = torch.ops.aten.sym_size.int(x, 0)
                return (sym_size_int, sym_size_int)

        class body_graph_1(torch.nn.Module):
            def forward(self, n: "i64[]", x: "f32[3]"):
                return (n, x, x)
