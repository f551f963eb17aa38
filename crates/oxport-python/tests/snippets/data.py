print(7 // 2, -7 // 2, 7 % -3, -7 % 3, 2 ** 100, 2 ** -1, 7 / 2, 1e300 * 1e10, 10 ** 20 // 3, -(10 ** 20) % 7, 1 << 70, (1 << 70) >> 68, ~5, 6 & 3, 6 | 3, 6 ^ 3)
print(0.1 + 0.2, 1e16, 1e-5, 123456789.123, 1.0, -0.0, 1e22, 5e-324, float("inf"), float("nan"), 1/3, 100.0, 1e15, 1.5e300)
print(3 == 3.0, hash(3) == hash(3.0), True + True, 1 < 2 < 3, 1 < 3 < 2, not 0, 5 if [] else 6, None is None, 10**18 == 1e18, 2**53 + 1 == float(2**53))
print(int("42"), int("-0x1f", 16), int("1010", 2), int(3.9), int(-3.9), float("1e3"), str(1.5), bool(""), int("1_000"), 0b101, 0o17, 0xff, 1_000_000)
for bad in ("int('x')", ):
    try: int("x")
    except ValueError as e: print(e)
try: 1 / 0
except ZeroDivisionError as e: print(e)
try: 1 // 0
except ZeroDivisionError as e: print(e)
try: "a" + 1
except TypeError as e: print(e)
try: [1] + (2,)
except TypeError as e: print(type(e).__name__)
try: [1][5]
except IndexError as e: print(e)
try: {}["k"]
except KeyError as e: print(e, repr(e))
try: "abc".index("z")
except ValueError as e: print(e)
try: None.x
except AttributeError as e: print(e)
try: len(5)
except TypeError as e: print(e)
try: 5()
except TypeError as e: print(e)
try: for_ = undefined
except NameError as e: print(e)
l = list(range(10)); print(l[2:5], l[::-1], l[-3:], l[::3], l[8:2:-2], l[:-1][0], l[100:], l[-100:2])
l[2:4] = ["a", "b", "c"]; print(l); del l[0]; del l[1:3]; print(l); l[::2] = [0] * len(l[::2]); print(l)
l.insert(1, "i"); l.extend([1, 2]); print(l.pop(), l.pop(0), l.index("i"), l.count(0), l); l.remove("i"); l.reverse(); print(l); l.clear(); print(l)
s = [3, 1, 2]; s.sort(key=lambda v: -v); print(s, sorted(s), list(reversed(s)), [1, 2] * 2, [1] < [1, 2], [2] > [1, 9], s == [3, 2, 1])
t = (1, 2, 3); print(t[1], t + (4,), t * 2, (1,), (), len(t), t.index(2), t.count(3), 2 in t, tuple("ab"))
d = {"a": 1, "b": 2}; d["c"] = 3; print(d, d.get("z"), d.get("z", 0), list(d), list(d.values()), list(d.items()), d.pop("a"), d.pop("q", None), d)
d.update(x=1, **{"y": 2}); d.setdefault("k", []).append(1); print(d, {**d, "z": 0}, d | {"b": 9}, "x" in d, len(d)); d.popitem(); print(list(d))
print({1: "a"} == {1.0: "a"}, dict([("a", 1)]), dict(zip("ab", [1, 2])), {(1, 2): 3}[(1, 2)], {k: v for k, v in sorted(d.items(), key=str)})
print(d.keys() & {"b", "c"} == {"b", "c"}, sorted(d.keys() - {"b"}), d.keys(), {"a": 1}.items(), {"a": 1}.values())
a, b = {1, 2, 3}, {2, 3, 4}; print(a & b, a | b, a - b, a ^ b == {1, 4}, a <= b, {2} < a, a.issuperset({1}), frozenset([1]) == {1}, len(a), 2 in a)
a.add(9); a.discard(100); a.remove(1); print(sorted(a), set(), sorted(a.union([5], [6])), a.isdisjoint({7}))
print("Hello World".split(), "a,b,,c".split(","), " x ".strip() + "|", "abc".replace("b", "xx"), "a-b-c".rsplit("-", 1), "x".join("abc"), "abc"[1], "abc"[::-1], "abc".find("c"), "ab" * 3)
print("abc".upper(), "ABC".lower(), "hello world".title(), "hello".capitalize(), "a.b.c".partition("."), "abc".startswith(("x", "a")), "abc".endswith("c"), "42".zfill(5), "a".ljust(3) + "|", "a".center(5, "*"), "12".isdigit(), "ab".isalpha())
print("%s is %d and %.2f, %5s|%-5s|%05d %x %%" % ("a", 3, 2.5, "r", "l", 42, 255), "%(k)s" % {"k": 1}, "{} {1} {0}".format(1, 2) if False else "{0} {1} {0}".format(1, 2), "{a.real} {b[0]} {c!r:>5}".format(a=1, b=[2], c="x"))
v, w = 3.14159, 42
print(f"{v:.2f} {w:5d}|{w:<5}|{w:^5}|{w:+d} {w:#x} {w:08b} {1234567:,} {v:e} {v:g} {1e10:g} {0.00001:g} {50:%} {v!r} {'s':>4} {w=} {v=:.1f} {'a' 'b'} {{}} {[1, 2][0]} {'n' if w else 'm'}")
print(f"{'nested ' + f'{w}'} {w:{5}} {v:{8}.{3}} {True} {None} {[1.0, 'a']} {(1,)} {1e100:.3g} {123456789:.3g} {0.5:.0%} {-5:05d} {5:>+5}")
print(repr("it's"), repr('say "hi"'), repr("both ' \""), repr("tab\t\n\\"), repr(b"by\x00te"), "\x41\u00e9", r"raw\n", "multi" "part", '''tri
ple''', b"abc"[0], b"a" + b"b", "é".encode(), len("日本"))
print(range(5), range(1, 10, 3)[1], len(range(0, 10, 3)), list(range(5, 0, -2)), 3 in range(5), range(3) == range(0, 3), slice(1, 2), list(range(10))[slice(2, 4)])
print(str([1, "a", None, True, 1.5, (1,), {"k": {1}}]), [1, [2, [3]]], ..., NotImplemented, type([]), int, print)
x = [1, 2]; y = x; y += [3]; print(x is y, x); z = x[:]; z.append(4); print(x, z); q = (1, 2); q += (3,); print(q)
i = 5; i -= 1; i *= 3; i //= 2; i **= 2; i %= 7; i <<= 3; i |= 1; print(i); f = 7; f /= 2; print(f)
print(chr(65), ord("a"), hex(255), bin(5), oct(8), abs(-2.5), round(-2.5), round(1234, -2), divmod(7.5, 2), 7.5 // 2, -7.5 % 2, 2 ** 0.5, (-8) ** (1/3) != 0, round(2.675, 2), 1e3 // 7)
print(list(enumerate("ab", 1)), list(zip([1, 2], [3, 4], strict=True)), isinstance(True, int), issubclass(bool, int), isinstance(1, (str, int)), id(x) == id(y))
print(sorted([(2, "b"), (1, "z"), (2, "a")]), sorted(["b", "A", "c"], key=str.lower), max("abc"), min([(1, 2), (1, 1)]), sum([0.1] * 3), sum((1, 2), 10))
print(1 if 2 > 1 else 0, 1 and 2, 0 or "x", not [], 1 == 1.0 == True, "a" "b" == "ab", (1, 2) == (1, 2), [] is [], 3 != 4, "a" not in "abc")
import copy
n = {"l": [1, [2]], "t": (3, [4])}; m = copy.deepcopy(n); m["l"][1].append(9); print(n, m); c = copy.copy(n); c["l"].append(0); print(n["l"])
n = 10
while n: 
    n -= 3
    if n < 0: break
    if n == 4: continue
    print("n", n)
else: print("no break")
for k in range(3):
    if k == 5: break
else: print("loop else")
print(0.1 + 0.7, 1e23, 4.35, 2.0 ** 70, 1.1 * 3, 123456789012345680.0, 0.00001234, 1e-7, 12345678.9, 1 / 7 * 1e20)
print("a\tb".expandtabs() if False else "", "abc".isidentifier(), "x=1;y=2".split(";"), "  a b ".split(" "), "line1\nline2\n".splitlines(), "%r" % ("q",), "{:>10}|{:<4}|{:^6}".format("r", "l", "c"))
import re, math
print(re.split(r"(\d.*)", "r2"), re.split(r"[,;]", "a,b;c"), re.split(r"(-)|(\+)", "1-2+3"), re.split(",", "a,b,c", 1), re.split("x", "abc"))
print(round(math.erf(0.5), 12), round(math.lgamma(4.5), 12))
