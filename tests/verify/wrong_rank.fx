# test verify
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[2, 3]"):
            unsqueeze: "f32[2, 3]" = torch.ops.aten.unsqueeze.default(x, 0)
            # error[meta]: the recorded meta is f32[2, 3], the operator yields f32[1, 2, 3]
            return (unsqueeze,)
