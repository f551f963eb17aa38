# test verify
def forward(self, x: "f32[2, 3]"):
    transpose: "f32[3, 2]" = torch.ops.aten.transpose.int(x, "first", 1)
    return (transpose,)
