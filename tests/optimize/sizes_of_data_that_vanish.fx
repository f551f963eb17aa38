# test optimize
# Sizes that data decide are what they are called; behind a sum over them, nothing depends on them.
def forward(self, x: "f32[5, 3]", n: "i64[]"):
    item: "Sym(u0)" = torch.ops.aten.item.default(n)
    nonzero: "i64[u1, 2]" = torch.ops.aten.nonzero.default(x)
    sum_1: "i64[2]" = torch.ops.aten.sum.dim_IntList(nonzero, [0])
    neg: "i64[2]" = torch.ops.aten.neg.default(sum_1)
    neg_1: "i64[2]" = torch.ops.aten.neg.default(neg)
    return (neg_1, item)
# result
