# test verify
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[3]"):
            empty: "f32[s0 + s1]" = torch.ops.aten.relu.default(x)
            return (empty,)

Graph signature:
    # inputs
    x: USER_INPUT

    # outputs
    empty: USER_OUTPUT

Range constraints: {}
