# test optimize
# A copy that only its view reads is made by the view itself: `reshape` copies what it cannot view.
def forward(self, x: "f32[2, 3, 4]"):
    transpose: "f32[2, 4, 3]" = torch.ops.aten.transpose.int(x, 1, 2)
    contiguous: "f32[2, 4, 3]" = torch.ops.aten.contiguous.default(transpose)
    view: "f32[8, 3]" = torch.ops.aten.view.default(contiguous, [8, 3])
    relu: "f32[8, 3]" = torch.ops.aten.relu.default(view)
    return (relu,)
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[2, 3, 4]"):
            transpose: "f32[2, 4, 3]" = torch.ops.aten.transpose.int(x, 1, 2)
            view: "f32[8, 3]" = torch.ops.aten.reshape.default(transpose, [8, 3])
            relu: "f32[8, 3]" = torch.ops.aten.relu.default(view)
            return (relu,)

Graph signature:
    # inputs
    x: USER_INPUT

    # outputs
    relu: USER_OUTPUT

Range constraints: {}
