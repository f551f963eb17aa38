# test verify
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[3]"):
            empty: "f32[s0 + s1]" = torch.ops.aten.relu.default(x)
            # error[meta]: the recorded meta is f32[s0 + s1], the operator yields f32[3]
            # error[symbol]: `empty` uses the symbol s0, which nothing binds
            # error[symbol]: `empty` uses the symbol s1, which nothing binds
            return (empty,)

Graph signature:
    # inputs
    x: USER_INPUT

    # outputs
    empty: USER_OUTPUT

Range constraints: {}
