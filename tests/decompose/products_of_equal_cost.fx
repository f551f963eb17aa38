# test decompose
# Of three matrices PyTorch multiplies the first two first, where both orders cost the same; of four it splits as early as it can.
def forward(self, a: "f32[4, 4]", b: "f32[4, 4]", c: "f32[4, 4]", d: "f32[4, 4]"):
    three: "f32[4, 4]" = torch.ops.aten.linalg_multi_dot.default([a, b, c])
    four: "f32[4, 4]" = torch.ops.aten.linalg_multi_dot.default([a, b, c, d])
    return (three, four)
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, a: "f32[4, 4]", b: "f32[4, 4]", c: "f32[4, 4]", d: "f32[4, 4]"):
            matmul: "f32[4, 4]" = torch.ops.aten.mm.default(a, b)
            three: "f32[4, 4]" = torch.ops.aten.mm.default(matmul, c)
            matmul_1: "f32[4, 4]" = torch.ops.aten.mm.default(c, d)
            matmul_2: "f32[4, 4]" = torch.ops.aten.mm.default(b, matmul_1)
            four: "f32[4, 4]" = torch.ops.aten.mm.default(a, matmul_2)
            return (three, four)

Graph signature:
    # inputs
    a: USER_INPUT
    b: USER_INPUT
    c: USER_INPUT
    d: USER_INPUT

    # outputs
    three: USER_OUTPUT
    four: USER_OUTPUT

Range constraints: {}
