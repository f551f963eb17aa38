# test verify
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, p: "b8[]", x: "f32[4, 3]"):
            true_graph_0 = self.true_graph_0
            false_graph_0 = self.false_graph_0
            cond = torch.ops.higher_order.cond(p, true_graph_0, false_graph_0, [x])
            # error[subgraph]: `true_graph_0` takes `x`, the tensor f32[4, 4], but is given the tensor f32[4, 3]
            # error[subgraph]: `false_graph_0` takes 2 operands, cond gives 1
            getitem: "f32[4, 3]" = cond[0]
            return (getitem,)

        class true_graph_0(torch.nn.Module):
            def forward(self, x: "f32[4, 4]"):
                return (x,)

        class false_graph_0(torch.nn.Module):
            def forward(self, x: "f32[4, 3]", y: "f32[4, 3]"):
                return (x,)

Graph signature:
    # inputs
    p: USER_INPUT
    x: USER_INPUT

    # outputs
    getitem: USER_OUTPUT

Range constraints: {}
