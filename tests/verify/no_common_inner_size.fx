# test verify
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[2, 3]", y: "f32[4, 5]"):
            mm: "f32[2, 5]" = torch.ops.aten.mm.default(x, y)
            # error[refused]: inner sizes of a product: 3 and 4 must be equal
            return (mm,)
