# test functional
# A pointwise body needs no loop: it is called on all slices. Those of fewer dimensions broadcast from the right.
def forward(self, a: "f32[4, 3]", b: "f32[3, 5, 4]", c: "f32[3]", w: "f32[4]", t: "f32[]"):
    lazy_load_decompositions = torch._functorch.predispatch.lazy_load_decompositions()
    _vmap_increment_nesting = torch._functorch.predispatch._vmap_increment_nesting(3, 'error')
    _add_batch_dim: "f32[4]" = torch._functorch.predispatch._add_batch_dim(a, 1, 1)
    _add_batch_dim_1: "f32[5, 4]" = torch._functorch.predispatch._add_batch_dim(b, 0, 1)
    _add_batch_dim_2: "f32[]" = torch._functorch.predispatch._add_batch_dim(c, 0, 1)
    mul: "f32[5, 4]" = torch.ops.aten.mul.Tensor(_add_batch_dim, _add_batch_dim_1)
    add: "f32[5, 4]" = torch.ops.aten.add.Tensor(mul, _add_batch_dim_2, alpha = 2)
    mul_1: "f32[4]" = torch.ops.aten.mul.Tensor(_add_batch_dim, w)
    gt: "b8[]" = torch.ops.aten.gt.Tensor(_add_batch_dim_2, t)
    _remove_batch_dim: "f32[3, 5, 4]" = torch._functorch.predispatch._remove_batch_dim(add, 1, 3, 0)
    _remove_batch_dim_1: "f32[4, 3]" = torch._functorch.predispatch._remove_batch_dim(mul_1, 1, 3, 1)
    _remove_batch_dim_2: "b8[3]" = torch._functorch.predispatch._remove_batch_dim(gt, 1, 3, 0)
    _remove_batch_dim_3: "b8[3]" = torch._functorch.predispatch._remove_batch_dim(gt, 1, 3, 0)
    _vmap_decrement_nesting = torch._functorch.predispatch._vmap_decrement_nesting()
    return (_remove_batch_dim, _remove_batch_dim_1, _remove_batch_dim_2, _remove_batch_dim_3)
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, a: "f32[4, 3]", b: "f32[3, 5, 4]", c: "f32[3]", w: "f32[4]", t: "f32[]"):
            movedim: "f32[3, 4]" = torch.ops.aten.movedim.int(a, 1, 0)
            unsqueeze: "f32[3, 1, 4]" = torch.ops.aten.unsqueeze.default(movedim, 1)
            mul: "f32[3, 5, 4]" = torch.ops.aten.mul.Tensor(unsqueeze, b)
            unsqueeze_1: "f32[3, 1]" = torch.ops.aten.unsqueeze.default(c, 1)
            unsqueeze_2: "f32[3, 1, 1]" = torch.ops.aten.unsqueeze.default(unsqueeze_1, 1)
            _remove_batch_dim: "f32[3, 5, 4]" = torch.ops.aten.add.Tensor(mul, unsqueeze_2, alpha = 2)
            mul_1: "f32[3, 4]" = torch.ops.aten.mul.Tensor(movedim, w)
            _remove_batch_dim_2: "b8[3]" = torch.ops.aten.gt.Tensor(c, t)
            _remove_batch_dim_1: "f32[4, 3]" = torch.ops.aten.movedim.int(mul_1, 0, 1)
            return (_remove_batch_dim, _remove_batch_dim_1, _remove_batch_dim_2, _remove_batch_dim_2)

Graph signature:
    # inputs
    a: USER_INPUT
    b: USER_INPUT
    c: USER_INPUT
    w: USER_INPUT
    t: USER_INPUT

    # outputs
    _remove_batch_dim: USER_OUTPUT
    _remove_batch_dim_1: USER_OUTPUT
    _remove_batch_dim_2: USER_OUTPUT
    _remove_batch_dim_2: USER_OUTPUT

Range constraints: {}
