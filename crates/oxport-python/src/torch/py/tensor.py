# Methods of tensors that differ from the operators of their names.

import builtins
import operator

import torch
import torch._C as _C
from torch._C import Parameter, Tensor


def method(function):
    setattr(Tensor, function.__name__, function)
    return function


def _of_class(cls, name):
    # `torch.Tensor.sum`: what has no definition here is the operator of its name.
    if name.startswith("__") or not _C.has_op(name):
        raise AttributeError(f"type object '{cls.__name__}' has no attribute '{name}'")

    def function(self, *args, **kwargs):
        return getattr(self, name)(*args, **kwargs)

    function.__name__ = name
    return function


type(Tensor).__getattr__ = _of_class
_C._disabled_torch_function_impl = None


@method
def size(self, dim=None):
    return self.shape if dim is None else self.shape[dim]


@method
def dim(self):
    return self.ndim


Tensor.ndimension = dim


@method
def numel(self):
    return self.shape.numel()


Tensor.nelement = numel


@method
def item(self):
    return _C.item(self)


@method
def tolist(self):
    return _C.tolist(self)


@method
def is_floating_point(self):
    return self.dtype.is_floating_point


@method
def is_complex(self):
    return self.dtype.is_complex


@method
def element_size(self):
    return self.dtype.itemsize


Tensor.nbytes = property(lambda self: self.numel() * self.element_size())


@method
def is_shared(self):
    return False


@method
def new_tensor(self, data, *, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False):
    return torch.tensor(data, dtype=self.dtype if dtype is None else dtype)


@method
def new(self, *args):
    if builtins.len(args) == 1 and isinstance(args[0], torch.Size):
        return self.new_empty(args[0])
    if builtins.len(args) == 1 and not isinstance(args[0], int):
        return torch.as_tensor(args[0], dtype=self.dtype)
    return self.new_empty(args)


@method
def unique(self, sorted=True, return_inverse=False, return_counts=False, dim=None):
    return torch.unique(self, sorted, return_inverse, return_counts, dim)


@method
def unique_consecutive(self, return_inverse=False, return_counts=False, dim=None):
    return torch.unique_consecutive(self, return_inverse, return_counts, dim)


@method
def nonzero(self, *, as_tuple=False):
    return torch.nonzero(self, as_tuple=as_tuple)


@method
def split(self, split_size, dim=0):
    if isinstance(split_size, (tuple, list)):
        return _C.op("split_with_sizes", self, list(split_size), dim)
    return _C.op("split.Tensor", self, split_size, dim)


@method
def to(self, *args, dtype=None, device=None, **options):
    flags = []
    for value in args:
        if isinstance(value, torch.dtype):
            dtype = value
        elif isinstance(value, Tensor):
            dtype = value.dtype
        elif isinstance(value, builtins.bool):
            flags.append(value)
    options.update(zip(("non_blocking", "copy"), flags))
    dtype, copy, format = dtype or self.dtype, options.get("copy", False), options.get("memory_format")
    if dtype == self.dtype and not copy and format is None:
        return self
    return _C.op("to.dtype", self, dtype, options.get("non_blocking", False), copy, **({} if format is None else {"memory_format": format}))


_TYPES = {
    torch.float32: "Float", torch.float64: "Double", torch.float16: "Half", torch.bfloat16: "BFloat16",
    torch.int64: "Long", torch.int32: "Int", torch.int16: "Short", torch.int8: "Char", torch.uint8: "Byte",
    torch._C.bool: "Bool", torch.complex64: "ComplexFloat", torch.complex128: "ComplexDouble",
}


@method
def type(self, dtype=None):
    if dtype is None:
        return f"torch.{_TYPES[self.dtype]}Tensor"
    if isinstance(dtype, str):
        dtype = next(kind for kind, name in _TYPES.items() if dtype == f"torch.{name}Tensor")
    return self.to(dtype)


@method
def type_as(self, other):
    return self.to(other.dtype)


def _cast(name, dtype):
    setattr(Tensor, name, lambda self, memory_format=None: self.to(dtype, memory_format=memory_format))


for _name, _dtype in (
    ("float", torch.float32), ("double", torch.float64), ("half", torch.float16), ("bfloat16", torch.bfloat16),
    ("int", torch.int32), ("long", torch.int64), ("short", torch.int16), ("char", torch.int8), ("byte", torch.uint8),
    ("bool", torch._C.bool), ("cfloat", torch.complex64), ("cdouble", torch.complex128),
):
    _cast(_name, _dtype)


def _same(self, *args, **kwargs):
    return self


for _name in ("cpu", "cuda", "requires_grad_", "pin_memory", "retain_grad", "share_memory_", "coalesce", "register_hook"):
    setattr(Tensor, _name, _same)


@method
def contiguous(self, memory_format=torch.contiguous_format):
    return self if self.is_contiguous(memory_format) else _C.op("contiguous", self, memory_format=memory_format)


@method
def where(self, condition, other):
    return torch.where(condition, self, other)


# What changes sizes and strides of a tensor in place: it is the view from here on.
def _becomes(name):
    def function(self, *args, **kwargs):
        return _C.become(self, getattr(self, name)(*args, **kwargs))

    setattr(Tensor, name + "_", function)


for _name in ("squeeze", "unsqueeze", "transpose", "t", "swapaxes", "swapdims", "as_strided"):
    _becomes(_name)


@method
def conj(self):
    return _C.op("_conj", self) if self.is_complex() else self


@method
def polygamma(self, n):
    return _C.op("polygamma", n, self)


@method
def lu(self, pivot=True, get_infos=False):
    return torch.lu(self, pivot, get_infos)


@method
def stft(self, *args, **kwargs):
    return torch.stft(self, *args, **kwargs)


Tensor.__getitem__ = lambda self, index: self[index]
for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift"):
    _function = getattr(operator, f"__{_name}__")
    setattr(Tensor, f"__{_name}__", lambda self, other, _function=_function: _function(self, other))
    setattr(Tensor, f"__r{_name}__", lambda self, other, _function=_function: _function(other, self))
# These take the tensor first.
for _name in ("add", "mul"):
    setattr(Tensor, f"__r{_name}__", getattr(Tensor, f"__{_name}__"))
Tensor.__rsub__ = lambda self, other: _C.op("rsub", self, other)
Tensor.__rtruediv__ = lambda self, other: self.reciprocal() * other
Tensor.__div__, Tensor.__rdiv__ = Tensor.__truediv__, Tensor.__rtruediv__
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Tensor, f"__{_name}__", lambda self, other, _function=getattr(operator, _name): _function(self, other))


# The dimensions in their order in memory, the outermost first.
_ORDERS = {
    torch.channels_last: (0, 2, 3, 1),
    torch.channels_last_3d: (0, 2, 3, 4, 1),
}


@method
def is_contiguous(self, memory_format=torch.contiguous_format):
    order = _ORDERS.get(memory_format, builtins.range(self.ndim))
    if builtins.len(order) != self.ndim:
        return False
    if self.numel() == 0:
        return True
    strides, step = _C.strides(self), 1
    for dim in reversed(order):
        if strides[dim] != step and self.shape[dim] != 1:
            return False
        step = step * self.shape[dim]
    return True


@method
def data_ptr(self):
    return builtins.id(self)


@method
def stride(self, dim=None):
    strides = _C.strides(self)
    return strides if dim is None else strides[dim]


@method
def dim_order(self):
    strides = _C.strides(self)
    return tuple(sorted(builtins.range(self.ndim), key=lambda dim: -strides[dim]))


@method
def view(self, *size):
    if builtins.len(size) == 1:
        if isinstance(size[0], torch.dtype):
            return _C.op("view.dtype", self, size[0])
        if isinstance(size[0], (tuple, list)):
            size = size[0]
    return _C.op("view", self, list(size))


@method
def reshape(self, *sizes, shape=None):
    shape = sizes if shape is None else shape
    if builtins.len(shape) == 1 and isinstance(shape[0], (tuple, list)):
        shape = shape[0]
    return _C.op("reshape", self, list(shape))


@method
def expand(self, *size, implicit=False):
    if builtins.len(size) == 1 and isinstance(size[0], (tuple, list)):
        size = size[0]
    return _C.op("expand", self, list(size))


@method
def permute(self, *dims):
    if builtins.len(dims) == 1 and isinstance(dims[0], (tuple, list)):
        dims = dims[0]
    return _C.op("permute", self, list(dims))


@method
def unflatten(self, dim, sizes):
    return _C.op("unflatten", self, dim, list(sizes))


@method
def norm(self, p="fro", dim=None, keepdim=False, dtype=None):
    return torch.norm(self, p, dim, keepdim, dtype=dtype)


@method
def masked_fill(self, mask, value):
    return _C.op("masked_fill", self, mask, value)


@method
def __abs__(self):
    return _C.op("abs", self)


@method
def __deepcopy__(self, memo):
    if isinstance(self, Parameter):
        return Parameter(self.clone(), self.requires_grad)
    return self.clone()


@method
def __copy__(self):
    return self


@method
def __contains__(self, value):
    return (self == value).any()


@method
def backward(self, *args, **kwargs):
    raise RuntimeError("backward() cannot be captured")


@method
def numpy(self):
    raise RuntimeError("numpy() of a captured tensor is not supported")


@method
def register_parameter(self, *args):
    raise RuntimeError("a tensor has no parameters")


@method
def get_device(self):
    return -1


@method
def storage_offset(self):
    return _C.storage_offset(self)
