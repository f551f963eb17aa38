# test verify
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[2, 3]"):
            softmax: "f32[2, 3]" = torch.ops.aten.softmax.int(x, 2)
            # error[refused]: Dimension out of range (expected to be in range of [-2, 1], but got 2)
            return (softmax,)
