# test optimize
# An operator that is not known may write to what it is given: what is read before and behind it are two values, and so are two
# equal sums of which one is given.
def forward(self, x: "f32[2]", y: "f32[2]"):
    add: "f32[2]" = torch.ops.aten.add.Tensor(x, y)
    exp: "f32[2]" = torch.ops.aten.exp.default(add)
    scale = torch.ops.mine.scale.default(add, y)
    add_1: "f32[2]" = torch.ops.aten.add.Tensor(x, y)
    exp_1: "f32[2]" = torch.ops.aten.exp.default(add)
    sub: "f32[2]" = torch.ops.aten.sub.Tensor(exp, exp_1)
    sub_1: "f32[2]" = torch.ops.aten.sub.Tensor(add, add_1)
    return (sub, sub_1)
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[2]", y: "f32[2]"):
            add: "f32[2]" = torch.ops.aten.add.Tensor(x, y)
            exp: "f32[2]" = torch.ops.aten.exp.default(add)
            scale = torch.ops.mine.scale.default(add, y)
            add_1: "f32[2]" = torch.ops.aten.add.Tensor(x, y)
            exp_1: "f32[2]" = torch.ops.aten.exp.default(add)
            sub: "f32[2]" = torch.ops.aten.sub.Tensor(exp, exp_1)
            sub_1: "f32[2]" = torch.ops.aten.sub.Tensor(add, add_1)
            return (sub, sub_1)

Graph signature:
    # inputs
    x: USER_INPUT
    y: USER_INPUT

    # outputs
    sub: USER_OUTPUT
    sub_1: USER_OUTPUT

Range constraints: {}
