# test optimize
# A value in a storage of its own may have to be computed as the program did: the choice leaves room for that.
def forward(self, x: "f64[1]", y: "f64[]"):
    v0: "f64[]" = torch.ops.aten.add.Tensor(y, 0)
    v1: "f64[1]" = torch.ops.aten.unsqueeze.default(v0, 0)
    v2: "f64[1]" = torch.ops.aten.mul_.Tensor(v1, 2)
    v3: "f64[]" = torch.ops.aten.t.default(v0)
    v4: "f64[]" = torch.ops.aten.clone.default(v3, memory_format=torch.contiguous_format)
    v5: "f64[1]" = torch.ops.aten.flatten.using_ints(v3)
    return (v5, x, x)
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f64[1]", y: "f64[]"):
            v0: "f64[]" = torch.ops.aten.add.Tensor(y, 0)
            v1: "f64[1]" = torch.ops.aten.unsqueeze.default(v0, 0)
            v2: "f64[1]" = torch.ops.aten.mul.Tensor(v1, 2)
            view: "f64[]" = torch.ops.aten.view.default(v2, [])
            v5: "f64[1]" = torch.ops.aten.flatten.using_ints(view)
            return (v5, x, x)

Graph signature:
    # inputs
    x: USER_INPUT
    y: USER_INPUT

    # outputs
    v5: USER_OUTPUT
    x: USER_OUTPUT
    x: USER_OUTPUT

Range constraints: {}
