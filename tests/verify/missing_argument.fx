# test verify
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[2, 3]"):
            softmax: "f32[2, 3]" = torch.ops.aten.softmax.int(x)
            # error[arguments]: aten::softmax.int: argument `dim` is missing
            #   note: aten::softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor
            return (softmax,)
