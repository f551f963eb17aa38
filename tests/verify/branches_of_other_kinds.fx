# test verify
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, p: "b8[]", x: "f32[4, 3]"):
            true_graph_0 = self.true_graph_0
            false_graph_0 = self.false_graph_0
            cond = torch.ops.higher_order.cond(p, true_graph_0, false_graph_0, [x])
            # error[subgraph]: value 1 of `false_graph_0` is the tensor f64[4, 3], the other branch gives the tensor f32[4, 3]
            # error[subgraph]: value 2 of `false_graph_0` is the tensor f32[3], the other branch gives the tensor f32[4, 3]
            # error[subgraph]: value 3 of `false_graph_0` is the tensor f32[4, 3], the other branch gives the int 4
            getitem: "f32[4, 3]" = cond[0]
            return (getitem,)

        class true_graph_0(torch.nn.Module):
            def forward(self, x: "f32[4, 3]"):
                sym_size_int = torch.ops.aten.sym_size.int(x, 0)
                return (x, x, x, sym_size_int)

        class false_graph_0(torch.nn.Module):
            def forward(self, x: "f32[4, 3]"):
                relu: "f32[4, 3]" = torch.ops.aten.relu.default(x)
                to: "f64[4, 3]" = torch.ops.aten.to.dtype(x, torch.float64)
                select: "f32[3]" = torch.ops.aten.select.int(x, 0, 0)
                return (relu, to, select, relu)
