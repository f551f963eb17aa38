# test verify
def forward(self, x: "f32[3]"):
    relu: "f32[3]" = torch.ops.aten.relu.default(x)
    relu: "f32[3]" = torch.ops.aten.relu.default(x)
    # error[syntax]: the name `relu` is taken
    return (relu,)
