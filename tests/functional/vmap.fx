# test functional
def forward(self, a: "f32[4, 3]", w: "f32[3]"):
    lazy_load_decompositions = torch._functorch.predispatch.lazy_load_decompositions()
    _vmap_increment_nesting = torch._functorch.predispatch._vmap_increment_nesting(3, 'error')
    _add_batch_dim: "f32[4]" = torch._functorch.predispatch._add_batch_dim(a, 1, 1)
    sum_1: "f32[]" = torch.ops.aten.sum.default(w)
    exp: "f32[]" = torch.ops.aten.exp.default(sum_1)
    mul: "f32[4]" = torch.ops.aten.mul.Tensor(_add_batch_dim, exp)
    add_: "f32[4]" = torch.ops.aten.add_.Tensor(mul, 1)
    _remove_batch_dim: "f32[4, 3]" = torch._functorch.predispatch._remove_batch_dim(add_, 1, 3, 1)
    _remove_batch_dim_1: "f32[3]" = torch._functorch.predispatch._remove_batch_dim(exp, 1, 3, 0)
    _vmap_decrement_nesting = torch._functorch.predispatch._vmap_decrement_nesting()
    return (_remove_batch_dim, _remove_batch_dim_1)
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, a: "f32[4, 3]", w: "f32[3]"):
            sum_1: "f32[]" = torch.ops.aten.sum.default(w)
            exp: "f32[]" = torch.ops.aten.exp.default(sum_1)
            vmap_body = self.vmap_body
            movedim: "f32[3, 4]" = torch.ops.aten.movedim.int(a, 1, 0)
            map_impl = torch.ops.higher_order.map_impl(vmap_body, [movedim], [exp])
            getitem: "f32[3, 4]" = map_impl[0]
            _remove_batch_dim: "f32[4, 3]" = torch.ops.aten.movedim.int(getitem, 0, 1)
            unsqueeze: "f32[1]" = torch.ops.aten.unsqueeze.default(exp, 0)
            _remove_batch_dim_1: "f32[3]" = torch.ops.aten.expand.default(unsqueeze, [3])
            return (_remove_batch_dim, _remove_batch_dim_1)

        class vmap_body(torch.nn.Module):
            def forward(self, _add_batch_dim: "f32[4]", exp: "f32[]"):
                mul: "f32[4]" = torch.ops.aten.mul.Tensor(_add_batch_dim, exp)
                add_: "f32[4]" = torch.ops.aten.add.Tensor(mul, 1)
                return (add_,)

Graph signature:
    # inputs
    a: USER_INPUT
    w: USER_INPUT

    # outputs
    _remove_batch_dim: USER_OUTPUT
    _remove_batch_dim_1: USER_OUTPUT

Range constraints: {}
