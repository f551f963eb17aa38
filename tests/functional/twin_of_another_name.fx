# test functional
def forward(self, x: "f32[2, 3]"):
    clone: "f32[2, 3]" = torch.ops.aten.clone.default(x)
    pow_: "f32[2, 3]" = torch.ops.aten.pow_.Scalar(clone, 2)
    return (pow_,)
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[2, 3]"):
            clone: "f32[2, 3]" = torch.ops.aten.clone.default(x)
            pow_: "f32[2, 3]" = torch.ops.aten.pow.Tensor_Scalar(clone, 2)
            return (pow_,)

Graph signature:
    # inputs
    x: USER_INPUT

    # outputs
    pow_: USER_OUTPUT

Range constraints: {}
