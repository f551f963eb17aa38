//! Attention, and the layers of encoders.

use super::{Dropout, LayerNorm, Linear, ModuleList, init};
use crate::{Forward, Mode, Module, Parameter, SymInt, Tensor, Visitor};

/// `torch.nn.MultiheadAttention`, with keys and values of the size of queries.
#[derive(Clone, Debug)]
pub struct MultiheadAttention {
    in_proj_weight: Parameter,
    in_proj_bias: Parameter,
    out_proj: Linear,
    heads: i64,
    /// Whether the batch is the first dimension.
    pub batch_first: bool,
    /// The dropout of the weights of attention.
    pub dropout: f64,
    mode: Mode,
}

/// How attention is asked for.
#[derive(Clone, Debug, Default)]
pub struct Attention<'a> {
    /// What is added to the scores: float, `[queries, keys]` or `[batch * heads, queries, keys]`.
    pub mask: Option<&'a Tensor>,
    /// Whether the weights are given, too: the mean over the heads.
    pub needs_weights: bool,
}

impl MultiheadAttention {
    /// Of these many heads over so many features.
    pub fn new(features: i64, heads: i64) -> MultiheadAttention {
        let out_proj = Linear::new(features, features);
        let in_proj_weight = Parameter::new(init::xavier_uniform(&[3 * features, features]));
        let in_proj_bias = Parameter::new(init::constant(&[3 * features], 0.0));
        if let Some(bias) = &out_proj.bias {
            bias.set(init::constant(&[features], 0.0));
        }
        let mode = Mode::default();
        MultiheadAttention { in_proj_weight, in_proj_bias, out_proj, heads, batch_first: false, dropout: 0.0, mode }
    }
    /// With the batch as the first dimension.
    pub fn batch_first(self) -> MultiheadAttention {
        MultiheadAttention { batch_first: true, ..self }
    }

    /// The attention of a sequence to itself, as `F.multi_head_attention_forward` traces it.
    fn attend(&self, x: &Tensor, how: &Attention<'_>) -> (Tensor, Option<Tensor>) {
        let x = if self.batch_first { x.transpose(1i64, 0i64) } else { x.clone() };
        let (length, batch, features) = (x.size(0), x.size(1), x.size(2));
        let heads = SymInt::from(self.heads);
        let width = features.floor_div(&heads);
        let packed = x.linear(self.in_proj_weight.get(), self.in_proj_bias.get());
        let parts: Vec<SymInt> = vec![3i64.into(), features.clone()];
        let parts = packed.unflatten(-1i64, parts).unsqueeze(0i64).transpose(0i64, -2i64).squeeze(-2i64).contiguous();
        let [q, k, v] = [0i64, 1, 2].map(|i| parts.select(0i64, i));
        let mask = how.mask.map(|mask| if mask.ndim() == 2 { mask.unsqueeze(0i64) } else { mask.clone() });
        let all = &batch * &heads;
        let split = |t: &Tensor| {
            let sizes: Vec<SymInt> = vec![length.clone(), all.clone(), width.clone()];
            t.view(sizes).transpose(0i64, 1i64)
        };
        let (q, k, v) = (split(&q), split(&k), split(&v));
        let rows = &batch * &length;
        let dropout = if self.mode.is_training() { self.dropout } else { 0.0 };
        let (context, weights) = if how.needs_weights {
            let scale = width.known().map_or(1.0, |w| (1.0 / w as f64).sqrt());
            let scores = q.mul(scale);
            let keys = k.transpose(-2i64, -1i64);
            let scores = match &mask {
                Some(mask) => mask.baddbmm(&scores, keys),
                None => scores.bmm(keys),
            };
            let mut weights = scores.softmax(-1i64);
            if dropout > 0.0 {
                weights = weights.dropout(dropout, true);
            }
            let context = weights.bmm(v).transpose(0i64, 1i64);
            (context, Some(weights))
        } else {
            let mask = mask.map(|mask| if mask.ndim() == 3 { mask.unsqueeze(0i64) } else { mask });
            let apart = |t: &Tensor| {
                let sizes: Vec<SymInt> = vec![batch.clone(), heads.clone(), length.clone(), width.clone()];
                t.view(sizes)
            };
            let (q, k, v) = (apart(&q), apart(&k), apart(&v));
            (q.scaled_dot_product_attention(k, v, mask, dropout, false).permute([2i64, 0, 1, 3]), None)
        };
        let context = context.contiguous_view(&[rows, features.clone()]);
        let (weight, bias) = (self.out_proj.weight.get(), self.out_proj.bias.as_ref().map(Parameter::get));
        let sizes: Vec<SymInt> = vec![length.clone(), batch.clone(), features];
        let mut output = context.linear(weight, bias).view(sizes);
        let weights = weights.map(|weights| {
            let sizes: Vec<SymInt> = vec![batch.clone(), heads.clone(), length.clone(), length.clone()];
            weights.view(sizes).mean_dim(1i64, false)
        });
        if self.batch_first {
            output = output.transpose(1i64, 0i64);
        }
        (output, weights)
    }
}

impl Tensor {
    /// `self.contiguous().view(sizes)`, which PyTorch's attention traces as a `reshape`.
    #[track_caller]
    fn contiguous_view(&self, sizes: &[SymInt]) -> Tensor {
        self.reshape(sizes.to_vec())
    }
}

impl Module for MultiheadAttention {
    fn visit(&self, visitor: &mut dyn Visitor) {
        visitor.parameter("in_proj_weight", &self.in_proj_weight);
        visitor.parameter("in_proj_bias", &self.in_proj_bias);
        visitor.module("out_proj", &self.out_proj);
        visitor.mode(&self.mode);
    }
    fn class(&self) -> String {
        "torch.nn.modules.activation.MultiheadAttention".into()
    }
}

/// The attention of a sequence to itself: the output, and the weights where they are asked for.
impl Forward<(&Tensor, Attention<'_>)> for MultiheadAttention {
    type Output = (Tensor, Option<Tensor>);
    fn forward(&self, (x, how): (&Tensor, Attention<'_>)) -> (Tensor, Option<Tensor>) {
        self.attend(x, &how)
    }
}

/// `torch.nn.TransformerEncoderLayer` with ReLU.
#[derive(Clone, Debug)]
pub struct TransformerEncoderLayer {
    self_attn: MultiheadAttention,
    linear1: Linear,
    dropout: Dropout,
    linear2: Linear,
    norm1: LayerNorm,
    norm2: LayerNorm,
    dropout1: Dropout,
    dropout2: Dropout,
    norm_first: bool,
    is_gelu: bool,
}

impl TransformerEncoderLayer {
    /// Over so many features, with these heads, and a feed-forward part of that width.
    pub fn new(features: i64, heads: i64, width: i64, dropout: f64) -> TransformerEncoderLayer {
        let self_attn = MultiheadAttention { dropout, ..MultiheadAttention::new(features, heads) };
        let (linear1, linear2) = (Linear::new(features, width), Linear::new(width, features));
        let norm = || LayerNorm::new(features);
        let drop = || Dropout::new(dropout);
        TransformerEncoderLayer {
            self_attn,
            linear1,
            dropout: drop(),
            linear2,
            norm1: norm(),
            norm2: norm(),
            dropout1: drop(),
            dropout2: drop(),
            norm_first: false,
            is_gelu: false,
        }
    }
    /// With the batch as the first dimension.
    pub fn batch_first(self) -> TransformerEncoderLayer {
        TransformerEncoderLayer { self_attn: self.self_attn.batch_first(), ..self }
    }
    /// With GELU in place of ReLU.
    pub fn gelu(self) -> TransformerEncoderLayer {
        TransformerEncoderLayer { is_gelu: true, ..self }
    }
    /// Normalizing before attention and feed-forward, not behind.
    pub fn norm_first(self) -> TransformerEncoderLayer {
        TransformerEncoderLayer { norm_first: true, ..self }
    }
    /// The same layer with weights of its own that begin as these.
    fn deep_clone(&self) -> TransformerEncoderLayer {
        let own = |p: &Parameter| Parameter::new(p.data().clone());
        let linear = |l: &Linear| Linear { weight: own(&l.weight), bias: l.bias.as_ref().map(own) };
        let norm = |n: &LayerNorm| LayerNorm {
            weight: n.weight.as_ref().map(own),
            bias: n.bias.as_ref().map(own),
            ..n.clone()
        };
        let attn = &self.self_attn;
        TransformerEncoderLayer {
            self_attn: MultiheadAttention {
                in_proj_weight: own(&attn.in_proj_weight),
                in_proj_bias: own(&attn.in_proj_bias),
                out_proj: linear(&attn.out_proj),
                ..attn.clone()
            },
            linear1: linear(&self.linear1),
            linear2: linear(&self.linear2),
            norm1: norm(&self.norm1),
            norm2: norm(&self.norm2),
            ..self.clone()
        }
    }
    fn attended(&self, x: &Tensor, mask: Option<&Tensor>) -> Tensor {
        let (output, _) = self.self_attn.call((x, Attention { mask, needs_weights: false }));
        self.dropout1.call(&output)
    }
    fn fed_forward(&self, x: &Tensor) -> Tensor {
        let inner = self.linear1.call(x);
        let inner = if self.is_gelu { inner.gelu() } else { inner.relu() };
        self.dropout2.call(&self.linear2.call(&self.dropout.call(&inner)))
    }
}

impl Module for TransformerEncoderLayer {
    fn visit(&self, visitor: &mut dyn Visitor) {
        visitor.module("self_attn", &self.self_attn);
        visitor.module("linear1", &self.linear1);
        visitor.module("dropout", &self.dropout);
        visitor.module("linear2", &self.linear2);
        visitor.module("norm1", &self.norm1);
        visitor.module("norm2", &self.norm2);
        visitor.module("dropout1", &self.dropout1);
        visitor.module("dropout2", &self.dropout2);
    }
    fn class(&self) -> String {
        "torch.nn.modules.transformer.TransformerEncoderLayer".into()
    }
}

/// A sequence, and what is added to the scores of attention.
impl Forward<(&Tensor, Option<&Tensor>)> for TransformerEncoderLayer {
    type Output = Tensor;
    fn forward(&self, (x, mask): (&Tensor, Option<&Tensor>)) -> Tensor {
        if self.norm_first {
            let x = x + self.attended(&self.norm1.call(x), mask);
            return &x + self.fed_forward(&self.norm2.call(&x));
        }
        let x = self.norm1.call(&(x + self.attended(x, mask)));
        self.norm2.call(&(&x + self.fed_forward(&x)))
    }
}

/// `torch.nn.TransformerEncoder`: copies of one layer, one after the other.
#[derive(Clone, Debug)]
pub struct TransformerEncoder {
    layers: ModuleList<TransformerEncoderLayer>,
}

impl TransformerEncoder {
    /// So many copies of this layer, as PyTorch copies it: with the same initial weights.
    pub fn new(layer: &TransformerEncoderLayer, copies: usize) -> TransformerEncoder {
        TransformerEncoder { layers: (0..copies).map(|_| layer.deep_clone()).collect() }
    }
}

impl Module for TransformerEncoder {
    fn visit(&self, visitor: &mut dyn Visitor) {
        visitor.module("layers", &self.layers);
    }
    fn class(&self) -> String {
        "torch.nn.modules.transformer.TransformerEncoder".into()
    }
}

impl Forward<(&Tensor, Option<&Tensor>)> for TransformerEncoder {
    type Output = Tensor;
    fn forward(&self, (x, mask): (&Tensor, Option<&Tensor>)) -> Tensor {
        self.layers.iter().fold(x.clone(), |x, layer| layer.call((&x, mask)))
    }
}
