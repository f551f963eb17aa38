# test optimize
# A result that was a view of an input stays one, and no input becomes the view of another.
def forward(self, x: "f32[2, 3]"):
    view: "f32[2, 3]" = torch.ops.aten.view.default(x, [2, 3])
    return (view, x)
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[2, 3]"):
            alias: "f32[2, 3]" = torch.ops.aten.alias.default(x)
            return (alias, x)

Graph signature:
    # inputs
    x: USER_INPUT

    # outputs
    alias: USER_OUTPUT
    x: USER_OUTPUT

Range constraints: {}
