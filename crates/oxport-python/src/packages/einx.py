# einx, whose own source compiles texts of Python: elementwise functions of named axes without brackets.

import torch


def _axes(text):
    names = text.split()
    if any(not name.isidentifier() and name != "1" for name in names):
        raise NotImplementedError(f"einx pattern {text!r} is not supported: expected names of axes and 1")
    return names


def _elementwise(function):
    def apply(pattern, *operands, **sizes):
        left, arrow, right = pattern.partition("->")
        inputs = [_axes(part) for part in left.split(",")]
        output = _axes(right) if arrow else max(inputs, key=len)
        if len(inputs) != len(operands):
            raise ValueError(f"einx pattern {pattern!r}: expected {len(inputs)} operands, got {len(operands)}")
        placed = []
        for names, value in zip(inputs, operands):
            if not isinstance(value, torch.Tensor):
                placed.append(value)
                continue
            if len(names) != value.ndim:
                raise ValueError(f"einx pattern {pattern!r} does not fit a tensor of shape {tuple(value.shape)}")
            value = value[tuple(0 if name == "1" else slice(None) for name in names)] if "1" in names else value
            names = [name for name in names if name != "1"]
            order = [names.index(name) for name in output if name in names]
            if len(order) != len(names):
                raise ValueError(f"einx pattern {pattern!r}: an axis of an operand is not in the result")
            value = value.permute(order)
            placed.append(value[tuple(slice(None) if name in names else None for name in output)])
        return function(*placed)

    return apply


add, subtract, multiply, divide = (_elementwise(f) for f in (torch.add, torch.subtract, torch.multiply, torch.divide))
maximum, minimum, where = _elementwise(torch.maximum), _elementwise(torch.minimum), _elementwise(torch.where)
less, less_equal, greater = _elementwise(torch.lt), _elementwise(torch.le), _elementwise(torch.gt)
greater_equal, equal, not_equal = _elementwise(torch.ge), _elementwise(torch.eq), _elementwise(torch.ne)
logical_and, logical_or = _elementwise(torch.logical_and), _elementwise(torch.logical_or)


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)

    def refused(*args, **kwargs):
        raise NotImplementedError(f"einx.{name} is not supported")

    return refused
