# test functional
def forward(self, x: "f32[7]"):
    clone: "f32[7]" = torch.ops.aten.clone.default(x)
    expand: "f32[2, 7]" = torch.ops.aten.expand.default(clone, [2, 7])
    zero_: "f32[2, 7]" = torch.ops.aten.zero_.default(expand)
    return (clone,)
# result
# error: the program is not valid: error[alias] at node zero_ argument self: `torch.ops.aten.zero_.default` writes to `self`, several of whose elements are one place
