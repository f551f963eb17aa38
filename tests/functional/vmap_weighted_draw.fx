# test functional
def forward(self, x: "f32[4, 3]"):
    lazy_load_decompositions = torch._functorch.predispatch.lazy_load_decompositions()
    _vmap_increment_nesting = torch._functorch.predispatch._vmap_increment_nesting(4, 'same')
    _add_batch_dim: "f32[3]" = torch._functorch.predispatch._add_batch_dim(x, 0, 1)
    bernoulli: "f32[3]" = torch.ops.aten.bernoulli.default(_add_batch_dim)
    _remove_batch_dim: "f32[4, 3]" = torch._functorch.predispatch._remove_batch_dim(bernoulli, 1, 4, 0)
    _vmap_decrement_nesting = torch._functorch.predispatch._vmap_decrement_nesting()
    return (_remove_batch_dim,)
# result
# error: _vmap_increment_nesting: bernoulli: Vmap does not currently support same randomness with a batched tensor input. Please file an issue with functorch
