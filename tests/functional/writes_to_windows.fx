# test functional
def forward(self, x: "f32[7, 3, 3]"):
    clone: "f32[7, 3, 3]" = torch.ops.aten.clone.default(x)
    unfold: "f32[2, 3, 3, 2]" = torch.ops.aten.unfold.default(clone, 0, 2, 3)
    mul_: "f32[2, 3, 3, 2]" = torch.ops.aten.mul_.Tensor(unfold, 2)
    linalg_diagonal: "f32[7, 3]" = torch.ops.aten.linalg_diagonal.default(clone)
    zero_: "f32[7, 3]" = torch.ops.aten.zero_.default(linalg_diagonal)
    expand: "f32[1, 7, 3, 3]" = torch.ops.aten.expand.default(clone, [1, -1, 3, 3])
    add_: "f32[1, 7, 3, 3]" = torch.ops.aten.add_.Tensor(expand, 1)
    return (clone,)
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[7, 3, 3]"):
            clone: "f32[7, 3, 3]" = torch.ops.aten.clone.default(x)
            unfold: "f32[2, 3, 3, 2]" = torch.ops.aten.unfold.default(clone, 0, 2, 3)
            mul_: "f32[2, 3, 3, 2]" = torch.ops.aten.mul.Tensor(unfold, 2)
            select: "f32[2, 3, 3]" = torch.ops.aten.select.int(mul_, -1, 0)
            slice_scatter: "f32[7, 3, 3]" = torch.ops.aten.slice_scatter.default(clone, select, 0, 0, 6, 3)
            select_1: "f32[2, 3, 3]" = torch.ops.aten.select.int(mul_, -1, 1)
            slice_scatter_1: "f32[7, 3, 3]" = torch.ops.aten.slice_scatter.default(slice_scatter, select_1, 0, 1, 9223372036854775807, 3)
            linalg_diagonal: "f32[7, 3]" = torch.ops.aten.linalg_diagonal.default(slice_scatter_1)
            zero_: "f32[7, 3]" = torch.ops.aten.zero.default(linalg_diagonal)
            diagonal_scatter: "f32[7, 3, 3]" = torch.ops.aten.diagonal_scatter.default(slice_scatter_1, zero_, 0, -2, -1)
            expand: "f32[1, 7, 3, 3]" = torch.ops.aten.expand.default(diagonal_scatter, [1, -1, 3, 3])
            add_: "f32[1, 7, 3, 3]" = torch.ops.aten.add.Tensor(expand, 1)
            view: "f32[7, 3, 3]" = torch.ops.aten.view.default(add_, [7, 3, 3])
            return (view,)

Graph signature:
    # inputs
    x: USER_INPUT

    # outputs
    view: USER_OUTPUT

Range constraints: {}
