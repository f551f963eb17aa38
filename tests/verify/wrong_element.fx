# test verify
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[4, 3]"):
            split = torch.ops.aten.split.Tensor(x, 2)
            getitem: "f32[4, 3]" = split[1]
            # error[meta]: the recorded meta is not that of the element: the recorded meta is f32[4, 3], the operator yields f32[2, 3]
            return (getitem,)
