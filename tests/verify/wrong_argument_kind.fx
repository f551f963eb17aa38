# test verify
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[2, 3]"):
            transpose: "f32[3, 2]" = torch.ops.aten.transpose.int(x, 'first', 1)
            # error[arguments]: aten::transpose.int: argument `dim0`: expected int, got str
            #   note: aten::transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)
            return (transpose,)
