# test parse
def forward(self, x: "f32[s0, 3]"):
    sym_size_int: "Sym(s0)" = torch.ops.aten.sym_size.int(x, 0)
    add: "Sym(s0 + 1)" = sym_size_int + 1
    floordiv: "Sym(((s0 + 1)//2))" = add // 2
    gt: "Sym(s0 > 3)" = sym_size_int > 3
    full: "f32[s0 + 1]" = torch.ops.aten.full.default([add], -0.5, dtype = torch.float32, device = device(type='cpu'))
    return (full, floordiv)
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[s0, 3]"):
            sym_size_int: "Sym(s0)" = torch.ops.aten.sym_size.int(x, 0)
            add: "Sym(s0 + 1)" = sym_size_int + 1
            floordiv: "Sym(((s0 + 1)//2))" = add // 2
            gt: "Sym(s0 > 3)" = sym_size_int > 3
            full: "f32[s0 + 1]" = torch.ops.aten.full.default([add], -0.5, dtype = torch.float32, device = device(type='cpu'))
            return (full, floordiv)

Graph signature:
    # inputs
    x: USER_INPUT

    # outputs
    full: USER_OUTPUT
    floordiv: USER_OUTPUT

Range constraints: {}
