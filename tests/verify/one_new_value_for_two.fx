# test verify
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[3]", y: "f32[3]"):
            mul: "f32[3]" = torch.ops.aten.mul.Tensor(x, 2)
            return (mul, mul, mul)

Graph signature:
    # inputs
    x: USER_INPUT
    y: USER_INPUT

    # outputs
    mul: USER_INPUT_MUTATION target='x'
    mul: USER_INPUT_MUTATION target='y'
    mul: USER_OUTPUT

Range constraints: {}
# at output 1: error[signature]: `mul` is the new value of another tensor, too: PyTorch tells them apart by name
