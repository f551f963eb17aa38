# test verify
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[]", y: "f32[3]"):
            item: "Sym(ToFloat(u0))" = torch.ops.aten.item.default(x)
            # error[symbol]: `item` uses the symbol u0, which nothing binds
            item_1: "Sym(zuf0)" = torch.ops.aten.item.default(x)
            mul: "Sym(zuf0*zuf1)" = item * item_1
            # error[symbol]: `mul` uses the symbol zuf1, which nothing binds
            add: "f32[3]" = torch.ops.aten.add.Tensor(y, mul)
            return (add,)

Graph signature:
    # inputs
    x: USER_INPUT
    y: USER_INPUT

    # outputs
    add: USER_OUTPUT

Range constraints: {}
