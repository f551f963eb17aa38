# test verify
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[s0*s1]", y: "f32[s0, s1]", z: "f32[s0*s2]"):
            # error[symbol]: `z` has the symbol s2, which nothing binds
            combinations: "f32[((s0*s1*(s0*s1 - 1))//2), 2]" = torch.ops.aten.combinations.default(x)
            combinations_1: "f32[s0, 2]" = torch.ops.aten.combinations.default(x)
            # error[meta]: the recorded meta is f32[s0, 2], the operator yields f32[((s0*s1*(s0*s1 - 1))//2), 2]
            #   note: s0 comes from size 0 of `y`
            #   note: s1 comes from size 1 of `y`
            return (combinations, combinations_1)
