# test verify
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[2, 3]"):
            load: "f32[2, 3]" = torch.load(x)
            # error[target]: `torch.load` is not a function that an exported program may call
            return (load,)
