# test parse
graph():
    %x : [num_users=1] = placeholder[target=x]
    %y : = placeholder[target=y]
    # error[syntax]: expected ` = `
    %add : [num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%x, %z), kwargs = {})
    # error[syntax]: `z` is not defined before this line
    %relu : [num_users=1] = call_module[target=relu](args = (%x,), kwargs = {})
    # error[syntax]: `call_module` is no node of an exported program
    %x : [num_users=1] = placeholder[target=x](default=1)
    # error[syntax]: the name `x` is taken
    %neg : [num_users=1] = call_function[target=<lambda>](args = (%x,), kwargs = {})
    # error[syntax]: "<lambda>" is no name of a function
    return (add,)
    # error[syntax]: `add` is not defined before this line
graph():
# error[syntax]: a second graph: a text holds one program
