# test decompose
# Where there is nothing to sum, it is the tensor itself, which is written through.
def forward(self, x: "f32[2, 3, 4]"):
    clone: "f32[2, 3, 4]" = torch.ops.aten.clone.default(x)
    sum_to_size: "f32[2, 3, 4]" = torch.ops.aten.sum_to_size.default(clone, [2, 3, 4])
    neg_: "f32[2, 3, 4]" = torch.ops.aten.neg_.default(sum_to_size)
    sum_to_size_1: "f32[1, 4]" = torch.ops.aten.sum_to_size.default(clone, [1, 4])
    return (clone, sum_to_size_1)
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[2, 3, 4]"):
            clone: "f32[2, 3, 4]" = torch.ops.aten.clone.default(x)
            neg_: "f32[2, 3, 4]" = torch.ops.aten.neg.default(clone)
            sum: "f32[1, 1, 4]" = torch.ops.aten.sum.dim_IntList(neg_, [0, 1], True)
            sum_to_size_1: "f32[1, 4]" = torch.ops.aten.view.default(sum, [1, 4])
            return (neg_, sum_to_size_1)

Graph signature:
    # inputs
    x: USER_INPUT

    # outputs
    neg_: USER_OUTPUT
    sum_to_size_1: USER_OUTPUT

Range constraints: {}
