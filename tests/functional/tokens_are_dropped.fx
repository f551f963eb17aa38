# test functional
# Nothing orders calls but the graph itself, and PyTorch does not load a program with a token that no call takes.
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, token: "f32[0]", token_1: "f32[0]", x: "f32[2]", info: "i32[2]"):
            with_effects = torch.ops.higher_order.with_effects(token, torch.ops.aten._linalg_check_errors.default, info, 'solve', is_matrix = False)
            getitem: "f32[0]" = with_effects[0]
            as_none = with_effects[1]
            with_effects_1 = torch.ops.higher_order.with_effects(getitem, torch.ops.aten._linalg_check_errors.default, info, 'inv', is_matrix = True)
            getitem_1: "f32[0]" = with_effects_1[0]
            as_none_1 = with_effects_1[1]
            add: "f32[2]" = torch.ops.aten.add.Tensor(x, x)
            return (getitem_1, token_1, add)

Graph signature:
    # inputs
    token: TOKEN
    token_1: TOKEN
    x: USER_INPUT
    info: USER_INPUT
    # outputs
    getitem_1: TOKEN
    token_1: TOKEN
    add: USER_OUTPUT

Range constraints: {}
# result
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: "f32[2]", info: "i32[2]"):
            _linalg_check_errors = torch.ops.aten._linalg_check_errors.default(info, 'solve', is_matrix = False)
            _linalg_check_errors_1 = torch.ops.aten._linalg_check_errors.default(info, 'inv', is_matrix = True)
            add: "f32[2]" = torch.ops.aten.add.Tensor(x, x)
            return (add,)

Graph signature:
    # inputs
    x: USER_INPUT
    info: USER_INPUT

    # outputs
    add: USER_OUTPUT

Range constraints: {}
