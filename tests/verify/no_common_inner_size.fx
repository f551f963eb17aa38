# test verify
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[2, 3]", y: "f32[4, 5]"):
            mm: "f32[2, 5]" = torch.ops.aten.mm.default(x, y)
            # error[refused]: mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)
            return (mm,)
