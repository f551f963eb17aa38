# test verify
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[2, 3]"):
            frobnicate = torch.ops.higher_order.frobnicate(x)
            # error[target]: there is no higher-order operator `torch.ops.higher_order.frobnicate`
            return (x,)
