import importlib
import importlib.util
import inspect
import json
import keyword
import textwrap
import threading
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar

import numpy as np


class A:
    pass


class B(A):
    pass


class C(A):
    def __call__(self):
        return 1


print([c.__name__ for c in A.__subclasses__()], B.__subclasses__())
print(isinstance(5, Callable), isinstance(len, Callable), isinstance(C(), Callable), isinstance(B(), Callable), isinstance(A, Callable))
print(isinstance([], Iterable), isinstance({}, Mapping))
print(importlib.import_module("math").sqrt(4), importlib.util.find_spec("nothing_like_it"))
for name in ("nothing_like_it", "/etc/hostname", "..etc"):
    try:
        importlib.import_module(name) if not name.startswith(".") else importlib.util.find_spec("/etc")
        print("found" if not name.startswith(".") else "none")
    except ModuleNotFoundError as error:
        print(type(error).__name__)
print(json.dumps({"a": [1, 2.5, None, True], "b": {"é": "q\"\n"}, 3: ()}), json.dumps([1, {"x": 2}], indent=2))
print(json.dumps([1.0, float("inf"), -0.0]), json.dumps({"b": 1, "a": 2}, sort_keys=True, separators=(",", ":")))
print(keyword.iskeyword("for"), keyword.iskeyword("fore"), textwrap.dedent("    a\n      b\n    c"), textwrap.indent("x\n\ny", "> "))
with threading.Lock():
    print(threading.current_thread().name)
var = ContextVar("var", default=7)
token = var.set(8)
print(var.get(), var.reset(token), var.get(), ContextVar("other").get(3))
print(list(inspect.signature(lambda a, *b, c=1, **d: 0).parameters), inspect.unwrap(print) is print)

x = np.arange(6).reshape(2, 3)
print(x.tolist(), x.T.tolist(), x.shape, x.ndim, x.size, len(x))
print((x + 1).tolist(), (2 ** x).tolist(), (x * x.T.reshape(2, 3)).tolist(), (x / 2).tolist(), (x > 2).tolist())
print(np.linspace(0, 1, 5).tolist(), np.linspace(0, 0.3, 4).tolist(), np.linspace(1, 2, 3, endpoint=False).tolist())
print(np.cumsum([1, 2, 3]).tolist(), float(np.sqrt(2)), float(np.power(10000, 2 * (3 // 2) / 8)), int(np.prod([2, 3, 4])))
print(x[1].tolist(), x[:, 1].tolist(), x[..., ::2].tolist(), x[None].shape, int(x[1, 2]), x[[1, 0]].tolist())
y = np.zeros((2, 3))
y[:, 0] = 1
y[1, 1:] = [5, 6]
print(y.tolist(), y.astype(int).tolist(), y.sum(), y.sum(axis=0).tolist(), y.mean(axis=1).tolist(), y.max(), y.argmax())
a, b = np.meshgrid(np.arange(2), np.arange(3))
c, d = np.meshgrid(np.arange(2), np.arange(3), indexing="ij")
print(a.tolist(), b.tolist(), c.tolist(), d.tolist())
print(np.concatenate([x, x], axis=1).tolist(), np.stack([x[0], x[1]]).tolist(), np.outer([1, 2], [3, 4]).tolist())
print(np.where(x > 2, x, -1).tolist(), np.clip(x, 1, 4).tolist(), np.tile([1, 2], (2, 2)).tolist(), np.repeat([1, 2], 2).tolist())
print(np.eye(2).tolist(), np.ones(3).tolist(), np.full((2,), 7).tolist(), np.triu(np.ones((3, 3)), 1).tolist())
print(np.expand_dims(x, 0).shape, np.transpose(x, (1, 0)).shape, np.matmul(x, x.T).tolist(), np.sin(np.array([0.0, 1.0])).tolist())
print(np.arange(0, 1, 0.25).tolist(), np.array([[1, 2], [3, 4]]).flatten().tolist(), np.flip(x, 1).tolist(), float(np.float32(2)))
print(x.dtype == np.int64, y.dtype == np.float64, np.array([True]).dtype == np.bool_, np.pi)
