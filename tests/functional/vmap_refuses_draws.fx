# test functional
def forward(self, x: "f32[4, 3]"):
    lazy_load_decompositions = torch._functorch.predispatch.lazy_load_decompositions()
    _vmap_increment_nesting = torch._functorch.predispatch._vmap_increment_nesting(4, 'error')
    _add_batch_dim: "f32[3]" = torch._functorch.predispatch._add_batch_dim(x, 0, 1)
    rand_like: "f32[3]" = torch.ops.aten.rand_like.default(_add_batch_dim)
    _remove_batch_dim: "f32[4, 3]" = torch._functorch.predispatch._remove_batch_dim(rand_like, 1, 4, 0)
    _vmap_decrement_nesting = torch._functorch.predispatch._vmap_decrement_nesting()
    return (_remove_batch_dim,)
# result
# error: _vmap_increment_nesting: rand_like: vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' randomness flags on vmap or perform the randomness operation out of vmap
