# Of torch._higher_order_ops: loops over a dimension, over containers of tensors.
import builtins

import torch
from torch import _C


def _flatten(tree, leaves):
    """The form of a tree, whose leaves are appended."""
    if isinstance(tree, dict):
        return (type(tree), tuple(tree.keys()), tuple([_flatten(child, leaves) for child in tree.values()]))
    if isinstance(tree, (tuple, list)):
        return (type(tree), None, tuple([_flatten(child, leaves) for child in tree]))
    leaves.append(tree)
    return None


def _unflatten(form, leaves):
    if form is None:
        return next(leaves)
    kind, keys, children = form
    children = [_unflatten(child, leaves) for child in children]
    if keys is not None:
        return kind(zip(keys, children))
    return kind(*children) if hasattr(kind, "_fields") else kind(children)


def _flat(tree):
    leaves = []
    form = _flatten(tree, leaves)
    return leaves, form


def _tree(form, leaves):
    return _unflatten(form, iter(leaves))


def _is_tensor(value):
    return isinstance(value, torch.Tensor)


def map(f, xs, *args):
    xs, form = _flat(xs)
    args, args_form = _flat(args)
    if not builtins.all(_is_tensor(x) for x in xs):
        raise RuntimeError(f"Mapped xs can only consist of tensors. Got xs {xs}.")
    first = xs[0].shape[0]
    if first == 0:
        raise RuntimeError("Leading dimensions of mapped xs cannot be 0.")
    shapes = [x.shape for x in xs]
    if builtins.any(shape[0] != first for shape in shapes):
        raise RuntimeError(f"Leading dimensions of mapped xs must be consistent. Got shapes {shapes}.")

    def body(*given):
        given = list(given)
        elements, operands = given[: len(xs)], iter(given[len(xs) :])
        rest = [next(operands) if _is_tensor(arg) else arg for arg in args]
        return _flat(f(_tree(form, elements), *_tree(args_form, rest)))

    results, form_of_results = _C.loop_over("map", body, [arg for arg in args if _is_tensor(arg)], xs)
    return _tree(form_of_results, results)


def _dimension(dim, x):
    if not -x.ndim <= dim < x.ndim:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-x.ndim}, {x.ndim - 1}], but got {dim})"
        )
    return dim % x.ndim


def scan(combine_fn, init, xs, *, dim=0, reverse=False, length=None):
    init_leaves, init_form = _flat(init)
    leaves, form = _flat(xs)
    has_tensors = builtins.any(_is_tensor(x) for x in leaves)
    if not has_tensors:
        if length is None:
            return init, []
        leaves, form = [torch.zeros(length, dtype=torch.int64)], None
    dim = _dimension(dim, leaves[0])
    if has_tensors and length is not None and leaves[0].shape[dim] != length:
        raise RuntimeError(f"scan() length={length} does not match xs size along dim={dim}: {leaves[0].shape[dim]}")
    if len(init_leaves) == 0:
        raise RuntimeError("scan() operator requires init leaves.")
    for what, tensors in (("init", init_leaves), ("xs", leaves)):
        for x in tensors:
            if not _is_tensor(x):
                raise RuntimeError(f"All {what} leaves must be a Tensor but got {x}")
    if builtins.any(x.ndim <= dim for x in leaves):
        raise RuntimeError("All xs leaves must have at least 'dim + 1' dimensions")
    if builtins.any(x.shape[dim] != leaves[0].shape[dim] for x in leaves):
        raise RuntimeError("All xs leaves must have the same scan dimension size")
    if dim != 0:
        leaves = [torch.movedim(x, dim, 0) for x in leaves]
    if reverse:
        leaves = [torch.flip(x, [0]) for x in leaves]
    count = len(init_leaves)

    def body(*given):
        given = list(given)
        element = _tree(form, given[count:]) if has_tensors else None
        carry, results = combine_fn(_tree(init_form, given[:count]), element)
        carry, carry_form = _flat(carry)
        if carry_form != init_form:
            got = len(carry)
            raise RuntimeError(f"Expected init and carry to have same number of outputs but got {count} and {got}")
        results, results_form = _flat(results)
        return carry + results, results_form

    last, results_form = _C.loop_over("scan", body, init_leaves, leaves)
    results = last[count:]
    if reverse:
        results = [y if y is None else y.flip([0]) for y in results]
    if dim != 0:
        results = [torch.movedim(y, 0, dim) if y is not None and dim < y.ndim else y for y in results]
    return _tree(init_form, last[:count]), _tree(results_form, results)


def associative_scan(combine_fn, xs, dim, reverse=False, combine_mode="pointwise"):
    leaves, form = _flat(xs)
    if combine_mode not in ["pointwise", "generic"]:
        raise ValueError(f"Combine_mode must either 'pointwise' or 'generic', but got {combine_mode}")
    if len(leaves) == 0:
        raise ValueError("Expected at least 1 xs leaf")
    if not builtins.all(_is_tensor(x) for x in leaves):
        raise ValueError("xs leaves must be a Tensor")
    dim = _dimension(dim, leaves[0])
    if builtins.any(x.ndim <= dim for x in leaves):
        raise ValueError("All xs leaves must have at least 'dim + 1' dimensions")
    leaves = [torch.movedim(x, dim, 0) for x in leaves]
    if reverse:
        leaves = [torch.flip(x, [0]) for x in leaves]
    count = len(leaves)

    def body(*given):
        given = list(given)
        return _flat(combine_fn(_tree(form, given[:count]), _tree(form, given[count:])))

    results, results_form = _C.loop_over("associative_scan", body, [], leaves)
    if results_form != form:
        raise RuntimeError("The tree structure of the xs and the outs of the combine_fn are expected to be identical")
    if reverse:
        results = [y.flip([0]) for y in results]
    return _tree(form, [torch.movedim(y, 0, dim) for y in results])
