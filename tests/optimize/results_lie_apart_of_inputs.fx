# test optimize
# An output equals what is written to an input: it lies in a storage of its own, and stays one with its view.
def forward(self, x: "bf16[1]", y: "bf16[1]"):
    unbind = torch.ops.aten.unbind.int(y)
    v0: "bf16[]" = unbind[0]
    v1: "bf16[]" = torch.ops.aten.relu.default(v0)
    v3: "bf16[1]" = torch.ops.aten.flatten.using_ints(v1)
    v4: "bf16[1]" = torch.ops.aten.relu_.default(y)
    return (v3, v1)
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "bf16[1]", y: "bf16[1]"):
            v4_1: "bf16[1]" = torch.ops.aten.relu.default(y)
            v1: "bf16[]" = torch.ops.aten.reshape.default(v4_1, [])
            v3: "bf16[1]" = torch.ops.aten.flatten.using_ints(v1)
            v4: "bf16[1]" = torch.ops.aten.relu.default(y)
            return (v4, v3, v1)

Graph signature:
    # inputs
    x: USER_INPUT
    y: USER_INPUT

    # outputs
    v4: USER_INPUT_MUTATION target='y'
    v3: USER_OUTPUT
    v1: USER_OUTPUT

Range constraints: {}
