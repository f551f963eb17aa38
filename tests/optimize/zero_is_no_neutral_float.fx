# test optimize
def forward(self, x: "f32[2, 3]", n: "i64[3]"):
    add: "f32[2, 3]" = torch.ops.aten.add.Tensor(x, 0)
    add_1: "i64[3]" = torch.ops.aten.add.Tensor(n, 0)
    mul: "i64[3]" = torch.ops.aten.mul.Tensor(add_1, add_1)
    return (add, mul)
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[2, 3]", n: "i64[3]"):
            add: "f32[2, 3]" = torch.ops.aten.add.Tensor(x, 0)
            mul: "i64[3]" = torch.ops.aten.mul.Tensor(n, n)
            return (add, mul)

Graph signature:
    # inputs
    x: USER_INPUT
    n: USER_INPUT

    # outputs
    add: USER_OUTPUT
    mul: USER_OUTPUT

Range constraints: {}
