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
    mul: BUFFER_MUTATION target='count'
    mul: USER_OUTPUT

Range constraints: {}
# at output 0: error[signature]: there is no buffer `count`
