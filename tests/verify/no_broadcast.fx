# test verify
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[2, 3]", y: "f32[2, 4]"):
            add: "f32[2, 3]" = torch.ops.aten.add.Tensor(x, y)
            # error[refused]: The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1
            return (add,)
