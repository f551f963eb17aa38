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
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[2, 2]", image: "f32[2, 3, 2]", mean: "f32[3]", var: "f32[3]"):
            clone: "f32[2, 2]" = torch.ops.aten.clone.default(x)
            unbind = torch.ops.aten.unbind.int(clone, 1)
            getitem: "f32[2]" = unbind[0]
            add_: "f32[2]" = torch.ops.aten.add.Tensor(getitem, 1)
            _native_batch_norm_legit_functional = torch.ops.aten._native_batch_norm_legit_functional.default(image, None, None, mean, var, True, 0.1, 1e-05)
            getitem_1: "f32[3]" = _native_batch_norm_legit_functional[3]
            getitem_2: "f32[3]" = _native_batch_norm_legit_functional[4]
            batch_norm: "f32[2, 3, 2]" = _native_batch_norm_legit_functional[0]
            select_scatter: "f32[2, 2]" = torch.ops.aten.select_scatter.default(clone, add_, 1, 0)
            transpose: "f32[2, 2]" = torch.ops.aten.transpose.int(select_scatter, 1, 0)
            slice_1: "f32[2, 1]" = torch.ops.aten.slice.Tensor(transpose, 1, None, 1)
            mul_: "f32[2, 1]" = torch.ops.aten.mul.Tensor(slice_1, 3)
            slice_scatter: "f32[2, 2]" = torch.ops.aten.slice_scatter.default(transpose, mul_, 1, None, 1)
            transpose_1: "f32[2, 2]" = torch.ops.aten.transpose.int(slice_scatter, 1, 0)
            return (getitem_1, getitem_2, transpose_1, batch_norm)

Graph signature:
    # inputs
    x: USER_INPUT
    image: USER_INPUT
    mean: USER_INPUT
    var: USER_INPUT

    # outputs
    getitem_1: USER_INPUT_MUTATION target='mean'
    getitem_2: USER_INPUT_MUTATION target='var'
    transpose_1: USER_OUTPUT
    batch_norm: USER_OUTPUT

Range constraints: {}
