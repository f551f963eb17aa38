# test decompose
# Beside a size of 0 none can be inferred; beside one that is above 0 one is.
def forward(self, x: "f32[s0, s1, 0]", y: "f32[0, 4]", z: "f32[s0, s1, 3]", w: "f32[3, 4]"):
    matmul: "f32[s0, s1, 4]" = torch.ops.aten.matmul.default(x, y)
    matmul_1: "f32[s0, s1, 4]" = torch.ops.aten.matmul.default(z, w)
    return (matmul, matmul_1)
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[s0, s1, 0]", y: "f32[0, 4]", z: "f32[s0, s1, 3]", w: "f32[3, 4]"):
            sym_size: "Sym(s0)" = torch.ops.aten.sym_size.int(x, 0)
            sym_size_1: "Sym(s1)" = torch.ops.aten.sym_size.int(x, 1)
            mul: "Sym(s0*s1)" = sym_size * sym_size_1
            reshape: "f32[s0*s1, 0]" = torch.ops.aten.view.default(x, [mul, 0])
            mm: "f32[s0*s1, 4]" = torch.ops.aten.mm.default(reshape, y)
            matmul: "f32[s0, s1, 4]" = torch.ops.aten.view.default(mm, [sym_size, sym_size_1, 4])
            reshape_1: "f32[s0*s1, 3]" = torch.ops.aten.view.default(z, [-1, 3])
            mm_1: "f32[s0*s1, 4]" = torch.ops.aten.mm.default(reshape_1, w)
            matmul_1: "f32[s0, s1, 4]" = torch.ops.aten.view.default(mm_1, [sym_size, sym_size_1, 4])
            return (matmul, matmul_1)

Graph signature:
    # inputs
    x: USER_INPUT
    y: USER_INPUT
    z: USER_INPUT
    w: USER_INPUT

    # outputs
    matmul: USER_OUTPUT
    matmul_1: USER_OUTPUT

Range constraints: {}
