# test optimize
# A size that may be 1 when the program is called decides about dimensions: what depends on it stays.
# PyTorch declares 2 for sizes that it took to be neither 0 nor 1, and checks no call against that; against 3 it does.
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[s0, 3]", y: "f32[s1, 3]"):
            squeeze: "f32[s0, 3]" = torch.ops.aten.squeeze.dim(x, 0)
            relu: "f32[s0, 3]" = torch.ops.aten.relu.default(squeeze)
            squeeze_1: "f32[s1, 3]" = torch.ops.aten.squeeze.dim(y, 0)
            relu_1: "f32[s1, 3]" = torch.ops.aten.relu.default(squeeze_1)
            return (relu, relu_1)

Graph signature:
    # inputs
    x: USER_INPUT
    y: USER_INPUT

    # outputs
    relu: USER_OUTPUT
    relu_1: USER_OUTPUT

Range constraints: {s0: VR[2, int_oo], s1: VR[3, int_oo]}
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[s0, 3]", y: "f32[s1, 3]"):
            squeeze: "f32[s0, 3]" = torch.ops.aten.squeeze.dim(x, 0)
            relu: "f32[s0, 3]" = torch.ops.aten.relu.default(squeeze)
            relu_1: "f32[s1, 3]" = torch.ops.aten.relu.default(y)
            return (relu, relu_1)

Graph signature:
    # inputs
    x: USER_INPUT
    y: USER_INPUT

    # outputs
    relu: USER_OUTPUT
    relu_1: USER_OUTPUT

Range constraints: {s0: VR[2, int_oo], s1: VR[3, int_oo]}
