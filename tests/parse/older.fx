# test parse
graph(%x, %y):
    %self_weight : [#users=1] = get_attr[target=weight]
    %add : [#users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%x, %y), kwargs = {})
    %mul : torch.Tensor [num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%add, %self_weight), kwargs = {})
    %item : [#users=1] = call_function[target=operator.getitem](args = (%mul, 0), kwargs = {})
    %sum : Tensor "f32[2, 3][3, 1]cpu"[num_users=1] = call_function[target=<built-in function add>](args = (%item, 1), kwargs = {})
    return %sum
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x, y):
            self_weight = self.weight
            add = torch.ops.aten.add.Tensor(x, y)
            mul = torch.ops.aten.mul.Tensor(add, self_weight)
            item = mul[0]
            sum: "f32[2, 3]" = item + 1
            return sum

Graph signature:
    # inputs
    x: USER_INPUT
    y: USER_INPUT

    # outputs
    sum: USER_OUTPUT

Range constraints: {}
