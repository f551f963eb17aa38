# test optimize
def forward(self, x: "f32[2, 3, 4]"):
    view: "f32[24]" = torch.ops.aten.view.default(x, [24])
    view_1: "f32[6, 4]" = torch.ops.aten.view.default(view, [6, 4])
    view_2: "f32[4, 6]" = torch.ops.aten.view.default(view_1, [4, 6])
    return (view_2,)
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[2, 3, 4]"):
            view_2: "f32[4, 6]" = torch.ops.aten.reshape.default(x, [4, 6])
            return (view_2,)

Graph signature:
    # inputs
    x: USER_INPUT

    # outputs
    view_2: USER_OUTPUT

Range constraints: {}
