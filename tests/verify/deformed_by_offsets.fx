# test verify
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[2, 4, s0, s1]", w: "f32[6, 4, 3, 3]", o: "f32[2, 18, s2, s3]", m: "f32[0, 1]", b: "f32[6]"):
            deform: "f32[2, 6, s2, s3]" = torch.ops.torchvision.deform_conv2d.default(x, w, o, m, b, 1, 1, 1, 1, 1, 1, 1, 1, False)
            deform_1: "f32[2, 6, s1, s1]" = torch.ops.torchvision.deform_conv2d.default(x, w, o, m, b, 1, 1, 1, 1, 1, 1, 1, 1, False)
            # error[meta]: the recorded meta is f32[2, 6, s1, s1], the operator yields f32[2, 6, s2, s3]
            #   note: s1 comes from size 3 of `x`
            #   note: s2 comes from size 2 of `o`
            #   note: s3 comes from size 3 of `o`
            return (deform, deform_1)
