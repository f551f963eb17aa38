# test optimize
# Two inputs that change places: the second is written from what the first was.
def forward(self, x: "f32[3]", y: "f32[3]"):
    clone: "f32[3]" = torch.ops.aten.clone.default(x)
    copy_: "f32[3]" = torch.ops.aten.copy_.default(x, y)
    copy__1: "f32[3]" = torch.ops.aten.copy_.default(y, clone)
    sum_1: "f32[]" = torch.ops.aten.sum.default(x)
    return (sum_1,)
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[3]", y: "f32[3]"):
            copy_: "f32[3]" = torch.ops.aten.copy.default(x, y)
            copy__1: "f32[3]" = torch.ops.aten.copy.default(y, x)
            sum_1: "f32[]" = torch.ops.aten.sum.default(y)
            return (copy_, copy__1, sum_1)

Graph signature:
    # inputs
    x: USER_INPUT
    y: USER_INPUT

    # outputs
    copy_: USER_INPUT_MUTATION target='x'
    copy__1: USER_INPUT_MUTATION target='y'
    sum_1: USER_OUTPUT

Range constraints: {}
