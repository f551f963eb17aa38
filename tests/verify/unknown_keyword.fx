# test verify
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[2, 3]"):
            add: "f32[2, 3]" = torch.ops.aten.add.Tensor(x, x, beta = 2)
            # error[arguments]: aten::add.Tensor has no argument `beta`
            #   note: aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
            return (add,)
