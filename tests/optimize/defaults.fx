# test optimize
# What a rule makes is written as PyTorch writes it: without defaults.
def forward(self, x: "f32[1, 3]"):
    expand: "f32[2, 3]" = torch.ops.aten.expand.default(x, [2, 3])
    expand_1: "f32[4, 2, 3]" = torch.ops.aten.expand.default(expand, [4, 2, 3])
    relu: "f32[4, 2, 3]" = torch.ops.aten.relu.default(expand_1)
    return (relu,)
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[1, 3]"):
            expand_1: "f32[4, 2, 3]" = torch.ops.aten.expand.default(x, [4, 2, 3])
            relu: "f32[4, 2, 3]" = torch.ops.aten.relu.default(expand_1)
            return (relu,)

Graph signature:
    # inputs
    x: USER_INPUT

    # outputs
    relu: USER_OUTPUT

Range constraints: {}
