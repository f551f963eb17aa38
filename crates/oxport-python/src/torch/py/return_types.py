# The tuples of several named results, `torch.return_types.max`, made as they are asked for.

import torch._C as _C

_known = {}


def _field(at):
    return property(lambda self: tuple.__getitem__(self, at))


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    if name not in _known:
        fields = {field: _field(at) for at, field in enumerate(_C.fields(name))}
        _known[name] = type(name, (tuple,), {"__return_type__": name, **fields})
    return _known[name]
