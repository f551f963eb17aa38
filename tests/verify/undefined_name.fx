# test verify
def forward(self, x: "f32[3]"):
    relu: "f32[3]" = torch.ops.aten.relu.default(y)
    return (relu,)
