"""Writes torch_exprs.tsv: srepr <TAB> str of expressions made by torch's own functions. Run with torch 2.15."""
import random
import sympy
from sympy import Symbol, srepr
import torch
from torch.utils._sympy import functions as F
from torch.utils._sympy.numbers import int_oo

s0, s1, s2, s77, s14 = (Symbol(n, positive=True, integer=True) for n in ("s0", "s1", "s2", "s77", "s14"))
u0, u1 = (Symbol(n, integer=True) for n in ("u0", "u1"))
zf0 = Symbol("zf0")
rows = {}


def row(e):
    e = sympy.sympify(e)
    rows.setdefault(srepr(e), str(e))


FD, Mod, PM = F.FloorDiv, F.Mod, F.PythonMod
for e in [
    s0, u0, zf0, sympy.Integer(7), sympy.Integer(-7), sympy.Integer(2**70), sympy.true, sympy.false, sympy.Float(0.5),
    sympy.Float(0.1), sympy.Float(-1e-20), sympy.Float(1e22), sympy.Float(123456789.125), sympy.oo, int_oo, -int_oo,
    s0 + 1, s0 - 1, 1 - s0, 5 - 2 * s0, 2 * s77 + 1, s0 * s1, -s0, -s0 * s1 + 3, s0 + s1 + u0, s0**2 - 1, s0 * (s1 + 1),
    2 * (s0 + 1), 2 * s0 * (s1 + 1), (s0 + 1) ** 2, (s0 + 1) * (s1 - 2), s0**2 * s1 + s0 * s1**2 + s1, 3 * s0 / 2,
    s0 / s1, FD(s0, 2), FD(s0 - 1, 2) + 1, 2 * FD(s77, 4) + 3, FD(s0 * s1, 7), FD(s0 + s1, s2), FD(FD(s0, 2), 3),
    FD(s0 - 1, 2) * FD(s1 - 1, 2), -FD(s0, 3), 1 - FD(s0, 2), s0 - 2 * FD(s0, 2), FD(u0 + 3, 4) * s0, s1 * FD(s0, 2) ** 2,
    Mod(s0, 2), PM(u0, 3), Mod(s0 * s1, 4), PM(u0 - 1, s0), Mod(s0 + 1, 8) + s0, F.ModularIndexing(s0, 4, 8),
    F.ModularIndexing(u0, 1, 16), F.Max(1, u0), F.Max(s0, s1), F.Min(s0, 5), F.Max(2, s0, s1 + 1), F.Max(0, u0 - 1),
    F.Min(s0, F.Max(u0, 3)), F.Max(s0 * s1, u1 + 1, u0), F.Max(FD(s0, 2), s1), F.CeilDiv(s0, 3), F.CeilDiv(s0 * s1, 64),
    sympy.Eq(s0, 3), sympy.Ne(s0, s1), s0 < s1, u0 >= 0, u0 <= 10, u0 > s0, sympy.Eq(Mod(s0, 2), 0), sympy.Ne(FD(s0, 2), 1),
    sympy.And(u0 >= 0, u0 < s0), sympy.Or(sympy.Eq(u0, 1), sympy.Eq(s0, 5), u1 < 3), sympy.Not(sympy.And(u0 < 1, u1 < 2)),
    sympy.Not(u0 < 4), sympy.Eq(s0 * s1, 4 * u0), sympy.Piecewise((1, u0 > 3), (0, True)),
    sympy.Piecewise((s0, sympy.Eq(u0, 1)), (s1, u0 > 3), (0, True)),
    F.Where(u0 > 3, s0, s1), F.IntTrueDiv(s0, 2), F.IntTrueDiv(s0 + 1, s1), F.FloatTrueDiv(zf0, sympy.Float(2.0)), F.ToFloat(s0),
    F.TruncToInt(F.IntTrueDiv(s0, 3)), F.FloorToInt(F.IntTrueDiv(s0, 3)), F.CeilToInt(F.IntTrueDiv(s0, 3)),
    F.RoundToInt(F.IntTrueDiv(s0, 4)), F.RoundDecimal(F.ToFloat(s0), sympy.Integer(2)), F.TruncToFloat(zf0),
    F.TruncToInt(2.0 * F.ToFloat(s0)), F.FloorToInt(sympy.Float(1.5) * F.ToFloat(s0)), F.ToFloat(s0) * sympy.Float(0.5) + sympy.Float(1.0),
    F.FloatPow(F.ToFloat(s0), sympy.Float(0.5)), F.PowByNatural(s0, u0), F.PowByNatural(s0, sympy.Integer(3)), F.PowByNatural(sympy.Integer(2), s0),
    F.OpaqueUnaryFn_sqrt(F.ToFloat(s0)), F.TruncToInt(F.OpaqueUnaryFn_sqrt(s0)), F.OpaqueUnaryFn_log2(F.ToFloat(s0)),
    F.LShift(s0, sympy.Integer(3)), F.RShift(s0, sympy.Integer(2)), F.LShift(s0, u0), F.RShift(s0, s1),
    F.BitwiseFn_bitwise_and(u0, sympy.Integer(7)), F.BitwiseFn_bitwise_or(u0, u1), F.BitwiseFn_bitwise_xor(s0, sympy.Integer(1)),
    F.Identity(s0 + 1), F.Identity(s0) * 2, sympy.Abs(u0), sympy.Abs(u0 - s0), sympy.floor(s0 / 2), sympy.ceiling(s0 / 3),
    F.IsNonOverlappingAndDenseIndicator(s0, s1, s1, 1), F.IsNonOverlappingAndDenseIndicator(s0, u0),
    s0 * s1 * s2 * 4 + 8 * s0, s14 * s77 * 2 - s14, FD(s0 * (s1 + 1), 2 * s2), (s0 - 1) * (s0 + 1), s0 * (s0 - 1),
    FD(-s0, 2), FD(s0, -2), -(FD(s0 - 1, 2)) - 1, FD(1 - s0, 3), s0 * (-s1 + 1), -s0 * (s1 + 1), 4 * FD(s0 + 1, 2) ** 2,
    FD(FD(s0 - 1, 2) + 1, 2), Mod(FD(s0, 2), 3), 2 * Mod(s0, 3) * s1, F.CleanDiv(s0 * s1, s2), u0 * u1 - u0, u0**3,
    (s0 + s1) ** 2 * s2, 1 / (s0 + 1), s0 ** -2, sympy.Rational(2, 3) * s0 * s1, sympy.Rational(-1, 2) * s0 + s1 / 3,
    Symbol("k", nonnegative=True, integer=True) + 1, Symbol("e", even=True), Symbol("it's"),
]:
    row(e)

random.seed(1)
atoms = [s0, s1, s2, s77, u0, u1]


def gen(d):
    if d == 0 or random.random() < 0.15:
        return random.choice(atoms + [sympy.Integer(random.randint(-6, 9))])
    a, b = gen(d - 1), gen(d - 1)
    k = random.randint(0, 11)
    n = sympy.Integer(random.choice([2, 3, 4, 8]))
    if k <= 2:
        return a + b
    if k == 3:
        return a - b
    if k <= 6:
        return a * b
    if k == 7:
        return FD(a, n)
    if k == 8:
        return PM(a, n)
    if k == 9:
        return random.choice([F.Max, F.Min])(a, b)
    if k == 10:
        return FD(a, random.choice([s0, s1, s2 + 1]))
    return random.choice([F.Mod(random.choice([s0, s1, s2]) * n + 1, sympy.Integer(5)), a**2, F.CeilDiv(a, n)])


while len(rows) < 460:
    try:
        e = gen(random.randint(2, 4))
        if len(str(e)) < 160:
            row(e)
            if random.random() < 0.15:
                row(random.choice([sympy.Eq, sympy.Ne, sympy.Lt, sympy.Le, sympy.Gt, sympy.Ge])(e, gen(1)))
    except (ZeroDivisionError, TypeError, AssertionError):
        pass

with open(__file__.replace(".py", ".tsv"), "w") as f:
    for a, b in rows.items():
        f.write(f"{a}\t{b}\n")
print(len(rows))
