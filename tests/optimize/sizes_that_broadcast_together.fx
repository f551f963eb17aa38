# test optimize
# A size that is 1 whenever another is: the sum has the other, whichever of them broadcasts.
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[s0]", y: "f32[64]"):
            sym_size_int: "Sym(s0)" = torch.ops.aten.sym_size.int(x, 0)
            sub: "Sym(64 - s0)" = 64 - sym_size_int
            sym_max: "Sym(Max(0, 64 - s0))" = torch.sym_max(sub, 0)
            slice_1: "f32[64 - Max(0, 64 - s0)]" = torch.ops.aten.slice.Tensor(y, 0, sym_max)
            add: "f32[s0]" = torch.ops.aten.add.Tensor(x, slice_1)
            relu: "f32[s0]" = torch.ops.aten.relu.default(add)
            relu_1: "f32[s0]" = torch.ops.aten.relu.default(relu)
            return (relu_1,)

Graph signature:
    # inputs
    x: USER_INPUT
    y: USER_INPUT

    # outputs
    relu_1: USER_OUTPUT

Range constraints: {s0: VR[2, int_oo]}
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[s0]", y: "f32[64]"):
            sym_size_int: "Sym(s0)" = torch.ops.aten.sym_size.int(x, 0)
            sub: "Sym(64 - s0)" = 64 - sym_size_int
            sym_max: "Sym(Max(0, 64 - s0))" = torch.sym_max(sub, 0)
            slice_1: "f32[64 - Max(0, 64 - s0)]" = torch.ops.aten.slice.Tensor(y, 0, sym_max)
            add: "f32[s0]" = torch.ops.aten.add.Tensor(x, slice_1)
            relu: "f32[s0]" = torch.ops.aten.relu.default(add)
            return (relu,)

Graph signature:
    # inputs
    x: USER_INPUT
    y: USER_INPUT

    # outputs
    relu: USER_OUTPUT

Range constraints: {s0: VR[2, int_oo]}
