# test optimize
# Values whose sizes are those of what they read are rewritten, though data count their rows; what gives the size its
# number stays.
def forward(self, x: "f32[5, 3]", w: "f32[4, 3]"):
    nonzero: "i64[u0, 2]" = torch.ops.aten.nonzero.default(x)
    select: "i64[u0]" = torch.ops.aten.select.int(nonzero, 1, 0)
    index: "f32[u0, 3]" = torch.ops.aten.index.Tensor(x, [select])
    permute: "f32[3, 4]" = torch.ops.aten.permute.default(w, [1, 0])
    mm: "f32[u0, 4]" = torch.ops.aten.mm.default(index, permute)
    neg: "f32[u0, 4]" = torch.ops.aten.neg.default(mm)
    neg_1: "f32[u0, 4]" = torch.ops.aten.neg.default(neg)
    return (neg_1,)
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[5, 3]", w: "f32[4, 3]"):
            nonzero: "i64[u0, 2]" = torch.ops.aten.nonzero.default(x)
            select: "i64[u0]" = torch.ops.aten.select.int(nonzero, 1, 0)
            index: "f32[u0, 3]" = torch.ops.aten.index.Tensor(x, [select])
            mm: "f32[u0, 4]" = torch.ops.aten.linear.default(index, w)
            return (mm,)

Graph signature:
    # inputs
    x: USER_INPUT
    w: USER_INPUT

    # outputs
    mm: USER_OUTPUT

Range constraints: {}
