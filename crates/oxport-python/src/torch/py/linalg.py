# torch.linalg.

import torch._C as _C


def norm(x, ord=None, dim=None, keepdim=False, dtype=None):
    if isinstance(dim, int):
        dim = [dim]
    return _C.op("linalg_norm", x, ord, dim, keepdim, dtype=dtype)


def vector_norm(x, ord=2, dim=None, keepdim=False, dtype=None):
    if isinstance(dim, int):
        dim = [dim]
    return _C.op("linalg_vector_norm", x, ord, dim, keepdim, dtype=dtype)


def __getattr__(name):
    if not name.startswith("__") and _C.has_op("linalg_" + name):
        return _C.function("linalg_" + name)
    raise AttributeError(f"module 'torch.linalg' has no attribute '{name}'")
