# Convolutions.

import math

import torch
import torch._C as _C
import torch.nn.functional as F
from torch.nn import init
from torch.nn.module import Module, _of_each_rank
from torch._C import Parameter
from torch.nn.modules.utils import _ntuple


class _ConvNd(Module):
    _transposed = False

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True, padding_mode="zeros",
                 device=None, dtype=None, output_padding=0):
        super().__init__()
        size = _ntuple(self._rank)
        if in_channels % groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups != 0:
            raise ValueError("out_channels must be divisible by groups")
        self.in_channels, self.out_channels, self.groups, self.padding_mode = in_channels, out_channels, groups, padding_mode
        self.kernel_size, self.stride, self.dilation = size(kernel_size), size(stride), size(dilation)
        self.padding = padding if isinstance(padding, str) else size(padding)
        self.output_padding = size(output_padding)
        self.transposed = self._transposed
        first, second = (in_channels, out_channels) if self._transposed else (out_channels, in_channels)
        self.weight = Parameter(torch.empty((first, second // groups, *self.kernel_size), dtype=dtype))
        if bias:
            self.bias = Parameter(torch.empty(out_channels, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        if isinstance(self.padding, str):
            reach = [0 if self.padding == "valid" else d * (k - 1) for d, k in zip(self.dilation, self.kernel_size)]
            self._reversed_padding_repeated_twice = [p for total in reversed(reach) for p in (total // 2, total - total // 2)]
        else:
            self._reversed_padding_repeated_twice = [p for p in reversed(self.padding) for _ in range(2)]
        self.reset_parameters()

    def reset_parameters(self):
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if fan_in != 0:
                bound = 1 / math.sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    def _conv_forward(self, input, weight, bias):
        name = f"conv{self._rank}d"
        padding = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            padding = (0,) * self._rank
        return getattr(F, name)(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def forward(self, input):
        return self._conv_forward(input, self.weight, self.bias)


Conv1d, Conv2d, Conv3d = _of_each_rank(_ConvNd, "Conv")


class _ConvTransposeNd(_ConvNd):
    _transposed = True

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1, bias=True, dilation=1,
                 padding_mode="zeros", device=None, dtype=None):
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode, device, dtype, output_padding)

    def forward(self, input, output_size=None):
        extra = self.output_padding
        if output_size is not None:
            given = list(output_size)[-self._rank:]
            sizes = input.shape[-self._rank:]
            extra = tuple(
                given[d] - ((sizes[d] - 1) * self.stride[d] - 2 * self.padding[d] + self.dilation[d] * (self.kernel_size[d] - 1) + 1)
                for d in range(self._rank))
        name = {1: "conv_transpose1d", 2: "conv_transpose2d", 3: "conv_transpose3d"}[self._rank]
        return getattr(F, name)(input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation)


ConvTranspose1d, ConvTranspose2d, ConvTranspose3d = _of_each_rank(_ConvTransposeNd, "ConvTranspose")


class Unfold(Module):
    def __init__(self, kernel_size, dilation=1, padding=0, stride=1):
        super().__init__()
        self.kernel_size, self.dilation, self.padding, self.stride = kernel_size, dilation, padding, stride

    def forward(self, input):
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)


class Fold(Module):
    def __init__(self, output_size, kernel_size, dilation=1, padding=0, stride=1):
        super().__init__()
        self.output_size, self.kernel_size, self.dilation, self.padding, self.stride = output_size, kernel_size, dilation, padding, stride

    def forward(self, input):
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)
