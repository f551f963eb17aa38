# test functional
# The running statistics are written beside the tensors that are named `out`.
def forward(self, x: "f32[2, 3, 4]", m: "f32[3]", v: "f32[3]", y: "f32[2, 3, 4]", a: "f32[3]", b: "f32[3]"):
    clone: "f32[3]" = torch.ops.aten.clone.default(m)
    clone_1: "f32[3]" = torch.ops.aten.clone.default(v)
    clone_2: "f32[2, 3, 4]" = torch.ops.aten.clone.default(y)
    native_batch_norm = torch.ops.aten.native_batch_norm.out(x, None, None, clone, clone_1, True, 0.1, 1e-05, out = clone_2, save_mean = a, save_invstd = b)
    _native_batch_norm_legit = torch.ops.aten._native_batch_norm_legit.out(clone_2, None, None, clone, clone_1, True, 0.1, 1e-05, out = y, save_mean = a, save_invstd = b)
    getitem: "f32[2, 3, 4]" = _native_batch_norm_legit[0]
    return (getitem, clone, clone_1)
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[2, 3, 4]", m: "f32[3]", v: "f32[3]", y: "f32[2, 3, 4]", a: "f32[3]", b: "f32[3]"):
            clone: "f32[3]" = torch.ops.aten.clone.default(m)
            clone_1: "f32[3]" = torch.ops.aten.clone.default(v)
            clone_2: "f32[2, 3, 4]" = torch.ops.aten.clone.default(y)
            native_batch_norm_1 = torch.ops.aten._native_batch_norm_legit_functional.default(x, None, None, clone, clone_1, True, 0.1, 1e-05)
            getitem: "f32[3]" = native_batch_norm_1[3]
            getitem_7: "f32[3]" = native_batch_norm_1[4]
            getitem_1: "f32[2, 3, 4]" = native_batch_norm_1[0]
            copy_: "f32[2, 3, 4]" = torch.ops.aten.copy.default(clone_2, getitem_1)
            getitem_2: "f32[3]" = native_batch_norm_1[1]
            copy__1: "f32[3]" = torch.ops.aten.copy.default(a, getitem_2)
            getitem_3: "f32[3]" = native_batch_norm_1[2]
            copy__2: "f32[3]" = torch.ops.aten.copy.default(b, getitem_3)
            _native_batch_norm_legit_1 = torch.ops.aten._native_batch_norm_legit_functional.default(copy_, None, None, getitem, getitem_7, True, 0.1, 1e-05)
            getitem_8: "f32[3]" = _native_batch_norm_legit_1[3]
            getitem_9: "f32[3]" = _native_batch_norm_legit_1[4]
            getitem_4: "f32[2, 3, 4]" = _native_batch_norm_legit_1[0]
            copy__3: "f32[2, 3, 4]" = torch.ops.aten.copy.default(y, getitem_4)
            getitem_5: "f32[3]" = _native_batch_norm_legit_1[1]
            copy__4: "f32[3]" = torch.ops.aten.copy.default(copy__1, getitem_5)
            getitem_6: "f32[3]" = _native_batch_norm_legit_1[2]
            copy__5: "f32[3]" = torch.ops.aten.copy.default(copy__2, getitem_6)
            return (copy__3, copy__4, copy__5, copy__3, getitem_8, getitem_9)

Graph signature:
    # inputs
    x: USER_INPUT
    m: USER_INPUT
    v: USER_INPUT
    y: USER_INPUT
    a: USER_INPUT
    b: USER_INPUT

    # outputs
    copy__3: USER_INPUT_MUTATION target='y'
    copy__4: USER_INPUT_MUTATION target='a'
    copy__5: USER_INPUT_MUTATION target='b'
    copy__3: USER_OUTPUT
    getitem_8: USER_OUTPUT
    getitem_9: USER_OUTPUT

Range constraints: {}
