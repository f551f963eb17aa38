# test functional
# New statistics are float32, and are rounded when they are stored.
def forward(self, x: "f16[2, 3, 4]", m: "f16[3]", v: "f16[3]"):
    instance_norm: "f16[2, 3, 4]" = torch.ops.aten.instance_norm.default(x, None, None, m, v, True, 0.1, 1e-05, True)
    return (instance_norm,)
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f16[2, 3, 4]", m: "f16[3]", v: "f16[3]"):
            contiguous: "f16[2, 3, 4]" = torch.ops.aten.contiguous.default(x)
            view: "f16[1, 6, 4]" = torch.ops.aten.view.default(contiguous, [1, -1, 4])
            repeat: "f16[6]" = torch.ops.aten.repeat.default(m, [2])
            repeat_1: "f16[6]" = torch.ops.aten.repeat.default(v, [2])
            _native_batch_norm_legit_functional = torch.ops.aten._native_batch_norm_legit_functional.default(view, None, None, repeat, repeat_1, True, 0.1, 1e-05)
            getitem: "f32[6]" = _native_batch_norm_legit_functional[3]
            view_1: "f32[2, 3]" = torch.ops.aten.view.default(getitem, [2, 3])
            mean: "f32[3]" = torch.ops.aten.mean.dim(view_1, [0])
            _to_copy: "f16[3]" = torch.ops.aten._to_copy.default(mean, dtype = torch.float16)
            getitem_1: "f32[6]" = _native_batch_norm_legit_functional[4]
            view_2: "f32[2, 3]" = torch.ops.aten.view.default(getitem_1, [2, 3])
            mean_1: "f32[3]" = torch.ops.aten.mean.dim(view_2, [0])
            _to_copy_1: "f16[3]" = torch.ops.aten._to_copy.default(mean_1, dtype = torch.float16)
            getitem_2: "f16[1, 6, 4]" = _native_batch_norm_legit_functional[0]
            instance_norm: "f16[2, 3, 4]" = torch.ops.aten.view.default(getitem_2, [2, 3, 4])
            return (_to_copy, _to_copy_1, instance_norm)

Graph signature:
    # inputs
    x: USER_INPUT
    m: USER_INPUT
    v: USER_INPUT

    # outputs
    _to_copy: USER_INPUT_MUTATION target='m'
    _to_copy_1: USER_INPUT_MUTATION target='v'
    instance_norm: USER_OUTPUT

Range constraints: {}
