# test functional
# What the call returns are the tensors that it wrote, in their dtypes.
def forward(self, x: "f32[4, 3]", a: "f64[4, 3]", b: "f64[3]"):
    clone: "f64[4, 3]" = torch.ops.aten.clone.default(a)
    clone_1: "f64[3]" = torch.ops.aten.clone.default(b)
    geqrf = torch.ops.aten.geqrf.a(x, a = clone, tau = clone_1)
    getitem: "f64[4, 3]" = geqrf[0]
    neg_: "f64[4, 3]" = torch.ops.aten.neg_.default(getitem)
    return (clone, clone_1)
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[4, 3]", a: "f64[4, 3]", b: "f64[3]"):
            geqrf = torch.ops.aten.geqrf.default(x)
            getitem_2: "f32[3]" = geqrf[1]
            _to_copy_1: "f64[3]" = torch.ops.aten._to_copy.default(getitem_2, dtype = torch.float64)
            getitem_1: "f32[4, 3]" = geqrf[0]
            _to_copy: "f64[4, 3]" = torch.ops.aten._to_copy.default(getitem_1, dtype = torch.float64)
            neg_: "f64[4, 3]" = torch.ops.aten.neg.default(_to_copy)
            return (neg_, _to_copy_1)

Graph signature:
    # inputs
    x: USER_INPUT
    a: USER_INPUT
    b: USER_INPUT

    # outputs
    neg_: USER_OUTPUT
    _to_copy_1: USER_OUTPUT

Range constraints: {}
