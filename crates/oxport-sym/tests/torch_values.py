"""Writes torch_values.tsv: a call on constants <TAB> srepr of its value, or `error`. Run with torch 2.15."""
import sympy
from sympy import Integer, Float, srepr
import torch.utils._sympy.functions as F
from torch.utils._sympy.numbers import int_oo
from sympy import oo

I, R = Integer, Float
CALLS = []
for f in ("FloorDiv", "PythonMod", "CeilDiv", "CleanDiv"):
    CALLS += [(f, (I(a), I(b))) for a in (7, -7, 0, 6, 2**70) for b in (2, -2, 3, 0, 1, -1)]
CALLS += [("Mod", (I(a), I(b))) for a in (7, 0, 6) for b in (2, 3, 7, 0)]
CALLS += [("FloorDiv", (int_oo, I(2))), ("FloorDiv", (I(3), int_oo)), ("FloorDiv", (-int_oo, I(3))), ("FloorDiv", (int_oo, int_oo))]
CALLS += [("ModularIndexing", (I(a), I(b), I(c))) for a in (17, 0, 100) for b in (1, 3) for c in (1, 4, 7)]
CALLS += [("IntTrueDiv", (I(a), I(b))) for a in (7, -7, 2**70 + 1, 0) for b in (2, 3, -3, 0, 2**65)]
CALLS += [("FloatTrueDiv", (R(a), R(b))) for a in (7.0, -1.5) for b in (2.0, 0.1)]
CALLS += [("ToFloat", (I(a),)) for a in (0, 3, -3, 2**40 + 1)] + [("ToFloat", (int_oo,))]
for f in ("TruncToInt", "FloorToInt", "CeilToInt", "RoundToInt"):
    CALLS += [(f, (R(a),)) for a in (2.5, -2.5, 3.5, 0.5, -0.5, 1e18, 2.4999999)] + [(f, (oo,))]
CALLS += [("TruncToFloat", (R(a),)) for a in (2.5, -2.5, 0.25)]
CALLS += [("RoundDecimal", (R(a), I(n))) for a, n in ((2.675, 2), (2.5, 0), (1234.5678, -2), (-0.125, 2), (1e-7, 3), (0.15, 1))]
CALLS += [("PowByNatural", (I(a), I(b))) for a in (2, -2, 3, 0, 1, -1, 10) for b in (0, 1, 5, 62, 63, 64, 100)]
CALLS += [("FloatPow", (R(a), R(b))) for a in (2.0, 0.5, 9.0) for b in (0.5, 2.0, -1.0)]
CALLS += [("LShift", (I(5), I(3))), ("LShift", (I(-5), I(0))), ("RShift", (I(21), I(2))), ("RShift", (I(-21), I(2)))]
for f in ("BitwiseFn_bitwise_and", "BitwiseFn_bitwise_or", "BitwiseFn_bitwise_xor"):
    CALLS += [(f, (I(a), I(b))) for a in (12, -12, 0) for b in (10, -3)] + [(f, (sympy.true, sympy.false)), (f, (sympy.true, I(6)))]
for n in ("sqrt", "cos", "cosh", "sin", "sinh", "tan", "tanh", "asin", "acos", "atan", "exp", "log", "asinh", "log2"):
    CALLS += [("OpaqueUnaryFn_" + n, (R(a),)) for a in (0.25, 1.0)] + [("OpaqueUnaryFn_" + n, (I(1),))]
CALLS += [("IsNonOverlappingAndDenseIndicator", tuple(map(I, t))) for t in ((3, 1), (3, 2), (1, 5), (2, 3, 3, 1), (2, 3, 1, 2), (2, 3, 4, 1), (1, 3, 7, 1), (4, 2, 3, 3, 1, 12))]
CALLS += [("Where", (sympy.true, I(1), I(2))), ("Where", (sympy.false, I(1), I(2)))]
CALLS += [("Max", (I(3), R(2.5))), ("Min", (I(3), int_oo)), ("Max", (I(3), int_oo)), ("Max", (I(2), I(9), I(-4)))]
out = []
for f, args in CALLS:
    call = f"{f}({', '.join(map(srepr, args))})"
    try:
        v = getattr(F, f)(*args)
        out.append(f"{call}\t{srepr(sympy.sympify(v))}\n")
    except Exception:
        out.append(f"{call}\terror\n")
open(__file__.replace(".py", ".tsv"), "w").writelines(out)
print(len(out))
