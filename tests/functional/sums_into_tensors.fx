# test functional
# Who takes a dtype computes in that of the tensor that is written; others are converted.
def forward(self, x: "f16[4]", y: "f32[4]"):
    full: "f32[]" = torch.ops.aten.full.default([], 0.0)
    sum_1: "f32[]" = torch.ops.aten.sum.IntList_out(x, [0], out = full)
    full_1: "i64[4]" = torch.ops.aten.full.default([4], 0)
    cumsum: "i64[4]" = torch.ops.aten.cumsum.out(y, 0, out = full_1)
    full_2: "f64[4]" = torch.ops.aten.full.default([4], 0.0, dtype = torch.float64)
    abs_1: "f64[4]" = torch.ops.aten.abs.out(y, out = full_2)
    full_3: "i64[2, 3]" = torch.ops.aten.full.default([2, 3], 0)
    zeros: "i64[2, 3]" = torch.ops.aten.zeros.out([2, 3], out = full_3)
    return (sum_1, cumsum, abs_1, zeros)
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f16[4]", y: "f32[4]"):
            sum_1: "f32[]" = torch.ops.aten.sum.dim_IntList(x, [0], dtype = torch.float32)
            cumsum: "i64[4]" = torch.ops.aten.cumsum.default(y, 0, dtype = torch.int64)
            abs_1: "f32[4]" = torch.ops.aten.abs.default(y)
            _to_copy: "f64[4]" = torch.ops.aten._to_copy.default(abs_1, dtype = torch.float64)
            zeros: "i64[2, 3]" = torch.ops.aten.zeros.default([2, 3], dtype = torch.int64)
            return (sum_1, cumsum, _to_copy, zeros)

Graph signature:
    # inputs
    x: USER_INPUT
    y: USER_INPUT

    # outputs
    sum_1: USER_OUTPUT
    cumsum: USER_OUTPUT
    _to_copy: USER_OUTPUT
    zeros: USER_OUTPUT

Range constraints: {}
