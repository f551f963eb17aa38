# test verify
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[s0, 4, s1]", t: "i64[s0, s2]"):
            cross_entropy_loss: "f32[s0, s2]" = torch.ops.aten.cross_entropy_loss.default(x, t, None, 0)
            cross_entropy_loss_1: "f32[s0, s1]" = torch.ops.aten.cross_entropy_loss.default(x, t, None, 0)
            # error[meta]: the recorded meta is f32[s0, s1], the operator yields f32[s0, s2]
            #   note: s0 comes from size 0 of `x`
            #   note: s1 comes from size 2 of `x`
            #   note: s2 comes from size 1 of `t`
            return (cross_entropy_loss, cross_entropy_loss_1)
