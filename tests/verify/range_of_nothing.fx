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

Range constraints: {s0: VR[2, 8], s1: VR[-1, 20]}
# at range s1: error[range]: s1 is a size, but its range -1 to 20 has negative numbers
# at range s1: warning[dangling]: s1 has a range, but is no size or number of the program
