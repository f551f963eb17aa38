# test functional
# A value that was written through a transposed view lies otherwise; what views the memory as captured still does. `ravel` copies
# what is not contiguous, `reshape` only what has no other strides.
def forward(self, x: "f32[4, 4]", y: "f32[4, 4]"):
    clone: "f32[4, 4]" = torch.ops.aten.clone.default(x)
    t: "f32[4, 4]" = torch.ops.aten.t.default(clone)
    addmm_: "f32[4, 4]" = torch.ops.aten.addmm_.default(t, y, y)
    reshape: "f32[16]" = torch.ops.aten.reshape.default(clone, [16])
    add_: "f32[16]" = torch.ops.aten.add_.Tensor(reshape, 1)
    clone_1: "f32[4, 4]" = torch.ops.aten.clone.default(x)
    t_1: "f32[4, 4]" = torch.ops.aten.t.default(clone_1)
    tril_: "f32[4, 4]" = torch.ops.aten.tril_.default(t_1)
    flatten: "f32[16]" = torch.ops.aten.flatten.using_ints(clone_1)
    mul_: "f32[16]" = torch.ops.aten.mul_.Tensor(flatten, 2)
    clone_2: "f32[4, 4]" = torch.ops.aten.clone.default(x)
    view: "f32[16]" = torch.ops.aten.view.default(clone_2, [16])
    slice_1: "f32[8]" = torch.ops.aten.slice.Tensor(view, 0, 0, 16, 2)
    ravel: "f32[8]" = torch.ops.aten.ravel.default(slice_1)
    add__1: "f32[8]" = torch.ops.aten.add_.Tensor(ravel, 1)
    ravel_1: "f32[16]" = torch.ops.aten.ravel.default(clone_2)
    mul__1: "f32[16]" = torch.ops.aten.mul_.Tensor(ravel_1, 3)
    t_4: "f32[4, 4]" = torch.ops.aten.t.default(x)
    clone_4: "f32[4, 4]" = torch.ops.aten.clone.default(t_4)
    cumsum_: "f32[4, 4]" = torch.ops.aten.cumsum_.default(clone_4, -1)
    flatten_1: "f32[16]" = torch.ops.aten.flatten.using_ints(cumsum_)
    exp_: "f32[4, 4]" = torch.ops.aten.exp_.default(cumsum_)
    return (clone, clone_1, clone_2, clone_4, flatten_1)
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[4, 4]", y: "f32[4, 4]"):
            clone: "f32[4, 4]" = torch.ops.aten.clone.default(x)
            t: "f32[4, 4]" = torch.ops.aten.t.default(clone)
            addmm_: "f32[4, 4]" = torch.ops.aten.addmm.default(t, y, y)
            t_2: "f32[4, 4]" = torch.ops.aten.t.default(addmm_)
            reshape: "f32[16]" = torch.ops.aten.reshape.default(t_2, [16])
            add_: "f32[16]" = torch.ops.aten.add.Tensor(reshape, 1)
            clone_1: "f32[4, 4]" = torch.ops.aten.clone.default(x)
            t_1: "f32[4, 4]" = torch.ops.aten.t.default(clone_1)
            tril_: "f32[4, 4]" = torch.ops.aten.tril.default(t_1)
            t_3: "f32[4, 4]" = torch.ops.aten.t.default(tril_)
            flatten: "f32[16]" = torch.ops.aten.flatten.using_ints(t_3)
            mul_: "f32[16]" = torch.ops.aten.mul.Tensor(flatten, 2)
            clone_2: "f32[4, 4]" = torch.ops.aten.clone.default(x)
            ravel_1: "f32[16]" = torch.ops.aten.ravel.default(clone_2)
            mul__1: "f32[16]" = torch.ops.aten.mul.Tensor(ravel_1, 3)
            t_4: "f32[4, 4]" = torch.ops.aten.t.default(x)
            clone_4: "f32[4, 4]" = torch.ops.aten.clone.default(t_4)
            cumsum_: "f32[4, 4]" = torch.ops.aten.cumsum.default(clone_4, -1)
            flatten_1: "f32[16]" = torch.ops.aten.flatten.using_ints(cumsum_)
            exp_: "f32[4, 4]" = torch.ops.aten.exp.default(cumsum_)
            view_1: "f32[4, 4]" = torch.ops.aten.view.default(add_, [4, 4])
            view_2: "f32[4, 4]" = torch.ops.aten.view.default(mul_, [4, 4])
            view_3: "f32[4, 4]" = torch.ops.aten.view.default(mul__1, [4, 4])
            return (view_1, view_2, view_3, exp_, flatten_1)

Graph signature:
    # inputs
    x: USER_INPUT
    y: USER_INPUT

    # outputs
    view_1: USER_OUTPUT
    view_2: USER_OUTPUT
    view_3: USER_OUTPUT
    exp_: USER_OUTPUT
    flatten_1: USER_OUTPUT

Range constraints: {}
