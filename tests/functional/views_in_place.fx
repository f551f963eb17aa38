# test functional
def forward(self, x: "f32[2, 1, 3]"):
    clone: "f32[2, 1, 3]" = torch.ops.aten.clone.default(x)
    select: "f32[1, 3]" = torch.ops.aten.select.int(clone, 0, 1)
    squeeze_: "f32[3]" = torch.ops.aten.squeeze_.dim(select, 0)
    mul_: "f32[3]" = torch.ops.aten.mul_.Tensor(squeeze_, 2)
    transpose_: "f32[3, 1, 2]" = torch.ops.aten.transpose_.default(clone, 0, 2)
    unsqueeze_: "f32[1, 3, 1, 2]" = torch.ops.aten.unsqueeze_.default(transpose_, 0)
    add_: "f32[1, 3, 1, 2]" = torch.ops.aten.add_.Tensor(unsqueeze_, 1)
    add: "f32[3]" = torch.ops.aten.add.Tensor(mul_, 1)
    return (add, add_)
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[2, 1, 3]"):
            clone: "f32[2, 1, 3]" = torch.ops.aten.clone.default(x)
            select: "f32[1, 3]" = torch.ops.aten.select.int(clone, 0, 1)
            squeeze_: "f32[3]" = torch.ops.aten.squeeze.dim(select, 0)
            mul_: "f32[3]" = torch.ops.aten.mul.Tensor(squeeze_, 2)
            view: "f32[1, 3]" = torch.ops.aten.view.default(mul_, [1, 3])
            select_scatter: "f32[2, 1, 3]" = torch.ops.aten.select_scatter.default(clone, view, 0, 1)
            transpose_: "f32[3, 1, 2]" = torch.ops.aten.transpose.int(select_scatter, 0, 2)
            unsqueeze_: "f32[1, 3, 1, 2]" = torch.ops.aten.unsqueeze.default(transpose_, 0)
            add_: "f32[1, 3, 1, 2]" = torch.ops.aten.add.Tensor(unsqueeze_, 1)
            view_1: "f32[3, 1, 2]" = torch.ops.aten.view.default(add_, [3, 1, 2])
            transpose: "f32[2, 1, 3]" = torch.ops.aten.transpose.int(view_1, 0, 2)
            select_1: "f32[1, 3]" = torch.ops.aten.select.int(transpose, 0, 1)
            squeeze: "f32[3]" = torch.ops.aten.squeeze.dim(select_1, 0)
            add: "f32[3]" = torch.ops.aten.add.Tensor(squeeze, 1)
            return (add, add_)

Graph signature:
    # inputs
    x: USER_INPUT

    # outputs
    add: USER_OUTPUT
    add_: USER_OUTPUT

Range constraints: {}
