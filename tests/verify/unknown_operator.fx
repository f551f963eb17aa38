# test verify
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[2]"):
            foo: "f32[2]" = torch.ops.mylib.foo.default(x)
            # warning[unknown-op]: operator `torch.ops.mylib.foo.default` is not known
            add: "f32[3]" = torch.ops.aten.add.Tensor(foo, 1)
            # error[meta]: the recorded meta is f32[3], the operator yields f32[2]
            return (add,)
