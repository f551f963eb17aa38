def f(a, b=2, *args, c, d=4, **kw):
    return a, b, args, c, d, kw
print(f(1, c=3))
print(f(1, 2, 3, 4, c=5, e=6))
print(f(*[1, 2, 3], **{"c": 1, "z": 2}))
def g(a, /, b, *, c=1): return (a, b, c)
print(g(1, 2), g(1, b=3, c=4))
for call in (lambda: f(), lambda: g(1), lambda: g(1, 2, 3), lambda: g(a=1, b=2), lambda: f(1, 2, b=3, c=1), lambda: g(1, 2, x=1), lambda: f(1)):
    try:
        call()
    except TypeError as e:
        print(e)
def counter():
    n = 0
    def inc(by=1):
        nonlocal n
        n += by
        return n
    return inc
c = counter(); c(); print(c(5), c())
fs = [lambda i=i: i * 2 for i in range(3)]
print([h() for h in fs], [h() for h in [lambda: j for j in range(3)]])
def deco(prefix):
    def wrap(fn):
        def inner(*a, **k):
            return prefix + str(fn(*a, **k))
        inner.__name__ = fn.__name__
        return inner
    return wrap
@deco("<")
@deco(">")
def hello(x): "doc"; return x + 1
print(hello(1), hello.__name__)
x = 10
def shadow():
    try:
        print(x)
    except UnboundLocalError as e:
        print("unbound", type(e).__name__)
    x = 1
shadow()
def setglobal():
    global x
    x += 1
setglobal(); print(x)
def fact(n): return 1 if n < 2 else n * fact(n - 1)
print(fact(25), fact(50) % 1000007)
print((lambda *a, **k: (a, k))(1, 2, z=3))
a, (b, *c), *d = 1, (2, 3, 4), 5, 6
print(a, b, c, d)
first, *rest = "abc"; print(first, rest)
*init, last = range(4); print(init, last)
try:
    p, q = 1, 2, 3
except ValueError as e: print(e)
try:
    p, q, r = 1, 2
except ValueError as e: print(e)
def fib():
    a, b = 0, 1
    while True:
        yield a
        a, b = b, a + b
import itertools
print(list(itertools.islice(fib(), 10)))
def echo():
    got = None
    while True:
        got = yield got
        if got == "stop": return "done"
e = echo(); next(e); print(e.send(1), e.send([2]))
try: e.send("stop")
except StopIteration as s: print("value", s.value)
def outer():
    r = yield from inner()
    print("inner returned", r)
    yield from [7, 8]
def inner():
    try:
        yield 1
        yield 2
    finally:
        print("inner finally")
    return "r"
print(list(outer()))
def gen_try():
    try:
        yield 1
    except ValueError as e:
        print("caught", e)
        yield 2
    else:
        print("else")
    finally:
        print("fin")
gg = gen_try(); next(gg); print(gg.throw(ValueError("boo"))); print(list(gg))
g2 = gen_try(); next(g2); g2.close()
print(sum(v * v for v in range(10) if v % 2), {k: v for k, v in zip("ab", (1, 2))}, {v % 3 for v in range(7)} == {0, 1, 2})
print([(i, j) for i in range(3) for j in range(i) if (i + j) % 2])
def send_expr():
    total = 0
    while total < 10:
        total += (yield total) or 1
    return total
se = send_expr(); print(next(se), se.send(5), se.send(None))
if (n := len("walrus")) > 3: print(n)
print([y := 1, y ** 2], [last := v for v in range(3)], last)
print(f.__name__, f.__defaults__, g.__qualname__, counter().__qualname__)
def annotated(a: "int", b: list[int] = None) -> "str": ...
print(annotated.__annotations__["return"], callable(annotated), annotated(1))
print(max([3, 1, 2], key=lambda v: -v), sorted("bca", reverse=True), min(3, 1, 2), max([], default=0))
print(list(map(lambda a, b: a + b, [1, 2], [3, 4])), list(filter(None, [0, 1, "", "a"])), list(zip(range(3), "ab")))
print(any([0, 1]), all([]), sum([[1], [2]], []), divmod(-7, 2), pow(2, 10, 1000), round(2.5), round(3.14159, 2), abs(-3))
