"""Writes torch_ranges.tsv: srepr <TAB> min <TAB> max of torch's bound_sympy. Run with torch 2.15 after torch_exprs.py."""
import itertools
import random
import sympy
import torch
import torch.utils._sympy.functions as F
from torch.utils._sympy.numbers import int_oo
from torch.utils._sympy.value_ranges import bound_sympy, ValueRanges
from sympy import Symbol, srepr

s0, s1, s2, s77, s14 = (Symbol(n, positive=True, integer=True) for n in ("s0", "s1", "s2", "s77", "s14"))
u0, u1 = (Symbol(n, integer=True) for n in ("u0", "u1"))
VR = {s0: ValueRanges(2, int_oo), s1: ValueRanges(2, 10), s2: ValueRanges(1, 8), u0: ValueRanges(0, int_oo), u1: ValueRanges(-5, 7), s77: ValueRanges(2, 100)}
SAMPLES = {s0: [2, 3, 17, 1000], s1: range(2, 11), s2: range(1, 9), u0: [0, 1, 5, 99], u1: range(-5, 8), s77: [2, 7, 100]}
ns = {k: getattr(F, k) for k in dir(F) if isinstance(getattr(F, k), type)}
ns.update({k: getattr(sympy, k) for k in dir(sympy)})
for k in ("Max", "Min", "Mod", "FloorDiv"):
    ns[k] = getattr(F, k)
ns["int_oo"] = int_oo
ns["Abs"] = sympy.Abs
ns["ExprCondPair"] = sympy.functions.elementary.piecewise.ExprCondPair
random.seed(3)


def text(v):
    if v in (sympy.true, sympy.false):
        return str(v)
    return str(v) if v in (int_oo, -int_oo, sympy.oo, -sympy.oo) else repr(float(v)) if not v.is_Integer else str(v)


def sound(e, r):
    syms = sorted(e.free_symbols, key=str)
    for _ in range(60):
        p = {s: sympy.Integer(random.choice(list(SAMPLES[s]))) for s in syms}
        try:
            v = e.subs(p)
        except Exception:
            continue
        if isinstance(v, sympy.logic.boolalg.BooleanAtom):
            if v not in (r.lower, r.upper):
                return False
        elif v.is_number and v.is_comparable and not (r.lower <= v and v <= r.upper):
            return False
    return True


extra = [
    2 * s0 - 3 * s1, F.FloorDiv(s0, s1), F.FloorDiv(u1, 3), F.PythonMod(u1, -4), F.ModularIndexing(s1, 2, 3), u1**2, u1**3,
    F.RoundToInt(F.IntTrueDiv(s1, 4)), s0 > s1, F.IntTrueDiv(s1, s2), F.OpaqueUnaryFn_sqrt(s1), F.PowByNatural(s2, s1), F.PowByNatural(u1, u0),
    F.Where(u1 > 3, s1, s2), F.Where(s0 > 1, s1, s2), s0 - F.Mod(s0, 4), F.BitwiseFn_bitwise_and(u1, sympy.Integer(6)), F.BitwiseFn_bitwise_or(s1, s2),
    sympy.Abs(u1), F.FloorDiv(s1, u1), F.FloorDiv(u1, s0), F.Max(u1, 3), F.Min(s0, s1), sympy.Eq(u1, 9), sympy.Ne(s1, 3), F.TruncToInt(F.ToFloat(s1) * 0.3),
    F.OpaqueUnaryFn_exp(F.ToFloat(u1)), F.OpaqueUnaryFn_log2(F.ToFloat(s77)), F.OpaqueUnaryFn_cos(F.ToFloat(s1)), F.CeilToInt(F.IntTrueDiv(s1, 3)),
    F.FloatTrueDiv(F.ToFloat(s1), sympy.Float(4.0)), F.RoundDecimal(F.IntTrueDiv(s1, 3), sympy.Integer(1)), sympy.And(u1 < 9, s1 > 1), sympy.Or(u1 < -9, s1 < 1),
]
out = []
for e in itertools.chain(extra, (eval(l.split("\t")[0], dict(ns)) for l in open(__file__.replace("ranges.py", "exprs.tsv")) if "zf0" not in l and "'k'" not in l and "'e'" not in l and "it's" not in l and "s14" not in l)):
    try:
        r = bound_sympy(e, VR)
        if isinstance(e, sympy.Basic) and e.free_symbols and sound(e, r):
            out.append(f"{srepr(e)}\t{text(r.lower)}\t{text(r.upper)}\n")
        else:
            print("left out", e, r)
    except Exception as x:
        print("failed", e, type(x), x)
open(__file__.replace(".py", ".tsv"), "w").writelines(out)
print(len(out))
