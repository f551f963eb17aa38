# test verify
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[s0]"):
            relu: "f32[s0]" = torch.ops.aten.relu.default(x)
            return (relu,)

Graph signature:
    # inputs
    x: USER_INPUT

    # outputs
    relu: USER_OUTPUT

Range constraints: {s0: VR[8, 4]}
# at range s0: error[range]: the range of s0 is empty: 8 to 4
#   note: s0 comes from size 0 of `x`
