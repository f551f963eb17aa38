# test optimize
# PyTorch writes to inputs last of all: what was copied before must not lie in their memory when it is given.
def forward(self, x: "f32[2, 3]"):
    clone: "f32[2, 3]" = torch.ops.aten.clone.default(x)
    view: "f32[6]" = torch.ops.aten.view.default(clone, [6])
    add_: "f32[2, 3]" = torch.ops.aten.add_.Tensor(x, 1)
    return (view,)
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[2, 3]"):
            clone: "f32[2, 3]" = torch.ops.aten.clone.default(x)
            view: "f32[6]" = torch.ops.aten.view.default(clone, [6])
            add_: "f32[2, 3]" = torch.ops.aten.add.Tensor(x, 1)
            return (add_, view)

Graph signature:
    # inputs
    x: USER_INPUT

    # outputs
    add_: USER_INPUT_MUTATION target='x'
    view: USER_OUTPUT

Range constraints: {}
