# test optimize
def forward(self, x: "f32[2, 3]"):
    relu: "f32[2, 3]" = torch.ops.aten.relu.default(x)
    permute: "f32[2, 3]" = torch.ops.aten.permute.default(relu, [0, -1])
    permute_1: "f32[3, 2]" = torch.ops.aten.permute.default(permute, [-1, 0])
    permute_2: "f32[2, 3]" = torch.ops.aten.permute.default(permute_1, [-1, -2])
    exp: "f32[2, 3]" = torch.ops.aten.exp.default(permute_2)
    return (exp,)
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[2, 3]"):
            relu: "f32[2, 3]" = torch.ops.aten.relu.default(x)
            exp: "f32[2, 3]" = torch.ops.aten.exp.default(relu)
            return (exp,)

Graph signature:
    # inputs
    x: USER_INPUT

    # outputs
    exp: USER_OUTPUT

Range constraints: {}
