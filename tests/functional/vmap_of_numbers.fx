# test functional
# A slice without dimensions has no say in the dtype beside one with dimensions, and all slices together would have: this
# body stays a loop, and so does one that gives a slice as it is.
def forward(self, a: "f16[3, 4]", c: "f32[3]"):
    lazy_load_decompositions = torch._functorch.predispatch.lazy_load_decompositions()
    _vmap_increment_nesting = torch._functorch.predispatch._vmap_increment_nesting(3, 'error')
    _add_batch_dim: "f16[4]" = torch._functorch.predispatch._add_batch_dim(a, 0, 1)
    _add_batch_dim_1: "f32[]" = torch._functorch.predispatch._add_batch_dim(c, 0, 1)
    lt: "b8[4]" = torch.ops.aten.lt.Tensor(_add_batch_dim, _add_batch_dim_1)
    _remove_batch_dim: "b8[3, 4]" = torch._functorch.predispatch._remove_batch_dim(lt, 1, 3, 0)
    _vmap_decrement_nesting = torch._functorch.predispatch._vmap_decrement_nesting()
    lazy_load_decompositions_1 = torch._functorch.predispatch.lazy_load_decompositions()
    _vmap_increment_nesting_1 = torch._functorch.predispatch._vmap_increment_nesting(3, 'error')
    _add_batch_dim_2: "f16[4]" = torch._functorch.predispatch._add_batch_dim(a, 0, 1)
    neg: "f16[4]" = torch.ops.aten.neg.default(_add_batch_dim_2)
    _remove_batch_dim_1: "f16[3, 4]" = torch._functorch.predispatch._remove_batch_dim(neg, 1, 3, 0)
    _remove_batch_dim_2: "f16[3, 4]" = torch._functorch.predispatch._remove_batch_dim(_add_batch_dim_2, 1, 3, 0)
    _vmap_decrement_nesting_1 = torch._functorch.predispatch._vmap_decrement_nesting()
    return (_remove_batch_dim, _remove_batch_dim_1, _remove_batch_dim_2)
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, a: "f16[3, 4]", c: "f32[3]"):
            vmap_body = self.vmap_body
            map_impl = torch.ops.higher_order.map_impl(vmap_body, [a, c], [])
            _remove_batch_dim: "b8[3, 4]" = map_impl[0]
            vmap_body_1 = self.vmap_body_1
            map_impl_1 = torch.ops.higher_order.map_impl(vmap_body_1, [a], [])
            _remove_batch_dim_1: "f16[3, 4]" = map_impl_1[0]
            _remove_batch_dim_2: "f16[3, 4]" = map_impl_1[1]
            return (_remove_batch_dim, _remove_batch_dim_1, _remove_batch_dim_2)

        class vmap_body(torch.nn.Module):
            def forward(self, _add_batch_dim: "f16[4]", _add_batch_dim_1: "f32[]"):
                lt: "b8[4]" = torch.ops.aten.lt.Tensor(_add_batch_dim, _add_batch_dim_1)
                return (lt,)

        class vmap_body_1(torch.nn.Module):
            def forward(self, _add_batch_dim_2: "f16[4]"):
                neg: "f16[4]" = torch.ops.aten.neg.default(_add_batch_dim_2)
                return (neg, _add_batch_dim_2)

Graph signature:
    # inputs
    a: USER_INPUT
    c: USER_INPUT

    # outputs
    _remove_batch_dim: USER_OUTPUT
    _remove_batch_dim_1: USER_OUTPUT
    _remove_batch_dim_2: USER_OUTPUT

Range constraints: {}
