# test functional
def forward(self, x: "f32[4, 3]"):
    clone: "f32[4, 3]" = torch.ops.aten.clone.default(x)
    split = torch.ops.aten.split.Tensor(clone, 2)
    getitem: "f32[2, 3]" = split[0]
    getitem_1: "f32[2, 3]" = split[1]
    zero_: "f32[2, 3]" = torch.ops.aten.zero_.default(getitem_1)
    add: "f32[2, 3]" = torch.ops.aten.add.Tensor(getitem, getitem_1)
    return (add, clone)
