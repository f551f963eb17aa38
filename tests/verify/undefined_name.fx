# test verify
def forward(self, x: "f32[3]"):
    relu: "f32[3]" = torch.ops.aten.relu.default(y)
    # error[syntax]: `y` is not defined before this line
    return (relu,)
    # error[syntax]: `relu` is not defined before this line
