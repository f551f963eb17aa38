# test optimize
# A size of one operand is the result's, whether it is 1 or not.
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[s0, 3]"):
            abs_1: "f32[s0, 3]" = torch.ops.aten.abs.default(x)
            abs_2: "f32[s0, 3]" = torch.ops.aten.abs.default(abs_1)
            add: "f32[s0, 3]" = torch.ops.aten.add.Tensor(abs_2, x)
            return (add,)

Graph signature:
    # inputs
    x: USER_INPUT

    # outputs
    add: USER_OUTPUT

Range constraints: {s0: VR[2, int_oo]}
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[s0, 3]"):
            abs_1: "f32[s0, 3]" = torch.ops.aten.abs.default(x)
            add: "f32[s0, 3]" = torch.ops.aten.add.Tensor(abs_1, x)
            return (add,)

Graph signature:
    # inputs
    x: USER_INPUT

    # outputs
    add: USER_OUTPUT

Range constraints: {s0: VR[2, int_oo]}
