import functools
import random
import numpy as np
import torch
from torch import nn
from torch.utils._pytree import tree_map
import torch.nn.functional as F
from torch.distributions import Normal, kl_divergence


class Mlp(nn.Module):
    def __init__(self, width=8, depth=2):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(width, width) for _ in range(depth)])
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        for layer in self.layers:
            x = F.relu(layer(x)) + x
        return self.norm(x)


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, stride=2, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(8)
        self.pool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(8, 5)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn(self.conv(x)), inplace=True), 2)
        x = self.pool(x)
        x = torch.flatten(x, 1)
        return self.fc(x)


class Cell(nn.Module):
    def __init__(self, n=4):
        super().__init__()
        self.ih = nn.Linear(n, 4 * n)
        self.hh = nn.Linear(n, 4 * n)

    def forward(self, x, h, c):
        outs = []
        for t in range(x.shape[0]):
            i, f, g, o = (self.ih(x[t]) + self.hh(h)).chunk(4, 1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
            outs.append(h)
        return torch.stack(outs), (h, c)


class Attention(nn.Module):
    def __init__(self, dim=8, heads=2):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)
        self.register_buffer("mask", torch.tril(torch.ones(16, 16)).bool(), persistent=False)

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.qkv(x).reshape(b, n, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        att = (q @ k.transpose(-2, -1)) * (d // self.heads) ** -0.5
        att = att.masked_fill(~self.mask[:n, :n], float("-inf")).softmax(-1)
        y = (att @ v).transpose(1, 2).reshape(b, n, d)
        return {"y": self.out(y), "att": att}


class Tagger(nn.Module):
    def __init__(self, words=11, width=6, tags=3):
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.lstm = nn.LSTM(width, width, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * width, tags)

    def forward(self, words):
        states, _ = self.lstm(self.embed(words))
        return self.out(states).log_softmax(-1)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, norm_first=True, activation="gelu")
        self.encoder = nn.TransformerEncoder(layer, 2)
        rates = [r.item() for r in torch.linspace(0, 0.1, 3)]
        self.scale = sum(rates)

    def forward(self, x):
        y = self.encoder(x)
        if y.shape[1] > 2:
            y = y[:, 1:-1]
        return y * self.scale, x.mean(dim=(1, 2))


class Inplace(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(3))

    def forward(self, x):
        y = x.clone()
        y[:, 0] = 1.0
        y[:, 1:] += 2
        y.mul_(self.count + 1)
        index = torch.tensor([2, 0])
        return y[:, index], y[..., None].expand(-1, -1, 2), torch.where(y > 1, y, -y), x.max(dim=1).values


class Mixed(nn.Module):
    """Autocast: regions within regions, as a decorator, over branches, composite operators and writes."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)
        self.rnn = nn.LSTM(4, 4)

    @torch.autocast("cpu", dtype=torch.bfloat16)
    def project(self, x):
        assert torch.is_autocast_enabled("cpu") and torch.get_autocast_dtype("cpu") == torch.bfloat16
        return self.second(x) if x.shape[0] > 1 else x

    def forward(self, x):
        y = self.first(x)
        with torch.autocast("cpu"):
            z = torch.softmax(torch.einsum("bij,bkj->bik", y, y), -1)
            with torch.amp.autocast("cpu", enabled=False):
                exact = z.float() @ y
            joined = torch.cat([exact, self.second(y)], dim=1).reshape(x.shape[0], -1)
            joined = joined + torch.cond(joined.sum() > 0, lambda a: a * 2, lambda a: a - 1, (joined,))
            with torch.autocast("cpu"):
                pass
            y.mul_(2)
        with torch.autocast("cuda", dtype=torch.float16):
            same = y + 1
        return z, exact, joined, self.project(y), self.rnn(y)[0], same


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2


class Library(nn.Module):
    # Parametrizations, hooks, buffers, modules under two names, dtypes, constants of numpy, sizes that depend on data.
    def __init__(self):
        super().__init__()
        self.conv = nn.utils.parametrizations.weight_norm(nn.Conv1d(4, 6, 3, padding=1), dim=2)
        self.old = nn.utils.weight_norm(nn.Linear(6, 5))
        self.old.register_forward_hook(lambda module, args, out: out * 2)
        self.scale = nn.Buffer(torch.ones(5))
        self.shared = nn.Linear(5, 5)
        self.shared.register_forward_pre_hook(lambda module, args: (args[0] + 1,))
        self.twin = self.shared
        self.last = nn.Linear(5, 3).double()
        found, counts = torch.unique(torch.tensor([3, 1, 3, 2, 1]), return_counts=True)
        self.groups = len(found) * counts.tolist()[0]
        self.register_buffer("table", torch.from_numpy(np.outer(np.arange(3), np.linspace(0, 1, 3))).float(), persistent=False)

    def forward(self, x):
        y = self.old(self.conv(x).transpose(1, 2)) * self.scale
        y = Doubled.apply(self.twin(self.shared(y))) * self.groups
        z = self.last(y.double()).float() @ self.table
        return tree_map(lambda t: t + 1, {"y": y, "z": (z, z[..., :1])})


class Losses(nn.Module):
    # Every loss of torch.nn; weights are buffers.
    def __init__(self):
        super().__init__()
        weight = torch.linspace(0.5, 1.5, 5)
        self.pairs = nn.ModuleList([
            nn.MSELoss(), nn.L1Loss(reduction="sum"), nn.SmoothL1Loss(beta=0.5), nn.HuberLoss("none", 0.7), nn.MSELoss(False),
            nn.BCEWithLogitsLoss(weight, pos_weight=weight + 1), nn.KLDivLoss(reduction="batchmean"), nn.SoftMarginLoss(),
            nn.PoissonNLLLoss(full=True), nn.HingeEmbeddingLoss(0.3), nn.MultiLabelSoftMarginLoss(weight),
        ])
        self.classes = nn.ModuleList([
            nn.CrossEntropyLoss(weight, label_smoothing=0.1), nn.CrossEntropyLoss(weight, None, 2), nn.NLLLoss(ignore_index=1),
            nn.MultiMarginLoss(2, 0.8, weight),
        ])
        self.triplets = nn.ModuleList([
            nn.TripletMarginLoss(0.4, swap=True), nn.TripletMarginWithDistanceLoss(margin=2.0, swap=True),
            nn.TripletMarginWithDistanceLoss(distance_function=nn.PairwiseDistance(1.0)),
        ])

    def forward(self, x, y, labels):
        signs = torch.where(y[:, 0] > 0, 1.0, -1.0)
        found = [loss(x, y.sigmoid()) for loss in self.pairs]
        found += [loss(x.log_softmax(-1), labels) for loss in self.classes]
        found += [loss(x, y, x.flip(0)) for loss in self.triplets]
        found += [F.gaussian_nll_loss(x, y, (x * x)[:, 0], full=True), F.binary_cross_entropy(x.sigmoid(), y.sigmoid(), reduction="none")]
        found += [F.cosine_embedding_loss(x, y, signs, 0.1), F.margin_ranking_loss(x, y, signs[:, None], reduction="sum")]
        found += [F.multilabel_margin_loss(x, labels[:, None].expand(-1, 5)), F.mse_loss(x, y, weight=y * y)]
        scores = x.log_softmax(-1)[:, None]
        found += [F.ctc_loss(scores, labels[None, :2] % 4 + 1, (4,), (2,)), nn.CTCLoss(zero_infinity=True)(scores, labels[:2] % 4 + 1, torch.tensor([4]), torch.tensor([2]))]
        pooled, at = F.max_pool1d(x[None], 2, return_indices=True)
        found += [nn.MaxUnpool1d(2)(pooled, at), nn.LPPool1d(2, 2)(x[None]), nn.RReLU().eval()(x), torch.tensor(float(torch.result_type(y, 1) == x.dtype))]
        return found


def constants(x):
    # What is computed of `torch.tensor` alone is known, until it is written.
    n = torch.tensor(3)
    length = torch.ceil(n * x.shape[-1] / 7).long()
    y = x[..., :length].clamp(-1, length / 4).view(2, length)
    if n > 2:
        y = y + int(torch.tensor([4, 5])[1])
    parts = torch.tensor([1.0, 2.0, 3.0])
    first = float(parts[0])
    parts[:2].mul_(2)
    n.unsqueeze(0).add_(1)
    return y * first * n, parts[0] + x


def function(x, y):
    total = x
    for _ in range(3):
        total = total * y + 1
    return total.sum(-1), [total, {"shape": x.shape[0] * 2}]


def layouts(x):
    # What a tensor tells of its storage, and tensors made of data.
    y = x.transpose(0, 1)
    image = x.reshape(2, 2, 3, 1)
    last = image.to(memory_format=torch.channels_last)
    told = [
        y.is_contiguous(), x.is_contiguous(), image.is_contiguous(), last.is_contiguous(), x[:, :2].is_contiguous(),
        last.is_contiguous(memory_format=torch.channels_last), x.type() == "torch.FloatTensor", x.is_cpu,
        x.new(y.shape).shape == y.shape, torch.distributions.Laplace(x, 1.0).sample((2,)).shape == (2, *x.shape),
    ]
    strides = y.stride() + last.stride() + last.dim_order() + (x.nbytes, x[:, 0].stride(0))
    made = x.new_tensor([1, 2, 3.5]) + x.new_tensor(2) + x.new([1, 2, 3]) + torch.Tensor([1, 2, 3])
    rows, columns = torch.unravel_index(torch.arange(6), (2, 3))
    x[[0, 2]] = 1.0
    return x + made, torch.tensor(told), torch.tensor(strides), rows - columns, y.H @ y, y.mH


class Critic(nn.Module):
    # Spectral norms of both kinds, distributions, results with names, names of numpy.
    def __init__(self):
        super().__init__()
        self.conv = nn.utils.spectral_norm(nn.ConvTranspose1d(2, 3, 3))
        self.old = nn.utils.spectral_norm(nn.Linear(6, 4))
        self.new = nn.utils.parametrizations.spectral_norm(nn.Linear(4, 5))
        self.bias = nn.utils.parametrizations.spectral_norm(nn.LayerNorm(5), "bias")

    def forward(self, x):
        y = self.bias(self.new(self.old(self.conv(x))))
        best = torch.max(y, axis=-1, keepdims=True)
        u, s, v = torch.linalg.svd(y @ y.mT)
        p = torch.distributions.Categorical(logits=y)
        n = Normal(y, y.exp())
        b = torch.distributions.Bernoulli(probs=y.sigmoid())
        i = torch.distributions.Independent(torch.distributions.Laplace(y, 2.0), 1)
        spread = torch.distributions.Uniform(-5.0, 5.0).log_prob(y) + torch.distributions.Exponential(y.exp()).log_prob(y.abs())
        spread = spread + torch.distributions.Gamma(2.0, y.exp()).log_prob(y.exp())
        apart = kl_divergence(n, Normal(0.0, 1.0)), kl_divergence(p, torch.distributions.Categorical(probs=y.exp()))
        apart += kl_divergence(b, torch.distributions.Bernoulli(0.25)), kl_divergence(i.base_dist, i.base_dist) if False else n.cdf(y + 1)
        told = p.log_prob(best.indices[..., 0]), p.entropy(), n.entropy(), n.stddev, b.log_prob(b.mean.round()), i.log_prob(y + 1)
        return best, y.median(dim=1).values, y.sort(dim=-1).indices, s, torch.aminmax(y).max, y.topk(2), spread, apart, told


class Heads(nn.Module):
    # Attention in all its forms: biases of keys, zeros, other widths, masks of both kinds, one sequence, the function itself.
    def __init__(self):
        super().__init__()
        self.own = nn.MultiheadAttention(8, 2, add_bias_kv=True, add_zero_attn=True)
        self.other = nn.MultiheadAttention(8, 2, kdim=6, vdim=6, batch_first=True, bias=False)
        self.whole = nn.Transformer(8, 2, 1, 1, 16, batch_first=True, activation="gelu")
        self.weight, self.bias, self.out = nn.Parameter(torch.randn(24, 8)), nn.Parameter(torch.randn(24)), nn.Linear(8, 8)

    def forward(self, x, y, padding):
        rows, causal = x.transpose(0, 1), nn.Transformer.generate_square_subsequent_mask(5)
        one = rows[:, 0]
        outputs = [
            self.own(rows, rows, rows, key_padding_mask=padding), self.own(rows, rows, rows, need_weights=False, attn_mask=causal),
            self.own(rows, rows.flip(0), rows.flip(0), average_attn_weights=False), self.own(one, one, one),
            self.other(x, y, y), self.other(x, y, y + 1, need_weights=False), self.other(x[0], y[0], y[0]),
            self.whole(x, x.flip(1), src_key_padding_mask=padding, memory_key_padding_mask=padding),
            self.whole(x, x, tgt_mask=causal, tgt_is_causal=True),
        ]
        options = dict(training=self.training, attn_mask=torch.ones(4, 5, 5, dtype=torch.bool).triu(2))
        packed = (self.weight, self.bias, None, None, False, 0.5, self.out.weight, self.out.bias)
        return outputs, F.multi_head_attention_forward(rows, rows, rows, 8, 2, *packed, **options)


class Odds(nn.Module):
    # Orthogonal weights, methods of the class of tensors, pooling at drawn places, a module for several devices.
    def __init__(self):
        super().__init__()
        orthogonal = nn.utils.parametrizations.orthogonal
        self.square, self.wide = orthogonal(nn.Linear(4, 4)), orthogonal(nn.Linear(6, 4))
        self.cayley, self.free = orthogonal(nn.Linear(4, 6), orthogonal_map="cayley"), orthogonal(nn.Linear(4, 6), use_trivialization=False)
        self.devices = nn.DataParallel(nn.Sequential(nn.Conv2d(1, 2, 2), nn.ReLU()))
        self.pool = nn.FractionalMaxPool2d(2, output_ratio=0.5, _random_samples=torch.rand(1, 2, 2))

    def forward(self, x):
        y = self.square(x) + self.wide(F.pad(x, (1, 1))) + self.cayley(x)[:, :4] + self.free(x)[:, 2:]
        image = self.devices(torch.Tensor.view(y, 1, 1, 5, 4))
        placed = F.fractional_max_pool2d(image, 2, (2, 2), return_indices=True, _random_samples=torch.full((1, 2, 2), 0.3))
        sums = functools.reduce(torch.Tensor.add, map(torch.Tensor.sum, [x, y]))
        known = torch.tensor([hasattr(torch.Tensor, "cumsum"), hasattr(torch.Tensor, "absent"), type(x) is torch.Tensor])
        return y, self.pool(image), placed, sums, known, torch.Tensor.matmul(x, x.t()), int(x.shape[0] > 1)


class Methods(nn.Module):
    # Views in place, methods by their special names, norms of other dtypes, numbers of Python and numpy, what maps over a batch.
    def __init__(self):
        super().__init__()
        random.seed(7)
        np.random.seed(3)
        rows = np.random.permutation(4).tolist() + np.random.randn(3).tolist() + np.random.randint(5, 9, size=4).tolist()
        drawn = [random.random(), random.choice([1, 2, 3]), np.random.rand(), *rows, *np.random.RandomState(11).normal(0, 2, (2,)).tolist()]
        self.register_buffer("drawn", torch.tensor(drawn, dtype=torch.float64), persistent=False)
        w = torch.arange(6.0).view(2, 3)
        w.t_()
        w.unsqueeze_(0)
        self.register_buffer("w", w)
        self.drop = nn.Sequential(nn.Dropout2d(0.1), nn.FeatureAlphaDropout())

    def forward(self, x, z):
        y = x.clone()
        same, flat = y, y.view(4, 3)
        y.unsqueeze_(0).transpose_(1, 2)
        y.add_(1)
        same.squeeze_()
        special = x.__radd__(z), x.__rsub__(2), x.__rdiv__(2), x.__rmatmul__(z.t()), x.__rpow__(2), x.__getitem__(0), (x > 0).__and__(z > 0)
        norms = x.norm(), x.norm(1, 0, True), torch.norm(x, p="nuc"), torch.linalg.norm(x, dtype=torch.float64), torch.norm(x, "fro", (0, 1))
        mapped = torch.vmap(lambda a, b: (a * b).sum())(x, z), torch.func.vmap(lambda a: self.w[0] @ a[:2], in_dims=1, out_dims=1)(x)
        odd = x.where(x > 0, -x), F.pad(x, (1, 1), value=True), x.polygamma(2), torch.stft(x[0].repeat(10), 8, return_complex=True).abs()
        cast = x.to(torch.float32, False, True).add_(1), x.to("cpu", torch.float64, True), x.double().type_as(x)
        told = torch.tensor([y is same, x.to(z) is x, x[1:].storage_offset() == 4, torch.broadcast_shapes((3, 1), 4) == (3, 4)])
        return y, flat, special, norms, mapped, odd, cast, told, torch.lu(z @ x.t())[0], self.drop(x), self.drawn
