# test verify
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[2, 3]"):
            sum_1: "i64[]" = torch.ops.aten.sum.default(x)
            # error[meta]: the recorded meta is i64[], the operator yields f32[]
            return (sum_1,)
