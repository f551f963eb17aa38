# test functional
# An operator that is not known may write to what it is given: the program stays one of the training dialect.
def forward(self, x: "f32[2]"):
    clone: "f32[2]" = torch.ops.aten.clone.default(x)
    add_: "f32[2]" = torch.ops.aten.add_.Tensor(clone, 1)
    fill = torch.ops.mine.fill.default(clone)
    return (clone,)
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[2]"):
            clone: "f32[2]" = torch.ops.aten.clone.default(x)
            add_: "f32[2]" = torch.ops.aten.add.Tensor(clone, 1)
            fill = torch.ops.mine.fill.default(add_)
            return (add_,)

Graph signature:
    # inputs
    x: USER_INPUT

    # outputs
    add_: USER_OUTPUT

Range constraints: {}
