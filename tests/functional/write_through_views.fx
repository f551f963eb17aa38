# test functional
def forward(self, x: "f32[4, 3]"):
    select: "f32[3]" = torch.ops.aten.select.int(x, 0, 1)
    slice_1: "f32[2]" = torch.ops.aten.slice.Tensor(select, 0, 0, 2)
    mul_: "f32[2]" = torch.ops.aten.mul_.Tensor(slice_1, 2)
    sum_1: "f32[]" = torch.ops.aten.sum.default(x)
    return (sum_1, select)
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[4, 3]"):
            select: "f32[3]" = torch.ops.aten.select.int(x, 0, 1)
            slice_1: "f32[2]" = torch.ops.aten.slice.Tensor(select, 0, 0, 2)
            mul_: "f32[2]" = torch.ops.aten.mul.Tensor(slice_1, 2)
            slice_scatter: "f32[3]" = torch.ops.aten.slice_scatter.default(select, mul_, 0, 0, 2)
            select_scatter: "f32[4, 3]" = torch.ops.aten.select_scatter.default(x, slice_scatter, 0, 1)
            sum_1: "f32[]" = torch.ops.aten.sum.default(select_scatter)
            select_1: "f32[3]" = torch.ops.aten.select.int(select_scatter, 0, 1)
            return (select_scatter, sum_1, select_1)

Graph signature:
    # inputs
    x: USER_INPUT

    # outputs
    select_scatter: USER_INPUT_MUTATION target='x'
    sum_1: USER_OUTPUT
    select_1: USER_OUTPUT

Range constraints: {}
