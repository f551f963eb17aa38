# test verify
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[3]"):
            mul: "f32[3]" = torch.ops.aten.mul.Tensor(x, 2)
            return (mul, mul)

Graph signature:
    # inputs
    x: USER_INPUT

    # outputs
    mul: USER_OUTPUT
    mul: USER_INPUT_MUTATION target='x'

Range constraints: {}
# at output 1: error[output-order]: a mutation stands after a user output, or a token after either
