# test verify
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[2, 3]"):
            softmax: "f32[2, 3]" = torch.ops.aten.softmax.int(x, 2)
            # error[refused]: dimension 2 is out of range: expected -2 to 1
            return (softmax,)
