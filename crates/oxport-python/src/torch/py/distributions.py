# torch.distributions: the common ones. Arguments are not validated.

import math

import torch
from torch import nan
from torch.nn import functional as F


def _broadcast(*values):
    like = next((value for value in values if isinstance(value, torch.Tensor)), None)
    dtype = torch.get_default_dtype() if like is None else like.dtype
    made = [value if isinstance(value, torch.Tensor) else torch.tensor(value, dtype=dtype) for value in values]
    return torch.broadcast_tensors(*made)


def _sum_last(value, count):
    return value if count == 0 else value.reshape(value.shape[:-count] + (-1,)).sum(-1)


class Distribution:
    has_rsample = False
    has_enumerate_support = False
    arg_constraints = {}

    @staticmethod
    def set_default_validate_args(value):
        return None

    def __init__(self, batch_shape=(), event_shape=(), validate_args=None):
        self._batch_shape, self._event_shape = torch.Size(batch_shape), torch.Size(event_shape)

    @property
    def batch_shape(self):
        return self._batch_shape

    @property
    def event_shape(self):
        return self._event_shape

    def _extended_shape(self, sample_shape=()):
        return torch.Size(tuple(sample_shape) + tuple(self._batch_shape) + tuple(self._event_shape))

    def sample(self, sample_shape=()):
        return self.rsample(sample_shape)

    def rsample(self, sample_shape=()):
        raise NotImplementedError(f"{type(self).__name__}.rsample is not supported")

    def sample_n(self, n):
        return self.sample((n,))

    @property
    def stddev(self):
        return self.variance.sqrt()

    def perplexity(self):
        return torch.exp(self.entropy())


class _LocScale(Distribution):
    has_rsample = True

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = _broadcast(loc, scale)
        super().__init__(self.loc.shape)

    def expand(self, batch_shape):
        return type(self)(self.loc.expand(batch_shape), self.scale.expand(batch_shape))

    @property
    def mean(self):
        return self.loc

    @property
    def mode(self):
        return self.loc


class Normal(_LocScale):
    @property
    def stddev(self):
        return self.scale

    @property
    def variance(self):
        return self.stddev.pow(2)

    def sample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        return torch.normal(self.loc.expand(shape), self.scale.expand(shape))

    def rsample(self, sample_shape=()):
        drawn = torch.empty(self._extended_shape(sample_shape), dtype=self.loc.dtype).normal_()
        return self.loc + drawn * self.scale

    def log_prob(self, value):
        return -((value - self.loc) ** 2) / (2 * self.scale ** 2) - self.scale.log() - math.log(math.sqrt(2 * math.pi))

    def cdf(self, value):
        return 0.5 * (1 + torch.erf((value - self.loc) * self.scale.reciprocal() / math.sqrt(2)))

    def icdf(self, value):
        return self.loc + self.scale * torch.erfinv(2 * value - 1) * math.sqrt(2)

    def entropy(self):
        return 0.5 + 0.5 * math.log(2 * math.pi) + torch.log(self.scale)


class Laplace(_LocScale):
    @property
    def variance(self):
        return 2 * self.scale.pow(2)

    @property
    def stddev(self):
        return 2 ** 0.5 * self.scale

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        drawn = self.loc.new(shape).uniform_(torch.finfo(self.loc.dtype).eps - 1, 1)
        return self.loc - self.scale * drawn.sign() * torch.log1p(-drawn.abs())

    def log_prob(self, value):
        return -torch.log(2 * self.scale) - torch.abs(value - self.loc) / self.scale

    def cdf(self, value):
        return 0.5 - 0.5 * (value - self.loc).sign() * torch.expm1(-(value - self.loc).abs() / self.scale)

    def entropy(self):
        return 1 + torch.log(2 * self.scale)


class Uniform(Distribution):
    has_rsample = True

    def __init__(self, low, high, validate_args=None):
        self.low, self.high = _broadcast(low, high)
        super().__init__(self.low.shape)

    def expand(self, batch_shape):
        return Uniform(self.low.expand(batch_shape), self.high.expand(batch_shape))

    @property
    def mean(self):
        return (self.high + self.low) / 2

    @property
    def stddev(self):
        return (self.high - self.low) / 12 ** 0.5

    @property
    def variance(self):
        return (self.high - self.low).pow(2) / 12

    def rsample(self, sample_shape=()):
        drawn = torch.rand(self._extended_shape(sample_shape), dtype=self.low.dtype)
        return self.low + drawn * (self.high - self.low)

    def log_prob(self, value):
        inside = self.low.le(value).type_as(self.low).mul(self.high.gt(value).type_as(self.low))
        return torch.log(inside) - torch.log(self.high - self.low)

    def entropy(self):
        return torch.log(self.high - self.low)


class Exponential(Distribution):
    has_rsample = True

    def __init__(self, rate, validate_args=None):
        (self.rate,) = _broadcast(rate)
        super().__init__(self.rate.shape)

    @property
    def mean(self):
        return self.rate.reciprocal()

    stddev = mean

    @property
    def variance(self):
        return self.rate.pow(-2)

    def rsample(self, sample_shape=()):
        return self.rate.new(self._extended_shape(sample_shape)).exponential_() / self.rate

    def log_prob(self, value):
        return self.rate.log() - self.rate * value

    def entropy(self):
        return 1.0 - torch.log(self.rate)


class Gamma(Distribution):
    def __init__(self, concentration, rate, validate_args=None):
        self.concentration, self.rate = _broadcast(concentration, rate)
        super().__init__(self.concentration.shape)

    @property
    def mean(self):
        return self.concentration / self.rate

    @property
    def variance(self):
        return self.concentration / self.rate.pow(2)

    def log_prob(self, value):
        value = torch.as_tensor(value, dtype=self.rate.dtype)
        return (torch.xlogy(self.concentration, self.rate) + torch.xlogy(self.concentration - 1, value) - self.rate * value
                - torch.lgamma(self.concentration))

    def entropy(self):
        return (self.concentration - torch.log(self.rate) + torch.lgamma(self.concentration)
                + (1.0 - self.concentration) * torch.digamma(self.concentration))


class _ByProbability(Distribution):
    # Probabilities or logits, each computed of the other where it is asked for.
    is_binary = False

    def _set(self, probs, logits):
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        self._probs, self._logits = probs, logits
        self._param = logits if probs is None else probs

    @property
    def probs(self):
        if self._probs is None:
            self._probs = torch.sigmoid(self._logits) if self.is_binary else F.softmax(self._logits, dim=-1)
        return self._probs

    @property
    def logits(self):
        if self._logits is None:
            eps = torch.finfo(self._probs.dtype).eps
            probs = self._probs.clamp(min=eps, max=1 - eps)
            self._logits = torch.log(probs) - torch.log1p(-probs) if self.is_binary else torch.log(probs)
        return self._logits

    @property
    def param_shape(self):
        return self._param.shape


class Bernoulli(_ByProbability):
    is_binary = True

    def __init__(self, probs=None, logits=None, validate_args=None):
        self._set(*(None if value is None else _broadcast(value)[0] for value in (probs, logits)))
        super().__init__(self._param.shape)

    @property
    def mean(self):
        return self.probs

    @property
    def variance(self):
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape=()):
        return torch.bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value):
        logits, value = _broadcast(self.logits, value)
        return -F.binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self):
        return F.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")


class Categorical(_ByProbability):
    def __init__(self, probs=None, logits=None, validate_args=None):
        if probs is not None:
            probs = probs / probs.sum(-1, keepdim=True)
        if logits is not None:
            logits = logits - logits.logsumexp(dim=-1, keepdim=True)
        self._set(probs, logits)
        self._num_events = self._param.shape[-1]
        super().__init__(self._param.shape[:-1])

    @property
    def mean(self):
        return torch.full(self._extended_shape(), nan, dtype=self.probs.dtype)

    variance = mean

    @property
    def mode(self):
        return self.probs.argmax(dim=-1)

    def sample(self, sample_shape=()):
        sample_shape = torch.Size(sample_shape)
        drawn = torch.multinomial(self.probs.reshape(-1, self._num_events), sample_shape.numel(), True).T
        return drawn.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value):
        value, logits = torch.broadcast_tensors(value.long().unsqueeze(-1), self.logits)
        return logits.gather(-1, value[..., :1]).squeeze(-1)

    def entropy(self):
        logits = torch.clamp(self.logits, min=torch.finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)


class Independent(Distribution):
    def __init__(self, base_distribution, reinterpreted_batch_ndims, validate_args=None):
        shape = tuple(base_distribution.batch_shape) + tuple(base_distribution.event_shape)
        split = len(shape) - reinterpreted_batch_ndims - len(base_distribution.event_shape)
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, reinterpreted_batch_ndims
        self.has_rsample = base_distribution.has_rsample
        super().__init__(shape[:split], shape[split:])

    @property
    def mean(self):
        return self.base_dist.mean

    @property
    def mode(self):
        return self.base_dist.mode

    @property
    def variance(self):
        return self.base_dist.variance

    def sample(self, sample_shape=()):
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape=()):
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value):
        return _sum_last(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self):
        return _sum_last(self.base_dist.entropy(), self.reinterpreted_batch_ndims)


def kl_divergence(p, q):
    if isinstance(p, Normal) and isinstance(q, Normal):
        ratio = (p.scale / q.scale).pow(2)
        return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())
    if isinstance(p, Bernoulli) and isinstance(q, Bernoulli):
        one = p.probs * (F.softplus(-q.logits) - F.softplus(-p.logits))
        one[q.probs == 0] = math.inf
        one[p.probs == 0] = 0
        other = (1 - p.probs) * (F.softplus(q.logits) - F.softplus(p.logits))
        other[q.probs == 1] = math.inf
        other[p.probs == 1] = 0
        return one + other
    if isinstance(p, Categorical) and isinstance(q, Categorical):
        terms = p.probs * (p.logits - q.logits)
        terms[(q.probs == 0).expand_as(terms)] = math.inf
        terms[(p.probs == 0).expand_as(terms)] = 0
        return terms.sum(-1)
    if isinstance(p, Independent) and isinstance(q, Independent):
        return _sum_last(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)
    raise NotImplementedError(f"kl_divergence of {type(p).__name__} and {type(q).__name__} is not supported")
