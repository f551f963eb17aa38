# The dtype of a result of operands of several dtypes.
import torch
from torch import _C

promote_types = _C.promote_types


def result_type(tensor1, tensor2):
    # Tensors with dimensions come first, then those without, then numbers: c10's `combine_categories`.
    found = [None, None, None]
    for value in (tensor1, tensor2):
        if isinstance(value, torch.Tensor):
            rank, dtype = 0 if value.dim() else 1, value.dtype
        else:
            rank, dtype = 2, _of_number(value)
        found[rank] = dtype if found[rank] is None else promote_types(found[rank], dtype)
    return _combine(found[0], _combine(found[1], found[2]))


def _of_number(value):
    if isinstance(value, (bool, torch.SymBool)):
        return torch.bool
    if isinstance(value, (int, torch.SymInt)):
        return torch.int64
    return torch.complex64 if isinstance(value, complex) else torch.get_default_dtype()


def _combine(higher, lower):
    if higher is None or lower is None or higher.is_complex:
        return lower if higher is None else higher
    if higher.is_floating_point:
        return promote_types(higher, torch.complex32) if lower.is_complex else higher
    if higher == torch.bool or lower.is_floating_point or lower.is_complex:
        return promote_types(higher, lower)
    return higher


def can_cast(from_, to):
    def rank(dtype):
        return 3 if dtype.is_complex else 2 if dtype.is_floating_point else 0 if dtype == torch.bool else 1

    return rank(from_) <= rank(to)
