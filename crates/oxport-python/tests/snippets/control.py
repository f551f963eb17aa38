def test(n):
    try:
        if n == 0: raise ValueError("zero")
        if n == 1: return "ret"
        if n == 2: {}["k"]
        print("body", n)
    except ValueError as e:
        print("VE", e); return "ve"
    except (KeyError, IndexError) as e:
        print(type(e).__name__, e.args)
    else:
        print("else")
    finally:
        print("finally")
    return "end"
print([test(n) for n in range(4)])
def nested():
    try:
        try: raise KeyError("inner")
        finally: print("f1")
    except KeyError as e:
        try: raise ValueError("outer") from e
        except ValueError as v: print(v, repr(v.__cause__), v.__context__ is e)
nested()
def reraise():
    try: raise RuntimeError("r")
    except RuntimeError: raise
try: reraise()
except RuntimeError as e: print("re", e)
class MyErr(Exception):
    def __init__(self, code, *a): super().__init__(code, *a); self.code = code
    def __str__(self): return f"code {self.code}"
try: raise MyErr(5, "x")
except MyErr as e: print(e, e.args, repr(e), isinstance(e, Exception))
try: assert 1 == 2, "msg"
except AssertionError as e: print("assert", e)
def fin():
    for i in range(3):
        try:
            if i == 1: continue
            if i == 2: break
            print("i", i)
        finally: print("fin", i)
    return "out"
print(fin())
def finret():
    try: return "try"
    finally: return "finally"
print(finret())
def m(v):
    match v:
        case 0 | 1: return "small"
        case -5: return "neg"
        case "s": return "str"
        case None: return "none"
        case [] : return "empty"
        case [1, *rest]: return f"one+{rest}"
        case (a, b) if a == b: return f"pair {a}"
        case [a, [b, c]]: return f"nest {a}{b}{c}"
        case {"k": x, **rest}: return f"dict {x} {rest}"
        case int(n): return f"int {n}"
        case float() as f: return f"float {f}"
        case Point(x=0, y=y): return f"y={y}"
        case Point(x, y): return f"pt {x},{y}"
        case Color.RED: return "red"
        case _: return "other"
class Point:
    __match_args__ = ("x", "y")
    def __init__(self, x, y): self.x, self.y = x, y
import enum
class Color(enum.Enum):
    RED = 1
    GREEN = "g"
    BLUE = enum.auto() if False else 3
    @property
    def low(self): return self.name.lower()
print([m(v) for v in (0, 1, -5, "s", None, [], [1, 2, 3], (4, 4), [7, [8, 9]], {"k": 1, "z": 2}, 50, 2.5, Point(0, 3), Point(1, 2), Color.RED, {1})])
print(Color.RED, repr(Color.GREEN), Color("g"), Color["BLUE"], Color.RED.value, [c.name for c in Color], Color.RED is Color(1), Color.RED == 1, len(Color), Color.RED.low, isinstance(Color.RED, Color), {Color.RED: 1}[Color.RED])
try: Color(99)
except ValueError as e: print(e)
class Num(enum.IntEnum):
    A = 1
    B = enum.auto()
print(Num.B + 1, Num.A < Num.B, [0, 10, 20][Num.B], int(Num.B), Num(2).name)
class Str(str, enum.Enum):
    X = "x"
    Y = "y"
print(Str.X == "x", Str("y").name, Str.X.value.upper(), [s.value for s in Str])
from dataclasses import dataclass, field, asdict, replace, fields
from typing import Optional, List, NamedTuple, Any, Callable, ClassVar
@dataclass
class Cfg:
    dim: int
    name: str = "n"
    layers: List[int] = field(default_factory=list)
    count: ClassVar[int] = 7
    opt: Optional[int] = None
    hidden: int = field(default=3, repr=False)
    def __post_init__(self): self.total = self.dim * 2
c = Cfg(3, layers=[1]); print(c, c.total, c == Cfg(3, layers=[1]), asdict(c), replace(c, dim=5).dim, [f.name for f in fields(c)], Cfg.count)
@dataclass(frozen=True, order=True)
class Fz:
    a: int
    b: float = 0.5
print(Fz(1) < Fz(2), {Fz(1): 1}[Fz(1)], hash(Fz(1)) == hash(Fz(1)))
try: Fz(1).a = 2
except Exception as e: print(type(e).__name__, e)
@dataclass
class Sub(Cfg):
    extra: int = 9
print(Sub(1), Sub(1, extra=2).extra)
try: Cfg()
except TypeError as e: print(e)
class NT(NamedTuple):
    x: int
    y: int = 5
    def total(self): return self.x + self.y
print(NT(1), NT(1, 2).total(), NT(3)[1], NT(1)._replace(x=9), NT(1)._asdict(), NT(1) == (1, 5), [*NT(1)])
from collections import namedtuple, OrderedDict, defaultdict, Counter, deque
P = namedtuple("P", "a b"); p = P(1, b=2); a, b = p; print(p, a, b, p.a, P._fields, P._make([3, 4]), isinstance(p, tuple))
dd = defaultdict(list); dd["k"].append(1); print(dict(dd), dd["z"], len(dd)); od = OrderedDict([("a", 1), ("b", 2)]); od.move_to_end("a"); print(list(od), od["b"])
print(Counter("aab").most_common(1), Counter("ab")["z"], sum(Counter([1, 1, 2]).values())); q = deque([1, 2], maxlen=2); q.append(3); print(list(q), q.popleft())
import functools, itertools, operator, math, contextlib, re
print(functools.reduce(lambda a, b: a * b, [1, 2, 3, 4]), functools.partial(pow, 2)(5), operator.mul(3, 4), operator.itemgetter(1)([5, 6]), operator.attrgetter("real")(3))
@functools.lru_cache(maxsize=None)
def fibc(n): return n if n < 2 else fibc(n - 1) + fibc(n - 2)
print(fibc(50))
@functools.wraps(fibc)
def wrapped(): pass
print(wrapped.__name__)
print(list(itertools.chain([1], [2, 3])), list(itertools.product("ab", [1, 2])), list(itertools.combinations([1, 2, 3], 2)), list(itertools.accumulate([1, 2, 3])), list(itertools.zip_longest([1], [2, 3])), [list(g) for k, g in itertools.groupby([1, 1, 2])], list(itertools.permutations([1, 2, 3], 2)), list(itertools.repeat(1, 2)), list(itertools.takewhile(lambda v: v < 3, [1, 2, 3, 1])), list(itertools.starmap(pow, [(2, 3)])), list(itertools.pairwise([1, 2, 3])))
print(math.sqrt(16), math.floor(-2.5), math.ceil(2.1), math.pi, math.log(8, 2), math.log2(8), math.exp(0), math.prod([2, 3]), math.gcd(12, 18), math.isclose(0.1 + 0.2, 0.3), math.inf, math.factorial(20), math.trunc(-2.5), math.hypot(3, 4), math.cos(0), math.comb(5, 2), math.log10(1000))
try: math.sqrt(-1)
except ValueError as e: print(e)
@contextlib.contextmanager
def cm(x):
    print("in", x)
    try: yield x * 2
    finally: print("out")
with cm(2) as v: print(v)
with contextlib.suppress(KeyError): {}["z"]
with contextlib.nullcontext(5) as v: print(v)
print(re.match(r"(\w+)-(\d+)", "ab-12").groups(), re.sub(r"\d", "#", "a1b2"), re.findall(r"[a-z]+", "ab cd"), bool(re.search("z", "abc")), re.split(r",\s*", "a, b,c"), re.compile(r"(?P<n>\d+)").match("42x").group("n"), re.fullmatch("a+", "aab"))
class CP:
    calls = 0
    @functools.cached_property
    def v(self): CP.calls += 1; return 7
o = CP(); print(o.v, o.v, CP.calls)
import typing as t
def typed(x: t.Union[int, None], y: "t.List[str]" = ()) -> t.Dict[str, t.Any]: return {}
print(typed(1), t.cast(int, "s"), t.TYPE_CHECKING)
T = t.TypeVar("T")
class G(t.Generic[T]):
    def __init__(self, v: T) -> None: self.v = v
print(G[int](3).v, G("a").v)
def outer_fn():
    v = 1
    class L:
        w = v + 1
        def get(self): return v + self.w
    v = 10
    return L().get(), L.w
print(outer_fn())
del p
try: p
except NameError as e: print(e)
print([*range(3), *"ab"], {**{"a": 1}, "b": 2}, (*[1], 2), {*[1, 2]} == {1, 2}, print("side") or 5)
x: int = 3
y: "undefined_name"
print(x, "y" in globals() if False else True)
lst = [1, 2, 3]
lst[0], lst[-1] = lst[-1], lst[0]; print(lst)
i = 0
while True:
    i += 1
    try:
        if i < 3: continue
        break
    finally: print("w", i)
