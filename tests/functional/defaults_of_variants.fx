# test functional
def forward(self, x: "f32[3]"):
    clone: "f32[3]" = torch.ops.aten.clone.default(x)
    bernoulli_: "f32[3]" = torch.ops.aten.bernoulli_.float(clone)
    return (bernoulli_,)
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[3]"):
            clone: "f32[3]" = torch.ops.aten.clone.default(x)
            bernoulli_: "f32[3]" = torch.ops.aten.bernoulli.p(clone, p = 0.5)
            return (bernoulli_,)

Graph signature:
    # inputs
    x: USER_INPUT

    # outputs
    bernoulli_: USER_OUTPUT

Range constraints: {}
