# test verify
def forward(self, x: "f32[2, 3]", y: "f32[4, 5]"):
    mm: "f32[2, 5]" = torch.ops.aten.mm.default(x, y)
    return (mm,)
