# test verify
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, p_w: "f32[3]", p_w_1: "f32[3]", x: "f32[3]"):
            # error[state]: parameter `w` is not in the state dict
            # error[state]: parameter `w` is not in the state dict
            mul: "f32[3]" = torch.ops.aten.mul.Tensor(x, p_w)
            return (mul,)

Graph signature:
    # inputs
    p_w: PARAMETER target='w'
    p_w_1: PARAMETER target='w'
    x: USER_INPUT

    # outputs
    mul: USER_OUTPUT

Range constraints: {}
# at input 1: error[signature]: `p_w_1` is lifted as `w`, as input 0 is already
