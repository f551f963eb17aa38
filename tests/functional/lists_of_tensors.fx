# test functional
def forward(self, a: "f32[2]", b: "f32[3]"):
    clone: "f32[2]" = torch.ops.aten.clone.default(a)
    clone_1: "f32[3]" = torch.ops.aten.clone.default(b)
    _foreach_mul_ = torch.ops.aten._foreach_mul_.ScalarList([clone, clone_1], [2.0, 0.5])
    _foreach_addcmul_ = torch.ops.aten._foreach_addcmul_.Scalar([clone, clone_1], [a, b], [clone, b], 3)
    _foreach_neg = torch.ops.aten._foreach_neg.default([clone, clone_1])
    getitem: "f32[2]" = _foreach_neg[0]
    getitem_1: "f32[3]" = _foreach_neg[1]
    return (getitem, getitem_1)
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, a: "f32[2]", b: "f32[3]"):
            clone: "f32[2]" = torch.ops.aten.clone.default(a)
            clone_1: "f32[3]" = torch.ops.aten.clone.default(b)
            mul: "f32[2]" = torch.ops.aten.mul.Scalar(clone, 2.0)
            copy_: "f32[2]" = torch.ops.aten.copy.default(clone, mul)
            mul_1: "f32[3]" = torch.ops.aten.mul.Scalar(clone_1, 0.5)
            copy__1: "f32[3]" = torch.ops.aten.copy.default(clone_1, mul_1)
            addcmul: "f32[2]" = torch.ops.aten.addcmul.default(copy_, a, copy_, value = 3)
            copy__2: "f32[2]" = torch.ops.aten.copy.default(copy_, addcmul)
            addcmul_1: "f32[3]" = torch.ops.aten.addcmul.default(copy__1, b, b, value = 3)
            copy__3: "f32[3]" = torch.ops.aten.copy.default(copy__1, addcmul_1)
            _foreach_neg = torch.ops.aten._foreach_neg.default([copy__2, copy__3])
            getitem: "f32[2]" = _foreach_neg[0]
            getitem_1: "f32[3]" = _foreach_neg[1]
            return (getitem, getitem_1)

Graph signature:
    # inputs
    a: USER_INPUT
    b: USER_INPUT

    # outputs
    getitem: USER_OUTPUT
    getitem_1: USER_OUTPUT

Range constraints: {}
