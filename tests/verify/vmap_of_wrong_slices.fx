# test verify
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[2, 3]"):
            _vmap_increment_nesting = torch._functorch.predispatch._vmap_increment_nesting(3, 'error')
            _add_batch_dim: "f32[3]" = torch._functorch.predispatch._add_batch_dim(x, 1, 1)
            # error[meta]: the recorded meta is f32[3], the operator yields f32[2]
            _add_batch_dim_1: "f32[2]" = torch._functorch.predispatch._add_batch_dim(x, 2, 1)
            # error[refused]: dimension 2 is out of range for f32[2, 3]
            _add_batch_dim_2: "f32[2]" = torch._functorch.predispatch._add_batch_dim(x, -1, 1)
            sin: "f32[2]" = torch.ops.aten.sin.default(_add_batch_dim)
            _remove_batch_dim: "f64[2, 3]" = torch._functorch.predispatch._remove_batch_dim(sin, 1, 3, 1)
            # error[meta]: the recorded meta is f64[2, 3], the operator yields f32[2, 3]
            _remove_batch_dim_1: "f32[2, 3]" = torch._functorch.predispatch._remove_batch_dim(sin, 1, 3.5, 1)
            # error[refused]: `_remove_batch_dim`: expected a tensor, a level, a size and a dim
            _vmap_decrement_nesting = torch._functorch.predispatch._vmap_decrement_nesting()
            return (_remove_batch_dim, _remove_batch_dim_1)
