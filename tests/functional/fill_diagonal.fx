# test functional
def forward(self, x: "f32[5, 1]", cube: "f32[2, 2, 2]"):
    clone: "f32[5, 1]" = torch.ops.aten.clone.default(x)
    fill_diagonal_: "f32[5, 1]" = torch.ops.aten.fill_diagonal_.default(clone, 9.0, True)
    clone_1: "f32[2, 2, 2]" = torch.ops.aten.clone.default(cube)
    fill_diagonal__1: "f32[2, 2, 2]" = torch.ops.aten.fill_diagonal_.default(clone_1, 7)
    return (fill_diagonal_, clone_1)
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[5, 1]", cube: "f32[2, 2, 2]"):
            clone: "f32[5, 1]" = torch.ops.aten.clone.default(x)
            diagonal: "f32[1]" = torch.ops.aten.diagonal.default(clone, 0, 0, -1)
            fill_: "f32[1]" = torch.ops.aten.fill.Scalar(diagonal, 9.0)
            diagonal_scatter: "f32[5, 1]" = torch.ops.aten.diagonal_scatter.default(clone, fill_, 0, 0, -1)
            slice_2: "f32[3, 1]" = torch.ops.aten.slice.Tensor(diagonal_scatter, 0, 2)
            diagonal_1: "f32[1]" = torch.ops.aten.diagonal.default(slice_2, 0, 0, -1)
            fill__1: "f32[1]" = torch.ops.aten.fill.Scalar(diagonal_1, 9.0)
            diagonal_scatter_1: "f32[3, 1]" = torch.ops.aten.diagonal_scatter.default(slice_2, fill__1, 0, 0, -1)
            slice_scatter: "f32[5, 1]" = torch.ops.aten.slice_scatter.default(diagonal_scatter, diagonal_scatter_1, 0, 2)
            slice_3: "f32[1, 1]" = torch.ops.aten.slice.Tensor(slice_scatter, 0, 4)
            diagonal_2: "f32[1]" = torch.ops.aten.diagonal.default(slice_3, 0, 0, -1)
            fill__2: "f32[1]" = torch.ops.aten.fill.Scalar(diagonal_2, 9.0)
            clone_1: "f32[2, 2, 2]" = torch.ops.aten.clone.default(cube)
            diagonal_3: "f32[2, 2]" = torch.ops.aten.diagonal.default(clone_1, 0, 0, -1)
            diagonal_4: "f32[2]" = torch.ops.aten.diagonal.default(diagonal_3, 0, 0, -1)
            fill__3: "f32[2]" = torch.ops.aten.fill.Scalar(diagonal_4, 7)
            diagonal_scatter_2: "f32[1, 1]" = torch.ops.aten.diagonal_scatter.default(slice_3, fill__2, 0, 0, -1)
            slice_scatter_1: "f32[5, 1]" = torch.ops.aten.slice_scatter.default(slice_scatter, diagonal_scatter_2, 0, 4)
            diagonal_scatter_3: "f32[2, 2]" = torch.ops.aten.diagonal_scatter.default(diagonal_3, fill__3, 0, 0, -1)
            diagonal_scatter_4: "f32[2, 2, 2]" = torch.ops.aten.diagonal_scatter.default(clone_1, diagonal_scatter_3, 0, 0, -1)
            return (slice_scatter_1, diagonal_scatter_4)

Graph signature:
    # inputs
    x: USER_INPUT
    cube: USER_INPUT

    # outputs
    slice_scatter_1: USER_OUTPUT
    diagonal_scatter_4: USER_OUTPUT

Range constraints: {}
