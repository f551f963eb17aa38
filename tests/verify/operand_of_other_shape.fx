# test verify
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, xs: "f32[4, 3]", init: "f32[2]"):
            combine_graph_0 = self.combine_graph_0
            scan = torch.ops.higher_order.scan(combine_graph_0, [init], [xs], [])
            # error[subgraph]: `combine_graph_0` takes `carry`, the tensor f32[3], but is given the tensor f32[2]
            getitem: "f32[3]" = scan[0]
            getitem_1: "f32[4, 3]" = scan[1]
            return (getitem_1,)

        class combine_graph_0(torch.nn.Module):
            def forward(self, carry: "f32[3]", x: "f32[3]"):
                add: "f32[3]" = torch.ops.aten.add.Tensor(carry, x)
                return (add, x)
