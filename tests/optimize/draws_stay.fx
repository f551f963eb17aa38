# test optimize
# What is drawn and not used moves the generator on; attention and dropout are random where their arguments say so.
def forward(self, x: "f32[1, 2, 3, 8]"):
    rand: "f32[3]" = torch.ops.aten.rand.default([3])
    a: "f32[1, 2, 3, 8]" = torch.ops.aten.scaled_dot_product_attention.default(x, x, x, None, 0.5)
    b: "f32[1, 2, 3, 8]" = torch.ops.aten.scaled_dot_product_attention.default(x, x, x, dropout_p = 0.5)
    c: "f32[1, 2, 3, 8]" = torch.ops.aten.scaled_dot_product_attention.default(x, x, x)
    d: "f32[1, 2, 3, 8]" = torch.ops.aten.scaled_dot_product_attention.default(x, x, x, dropout_p = 0.0)
    sub: "f32[1, 2, 3, 8]" = torch.ops.aten.sub.Tensor(a, b)
    sub_1: "f32[1, 2, 3, 8]" = torch.ops.aten.sub.Tensor(c, d)
    return (sub, sub_1)
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[1, 2, 3, 8]"):
            rand: "f32[3]" = torch.ops.aten.rand.default([3])
            a: "f32[1, 2, 3, 8]" = torch.ops.aten.scaled_dot_product_attention.default(x, x, x, None, 0.5)
            b: "f32[1, 2, 3, 8]" = torch.ops.aten.scaled_dot_product_attention.default(x, x, x, None, 0.5)
            c: "f32[1, 2, 3, 8]" = torch.ops.aten.scaled_dot_product_attention.default(x, x, x)
            sub: "f32[1, 2, 3, 8]" = torch.ops.aten.sub.Tensor(a, b)
            sub_1: "f32[1, 2, 3, 8]" = torch.ops.aten.sub.Tensor(c, c)
            return (sub, sub_1)

Graph signature:
    # inputs
    x: USER_INPUT

    # outputs
    sub: USER_OUTPUT
    sub_1: USER_OUTPUT

Range constraints: {}
