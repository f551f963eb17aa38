# Worked examples: `worked/*.txt` holds the program of each. `fixtures/capture_models.py worked` writes those that
# torch.export can make; `early` and `forked`, which it refuses, are ours.
import torch
from torch import nn


class LstmCell(nn.Module):
    def __init__(self, inputs, hidden):
        super().__init__()
        self.gates = nn.Linear(inputs + hidden, 4 * hidden)

    def forward(self, x, state):
        h, c = state
        i, f, g, o = self.gates(torch.cat([x, h], 1)).chunk(4, 1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
        return h, (h, c)


class Lstm(nn.Module):
    """A loop over time."""

    def __init__(self):
        super().__init__()
        self.cell = LstmCell(4, 3)

    def forward(self, xs, h, c):
        outputs = []
        state = (h, c)
        for x in xs.unbind(0):
            output, state = self.cell(x, state)
            outputs.append(output)
        return torch.stack(outputs), state


def early(x, n=3):
    """`if`, `for` and `while` over data, with early returns."""
    if x.sum() > 100:
        return x - 1
    for i in range(n):
        x = x * 2 + i
        if x.max() > 50:
            return x
    while x.sum() < 10:
        x = x + 1
    return -x


class Scale(nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor
        self.shift = nn.Parameter(torch.zeros(3))

    def scaled(self, x, times=1):
        return x * (self.factor * times)

    def forward(self, x):
        return self.scaled(x) + self.shift


class Nested(nn.Module):
    """Modules in modules, with attributes and several methods."""

    sign = -1.0

    def __init__(self):
        super().__init__()
        self.first = Scale(2.0)
        self.rest = nn.ModuleDict({"a": Scale(0.5), "b": nn.Sequential(nn.Linear(3, 3), nn.ReLU())})

    @property
    def both(self):
        return [self.rest["a"], self.rest["b"]]

    def helper(self, x, *, negate=False):
        return x * self.sign if negate else x

    def forward(self, x):
        x = self.first(x)
        for module in self.both:
            x = module(x)
        return self.helper(x, negate=True) + self.first.scaled(x, times=3)


def aliasing(x):
    """Views of a tensor that is written in place."""
    y = x.clone()
    row, column = y[0], y[:, 1]
    row.add_(1)
    column.mul_(row.sum())
    y[1:, :2] = 7.0
    return y, row * column.sum()


def forked(x):
    """`fork` and `wait` are captured as sequential code."""

    def side(t, scale):
        return (t * scale).sum(0)

    future = torch.jit.fork(side, x, 3.0)
    other = x.exp()
    return other + torch.jit.wait(future)


def defaults(x, scale=2.0, offset=None, *, negate=False):
    """Placeholders with defaults that the call leaves out."""
    x = x * scale
    if offset is not None:
        x = x + offset
    return -x if negate else x


class Choice(nn.Module):
    """`cond` over submodules."""

    def __init__(self):
        super().__init__()
        self.small = nn.Linear(3, 2)
        self.large = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))

    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: self.large(x), lambda x: self.small(x) * 2, (x,))


INPUTS = {
    "Lstm": {"xs": (2, 5, 4), "h": (5, 3), "c": (5, 3)},
    "Nested": {"x": (2, 3)},
    "aliasing": {"x": (3, 3)},
    "defaults": {"x": (2, 3)},
    "Choice": {"x": (2, 3)},
}
