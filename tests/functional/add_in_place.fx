# test functional
def forward(self, x: "f32[2, 3]"):
    clone: "f32[2, 3]" = torch.ops.aten.clone.default(x)
    add_: "f32[2, 3]" = torch.ops.aten.add_.Tensor(clone, 1)
    return (clone,)
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[2, 3]"):
            clone: "f32[2, 3]" = torch.ops.aten.clone.default(x)
            add_: "f32[2, 3]" = torch.ops.aten.add.Tensor(clone, 1)
            return (add_,)

Graph signature:
    # inputs
    x: USER_INPUT

    # outputs
    add_: USER_OUTPUT

Range constraints: {}
