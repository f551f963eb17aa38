# test decompose
# Where what only the right operand has stands in front in the result, PyTorch makes the product transposed, so that the result is
# contiguous.
def forward(self, x: "f32[6, 4]", y: "f32[2, 4]"):
    einsum: "f32[2, 6]" = torch.ops.aten.einsum.default('oi,bi->bo', [x, y])
    einsum_1: "f32[6, 2]" = torch.ops.aten.einsum.default('oi,bi->ob', [x, y])
    return (einsum, einsum_1)
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[6, 4]", y: "f32[2, 4]"):
            unsqueeze: "f32[6, 4, 1]" = torch.ops.aten.unsqueeze.default(x, -1)
            permute: "f32[1, 6, 4]" = torch.ops.aten.permute.default(unsqueeze, [2, 0, 1])
            unsqueeze_1: "f32[2, 4, 1]" = torch.ops.aten.unsqueeze.default(y, -1)
            permute_1: "f32[2, 1, 4]" = torch.ops.aten.permute.default(unsqueeze_1, [0, 2, 1])
            permute_2: "f32[2, 4, 1]" = torch.ops.aten.permute.default(permute_1, [0, 2, 1])
            permute_3: "f32[4, 6, 1]" = torch.ops.aten.permute.default(permute, [2, 1, 0])
            reshape: "f32[1, 2, 4]" = torch.ops.aten.view.default(permute_2, [1, 2, 4])
            reshape_1: "f32[1, 4, 6]" = torch.ops.aten.view.default(permute_3, [1, 4, 6])
            bmm: "f32[1, 2, 6]" = torch.ops.aten.bmm.default(reshape, reshape_1)
            view: "f32[2, 1, 6]" = torch.ops.aten.view.default(bmm, [2, 1, 6])
            permute_4: "f32[2, 6, 1]" = torch.ops.aten.permute.default(view, [0, 2, 1])
            einsum: "f32[2, 6]" = torch.ops.aten.view.default(permute_4, [2, 6])
            unsqueeze_2: "f32[6, 4, 1]" = torch.ops.aten.unsqueeze.default(x, -1)
            permute_5: "f32[6, 1, 4]" = torch.ops.aten.permute.default(unsqueeze_2, [0, 2, 1])
            unsqueeze_3: "f32[2, 4, 1]" = torch.ops.aten.unsqueeze.default(y, -1)
            permute_6: "f32[1, 2, 4]" = torch.ops.aten.permute.default(unsqueeze_3, [2, 0, 1])
            permute_7: "f32[6, 4, 1]" = torch.ops.aten.permute.default(permute_5, [0, 2, 1])
            permute_8: "f32[4, 2, 1]" = torch.ops.aten.permute.default(permute_6, [2, 1, 0])
            reshape_2: "f32[1, 6, 4]" = torch.ops.aten.view.default(permute_7, [1, 6, 4])
            reshape_3: "f32[1, 4, 2]" = torch.ops.aten.view.default(permute_8, [1, 4, 2])
            bmm_1: "f32[1, 6, 2]" = torch.ops.aten.bmm.default(reshape_2, reshape_3)
            view_1: "f32[6, 1, 2]" = torch.ops.aten.view.default(bmm_1, [6, 1, 2])
            permute_9: "f32[6, 2, 1]" = torch.ops.aten.permute.default(view_1, [0, 2, 1])
            einsum_1: "f32[6, 2]" = torch.ops.aten.view.default(permute_9, [6, 2])
            return (einsum, einsum_1)

Graph signature:
    # inputs
    x: USER_INPUT
    y: USER_INPUT

    # outputs
    einsum: USER_OUTPUT
    einsum_1: USER_OUTPUT

Range constraints: {}
