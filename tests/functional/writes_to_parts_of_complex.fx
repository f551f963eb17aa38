# test functional
def forward(self, x: "c64[4, 6]", y: "f32[2]"):
    clone: "c64[4, 6]" = torch.ops.aten.clone.default(x)
    real: "f32[4, 6]" = torch.ops.aten.real.default(clone)
    mul_: "f32[4, 6]" = torch.ops.aten.mul_.Tensor(real, 2)
    imag: "f32[4, 6]" = torch.ops.aten.imag.default(clone)
    zero_: "f32[4, 6]" = torch.ops.aten.zero_.default(imag)
    conj: "c64[4, 6]" = torch.ops.aten.conj.default(clone)
    add_: "c64[4, 6]" = torch.ops.aten.add_.Tensor(conj, 3)
    clone_1: "f32[2]" = torch.ops.aten.clone.default(y)
    real_1: "f32[2]" = torch.ops.aten.real.default(clone_1)
    neg_: "f32[2]" = torch.ops.aten.neg_.default(real_1)
    _neg_view: "f32[2]" = torch.ops.aten._neg_view.default(clone_1)
    mul__1: "f32[2]" = torch.ops.aten.mul_.Tensor(_neg_view, 2)
    return (clone, clone_1)
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "c64[4, 6]", y: "f32[2]"):
            clone: "c64[4, 6]" = torch.ops.aten.clone.default(x)
            real: "f32[4, 6]" = torch.ops.aten.real.default(clone)
            mul_: "f32[4, 6]" = torch.ops.aten.mul.Tensor(real, 2)
            imag_1: "f32[4, 6]" = torch.ops.aten.imag.default(clone)
            complex: "c64[4, 6]" = torch.ops.aten.complex.default(mul_, imag_1)
            imag: "f32[4, 6]" = torch.ops.aten.imag.default(complex)
            zero_: "f32[4, 6]" = torch.ops.aten.zero.default(imag)
            real_2: "f32[4, 6]" = torch.ops.aten.real.default(complex)
            complex_1: "c64[4, 6]" = torch.ops.aten.complex.default(real_2, zero_)
            conj: "c64[4, 6]" = torch.ops.aten.conj.default(complex_1)
            add_: "c64[4, 6]" = torch.ops.aten.add.Tensor(conj, 3)
            clone_1: "f32[2]" = torch.ops.aten.clone.default(y)
            real_1: "f32[2]" = torch.ops.aten.real.default(clone_1)
            neg_: "f32[2]" = torch.ops.aten.neg.default(real_1)
            _neg_view: "f32[2]" = torch.ops.aten._neg_view.default(neg_)
            mul__1: "f32[2]" = torch.ops.aten.mul.Tensor(_neg_view, 2)
            conj_1: "c64[4, 6]" = torch.ops.aten.conj.default(add_)
            neg: "f32[2]" = torch.ops.aten.neg.default(mul__1)
            return (conj_1, neg)

Graph signature:
    # inputs
    x: USER_INPUT
    y: USER_INPUT

    # outputs
    conj_1: USER_OUTPUT
    neg: USER_OUTPUT

Range constraints: {}
