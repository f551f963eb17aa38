# test verify
def forward(self, x: "f32[2, 3]"):
    unsqueeze: "f32[2, 3]" = torch.ops.aten.unsqueeze.default(x, 0)
    return (unsqueeze,)
