# test verify
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[2, 3]"):
            relu: "f32[2, 4]" = torch.ops.aten.relu.default(x)
            # error[meta]: the recorded meta is f32[2, 4], the operator yields f32[2, 3]
            exp: "f32[2, 3]" = torch.ops.aten.exp.default(relu)
            neg: "f32[2, 3]" = torch.ops.aten.neg.default(exp)
            return (neg,)
