# The losses of torch.nn.functional.
import math

import torch
from torch import _C

_REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


def _number(reduction, size_average=None, reduce=None):
    if size_average is not None or reduce is not None:
        average = True if size_average is None else size_average
        reduction = "none" if reduce is not None and not reduce else "mean" if average else "sum"
    if reduction not in _REDUCTIONS:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return _REDUCTIONS[reduction]


def _reduced(loss, reduction):
    return loss.mean() if reduction == "mean" else loss.sum() if reduction == "sum" else loss


def _elementwise(op, input, target, weight, reduction, *args):
    input, target = torch.broadcast_tensors(input, target)
    if weight is None:
        return _C.op(op, input, target, reduction, *args)
    loss = _C.op(op, input, target, 0, *args) * weight
    return loss if reduction == 0 else loss.sum() / (weight.expand(loss.shape).sum() if reduction == 1 else 1)


def mse_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    return _elementwise("mse_loss", input, target, weight, _number(reduction, size_average, reduce))


def l1_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    return _elementwise("l1_loss", input, target, weight, _number(reduction, size_average, reduce))


def smooth_l1_loss(input, target, size_average=None, reduce=None, reduction="mean", beta=1.0):
    name, options = ("l1_loss", ()) if beta == 0 else ("smooth_l1_loss", (beta,))
    return _elementwise(name, input, target, None, _number(reduction, size_average, reduce), *options)


def huber_loss(input, target, reduction="mean", delta=1.0, weight=None):
    return _elementwise("huber_loss", input, target, weight, _number(reduction), delta)


def cross_entropy(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean", label_smoothing=0.0):
    return _C.op("cross_entropy_loss", input, target, weight, _number(reduction, size_average, reduce), ignore_index, label_smoothing)


def nll_loss(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
    return _C.op("nll_loss_nd", input, target, weight, _number(reduction, size_average, reduce), ignore_index)


def binary_cross_entropy(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    if weight is not None:
        weight = weight.expand(torch.broadcast_shapes(target.shape, weight.shape))
    return _C.op("binary_cross_entropy", input, target, weight, _number(reduction, size_average, reduce))


def binary_cross_entropy_with_logits(input, target, weight=None, size_average=None, reduce=None, reduction="mean", pos_weight=None):
    return _C.op("binary_cross_entropy_with_logits", input, target, weight, pos_weight, _number(reduction, size_average, reduce))


def kl_div(input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    if reduction == "batchmean":
        return _C.op("kl_div", input, target, 2, log_target=log_target) / input.shape[0]
    return _C.op("kl_div", input, target, _number(reduction, size_average, reduce), log_target=log_target)


def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False):
    return _C.op("ctc_loss", log_probs, targets, input_lengths, target_lengths, blank, _number(reduction), zero_infinity)


def poisson_nll_loss(input, target, log_input=True, size_average=None, full=False, eps=1e-8, reduce=None, reduction="mean"):
    return _C.op("poisson_nll_loss", input, target, log_input, full, eps, _number(reduction, size_average, reduce))


def gaussian_nll_loss(input, target, var, full=False, eps=1e-6, reduction="mean"):
    if isinstance(var, float):
        var = var * torch.ones_like(input)
    elif var.size() != input.size() and input.size()[:-1] == var.size():
        var = torch.unsqueeze(var, -1)
    if torch.any(var < 0):
        raise ValueError("var has negative entry/entries")
    var = var.clone()
    var.clamp_(min=eps)
    loss = 0.5 * (torch.log(var) + (input - target) ** 2 / var)
    if full:
        loss += 0.5 * math.log(2 * math.pi)
    return _reduced(loss, reduction)


def margin_ranking_loss(input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"):
    return _C.op("margin_ranking_loss", input1, input2, target, margin, _number(reduction, size_average, reduce))


def hinge_embedding_loss(input, target, margin=1.0, size_average=None, reduce=None, reduction="mean"):
    return _C.op("hinge_embedding_loss", input, target, margin, _number(reduction, size_average, reduce))


def multilabel_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    return _C.op("multilabel_margin_loss", input, target, _number(reduction, size_average, reduce))


def soft_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    return _C.op("soft_margin_loss", input, target, _number(reduction, size_average, reduce))


def multilabel_soft_margin_loss(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    loss = -(target * _C.op("log_sigmoid", input) + (1 - target) * _C.op("log_sigmoid", -input))
    if weight is not None:
        loss = loss * weight
    last = input.dim() - 1
    return _reduced(loss.sum(dim=last) / input.size(last), reduction)


def cosine_embedding_loss(input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"):
    return _C.op("cosine_embedding_loss", input1, input2, target, margin, _number(reduction, size_average, reduce))


def multi_margin_loss(input, target, p=1, margin=1.0, weight=None, size_average=None, reduce=None, reduction="mean"):
    return _C.op("multi_margin_loss", input, target, p, margin, weight, _number(reduction, size_average, reduce))


def triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2, eps=1e-6, swap=False, size_average=None, reduce=None, reduction="mean"):
    return _C.op("triplet_margin_loss", anchor, positive, negative, margin, p, eps, swap, _number(reduction, size_average, reduce))


def triplet_margin_with_distance_loss(anchor, positive, negative, *, distance_function=None, margin=1.0, swap=False, reduction="mean"):
    distance = torch.pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = torch.minimum(far, distance(positive, negative))
    return _reduced(torch.clamp_min(margin + near - far, 0), reduction)
