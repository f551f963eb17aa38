# test functional
def forward(self, x: "f32[4, 3]"):
    lazy_load_decompositions = torch._functorch.predispatch.lazy_load_decompositions()
    _vmap_increment_nesting = torch._functorch.predispatch._vmap_increment_nesting(4, 'same')
    _add_batch_dim: "f32[3]" = torch._functorch.predispatch._add_batch_dim(x, 0, 1)
    native_dropout = torch.ops.aten.native_dropout.default(_add_batch_dim, 0.5, True)
    getitem: "f32[3]" = native_dropout[0]
    getitem_1: "b8[3]" = native_dropout[1]
    where: "f32[3]" = torch.ops.aten.where.ScalarOther(getitem_1, getitem, 7)
    _remove_batch_dim: "f32[4, 3]" = torch._functorch.predispatch._remove_batch_dim(where, 1, 4, 0)
    _vmap_decrement_nesting = torch._functorch.predispatch._vmap_decrement_nesting()
    return (_remove_batch_dim,)
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[4, 3]"):
            ones: "f32[3]" = torch.ops.aten.ones.default([3], dtype = torch.float32)
            native_dropout_1 = torch.ops.aten.native_dropout.default(ones, 0.5, True)
            getitem_2: "f32[3]" = native_dropout_1[0]
            getitem_3: "b8[3]" = native_dropout_1[1]
            vmap_body = self.vmap_body
            map_impl = torch.ops.higher_order.map_impl(vmap_body, [x], [getitem_2, getitem_3])
            _remove_batch_dim: "f32[4, 3]" = map_impl[0]
            return (_remove_batch_dim,)

        class vmap_body(torch.nn.Module):
            def forward(self, _add_batch_dim: "f32[3]", getitem_2: "f32[3]", getitem_3: "b8[3]"):
                mul: "f32[3]" = torch.ops.aten.mul.Tensor(_add_batch_dim, getitem_2)
                where: "f32[3]" = torch.ops.aten.where.ScalarOther(getitem_3, mul, 7)
                return (where,)

Graph signature:
    # inputs
    x: USER_INPUT

    # outputs
    _remove_batch_dim: USER_OUTPUT

Range constraints: {}
