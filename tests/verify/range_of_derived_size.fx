# test verify
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[s0]", y: "f32[2*s0]"):
            relu: "f32[s0]" = torch.ops.aten.relu.default(x)
            return (relu,)

Graph signature:
    # inputs
    x: USER_INPUT
    y: USER_INPUT

    # outputs
    relu: USER_OUTPUT

Range constraints: {s0: VR[3, 8], 2*s0: VR[4, 20]}
# at range 2*s0: error[range]: 2*s0 is declared as 4 to 20, its symbols give 6 to 16
#   note: s0 comes from size 0 of `x`
