//! Attention.

use super::{LayerNorm, Linear, init};
use crate::{Forward, Mode, Module, Parameter, SymInt, Tensor, Visitor};
use oxport_tensor::DType;

/// `torch.nn.MultiheadAttention`, with keys and values of the size of queries: of a sequence to itself, or to another
/// one.
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
    /// What is added to the scores: float, `[queries, keys]` or `[batch * heads, queries, keys]`; or bool, true where
    /// nothing is attended to.
    pub mask: Option<&'a Tensor>,
    /// What is added to the scores of keys: float, `[batch, keys]`; or bool, true for padding.
    pub key_padding_mask: Option<&'a Tensor>,
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

    /// With this dropout of the weights of attention.
    pub fn dropout(self, dropout: f64) -> MultiheadAttention {
        MultiheadAttention { dropout, ..self }
    }
    /// The same attention with weights of its own that begin as these.
    pub(super) fn deep_clone(&self) -> MultiheadAttention {
        MultiheadAttention {
            in_proj_weight: own(&self.in_proj_weight),
            in_proj_bias: own(&self.in_proj_bias),
            out_proj: own_linear(&self.out_proj),
            ..self.clone()
        }
    }

    /// Queries, keys and values: of one sequence, or the latter two of another one.
    fn project(&self, x: &Tensor, memory: Option<&Tensor>) -> [Tensor; 3] {
        let (weight, bias, features) = (self.in_proj_weight.get(), self.in_proj_bias.get(), x.size(2));
        let apart = |packed: Tensor, parts: i64| {
            let sizes: Vec<SymInt> = vec![parts.into(), features.clone()];
            packed.unflatten(-1i64, sizes).unsqueeze(0i64).transpose(0i64, -2i64).squeeze(-2i64).contiguous()
        };
        let Some(memory) = memory else {
            let packed = apart(x.linear(weight, bias), 3);
            return [0i64, 1, 2].map(|i| packed.select(0i64, i));
        };
        let sizes: Vec<SymInt> = vec![features.clone(), &features * 2i64];
        let (weights, biases) = (weight.split(sizes.clone(), 0), bias.split(sizes, 0));
        let ([weight, weights], [bias, biases]) = (&weights[..], &biases[..]) else {
            return [0, 1, 2].map(|_| x.tracer.void());
        };
        let (query, packed) = (x.linear(weight, bias), memory.linear(weights, biases));
        let packed = apart(packed, 2);
        [query, packed.select(0i64, 0i64), packed.select(0i64, 1i64)]
    }

    /// As `F.multi_head_attention_forward` traces it.
    fn attend(&self, x: &Tensor, memory: Option<&Tensor>, how: &Attention<'_>) -> (Tensor, Option<Tensor>) {
        let key_padding = how.key_padding_mask.map(canonical);
        let mask = how.mask.map(canonical);
        let first = |x: &Tensor| if self.batch_first { x.transpose(1i64, 0i64) } else { x.clone() };
        let x = first(x);
        let memory = memory.map(first);
        let (length, batch, features) = (x.size(0), x.size(1), x.size(2));
        let source = memory.as_ref().map_or_else(|| length.clone(), |memory| memory.size(0));
        let heads = SymInt::from(self.heads);
        let width = features.floor_div(&heads);
        let [q, k, v] = self.project(&x, memory.as_ref());
        let mask = mask.map(|mask| if mask.ndim() == 2 { mask.unsqueeze(0i64) } else { mask });
        let all = &batch * &heads;
        let split = |t: &Tensor, length: &SymInt| {
            let sizes: Vec<SymInt> = vec![length.clone(), all.clone(), width.clone()];
            t.view(sizes).transpose(0i64, 1i64)
        };
        let (q, k, v) = (split(&q, &length), split(&k, &source), split(&v, &source));
        let padded = key_padding.is_some();
        let mask = match key_padding {
            None => mask,
            Some(padding) => {
                let sizes: Vec<SymInt> = vec![batch.clone(), 1.into(), 1.into(), source.clone()];
                let wide: Vec<SymInt> = vec![(-1).into(), heads.clone(), (-1).into(), (-1).into()];
                let rows: Vec<SymInt> = vec![all.clone(), 1.into(), source.clone()];
                let padding = padding.view(sizes).expand(wide).reshape(rows);
                Some(mask.map_or_else(|| padding.clone(), |mask| &mask + &padding))
            }
        };
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
            let by_head: Vec<SymInt> = vec![batch.clone(), heads.clone(), (-1).into(), source.clone()];
            let mask = mask.map(|mask| match how.mask {
                Some(given) if given.ndim() == 2 && !padded => mask.unsqueeze(0i64),
                _ => mask.view(by_head),
            });
            let apart = |t: &Tensor, length: &SymInt| {
                let sizes: Vec<SymInt> = vec![batch.clone(), heads.clone(), length.clone(), width.clone()];
                t.view(sizes)
            };
            let (q, k, v) = (apart(&q, &length), apart(&k, &source), apart(&v, &source));
            (q.scaled_dot_product_attention(k, v, mask, dropout, false).permute([2i64, 0, 1, 3]), None)
        };
        let context = context.contiguous_view(&[rows, features.clone()]);
        let (weight, bias) = (self.out_proj.weight.get(), self.out_proj.bias.as_ref().map(Parameter::get));
        let sizes: Vec<SymInt> = vec![length.clone(), batch.clone(), features];
        let mut output = context.linear(weight, bias).view(sizes);
        let weights = weights.map(|weights| {
            let sizes: Vec<SymInt> = vec![batch.clone(), heads.clone(), length.clone(), source.clone()];
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
        self.attend(x, None, &how)
    }
}

/// The attention of a sequence to another one, the memory.
impl Forward<(&Tensor, &Tensor, Attention<'_>)> for MultiheadAttention {
    type Output = (Tensor, Option<Tensor>);
    fn forward(&self, (x, memory, how): (&Tensor, &Tensor, Attention<'_>)) -> (Tensor, Option<Tensor>) {
        self.attend(x, Some(memory), &how)
    }
}

/// A mask as what is added to scores, `F._canonical_mask`.
fn canonical(mask: &Tensor) -> Tensor {
    match mask.dtype() {
        DType::Bool => {
            let options = [("dtype", DType::F32.into()), ("pin_memory", false.into())];
            mask.call("zeros_like", &[], &options).masked_fill_(mask, f64::NEG_INFINITY)
        }
        _ => mask.clone(),
    }
}

/// A parameter of its own that begins as this one.
fn own(p: &Parameter) -> Parameter {
    Parameter::new(p.data().clone())
}
pub(super) fn own_linear(l: &Linear) -> Linear {
    Linear { weight: own(&l.weight), bias: l.bias.as_ref().map(own) }
}
pub(super) fn own_norm(n: &LayerNorm) -> LayerNorm {
    LayerNorm { weight: n.weight.as_ref().map(own), bias: n.bias.as_ref().map(own), ..n.clone() }
}
