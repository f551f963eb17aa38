# test functional
# New statistics are float32 for those of half precision, too, and are rounded when they are stored.
def forward(self, x: "bf16[2, 3, 4]", m: "bf16[3]", v: "bf16[3]"):
    clone: "bf16[3]" = torch.ops.aten.clone.default(m)
    clone_1: "bf16[3]" = torch.ops.aten.clone.default(v)
    batch_norm: "bf16[2, 3, 4]" = torch.ops.aten.batch_norm.default(x, None, None, clone, clone_1, True, 0.1, 1e-05, True)
    return (batch_norm, clone, clone_1)
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "bf16[2, 3, 4]", m: "bf16[3]", v: "bf16[3]"):
            clone: "bf16[3]" = torch.ops.aten.clone.default(m)
            clone_1: "bf16[3]" = torch.ops.aten.clone.default(v)
            _native_batch_norm_legit_functional = torch.ops.aten._native_batch_norm_legit_functional.default(x, None, None, clone, clone_1, True, 0.1, 1e-05)
            getitem: "f32[3]" = _native_batch_norm_legit_functional[3]
            _to_copy: "bf16[3]" = torch.ops.aten._to_copy.default(getitem, dtype = torch.bfloat16)
            getitem_1: "f32[3]" = _native_batch_norm_legit_functional[4]
            _to_copy_1: "bf16[3]" = torch.ops.aten._to_copy.default(getitem_1, dtype = torch.bfloat16)
            batch_norm: "bf16[2, 3, 4]" = _native_batch_norm_legit_functional[0]
            return (batch_norm, _to_copy, _to_copy_1)

Graph signature:
    # inputs
    x: USER_INPUT
    m: USER_INPUT
    v: USER_INPUT

    # outputs
    batch_norm: USER_OUTPUT
    _to_copy: USER_OUTPUT
    _to_copy_1: USER_OUTPUT

Range constraints: {}
