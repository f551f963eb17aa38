# test functional
def forward(self, x: "f32[4, 6]", y: "f32[6]", w: "f32[2, 4, 6]", n: "i64[]"):
    clone: "f32[4, 6]" = torch.ops.aten.clone.default(x)
    narrow: "f32[4, 2]" = torch.ops.aten.narrow.default(clone, 1, 3, 2)
    fill_: "f32[4, 2]" = torch.ops.aten.fill_.Scalar(narrow, 1)
    hsplit = torch.ops.aten.hsplit.int(clone, 3)
    getitem: "f32[4, 2]" = hsplit[1]
    fill__1: "f32[4, 2]" = torch.ops.aten.fill_.Scalar(getitem, 2)
    reshape: "f32[24]" = torch.ops.aten.reshape.default(clone, [24])
    fill__2: "f32[24]" = torch.ops.aten.fill_.Scalar(reshape, 3)
    clone_1: "f32[6]" = torch.ops.aten.clone.default(y)
    hsplit_1 = torch.ops.aten.hsplit.int(clone_1, 3)
    getitem_1: "f32[2]" = hsplit_1[2]
    fill__3: "f32[2]" = torch.ops.aten.fill_.Scalar(getitem_1, 4)
    conj_physical: "f32[6]" = torch.ops.aten.conj_physical.default(clone_1)
    fill__4: "f32[6]" = torch.ops.aten.fill_.Scalar(conj_physical, 5)
    clone_2: "f32[2, 4, 6]" = torch.ops.aten.clone.default(w)
    permute: "f32[6, 2, 4]" = torch.ops.aten.permute.default(clone_2, [-1, 0, 1])
    mul_: "f32[6, 2, 4]" = torch.ops.aten.mul_.Tensor(permute, 6)
    clone_3: "f32[4, 6]" = torch.ops.aten.clone.default(x)
    narrow_1: "f32[4, 2]" = torch.ops.aten.narrow.Tensor(clone_3, 1, n, 2)
    fill__5: "f32[4, 2]" = torch.ops.aten.fill_.Scalar(narrow_1, 7)
    return (clone, clone_1, clone_2, clone_3)
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[4, 6]", y: "f32[6]", w: "f32[2, 4, 6]", n: "i64[]"):
            clone: "f32[4, 6]" = torch.ops.aten.clone.default(x)
            narrow: "f32[4, 2]" = torch.ops.aten.narrow.default(clone, 1, 3, 2)
            fill_: "f32[4, 2]" = torch.ops.aten.fill.Scalar(narrow, 1)
            slice_scatter: "f32[4, 6]" = torch.ops.aten.slice_scatter.default(clone, fill_, 1, 3, 5)
            hsplit = torch.ops.aten.hsplit.int(slice_scatter, 3)
            getitem: "f32[4, 2]" = hsplit[1]
            fill__1: "f32[4, 2]" = torch.ops.aten.fill.Scalar(getitem, 2)
            slice_scatter_1: "f32[4, 6]" = torch.ops.aten.slice_scatter.default(slice_scatter, fill__1, 1, 2, 4)
            reshape: "f32[24]" = torch.ops.aten.reshape.default(slice_scatter_1, [24])
            fill__2: "f32[24]" = torch.ops.aten.fill.Scalar(reshape, 3)
            clone_1: "f32[6]" = torch.ops.aten.clone.default(y)
            hsplit_1 = torch.ops.aten.hsplit.int(clone_1, 3)
            getitem_1: "f32[2]" = hsplit_1[2]
            fill__3: "f32[2]" = torch.ops.aten.fill.Scalar(getitem_1, 4)
            slice_scatter_2: "f32[6]" = torch.ops.aten.slice_scatter.default(clone_1, fill__3, 0, 4, 6)
            conj_physical: "f32[6]" = torch.ops.aten.conj_physical.default(slice_scatter_2)
            fill__4: "f32[6]" = torch.ops.aten.fill.Scalar(conj_physical, 5)
            clone_2: "f32[2, 4, 6]" = torch.ops.aten.clone.default(w)
            permute: "f32[6, 2, 4]" = torch.ops.aten.permute.default(clone_2, [-1, 0, 1])
            mul_: "f32[6, 2, 4]" = torch.ops.aten.mul.Tensor(permute, 6)
            clone_3: "f32[4, 6]" = torch.ops.aten.clone.default(x)
            narrow_1: "f32[4, 2]" = torch.ops.aten.narrow.Tensor(clone_3, 1, n, 2)
            fill__5: "f32[4, 2]" = torch.ops.aten.fill.Scalar(narrow_1, 7)
            view: "f32[4, 6]" = torch.ops.aten.view.default(fill__2, [4, 6])
            permute_1: "f32[2, 4, 6]" = torch.ops.aten.permute.default(mul_, [1, 2, 0])
            arange: "i64[2]" = torch.ops.aten.arange.default(2)
            add: "i64[2]" = torch.ops.aten.add.Tensor(arange, n)
            remainder: "i64[2]" = torch.ops.aten.remainder.Scalar(add, 6)
            index_copy: "f32[4, 6]" = torch.ops.aten.index_copy.default(clone_3, 1, remainder, fill__5)
            return (view, fill__4, permute_1, index_copy)

Graph signature:
    # inputs
    x: USER_INPUT
    y: USER_INPUT
    w: USER_INPUT
    n: USER_INPUT

    # outputs
    view: USER_OUTPUT
    fill__4: USER_OUTPUT
    permute_1: USER_OUTPUT
    index_copy: USER_OUTPUT

Range constraints: {}
