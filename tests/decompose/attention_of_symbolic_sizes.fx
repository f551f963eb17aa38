# test decompose
# The scale is a number of the features, and how often heads repeat one of both numbers of heads.
def forward(self, q: "f32[2, s0, 4, s1]", k: "f32[2, s2, 5, s1]", v: "f32[2, s2, 5, s1]"):
    attention: "f32[2, s0, 4, s1]" = torch.ops.aten.scaled_dot_product_attention.default(q, k, v, None, 0.0, False, scale = None, enable_gqa = True)
    return (attention,)
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, q: "f32[2, s0, 4, s1]", k: "f32[2, s2, 5, s1]", v: "f32[2, s2, 5, s1]"):
            sym_size: "Sym(s0)" = torch.ops.aten.sym_size.int(q, 1)
            sym_size_1: "Sym(s2)" = torch.ops.aten.sym_size.int(k, 1)
            floordiv: "Sym((s0//s2))" = sym_size // sym_size_1
            repeat_interleave: "f32[2, s2*((s0//s2)), 5, s1]" = torch.ops.aten.repeat_interleave.self_int(k, floordiv, -3)
            repeat_interleave_1: "f32[2, s2*((s0//s2)), 5, s1]" = torch.ops.aten.repeat_interleave.self_int(v, floordiv, -3)
            sym_size_4: "Sym(s1)" = torch.ops.aten.sym_size.int(q, 3)
            sym_float: "Sym(ToFloat(s1))" = torch.sym_float(sym_size_4)
            pow: "Sym(FloatPow(ToFloat(s1), 0.5))" = sym_float ** 0.5
            truediv: "Sym(FloatTrueDiv(1.0, FloatPow(ToFloat(s1), 0.5)))" = 1.0 / pow
            pow_1: "Sym(FloatPow(FloatTrueDiv(1.0, FloatPow(ToFloat(s1), 0.5)), 0.5))" = truediv ** 0.5
            mul: "f32[2, s0, 4, s1]" = torch.ops.aten.mul.Scalar(q, pow_1)
            transpose: "f32[2, s2*((s0//s2)), s1, 5]" = torch.ops.aten.permute.default(repeat_interleave, [0, 1, 3, 2])
            mul_1: "f32[2, s2*((s0//s2)), s1, 5]" = torch.ops.aten.mul.Scalar(transpose, pow_1)
            expand: "f32[2, s0, 4, s1]" = torch.ops.aten.expand.default(mul, [2, sym_size, 4, sym_size_4])
            reshape: "f32[2*s0, 4, s1]" = torch.ops.aten.view.default(expand, [-1, 4, sym_size_4])
            expand_1: "f32[2, s0, s1, 5]" = torch.ops.aten.expand.default(mul_1, [2, sym_size, sym_size_4, 5])
            clone: "f32[2, s0, s1, 5]" = torch.ops.aten.clone.default(expand_1, memory_format = torch.contiguous_format)
            reshape_1: "f32[2*s0, s1, 5]" = torch.ops.aten.view.default(clone, [-1, sym_size_4, 5])
            bmm: "f32[2*s0, 4, 5]" = torch.ops.aten.bmm.default(reshape, reshape_1)
            matmul: "f32[2, s0, 4, 5]" = torch.ops.aten.view.default(bmm, [2, sym_size, 4, 5])
            _softmax: "f32[2, s0, 4, 5]" = torch.ops.aten._softmax.default(matmul, -1, False)
            eq: "b8[2, s0, 4, 5]" = torch.ops.aten.eq.Scalar(matmul, -inf)
            logical_not: "b8[2, s0, 4, 5]" = torch.ops.aten.logical_not.default(eq)
            any: "b8[2, s0, 4, 1]" = torch.ops.aten.any.dim(logical_not, -1, True)
            all: "b8[2, s0, 4, 1]" = torch.ops.aten.logical_not.default(any)
            full_like: "f32[2, s0, 4, 5]" = torch.ops.aten.full_like.default(_softmax, 0)
            _safe_softmax: "f32[2, s0, 4, 5]" = torch.ops.aten.where.self(all, full_like, _softmax)
            expand_2: "f32[2, s0, 4, 5]" = torch.ops.aten.expand.default(_safe_softmax, [2, sym_size, 4, 5])
            reshape_2: "f32[2*s0, 4, 5]" = torch.ops.aten.view.default(expand_2, [-1, 4, 5])
            expand_3: "f32[2, s0, 5, s1]" = torch.ops.aten.expand.default(repeat_interleave_1, [2, sym_size, 5, sym_size_4])
            clone_1: "f32[2, s0, 5, s1]" = torch.ops.aten.clone.default(expand_3, memory_format = torch.contiguous_format)
            reshape_3: "f32[2*s0, 5, s1]" = torch.ops.aten.view.default(clone_1, [-1, 5, sym_size_4])
            bmm_1: "f32[2*s0, 4, s1]" = torch.ops.aten.bmm.default(reshape_2, reshape_3)
            attention: "f32[2, s0, 4, s1]" = torch.ops.aten.view.default(bmm_1, [2, sym_size, 4, sym_size_4])
            return (attention,)

Graph signature:
    # inputs
    q: USER_INPUT
    k: USER_INPUT
    v: USER_INPUT

    # outputs
    attention: USER_OUTPUT

Range constraints: {}
