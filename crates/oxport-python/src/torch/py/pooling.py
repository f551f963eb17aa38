# Pooling.

import torch.nn.functional as F
from torch.nn.module import Module, _of_each_rank


class _MaxPoolNd(Module):
    def __init__(self, kernel_size, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False):
        super().__init__()
        self.kernel_size, self.stride = kernel_size, stride if stride is not None else kernel_size
        self.padding, self.dilation, self.return_indices, self.ceil_mode = padding, dilation, return_indices, ceil_mode

    def forward(self, input):
        function = getattr(F, f"max_pool{self._rank}d")
        return function(input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices)


MaxPool1d, MaxPool2d, MaxPool3d = _of_each_rank(_MaxPoolNd, "MaxPool")


class _AvgPoolNd(Module):
    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
        super().__init__()
        self.kernel_size, self.stride = kernel_size, stride if stride is not None else kernel_size
        self.padding, self.ceil_mode, self.count_include_pad, self.divisor_override = padding, ceil_mode, count_include_pad, divisor_override

    def forward(self, input):
        function = getattr(F, f"avg_pool{self._rank}d")
        if self._rank == 1:
            return function(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)
        return function(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad, self.divisor_override)


AvgPool1d, AvgPool2d, AvgPool3d = _of_each_rank(_AvgPoolNd, "AvgPool")


class _LPPoolNd(Module):
    def __init__(self, norm_type, kernel_size, stride=None, ceil_mode=False):
        super().__init__()
        self.norm_type, self.kernel_size, self.stride, self.ceil_mode = norm_type, kernel_size, stride, ceil_mode

    def forward(self, input):
        return getattr(F, f"lp_pool{self._rank}d")(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


LPPool1d, LPPool2d, LPPool3d = _of_each_rank(_LPPoolNd, "LPPool")


class _MaxUnpoolNd(Module):
    def __init__(self, kernel_size, stride=None, padding=0):
        super().__init__()
        self.kernel_size, self.stride, self.padding = kernel_size, kernel_size if stride is None else stride, padding

    def forward(self, input, indices, output_size=None):
        return getattr(F, f"max_unpool{self._rank}d")(input, indices, self.kernel_size, self.stride, self.padding, output_size)


MaxUnpool1d, MaxUnpool2d, MaxUnpool3d = _of_each_rank(_MaxUnpoolNd, "MaxUnpool")


def _adaptive(name, function, has_indices):
    def __init__(self, output_size, return_indices=False):
        Module.__init__(self)
        self.output_size, self.return_indices = output_size, return_indices

    def forward(self, input):
        if has_indices:
            return getattr(F, function)(input, self.output_size, self.return_indices)
        return getattr(F, function)(input, self.output_size)

    return type(name, (Module,), {"__init__": __init__, "forward": forward, "__module__": "torch.nn.modules.pooling"})


AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveAvgPool3d = (
    _adaptive(f"AdaptiveAvgPool{n}d", f"adaptive_avg_pool{n}d", False) for n in (1, 2, 3))
AdaptiveMaxPool1d, AdaptiveMaxPool2d, AdaptiveMaxPool3d = (
    _adaptive(f"AdaptiveMaxPool{n}d", f"adaptive_max_pool{n}d", True) for n in (1, 2, 3))


class _FractionalMaxPoolNd(Module):
    def __init__(self, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
        super().__init__()
        self.kernel_size, self.output_size, self.output_ratio = kernel_size, output_size, output_ratio
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        if (output_size is None) == (output_ratio is None):
            which = "either output_size or output_ratio" if output_size is None else "only one of output_size and output_ratio"
            raise ValueError(f"FractionalMaxPool{self._rank}d requires specifying {which}")

    def forward(self, input):
        function = getattr(F, f"fractional_max_pool{self._rank}d")
        return function(input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices, self._random_samples)


_, FractionalMaxPool2d, FractionalMaxPool3d = _of_each_rank(_FractionalMaxPoolNd, "FractionalMaxPool")
