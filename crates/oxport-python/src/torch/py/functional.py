# Functions of torch.nn.functional whose signature is not the operator's; the others are the operators of their names.

import builtins
import math

import torch
import torch._C as _C
from torch.nn.modules.utils import _ntuple


def __getattr__(name):
    if not name.startswith("__") and _C.has_op(name):
        return _C.function(name)
    raise AttributeError(f"module 'torch.nn.functional' has no attribute '{name}'")


linear, conv1d, conv2d, conv3d = (_C.function(name) for name in ("linear", "conv1d", "conv2d", "conv3d"))
conv_transpose1d = _C.function("conv_transpose1d")


def conv_transpose2d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    return _C.op("conv_transpose2d.input", input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose3d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    return _C.op("conv_transpose3d.input", input, weight, bias, stride, padding, output_padding, groups, dilation)


def _inplace(name):
    def function(input, *args, inplace=False):
        if args and isinstance(args[-1], builtins.bool):
            *args, inplace = args
        if inplace:
            _C.op(name + "_", input, *args)
            return input
        return _C.op(name, input, *args)

    return function


relu, relu6, selu, silu, mish, hardswish, hardsigmoid = (
    _inplace(name) for name in ("relu", "relu6", "selu", "silu", "mish", "hardswish", "hardsigmoid"))
elu_op, celu_op, leaky_op, threshold_op, hardtanh_op = (
    _inplace(name) for name in ("elu", "celu", "leaky_relu", "threshold", "hardtanh"))
swish = silu


def elu(input, alpha=1.0, inplace=False):
    return elu_op(input, alpha, inplace=inplace)


def celu(input, alpha=1.0, inplace=False):
    return celu_op(input, alpha, inplace=inplace)


def leaky_relu(input, negative_slope=0.01, inplace=False):
    return leaky_op(input, negative_slope, inplace=inplace)


def threshold(input, threshold, value, inplace=False):
    return threshold_op(input, threshold, value, inplace=inplace)


def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False):
    return hardtanh_op(input, min_val, max_val, inplace=inplace)


def relu_(input):
    _C.op("relu_", input)
    return input


def gelu(input, approximate="none"):
    return _C.op("gelu", input) if approximate == "none" else _C.op("gelu", input, approximate=approximate)


def glu(input, dim=-1):
    return _C.op("glu", input, dim)


def logsigmoid(input):
    return _C.op("log_sigmoid", input)


def softplus(input, beta=1.0, threshold=20.0):
    return _C.op("softplus", input, beta, threshold)


def softshrink(input, lambd=0.5):
    return _C.op("softshrink", input, lambd)


def hardshrink(input, lambd=0.5):
    return _C.op("hardshrink", input, lambd)


def tanhshrink(input):
    return input - input.tanh()


def softsign(input):
    return input / (input.abs() + 1)


def sigmoid(input):
    return input.sigmoid()


def tanh(input):
    return input.tanh()


def softmin(input, dim=None, _stacklevel=3, dtype=None):
    return softmax(-input, dim, dtype=dtype)


def _softmax_dim(rank):
    return 0 if rank in (0, 1, 3) else 1


def softmax(input, dim=None, _stacklevel=3, dtype=None):
    dim = _softmax_dim(input.dim()) if dim is None else dim
    return _C.op("softmax.int", input, dim) if dtype is None else _C.op("softmax.int", input, dim, dtype)


def log_softmax(input, dim=None, _stacklevel=3, dtype=None):
    dim = _softmax_dim(input.dim()) if dim is None else dim
    return _C.op("log_softmax.int", input, dim) if dtype is None else _C.op("log_softmax.int", input, dim, dtype)


def dropout(input, p=0.5, training=True, inplace=False):
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if inplace:
        _C.op("dropout_", input, p, training)
        return input
    return _C.op("dropout", input, p, training)


def _feature_dropout(unbatched=None):
    # Tensors of this rank have no batch, and get one.
    def dropout(input, p=0.5, training=True, inplace=False):
        has_batch = input.dim() != unbatched
        output = _C.op("feature_dropout_" if inplace else "feature_dropout", input if has_batch else input.unsqueeze(0), p, training)
        return input if inplace else output if has_batch else output.squeeze(0)

    return dropout


dropout1d, dropout2d, dropout3d = _feature_dropout(2), _feature_dropout(), _feature_dropout(4)


def feature_alpha_dropout(input, p=0.5, training=False, inplace=False):
    return _C.op("feature_alpha_dropout_" if inplace else "feature_alpha_dropout", input, p, training)


def alpha_dropout(input, p=0.5, training=False, inplace=False):
    return _C.op("alpha_dropout_" if inplace else "alpha_dropout", input, p, training)


def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    return _C.op("batch_norm", input, weight, bias, running_mean, running_var, training, momentum, eps, True)


def instance_norm(input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1, eps=1e-5):
    return _C.op("instance_norm", input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, True)


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    return _C.op("layer_norm", input, list(normalized_shape), weight, bias, eps)


def rms_norm(input, normalized_shape, weight=None, eps=None):
    return _C.op("rms_norm", input, list(normalized_shape), weight, eps)


def group_norm(input, num_groups, weight=None, bias=None, eps=1e-5):
    return _C.op("group_norm", input, num_groups, weight, bias, eps)


def local_response_norm(input, size, alpha=1e-4, beta=0.75, k=1.0):
    if input.numel() == 0:
        return input
    div = input.mul(input)
    if input.dim() == 3:
        div = div.unsqueeze(1)
        div = pad(div, (0, 0, size // 2, (size - 1) // 2))
        div = avg_pool2d(div, (size, 1), stride=1).squeeze(1)
    else:
        shape = input.shape
        div = div.view(shape[0], 1, shape[1], shape[2], -1)
        div = pad(div, (0, 0, 0, 0, size // 2, (size - 1) // 2))
        div = avg_pool3d(div, (size, 1, 1), stride=1).squeeze(1)
        div = div.view(shape)
    return input / div.mul(alpha).add(k).pow(beta)


def normalize(input, p=2.0, dim=1, eps=1e-12, out=None):
    return input / input.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(input)


def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    if max_norm is not None:
        raise NotImplementedError("embedding with max_norm is not supported")
    if padding_idx is not None and padding_idx < 0:
        padding_idx = weight.shape[0] + padding_idx
    return _C.op("embedding", weight, input, -1 if padding_idx is None else padding_idx, scale_grad_by_freq, sparse)


def one_hot(tensor, num_classes=-1):
    return _C.op("one_hot", tensor, num_classes)


def _max_pool(name):
    def pool(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        stride = [] if stride is None else stride
        if return_indices:
            op = name + "_with_indices"
            return _C.op(op, input, kernel_size, stride, padding, dilation, ceil_mode)
        return _C.op(name, input, kernel_size, stride, padding, dilation, ceil_mode)

    return pool


max_pool1d, max_pool2d, max_pool3d = (_max_pool(f"max_pool{n}d") for n in (1, 2, 3))


def avg_pool1d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
    return _C.op("avg_pool1d", input, kernel_size, [] if stride is None else stride, padding, ceil_mode, count_include_pad)


def _avg_pool(name):
    def pool(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
        return _C.op(name, input, kernel_size, [] if stride is None else stride, padding, ceil_mode, count_include_pad, divisor_override)

    return pool


avg_pool2d, avg_pool3d = _avg_pool("avg_pool2d"), _avg_pool("avg_pool3d")


def _lp_pool(rank):
    def pool(input, norm_type, kernel_size, stride=None, ceil_mode=False):
        average = (avg_pool1d, avg_pool2d, avg_pool3d)[rank - 1]
        out = average(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
        places = math.prod(_ntuple(rank)(kernel_size))
        return (torch.sign(out) * relu(torch.abs(out))).mul(places).pow(1.0 / norm_type)

    return pool


lp_pool1d, lp_pool2d, lp_pool3d = _lp_pool(1), _lp_pool(2), _lp_pool(3)


def _adaptive(name, rank, has_indices):
    def pool(input, output_size, return_indices=False):
        sizes = list(_ntuple(rank)(output_size))
        given = input.shape[-rank:]
        sizes = [given[at] if size is None else size for at, size in enumerate(sizes)]
        result = _C.op(name, input, sizes)
        return result[0] if has_indices and not return_indices else result

    return pool


adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = (_adaptive(f"adaptive_avg_pool{n}d", n, False) for n in (1, 2, 3))
adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = (_adaptive(f"adaptive_max_pool{n}d", n, True) for n in (1, 2, 3))


def pad(input, pad, mode="constant", value=None):
    return _C.op("pad", input, list(pad), mode, value)


def interpolate(input, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None, antialias=False):
    rank = input.dim() - 2
    if size is not None:
        sizes, scales = list(_ntuple(rank)(size)), None
    else:
        scales = [float(s) for s in _ntuple(rank)(scale_factor)]
        sizes = None
        if recompute_scale_factor:
            sizes = [math.floor(input.shape[at + 2] * scales[at]) for at in range(rank)]
            scales = None
    if mode == "area":
        return [None, adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d][rank](input, sizes)
    if mode in ("nearest", "nearest-exact"):
        name = "upsample_nearest" if mode == "nearest" else "_upsample_nearest_exact"
        return _C.op(f"{name}{rank}d.vec", input, sizes, scales)
    names = {("linear", 1): "upsample_linear1d", ("bilinear", 2): "upsample_bilinear2d", ("bicubic", 2): "upsample_bicubic2d",
             ("trilinear", 3): "upsample_trilinear3d"}
    name = names[mode, rank]
    if antialias:
        name = "_" + name + "_aa"
    return _C.op(name + ".vec", input, sizes, builtins.bool(align_corners), scales)


def upsample_nearest(input, size=None, scale_factor=None):
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input, size=None, scale_factor=None):
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    return interpolate(input, size, scale_factor, mode, align_corners)


def grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=None):
    modes = {"bilinear": 0, "nearest": 1, "bicubic": 2}
    paddings = {"zeros": 0, "border": 1, "reflection": 2}
    return _C.op("grid_sampler", input, grid, modes[mode], paddings[padding_mode], builtins.bool(align_corners))


def affine_grid(theta, size, align_corners=None):
    return _C.op("affine_grid_generator", theta, list(size), builtins.bool(align_corners))


def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    pair = _ntuple(2)
    return _C.op("im2col", input, pair(kernel_size), pair(dilation), pair(padding), pair(stride))


def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    pair = _ntuple(2)
    return _C.op("col2im", input, pair(output_size), pair(kernel_size), pair(dilation), pair(padding), pair(stride))


def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    kwargs = {}
    if scale is not None:
        kwargs["scale"] = scale
    if enable_gqa:
        kwargs["enable_gqa"] = True
    return _C.op("scaled_dot_product_attention", query, key, value, attn_mask, dropout_p, is_causal, **kwargs)


def cosine_similarity(x1, x2, dim=1, eps=1e-8):
    return _C.op("cosine_similarity", x1, x2, dim, eps)


def prelu(input, weight):
    return _C.op("prelu", input, weight)


def _unpooled(rank, input, kernel_size, stride, padding, output_size):
    kernel_size, padding = _ntuple(rank)(kernel_size), _ntuple(rank)(padding)
    stride = kernel_size if stride is None else _ntuple(rank)(stride)
    usual = [(n - 1) * s + k - 2 * p for n, s, k, p in zip(input.shape[-rank:], stride, kernel_size, padding)]
    return list(output_size)[-rank:] if output_size is not None else usual, stride, padding


def max_unpool1d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    size, _, _ = _unpooled(1, input, kernel_size, stride, padding, output_size)
    return _C.op("max_unpool2d", input.unsqueeze(-1), indices.unsqueeze(-1), size + [1]).squeeze(-1)


def max_unpool2d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    size, _, _ = _unpooled(2, input, kernel_size, stride, padding, output_size)
    return _C.op("max_unpool2d", input, indices, size)


def max_unpool3d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    size, stride, padding = _unpooled(3, input, kernel_size, stride, padding, output_size)
    return _C.op("max_unpool3d", input, indices, size, stride, padding)


def _fractional(rank, input, kernel_size, output_size, output_ratio, random_samples):
    name = f"fractional_max_pool{rank}d"
    if output_size is None:
        if output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
        ratios = _ntuple(rank)(output_ratio)
        output_size = [int(input.size(i - rank) * ratios[i]) for i in range(rank)]
    if random_samples is None:
        batch = 1 if input.dim() == rank + 1 else input.size(0)
        random_samples = torch.rand(batch, input.size(-rank - 1), rank, dtype=input.dtype, device=input.device)
    return _C.op(name, input, kernel_size, output_size, random_samples)


def fractional_max_pool2d(input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
    both = _fractional(2, input, kernel_size, output_size, output_ratio, _random_samples)
    return both if return_indices else both[0]


def fractional_max_pool3d(input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
    both = _fractional(3, input, kernel_size, output_size, output_ratio, _random_samples)
    return both if return_indices else both[0]


def rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, inplace=False):
    return _C.op("rrelu_" if inplace else "rrelu", input, lower, upper, training)


def gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1):
    gumbels = -torch.empty_like(logits).exponential_().log()
    soft = ((logits + gumbels) / tau).softmax(dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    return torch.zeros_like(logits).scatter_(dim, index, 1.0) - soft.detach() + soft


from torch.nn._loss_functions import *  # noqa: E402,F401,F403


from torch.nn._multi_head_attention import _float_mask, multi_head_attention_forward  # noqa: E402,F401
