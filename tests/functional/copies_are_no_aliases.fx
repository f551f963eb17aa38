# test functional
# A copy is written, and what it is a copy of stays; what may be a view is none where the layout forbids it.
def forward(self, x: "f32[2, 3]"):
    clone: "f32[2, 3]" = torch.ops.aten.clone.default(x)
    to: "f32[2, 3]" = torch.ops.aten.to.dtype(clone, torch.float32, False, True)
    fill_: "f32[2, 3]" = torch.ops.aten.fill_.Scalar(to, 1)
    to_1: "f32[2, 3]" = torch.ops.aten.to.dtype(clone, torch.float32)
    add_: "f32[2, 3]" = torch.ops.aten.add_.Tensor(to_1, 2)
    permute: "f32[3, 2]" = torch.ops.aten.permute.default(clone, [1, 0])
    reshape: "f32[6]" = torch.ops.aten.reshape.default(permute, [6])
    fill__1: "f32[6]" = torch.ops.aten.fill_.Scalar(reshape, 3)
    return (clone, to, reshape)
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[2, 3]"):
            clone: "f32[2, 3]" = torch.ops.aten.clone.default(x)
            to: "f32[2, 3]" = torch.ops.aten.to.dtype(clone, torch.float32, False, True)
            fill_: "f32[2, 3]" = torch.ops.aten.fill.Scalar(to, 1)
            to_1: "f32[2, 3]" = torch.ops.aten.to.dtype(clone, torch.float32)
            add_: "f32[2, 3]" = torch.ops.aten.add.Tensor(to_1, 2)
            permute: "f32[3, 2]" = torch.ops.aten.permute.default(add_, [1, 0])
            reshape: "f32[6]" = torch.ops.aten.reshape.default(permute, [6])
            fill__1: "f32[6]" = torch.ops.aten.fill.Scalar(reshape, 3)
            return (add_, fill_, fill__1)

Graph signature:
    # inputs
    x: USER_INPUT

    # outputs
    add_: USER_OUTPUT
    fill_: USER_OUTPUT
    fill__1: USER_OUTPUT

Range constraints: {}
