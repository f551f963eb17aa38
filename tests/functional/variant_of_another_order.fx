# test functional
def forward(self, x: "f32[3]"):
    clone: "f32[3]" = torch.ops.aten.clone.default(x)
    polygamma_: "f32[3]" = torch.ops.aten.polygamma_.default(clone, 2)
    return (polygamma_,)
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[3]"):
            clone: "f32[3]" = torch.ops.aten.clone.default(x)
            polygamma_: "f32[3]" = torch.ops.aten.polygamma.default(2, clone)
            return (polygamma_,)

Graph signature:
    # inputs
    x: USER_INPUT

    # outputs
    polygamma_: USER_OUTPUT

Range constraints: {}
