# test optimize
# Calls with constants of every kind are rewritten as others are.
def forward(self, x: "f32[2, 3]"):
    abs_1: "f32[2, 3]" = torch.ops.aten.abs.default(x)
    _to_copy: "f64[2, 3]" = torch.ops.aten._to_copy.default(abs_1, dtype = torch.float64, device = device(type='cpu'))
    _to_copy_1: "f64[2, 3]" = torch.ops.aten._to_copy.default(_to_copy, dtype = torch.float64, layout = torch.strided)
    _to_copy_2: "f64[2, 3]" = torch.ops.aten._to_copy.default(_to_copy_1, device = device(type='cpu'), memory_format = torch.preserve_format)
    gelu: "f64[2, 3]" = torch.ops.aten.gelu.default(_to_copy_2, approximate = 'tanh')
    relu: "f64[2, 3]" = torch.ops.aten.relu.default(gelu)
    relu_1: "f64[2, 3]" = torch.ops.aten.relu.default(relu)
    return (relu_1,)
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[2, 3]"):
            abs_1: "f32[2, 3]" = torch.ops.aten.abs.default(x)
            _to_copy: "f64[2, 3]" = torch.ops.aten._to_copy.default(abs_1, dtype = torch.float64, device = device(type='cpu'))
            gelu: "f64[2, 3]" = torch.ops.aten.gelu.default(_to_copy, approximate = 'tanh')
            relu: "f64[2, 3]" = torch.ops.aten.relu.default(gelu)
            return (relu,)

Graph signature:
    # inputs
    x: USER_INPUT

    # outputs
    relu: USER_OUTPUT

Range constraints: {}
