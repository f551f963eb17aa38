# test decompose
# `scatter` refuses a class that is out of range, as one_hot does; a comparison with all classes would not.
def forward(self, x: "i64[3]"):
    one_hot: "i64[3, 4]" = torch.ops.aten.one_hot.default(x, 4)
    return (one_hot,)
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "i64[3]"):
            zeros: "i64[3, 4]" = torch.ops.aten.full.default([3, 4], 0, dtype = torch.int64)
            unsqueeze: "i64[3, 1]" = torch.ops.aten.unsqueeze.default(x, -1)
            one_hot: "i64[3, 4]" = torch.ops.aten.scatter.value(zeros, -1, unsqueeze, 1)
            return (one_hot,)

Graph signature:
    # inputs
    x: USER_INPUT

    # outputs
    one_hot: USER_OUTPUT

Range constraints: {}
