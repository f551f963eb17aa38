# test decompose
# Attention lays its result out as the query; the last product of its decomposition does not, and no view merges its dimensions.
def forward(self, q: "f32[1, 17, 4, 16]", k: "f32[1, 17, 4, 16]", v: "f32[1, 17, 4, 16]"):
    transpose: "f32[1, 4, 17, 16]" = torch.ops.aten.transpose.int(q, 1, 2)
    transpose_1: "f32[1, 4, 17, 16]" = torch.ops.aten.transpose.int(k, 1, 2)
    transpose_2: "f32[1, 4, 17, 16]" = torch.ops.aten.transpose.int(v, 1, 2)
    attention: "f32[1, 4, 17, 16]" = torch.ops.aten.scaled_dot_product_attention.default(transpose, transpose_1, transpose_2)
    permute: "f32[1, 17, 4, 16]" = torch.ops.aten.permute.default(attention, [0, 2, 1, 3])
    view: "f32[1, 17, 64]" = torch.ops.aten.view.default(permute, [1, 17, 64])
    return (view,)
