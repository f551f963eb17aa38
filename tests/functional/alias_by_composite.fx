# test functional
# meshgrid and sum_to_size give views, or the input itself, which their schemas do not say.
def forward(self, x: "f32[2]", y: "f32[3]"):
    clone: "f32[2]" = torch.ops.aten.clone.default(x)
    sum_to_size: "f32[2]" = torch.ops.aten.sum_to_size.default(clone, [2])
    add_: "f32[2]" = torch.ops.aten.add_.Tensor(sum_to_size, 1)
    meshgrid = torch.ops.aten.meshgrid.indexing([clone, y], indexing = 'ij')
    getitem: "f32[2, 3]" = meshgrid[0]
    mul_: "f32[2]" = torch.ops.aten.mul_.Tensor(clone, 2)
    exp: "f32[2, 3]" = torch.ops.aten.exp.default(getitem)
    return (clone, exp)
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[2]", y: "f32[3]"):
            clone: "f32[2]" = torch.ops.aten.clone.default(x)
            sum_to_size: "f32[2]" = torch.ops.aten.sum_to_size.default(clone, [2])
            add_: "f32[2]" = torch.ops.aten.add.Tensor(sum_to_size, 1)
            mul_: "f32[2]" = torch.ops.aten.mul.Tensor(add_, 2)
            view_2: "f32[2, 1]" = torch.ops.aten.view.default(mul_, [-1, 1])
            expand: "f32[2, 3]" = torch.ops.aten.expand.default(view_2, [2, 3])
            exp: "f32[2, 3]" = torch.ops.aten.exp.default(expand)
            return (mul_, exp)

Graph signature:
    # inputs
    x: USER_INPUT
    y: USER_INPUT

    # outputs
    mul_: USER_OUTPUT
    exp: USER_OUTPUT

Range constraints: {}
