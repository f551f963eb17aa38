//! PyTorch's fast paths of transformers in evaluation: whole attention blocks and encoder layers as one operator.
//!
//! Law: a mask says what is *not* seen; its kind is 0 for `[L, S]`, 1 for the padding of keys `[B, S]`, 2 for both at
//! once.

use crate::support::composite::composed;
use oxport_ir::{Args, Argument, Build, Builder, NodeId, OpDef, Result, ensure};

/// The table.
pub static OPS: &[OpDef] = &[
    composed(
        "aten::_native_multi_head_attention(Tensor query, Tensor key, Tensor value, int embed_dim, int \
        num_head, Tensor qkv_weight, Tensor qkv_bias, Tensor proj_weight, Tensor proj_bias, Tensor? \
        mask=None, bool need_weights=True, bool average_attn_weights=True, int? mask_type=None) -> \
        (Tensor, Tensor)",
        attention_op,
    )
    .doc(
        "Projections, attention by heads and the projection of its result; and the attention weights, if \
        wanted.",
    )
    .samples(&[
        "f32[2, 3, 4], f32[2, 3, 4], f32[2, 3, 4], 4, 2, f32[12, 4], f32[12], f32[4, 4], f32[4]",
        "!f32[2, 3, 4], f32[2, 3, 4], f32[2, 3, 4], 4, 3, f32[12, 4], f32[12], f32[4, 4], f32[4]",
    ]),
    composed(
        "aten::_transformer_encoder_layer_fwd(Tensor src, int embed_dim, int num_heads, Tensor \
        qkv_weight, Tensor qkv_bias, Tensor proj_weight, Tensor proj_bias, bool use_gelu, bool \
        norm_first, float eps, Tensor norm_weight_1, Tensor norm_bias_1, Tensor norm_weight_2, Tensor \
        norm_bias_2, Tensor ffn_weight_1, Tensor ffn_bias_1, Tensor ffn_weight_2, Tensor ffn_bias_2, \
        Tensor? mask=None, int? mask_type=None) -> Tensor",
        layer,
    )
    .doc("A layer of a transformer's encoder in evaluation."),
];

/// The arguments of an attention block that are not its inputs.
struct Block {
    embed: i64,
    heads: i64,
    /// Weight and bias of the three projections in one, and of the last one.
    weights: [NodeId; 4],
    mask: Option<NodeId>,
    kind: Option<i64>,
}

fn attention_op(b: &mut Builder<'_>, a: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let inputs: [NodeId; 3] = [a.at(0)?, a.at(1)?, a.at(2)?];
    let block = Block {
        embed: a.at(3)?,
        heads: a.at(4)?,
        weights: [a.at(5)?, a.at(6)?, a.at(7)?, a.at(8)?],
        mask: a.at(9)?,
        kind: a.at(12)?,
    };
    let (wanted, average): (bool, bool) = (a.at(10)?, a.at(11)?);
    let (out, weights) = attention(b, inputs, &block)?;
    let weights = match (wanted, average) {
        (false, _) => Argument::None,
        (true, false) => weights.into(),
        (true, true) => b.call("mean.dim", (weights, vec![1i64]))?.into(),
    };
    Ok(vec![out.into(), weights])
}

/// The result and the weights `[B, heads, L, S]`.
fn attention(b: &mut Builder<'_>, inputs: [NodeId; 3], block: &Block) -> Result<(NodeId, NodeId)> {
    let (embed, heads) = (block.embed, block.heads);
    ensure!(heads > 0 && embed % heads == 0, "attention of {heads} heads over {embed} features");
    for x in inputs {
        let x = b.fake(x)?;
        ensure!(x.dim() == 3, "attention: expected three dimensions, got {x}");
        ensure!(x.sizes[2].as_int().is_none_or(|n| n == embed), "attention over {embed} features of {x}");
    }
    let [w, bias, proj, proj_bias] = block.weights;
    let mut split = Vec::with_capacity(3);
    for (i, x) in (0i64..).zip(inputs) {
        let part = |b: &mut Builder<'_>, t: NodeId| b.call("slice.Tensor", (t, 0i64, i * embed, (i + 1) * embed));
        let (w, bias) = (part(b, w)?, part(b, bias)?);
        let y = b.call("linear", (x, w, bias))?;
        let y = b.call("unflatten.int", (y, 2i64, vec![heads, embed / heads]))?;
        split.push(b.call("transpose.int", (y, 1i64, 2i64))?);
    }
    let q = b.call("mul.Scalar", (split[0], 1.0 / ((embed / heads) as f64).sqrt()))?;
    let k = b.call("transpose.int", (split[1], -2i64, -1i64))?;
    let mut scores = b.call("matmul", (q, k))?;
    if let Some(mask) = block.mask {
        let mask = b.call_kw("_to_copy", (mask,), &[("dtype", oxport_tensor::DType::Bool.into())])?;
        let mask = match (block.kind, b.fake(mask)?.dim()) {
            (Some(1), 2) => {
                let keys = b.call("unsqueeze", (mask, 1i64))?;
                b.call("unsqueeze", (keys, 1i64))?
            }
            _ => mask,
        };
        scores = b.call("masked_fill.Scalar", (scores, mask, f64::NEG_INFINITY))?;
    }
    let weights = b.call("_softmax", (scores, -1i64, false))?;
    let y = b.call("matmul", (weights, split[2]))?;
    let y = b.call("transpose.int", (y, 1i64, 2i64))?;
    let y = b.call("flatten.using_ints", (y, 2i64))?;
    Ok((b.call("linear", (y, proj, proj_bias))?, weights))
}

fn layer(b: &mut Builder<'_>, a: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (src, embed, heads): (NodeId, i64, i64) = a.unpack()?;
    let (gelu, first, eps): (bool, bool, f64) = (a.at(7)?, a.at(8)?, a.at(9)?);
    let node = |i: usize| a.at::<NodeId>(i);
    let norms = [[node(10)?, node(11)?], [node(12)?, node(13)?]];
    let norm = |b: &mut Builder<'_>, x: NodeId, i: usize| {
        b.call("layer_norm", (x, vec![embed], norms[i][0], norms[i][1], eps))
    };
    let block =
        Block { embed, heads, weights: [node(3)?, node(4)?, node(5)?, node(6)?], mask: a.at(18)?, kind: a.at(19)? };
    let x = if first { norm(b, src, 0)? } else { src };
    let (x, _) = attention(b, [x; 3], &block)?;
    let mut x = b.call("add.Tensor", (x, src))?;
    if !first {
        x = norm(b, x, 0)?;
    }
    let y = if first { norm(b, x, 1)? } else { x };
    let y = b.call("linear", (y, node(14)?, node(15)?))?;
    let y = b.call(if gelu { "gelu" } else { "relu" }, (y,))?;
    let y = b.call("linear", (y, node(16)?, node(17)?))?;
    let y = b.call("add.Tensor", (y, x))?;
    Ok(vec![if first { y.into() } else { norm(b, y, 1)?.into() }])
}
