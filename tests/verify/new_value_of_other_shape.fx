# test verify
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[3]", y: "i64[2]"):
            mul: "f32[3]" = torch.ops.aten.mul.Tensor(x, 2)
            return (mul, mul)

Graph signature:
    # inputs
    x: USER_INPUT
    y: USER_INPUT

    # outputs
    mul: USER_INPUT_MUTATION target='y'
    mul: USER_OUTPUT

Range constraints: {}
# at output 0: error[output-value]: the user input `y` is the tensor i64[2], its new value is the tensor f32[3]
