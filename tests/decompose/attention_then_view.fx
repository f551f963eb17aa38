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
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, q: "f32[1, 17, 4, 16]", k: "f32[1, 17, 4, 16]", v: "f32[1, 17, 4, 16]"):
            transpose: "f32[1, 4, 17, 16]" = torch.ops.aten.permute.default(q, [0, 2, 1, 3])
            transpose_1: "f32[1, 4, 17, 16]" = torch.ops.aten.permute.default(k, [0, 2, 1, 3])
            transpose_2: "f32[1, 4, 17, 16]" = torch.ops.aten.permute.default(v, [0, 2, 1, 3])
            mul: "f32[1, 4, 17, 16]" = torch.ops.aten.mul.Scalar(transpose, 0.5)
            transpose_3: "f32[1, 4, 16, 17]" = torch.ops.aten.permute.default(transpose_1, [0, 1, 3, 2])
            mul_1: "f32[1, 4, 16, 17]" = torch.ops.aten.mul.Scalar(transpose_3, 0.5)
            expand: "f32[1, 4, 17, 16]" = torch.ops.aten.expand.default(mul, [1, 4, 17, 16])
            reshape: "f32[4, 17, 16]" = torch.ops.aten.view.default(expand, [4, 17, 16])
            expand_1: "f32[1, 4, 16, 17]" = torch.ops.aten.expand.default(mul_1, [1, 4, 16, 17])
            reshape_1: "f32[4, 16, 17]" = torch.ops.aten.view.default(expand_1, [4, 16, 17])
            bmm: "f32[4, 17, 17]" = torch.ops.aten.bmm.default(reshape, reshape_1)
            matmul: "f32[1, 4, 17, 17]" = torch.ops.aten.view.default(bmm, [1, 4, 17, 17])
            _softmax: "f32[1, 4, 17, 17]" = torch.ops.aten._softmax.default(matmul, -1, False)
            eq: "b8[1, 4, 17, 17]" = torch.ops.aten.eq.Scalar(matmul, -inf)
            logical_not: "b8[1, 4, 17, 17]" = torch.ops.aten.logical_not.default(eq)
            any: "b8[1, 4, 17, 1]" = torch.ops.aten.any.dim(logical_not, -1, True)
            all: "b8[1, 4, 17, 1]" = torch.ops.aten.logical_not.default(any)
            full_like: "f32[1, 4, 17, 17]" = torch.ops.aten.full_like.default(_softmax, 0)
            _safe_softmax: "f32[1, 4, 17, 17]" = torch.ops.aten.where.self(all, full_like, _softmax)
            expand_2: "f32[1, 4, 17, 17]" = torch.ops.aten.expand.default(_safe_softmax, [1, 4, 17, 17])
            reshape_2: "f32[4, 17, 17]" = torch.ops.aten.view.default(expand_2, [4, 17, 17])
            expand_3: "f32[1, 4, 17, 16]" = torch.ops.aten.expand.default(transpose_2, [1, 4, 17, 16])
            reshape_3: "f32[4, 17, 16]" = torch.ops.aten.view.default(expand_3, [4, 17, 16])
            bmm_1: "f32[4, 17, 16]" = torch.ops.aten.bmm.default(reshape_2, reshape_3)
            attention: "f32[1, 4, 17, 16]" = torch.ops.aten.view.default(bmm_1, [1, 4, 17, 16])
            permute: "f32[1, 17, 4, 16]" = torch.ops.aten.permute.default(attention, [0, 2, 1, 3])
            view: "f32[1, 17, 64]" = torch.ops.aten.reshape.default(permute, [1, 17, 64])
            return (view,)

Graph signature:
    # inputs
    q: USER_INPUT
    k: USER_INPUT
    v: USER_INPUT

    # outputs
    view: USER_OUTPUT

Range constraints: {}
