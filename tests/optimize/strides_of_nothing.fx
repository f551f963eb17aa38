# test optimize
# PyTorch records `Max(1, s)` in strides for a size that may be 0. That is `s` wherever there are elements.
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[4*s1, 3]", y: "f32[s0]"):
            sym_size_int: "Sym(s0)" = torch.ops.aten.sym_size.int(y, 0)
            view: "f32[s0, ((4*s1)//s0), 3]" = torch.ops.aten.view.default(x, [sym_size_int, -1, 3])
            #: view.val('f32[s0, ((4*s1)//s0), 3] strides [3*Max(1, ((4*s1)//s0)), 3, 1]')
            relu: "f32[s0, ((4*s1)//s0), 3]" = torch.ops.aten.relu.default(view)
            #: relu.val('f32[s0, ((4*s1)//s0), 3] strides [3*Max(1, ((4*s1)//s0)), 3, 1]')
            relu_1: "f32[s0, ((4*s1)//s0), 3]" = torch.ops.aten.relu.default(relu)
            #: relu_1.val('f32[s0, ((4*s1)//s0), 3] strides [3*Max(1, ((4*s1)//s0)), 3, 1]')
            return (relu_1,)

Graph signature:
    # inputs
    x: USER_INPUT
    y: USER_INPUT

    # outputs
    relu_1: USER_OUTPUT

Range constraints: {s0: VR[2, int_oo], s1: VR[2, int_oo]}
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[4*s1, 3]", y: "f32[s0]"):
            sym_size_int: "Sym(s0)" = torch.ops.aten.sym_size.int(y, 0)
            view: "f32[s0, ((4*s1)//s0), 3]" = torch.ops.aten.view.default(x, [sym_size_int, -1, 3])
            relu: "f32[s0, ((4*s1)//s0), 3]" = torch.ops.aten.relu.default(view)
            return (relu,)

Graph signature:
    # inputs
    x: USER_INPUT
    y: USER_INPUT

    # outputs
    relu: USER_OUTPUT

Range constraints: {s0: VR[2, int_oo], s1: VR[2, int_oo]}
