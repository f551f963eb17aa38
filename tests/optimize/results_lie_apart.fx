# test optimize
# Equal results are computed once, but given in memory of their own, as copies of an input are.
def forward(self, x: "f32[2, 3]"):
    add: "f32[2, 3]" = torch.ops.aten.add.Tensor(x, 1)
    add_1: "f32[2, 3]" = torch.ops.aten.add.Tensor(x, 1)
    clone: "f32[2, 3]" = torch.ops.aten.clone.default(x)
    view: "f32[6]" = torch.ops.aten.view.default(x, [6])
    return (add, add_1, clone, view)
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[2, 3]"):
            add: "f32[2, 3]" = torch.ops.aten.add.Tensor(x, 1)
            add_1: "f32[2, 3]" = torch.ops.aten.add.Tensor(x, 1)
            clone: "f32[2, 3]" = torch.ops.aten.clone.default(x)
            view: "f32[6]" = torch.ops.aten.view.default(x, [6])
            return (add, add_1, clone, view)

Graph signature:
    # inputs
    x: USER_INPUT

    # outputs
    add: USER_OUTPUT
    add_1: USER_OUTPUT
    clone: USER_OUTPUT
    view: USER_OUTPUT

Range constraints: {}
