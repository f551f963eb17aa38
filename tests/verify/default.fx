# test verify
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[]" = 1.5, n: "Sym(s0)" = 'three', y: "f32[2]" = None, z: "f32[2]"):
            # error[default]: the default of `x`: expected none, as it is a tensor, got 1.5
            # error[document]: the default of `x` cannot be written: the program JSON has no defaults
            # error[default]: the default of `n`: expected an int, got 'three'
            # error[document]: the default of `n` cannot be written: the program JSON has no defaults
            # error[default]: the default of `y`: expected none, as it is a tensor, got None
            # error[document]: the default of `y` cannot be written: the program JSON has no defaults
            # error[default]: `z` without a default follows one with a default
            add: "f32[2]" = torch.ops.aten.add.Tensor(y, z)
            mul: "f32[2]" = torch.ops.aten.mul.Tensor(add, x)
            return (mul, n)
