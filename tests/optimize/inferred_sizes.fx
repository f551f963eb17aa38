# test optimize
# A size is inferred only where there are elements: a call without any is refused, whatever follows.
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[s0, s1, 4]"):
            slice_1: "f32[s0, s1 - 1, 4]" = torch.ops.aten.slice.Tensor(x, 1, 1)
            sym_size_int: "Sym(s0)" = torch.ops.aten.sym_size.int(x, 0)
            sym_size_int_1: "Sym(s1 - 1)" = torch.ops.aten.sym_size.int(slice_1, 1)
            clone: "f32[s0, s1 - 1, 4]" = torch.ops.aten.clone.default(slice_1, memory_format = torch.contiguous_format)
            view: "f32[s0, s1 - 1, 2, 2]" = torch.ops.aten.view.default(clone, [sym_size_int, sym_size_int_1, -1, 2])
            relu: "f32[s0, s1 - 1, 2, 2]" = torch.ops.aten.relu.default(view)
            relu_1: "f32[s0, s1 - 1, 2, 2]" = torch.ops.aten.relu.default(relu)
            return (relu_1,)

Graph signature:
    # inputs
    x: USER_INPUT

    # outputs
    relu_1: USER_OUTPUT

Range constraints: {s0: VR[2, int_oo], s1: VR[3, int_oo]}
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[s0, s1, 4]"):
            slice_1: "f32[s0, s1 - 1, 4]" = torch.ops.aten.slice.Tensor(x, 1, 1)
            sym_size_int: "Sym(s0)" = torch.ops.aten.sym_size.int(x, 0)
            sym_size_int_1: "Sym(s1 - 1)" = torch.ops.aten.sym_size.int(slice_1, 1)
            clone: "f32[s0, s1 - 1, 4]" = torch.ops.aten.clone.default(slice_1, memory_format = torch.contiguous_format)
            view: "f32[s0, s1 - 1, 2, 2]" = torch.ops.aten.view.default(clone, [sym_size_int, sym_size_int_1, -1, 2])
            relu: "f32[s0, s1 - 1, 2, 2]" = torch.ops.aten.relu.default(view)
            return (relu,)

Graph signature:
    # inputs
    x: USER_INPUT

    # outputs
    relu: USER_OUTPUT

Range constraints: {s0: VR[2, int_oo], s1: VR[3, int_oo]}
