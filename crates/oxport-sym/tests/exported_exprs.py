"""Writes exported_exprs.tsv: every expr_str of small exported programs <TAB> its sympy str. Run with torch 2.15."""
import io
import json
import zipfile
import torch
import torch.nn.functional as F
from torch import nn
from torch.export import Dim, export, save

D = Dim.AUTO


class M(nn.Module):
    def __init__(self, f):
        super().__init__()
        self.f = f
        self.conv = nn.Conv2d(3, 4, 3, stride=2, padding=1)
        self.convt = nn.ConvTranspose2d(3, 4, 4, stride=2, padding=1)
        self.lin = nn.Linear(6, 5)

    def forward(self, *a):
        return self.f(self, *a)


img, mat = torch.randn(2, 3, 16, 20), torch.randn(4, 6)
CASES = [
    (lambda m, x: m.conv(x), (img,)),
    (lambda m, x: F.max_pool2d(F.relu(m.conv(x)), 3, 2), (img,)),
    (lambda m, x: F.max_pool2d(x, 3, 2, ceil_mode=True), (img,)),
    (lambda m, x: F.avg_pool2d(m.conv(m.conv(x)[:, :3]), 2), (img,)),
    (lambda m, x: m.convt(x), (img,)),
    (lambda m, x: F.interpolate(x, scale_factor=2.0), (img,)),
    (lambda m, x: F.interpolate(x, scale_factor=0.5, mode="bilinear"), (img,)),
    (lambda m, x: F.interpolate(x, size=(x.shape[2] // 2, x.shape[3] * 3)), (img,)),
    (lambda m, x: x.flatten(1), (img,)),
    (lambda m, x: x.reshape(x.shape[0], -1, x.shape[3] * 2), (img,)),
    (lambda m, x: F.pixel_unshuffle(x, 2), (img,)),
    (lambda m, x: F.pad(x, (1, 2, 3, 0)), (img,)),
    (lambda m, x: x.unfold(2, 3, 2), (img,)),
    (lambda m, x: F.unfold(x, 3, stride=2), (img,)),
    (lambda m, x: x[:, :, ::2, 1:-1], (img,)),
    (lambda m, x: x[:, :, x.shape[2] // 3 : -2], (img,)),
    (lambda m, x: torch.cat([x, x[:, :, 1:]], 2), (img,)),
    (lambda m, x: x.chunk(3, 3)[0], (img,)),
    (lambda m, x: F.conv2d(x, torch.ones(3, 1, 3, 3), groups=3, dilation=2), (img,)),
    (lambda m, x: torch.roll(x, x.shape[2] // 2, 2), (img,)),
    (lambda m, x: m.lin(x), (mat,)),
    (lambda m, x: torch.cat([x, x + 1], 0).view(-1, 3), (mat,)),
    (lambda m, x, y: x @ y.T, (mat, torch.randn(7, 6))),
    (lambda m, x, y: torch.cat([x, y]), (mat, torch.randn(7, 6))),
    (lambda m, x: x.nonzero(), (mat,)),
    (lambda m, x: x[x > 0], (mat,)),
    (lambda m, x: torch.arange(x.shape[0] * 2 + 1), (mat,)),
    (lambda m, x: torch.arange(0, x.shape[0], 3), (mat,)),
    (lambda m, x: x.repeat(2, 3), (mat,)),
    (lambda m, x: x.expand(3, *x.shape).reshape(-1), (mat,)),
    (lambda m, x: x.tril().sum(0) * x.shape[0], (mat,)),
    (lambda m, x: x * (x.shape[0] / 3), (mat,)),
    (lambda m, x: x * (x.shape[0] ** 0.5), (mat,)),
    (lambda m, x: x.new_zeros(int(x.shape[0] * 1.5)), (mat,)),
    (lambda m, x: x.new_zeros(max(x.shape[0], x.shape[1] - 1)), (mat,)),
    (lambda m, x: x.new_zeros(min(x.shape[0] * 2, x.shape[1])), (mat,)),
    (lambda m, x: x.new_zeros(x.shape[0] % 3 + 1), (mat,)),
    (lambda m, x: x.new_zeros((x.shape[0] - 1) % 3 + 1), (mat,)),
    (lambda m, x: x.new_zeros(x.shape[0] ** 2, x.shape[0] << 2, x.shape[0] >> 1), (mat,)),
    (lambda m, x: x.new_zeros(torch.sym_max(x.shape[0], 3)), (mat,)),
    (lambda m, x: x.new_zeros(x.argmax().item() + 1), (mat,)),
    (lambda m, x: (torch._check(x.argmax().item() < x.shape[0]), x[: x.argmax().item()])[1], (mat,)),
    (lambda m, x: torch.nn.functional.scaled_dot_product_attention(x[None], x[None], x[None], is_causal=True), (mat,)),
    (lambda m, x, n: x.new_zeros(n * 2 - 1), (mat, 5)),
    (lambda m, x, n: x.narrow(0, 0, n), (mat, 3)),
    (lambda m, x: torch.stft(x, 4, 2, return_complex=True, window=torch.ones(4)), (torch.randn(2, 32),)),
    (lambda m, x: F.adaptive_avg_pool2d(x, 4), (img,)),
    (lambda m, x: x.unflatten(1, (1, -1)).movedim(2, -1), (img,)),
    (lambda m, x: torch.bincount(x.long().abs().flatten()), (mat,)),
    (lambda m, x: x.repeat_interleave(2, 0), (mat,)),
    (lambda m, x: torch.cumsum(x, 0)[-1:, : x.shape[1] // 2], (mat,)),
    (lambda m, x: torch.linspace(0, 1, x.shape[0] + 2), (mat,)),
    (lambda m, x: F.fold(F.unfold(x, 2, stride=2), (x.shape[2] // 2 * 2, x.shape[3] // 2 * 2), 2, stride=2), (img,)),
    (lambda m, x: x.as_strided((x.shape[0] - 1, 2), (x.shape[1], 1)), (mat,)),
]


def strings(o):
    if isinstance(o, dict):
        for k, v in o.items():
            if k == "expr_str":
                yield v
            else:
                yield from strings(v)
    elif isinstance(o, list):
        for v in o:
            yield from strings(v)


import sympy
from torch.utils._sympy import functions as TF

names = {}
for k in dir(TF):
    if isinstance(getattr(TF, k), type):
        names[k] = getattr(TF, k)
rows = {}
for i, (f, args) in enumerate(CASES):
    for strict_dims in (True, False):
        try:
            shapes = tuple(tuple(D for _ in a.shape) if isinstance(a, torch.Tensor) else (D if not strict_dims else None) for a in args)
            ep = export(M(f), args, dynamic_shapes=(shapes,), strict=False)
            b = io.BytesIO()
            save(ep, b)
            z = zipfile.ZipFile(b)
            j = json.loads(z.read(next(n for n in z.namelist() if n.endswith("models/model.json"))))
            for s in strings(j):
                rows.setdefault(s, str(sympy.sympify(s, locals=names)))
        except Exception as e:
            print(i, type(e).__name__, str(e)[:150].replace("\n", " "))
with open(__file__.replace(".py", ".tsv"), "w") as out:
    for k, v in rows.items():
        out.write(f"{k}\t{v}\n")
print(len(rows))
