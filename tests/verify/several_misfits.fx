# test verify
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[2, 3]"):
            sum_1: "f32[2]" = torch.ops.aten.sum.dim_IntList(x, 1.5, dims = [1], keepdim = 'yes')
            # error[arguments]: aten::sum.dim_IntList has no argument `dims`
            #   note: aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
            # error[arguments]: aten::sum.dim_IntList: argument `dim`: expected int[1]?, got a list of float
            #   note: aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
            # error[arguments]: aten::sum.dim_IntList: argument `keepdim`: expected bool, got str
            #   note: aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
            return (sum_1,)
