# Layers without windows: linear, norms, activations, embeddings, dropout, shapes, losses.

import math

import torch
import torch.nn.functional as F
from torch.nn import init
from torch.nn.module import Module, Identity  # noqa: F401
from torch._C import Parameter
from torch.nn.modules.utils import _ntuple, _pair


class Linear(Module):
    def __init__(self, in_features, out_features, bias=True, device=None, dtype=None):
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(torch.empty((out_features, in_features), dtype=dtype))
        if bias:
            self.bias = Parameter(torch.empty(out_features, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self):
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input):
        return F.linear(input, self.weight, self.bias)


class NonDynamicallyQuantizableLinear(Linear):
    pass


class Bilinear(Module):
    def __init__(self, in1_features, in2_features, out_features, bias=True, device=None, dtype=None):
        super().__init__()
        self.weight = Parameter(torch.empty((out_features, in1_features, in2_features), dtype=dtype))
        if bias:
            self.bias = Parameter(torch.empty(out_features, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        bound = 1 / math.sqrt(in1_features)
        for value in self.parameters():
            init.uniform_(value, -bound, bound)

    def forward(self, input1, input2):
        return F.bilinear(input1, input2, self.weight, self.bias)


class _NormBase(Module):
    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, device=None, dtype=None):
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        if affine:
            self.weight = Parameter(torch.ones(num_features, dtype=dtype))
            self.bias = Parameter(torch.zeros(num_features, dtype=dtype))
        else:
            self.register_parameter("weight", None)
            self.register_parameter("bias", None)
        if track_running_stats:
            self.register_buffer("running_mean", torch.zeros(num_features, dtype=dtype))
            self.register_buffer("running_var", torch.ones(num_features, dtype=dtype))
            self.register_buffer("num_batches_tracked", torch.tensor(0, dtype=torch.long))
        else:
            self.register_buffer("running_mean", None)
            self.register_buffer("running_var", None)
            self.register_buffer("num_batches_tracked", None)

    def reset_running_stats(self):
        return None

    def reset_parameters(self):
        return None

    def _check_input_dim(self, input):
        return None


class _BatchNorm(_NormBase):
    def forward(self, input):
        self._check_input_dim(input)
        average = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
        training = self.training or (self.running_mean is None and self.running_var is None)
        keeps = not self.training or self.track_running_stats
        mean = self.running_mean if keeps else None
        var = self.running_var if keeps else None
        return F.batch_norm(input, mean, var, self.weight, self.bias, training, average, self.eps)


class BatchNorm1d(_BatchNorm):
    def _check_input_dim(self, input):
        if input.dim() != 2 and input.dim() != 3:
            raise ValueError(f"expected 2D or 3D input (got {input.dim()}D input)")


class BatchNorm2d(_BatchNorm):
    def _check_input_dim(self, input):
        if input.dim() != 4:
            raise ValueError(f"expected 4D input (got {input.dim()}D input)")


class BatchNorm3d(_BatchNorm):
    def _check_input_dim(self, input):
        if input.dim() != 5:
            raise ValueError(f"expected 5D input (got {input.dim()}D input)")


class SyncBatchNorm(_BatchNorm):
    @classmethod
    def convert_sync_batchnorm(cls, module, process_group=None):
        return module


class _InstanceNorm(_NormBase):
    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=False, track_running_stats=False, device=None, dtype=None):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype)

    def forward(self, input):
        uses_input = self.training or not self.track_running_stats
        return F.instance_norm(input, self.running_mean, self.running_var, self.weight, self.bias, uses_input, self.momentum, self.eps)


class InstanceNorm1d(_InstanceNorm):
    pass


class InstanceNorm2d(_InstanceNorm):
    pass


class InstanceNorm3d(_InstanceNorm):
    pass


class LayerNorm(Module):
    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True, bias=True, device=None, dtype=None):
        super().__init__()
        if isinstance(normalized_shape, int):
            normalized_shape = (normalized_shape,)
        self.normalized_shape = tuple(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self.register_parameter("weight", None)
        self.register_parameter("bias", None)
        if elementwise_affine:
            self.weight = Parameter(torch.ones(self.normalized_shape, dtype=dtype))
            if bias:
                self.bias = Parameter(torch.zeros(self.normalized_shape, dtype=dtype))

    def reset_parameters(self):
        return None

    def forward(self, input):
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)


class RMSNorm(Module):
    def __init__(self, normalized_shape, eps=None, elementwise_affine=True, device=None, dtype=None):
        super().__init__()
        if isinstance(normalized_shape, int):
            normalized_shape = (normalized_shape,)
        self.normalized_shape = tuple(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        if elementwise_affine:
            self.weight = Parameter(torch.ones(self.normalized_shape, dtype=dtype))
        else:
            self.register_parameter("weight", None)

    def reset_parameters(self):
        return None

    def forward(self, x):
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)


class GroupNorm(Module):
    def __init__(self, num_groups, num_channels, eps=1e-5, affine=True, device=None, dtype=None):
        super().__init__()
        if num_channels % num_groups != 0:
            raise ValueError("num_channels must be divisible by num_groups")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        if affine:
            self.weight = Parameter(torch.ones(num_channels, dtype=dtype))
            self.bias = Parameter(torch.zeros(num_channels, dtype=dtype))
        else:
            self.register_parameter("weight", None)
            self.register_parameter("bias", None)

    def reset_parameters(self):
        return None

    def forward(self, input):
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)


class LocalResponseNorm(Module):
    def __init__(self, size, alpha=1e-4, beta=0.75, k=1.0):
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input):
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)


class Embedding(Module):
    def __init__(self, num_embeddings, embedding_dim, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False,
                 sparse=False, _weight=None, _freeze=False, device=None, dtype=None):
        super().__init__()
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        if padding_idx is not None and padding_idx < 0:
            padding_idx = num_embeddings + padding_idx
        self.padding_idx, self.scale_grad_by_freq, self.sparse, self.max_norm = padding_idx, scale_grad_by_freq, sparse, max_norm
        self.weight = Parameter(torch.empty((num_embeddings, embedding_dim), dtype=dtype) if _weight is None else _weight)
        if _weight is None:
            init.normal_(self.weight)

    def reset_parameters(self):
        init.normal_(self.weight)

    @classmethod
    def from_pretrained(cls, embeddings, freeze=True, padding_idx=None, **kwargs):
        rows, cols = embeddings.shape
        return cls(rows, cols, padding_idx=padding_idx, _weight=embeddings)

    def forward(self, input):
        return F.embedding(input, self.weight, self.padding_idx, self.max_norm, 2.0, self.scale_grad_by_freq, self.sparse)


class EmbeddingBag(Module):
    def __init__(self, num_embeddings, embedding_dim, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, mode="mean", sparse=False,
                 _weight=None, include_last_offset=False, padding_idx=None, device=None, dtype=None):
        super().__init__()
        self.mode, self.include_last_offset, self.padding_idx = mode, include_last_offset, padding_idx
        self.weight = Parameter(torch.empty((num_embeddings, embedding_dim), dtype=dtype) if _weight is None else _weight)
        init.normal_(self.weight)

    def forward(self, input, offsets=None, per_sample_weights=None):
        if offsets is None:
            offsets = torch.arange(0, input.numel(), input.shape[1])
            input = input.reshape(-1)
        mode = {"sum": 0, "mean": 1, "max": 2}[self.mode]
        padding = -1 if self.padding_idx is None else self.padding_idx
        return torch._C.op("embedding_bag", self.weight, input, offsets, False, mode, False, per_sample_weights, self.include_last_offset, padding)[0]


def _dropout(name, function):
    class _Dropout(Module):
        def __init__(self, p=0.5, inplace=False):
            super().__init__()
            if not 0 <= p <= 1:
                raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
            self.p, self.inplace = p, inplace

        def forward(self, input):
            return getattr(F, function)(input, self.p, self.training, self.inplace)

    _Dropout.__name__ = _Dropout.__qualname__ = name
    return _Dropout


Dropout, Dropout1d, Dropout2d, Dropout3d, AlphaDropout, FeatureAlphaDropout = (
    _dropout(name, function) for name, function in (
        ("Dropout", "dropout"), ("Dropout1d", "dropout1d"), ("Dropout2d", "dropout2d"), ("Dropout3d", "dropout3d"),
        ("AlphaDropout", "alpha_dropout"), ("FeatureAlphaDropout", "feature_alpha_dropout")))


def _activation(name, parameters=(), function=None, has_inplace=False):
    names = [item[0] for item in parameters] + (["inplace"] if has_inplace else [])
    defaults = [item[1] for item in parameters] + ([False] if has_inplace else [])
    call = getattr(F, function or name.lower())

    def __init__(self, *args, **kwargs):
        Module.__init__(self)
        values = dict(zip(names, defaults))
        values.update(zip(names, args))
        values.update(kwargs)
        for key, value in values.items():
            setattr(self, key, value)

    def forward(self, input):
        return call(input, *[getattr(self, key) for key in names])

    members = {"__init__": __init__, "forward": forward, "__module__": "torch.nn.modules.activation"}
    return type(name, (Module,), members)


class RReLU(Module):
    def __init__(self, lower=1.0 / 8, upper=1.0 / 3, inplace=False):
        super().__init__()
        self.lower, self.upper, self.inplace = lower, upper, inplace

    def forward(self, input):
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)


ReLU = _activation("ReLU", has_inplace=True)
ReLU6 = _activation("ReLU6", has_inplace=True)
SELU = _activation("SELU", has_inplace=True)
SiLU = _activation("SiLU", has_inplace=True)
Mish = _activation("Mish", has_inplace=True)
Hardswish = _activation("Hardswish", has_inplace=True)
Hardsigmoid = _activation("Hardsigmoid", has_inplace=True)
Hardtanh = _activation("Hardtanh", [("min_val", -1.0), ("max_val", 1.0)], has_inplace=True)
ELU = _activation("ELU", [("alpha", 1.0)], has_inplace=True)
CELU = _activation("CELU", [("alpha", 1.0)], has_inplace=True)
LeakyReLU = _activation("LeakyReLU", [("negative_slope", 0.01)], "leaky_relu", has_inplace=True)
GELU = _activation("GELU", [("approximate", "none")])
GLU = _activation("GLU", [("dim", -1)])
Sigmoid = _activation("Sigmoid")
LogSigmoid = _activation("LogSigmoid", function="logsigmoid")
Tanh = _activation("Tanh")
Tanhshrink = _activation("Tanhshrink")
Softsign = _activation("Softsign")
Softplus = _activation("Softplus", [("beta", 1.0), ("threshold", 20.0)])
Softshrink = _activation("Softshrink", [("lambd", 0.5)])
Hardshrink = _activation("Hardshrink", [("lambd", 0.5)])
Threshold = _activation("Threshold", [("threshold", 0.0), ("value", 0.0)], has_inplace=True)
Softmax = _activation("Softmax", [("dim", None)])
LogSoftmax = _activation("LogSoftmax", [("dim", None)], "log_softmax")
Softmin = _activation("Softmin", [("dim", None)])


class Softmax2d(Module):
    def forward(self, input):
        return F.softmax(input, -3)


class PReLU(Module):
    def __init__(self, num_parameters=1, init=0.25, device=None, dtype=None):
        super().__init__()
        self.weight = Parameter(torch.full((num_parameters,), init))

    def forward(self, input):
        return F.prelu(input, self.weight)


class Flatten(Module):
    def __init__(self, start_dim=1, end_dim=-1):
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input):
        return input.flatten(self.start_dim, self.end_dim)


class Unflatten(Module):
    def __init__(self, dim, unflattened_size):
        super().__init__()
        self.dim, self.unflattened_size = dim, unflattened_size

    def forward(self, input):
        return input.unflatten(self.dim, self.unflattened_size)


class PixelShuffle(Module):
    def __init__(self, upscale_factor):
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input):
        return F.pixel_shuffle(input, self.upscale_factor)


class PixelUnshuffle(Module):
    def __init__(self, downscale_factor):
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input):
        return F.pixel_unshuffle(input, self.downscale_factor)


class ChannelShuffle(Module):
    def __init__(self, groups):
        super().__init__()
        self.groups = groups

    def forward(self, input):
        return F.channel_shuffle(input, self.groups)


class Upsample(Module):
    def __init__(self, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None):
        super().__init__()
        self.size, self.mode, self.align_corners, self.recompute_scale_factor = size, mode, align_corners, recompute_scale_factor
        self.scale_factor = tuple(float(s) for s in scale_factor) if isinstance(scale_factor, tuple) else scale_factor and float(scale_factor)

    def forward(self, input):
        return F.interpolate(input, self.size, self.scale_factor, self.mode, self.align_corners, self.recompute_scale_factor)


class UpsamplingNearest2d(Upsample):
    def __init__(self, size=None, scale_factor=None):
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    def __init__(self, size=None, scale_factor=None):
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)


class CosineSimilarity(Module):
    def __init__(self, dim=1, eps=1e-8):
        super().__init__()
        self.dim, self.eps = dim, eps

    def forward(self, x1, x2):
        return F.cosine_similarity(x1, x2, self.dim, self.eps)


def _padding(name, mode, sides):
    def __init__(self, padding, value=0.0):
        Module.__init__(self)
        self.padding = _ntuple(2 * sides)(padding)
        self.value = value

    def forward(self, input):
        return F.pad(input, self.padding, mode, self.value if mode == "constant" else None)

    return type(name, (Module,), {"__init__": __init__, "forward": forward, "__module__": "torch.nn.modules.padding"})


ZeroPad1d, ZeroPad2d, ZeroPad3d = (_padding(f"ZeroPad{n}d", "constant", n) for n in (1, 2, 3))
ConstantPad1d, ConstantPad2d, ConstantPad3d = (_padding(f"ConstantPad{n}d", "constant", n) for n in (1, 2, 3))
ReflectionPad1d, ReflectionPad2d, ReflectionPad3d = (_padding(f"ReflectionPad{n}d", "reflect", n) for n in (1, 2, 3))
ReplicationPad1d, ReplicationPad2d, ReplicationPad3d = (_padding(f"ReplicationPad{n}d", "replicate", n) for n in (1, 2, 3))
CircularPad1d, CircularPad2d, CircularPad3d = (_padding(f"CircularPad{n}d", "circular", n) for n in (1, 2, 3))
