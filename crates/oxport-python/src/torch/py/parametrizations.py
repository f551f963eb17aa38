# torch.nn.utils.parametrizations.

import torch
from torch.nn.module import Module
from torch.nn.utils.parametrize import register_parametrization


class _WeightNorm(Module):
    def __init__(self, dim=0):
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g, weight_v):
        return torch._weight_norm(weight_v, weight_g, self.dim)

    def right_inverse(self, weight):
        return torch.norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module, name="weight", dim=0):
    return register_parametrization(module, name, _WeightNorm(dim), unsafe=True)


def spectral_norm(module, *args, **kwargs):
    raise NotImplementedError("spectral_norm is not supported")


def orthogonal(module, *args, **kwargs):
    raise NotImplementedError("orthogonal is not supported")
