# test optimize
def forward(self, x: "f32[2, 3]", n: "i64[3]"):
    add: "f32[2, 3]" = torch.ops.aten.add.Tensor(x, 0)
    add_1: "i64[3]" = torch.ops.aten.add.Tensor(n, 0)
    mul: "i64[3]" = torch.ops.aten.mul.Tensor(add_1, add_1)
    return (add, mul)
