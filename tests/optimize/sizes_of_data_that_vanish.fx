# test optimize
# Sizes that data decide are what they are called; behind a sum over them, nothing depends on them.
def forward(self, x: "f32[5, 3]", b: "b8[5, 3]"):
    masked_select: "f32[u0]" = torch.ops.aten.masked_select.default(x, b)
    sum_1: "f32[]" = torch.ops.aten.sum.default(masked_select)
    neg: "f32[]" = torch.ops.aten.neg.default(sum_1)
    neg_1: "f32[]" = torch.ops.aten.neg.default(neg)
    return (neg_1,)
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[5, 3]", b: "b8[5, 3]"):
            masked_select: "f32[u0]" = torch.ops.aten.masked_select.default(x, b)
            sum_1: "f32[]" = torch.ops.aten.sum.default(masked_select)
            return (sum_1,)

Graph signature:
    # inputs
    x: USER_INPUT
    b: USER_INPUT

    # outputs
    sum_1: USER_OUTPUT

Range constraints: {}
