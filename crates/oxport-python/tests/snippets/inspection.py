import inspect
import pkgutil
import sys
import urllib.parse
from distutils.version import LooseVersion


def f(a, b=2, *args, c, d=4, **rest):
    return a


spec = inspect.getfullargspec(f)
print(spec.args, spec.varargs, spec.varkw, spec.defaults, spec.kwonlyargs, spec.kwonlydefaults)
print(f.__defaults__, f.__kwdefaults__, (lambda: 0).__kwdefaults__)
bound = inspect.signature(f).bind(1, 2, 3, c=5, e=6)
print(dict(bound.arguments), bound.args, bound.kwargs)
bound = inspect.signature(f).bind_partial(1)
bound.apply_defaults()
print(dict(bound.arguments))
for args, kwargs in [((), {"c": 1}), ((1,), {}), ((1,), {"a": 1, "c": 1})]:
    try:
        inspect.signature(f).bind(*args, **kwargs)
    except TypeError as e:
        print(e)
print(sys.version_info >= (3, 8), sys.version_info.major, sys.version_info[:2] == (3, sys.version_info.minor))
print(LooseVersion("1.13.0a1") < LooseVersion("2.0"), LooseVersion("1.8") >= "1.8.0", str(LooseVersion("1.2")))
print(urllib.parse.quote("a b/ü?x=1"), urllib.parse.quote("a/b", safe=""), urllib.parse.quote_plus("a b&c"))
print(tuple(urllib.parse.urlparse("HTTPS://host:80/a/b;p?q=1#f")), urllib.parse.urlsplit("//h/x").netloc)
print(list(pkgutil.iter_modules([])), list(pkgutil.walk_packages([])))
math = __import__("math")
print(math.sqrt(4.0), __import__("collections.abc").__name__, __import__("os.path", fromlist=["join"]).__name__ != "os")
