# Operators as functions.


def add(a, b):
    return a + b


def sub(a, b):
    return a - b


def mul(a, b):
    return a * b


def truediv(a, b):
    return a / b


def floordiv(a, b):
    return a // b


def mod(a, b):
    return a % b


def pow(a, b):
    return a ** b


def matmul(a, b):
    return a @ b


def and_(a, b):
    return a & b


def or_(a, b):
    return a | b


def xor(a, b):
    return a ^ b


def lshift(a, b):
    return a << b


def rshift(a, b):
    return a >> b


def neg(a):
    return -a


def pos(a):
    return +a


def invert(a):
    return ~a


def not_(a):
    return not a


def truth(a):
    return bool(a)


def eq(a, b):
    return a == b


def ne(a, b):
    return a != b


def lt(a, b):
    return a < b


def le(a, b):
    return a <= b


def gt(a, b):
    return a > b


def ge(a, b):
    return a >= b


def is_(a, b):
    return a is b


def is_not(a, b):
    return a is not b


def contains(a, b):
    return b in a


def getitem(a, b):
    return a[b]


def setitem(a, b, c):
    a[b] = c


def delitem(a, b):
    del a[b]


def index(a):
    return a.__index__() if hasattr(a, "__index__") else int(a)


def iadd(a, b):
    a += b
    return a


def imul(a, b):
    a *= b
    return a


def itemgetter(*items):
    if len(items) == 1:
        return lambda value: value[items[0]]
    return lambda value: tuple(value[item] for item in items)


def attrgetter(*names):
    def one(value, name):
        for part in name.split("."):
            value = getattr(value, part)
        return value

    if len(names) == 1:
        return lambda value: one(value, names[0])
    return lambda value: tuple(one(value, name) for name in names)


def methodcaller(name, *args, **kwargs):
    return lambda value: getattr(value, name)(*args, **kwargs)


# The same under the names of the methods.
for _name in (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and_", "or_", "xor", "lshift", "rshift", "neg", "pos", "invert",
    "not_", "eq", "ne", "lt", "le", "gt", "ge", "contains", "getitem", "setitem", "delitem", "index", "iadd", "imul",
):
    globals()[f"__{_name.rstrip('_')}__"] = globals()[_name]
