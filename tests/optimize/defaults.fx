# test optimize
# What a rule makes is written as PyTorch writes it, without defaults; what stays is written as it was.
def forward(self, x: "f32[1, 3]"):
    expand: "f32[2, 3]" = torch.ops.aten.expand.default(x, [2, 3])
    expand_1: "f32[4, 2, 3]" = torch.ops.aten.expand.default(expand, [4, 2, 3])
    add: "f32[4, 2, 3]" = torch.ops.aten.add.Tensor(expand_1, 2, alpha = 1)
    relu: "f32[4, 2, 3]" = torch.ops.aten.relu.default(add)
    return (relu,)
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[1, 3]"):
            expand_1: "f32[4, 2, 3]" = torch.ops.aten.expand.default(x, [4, 2, 3])
            add: "f32[4, 2, 3]" = torch.ops.aten.add.Tensor(expand_1, 2, alpha = 1)
            relu: "f32[4, 2, 3]" = torch.ops.aten.relu.default(add)
            return (relu,)

Graph signature:
    # inputs
    x: USER_INPUT

    # outputs
    relu: USER_OUTPUT

Range constraints: {}
