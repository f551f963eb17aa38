# torch.vmap: the calls with which torch.export writes it down.

from functools import wraps

import torch
from torch._functorch import predispatch
from torch.utils._pytree import tree_flatten, tree_unflatten

_levels = []


def _broadcast(dims, tree):
    # The dimensions of all leaves; a dimension holds for what lies below it.
    if isinstance(dims, (tuple, list)) and isinstance(tree, (tuple, list)) and len(dims) == len(tree):
        return [dim for d, t in zip(dims, tree) for dim in _broadcast(d, t)]
    if isinstance(dims, dict) and isinstance(tree, dict) and list(dims) == list(tree):
        return [dim for key in tree for dim in _broadcast(dims[key], tree[key])]
    if dims is not None and not isinstance(dims, int):
        raise ValueError(f"vmap: expected dimensions of the structure of the values, got {dims}")
    return [dims for _ in tree_flatten(tree)[0]]


def vmap(func, in_dims=0, out_dims=0, randomness="error", *, chunk_size=None):
    if chunk_size is not None:
        raise NotImplementedError("vmap with a chunk_size is not supported")
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")

    @wraps(func)
    def wrapped(*args, **kwargs):
        leaves, tree = tree_flatten(args)
        dims = _broadcast(in_dims, args)
        sizes = []
        for at, (leaf, dim) in enumerate(zip(leaves, dims)):
            if dim is None:
                continue
            if not isinstance(leaf, torch.Tensor):
                raise ValueError(f"vmap: got in_dim={dim} for an input of type {type(leaf).__name__}: expected a tensor, or in_dim=None")
            if not -leaf.dim() <= dim < leaf.dim():
                raise ValueError(f"vmap: got in_dim={dim} for an input, but that input is a Tensor of dimensionality {leaf.dim()}")
            dims[at] = dim % leaf.dim()
            sizes.append(leaf.size(dim))
        if not sizes:
            raise ValueError("vmap: expected at least one tensor to map over")
        if any(size != sizes[0] for size in sizes):
            raise ValueError(f"vmap: expected all tensors to have the same size in the mapped dimension, got sizes {sizes}")
        predispatch.lazy_load_decompositions()
        predispatch._vmap_increment_nesting(sizes[0], randomness)
        _levels.append(sizes[0])
        level = len(_levels)
        try:
            parts = [leaf if dim is None else predispatch._add_batch_dim(leaf, dim, level) for leaf, dim in zip(leaves, dims)]
            results, results_tree = tree_flatten(func(*tree_unflatten(parts, tree), **kwargs))
            # One dimension holds for all results.
            outs = _broadcast(out_dims, tree_unflatten(results, results_tree))
            for result, dim in zip(results, outs):
                if not isinstance(result, torch.Tensor):
                    raise ValueError(f"vmap: expected the function to return tensors, got {type(result).__name__}")
                if dim is None:
                    raise NotImplementedError("vmap with out_dims of None is not supported")
            results = [predispatch._remove_batch_dim(r, level, sizes[0], dim) for r, dim in zip(results, outs)]
            predispatch._vmap_decrement_nesting()
        finally:
            _levels.pop()
        return tree_unflatten(results, results_tree)

    return wrapped
