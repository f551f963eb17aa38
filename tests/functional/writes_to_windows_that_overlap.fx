# test functional
def forward(self, x: "f32[7]"):
    clone: "f32[7]" = torch.ops.aten.clone.default(x)
    unfold: "f32[6, 2]" = torch.ops.aten.unfold.default(clone, 0, 2, 1)
    mul_: "f32[6, 2]" = torch.ops.aten.mul_.Tensor(unfold, 2)
    return (clone,)
# result
# error: output: a write to windows that overlap
