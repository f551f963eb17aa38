# test optimize
# Behind a call that is recorded with other strides than its kernel gives, rules apply that hold for both: two rectifiers
# are one, and a copy that one of both needs stays.
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[2, 5, 8]"):
            transpose: "f32[2, 8, 5]" = torch.ops.aten.transpose.int(x, 1, 2)
            #: transpose.val('f32[2, 8, 5] strides [40, 1, 8]')
            sin: "f32[2, 8, 5]" = torch.ops.aten.sin.default(transpose)
            #: sin.val('f32[2, 8, 5] strides [40, 5, 1]')
            relu: "f32[2, 8, 5]" = torch.ops.aten.relu.default(sin)
            relu_1: "f32[2, 8, 5]" = torch.ops.aten.relu.default(relu)
            contiguous: "f32[2, 8, 5]" = torch.ops.aten.contiguous.default(relu_1)
            abs_1: "f32[2, 8, 5]" = torch.ops.aten.abs.default(contiguous)
            contiguous_1: "f32[2, 8, 5]" = torch.ops.aten.contiguous.default(abs_1)
            cos: "f32[2, 8, 5]" = torch.ops.aten.cos.default(contiguous_1)
            return (cos,)

Graph signature:
    # inputs
    x: USER_INPUT

    # outputs
    cos: USER_OUTPUT

Range constraints: {}
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[2, 5, 8]"):
            transpose: "f32[2, 8, 5]" = torch.ops.aten.transpose.int(x, 1, 2)
            sin: "f32[2, 8, 5]" = torch.ops.aten.sin.default(transpose)
            relu: "f32[2, 8, 5]" = torch.ops.aten.relu.default(sin)
            contiguous: "f32[2, 8, 5]" = torch.ops.aten.contiguous.default(relu)
            abs_1: "f32[2, 8, 5]" = torch.ops.aten.abs.default(contiguous)
            cos: "f32[2, 8, 5]" = torch.ops.aten.cos.default(abs_1)
            return (cos,)

Graph signature:
    # inputs
    x: USER_INPUT

    # outputs
    cos: USER_OUTPUT

Range constraints: {}
