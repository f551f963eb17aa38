# test verify
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[2, 3]"):
            rellu: "f32[2, 3]" = torch.ops.aten.rellu.default(x)
            # error[target]: there is no operator `torch.ops.aten.rellu.default`
            return (rellu,)
