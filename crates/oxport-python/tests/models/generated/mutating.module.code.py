


def forward(self, x):
    x, = fx_pytree.tree_flatten_spec(([x], {}), self._in_spec)
    linear_weight = self.linear.weight
    linear_bias = self.linear.bias
    count = self.count
    _guards_fn = self._guards_fn(x);  _guards_fn = None
    add_ = torch.ops.aten.add_.Tensor(count, 1);  count = None
    linear = torch.ops.aten.linear.default(x, linear_weight, linear_bias);  x = linear_weight = linear_bias = None
    split_with_sizes = torch.ops.aten.split_with_sizes.default(linear, [1, 2], -1);  linear = None
    getitem = split_with_sizes[0]
    getitem_1 = split_with_sizes[1];  split_with_sizes = None
    add = torch.ops.aten.add.Tensor(getitem, getitem_1);  getitem = getitem_1 = None
    full = torch.ops.aten.full.default([2], inf, device = device(type='cpu'), pin_memory = False)
    mul = torch.ops.aten.mul.Tensor(full, add_);  full = add_ = None
    return pytree.tree_unflatten((add, mul), self._out_spec)
    