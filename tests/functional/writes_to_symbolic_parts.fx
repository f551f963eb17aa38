# test functional
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[s0, 6]", y: "f32[s0]"):
            clone: "f32[s0, 6]" = torch.ops.aten.clone.default(x)
            chunk = torch.ops.aten.chunk.default(clone, 2)
            getitem: "f32[((s0 + 1)//2), 6]" = chunk[0]
            mul_: "f32[((s0 + 1)//2), 6]" = torch.ops.aten.mul_.Tensor(getitem, 2)
            getitem_1: "f32[s0 - ((s0 + 1)//2), 6]" = chunk[1]
            zero_: "f32[s0 - ((s0 + 1)//2), 6]" = torch.ops.aten.zero_.default(getitem_1)
            sym_size: "Sym(s0)" = torch.ops.aten.sym_size.int(y, 0)
            sub: "Sym(s0 - 1)" = sym_size - 1
            clone_1: "f32[s0]" = torch.ops.aten.clone.default(y)
            split_with_sizes = torch.ops.aten.split_with_sizes.default(clone_1, [sub, 1])
            getitem_2: "f32[1]" = split_with_sizes[1]
            add_: "f32[1]" = torch.ops.aten.add_.Tensor(getitem_2, 1)
            narrow: "f32[s0 - 1]" = torch.ops.aten.narrow.default(clone_1, 0, 1, sub)
            neg_: "f32[s0 - 1]" = torch.ops.aten.neg_.default(narrow)
            unfold: "f32[((s0 - 2)//2) + 1, 2]" = torch.ops.aten.unfold.default(clone_1, 0, 2, 2)
            mul__1: "f32[((s0 - 2)//2) + 1, 2]" = torch.ops.aten.mul_.Tensor(unfold, 2)
            return (clone, clone_1)

Graph signature:
    # inputs
    x: USER_INPUT
    y: USER_INPUT

    # outputs
    clone: USER_OUTPUT
    clone_1: USER_OUTPUT

Range constraints: {s0: VR[4, int_oo]}
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[s0, 6]", y: "f32[s0]"):
            clone: "f32[s0, 6]" = torch.ops.aten.clone.default(x)
            chunk = torch.ops.aten.chunk.default(clone, 2)
            getitem: "f32[((s0 + 1)//2), 6]" = chunk[0]
            mul_: "f32[((s0 + 1)//2), 6]" = torch.ops.aten.mul.Tensor(getitem, 2)
            getitem_3: "f32[((s0 + 1)//2), 6]" = chunk[0]
            sym_size_1: "Sym(((s0 + 1)//2))" = torch.ops.aten.sym_size.int(getitem_3, 0)
            slice_scatter: "f32[s0, 6]" = torch.ops.aten.slice_scatter.default(clone, mul_, 0, 0, sym_size_1)
            getitem_4: "f32[((s0 + 1)//2), 6]" = chunk[0]
            sym_size_2: "Sym(((s0 + 1)//2))" = torch.ops.aten.sym_size.int(getitem_4, 0)
            getitem_5: "f32[s0 - (((s0 + 1)//2)), 6]" = chunk[1]
            sym_size_3: "Sym(s0 - (((s0 + 1)//2)))" = torch.ops.aten.sym_size.int(getitem_5, 0)
            add: "Sym(s0)" = sym_size_2 + sym_size_3
            slice: "f32[s0 - (((s0 + 1)//2)), 6]" = torch.ops.aten.slice.Tensor(slice_scatter, 0, sym_size_2, add)
            zero_: "f32[s0 - (((s0 + 1)//2)), 6]" = torch.ops.aten.zero.default(slice)
            sym_size: "Sym(s0)" = torch.ops.aten.sym_size.int(y, 0)
            sub: "Sym(s0 - 1)" = sym_size - 1
            clone_1: "f32[s0]" = torch.ops.aten.clone.default(y)
            split_with_sizes = torch.ops.aten.split_with_sizes.default(clone_1, [sub, 1])
            getitem_2: "f32[1]" = split_with_sizes[1]
            add_: "f32[1]" = torch.ops.aten.add.Tensor(getitem_2, 1)
            getitem_6: "f32[s0 - 1]" = split_with_sizes[0]
            sym_size_4: "Sym(s0 - 1)" = torch.ops.aten.sym_size.int(getitem_6, 0)
            add_1: "Sym(s0)" = sym_size_4 + 1
            slice_scatter_1: "f32[s0]" = torch.ops.aten.slice_scatter.default(clone_1, add_, 0, sym_size_4, add_1)
            narrow: "f32[s0 - 1]" = torch.ops.aten.narrow.default(slice_scatter_1, 0, 1, sub)
            neg_: "f32[s0 - 1]" = torch.ops.aten.neg.default(narrow)
            add_2: "Sym(s0)" = 1 + sub
            slice_scatter_2: "f32[s0]" = torch.ops.aten.slice_scatter.default(slice_scatter_1, neg_, 0, 1, add_2)
            unfold: "f32[(s0//2), 2]" = torch.ops.aten.unfold.default(slice_scatter_2, 0, 2, 2)
            mul__1: "f32[(s0//2), 2]" = torch.ops.aten.mul.Tensor(unfold, 2)
            getitem_8: "f32[((s0 + 1)//2), 6]" = chunk[0]
            sym_size_5: "Sym(((s0 + 1)//2))" = torch.ops.aten.sym_size.int(getitem_8, 0)
            getitem_9: "f32[s0 - (((s0 + 1)//2)), 6]" = chunk[1]
            sym_size_6: "Sym(s0 - (((s0 + 1)//2)))" = torch.ops.aten.sym_size.int(getitem_9, 0)
            add_3: "Sym(s0)" = sym_size_5 + sym_size_6
            slice_scatter_3: "f32[s0, 6]" = torch.ops.aten.slice_scatter.default(slice_scatter, zero_, 0, sym_size_5, add_3)
            sym_size_7: "Sym(s0)" = torch.ops.aten.sym_size.int(slice_scatter_2, 0)
            select: "f32[(s0//2)]" = torch.ops.aten.select.int(mul__1, -1, 0)
            add_4: "Sym(s0 - 1)" = sym_size_7 + -1
            slice_scatter_4: "f32[s0]" = torch.ops.aten.slice_scatter.default(slice_scatter_2, select, 0, 0, add_4, 2)
            select_1: "f32[(s0//2)]" = torch.ops.aten.select.int(mul__1, -1, 1)
            slice_scatter_5: "f32[s0]" = torch.ops.aten.slice_scatter.default(slice_scatter_4, select_1, 0, 1, 9223372036854775807, 2)
            return (slice_scatter_3, slice_scatter_5)

Graph signature:
    # inputs
    x: USER_INPUT
    y: USER_INPUT

    # outputs
    slice_scatter_3: USER_OUTPUT
    slice_scatter_5: USER_OUTPUT

Range constraints: {s0: VR[4, int_oo]}
