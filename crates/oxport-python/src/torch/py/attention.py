# Attention and transformers.

import copy
import math

import torch
import torch.nn.functional as F
from torch.nn import init
from torch.nn.layers import Dropout, LayerNorm, Linear, NonDynamicallyQuantizableLinear
from torch.nn.module import Module, ModuleList
from torch._C import Parameter


class MultiheadAttention(Module):
    def __init__(self, embed_dim, num_heads, dropout=0.0, bias=True, add_bias_kv=False, add_zero_attn=False, kdim=None, vdim=None,
                 batch_first=False, device=None, dtype=None):
        super().__init__()
        self.embed_dim, self.num_heads, self.dropout, self.batch_first = embed_dim, num_heads, dropout, batch_first
        self.kdim, self.vdim = kdim or embed_dim, vdim or embed_dim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")
        if add_bias_kv or add_zero_attn:
            raise NotImplementedError("add_bias_kv and add_zero_attn are not supported")
        if self._qkv_same_embed_dim:
            self.in_proj_weight = Parameter(torch.empty((3 * embed_dim, embed_dim)))
            for name in ("q_proj_weight", "k_proj_weight", "v_proj_weight"):
                self.register_parameter(name, None)
        else:
            self.q_proj_weight = Parameter(torch.empty((embed_dim, embed_dim)))
            self.k_proj_weight = Parameter(torch.empty((embed_dim, self.kdim)))
            self.v_proj_weight = Parameter(torch.empty((embed_dim, self.vdim)))
            self.register_parameter("in_proj_weight", None)
        self.register_parameter("in_proj_bias", Parameter(torch.zeros(3 * embed_dim)) if bias else None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias)
        self.bias_k = self.bias_v = None
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self):
        if self._qkv_same_embed_dim:
            init.xavier_uniform_(self.in_proj_weight)

    def forward(self, query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None, average_attn_weights=True, is_causal=False):
        is_batched = query.dim() == 3
        if not is_batched:
            query, key, value = (item.unsqueeze(0 if self.batch_first else 1) for item in (query, key, value))
            if key_padding_mask is not None:
                key_padding_mask = key_padding_mask.unsqueeze(0)
        if self.batch_first:
            same = key is query and value is query
            query = query.transpose(0, 1)
            key = query if same else key.transpose(0, 1)
            value = query if same else key if value is key else value.transpose(0, 1)
        tgt, batch, width = query.shape
        src = key.shape[0]
        if self._qkv_same_embed_dim:
            weights = self.in_proj_weight.chunk(3)
            if key is query and value is query:
                packed = F.linear(query, self.in_proj_weight, self.in_proj_bias)
                q, k, v = packed.chunk(3, dim=-1)
            else:
                biases = (None, None, None) if self.in_proj_bias is None else self.in_proj_bias.chunk(3)
                q, k, v = (F.linear(item, w, b) for item, w, b in zip((query, key, value), weights, biases))
        else:
            weights = (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)
            biases = (None, None, None) if self.in_proj_bias is None else self.in_proj_bias.chunk(3)
            q, k, v = (F.linear(item, w, b) for item, w, b in zip((query, key, value), weights, biases))
        heads = self.num_heads
        q = q.view(tgt, batch, heads, self.head_dim).permute(1, 2, 0, 3)
        k = k.view(src, batch, heads, self.head_dim).permute(1, 2, 0, 3)
        v = v.view(src, batch, heads, self.head_dim).permute(1, 2, 0, 3)
        mask = _float_mask(attn_mask, q.dtype)
        if mask is not None and mask.dim() == 3:
            mask = mask.view(batch, heads, tgt, src)
        if key_padding_mask is not None:
            padding = _float_mask(key_padding_mask, q.dtype).view(batch, 1, 1, src)
            mask = padding if mask is None else mask + padding
        dropout = self.dropout if self.training else 0.0
        if need_weights:
            scores = torch.matmul(q * math.sqrt(1.0 / self.head_dim), k.transpose(-2, -1))
            if mask is not None:
                scores = scores + mask
            scores = F.softmax(scores, dim=-1)
            if dropout > 0.0:
                scores = F.dropout(scores, p=dropout)
            out = torch.matmul(scores, v)
        else:
            out = F.scaled_dot_product_attention(q, k, v, mask, dropout)
            scores = None
        out = out.permute(2, 0, 1, 3).reshape(tgt, batch, width)
        out = self.out_proj(out)
        if self.batch_first:
            out = out.transpose(0, 1)
        if not is_batched:
            out = out.squeeze(0 if self.batch_first else 1)
        if scores is not None:
            if average_attn_weights:
                scores = scores.mean(dim=1)
            if not is_batched:
                scores = scores.squeeze(0)
        return out, scores


def _float_mask(mask, dtype):
    if mask is None:
        return None
    if mask.dtype == torch.bool:
        return torch.zeros_like(mask, dtype=dtype).masked_fill_(mask, float("-inf"))
    return mask


def _activation(value):
    return {"relu": F.relu, "gelu": F.gelu}[value] if isinstance(value, str) else value


class TransformerEncoderLayer(Module):
    def __init__(self, d_model, nhead, dim_feedforward=2048, dropout=0.1, activation="relu", layer_norm_eps=1e-5, batch_first=False,
                 norm_first=False, bias=True, device=None, dtype=None):
        super().__init__()
        self.self_attn = MultiheadAttention(d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first)
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias)
        self.norm2 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias)
        self.dropout1, self.dropout2 = Dropout(dropout), Dropout(dropout)
        self.activation = _activation(activation)

    def forward(self, src, src_mask=None, src_key_padding_mask=None, is_causal=False):
        x = src
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), src_mask, src_key_padding_mask)
            return x + self._ff_block(self.norm2(x))
        x = self.norm1(x + self._sa_block(x, src_mask, src_key_padding_mask))
        return self.norm2(x + self._ff_block(x))

    def _sa_block(self, x, mask, padding):
        return self.dropout1(self.self_attn(x, x, x, attn_mask=mask, key_padding_mask=padding, need_weights=False)[0])

    def _ff_block(self, x):
        return self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))


class TransformerDecoderLayer(Module):
    def __init__(self, d_model, nhead, dim_feedforward=2048, dropout=0.1, activation="relu", layer_norm_eps=1e-5, batch_first=False,
                 norm_first=False, bias=True, device=None, dtype=None):
        super().__init__()
        self.self_attn = MultiheadAttention(d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first)
        self.multihead_attn = MultiheadAttention(d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first)
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias)
        self.norm_first = norm_first
        self.norm1, self.norm2, self.norm3 = (LayerNorm(d_model, eps=layer_norm_eps, bias=bias) for _ in range(3))
        self.dropout1, self.dropout2, self.dropout3 = Dropout(dropout), Dropout(dropout), Dropout(dropout)
        self.activation = _activation(activation)

    def forward(self, tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None, memory_key_padding_mask=None,
                tgt_is_causal=False, memory_is_causal=False):
        def attend(module, x, other, mask, padding):
            return module(x, other, other, attn_mask=mask, key_padding_mask=padding, need_weights=False)[0]

        def feed(x):
            return self.dropout3(self.linear2(self.dropout(self.activation(self.linear1(x)))))

        x = tgt
        if self.norm_first:
            normed = self.norm1(x)
            x = x + self.dropout1(attend(self.self_attn, normed, normed, tgt_mask, tgt_key_padding_mask))
            x = x + self.dropout2(attend(self.multihead_attn, self.norm2(x), memory, memory_mask, memory_key_padding_mask))
            return x + feed(self.norm3(x))
        x = self.norm1(x + self.dropout1(attend(self.self_attn, x, x, tgt_mask, tgt_key_padding_mask)))
        x = self.norm2(x + self.dropout2(attend(self.multihead_attn, x, memory, memory_mask, memory_key_padding_mask)))
        return self.norm3(x + feed(x))


class TransformerEncoder(Module):
    def __init__(self, encoder_layer, num_layers, norm=None, enable_nested_tensor=True, mask_check=True):
        super().__init__()
        self.layers = ModuleList([copy.deepcopy(encoder_layer) for _ in range(num_layers)])
        self.num_layers, self.norm = num_layers, norm

    def forward(self, src, mask=None, src_key_padding_mask=None, is_causal=None):
        for layer in self.layers:
            src = layer(src, src_mask=mask, src_key_padding_mask=src_key_padding_mask)
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(Module):
    def __init__(self, decoder_layer, num_layers, norm=None):
        super().__init__()
        self.layers = ModuleList([copy.deepcopy(decoder_layer) for _ in range(num_layers)])
        self.num_layers, self.norm = num_layers, norm

    def forward(self, tgt, memory, **kwargs):
        for layer in self.layers:
            tgt = layer(tgt, memory, **kwargs)
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    def __init__(self, d_model=512, nhead=8, num_encoder_layers=6, num_decoder_layers=6, dim_feedforward=2048, dropout=0.1, activation="relu",
                 custom_encoder=None, custom_decoder=None, layer_norm_eps=1e-5, batch_first=False, norm_first=False, bias=True):
        super().__init__()
        options = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias)
        self.encoder = TransformerEncoder(TransformerEncoderLayer(*options), num_encoder_layers, LayerNorm(d_model, eps=layer_norm_eps))
        self.decoder = TransformerDecoder(TransformerDecoderLayer(*options), num_decoder_layers, LayerNorm(d_model, eps=layer_norm_eps))

    def forward(self, src, tgt, src_mask=None, tgt_mask=None, memory_mask=None, **kwargs):
        memory = self.encoder(src, mask=src_mask)
        return self.decoder(tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, **kwargs)

    @staticmethod
    def generate_square_subsequent_mask(size, device=None, dtype=None):
        return torch.triu(torch.full((size, size), float("-inf")), diagonal=1)
