# test parse
def forward(self, x: "f33[2]"):
    relu: "f32[2]" = torch.ops.aten.relu.default(x
    return (relu,)
