# test verify
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[2, 3]"):
            permute: "f32[3, 2]" = torch.ops.aten.permute.default(x, x)
            # error[arguments]: aten::permute: argument `dims`: expected int[], got Tensor
            #   note: aten::permute(Tensor(a) self, int[] dims) -> Tensor(a)
            return (permute,)
