# test functional
def forward(self, x: "f32[4, 3]"):
    lazy_load_decompositions = torch._functorch.predispatch.lazy_load_decompositions()
    _vmap_increment_nesting = torch._functorch.predispatch._vmap_increment_nesting(4, 'same')
    _add_batch_dim: "f32[3]" = torch._functorch.predispatch._add_batch_dim(x, 0, 1)
    rand_like: "f32[3]" = torch.ops.aten.rand_like.default(_add_batch_dim)
    dropout: "f32[3]" = torch.ops.aten.dropout.default(_add_batch_dim, 0.5, True)
    clone: "f32[3]" = torch.ops.aten.clone.default(dropout)
    uniform_: "f32[3]" = torch.ops.aten.uniform_.default(clone)
    add: "f32[3]" = torch.ops.aten.add.Tensor(rand_like, dropout)
    add_1: "f32[3]" = torch.ops.aten.add.Tensor(add, clone)
    _remove_batch_dim: "f32[4, 3]" = torch._functorch.predispatch._remove_batch_dim(add_1, 1, 4, 0)
    _vmap_decrement_nesting = torch._functorch.predispatch._vmap_decrement_nesting()
    return (_remove_batch_dim,)
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[4, 3]"):
            empty_strided: "f32[3]" = torch.ops.aten.empty_strided.default([3], [1], dtype = torch.float32)
            rand_like: "f32[3]" = torch.ops.aten.rand_like.default(empty_strided)
            ones: "f32[3]" = torch.ops.aten.ones.default([3], dtype = torch.float32)
            native_dropout = torch.ops.aten.native_dropout.default(ones, 0.5, True)
            dropout_1: "f32[3]" = native_dropout[0]
            empty_strided_1: "f32[3]" = torch.ops.aten.empty_strided.default([3], [1], dtype = torch.float32)
            uniform: "f32[3]" = torch.ops.aten.uniform.default(empty_strided_1)
            vmap_body = self.vmap_body
            map_impl = torch.ops.higher_order.map_impl(vmap_body, [x], [dropout_1, uniform, rand_like])
            _remove_batch_dim: "f32[4, 3]" = map_impl[0]
            return (_remove_batch_dim,)

        class vmap_body(torch.nn.Module):
            def forward(self, _add_batch_dim: "f32[3]", dropout_1: "f32[3]", uniform: "f32[3]", rand_like: "f32[3]"):
                dropout: "f32[3]" = torch.ops.aten.mul.Tensor(_add_batch_dim, dropout_1)
                clone: "f32[3]" = torch.ops.aten.clone.default(dropout)
                uniform_: "f32[3]" = torch.ops.aten.copy.default(clone, uniform)
                add: "f32[3]" = torch.ops.aten.add.Tensor(rand_like, dropout)
                add_1: "f32[3]" = torch.ops.aten.add.Tensor(add, uniform_)
                return (add_1,)

Graph signature:
    # inputs
    x: USER_INPUT

    # outputs
    _remove_batch_dim: USER_OUTPUT

Range constraints: {}
