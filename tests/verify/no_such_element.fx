# test verify
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[4, 3]"):
            split = torch.ops.aten.split.Tensor(x, 2)
            getitem: "f32[2, 3]" = split[2]
            # error[getitem]: `split` has 2 elements, there is no element 2
            return (getitem,)
