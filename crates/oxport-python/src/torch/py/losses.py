# Losses. A weight is a buffer, as in PyTorch.

import torch
import torch.nn.functional as F
from torch.nn.module import Module


class _Loss(Module):
    def __init__(self, size_average=None, reduce=None, reduction="mean"):
        super().__init__()
        if size_average is not None or reduce is not None:
            average = True if size_average is None else size_average
            reduction = "none" if reduce is not None and not reduce else "mean" if average else "sum"
        self.reduction = reduction


class _WeightedLoss(_Loss):
    def __init__(self, weight=None, size_average=None, reduce=None, reduction="mean"):
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


_LEGACY = [("size_average", None), ("reduce", None), ("reduction", "mean")]


def _loss(name, function, parameters=(), base=_Loss):
    """A loss whose constructor takes these parameters in order; those of tensors are buffers."""
    names = [parameter for parameter, _ in parameters]
    passed = [n for n in names if n not in ("size_average", "reduce")]
    buffers = ("weight", "pos_weight")

    def __init__(self, *args, **kwargs):
        Module.__init__(self)
        values = dict(parameters)
        values.update(zip(names, args))
        for key in kwargs:
            if key not in values:
                raise TypeError(f"{name}.__init__() got an unexpected keyword argument '{key}'")
        values.update(kwargs)
        if "size_average" in values:
            _Loss.__init__(self, values.pop("size_average"), values.pop("reduce"), values.pop("reduction"))
        for key, value in values.items():
            if key in buffers:
                self.register_buffer(key, value)
            else:
                setattr(self, key, value)

    def forward(self, *inputs):
        return getattr(F, function)(*inputs, **{n: getattr(self, n) for n in passed})

    return type(name, (base,), {"__init__": __init__, "forward": forward, "__module__": "torch.nn.modules.loss"})


MSELoss = _loss("MSELoss", "mse_loss", _LEGACY)
L1Loss = _loss("L1Loss", "l1_loss", _LEGACY)
SmoothL1Loss = _loss("SmoothL1Loss", "smooth_l1_loss", _LEGACY + [("beta", 1.0)])
HuberLoss = _loss("HuberLoss", "huber_loss", [("reduction", "mean"), ("delta", 1.0)])
CrossEntropyLoss = _loss(
    "CrossEntropyLoss", "cross_entropy",
    [("weight", None), ("size_average", None), ("ignore_index", -100), ("reduce", None), ("reduction", "mean"), ("label_smoothing", 0.0)],
    _WeightedLoss)
NLLLoss = _loss(
    "NLLLoss", "nll_loss",
    [("weight", None), ("size_average", None), ("ignore_index", -100), ("reduce", None), ("reduction", "mean")], _WeightedLoss)
NLLLoss2d = NLLLoss
BCELoss = _loss("BCELoss", "binary_cross_entropy", [("weight", None)] + _LEGACY, _WeightedLoss)
BCEWithLogitsLoss = _loss(
    "BCEWithLogitsLoss", "binary_cross_entropy_with_logits", [("weight", None)] + _LEGACY + [("pos_weight", None)])
KLDivLoss = _loss("KLDivLoss", "kl_div", _LEGACY + [("log_target", False)])
CTCLoss = _loss("CTCLoss", "ctc_loss", [("blank", 0), ("reduction", "mean"), ("zero_infinity", False)])
PoissonNLLLoss = _loss(
    "PoissonNLLLoss", "poisson_nll_loss",
    [("log_input", True), ("full", False), ("size_average", None), ("eps", 1e-8), ("reduce", None), ("reduction", "mean")])
MarginRankingLoss = _loss("MarginRankingLoss", "margin_ranking_loss", [("margin", 0.0)] + _LEGACY)
HingeEmbeddingLoss = _loss("HingeEmbeddingLoss", "hinge_embedding_loss", [("margin", 1.0)] + _LEGACY)
MultiLabelMarginLoss = _loss("MultiLabelMarginLoss", "multilabel_margin_loss", _LEGACY)
SoftMarginLoss = _loss("SoftMarginLoss", "soft_margin_loss", _LEGACY)
MultiLabelSoftMarginLoss = _loss(
    "MultiLabelSoftMarginLoss", "multilabel_soft_margin_loss", [("weight", None)] + _LEGACY, _WeightedLoss)
CosineEmbeddingLoss = _loss("CosineEmbeddingLoss", "cosine_embedding_loss", [("margin", 0.0)] + _LEGACY)
MultiMarginLoss = _loss(
    "MultiMarginLoss", "multi_margin_loss", [("p", 1), ("margin", 1.0), ("weight", None)] + _LEGACY, _WeightedLoss)
TripletMarginLoss = _loss(
    "TripletMarginLoss", "triplet_margin_loss", [("margin", 1.0), ("p", 2.0), ("eps", 1e-6), ("swap", False)] + _LEGACY)


class GaussianNLLLoss(_Loss):
    def __init__(self, *, full=False, eps=1e-6, reduction="mean"):
        super().__init__(None, None, reduction)
        self.full, self.eps = full, eps

    def forward(self, input, target, var):
        return F.gaussian_nll_loss(input, target, var, full=self.full, eps=self.eps, reduction=self.reduction)


class TripletMarginWithDistanceLoss(_Loss):
    def __init__(self, *, distance_function=None, margin=1.0, swap=False, reduction="mean"):
        super().__init__(reduction=reduction)
        self.distance_function = torch.pairwise_distance if distance_function is None else distance_function
        self.margin, self.swap = margin, swap

    def forward(self, anchor, positive, negative):
        return F.triplet_margin_with_distance_loss(
            anchor, positive, negative, distance_function=self.distance_function, margin=self.margin, swap=self.swap,
            reduction=self.reduction)


class PairwiseDistance(Module):
    def __init__(self, p=2.0, eps=1e-6, keepdim=False):
        super().__init__()
        self.norm, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x1, x2):
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)
