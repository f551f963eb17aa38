# test decompose
def forward(self, x: "f32[1, 2, 8]", w: "f32[3, 2, s0]"):
    conv1d: "f32[1, 3, 8]" = torch.ops.aten.conv1d.padding(x, w, None, [1], "same", [2])
    return (conv1d,)
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[1, 2, 8]", w: "f32[3, 2, s0]"):
            sym_size: "Sym(s0)" = torch.ops.aten.sym_size.int(w, 2)
            sub: "Sym(s0 - 1)" = sym_size - 1
            mul: "Sym(2*s0 - 2)" = sub * 2
            mod = mul % 2
            constant_pad_nd: "f32[1, 2, 8]" = torch.ops.aten.constant_pad_nd.default(x, [0, mod])
            conv1d: "f32[1, 3, 8]" = torch.ops.aten.convolution.default(constant_pad_nd, w, None, [1], [sub], [2], False, [0], 1)
            return (conv1d,)

Graph signature:
    # inputs
    x: USER_INPUT
    w: USER_INPUT

    # outputs
    conv1d: USER_OUTPUT

Range constraints: {}
