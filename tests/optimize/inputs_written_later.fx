# test optimize
# What equals an input that is written later must lie elsewhere: it is computed as it was, from classes that no output needs.
def forward(self, x: "f32[3, 4]"):
    diagonal: "f32[3]" = torch.ops.aten.diagonal.default(x)
    neg: "f32[3, 4]" = torch.ops.aten.neg.default(x)
    neg_1: "f32[3, 4]" = torch.ops.aten.neg.default(neg)
    mul: "f32[3]" = torch.ops.aten.mul_.Tensor(diagonal, 2)
    clone: "f32[3, 4]" = torch.ops.aten.clone.default(x)
    return (clone, neg_1)
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[3, 4]"):
            diagonal: "f32[3]" = torch.ops.aten.diagonal.default(x)
            neg: "f32[3, 4]" = torch.ops.aten.neg.default(x)
            neg_1: "f32[3, 4]" = torch.ops.aten.neg.default(neg)
            mul: "f32[3]" = torch.ops.aten.mul.Tensor(diagonal, 2)
            diagonal_scatter: "f32[3, 4]" = torch.ops.aten.diagonal_scatter.default(x, mul)
            clone: "f32[3, 4]" = torch.ops.aten.clone.default(diagonal_scatter)
            return (diagonal_scatter, clone, neg_1)

Graph signature:
    # inputs
    x: USER_INPUT

    # outputs
    diagonal_scatter: USER_INPUT_MUTATION target='x'
    clone: USER_OUTPUT
    neg_1: USER_OUTPUT

Range constraints: {}
