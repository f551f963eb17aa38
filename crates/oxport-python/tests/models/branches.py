# Functions of data-dependent control flow: each is captured once, and run on several inputs.
# `branches.tsv` holds what PyTorch gives for them; scripts/branches.py of this folder writes it.
import math

import torch
import torch._higher_order_ops as higher_order
from torch import nn
from functorch.experimental import control_flow
from torch._higher_order_ops import associative_scan
from torch._higher_order_ops.scan import scan

W = 4


def if_else(x):
    if x.sum() > 0:
        y = x + 1
    else:
        y = x - 1
    return y * 2


def if_without_else(x):
    y = x * 2
    if x.max() > 1:
        y = y - 3
    return y


def if_elif_else(x):
    s = x.sum()
    if s > 2:
        y = x.relu()
    elif s > 0:
        y = x.tanh()
    elif s > -2:
        y = -x
    else:
        y = x.sigmoid()
    return y


def early_return(x):
    if x.sum() > 0:
        return x + 10
    y = x * 3
    return y.cos()


def two_early_returns(x):
    if x.sum() > 2:
        return x + 10
    y = x * 3
    if y.min() < -1:
        return y
    return y.sin()


def return_in_both(x):
    if x.mean() > 0:
        return x.exp()
    else:
        return x.abs()


def nested(x):
    y = x
    if x.sum() > 0:
        if x.max() > 1:
            y = x * 2
        else:
            y = x * 3
        y = y + 1
    return y - x


def nested_return(x):
    if x.sum() > 0:
        if x.max() > 1:
            return x * 2
        x = x + 1
    return x - 1


def several_names(x):
    a, b = x, x
    c = x * 0
    if x[0] > 0:
        a = a + 1
        c = a * b
    else:
        b = b - 1
    return a, b, c


def tuple_result(x):
    def pick(x):
        if x.sum() > 0:
            return x, x + 1
        return x - 1, x * 2

    a, b = pick(x)
    return a + b


def dict_result(x):
    if x.sum() > 0:
        d = {"a": x, "b": x + 1}
    else:
        d = {"a": x * 2, "b": -x}
    return d["a"] - d["b"]


def list_result(x):
    if x.sum() > 0:
        parts = [x, x * 2]
    else:
        parts = [x - 1, x * 3]
    return torch.cat(parts)


def conditional_expression(x):
    return x.relu() if x.sum() > 0 else x.abs().neg()


def boolean_and(x):
    if x.sum() > 0 and x.max() > 1:
        return x + 1
    return x - 1


def boolean_or(x):
    if x.sum() > 2 or x.min() < -1:
        return x + 1
    return x - 1


def boolean_not(x):
    if not x.sum() > 0:
        return x + 1
    return x - 1


def chained_comparison(x):
    if -1 < x.sum() < 1:
        return x * 5
    return x


def item_int(x):
    n = (x > 0).sum().item()
    if n > 2:
        return x + n
    return x * n


def item_float(x):
    s = x.sum().item()
    if s > 0.5:
        return x + s
    return x


def item_float_arithmetic(x):
    s, t = x.sum().item(), x[0].item()
    ratio = s / (abs(t) + 1) - 2
    return x * ratio**2 + max(s, t, 0.5) - (s // 2) * x.shape[0], x - -s, x * (math.sqrt(t * t) + math.floor(s))


def item_float_scalars(x):
    low, high = x.min().item(), x.max().item()
    assert low <= high
    y = torch.clamp(x, min=low / 2, max=high) + torch.full((4,), high - low)
    return torch.where(x > 0, x, low), y.masked_fill(x > 0.5, float(x[1]))


def item_float_steers_a_loop(x):
    s = x.abs().sum().item()
    while s < 10.0:
        x = x * 2
        s = s * 2 + 0.5
    return x + s


def item_bool(x):
    flag = (x.sum() > 0).item()
    return x * flag, torch.full((2,), flag), torch.full((1,), not flag)


def ints_that_differ(x):
    if x.sum() > 0:
        k = 2
    else:
        k = 5
    return x * k


def floats_that_differ(x):
    k = 0.5 if x.sum() > 0 else 2.5
    return x * k


def bools_that_differ(x):
    if x.sum() > 0:
        flag = True
    else:
        flag = False
    y = x + 1
    if flag:
        y = y * 2
    return y


def unrolled_break(x):
    for i in range(4):
        if x.sum() > 3:
            break
        x = x + i
    return x


def unrolled_continue(x):
    total = x * 0
    for i in range(4):
        if x[i] < 0:
            continue
        total = total + x * i
    return total


def unrolled_return(x):
    for i in range(3):
        x = x + 1
        if x.sum() > 5:
            return x * 10
    return x


def unrolled_else(x):
    for i in range(3):
        if x[i] > 1:
            x = x - 5
            break
    else:
        x = x + 100
    return x


def while_simple(x):
    while x.sum() < 10:
        x = x + 1
    return x


def while_counter(x):
    n = 0
    while x.abs().sum() > 1:
        x = x / 2
        n += 1
    return x, torch.tensor(n)


def while_two(x):
    a, b = x, torch.ones(W)
    while a.sum() < 20:
        a, b = a + b.abs(), b + 1
    return a - b


def while_break(x):
    n = 0
    while n < 10:
        x = x + 1
        if x.sum() > 8:
            break
        n = n + 1
    return x


def while_true(x):
    while True:
        x = x * 2 + 1
        if x.abs().max() > 20:
            break
    return x


def while_return(x):
    while True:
        x = x * 2 + 1
        if x.abs().max() > 20:
            return x - 3
        x = x + 0.5


def while_continue(x):
    n = torch.zeros(())
    total = torch.zeros(W)
    while n < 6:
        n = n + 1
        if n % 2 == 0:
            continue
        total = total + x * n
    return total


def while_else(x):
    n = 0
    while x.sum() < 6:
        x = x + 1
        n = n + 1
        if x[0] > 4:
            x = x * 0
            break
    else:
        x = x - 7
    return x


def while_nested(x):
    outer = torch.zeros(())
    while outer < 3:
        inner = torch.zeros(())
        while inner < outer:
            x = x + inner
            inner = inner + 1
        outer = outer + 1
    return x


def while_with_if(x):
    n = torch.zeros((), dtype=torch.int64)
    while n < 5:
        if x.sum() > 0:
            x = x - 1
        else:
            x = x + 2
        n = n + 1
    return x


def while_walrus(x):
    while (s := x.sum()) < 5:
        x = x + 1 + s * 0
    return x


def collatz(x):
    n = x.abs().sum().to(torch.int64) + 3
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return n + steps


def newton(x):
    a = x.abs() + 1
    y = a
    error = torch.ones(())
    while error > 1e-3:
        next = 0.5 * (y + a / y)
        error = (next - y).abs().max()
        y = next
    return y


def for_item(x):
    n = (x > 0).sum().item()
    for i in range(n):
        x = x * 2 + i
    return x


def for_item_start(x):
    n = (x > 0).sum().item()
    total = torch.zeros(())
    for i in range(1, n + 3, 2):
        total = total + i
    return total + x


def for_item_break(x):
    n = (x > -5).sum().item()
    for i in range(n):
        x = x + 1
        if x.sum() > 4:
            break
    return x


def for_item_return(x):
    n = (x > -5).sum().item()
    for i in range(n):
        x = x + i
        if x.sum() > 4:
            return x * 100
    return x


def for_item_index(x):
    n = (x > 0).sum().item()
    total = torch.zeros(())
    for i in range(n):
        total = total + x[i]
    return total


def for_rows(x):
    kept = x[x > 0]
    total = torch.zeros(())
    for v in kept:
        total = total * 2 + v
    return total


def write_in_branch(x):
    y = x.clone()
    if x.sum() > 0:
        y.add_(1)
    else:
        y[0] = 7
    return y * 2


def write_through_view(x):
    y = x.clone()
    head = y[:2]
    if x.sum() > 0:
        head.mul_(3)
    return y


def write_in_loop(x):
    out = torch.zeros(W)
    n = (x > 0).sum().item()
    for i in range(n):
        out[i] = x[i] + i
    return out


def loop_by_writing(x):
    y = x.clone()
    while y.sum() < 5:
        y.add_(1)
    return y


def list_of_states(x):
    states = [x, x + 1]
    n = torch.zeros(())
    while n < 3:
        states = [states[1], states[0] + states[1]]
        n = n + 1
    return states[0] + states[1]


def append_on_both_sides(x):
    parts = []
    if x.sum() > 0:
        parts.append(x)
    else:
        parts.append(-x)
    parts.append(x * 2)
    return torch.stack(parts)


def assertion(x):
    assert x.sum() > -1000, "too small"
    return x + 1


def raise_on_data(x):
    if x.sum() < -1000:
        raise ValueError("too small")
    return x + 1


def closure(x):
    scale = 2.0

    def step(v):
        if v.sum() > 0:
            return v * scale
        return v / scale

    return step(step(x))


def recursion(x, depth=3):
    if depth == 0:
        return x
    if x.sum() > 2:
        return x * 10
    return recursion(x + 1, depth - 1)


def lazy_value(x):
    y = None
    if x.sum() > 0:
        y = x
        z = y + 1
    else:
        z = x - 1
    return z


def generator_in_branch(x):
    if x.sum() > 0:
        return sum(x * i for i in range(3))
    return sum([x + i for i in range(2)])


def cond_function(x):
    return torch.cond(x.sum() > 0, lambda v: v + 1, lambda v: v * 2, (x,))


def size_and_data(x):
    if x.shape[0] > 2 and x.sum() > 0:
        return x + x.shape[0]
    return x


class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(()))
        self.register_buffer("scale", torch.full((W,), 2.0))
        self.last = None

    def step(self, h):
        if h.sum() > 0:
            return h * self.scale
        return h - self.scale

    def forward(self, x):
        h = x
        while h.abs().sum() < 20:
            h = self.step(h) + 0.25
            self.count += 1
        return h, self.count * 1


class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.ReLU()
        self.b = nn.Tanh()
        self.state = torch.zeros(W)

    def forward(self, x):
        if x.sum() > 0:
            self.state = self.a(x)
        else:
            self.state = self.b(x)
        return self.state + 1


def map_over(x):
    rows = x.reshape(2, 2) * 1
    return control_flow.map(lambda row, y: {"a": row * y.sum(), "b": (row.sum(),)}, rows, x)["b"][0]


def map_in_map(x):
    rows = x.reshape(2, 2) * 1
    return higher_order.map(lambda row: higher_order.map(lambda y: y.exp() + x.sum() + row.cos(), row * 2), rows)


def scan_over(x):
    def step(carry, y):
        total, product = carry
        return (total + y, product * y.cos()), {"t": total * 2, "p": product + 1}

    last, results = higher_order.scan(step, (torch.zeros(()), torch.ones(())), x, reverse=True)
    return last[0], last[1], results["t"], results["p"]


def scan_columns(x):
    w = x.relu()

    def step(carry, y):
        carry = torch.where(carry.sum() > 0, torch.tanh(carry + y), carry - w[:2])
        return carry, carry * 2

    last, results = scan(step, torch.zeros(2), x.reshape(2, 2) * 1, dim=1)
    return last, results


def associative(x):
    def combine(a, b):
        return a[0] * b[0], a[1] * b[0] + b[1]

    return associative_scan(combine, (x.reshape(2, 2), x.reshape(2, 2) + 1), 1, combine_mode="generic")


@torch.autocast("cpu", enabled=False)
def decorated(x):
    if x.max() > 1:
        x = x.clamp(max=1)
    return x


class Meter:
    """State in an object of the function's own, which branches write through a property."""

    def __init__(self, start):
        self._value, self.steps = start, 0

    @property
    def value(self):
        return self._value

    @value.setter
    def value(self, new):
        self._value = new * 2

    def __iadd__(self, other):
        self.value = self._value + other
        return self


def properties(x):
    meter = Meter(x.sum())
    if meter.value > 0:
        meter += x[0]
    else:
        meter.value = x[1]
    return meter.value


def keywords(x, *rest, scale=2.0, **options):
    def apply(*, y, bias=0.0):
        return y * scale + bias

    if x.mean() > 0:
        return apply(y=x, bias=options.get("bias", 1.0))
    return apply(y=x.neg())


def while_over_tuple(x):
    pair = (x, x.abs())
    while pair[1].sum() > 1:
        low, high = pair
        pair = (low / 2, high * 0.5)
    return pair


def power_iteration(x):
    m = torch.outer(x, x) + torch.eye(4)
    v, before, rounds = torch.ones(4), torch.zeros(4), 0
    while (v - before).abs().max() > 1e-3 and rounds < 50:
        before = v
        v = m @ v
        v = v / v.norm()
        rounds += 1
    return v.abs()


def bisection(x):
    low, high = x.min() - 1, x.max() + 1
    for _ in range(12):
        middle = (low + high) / 2
        if (x - middle).sum() > 0:
            low = middle
        else:
            high = middle
    return low, high


def match_on_size(x):
    match x.shape[0], x.dim():
        case 4, 1:
            y = x * 2
        case _:
            y = x
    if y.sum() > 0:
        y = y - y.mean()
    return y


def try_in_branch(x):
    try:
        if x.sum() > 0:
            y = x.log1p().nan_to_num()
        else:
            y = x.exp()
    except RuntimeError:
        y = x
    finally:
        y = y + 1
    return y


def counting(x):
    n = 0
    total = x * 0
    while total.sum().abs() < 3:
        total = total + x.abs() + 0.1
        n += 1
        if n >= 6:
            break
    return total, torch.tensor(n) if isinstance(n, int) else n


def dict_of_branches(x):
    table = {"up": lambda t: t + 1, "down": lambda t: t - 1}
    name = "up" if x.dim() == 1 else "down"
    result = {}
    for key, function in table.items():
        result[key] = function(x) if key == name else x
    if result["up"].sum() > result["down"].sum() + 3:
        return result["up"]
    return result["down"]


def sorted_swap(x):
    values = [x[i] for i in range(4)]
    for i in range(4):
        for j in range(3 - i):
            if values[j] > values[j + 1]:
                values[j], values[j + 1] = values[j + 1], values[j]
    return torch.stack(values)


def running_maximum(x):
    best = x[0]
    kept = []
    for value in x.unbind():
        if value > best:
            best = value
        kept.append(best * 1)
    return torch.stack(kept)


def with_context(x):
    with torch.no_grad(), torch.inference_mode():
        if (x > 0).all():
            y = x.sqrt()
        elif (x > 0).any():
            y = x.relu()
        else:
            y = -x
    return y


def gcd_by_tensors(x):
    a, b = (x[0].abs() * 100).to(torch.int64) + 1, (x[1].abs() * 100).to(torch.int64) + 1
    while b != 0:
        a, b = b, a % b
    return a
