


def forward(self, p_linear_weight, p_linear_bias, b_count, x):
    add_ = torch.ops.aten.add_.Tensor(b_count, 1);  b_count = None
    linear = torch.ops.aten.linear.default(x, p_linear_weight, p_linear_bias);  x = p_linear_weight = p_linear_bias = None
    split_with_sizes = torch.ops.aten.split_with_sizes.default(linear, [1, 2], -1);  linear = None
    getitem = split_with_sizes[0]
    getitem_1 = split_with_sizes[1];  split_with_sizes = None
    add = torch.ops.aten.add.Tensor(getitem, getitem_1);  getitem = getitem_1 = None
    full = torch.ops.aten.full.default([2], inf, device = device(type='cpu'), pin_memory = False)
    mul = torch.ops.aten.mul.Tensor(full, add_);  full = add_ = None
    return (add, mul)
    