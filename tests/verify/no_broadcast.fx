# test verify
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[2, 3]", y: "f32[2, 4]"):
            add: "f32[2, 3]" = torch.ops.aten.add.Tensor(x, y)
            # error[refused]: sizes 3 and 4 differ at dimension 1 (counted from the end: 1) and do not broadcast
            return (add,)
