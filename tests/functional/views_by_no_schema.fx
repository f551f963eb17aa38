# test functional
# No schema says that these share memory with their argument; eager PyTorch's results do.
def forward(self, x: "f32[4, 6]"):
    clone: "f32[4, 6]" = torch.ops.aten.clone.default(x)
    unsafe_chunk = torch.ops.aten.unsafe_chunk.default(clone, 2, 1)
    getitem: "f32[4, 3]" = unsafe_chunk[0]
    getitem_1: "f32[4, 3]" = unsafe_chunk[1]
    neg_: "f32[4, 3]" = torch.ops.aten.neg_.default(getitem_1)
    unsafe_split = torch.ops.aten.unsafe_split.Tensor(clone, 4, 1)
    getitem_2: "f32[4, 4]" = unsafe_split[0]
    unsafe_split_with_sizes = torch.ops.aten.unsafe_split_with_sizes.default(clone, [1, 5], 1)
    getitem_3: "f32[4, 5]" = unsafe_split_with_sizes[1]
    abs_: "f32[4, 5]" = torch.ops.aten.abs_.default(getitem_3)
    _unsafe_view: "f32[24]" = torch.ops.aten._unsafe_view.default(clone, [24])
    add_: "f32[24]" = torch.ops.aten.add_.Tensor(_unsafe_view, 1)
    lift: "f32[4, 6]" = torch.ops.aten.lift.default(clone)
    mul_: "f32[4, 6]" = torch.ops.aten.mul_.Tensor(lift, 2)
    return (clone, getitem, getitem_2)
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[4, 6]"):
            clone: "f32[4, 6]" = torch.ops.aten.clone.default(x)
            unsafe_chunk = torch.ops.aten.unsafe_chunk.default(clone, 2, 1)
            getitem_1: "f32[4, 3]" = unsafe_chunk[1]
            neg_: "f32[4, 3]" = torch.ops.aten.neg.default(getitem_1)
            slice_scatter: "f32[4, 6]" = torch.ops.aten.slice_scatter.default(clone, neg_, 1, 3, 6)
            unsafe_split_with_sizes = torch.ops.aten.unsafe_split_with_sizes.default(slice_scatter, [1, 5], 1)
            getitem_3: "f32[4, 5]" = unsafe_split_with_sizes[1]
            abs_: "f32[4, 5]" = torch.ops.aten.abs.default(getitem_3)
            slice_scatter_1: "f32[4, 6]" = torch.ops.aten.slice_scatter.default(slice_scatter, abs_, 1, 1, 6)
            _unsafe_view: "f32[24]" = torch.ops.aten._unsafe_view.default(slice_scatter_1, [24])
            add_: "f32[24]" = torch.ops.aten.add.Tensor(_unsafe_view, 1)
            view: "f32[4, 6]" = torch.ops.aten.view.default(add_, [4, 6])
            lift: "f32[4, 6]" = torch.ops.aten.lift.default(view)
            mul_: "f32[4, 6]" = torch.ops.aten.mul.Tensor(lift, 2)
            slice: "f32[4, 3]" = torch.ops.aten.slice.Tensor(mul_, 1, 0, 3)
            slice_1: "f32[4, 4]" = torch.ops.aten.slice.Tensor(mul_, 1, 0, 4)
            return (mul_, slice, slice_1)

Graph signature:
    # inputs
    x: USER_INPUT

    # outputs
    mul_: USER_OUTPUT
    slice: USER_OUTPUT
    slice_1: USER_OUTPUT

Range constraints: {}
