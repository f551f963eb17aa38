# test verify
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[2, 3]"):
            relu: "f32[2, 3]" = torch.ops.aten.relu.default(x, 1)
            # error[arguments]: aten::relu takes 1 positional arguments, not 2
            #   note: aten::relu(Tensor self) -> Tensor
            return (relu,)
