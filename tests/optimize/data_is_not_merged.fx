# test optimize
# Two calls whose sizes the data give stay two, and what gives a size its number stays.
def forward(self, x: "f32[5]", n: "i64[]"):
    item: "Sym(u0)" = torch.ops.aten.item.default(n)
    nonzero: "i64[u1, 1]" = torch.ops.aten.nonzero.default(x)
    nonzero_1: "i64[u2, 1]" = torch.ops.aten.nonzero.default(x)
    abs_1: "i64[u1, 1]" = torch.ops.aten.abs.default(nonzero)
    abs_2: "i64[u2, 1]" = torch.ops.aten.abs.default(nonzero_1)
    return (abs_1, abs_2)
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[5]", n: "i64[]"):
            item: "Sym(u0)" = torch.ops.aten.item.default(n)
            nonzero: "i64[u1, 1]" = torch.ops.aten.nonzero.default(x)
            nonzero_1: "i64[u2, 1]" = torch.ops.aten.nonzero.default(x)
            abs_1: "i64[u1, 1]" = torch.ops.aten.abs.default(nonzero)
            abs_2: "i64[u2, 1]" = torch.ops.aten.abs.default(nonzero_1)
            return (abs_1, abs_2)

Graph signature:
    # inputs
    x: USER_INPUT
    n: USER_INPUT

    # outputs
    abs_1: USER_OUTPUT
    abs_2: USER_OUTPUT

Range constraints: {}
