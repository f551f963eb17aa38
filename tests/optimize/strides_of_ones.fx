# test optimize
# Strides of dimensions of size 1 say nothing: PyTorch's tracing and its kernels differ in them, and what is behind is
# rewritten as ever. Behind a call that is recorded with other strides than its operator gives, nothing is.
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[1, 5, 8]"):
            slice_1: "f32[1, 4, 8]" = torch.ops.aten.slice.Tensor(x, 1, 1, 5)
            #: slice_1.val('f32[1, 4, 8] strides [40, 8, 1] offset (8)')
            view: "f32[1, 2, 2, 8]" = torch.ops.aten.view.default(slice_1, [1, 2, 2, 8])
            #: view.val('f32[1, 2, 2, 8] strides [40, 16, 8, 1] offset (8)')
            relu: "f32[1, 2, 2, 8]" = torch.ops.aten.relu.default(view)
            relu_1: "f32[1, 2, 2, 8]" = torch.ops.aten.relu.default(relu)
            transpose: "f32[1, 8, 5]" = torch.ops.aten.transpose.int(x, 1, 2)
            #: transpose.val('f32[1, 8, 5] strides [40, 1, 8]')
            sin: "f32[1, 8, 5]" = torch.ops.aten.sin.default(transpose)
            #: sin.val('f32[1, 8, 5] strides [40, 5, 1]')
            relu_2: "f32[1, 8, 5]" = torch.ops.aten.relu.default(sin)
            relu_3: "f32[1, 8, 5]" = torch.ops.aten.relu.default(relu_2)
            return (relu_1, relu_3)

Graph signature:
    # inputs
    x: USER_INPUT

    # outputs
    relu_1: USER_OUTPUT
    relu_3: USER_OUTPUT

Range constraints: {}
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[1, 5, 8]"):
            slice_1: "f32[1, 4, 8]" = torch.ops.aten.slice.Tensor(x, 1, 1, 5)
            view: "f32[1, 2, 2, 8]" = torch.ops.aten.view.default(slice_1, [1, 2, 2, 8])
            relu: "f32[1, 2, 2, 8]" = torch.ops.aten.relu.default(view)
            transpose: "f32[1, 8, 5]" = torch.ops.aten.transpose.int(x, 1, 2)
            sin: "f32[1, 8, 5]" = torch.ops.aten.sin.default(transpose)
            relu_2: "f32[1, 8, 5]" = torch.ops.aten.relu.default(sin)
            return (relu, relu_2)

Graph signature:
    # inputs
    x: USER_INPUT

    # outputs
    relu: USER_OUTPUT
    relu_2: USER_OUTPUT

Range constraints: {}
