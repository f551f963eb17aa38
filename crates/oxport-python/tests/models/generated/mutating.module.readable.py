class GraphModule(torch.nn.Module):
    def forward(self, x):
        x: "f32[3, 4]";

        x, = fx_pytree.tree_flatten_spec(([x], {}), self._in_spec)
        # No stacktrace found for following nodes
        linear_weight: "f32[3, 4]" = self.linear.weight
        linear_bias: "f32[3]" = self.linear.bias
        count: "i64[]" = self.count
        _guards_fn = self._guards_fn(x);  _guards_fn = None
        add_: "i64[]" = torch.ops.aten.add_.Tensor(count, 1);  count = None
        linear: "f32[3, 3]" = torch.ops.aten.linear.default(x, linear_weight, linear_bias);  x = linear_weight = linear_bias = None
        split_with_sizes = torch.ops.aten.split_with_sizes.default(linear, [1, 2], -1);  linear = None
        getitem: "f32[3, 1]" = split_with_sizes[0]
        getitem_1: "f32[3, 2]" = split_with_sizes[1];  split_with_sizes = None
        add: "f32[3, 2]" = torch.ops.aten.add.Tensor(getitem, getitem_1);  getitem = getitem_1 = None
        full: "f32[2]" = torch.ops.aten.full.default([2], inf, device = device(type='cpu'), pin_memory = False)
        mul: "f32[2]" = torch.ops.aten.mul.Tensor(full, add_);  full = add_ = None
        return pytree.tree_unflatten((add, mul), self._out_spec)
