# numpy, as far as modules compute constants with it: arrays are lists of numbers with a shape. 0-dimensional results are
# Python's numbers.

import builtins
import math as _math
import operator as _operator
from random import Random as _Random

pi, e, inf, nan, newaxis = _math.pi, _math.e, _math.inf, _math.nan, None
Inf = PINF = inf
NaN = nan


class dtype:
    def __new__(cls, name, kind=None, itemsize=None):
        return object.__new__(cls) if kind else _dtype(name, float64)

    def __init__(self, name, kind=None, itemsize=None):
        if kind:
            self.name, self.kind, self.itemsize = name, kind, itemsize

    def __call__(self, value=0):
        if isinstance(value, (ndarray, list, tuple)):
            return asarray(value, self)
        return {"f": float, "i": int, "u": int, "b": bool}[self.kind](value)

    def __eq__(self, other):
        return _dtype(other, self) is self if other is not None else False

    def __hash__(self):
        return hash(self.name)

    def __repr__(self):
        return f"dtype('{self.name}')"


float64, float32, float16 = dtype("float64", "f", 8), dtype("float32", "f", 4), dtype("float16", "f", 2)
int64, int32, int16, int8 = dtype("int64", "i", 8), dtype("int32", "i", 4), dtype("int16", "i", 2), dtype("int8", "i", 1)
uint8, bool_ = dtype("uint8", "u", 1), dtype("bool", "b", 1)
complex64, complex128 = dtype("complex64", "c", 8), dtype("complex128", "c", 16)
uint16, uint32, uint64 = dtype("uint16", "u", 2), dtype("uint32", "u", 4), dtype("uint64", "u", 8)
double, single, half, int_, float_, intp, long = float64, float32, float16, int64, float64, int64, int64
_NAMED = {d.name: d for d in (float64, float32, float16, int64, int32, int16, int8, uint8, uint16, uint32, uint64, bool_)}
_NAMED.update(float=float64, int=int64)
integer = floating = number = generic = dtype


def _dtype(wanted, otherwise):
    if wanted is None:
        return otherwise
    if isinstance(wanted, dtype):
        return wanted
    if wanted in (float, int, bool):
        return {float: float64, int: int64, bool: bool_}[wanted]
    if isinstance(wanted, str) and wanted in _NAMED:
        return _NAMED[wanted]
    raise NotImplementedError(f"numpy dtype {wanted!r} is not supported")


def _kind(items):
    if builtins.any(isinstance(item, float) for item in items) or not items:
        return float64
    return bool_ if builtins.all(isinstance(item, bool) for item in items) else int64


def _count(shape):
    return _math.prod(shape)


def _strides(shape):
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return strides[::-1]


def _read(value, shape, items, depth=0):
    if isinstance(value, ndarray):
        value = value.tolist()
    if not isinstance(value, (list, tuple, range)):
        items.append(value)
        return
    if depth == len(shape):
        shape.append(len(value))
    if shape[depth] != len(value):
        raise ValueError("setting an array element with a sequence. The requested array has an inhomogeneous shape")
    for item in value:
        _read(item, shape, items, depth + 1)


def _offsets(shape, strides):
    offsets = [0]
    for size, stride in zip(shape, strides):
        offsets = [offset + i * stride for offset in offsets for i in range(size)]
    return offsets


class ndarray:
    _is_ndarray = True

    def __init__(self, shape, items, kind=None):
        self.shape, self._items = tuple(shape), items
        self.dtype = kind or _kind(items)

    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: len(self._items))
    T = property(lambda self: self.transpose())

    def tolist(self):
        def nest(shape, items):
            if not shape:
                return items[0]
            step = _count(shape[1:])
            return [nest(shape[1:], items[i * step : (i + 1) * step]) for i in range(shape[0])]

        return nest(self.shape, self._items)

    def item(self):
        (item,) = self._items
        return item

    def astype(self, wanted, copy=True):
        kind = _dtype(wanted, None)
        convert = {"f": float, "i": int, "u": int, "b": bool}[kind.kind]
        return ndarray(self.shape, [convert(item) for item in self._items], kind)

    def copy(self):
        return ndarray(self.shape, list(self._items), self.dtype)

    def reshape(self, *shape):
        shape = list(shape[0]) if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else list(shape)
        if -1 in shape:
            known = -_count(shape)
            shape[shape.index(-1)] = len(self._items) // known if known else 0
        if _count(shape) != len(self._items):
            raise ValueError(f"cannot reshape array of size {len(self._items)} into shape {tuple(shape)}")
        return ndarray(shape, list(self._items), self.dtype)

    def flatten(self):
        return self.reshape(-1)

    ravel = flatten

    def transpose(self, *axes):
        axes = axes[0] if len(axes) == 1 and isinstance(axes[0], (tuple, list)) else axes
        axes = [axis % self.ndim for axis in axes] or list(range(self.ndim))[::-1]
        strides = _strides(self.shape)
        shape = [self.shape[axis] for axis in axes]
        return ndarray(shape, [self._items[at] for at in _offsets(shape, [strides[axis] for axis in axes])], self.dtype)

    def _selected(self, index):
        # The shape of the part, and where its elements are.
        index = list(index) if isinstance(index, tuple) else [index]
        if Ellipsis in [item for item in index if not isinstance(item, ndarray)]:
            at = [item is Ellipsis for item in index].index(True)
            used = builtins.sum(1 for item in index if item is not None and item is not Ellipsis)
            index[at : at + 1] = [slice(None)] * (self.ndim - used)
        shape, offsets, strides, axis = [], [0], _strides(self.shape), 0
        for item in index + [slice(None)] * self.ndim:
            if item is None:
                shape.append(1)
                continue
            if axis == self.ndim:
                break
            size, stride = self.shape[axis], strides[axis]
            axis += 1
            if isinstance(item, slice):
                places = list(range(size))[item]
                shape.append(len(places))
            elif isinstance(item, (ndarray, list)):
                item = asarray(item)
                if item.ndim != 1:
                    raise NotImplementedError("numpy indices of several dimensions are not supported")
                places = [i for i in range(size) if item._items[i]] if item.dtype is bool_ else [i % size for i in item._items]
                shape.append(len(places))
            else:
                if not -size <= item < size:
                    raise IndexError(f"index {item} is out of bounds for axis {axis - 1} with size {size}")
                places = [item % size]
            offsets = [offset + place * stride for offset in offsets for place in places]
        return shape, offsets

    def __getitem__(self, index):
        shape, offsets = self._selected(index)
        items = [self._items[at] for at in offsets]
        return ndarray(shape, items, self.dtype) if shape else items[0]

    def __setitem__(self, index, value):
        shape, offsets = self._selected(index)
        values = broadcast_to(asarray(value), shape)._items
        convert = {"f": float, "i": int, "u": int, "b": bool}[self.dtype.kind]
        for at, item in zip(offsets, values):
            self._items[at] = convert(item)

    def __len__(self):
        return self.shape[0]

    def __iter__(self):
        return iter([self[i] for i in range(self.shape[0])])

    def __float__(self):
        return float(self.item())

    def __int__(self):
        return int(self.item())

    def __bool__(self):
        return bool(self.item())

    def __neg__(self):
        return _map(_operator.neg, self)

    def __abs__(self):
        return _map(builtins.abs, self)

    def __repr__(self):
        return f"array({self.tolist()})"


def _made(shape, items, kind=None):
    return ndarray(shape, items, kind) if shape else items[0]


def _is_plain(value):
    return not isinstance(value, (ndarray, list, tuple))


def _map(function, value, kind=None):
    if _is_plain(value):
        return function(value)
    value = asarray(value)
    return ndarray(value.shape, [function(item) for item in value._items], kind)


def _zip(function, a, b):
    if _is_plain(a) and _is_plain(b):
        return function(a, b)
    a, b = asarray(a), asarray(b)
    shape = _broadcast(a.shape, b.shape)
    a, b = broadcast_to(a, shape), broadcast_to(b, shape)
    return ndarray(shape, [function(x, y) for x, y in zip(a._items, b._items)])


def _operators():
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lt", "le", "gt", "ge", "eq", "ne", "and", "or"):
        function = getattr(_operator, name + "_" if name in ("and", "or") else name)
        setattr(ndarray, f"__{name}__", lambda a, b, function=function: _zip(function, a, b))
        setattr(ndarray, f"__r{name}__", lambda a, b, function=function: _zip(function, b, a))


_operators()


def _broadcast(a, b):
    rank = builtins.max(len(a), len(b))
    shape = []
    for x, y in zip((1,) * (rank - len(a)) + tuple(a), (1,) * (rank - len(b)) + tuple(b)):
        if x != y and 1 not in (x, y):
            raise ValueError(f"operands could not be broadcast together with shapes {tuple(a)} {tuple(b)}")
        shape.append(y if x == 1 else x)
    return tuple(shape)


def broadcast_to(value, shape):
    value = asarray(value)
    own = (1,) * (len(shape) - value.ndim) + value.shape
    if _broadcast(own, shape) != tuple(shape):
        raise ValueError(f"cannot broadcast shape {value.shape} to shape {tuple(shape)}")
    strides = [0 if size == 1 else stride for size, stride in zip(own, _strides(own))]
    return ndarray(shape, [value._items[at] for at in _offsets(shape, strides)], value.dtype)


def asarray(value, dtype=None):
    if isinstance(value, ndarray):
        return value if dtype is None else value.astype(dtype)
    if hasattr(value, "tolist"):
        value = value.tolist()
    shape, items = [], []
    _read(value, shape, items)
    made = ndarray(shape, items)
    return made if dtype is None else made.astype(dtype)


def atleast_1d(value):
    value = asarray(value)
    return value if value.shape else value.reshape(1)


def array(value, dtype=None, copy=True):
    return asarray(value, dtype).copy()


ascontiguousarray = asarray


def full(shape, value, dtype=None):
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    made = ndarray(shape, [value] * _count(shape))
    return made if dtype is None else made.astype(dtype)


def zeros(shape, dtype=None):
    return full(shape, 0.0, _dtype(dtype, float64))


def ones(shape, dtype=None):
    return full(shape, 1.0, _dtype(dtype, float64))


empty = zeros


def zeros_like(value, dtype=None):
    return zeros(asarray(value).shape, dtype or asarray(value).dtype)


def ones_like(value, dtype=None):
    return ones(asarray(value).shape, dtype or asarray(value).dtype)


def eye(n, m=None, dtype=None):
    m = n if m is None else m
    return ndarray((n, m), [float(i == j) for i in range(n) for j in range(m)]).astype(_dtype(dtype, float64))


identity = eye


def arange(start, stop=None, step=1, dtype=None):
    start, stop = (0, start) if stop is None else (start, stop)
    count = builtins.max(0, _math.ceil((stop - start) / step))
    kind = float64 if float in (type(start), type(stop), type(step)) else int64
    made = ndarray((count,), [start + i * step for i in range(count)], kind)
    return made if dtype is None else made.astype(dtype)


def linspace(start, stop, num=50, endpoint=True, dtype=None):
    parts = num - 1 if endpoint else num
    step = (stop - start) / parts if parts else 0.0
    items = [float(start + i * step) for i in range(num)]
    if endpoint and num > 1:
        items[-1] = float(stop)
    made = ndarray((num,), items, float64)
    return made if dtype is None else made.astype(dtype)


def logspace(start, stop, num=50, base=10.0):
    return power(base, linspace(start, stop, num))


def meshgrid(*values, indexing="xy"):
    values = [asarray(value).flatten() for value in values]
    order = [1, 0] + list(range(2, len(values))) if indexing == "xy" and len(values) > 1 else list(range(len(values)))
    shape = [len(values[at]) for at in order]
    grids = []
    for at, value in enumerate(values):
        own = [1] * len(values)
        own[order.index(at)] = len(value)
        grids.append(broadcast_to(value.reshape(own), shape))
    return grids


def _float(function):
    def apply(value, dtype=None):
        return _map(lambda item: function(float(item)), value, float64)

    return apply


def _sqrt(value):
    return _math.sqrt(value) if value >= 0 else nan


def _log(function):
    return lambda value: function(value) if value > 0 else (-inf if value == 0 else nan)


exp, sin, cos, tan, tanh, arctan = (_float(f) for f in (_math.exp, _math.sin, _math.cos, _math.tan, _math.tanh, _math.atan))
sqrt, log, log2, log10 = _float(_sqrt), _float(_log(_math.log)), _float(_log(_math.log2)), _float(_log(_math.log10))
ceil, floor, rint = _float(lambda x: float(_math.ceil(x))), _float(lambda x: float(_math.floor(x))), _float(lambda x: float(builtins.round(x)))
isnan, isinf = (lambda value: _map(_math.isnan, value)), (lambda value: _map(_math.isinf, value))


def abs(value):
    return _map(builtins.abs, value)


absolute = abs


def square(value):
    return _map(lambda item: item * item, value)


def round(value, decimals=0):
    return _map(lambda item: builtins.round(float(item), decimals), value)


around = round


def power(a, b):
    return _zip(_operator.pow, a, b)


def add(a, b):
    return _zip(_operator.add, a, b)


def subtract(a, b):
    return _zip(_operator.sub, a, b)


def multiply(a, b):
    return _zip(_operator.mul, a, b)


def divide(a, b):
    return _zip(_operator.truediv, a, b)


def maximum(a, b):
    return _zip(builtins.max, a, b)


def minimum(a, b):
    return _zip(builtins.min, a, b)


def logical_and(a, b):
    return _zip(lambda x, y: bool(x) and bool(y), a, b)


def logical_or(a, b):
    return _zip(lambda x, y: bool(x) or bool(y), a, b)


def logical_not(value):
    return _map(_operator.not_, value)


def clip(value, low, high):
    return maximum(low, minimum(value, high))


def where(condition, a, b):
    condition, a, b = asarray(condition), asarray(a), asarray(b)
    shape = _broadcast(condition.shape, _broadcast(a.shape, b.shape))
    parts = [broadcast_to(part, shape)._items for part in (condition, a, b)]
    return _made(shape, [x if chosen else y for chosen, x, y in zip(*parts)])


def _reduction(function):
    def reduce(value, axis=None, dtype=None, keepdims=False):
        value = asarray(value)
        if axis is None:
            return function(value._items)
        if isinstance(axis, (tuple, list)):
            raise NotImplementedError("numpy reductions over several axes are not supported")
        axis %= value.ndim
        order = [at for at in range(value.ndim) if at != axis] + [axis]
        turned, count = value.transpose(order), value.shape[axis]
        items = [function(turned._items[i : i + count]) for i in range(0, len(turned._items), builtins.max(count, 1))]
        shape = list(turned.shape[:-1])
        if keepdims:
            shape.insert(axis, 1)
        return _made(shape, items)

    return reduce


sum, prod, mean = _reduction(builtins.sum), _reduction(_math.prod), _reduction(lambda items: builtins.sum(items) / len(items))
max, min = _reduction(builtins.max), _reduction(builtins.min)
all, any = _reduction(builtins.all), _reduction(builtins.any)
argmax, argmin = _reduction(lambda items: items.index(builtins.max(items))), _reduction(lambda items: items.index(builtins.min(items)))
var = _reduction(lambda items: builtins.sum((item - builtins.sum(items) / len(items)) ** 2 for item in items) / len(items))
std = _reduction(lambda items: _math.sqrt(var(items)))
amax, amin, product = max, min, prod
for _name in ("sum", "prod", "mean", "max", "min", "all", "any", "argmax", "argmin", "var", "std"):
    setattr(ndarray, _name, globals()[_name])


def cumsum(value, axis=None):
    value = asarray(value)
    if value.ndim != 1 and axis is not None:
        raise NotImplementedError("numpy.cumsum of several dimensions is not supported")
    items, total = [], 0
    for item in value._items:
        total += item
        items.append(total)
    return ndarray((len(items),), items)


def concatenate(values, axis=0):
    values = [asarray(value) for value in values]
    axis %= values[0].ndim
    front = [value.transpose([axis] + [at for at in range(value.ndim) if at != axis]) for value in values]
    joined = ndarray((builtins.sum(len(part) for part in front), *front[0].shape[1:]), [item for part in front for item in part._items])
    back = list(range(1, axis + 1)) + [0] + list(range(axis + 1, joined.ndim))
    return joined.transpose(back)


def stack(values, axis=0):
    return concatenate([expand_dims(value, axis) for value in values], axis)


def expand_dims(value, axis):
    value = asarray(value)
    shape = list(value.shape)
    shape.insert(axis % (value.ndim + 1), 1)
    return value.reshape(shape)


def squeeze(value, axis=None):
    value = asarray(value)
    return value.reshape([size for at, size in enumerate(value.shape) if size != 1 or axis not in (None, at, at - value.ndim)])


def reshape(value, shape):
    return asarray(value).reshape(shape)


def transpose(value, axes=()):
    return asarray(value).transpose(*axes)


def tile(value, repeats):
    value = asarray(value)
    repeats = (repeats,) if isinstance(repeats, int) else tuple(repeats)
    value = value.reshape((1,) * (len(repeats) - value.ndim) + value.shape)
    for axis, count in enumerate((1,) * (value.ndim - len(repeats)) + repeats):
        value = concatenate([value] * count, axis)
    return value


def repeat(value, repeats, axis=None):
    value = asarray(value) if axis is not None else asarray(value).flatten()
    axis = 0 if axis is None else axis % value.ndim
    places = [i for i in range(value.shape[axis]) for _ in range(repeats)]
    return value[(slice(None),) * axis + (places,)]


def outer(a, b):
    return asarray(a).reshape(-1, 1) * asarray(b).reshape(1, -1)


def matmul(a, b):
    a, b = asarray(a), asarray(b)
    if (a.ndim, b.ndim) != (2, 2):
        raise NotImplementedError("numpy.matmul of other than two matrices is not supported")
    rows, columns = a.tolist(), b.T.tolist()
    return ndarray((len(rows), len(columns)), [builtins.sum(x * y for x, y in zip(row, column)) for row in rows for column in columns])


ndarray.__matmul__ = matmul


def dot(a, b):
    if asarray(a).ndim == 1 and asarray(b).ndim == 1:
        return sum(asarray(a) * asarray(b))
    return matmul(a, b)


def triu(value, k=0):
    value = asarray(value)
    rows, columns = value.shape
    zero = 0.0 if value.dtype.kind == "f" else 0
    items = [value._items[i * columns + j] if j - i >= k else zero for i in range(rows) for j in range(columns)]
    return ndarray(value.shape, items, value.dtype)


def tril(value, k=0):
    return asarray(value) - triu(value, k + 1)


def flip(value, axis=None):
    value = asarray(value)
    axes = range(value.ndim) if axis is None else [axis % value.ndim]
    return value[tuple(slice(None, None, -1) if at in axes else slice(None) for at in range(value.ndim))]


def sort(value):
    return ndarray((asarray(value).size,), sorted(asarray(value)._items))


def argsort(value):
    items = asarray(value)._items
    return ndarray((len(items),), sorted(range(len(items)), key=lambda i: items[i]), int64)


def unique(value, return_counts=False):
    value = asarray(value)
    items = sorted(set(value._items))
    found = ndarray((len(items),), items, value.dtype)
    return (found, ndarray((len(items),), [value._items.count(item) for item in items])) if return_counts else found


def set_printoptions(**options):
    return None


def isscalar(value):
    return isinstance(value, (int, float, str))


def issubdtype(kind, family):
    return isinstance(kind, dtype) and kind.kind == {float: "f", int: "i"}.get(family, "f")


def ndim(value):
    return asarray(value).ndim


def shape(value):
    return asarray(value).shape


class RandomState(_Random):
    # The legacy generator: the Mersenne Twister of Python, with numpy's way from a seed to its state.
    def _start(self, seed):
        state = [seed & 0xFFFFFFFF]
        for i in range(1, 624):
            state.append((1812433253 * (state[-1] ^ (state[-1] >> 30)) + i) & 0xFFFFFFFF)
        return state

    def _drawn(self, size, draw):
        if size is None:
            return draw()
        shape = (size,) if isinstance(size, int) else tuple(size)
        return ndarray(shape, [draw() for _ in range(_math.prod(shape))])

    def _upto(self, last):
        word, mask = 0, (1 << last.bit_length()) - 1
        while last > 0:
            word = self._word() & mask
            if word <= last:
                break
        return word

    def _normal(self):
        # Marsaglia's polar method makes two of them.
        saved = None if self._state is None else self._next
        if saved is not None:
            self._next = None
            return saved
        square = 0.0
        while square >= 1.0 or square == 0.0:
            a, b = 2.0 * _Random.random(self) - 1.0, 2.0 * _Random.random(self) - 1.0
            square = a * a + b * b
        factor = _math.sqrt(-2.0 * _math.log(square) / square)
        self._next = factor * a
        return factor * b

    def random(self, size=None):
        return self._drawn(size, lambda: _Random.random(self))

    random_sample = sample = ranf = random

    def rand(self, *shape):
        return self.random(shape if shape else None)

    def uniform(self, low=0.0, high=1.0, size=None):
        return self._drawn(size, lambda: low + (high - low) * _Random.random(self))

    def normal(self, loc=0.0, scale=1.0, size=None):
        return self._drawn(size, lambda: loc + scale * self._normal())

    def standard_normal(self, size=None):
        return self._drawn(size, self._normal)

    def randn(self, *shape):
        return self.standard_normal(shape if shape else None)

    def randint(self, low, high=None, size=None, dtype=int64):
        low, high = (0, low) if high is None else (low, high)
        return self._drawn(size, lambda: low + self._upto(high - 1 - low))

    def shuffle(self, x):
        for i in reversed(range(1, len(x))):
            j = self._upto(i)
            x[i], x[j] = x[j], x[i]

    def permutation(self, x):
        items = list(range(x)) if isinstance(x, int) else list(x)
        self.shuffle(items)
        return array(items)

    def choice(self, a, size=None, replace=True, p=None):
        if p is not None:
            raise NotImplementedError("numpy.random.choice with p is not supported")
        items = list(range(a)) if isinstance(a, int) else list(a)
        if replace:
            return self._drawn(size, lambda: items[self._upto(len(items) - 1)])
        order = self.permutation(len(items)).tolist()[: 1 if size is None else size]
        return items[order[0]] if size is None else array([items[i] for i in order])


random = RandomState()
random.RandomState = RandomState


# What numpy has beside this: an error where it is used.
_OTHERS = (
    "False_ ScalarType True_ acos acosh allclose angle append apply_along_axis apply_over_axes arccos arccosh arcsin "
    "arcsinh arctan2 arctanh argpartition argwhere array2string array_equal array_equiv array_repr array_split array_str "
    "asanyarray asarray_chkfinite asfortranarray asin asinh asmatrix astype atan atan2 atanh atleast_2d atleast_3d average "
    "bartlett base_repr binary_repr bincount bitwise_and bitwise_count bitwise_invert bitwise_left_shift bitwise_not "
    "bitwise_or bitwise_right_shift bitwise_xor blackman block bmat bool broadcast broadcast_arrays broadcast_shapes "
    "busday_count busday_offset busdaycalendar byte bytes_ c_ can_cast cbrt cdouble character choose clongdouble "
    "column_stack common_type complex256 complexfloating compress concat conj conjugate convolve copy "
    "copysign copyto corrcoef correlate cosh count_nonzero cov cross csingle cumprod cumulative_prod cumulative_sum "
    "datetime64 datetime_as_string datetime_data deg2rad degrees delete diag diag_indices diag_indices_from diagflat "
    "diagonal diff digitize divmod dsplit dstack ediff1d einsum einsum_path empty_like equal errstate euler_gamma exp2 "
    "expm1 extract fabs fft fill_diagonal finfo fix flatiter flatnonzero flexible fliplr flipud float128 float_power "
    "floor_divide fmax fmin fmod format_float_positional format_float_scientific frexp from_dlpack frombuffer fromfile "
    "fromfunction fromiter frompyfunc fromregex fromstring full_like gcd genfromtxt geomspace get_include get_printoptions "
    "getbufsize geterr geterrcall gradient greater greater_equal hamming hanning heaviside histogram histogram2d "
    "histogram_bin_edges histogramdd hsplit hstack hypot i0 iinfo imag index_exp indices inexact info inner insert intc "
    "interp intersect1d invert is_busday isclose iscomplex iscomplexobj isdtype isfinite isfortran isin isnat isneginf "
    "isposinf isreal isrealobj iterable ix_ kaiser kron lcm ldexp left_shift less less_equal lexsort linalg little_endian "
    "load loadtxt log1p logaddexp logaddexp2 logical_xor longdouble longlong ma mask_indices matrix matrix_transpose matvec "
    "may_share_memory median memmap mgrid min_scalar_type mintypecode mod modf moveaxis nan_to_num nanargmax nanargmin "
    "nancumprod nancumsum nanmax nanmean nanmedian nanmin nanpercentile nanprod nanquantile nanstd nansum nanvar "
    "ndenumerate ndindex nditer negative nested_iters nextafter nonzero not_equal object_ ogrid packbits pad partition "
    "percentile permute_dims piecewise place poly poly1d polyadd polyder polydiv polyfit polyint polymul polysub polyval "
    "positive pow printoptions promote_types ptp put put_along_axis putmask quantile r_ rad2deg radians ravel "
    "ravel_multi_index real real_if_close recarray reciprocal record remainder require resize result_type right_shift roll "
    "rollaxis roots rot90 row_stack s_ save savetxt savez savez_compressed sctypeDict searchsorted select "
    "setbufsize setdiff1d seterr seterrcall setxor1d shares_memory short show_config show_runtime sign signbit "
    "signedinteger sinc sinh size sort_complex spacing split str_ swapaxes take take_along_axis tensordot timedelta64 trace "
    "trapezoid tri tril_indices tril_indices_from trim_zeros triu_indices triu_indices_from true_divide trunc typecodes "
    "typename ubyte ufunc uint uintc uintp ulong ulonglong union1d unique_all unique_counts unique_inverse unique_values "
    "unpackbits unravel_index unsignedinteger unstack unwrap ushort vander vdot vecdot vecmat vectorize void vsplit vstack "
)


class _Missing:
    def __init__(self, name):
        self._name = name

    def __call__(self, *args, **kwargs):
        raise NotImplementedError(f"numpy.{self._name} is not supported")

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _Missing(f"{self._name}.{name}")


def __getattr__(name):
    if name in _OTHERS.split():
        return _Missing(name)
    raise AttributeError(f"module 'numpy' has no attribute '{name}'")
