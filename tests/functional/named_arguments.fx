# test functional
# What is given by its name means what it means by position: aliases, running statistics, targets of writes.
def forward(self, x: "f32[2, 2]", image: "f32[2, 3, 2]", mean: "f32[3]", var: "f32[3]"):
    clone: "f32[2, 2]" = torch.ops.aten.clone.default(self = x)
    unbind = torch.ops.aten.unbind.int(dim = 1, self = clone)
    getitem: "f32[2]" = unbind[0]
    add_: "f32[2]" = torch.ops.aten.add_.Tensor(other = 1, self = getitem)
    batch_norm: "f32[2, 3, 2]" = torch.ops.aten.batch_norm.default(input = image, weight = None, bias = None, running_mean = mean, running_var = var, training = True, momentum = 0.1, eps = 1e-05, cudnn_enabled = True)
    transpose: "f32[2, 2]" = torch.ops.aten.transpose.int(clone, dim1 = 0, dim0 = 1)
    slice_1: "f32[2, 1]" = torch.ops.aten.slice.Tensor(transpose, dim = 1, end = 1)
    mul_: "f32[2, 1]" = torch.ops.aten.mul_.Tensor(slice_1, other = 3)
    return (clone, batch_norm)
