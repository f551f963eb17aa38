# test verify
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[s0, 3]", y: "f32[s1, 3]"):
            add: "f32[s1, 3]" = torch.ops.aten.mul.Tensor(x, 2)
            # error[meta]: the recorded meta is f32[s1, 3], the operator yields f32[s0, 3]
            #   note: s1 comes from size 0 of `y`
            #   note: s0 comes from size 0 of `x`
            return (add,)

Graph signature:
    # inputs
    x: USER_INPUT
    y: USER_INPUT

    # outputs
    add: USER_OUTPUT

Range constraints: {s0: VR[2, int_oo], s1: VR[2, int_oo]}
