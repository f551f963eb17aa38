# torch.nn.utils.

import torch
from torch.nn.module import Module
from torch._C import Parameter
from torch.nn.utils import parametrizations, parametrize, rnn  # noqa: F401


def weight_norm(module, name="weight", dim=0):
    dim = -1 if dim is None else dim
    weight = getattr(module, name)
    del module._parameters[name]
    module.register_parameter(name + "_g", Parameter(torch.norm_except_dim(weight, 2, dim)))
    module.register_parameter(name + "_v", Parameter(weight))

    def compute(module, inputs):
        setattr(module, name, torch._weight_norm(getattr(module, name + "_v"), getattr(module, name + "_g"), dim))

    module.__dict__["_" + name + "_norm"] = module.register_forward_pre_hook(compute), dim
    compute(module, None)
    return module


def remove_weight_norm(module, name="weight"):
    handle, dim = module.__dict__.pop("_" + name + "_norm")
    handle.remove()
    weight = torch._weight_norm(getattr(module, name + "_v"), getattr(module, name + "_g"), dim)
    for part in ("_g", "_v"):
        del module._parameters[name + part]
    module.__dict__.pop(name, None)
    module.register_parameter(name, Parameter(weight))
    return module


def spectral_norm(module, *args, **kwargs):
    raise NotImplementedError("spectral_norm is not supported")


remove_spectral_norm = spectral_norm


def clip_grad_norm_(*args, **kwargs):
    return None


def parameters_to_vector(parameters):
    return torch.cat([value.view(-1) for value in parameters])
