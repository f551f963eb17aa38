# torch.nn.functional.multi_head_attention_forward: its calls stand in PyTorch's order.

import math

import torch
import torch.nn.functional as F


def _require(holds, message):
    if not holds:
        raise AssertionError(message)


def _is_batched(query, key, value, key_padding_mask, attn_mask):
    rank = query.dim()
    _require(rank in (2, 3), f"query should be unbatched 2D or batched 3D tensor but received {rank}-D query tensor")
    found = f"{key.dim()}-D and {value.dim()}-D tensors respectively"
    kind = "batched (3-D)" if rank == 3 else "unbatched (2-D)"
    _require(key.dim() == rank and value.dim() == rank, f"For {kind} `query`, expected `key` and `value` to be {rank}-D but found {found}")
    masks = (
        ("key_padding_mask", key_padding_mask, (rank - 1,), f"`None` or {rank - 1}-D"),
        ("attn_mask", attn_mask, (2, 3), "`None`, 2-D or 3-D"),
    )
    for name, mask, ranks, said in masks:
        if mask is not None and mask.dim() not in ranks:
            raise AssertionError(f"For {kind} `query`, expected `{name}` to be {said} but found {mask.dim()}-D tensor instead")
    return rank == 3


def _float_mask(mask, dtype):
    if mask is not None and mask.dtype == torch.bool:
        return torch.zeros_like(mask, dtype=dtype).masked_fill_(mask, float("-inf"))
    return mask


def _packed(input, weight, bias, parts):
    # The parts of one product lie one behind the other afterwards.
    product = F.linear(input, weight, bias)
    width = product.size(-1) // parts
    product = product.unflatten(-1, (parts, width)).unsqueeze(0).transpose(0, -2).squeeze(-2).contiguous()
    return [product[i] for i in range(parts)]


def _projected(query, key, value, weight, bias):
    width = query.size(-1)
    if key is value and query is key:
        return _packed(query, weight, bias, 3)
    if key is value:
        of_query, of_both = weight.split([width, width * 2])
        biases = (None, None) if bias is None else bias.split([width, width * 2])
        return [F.linear(query, of_query, biases[0]), *_packed(key, of_both, biases[1], 2)]
    biases = (None, None, None) if bias is None else bias.chunk(3)
    return [F.linear(item, w, b) for item, w, b in zip((query, key, value), weight.chunk(3), biases)]


def multi_head_attention_forward(query, key, value, embed_dim_to_check, num_heads, in_proj_weight, in_proj_bias, bias_k, bias_v,
                                 add_zero_attn, dropout_p, out_proj_weight, out_proj_bias, training=True, key_padding_mask=None,
                                 need_weights=True, attn_mask=None, use_separate_proj_weight=False, q_proj_weight=None,
                                 k_proj_weight=None, v_proj_weight=None, static_k=None, static_v=None, average_attn_weights=True,
                                 is_causal=False):
    is_batched = _is_batched(query, key, value, key_padding_mask, attn_mask)
    if not is_batched:
        # What is one tensor stays one: it is projected once.
        same = key is query, value is key
        query = query.unsqueeze(1)
        key = query if same[0] else key.unsqueeze(1)
        value = key if same[1] else value.unsqueeze(1)
        key_padding_mask = key_padding_mask.unsqueeze(0) if key_padding_mask is not None else None
    tgt_len, bsz, embed_dim = query.shape
    src_len = key.shape[0]
    key_padding_mask = _float_mask(key_padding_mask, query.dtype)
    if is_causal and attn_mask is None:
        raise RuntimeError("Need attn_mask if specifying the is_causal hint.")
    if is_causal and key_padding_mask is None and not need_weights:
        attn_mask = None
    else:
        attn_mask = _float_mask(attn_mask, query.dtype)
        is_causal = is_causal and key_padding_mask is None
    _require(embed_dim == embed_dim_to_check, f"was expecting embedding dimension of {embed_dim_to_check}, but got {embed_dim}")
    head_dim = embed_dim // num_heads
    _require(head_dim * num_heads == embed_dim, f"embed_dim {embed_dim} not divisible by num_heads {num_heads}")
    if use_separate_proj_weight:
        weights = (q_proj_weight, k_proj_weight, v_proj_weight)
        biases = (None, None, None) if in_proj_bias is None else in_proj_bias.chunk(3)
        q, k, v = (F.linear(item, w, b) for item, w, b in zip((query, key, value), weights, biases))
    else:
        _require(key.shape == value.shape, f"key shape {key.shape} does not match value shape {value.shape}")
        q, k, v = _projected(query, key, value, in_proj_weight, in_proj_bias)

    if attn_mask is not None:
        expected = (tgt_len, src_len) if attn_mask.dim() == 2 else (bsz * num_heads, tgt_len, src_len)
        if tuple(attn_mask.shape) != expected:
            raise RuntimeError(f"The shape of the {attn_mask.dim()}D attn_mask is {attn_mask.shape}, but should be {expected}.")
        attn_mask = attn_mask.unsqueeze(0) if attn_mask.dim() == 2 else attn_mask
    if bias_k is not None and bias_v is not None:
        k, v = torch.cat([k, bias_k.repeat(1, bsz, 1)]), torch.cat([v, bias_v.repeat(1, bsz, 1)])
        attn_mask = None if attn_mask is None else F.pad(attn_mask, (0, 1))
        key_padding_mask = None if key_padding_mask is None else F.pad(key_padding_mask, (0, 1))

    q = q.view(tgt_len, bsz * num_heads, head_dim).transpose(0, 1)
    k = k.view(k.shape[0], bsz * num_heads, head_dim).transpose(0, 1) if static_k is None else static_k
    v = v.view(v.shape[0], bsz * num_heads, head_dim).transpose(0, 1) if static_v is None else static_v
    if add_zero_attn:
        zeros = (bsz * num_heads, 1, head_dim)
        k = torch.cat([k, torch.zeros(zeros, dtype=k.dtype, device=k.device)], dim=1)
        v = torch.cat([v, torch.zeros(zeros, dtype=v.dtype, device=v.device)], dim=1)
        attn_mask = None if attn_mask is None else F.pad(attn_mask, (0, 1))
        key_padding_mask = None if key_padding_mask is None else F.pad(key_padding_mask, (0, 1))
    src_len = k.size(1)

    if key_padding_mask is not None:
        expected = (bsz, src_len)
        is_right = key_padding_mask.shape == expected
        _require(is_right, f"expecting key_padding_mask shape of {expected}, but got {key_padding_mask.shape}")
        padding = key_padding_mask.view(bsz, 1, 1, src_len).expand(-1, num_heads, -1, -1).reshape(bsz * num_heads, 1, src_len)
        attn_mask = padding if attn_mask is None else attn_mask + padding
    dropout_p = dropout_p if training else 0.0

    if need_weights:
        scaled = q * math.sqrt(1.0 / head_dim)
        if attn_mask is not None:
            weights = torch.baddbmm(attn_mask, scaled, k.transpose(-2, -1))
        else:
            weights = torch.bmm(scaled, k.transpose(-2, -1))
        weights = F.softmax(weights, dim=-1)
        if dropout_p > 0.0:
            weights = F.dropout(weights, p=dropout_p)
        output = torch.bmm(weights, v).transpose(0, 1).reshape(tgt_len * bsz, embed_dim)
    else:
        if attn_mask is not None:
            is_shared = attn_mask.size(0) == 1 and attn_mask.dim() == 3
            attn_mask = attn_mask.unsqueeze(0) if is_shared else attn_mask.view(bsz, num_heads, -1, src_len)
        q = q.view(bsz, num_heads, tgt_len, head_dim)
        k, v = k.view(bsz, num_heads, src_len, head_dim), v.view(bsz, num_heads, src_len, head_dim)
        output = F.scaled_dot_product_attention(q, k, v, attn_mask, dropout_p, is_causal)
        output = output.permute(2, 0, 1, 3).reshape(bsz * tgt_len, embed_dim)
    output = F.linear(output, out_proj_weight, out_proj_bias)
    output = output.view(tgt_len, bsz, output.size(1))
    if need_weights:
        weights = weights.view(bsz, num_heads, tgt_len, src_len)
        weights = weights.mean(dim=1) if average_attn_weights else weights
    else:
        weights = None
    if is_batched:
        return output, weights
    return output.squeeze(1), None if weights is None else weights.squeeze(0)
