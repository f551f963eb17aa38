# test functional
# What is written keeps its strides, and what is computed instead has others, here of dimensions of size 1 only. An operator that
# sees a memory format in them lays its result out otherwise then: a view of it becomes a copy.
def forward(self, x: "f32[1, 4, 4, 8]"):
    permute: "f32[1, 8, 4, 4]" = torch.ops.aten.permute.default(x, [0, 3, 1, 2])
    mean: "f32[1, 8, 1, 1]" = torch.ops.aten.adaptive_avg_pool2d.default(permute, [1, 1])
    relu_: "f32[1, 8, 1, 1]" = torch.ops.aten.relu_.default(mean)
    upsample_bilinear2d: "f32[1, 8, 2, 2]" = torch.ops.aten.upsample_bilinear2d.vec(relu_, [2, 2], False, None)
    permute_1: "f32[1, 2, 2, 8]" = torch.ops.aten.permute.default(upsample_bilinear2d, [0, 2, 3, 1])
    view: "f32[1, 32]" = torch.ops.aten.view.default(permute_1, [1, 32])
    return (view,)
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[1, 4, 4, 8]"):
            permute: "f32[1, 8, 4, 4]" = torch.ops.aten.permute.default(x, [0, 3, 1, 2])
            mean: "f32[1, 8, 1, 1]" = torch.ops.aten.adaptive_avg_pool2d.default(permute, [1, 1])
            relu_: "f32[1, 8, 1, 1]" = torch.ops.aten.relu.default(mean)
            upsample_bilinear2d: "f32[1, 8, 2, 2]" = torch.ops.aten.upsample_bilinear2d.vec(relu_, [2, 2], False, None)
            permute_1: "f32[1, 2, 2, 8]" = torch.ops.aten.permute.default(upsample_bilinear2d, [0, 2, 3, 1])
            view: "f32[1, 32]" = torch.ops.aten.reshape.default(permute_1, [1, 32])
            return (view,)

Graph signature:
    # inputs
    x: USER_INPUT

    # outputs
    view: USER_OUTPUT

Range constraints: {}
