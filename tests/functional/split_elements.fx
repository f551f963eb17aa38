# test functional
def forward(self, x: "f32[4, 3]"):
    clone: "f32[4, 3]" = torch.ops.aten.clone.default(x)
    split = torch.ops.aten.split.Tensor(clone, 2)
    getitem: "f32[2, 3]" = split[0]
    getitem_1: "f32[2, 3]" = split[1]
    zero_: "f32[2, 3]" = torch.ops.aten.zero_.default(getitem_1)
    add: "f32[2, 3]" = torch.ops.aten.add.Tensor(getitem, getitem_1)
    return (add, clone)
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[4, 3]"):
            clone: "f32[4, 3]" = torch.ops.aten.clone.default(x)
            split = torch.ops.aten.split.Tensor(clone, 2)
            getitem_1: "f32[2, 3]" = split[1]
            zero_: "f32[2, 3]" = torch.ops.aten.zero.default(getitem_1)
            slice_scatter: "f32[4, 3]" = torch.ops.aten.slice_scatter.default(clone, zero_, 0, 2, 4)
            slice: "f32[2, 3]" = torch.ops.aten.slice.Tensor(slice_scatter, 0, 0, 2)
            slice_1: "f32[2, 3]" = torch.ops.aten.slice.Tensor(slice_scatter, 0, 2, 4)
            add: "f32[2, 3]" = torch.ops.aten.add.Tensor(slice, slice_1)
            return (add, slice_scatter)

Graph signature:
    # inputs
    x: USER_INPUT

    # outputs
    add: USER_OUTPUT
    slice_scatter: USER_OUTPUT

Range constraints: {}
