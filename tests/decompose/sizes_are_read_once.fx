# test decompose
# The size of a tensor and those of its views are one number.
def forward(self, x: "f32[s0, 4, 6]"):
    flatten: "f32[s0, 24]" = torch.ops.aten.flatten.using_ints(x, 1)
    unflatten: "f32[s0, 2, 12]" = torch.ops.aten.unflatten.int(flatten, 1, [2, 12])
    transpose: "f32[2, s0, 12]" = torch.ops.aten.transpose.int(unflatten, 0, 1)
    reshape: "f32[2*s0, 12]" = torch.ops.aten.flatten.using_ints(transpose, 0, 1)
    stack: "f32[2*s0, 2, 12]" = torch.ops.aten.stack.default([reshape, reshape], 1)
    narrow: "f32[2*s0, 2, 5]" = torch.ops.aten.narrow.default(stack, 2, -6, 5)
    movedim: "f32[2, 5, 2*s0]" = torch.ops.aten.movedim.int(narrow, 0, -1)
    ravel: "f32[20*s0]" = torch.ops.aten.ravel.default(movedim)
    return (ravel,)
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[s0, 4, 6]"):
            sym_size: "Sym(s0)" = torch.ops.aten.sym_size.int(x, 0)
            flatten: "f32[s0, 24]" = torch.ops.aten.view.default(x, [sym_size, 24])
            unflatten: "f32[s0, 2, 12]" = torch.ops.aten.view.default(flatten, [sym_size, 2, 12])
            transpose: "f32[2, s0, 12]" = torch.ops.aten.permute.default(unflatten, [1, 0, 2])
            mul: "Sym(2*s0)" = 2 * sym_size
            clone: "f32[2, s0, 12]" = torch.ops.aten.clone.default(transpose, memory_format = torch.contiguous_format)
            reshape: "f32[2*s0, 12]" = torch.ops.aten.view.default(clone, [mul, 12])
            unsqueeze: "f32[2*s0, 1, 12]" = torch.ops.aten.unsqueeze.default(reshape, 1)
            unsqueeze_1: "f32[2*s0, 1, 12]" = torch.ops.aten.unsqueeze.default(reshape, 1)
            stack: "f32[2*s0, 2, 12]" = torch.ops.aten.cat.default([unsqueeze, unsqueeze_1], 1)
            narrow: "f32[2*s0, 2, 5]" = torch.ops.aten.slice.Tensor(stack, 2, -6, -1)
            movedim: "f32[2, 5, 2*s0]" = torch.ops.aten.permute.default(narrow, [1, 2, 0])
            contiguous: "f32[2, 5, 2*s0]" = torch.ops.aten.clone.default(movedim, memory_format = torch.contiguous_format)
            ravel: "f32[20*s0]" = torch.ops.aten.view.default(contiguous, [-1])
            return (ravel,)

Graph signature:
    # inputs
    x: USER_INPUT

    # outputs
    ravel: USER_OUTPUT

Range constraints: {}
