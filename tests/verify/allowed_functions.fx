# test verify
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[2, 3]"):
            _set_grad_enabled = torch._C._set_grad_enabled(False)
            _jit_clear = torch._C._jit_clear(False)
            # error[target]: `torch._C._jit_clear` is not a function that an exported program may call
            sym_size_int = torch.ops.aten.sym_size.int(x, 0)
            eq = sym_size_int == 2
            truediv = sym_size_int / 4
            ceil = math.ceil(truediv)
            exp = math.exp(truediv)
            # error[target]: `math.exp` is not a function that an exported program may call
            #   note: similar: aten::exp, prims::exp, aten::exp.int
            cast = torch.fx.experimental.symbolic_shapes.cast_symbool_to_symint_guardless(eq)
            guard = torch.fx.experimental.symbolic_shapes.guard_bool(eq)
            # error[target]: `torch.fx.experimental.symbolic_shapes.guard_bool` is not a function that an exported program may call
            return (x,)
