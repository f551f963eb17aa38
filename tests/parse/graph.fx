# test parse
graph():
    %x : [num_users=2] = placeholder[target=x]
    %n : [num_users=0] = placeholder[target=n](default=3)
    %pad : [num_users=1] = call_function[target=torch.ops.aten.pad.default](args = (%x, [1, 1], reflect), kwargs = {})
    %to : [num_users=1] = call_function[target=torch.ops.aten.to.device](args = (%pad, cuda:0, torch.float16), kwargs = {})
    %einsum : [num_users=1] = call_function[target=torch.ops.aten.einsum.default](args = (bij,bkj->bik, [%to, %x]), kwargs = {})
    %index : [num_users=1] = call_function[target=torch.ops.aten.index.Tensor](args = (%einsum, [None, %x]), kwargs = {})
    %mul : [num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%index, (1-2j)), kwargs = {})
    %clamp : [num_users=1] = call_function[target=torch.ops.aten.clamp.default](args = (%mul, -inf, 1e-05), kwargs = {})
    %full : [num_users=1] = call_function[target=torch.ops.aten.full.default](args = ([2, 3], nan), kwargs = {dtype: torch.int64, layout: torch.strided, device: cpu, pin_memory: False})
    %split : [num_users=2] = call_function[target=torch.ops.aten.split.Tensor](args = (%full, 1), kwargs = {})
    %getitem : [num_users=1] = call_function[target=operator.getitem](args = (%split, 0), kwargs = {})
    %floordiv : [num_users=1] = call_function[target=operator.floordiv](args = (7, -2), kwargs = {})
    %trunc : [num_users=0] = call_function[target=math.trunc](args = (%floordiv,), kwargs = {})
    %_assert : [num_users=0] = call_function[target=torch.ops.aten._assert_scalar.default](args = (%floordiv, Eq(u0, 3), it's "so"), kwargs = {})
    return (clamp, getitem, None, 'a "b"', 1.5)
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x, n = 3):
            pad = torch.ops.aten.pad.default(x, [1, 1], 'reflect')
            to = torch.ops.aten.to.device(pad, device(type='cuda', index=0), torch.float16)
            einsum = torch.ops.aten.einsum.default('bij,bkj->bik', [to, x])
            index = torch.ops.aten.index.Tensor(einsum, [None, x])
            mul = torch.ops.aten.mul.Tensor(index, (1-2j))
            clamp = torch.ops.aten.clamp.default(mul, -inf, 1e-05)
            full: "i64[2, 3]" = torch.ops.aten.full.default([2, 3], nan, dtype = torch.int64, layout = torch.strided, device = device(type='cpu'), pin_memory = False)
            split = torch.ops.aten.split.Tensor(full, 1)
            getitem: "i64[1, 3]" = split[0]
            floordiv = 7 // -2
            trunc = math.trunc(floordiv)
            _assert = torch.ops.aten._assert_scalar.default(floordiv, 'Eq(u0, 3), it\'s "so"')
            return (clamp, getitem, None, 'a "b"', 1.5)

Graph signature:
    # inputs
    x: USER_INPUT
    n: USER_INPUT

    # outputs
    clamp: USER_OUTPUT
    getitem: USER_OUTPUT
    : USER_OUTPUT
    : USER_OUTPUT
    : USER_OUTPUT

Range constraints: {}
