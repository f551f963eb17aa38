class GraphModule(torch.nn.Module):
    def forward(self, p_linear_weight: "f32[3, 4]", p_linear_bias: "f32[3]", b_count: "i64[]", x: "f32[3, 4]"):
        # No stacktrace found for following nodes
        add_: "i64[]" = torch.ops.aten.add_.Tensor(b_count, 1);  b_count = None
        linear: "f32[3, 3]" = torch.ops.aten.linear.default(x, p_linear_weight, p_linear_bias);  x = p_linear_weight = p_linear_bias = None
        split_with_sizes = torch.ops.aten.split_with_sizes.default(linear, [1, 2], -1);  linear = None
        getitem: "f32[3, 1]" = split_with_sizes[0]
        getitem_1: "f32[3, 2]" = split_with_sizes[1];  split_with_sizes = None
        add: "f32[3, 2]" = torch.ops.aten.add.Tensor(getitem, getitem_1);  getitem = getitem_1 = None
        full: "f32[2]" = torch.ops.aten.full.default([2], inf, device = device(type='cpu'), pin_memory = False)
        mul: "f32[2]" = torch.ops.aten.mul.Tensor(full, add_);  full = add_ = None
        return (add, mul)
