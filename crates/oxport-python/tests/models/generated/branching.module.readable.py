class GraphModule(torch.nn.Module):
    def forward(self, x, y):
        x: "f32[3]"; y: "f32[3]";

        x, y, = fx_pytree.tree_flatten_spec(([x, y], {}), self._in_spec)
        # No stacktrace found for following nodes
        _guards_fn = self._guards_fn(x, y);  _guards_fn = None
        sum_1: "f32[]" = torch.ops.aten.sum.default(x)
        gt: "b8[]" = torch.ops.aten.gt.Scalar(sum_1, 0);  sum_1 = None
        true_graph_0 = self.true_graph_0
        false_graph_0 = self.false_graph_0
        cond = torch.ops.higher_order.cond(gt, true_graph_0, false_graph_0, (x, y));  gt = true_graph_0 = false_graph_0 = x = y = None
        getitem: "f32[3]" = cond[0];  cond = None
        return pytree.tree_unflatten((getitem,), self._out_spec)

    class true_graph_0(torch.nn.Module):
        def forward(self, x: "f32[3]", y: "f32[3]"):
            # No stacktrace found for following nodes
            sin: "f32[3]" = torch.ops.aten.sin.default(x);  x = None
            add: "f32[3]" = torch.ops.aten.add.Tensor(sin, y);  sin = y = None
            return (add,)

    class false_graph_0(torch.nn.Module):
        def forward(self, x: "f32[3]", y: "f32[3]"):
            # No stacktrace found for following nodes
            cos: "f32[3]" = torch.ops.aten.cos.default(y);  y = None
            sub: "f32[3]" = torch.ops.aten.sub.Tensor(x, cos);  x = cos = None
            return (sub,)
