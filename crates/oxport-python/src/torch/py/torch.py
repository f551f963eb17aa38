# The functions of torch. What is not defined here is the operator of the same name.

import builtins
import functools

import torch._C as _C
from torch._C import (  # noqa: F401
    Tensor, SymBool, SymFloat, SymInt, bfloat16, bool, channels_last, channels_last_3d, complex64, complex128,
    contiguous_format, device, dtype, float16, float32, float64, float8_e4m3fn, float8_e5m2, int8, int16, int32, int64, layout,
    memory_format, preserve_format, sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr, strided, uint8, uint16, uint32, uint64,
)

__version__ = "2.15.0"
half, float, double, short, int, long, cfloat, cdouble = (
    float16, float32, float64, int16, int32, int64, complex64, complex128)
inf = 1e400
nan = inf - inf
pi = 3.141592653589793
e = 2.718281828459045
newaxis = None
Generator = Stream = object


class Size(tuple):
    def numel(self):
        total = 1
        for size in self:
            total = total * size
        return total

    def __getitem__(self, index):
        item = tuple.__getitem__(self, index)
        return Size(item) if isinstance(index, slice) else item

    def __add__(self, other):
        return Size(tuple(self) + tuple(other))

    def __repr__(self):
        return f"torch.Size({list(self)})"


class finfo:
    _limits = {
        "torch.float32": (32, 1.1920928955078125e-07, 3.4028234663852886e38, 1.1754943508222875e-38),
        "torch.float64": (64, 2.220446049250313e-16, 1.7976931348623157e308, 2.2250738585072014e-308),
        "torch.float16": (16, 0.0009765625, 65504.0, 6.103515625e-05),
        "torch.bfloat16": (16, 0.0078125, 3.3895313892515355e38, 1.1754943508222875e-38),
        "torch.float8_e4m3fn": (8, 0.125, 448.0, 0.015625),
        "torch.float8_e5m2": (8, 0.25, 57344.0, 6.103515625e-05),
    }

    def __init__(self, dtype=None):
        self.bits, self.eps, self.max, self.tiny = self._limits[repr(float32 if dtype is None else dtype)]
        self.min = -self.max
        self.smallest_normal = self.tiny


class iinfo:
    def __init__(self, dtype):
        signed = {"torch.int8": 8, "torch.int16": 16, "torch.int32": 32, "torch.int64": 64}
        name = repr(dtype)
        self.bits = signed.get(name, 8)
        self.max = 2 ** (self.bits - 1) - 1 if name in signed else 255
        self.min = -(2 ** (self.bits - 1)) if name in signed else 0


class _Mode:
    def __init__(self, *args, **kwargs):
        self._args = args

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        return None

    def __call__(self, function):
        return function


class no_grad(_Mode):
    def __new__(cls, function=None):
        return object.__new__(cls) if function is None else function


class inference_mode(_Mode):
    pass


class enable_grad(_Mode):
    pass


class set_grad_enabled(_Mode):
    pass


class autocast:
    def __init__(self, device_type, dtype=None, enabled=True, cache_enabled=None):
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.device = device_type
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        self._cache_enabled = cache_enabled
        # As in PyTorch, which warns and goes on without.
        self._enabled = builtins.bool(enabled) and device_type == "cpu" and self.fast_dtype in (bfloat16, float16)
        self._open = []

    def __enter__(self):
        # Where nothing is cast, a region that casts nothing is none.
        is_region = self.device == "cpu" and (self._enabled or _C.autocast_dtype() is not None)
        self._open.append(is_region)
        if is_region:
            # PyTorch's export turns the cache off, in which `with` finds it.
            _C.enter_autocast(self.fast_dtype, self._enabled, builtins.bool(self._cache_enabled))
        return self

    def __exit__(self, *exc):
        if self._open.pop():
            _C.exit_autocast()

    def __call__(self, function):
        cache_enabled = True if self._cache_enabled is None else self._cache_enabled

        @functools.wraps(function)
        def within(*args, **kwargs):
            with autocast(self.device, self.fast_dtype, self._enabled, cache_enabled):
                return function(*args, **kwargs)

        return within


def is_grad_enabled():
    return True


def is_inference_mode_enabled():
    return False


def is_autocast_enabled(device_type="cuda"):
    return device_type == "cpu" and _C.autocast_dtype() is not None


def is_autocast_cpu_enabled():
    return is_autocast_enabled("cpu")


def get_autocast_dtype(device_type):
    return (_C.autocast_dtype() or bfloat16) if device_type == "cpu" else float16


def get_autocast_cpu_dtype():
    return get_autocast_dtype("cpu")


def get_default_dtype():
    return float32


def get_default_device():
    return device("cpu")


def is_tensor(value):
    return isinstance(value, Tensor)


def is_floating_point(value):
    return value.dtype.is_floating_point


def is_complex(value):
    return value.dtype.is_complex


def is_storage(value):
    return False


def numel(value):
    return value.numel()


def manual_seed(seed):
    return None


def seed():
    return 0


def _elements(data, dtype):
    if getattr(data, "_is_ndarray", False):
        return data.tolist(), dtype or getattr(_C, data.dtype.name)
    return data, dtype


def tensor(data, *, dtype=None, device=None, requires_grad=False, pin_memory=False):
    return _C.tensor(*_elements(data, dtype))


def as_tensor(data, dtype=None, device=None):
    if isinstance(data, Tensor):
        return data if dtype is None else data.to(dtype)
    return _C.as_tensor(*_elements(data, dtype))


asarray = as_tensor


def from_numpy(value):
    return as_tensor(value)


class _TypedTensor(type):
    def __call__(cls, *args):
        if len(args) == 1 and not isinstance(args[0], builtins.int):
            return as_tensor(args[0], cls.dtype)
        return empty(*args, dtype=cls.dtype)

    def __instancecheck__(cls, value):
        return isinstance(value, Tensor) and value.dtype == cls.dtype


(FloatTensor, DoubleTensor, HalfTensor, BFloat16Tensor, LongTensor, IntTensor, ShortTensor, CharTensor, ByteTensor,
 BoolTensor) = (
    _TypedTensor(name + "Tensor", (), {"dtype": kind}) for name, kind in (
        ("Float", float32), ("Double", float64), ("Half", float16), ("BFloat16", bfloat16), ("Long", int64),
        ("Int", int32), ("Short", int16), ("Char", int8), ("Byte", uint8), ("Bool", bool)))


def _size(args):
    return list(args[0]) if len(args) == 1 and isinstance(args[0], (tuple, list)) else list(args)


def _factory(name, args, size, kwargs):
    kwargs.pop("requires_grad", None)
    kwargs.pop("generator", None)
    kwargs.pop("out", None)
    kwargs.pop("memory_format", None)
    kwargs = {key: value for key, value in kwargs.items() if value is not None}
    return _C.op(name, _size(args) if size is None else list(size), **kwargs)


def zeros(*args, size=None, **kwargs):
    return _factory("zeros", args, size, kwargs)


def ones(*args, size=None, **kwargs):
    return _factory("ones", args, size, kwargs)


def empty(*args, size=None, **kwargs):
    return _factory("empty", args, size, kwargs)


def rand(*args, size=None, **kwargs):
    return _factory("rand", args, size, kwargs)


def randn(*args, size=None, **kwargs):
    return _factory("randn", args, size, kwargs)


def full(size, fill_value, **kwargs):
    kwargs = {key: value for key, value in kwargs.items() if value is not None and key not in ("requires_grad", "out")}
    size = [size] if not isinstance(size, (tuple, list)) else list(size)
    return _C.op("full", size, fill_value, **kwargs)


def randint(low, high=None, size=None, **kwargs):
    if size is None:
        return _C.op("randint", low, list(high), **kwargs)
    return _C.op("randint", low, high, list(size), **kwargs)


def _plain(kwargs):
    return {key: value for key, value in kwargs.items() if value is not None and key not in ("requires_grad", "out", "generator")}


def arange(*args, start=None, end=None, step=None, **kwargs):
    if end is not None:
        args = (0 if start is None else start, end) if not args else (*args, end)
    if step is not None:
        args = (0, *args, step) if len(args) == 1 else (*args, step)
    kwargs.pop("device", None) if kwargs.get("device") is None else None
    return _C.op("arange", *args, **_plain(kwargs))


def linspace(start, end, steps, **kwargs):
    return _C.op("linspace", start, end, steps, **_plain(kwargs))


def logspace(start, end, steps, base=10.0, **kwargs):
    return _C.op("logspace", start, end, steps, base, **_plain(kwargs))


def eye(n, m=None, **kwargs):
    return _C.op("eye", n, **_plain(kwargs)) if m is None else _C.op("eye", n, m, **_plain(kwargs))


def complex(real, imag):
    return _C.op("complex", real, imag)


def cat(tensors, dim=0, axis=None, out=None):
    return _C.op("cat", list(tensors), dim if axis is None else axis)


concat = concatenate = cat


def stack(tensors, dim=0, out=None):
    return _C.op("stack", list(tensors), dim)


def meshgrid(*tensors, indexing=None):
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tensors[0]
    return _C.op("meshgrid", list(tensors), **({} if indexing is None else {"indexing": indexing}))


def einsum(equation, *operands):
    if len(operands) == 1 and isinstance(operands[0], (tuple, list)):
        operands = operands[0]
    return _C.op("einsum", equation, list(operands))


def broadcast_tensors(*tensors):
    return _C.op("broadcast_tensors", list(tensors))


def cartesian_prod(*tensors):
    return _C.op("cartesian_prod", list(tensors))


def broadcast_shapes(*shapes):
    shapes = [(shape,) if isinstance(shape, builtins.int) else shape for shape in shapes]
    result = [1] * builtins.max((len(shape) for shape in shapes), default=0)
    for shape in shapes:
        for at, size in enumerate(shape, len(result) - len(shape)):
            if size == 1 or size == result[at]:
                continue
            if result[at] != 1:
                raise RuntimeError("Shape mismatch: objects cannot be broadcast to a single shape")
            result[at] = size
    return Size(result)


def cdist(x1, x2, p=2.0, compute_mode="use_mm_for_euclid_dist_if_necessary"):
    modes = ("use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist")
    if compute_mode not in modes:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    return _C.op("cdist", x1, x2, p, modes.index(compute_mode) or None)


def conj(input):
    return input.conj()


def lu(A, pivot=True, get_infos=False, out=None):
    found = _C.op("_lu_with_info", A, pivot=pivot, check_errors=not get_infos)
    return found[:3] if get_infos else found[:2]


def stft(input, n_fft, hop_length=None, win_length=None, window=None, center=True, pad_mode="reflect", normalized=False, onesided=None,
         return_complex=None, align_to_window=None):
    if center:
        if align_to_window is not None:
            raise RuntimeError("stft align_to_window should only be set when center = false")
        sizes, pad = list(input.size()), n_fft // 2
        padded = nn.functional.pad(input.view([1] * (3 - len(sizes)) + sizes), [pad, pad], pad_mode)
        input = padded.view(padded.shape[-len(sizes):])
    return _C.op("stft", input, n_fft, hop_length, win_length, window, normalized, onesided, return_complex, align_to_window)


def block_diag(*tensors):
    return _C.op("block_diag", list(tensors))


def tensordot(a, b, dims=2, out=None):
    if isinstance(dims, (tuple, list)):
        first, second = dims
        first = [first] if not isinstance(first, (tuple, list)) else list(first)
        second = [second] if not isinstance(second, (tuple, list)) else list(second)
    else:
        first, second = list(range(-dims, 0)), list(range(dims))
    return _C.op("tensordot", a, b, first, second)


def where(condition, *args, **kwargs):
    return _C.op("where", condition, *args, **kwargs)


def split(tensor, split_size_or_sections, dim=0):
    return tensor.split(split_size_or_sections, dim)


def max(input, *args, **kwargs):
    return input.max(*args, **kwargs)


def min(input, *args, **kwargs):
    return input.min(*args, **kwargs)


def sort(input, *args, **kwargs):
    return input.sort(*args, **kwargs)


def topk(input, *args, **kwargs):
    return input.topk(*args, **kwargs)


def _wanted(found, wanted):
    kept = [value for value, is_wanted in zip(found, wanted) if is_wanted]
    return kept[0] if len(kept) == 1 else tuple(kept)


def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    if dim is None:
        found = _C.op("_unique2", input, sorted, return_inverse, return_counts)
    else:
        found = _C.op("unique_dim", input, dim, sorted, return_inverse, return_counts)
    return _wanted(found, (True, return_inverse, return_counts))


def unique_consecutive(input, return_inverse=False, return_counts=False, dim=None):
    found = _C.op("unique_consecutive", input, return_inverse, return_counts, dim)
    return _wanted(found, (True, return_inverse, return_counts))


def norm_except_dim(input, pow=2, dim=0):
    if dim == -1:
        return input.norm(pow)
    shape = [size if at == dim else 1 for at, size in enumerate(input.shape)]
    return input.transpose(0, dim).contiguous().view(input.shape[dim], -1).norm(pow, 1).view(shape)


def norm(input, p="fro", dim=None, keepdim=False, out=None, dtype=None):
    return input.norm(p, dim, keepdim, dtype)


def sym_int(value):
    return builtins.int(value)


def sym_float(value):
    return builtins.float(value)


def sym_max(a, b):
    return builtins.max(a, b)


def sym_min(a, b):
    return builtins.min(a, b)


def sym_not(value):
    return _C.sym_not(value)


def sym_ite(condition, one, other):
    return _C.sym_ite(condition, one, other)


def sym_sqrt(value):
    return _C.sym_sqrt(value)


_sym_sqrt = sym_sqrt


def _python_function(target):
    return lambda *args, **kwargs: _C.python_function(target, *args, **kwargs)


def _check(condition, message=None):
    if not condition:
        raise RuntimeError(message() if message is not None else "Expected cond to be True, but got False")


_check_is_size = lambda *args, **kwargs: None
_check_value = _check_index = _check_type = _check


def _assert(condition, message=""):
    assert condition, message


def cond(pred, true_fn, false_fn, operands=()):
    return true_fn(*operands) if pred else false_fn(*operands)


def while_loop(cond_fn, body_fn, carried_inputs, additional_inputs=()):
    carried = tuple(carried_inputs)
    while cond_fn(*carried, *additional_inputs):
        carried = tuple(body_fn(*carried, *additional_inputs))
    return carried


def compile(function=None, *args, **kwargs):
    return function if callable(function) else lambda f: f


def set_default_dtype(dtype):
    if dtype != float32:
        raise NotImplementedError(f"a default dtype of {dtype} is not captured; give dtype= where tensors are made")


def set_default_device(device):
    if device is not None and str(device).split(":")[0] != "cpu":
        raise NotImplementedError(f"a default device of {device} is not captured; expected cpu")


def _no_effect(*args, **kwargs):
    return None


set_float32_matmul_precision = use_deterministic_algorithms = set_num_threads = set_num_interop_threads = _no_effect
set_printoptions = set_anomaly_enabled = set_warn_always = set_deterministic_debug_mode = _no_effect


def get_num_threads():
    return 1


def get_float32_matmul_precision():
    return "highest"


def is_deterministic_algorithms_warn_only_enabled():
    return False


def are_deterministic_algorithms_enabled():
    return False


def typename(value):
    return value.type() if isinstance(value, Tensor) else f"{type(value).__module__}.{type(value).__qualname__}"


def nonzero(input, *, as_tuple=False):
    found = _C.op("nonzero", input)
    return found.unbind(1) if as_tuple else found


def unravel_index(indices, shape):
    shape = [shape] if isinstance(shape, builtins.int) else list(shape)
    found = []
    for size in reversed(shape):
        found.append(indices % size)
        indices = indices // size
    return tuple(reversed(found))


def norm(input, p="fro", dim=None, keepdim=False, out=None, dtype=None):
    dim = [dim] if isinstance(dim, builtins.int) else dim
    if isinstance(p, str) and (p != "fro" or dim is not None and len(dim) > 2):
        return linalg.matrix_norm(input, p, list(builtins.range(input.ndim)) if dim is None else dim, keepdim, dtype=dtype)
    return linalg.vector_norm(input, 2.0 if p is None else 2 if p == "fro" else p, dim, keepdim, dtype=dtype)


def sym_sum(values):
    return builtins.sum(values)


def _namespace(prefix):
    def get(name):
        if name.startswith("__") or not _C.has_op(prefix + name):
            raise AttributeError(f"module 'torch' has no attribute '{name}'")
        return _C.function(prefix + name)

    return get


def __getattr__(name):
    if not name.startswith("__") and _C.has_op(name):
        return _C.function(name)
    raise AttributeError(f"module 'torch' has no attribute '{name}'")


class _Ops:
    def __init__(self, name=""):
        self._name = name

    def __getattr__(self, name):
        if name.startswith("__") and not _C.has_op(name):
            raise AttributeError(name)
        return _Ops(f"{self._name}.{name}" if self._name else name)

    def __call__(self, *args, **kwargs):
        parts = self._name.split(".")
        if parts[0] == "higher_order":
            return _C.higher_order(parts[1], *args, **kwargs)
        # A named overload is that call and no other; else it is found as by the function of the name.
        return (_C.given if len(parts) == 3 else _C.op)(self._name, *args, **kwargs)


ops = _Ops()

import torch._tensor_methods  # noqa: E402,F401
from torch._promotion import can_cast, promote_types, result_type  # noqa: E402,F401
from torch.autograd import Function  # noqa: E402,F401
import torch.nn as nn  # noqa: E402
import torch.nn.functional  # noqa: E402,F401
from torch import (  # noqa: E402,F401
    accelerator, amp, autograd, backends, compiler, cuda, distributed, distributions, export, fft, func, functional, fx, hub, jit, library,
    linalg, mps, multiprocessing, onnx, optim, overrides, profiler, return_types, serialization, special, testing,
    types, utils, version, xpu,
)
from torch.func import vmap  # noqa: E402,F401
