# test parse
def forward(self, input : torch.Tensor, b: f32[s0, 2*s0], c: "f32[2, 3][1, 2]cuda:0", n = -1, s = 'x') -> torch.Tensor:
    input_1 = input
    add: f32[s0, 2*s0] = torch.ops.aten.add.Tensor(input_1, b);  input_1 = b = None
    math_trunc_1 = math_trunc(3)
    mul: "c64[s0, 2*s0]" = torch.ops.aten.mul.Tensor(add, (-1+2.5j))
    return mul
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, input, b: "f32[s0, 2*s0]", c: "f32[2, 3]", n = -1, s = 'x'):
            add: "f32[s0, 2*s0]" = torch.ops.aten.add.Tensor(input, b)
            math_trunc_1 = math.trunc(3)
            mul: "c64[s0, 2*s0]" = torch.ops.aten.mul.Tensor(add, (-1+2.5j))
            return mul

Graph signature:
    # inputs
    input: USER_INPUT
    b: USER_INPUT
    c: USER_INPUT
    n: USER_INPUT
    s: USER_INPUT

    # outputs
    mul: USER_OUTPUT

Range constraints: {}
