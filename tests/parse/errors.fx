# test parse
def forward(self, x: "f33[2]"):
# error[syntax]: unknown dtype `f33`
    relu: "f32[2]" = torch.ops.aten.relu.default(x
    # error[syntax]: `x` is not defined before this line
    return (relu,)
    # error[syntax]: `relu` is not defined before this line
