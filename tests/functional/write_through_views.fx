# test functional
def forward(self, x: "f32[4, 3]"):
    select: "f32[3]" = torch.ops.aten.select.int(x, 0, 1)
    slice_1: "f32[2]" = torch.ops.aten.slice.Tensor(select, 0, 0, 2)
    mul_: "f32[2]" = torch.ops.aten.mul_.Tensor(slice_1, 2)
    sum_1: "f32[]" = torch.ops.aten.sum.default(x)
    return (sum_1, select)
