# test functional
# What is written is counted in the dtype of the tensor.
def forward(self, x: "f64[3]", y: "i64[3]"):
    clone: "f64[3]" = torch.ops.aten.clone.default(x)
    clone_1: "i64[3]" = torch.ops.aten.clone.default(y)
    linspace: "f64[3]" = torch.ops.aten.linspace.out(0.1, 1, 3, out = clone)
    logspace: "f64[3]" = torch.ops.aten.logspace.out(0.1, 1, 3, 2.0, out = x)
    arange: "i64[3]" = torch.ops.aten.arange.start_out(1, 6, 2, out = clone_1)
    return (clone, logspace, clone_1)
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f64[3]", y: "i64[3]"):
            clone: "f64[3]" = torch.ops.aten.clone.default(x)
            clone_1: "i64[3]" = torch.ops.aten.clone.default(y)
            linspace_1: "f64[3]" = torch.ops.aten.linspace.default(0.1, 1, 3, dtype = torch.float64)
            copy_: "f64[3]" = torch.ops.aten.copy.default(clone, linspace_1)
            logspace_1: "f64[3]" = torch.ops.aten.logspace.default(0.1, 1, 3, 2.0, dtype = torch.float64)
            copy__1: "f64[3]" = torch.ops.aten.copy.default(x, logspace_1)
            arange_1: "i64[3]" = torch.ops.aten.arange.start_step(1, 6, 2, dtype = torch.int64)
            copy__2: "i64[3]" = torch.ops.aten.copy.default(clone_1, arange_1)
            return (copy__1, copy_, copy__1, copy__2)

Graph signature:
    # inputs
    x: USER_INPUT
    y: USER_INPUT

    # outputs
    copy__1: USER_INPUT_MUTATION target='x'
    copy_: USER_OUTPUT
    copy__1: USER_OUTPUT
    copy__2: USER_OUTPUT

Range constraints: {}
