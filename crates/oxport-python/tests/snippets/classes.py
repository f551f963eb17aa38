class A:
    kind = "a"
    def __init__(self, x): self.x = x
    def who(self): return f"A{self.x}"
    @property
    def twice(self): return self.x * 2
    @twice.setter
    def twice(self, v): self.x = v // 2
    @staticmethod
    def st(v): return v + 1
    @classmethod
    def make(cls, v): return cls(v)
    def __repr__(self): return f"{type(self).__name__}({self.x})"
    def __eq__(self, o): return isinstance(o, A) and self.x == o.x
    def __hash__(self): return hash(self.x)
    def __lt__(self, o): return self.x < o.x
    def __add__(self, o): return type(self)(self.x + (o.x if isinstance(o, A) else o))
    def __radd__(self, o): return A(o + self.x)
    def __getitem__(self, i): return (self.x, i)
    def __len__(self): return 3
    def __call__(self, *a): return a
    def __contains__(self, v): return v == self.x
    def __iter__(self): return iter([self.x, self.x])
    def __bool__(self): return self.x != 0
class B(A):
    kind = "b"
    def who(self): return "B" + super().who()
class C(A):
    def who(self): return "C" + super().who()
class D(B, C):
    def who(self): return "D" + super().who()
d = D.make(3)
print(d, d.who(), [k.__name__ for k in D.__mro__], d.kind, D.st(1), d.twice)
d.twice = 10; print(d.x, d == A(5), d != A(6), A(1) < A(2), sorted([A(3), A(1)]), {A(1): "k"}[A(1)])
print(A(1) + A(2), 1 + A(2), A(1) + 5, A(4)[1:2], A(4)[..., None], len(A(1)), A(1)(2, 3), 4 in A(4), list(A(2)), bool(A(0)))
print(isinstance(d, (int, C)), issubclass(D, A), hasattr(d, "nope"), getattr(d, "nope", 7), A.__name__, type(d) is D)
try: d.nope
except AttributeError as e: print(e)
try: A()
except TypeError as e: print(e)
try: A(1) - 1
except TypeError as e: print(e)
class Desc:
    def __set_name__(self, owner, name): self.name = "_" + name
    def __get__(self, obj, owner=None): return self if obj is None else getattr(obj, self.name, "unset")
    def __set__(self, obj, v): setattr(obj, self.name, v * 10)
class UsesDesc:
    v = Desc()
u = UsesDesc(); print(u.v); u.v = 4; print(u.v, u.__dict__, isinstance(UsesDesc.v, Desc))
class Dyn:
    def __getattr__(self, n):
        if n.startswith("x"): return n * 2
        raise AttributeError(n)
    def __setattr__(self, n, v): object.__setattr__(self, n, (v,))
    def __delattr__(self, n): print("del", n); super().__delattr__(n)
y = Dyn(); y.a = 1; print(y.a, y.xy, hasattr(y, "q")); del y.a; print(hasattr(y, "a"))
class Meta(type):
    def __new__(m, name, bases, ns, tag=None):
        c = super().__new__(m, name, bases, ns); c.tag = tag; return c
    def __call__(cls, *a):
        print("making", cls.__name__); return super().__call__(*a)
    def __len__(cls): return 42
    def __getitem__(cls, k): return (cls.__name__, k)
    @property
    def prop(cls): return "metaprop"
class M(metaclass=Meta, tag="t"):
    def __init__(self, v=0): self.v = v
m = M(3); print(M.tag, m.v, len(M), M["k"], M.prop, type(M).__name__)
class Base:
    subs = []
    def __init_subclass__(cls, flag=False, **kw):
        super().__init_subclass__(**kw); cls.subs.append((cls.__name__, flag))
class S1(Base, flag=True): pass
class S2(Base): pass
print(Base.subs)
class MyDict(dict):
    def __missing__(self, k): return k * 2
    def __setitem__(self, k, v): super().__setitem__(k, v + 1)
md = MyDict(a=1); md["b"] = 5; print(md, md["zz"], len(md), "a" in md, dict(md), isinstance(md, dict), list(md.items()))
class MyList(list):
    def first(self): return self[0]
ml = MyList([3, 1]); ml.append(2); ml.sort(); print(ml, ml.first(), ml + [9], type(ml).__name__, len(ml), ml[1:])
class MyInt(int):
    def __add__(self, o): return MyInt(int(self) + o + 100)
print(MyInt(5) + 1, MyInt(5) * 2, MyInt(7) == 7, f"{MyInt(3):03d}")
class MyStr(str):
    pass
print(MyStr("ab").upper(), MyStr("x") + "y", {MyStr("k"): 1}["k"])
class MyTuple(tuple):
    def __new__(cls, *a): return super().__new__(cls, a)
print(MyTuple(1, 2), MyTuple(1, 2)[0], len(MyTuple(1)), MyTuple(1) == (1,))
class Ctx:
    def __enter__(self): print("enter"); return "val"
    def __exit__(self, t, v, tb): print("exit", t and t.__name__, v); return t is KeyError
with Ctx() as v: print(v)
with Ctx(): raise KeyError("k")
try:
    with Ctx(), Ctx() as w: raise ValueError("out")
except ValueError as e: print("got", e)
class It:
    def __init__(self): self.n = 0
    def __iter__(self): return self
    def __next__(self):
        self.n += 1
        if self.n > 3: raise StopIteration
        return self.n
print(list(It()), [a for a in It()], max(It()), tuple(It()))
class Seq:
    def __getitem__(self, i):
        if i >= 3: raise IndexError(i)
        return i * i
print(list(Seq()), 4 in Seq())
class Slots:
    __slots__ = ("a",)
    def __init__(self): self.a = 1
print(Slots().a)
print(type("Made", (A,), {"extra": 5})(2).extra, type(3).__name__, type(None).__name__, type(A).__name__)
class Inner:
    class Nested:
        val = 3
    x = [Nested.val for _ in range(2)] if False else Nested.val
print(Inner.Nested.val, Inner.x, Inner.Nested.__qualname__)
import abc
class Abs(abc.ABC):
    @abc.abstractmethod
    def go(self): ...
    @property
    @abc.abstractmethod
    def p(self): ...
try: Abs()
except TypeError as e: print("abstract", "go" in str(e))
class Conc(Abs):
    def go(self): return 1
    p = 2
print(Conc().go())
print(vars(A(3)), A(1).__class__.__name__, A.who.__name__, A(1).who.__self__, callable(A))
class P:
    def __init__(self): self._v = 1
    v = property(lambda self: self._v, lambda self, x: setattr(self, "_v", x))
p = P(); p.v = 9; print(p.v)
try:
    class Bad(A, object, B): pass
except TypeError: print("mro")
obj = object.__new__(A); obj.__dict__["x"] = 77; print(obj.x, obj.__dict__)
class W:
    def __matmul__(self, o): return "mm"
    def __iadd__(self, o): self.last = o; return self
    def __neg__(self): return "neg"
    def __format__(self, s): return "F" + s
    def __index__(self): return 2
    def __round__(self, n=0): return "r"
w = W(); w += 5; print(w @ 1, w.last, -w, f"{w:abc}", [1, 2, 3][w], round(w), "abc" * w, list(range(w)))
print(int.__add__(1, 2), str.upper("a"), list.append.__name__, dict.fromkeys("ab", 0), "".join.__name__)
