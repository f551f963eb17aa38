# test optimize
def forward(self, x: "f32[2, 3, 4]"):
    transpose: "f32[4, 3, 2]" = torch.ops.aten.transpose.int(x, 0, 2)
    transpose_1: "f32[2, 3, 4]" = torch.ops.aten.transpose.int(transpose, 0, 2)
    relu: "f32[2, 3, 4]" = torch.ops.aten.relu.default(transpose_1)
    return (relu,)
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[2, 3, 4]"):
            relu: "f32[2, 3, 4]" = torch.ops.aten.relu.default(x)
            return (relu,)

Graph signature:
    # inputs
    x: USER_INPUT

    # outputs
    relu: USER_OUTPUT

Range constraints: {}
