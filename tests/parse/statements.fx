# test parse
def forward(self, x: "f32[2]"):
    relu: "f32[2]" = torch.ops.aten.relu.default(x) + 1
    # error[syntax]: unexpected `+`
    x = torch.ops.aten.relu.default(x)
    # error[syntax]: the name `x` is taken
    #: x.color('red')
    # error[syntax]: unknown fact `color`
    return (x,) extra
    # error[syntax]: unexpected `extra`
