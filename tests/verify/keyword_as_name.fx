# test verify
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[2, 3]"):
            lambda: "f32[2, 3]" = torch.ops.aten.relu.default(x)
            # error[name]: `lambda` is no Python identifier, or a keyword
            return (lambda,)
