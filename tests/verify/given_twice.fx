# test verify
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[2, 3]"):
            sum_1: "f32[2]" = torch.ops.aten.sum.dim_IntList(x, [1], dim = [1], keepdim = False)
            # error[arguments]: aten::sum.dim_IntList: argument `dim` is given twice
            #   note: aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
            add: "f32[2, 3]" = torch.ops.aten.add.Tensor(x, x, 2)
            # error[arguments]: aten::add.Tensor takes 2 positional arguments, not 3
            #   note: aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
            return (sum_1, add)
