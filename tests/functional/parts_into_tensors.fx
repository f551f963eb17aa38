# test functional
def forward(self, x: "f32[5]", a: "f32[2]", b: "f32[6]"):
    clone: "f32[2]" = torch.ops.aten.clone.default(a)
    clone_1: "f32[6]" = torch.ops.aten.clone.default(b)
    slice_1: "f32[3]" = torch.ops.aten.slice.Tensor(clone_1, 0, 0, 3)
    split_with_sizes_copy = torch.ops.aten.split_with_sizes_copy.out(x, [2, 3], 0, out = [clone, slice_1])
    return (clone, clone_1)
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[5]", a: "f32[2]", b: "f32[6]"):
            clone: "f32[2]" = torch.ops.aten.clone.default(a)
            clone_1: "f32[6]" = torch.ops.aten.clone.default(b)
            slice_1: "f32[3]" = torch.ops.aten.slice.Tensor(clone_1, 0, 0, 3)
            split_with_sizes_copy_1 = torch.ops.aten.split_with_sizes_copy.default(x, [2, 3], 0)
            getitem: "f32[2]" = split_with_sizes_copy_1[0]
            copy_: "f32[2]" = torch.ops.aten.copy.default(clone, getitem)
            getitem_1: "f32[3]" = split_with_sizes_copy_1[1]
            copy__1: "f32[3]" = torch.ops.aten.copy.default(slice_1, getitem_1)
            slice_scatter: "f32[6]" = torch.ops.aten.slice_scatter.default(clone_1, copy__1, 0, 0, 3)
            return (copy_, slice_scatter)

Graph signature:
    # inputs
    x: USER_INPUT
    a: USER_INPUT
    b: USER_INPUT

    # outputs
    copy_: USER_OUTPUT
    slice_scatter: USER_OUTPUT

Range constraints: {}
