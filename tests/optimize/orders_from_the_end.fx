# test optimize
def forward(self, x: "f32[2, 3]", y: "f32[2, 3, 4]"):
    relu: "f32[2, 3]" = torch.ops.aten.relu.default(x)
    permute: "f32[2, 3]" = torch.ops.aten.permute.default(relu, [0, -1])
    exp: "f32[2, 3]" = torch.ops.aten.exp.default(permute)
    permute_1: "f32[4, 2, 3]" = torch.ops.aten.permute.default(y, [-1, 0, 1])
    permute_2: "f32[3, 4, 2]" = torch.ops.aten.permute.default(permute_1, [-1, -3, 1])
    exp_1: "f32[3, 4, 2]" = torch.ops.aten.exp.default(permute_2)
    return (exp, exp_1)
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[2, 3]", y: "f32[2, 3, 4]"):
            relu: "f32[2, 3]" = torch.ops.aten.relu.default(x)
            exp: "f32[2, 3]" = torch.ops.aten.exp.default(relu)
            permute_2: "f32[3, 4, 2]" = torch.ops.aten.permute.default(y, [1, 2, 0])
            exp_1: "f32[3, 4, 2]" = torch.ops.aten.exp.default(permute_2)
            return (exp, exp_1)

Graph signature:
    # inputs
    x: USER_INPUT
    y: USER_INPUT

    # outputs
    exp: USER_OUTPUT
    exp_1: USER_OUTPUT

Range constraints: {}
