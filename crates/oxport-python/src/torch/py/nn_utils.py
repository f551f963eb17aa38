# torch.nn.utils.


def weight_norm(module, name="weight", dim=0):
    raise NotImplementedError("weight_norm is not supported")


def spectral_norm(module, *args, **kwargs):
    raise NotImplementedError("spectral_norm is not supported")


def remove_weight_norm(module, name="weight"):
    return module


def clip_grad_norm_(*args, **kwargs):
    return None


def parameters_to_vector(parameters):
    import torch

    return torch.cat([value.view(-1) for value in parameters])
