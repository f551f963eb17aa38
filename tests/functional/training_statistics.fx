# test functional
def forward(self, x: "f32[2, 3, 4]", w: "f32[3]", b: "f32[3]", m: "f32[3]", v: "f32[3]"):
    clone: "f32[3]" = torch.ops.aten.clone.default(m)
    clone_1: "f32[3]" = torch.ops.aten.clone.default(v)
    _batch_norm_with_update = torch.ops.aten._batch_norm_with_update.default(x, w, b, clone, clone_1, 0.1, 1e-05)
    getitem: "f32[2, 3, 4]" = _batch_norm_with_update[0]
    return (getitem, clone, clone_1)
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[2, 3, 4]", w: "f32[3]", b: "f32[3]", m: "f32[3]", v: "f32[3]"):
            clone: "f32[3]" = torch.ops.aten.clone.default(m)
            clone_1: "f32[3]" = torch.ops.aten.clone.default(v)
            _batch_norm_with_update = torch.ops.aten._batch_norm_with_update_functional.default(x, w, b, clone, clone_1, 0.1, 1e-05)
            getitem_1: "f32[3]" = _batch_norm_with_update[4]
            getitem_2: "f32[3]" = _batch_norm_with_update[5]
            getitem: "f32[2, 3, 4]" = _batch_norm_with_update[0]
            return (getitem, getitem_1, getitem_2)

Graph signature:
    # inputs
    x: USER_INPUT
    w: USER_INPUT
    b: USER_INPUT
    m: USER_INPUT
    v: USER_INPUT

    # outputs
    getitem: USER_OUTPUT
    getitem_1: USER_OUTPUT
    getitem_2: USER_OUTPUT

Range constraints: {}
