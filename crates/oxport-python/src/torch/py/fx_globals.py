# The globals of generated code, and a module around it.

import math
import operator

import torch
import torch.fx._pytree as fx_pytree
import torch.utils._pytree as pytree
from torch import device, inf, nan

_operator = operator
NoneType = type(None)


def _module_of(function):
    class GraphModule(torch.nn.Module):
        forward = function

    return GraphModule()


def _adopt(module, tensors):
    # Tensors of the state dict that the code does not make.
    for name, tensor in tensors:
        *path, last = name.split(".")
        at = module
        for part in path:
            if part not in at._modules:
                at.add_module(part, torch.nn.Module())
            at = at._modules[part]
        if hasattr(at, last):
            continue
        if tensor.dtype.is_floating_point or tensor.dtype.is_complex:
            at.register_parameter(last, torch.nn.Parameter(tensor))
        else:
            at.register_buffer(last, tensor)
