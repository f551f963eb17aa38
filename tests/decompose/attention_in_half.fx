# test decompose
# Half precision is left before anything is computed, whatever the mask's dtype.
def forward(self, q: "bf16[2, 3, 4, 8]", k: "bf16[2, 3, 5, 8]", v: "bf16[2, 3, 5, 8]", mask: "f32[4, 5]"):
    attention: "bf16[2, 3, 4, 8]" = torch.ops.aten.scaled_dot_product_attention.default(q, k, v, mask)
    return (attention,)
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, q: "bf16[2, 3, 4, 8]", k: "bf16[2, 3, 5, 8]", v: "bf16[2, 3, 5, 8]", mask: "f32[4, 5]"):
            _to_copy: "f32[2, 3, 4, 8]" = torch.ops.aten._to_copy.default(q, dtype = torch.float32)
            _to_copy_1: "f32[2, 3, 5, 8]" = torch.ops.aten._to_copy.default(k, dtype = torch.float32)
            _to_copy_2: "f32[2, 3, 5, 8]" = torch.ops.aten._to_copy.default(v, dtype = torch.float32)
            mul: "f32[2, 3, 4, 8]" = torch.ops.aten.mul.Scalar(_to_copy, 0.5946035575013605)
            transpose: "f32[2, 3, 8, 5]" = torch.ops.aten.permute.default(_to_copy_1, [0, 1, 3, 2])
            mul_1: "f32[2, 3, 8, 5]" = torch.ops.aten.mul.Scalar(transpose, 0.5946035575013605)
            expand: "f32[2, 3, 4, 8]" = torch.ops.aten.expand.default(mul, [2, 3, 4, 8])
            reshape: "f32[6, 4, 8]" = torch.ops.aten.view.default(expand, [6, 4, 8])
            expand_1: "f32[2, 3, 8, 5]" = torch.ops.aten.expand.default(mul_1, [2, 3, 8, 5])
            reshape_1: "f32[6, 8, 5]" = torch.ops.aten.view.default(expand_1, [6, 8, 5])
            bmm: "f32[6, 4, 5]" = torch.ops.aten.bmm.default(reshape, reshape_1)
            matmul: "f32[2, 3, 4, 5]" = torch.ops.aten.view.default(bmm, [2, 3, 4, 5])
            add: "f32[2, 3, 4, 5]" = torch.ops.aten.add.Tensor(matmul, mask)
            _softmax: "f32[2, 3, 4, 5]" = torch.ops.aten._softmax.default(add, -1, False)
            eq: "b8[2, 3, 4, 5]" = torch.ops.aten.eq.Scalar(add, -inf)
            logical_not: "b8[2, 3, 4, 5]" = torch.ops.aten.logical_not.default(eq)
            any: "b8[2, 3, 4, 1]" = torch.ops.aten.any.dim(logical_not, -1, True)
            all: "b8[2, 3, 4, 1]" = torch.ops.aten.logical_not.default(any)
            full_like: "f32[2, 3, 4, 5]" = torch.ops.aten.full_like.default(_softmax, 0)
            _safe_softmax: "f32[2, 3, 4, 5]" = torch.ops.aten.where.self(all, full_like, _softmax)
            expand_2: "f32[2, 3, 4, 5]" = torch.ops.aten.expand.default(_safe_softmax, [2, 3, 4, 5])
            reshape_2: "f32[6, 4, 5]" = torch.ops.aten.view.default(expand_2, [6, 4, 5])
            expand_3: "f32[2, 3, 5, 8]" = torch.ops.aten.expand.default(_to_copy_2, [2, 3, 5, 8])
            reshape_3: "f32[6, 5, 8]" = torch.ops.aten.view.default(expand_3, [6, 5, 8])
            bmm_1: "f32[6, 4, 8]" = torch.ops.aten.bmm.default(reshape_2, reshape_3)
            matmul_1: "f32[2, 3, 4, 8]" = torch.ops.aten.view.default(bmm_1, [2, 3, 4, 8])
            attention: "bf16[2, 3, 4, 8]" = torch.ops.aten._to_copy.default(matmul_1, dtype = torch.bfloat16)
            return (attention,)

Graph signature:
    # inputs
    q: USER_INPUT
    k: USER_INPUT
    v: USER_INPUT
    mask: USER_INPUT

    # outputs
    attention: USER_OUTPUT

Range constraints: {}
