# test verify
def forward(self, x: "f32[2, 3]"):
    add: "f32[2, 3]" = torch.ops.aten.add.Tensor(x, x, beta = 2)
    return (add,)
