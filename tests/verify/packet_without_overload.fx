# test verify
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[2, 3]"):
            sym_size = torch.ops.aten.sym_size.default(x, 0)
            # error[no-meta]: `sym_size` has no meta value
            # error[arguments]: aten::sym_size takes 1 positional arguments, not 2
            #   note: aten::sym_size(Tensor self) -> SymInt[]
            return (sym_size,)
