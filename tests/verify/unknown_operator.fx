# test verify
def forward(self, x: "f32[2, 3]"):
    rellu: "f32[2, 3]" = torch.ops.aten.rellu.default(x)
    return (rellu,)
