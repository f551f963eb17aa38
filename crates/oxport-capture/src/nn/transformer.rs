//! The layers of encoders and decoders, and what is made of them.

use super::attention::{Attention, MultiheadAttention, own_linear, own_norm};
use super::{Dropout, LayerNorm, Linear, ModuleList, init};
use crate::{Buffer, Forward, Module, Parameter, Tensor, Visitor};

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
        let self_attn = MultiheadAttention::new(features, heads).dropout(dropout);
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
        TransformerEncoderLayer {
            self_attn: self.self_attn.deep_clone(),
            linear1: own_linear(&self.linear1),
            linear2: own_linear(&self.linear2),
            norm1: own_norm(&self.norm1),
            norm2: own_norm(&self.norm2),
            ..self.clone()
        }
    }
    fn attended(&self, x: &Tensor, mask: Option<&Tensor>) -> Tensor {
        let (output, _) = self.self_attn.call((x, Attention { mask, ..Attention::default() }));
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
    norm: Option<LayerNorm>,
}

impl TransformerEncoder {
    /// So many copies of this layer, as PyTorch copies it: with the same initial weights.
    pub fn new(layer: &TransformerEncoderLayer, copies: usize) -> TransformerEncoder {
        TransformerEncoder { layers: (0..copies).map(|_| layer.deep_clone()).collect(), norm: None }
    }
    /// With a normalization at the end.
    pub fn norm(self, norm: LayerNorm) -> TransformerEncoder {
        TransformerEncoder { norm: Some(norm), ..self }
    }
}

impl Module for TransformerEncoder {
    fn visit(&self, visitor: &mut dyn Visitor) {
        visitor.module("layers", &self.layers);
        self.norm.iter().for_each(|norm| visitor.module("norm", norm));
    }
    fn class(&self) -> String {
        "torch.nn.modules.transformer.TransformerEncoder".into()
    }
}

impl Forward<(&Tensor, Option<&Tensor>)> for TransformerEncoder {
    type Output = Tensor;
    fn forward(&self, (x, mask): (&Tensor, Option<&Tensor>)) -> Tensor {
        let x = self.layers.iter().fold(x.clone(), |x, layer| layer.call((&x, mask)));
        self.norm.as_ref().map_or_else(|| x.clone(), |norm| norm.call(&x))
    }
}

/// `torch.nn.TransformerDecoderLayer` with ReLU.
#[derive(Clone, Debug)]
pub struct TransformerDecoderLayer {
    self_attn: MultiheadAttention,
    multihead_attn: MultiheadAttention,
    linear1: Linear,
    dropout: Dropout,
    linear2: Linear,
    norms: [LayerNorm; 3],
    dropouts: [Dropout; 3],
    norm_first: bool,
    is_gelu: bool,
}

impl TransformerDecoderLayer {
    /// Over so many features, with these heads, and a feed-forward part of that width.
    pub fn new(features: i64, heads: i64, width: i64, dropout: f64) -> TransformerDecoderLayer {
        let attention = || MultiheadAttention::new(features, heads).dropout(dropout);
        let (self_attn, multihead_attn) = (attention(), attention());
        let (linear1, linear2) = (Linear::new(features, width), Linear::new(width, features));
        TransformerDecoderLayer {
            self_attn,
            multihead_attn,
            linear1,
            dropout: Dropout::new(dropout),
            linear2,
            norms: [0; 3].map(|_| LayerNorm::new(features)),
            dropouts: [0; 3].map(|_| Dropout::new(dropout)),
            norm_first: false,
            is_gelu: false,
        }
    }
    /// With the batch as the first dimension.
    pub fn batch_first(self) -> TransformerDecoderLayer {
        let (self_attn, multihead_attn) = (self.self_attn.batch_first(), self.multihead_attn.batch_first());
        TransformerDecoderLayer { self_attn, multihead_attn, ..self }
    }
    /// With GELU in place of ReLU.
    pub fn gelu(self) -> TransformerDecoderLayer {
        TransformerDecoderLayer { is_gelu: true, ..self }
    }
    /// Normalizing before attention and feed-forward, not behind.
    pub fn norm_first(self) -> TransformerDecoderLayer {
        TransformerDecoderLayer { norm_first: true, ..self }
    }
    /// The same layer with weights of its own that begin as these.
    fn deep_clone(&self) -> TransformerDecoderLayer {
        TransformerDecoderLayer {
            self_attn: self.self_attn.deep_clone(),
            multihead_attn: self.multihead_attn.deep_clone(),
            linear1: own_linear(&self.linear1),
            linear2: own_linear(&self.linear2),
            norms: [0, 1, 2].map(|i| own_norm(&self.norms[i])),
            ..self.clone()
        }
    }
    fn attended(&self, x: &Tensor, mask: Option<&Tensor>) -> Tensor {
        let (output, _) = self.self_attn.call((x, Attention { mask, ..Attention::default() }));
        self.dropouts[0].call(&output)
    }
    fn remembered(&self, x: &Tensor, memory: &Tensor) -> Tensor {
        let (output, _) = self.multihead_attn.call((x, memory, Attention::default()));
        self.dropouts[1].call(&output)
    }
    fn fed_forward(&self, x: &Tensor) -> Tensor {
        let inner = self.linear1.call(x);
        let inner = if self.is_gelu { inner.gelu() } else { inner.relu() };
        self.dropouts[2].call(&self.linear2.call(&self.dropout.call(&inner)))
    }
}

impl Module for TransformerDecoderLayer {
    fn visit(&self, visitor: &mut dyn Visitor) {
        visitor.module("self_attn", &self.self_attn);
        visitor.module("multihead_attn", &self.multihead_attn);
        visitor.module("linear1", &self.linear1);
        visitor.module("dropout", &self.dropout);
        visitor.module("linear2", &self.linear2);
        self.norms.iter().zip(["norm1", "norm2", "norm3"]).for_each(|(norm, name)| visitor.module(name, norm));
        let dropouts = self.dropouts.iter().zip(["dropout1", "dropout2", "dropout3"]);
        dropouts.for_each(|(dropout, name)| visitor.module(name, dropout));
    }
    fn class(&self) -> String {
        "torch.nn.modules.transformer.TransformerDecoderLayer".into()
    }
}

/// A sequence, the memory, and what is added to the scores of the sequence's attention to itself.
impl Forward<(&Tensor, &Tensor, Option<&Tensor>)> for TransformerDecoderLayer {
    type Output = Tensor;
    fn forward(&self, (x, memory, mask): (&Tensor, &Tensor, Option<&Tensor>)) -> Tensor {
        let [norm1, norm2, norm3] = &self.norms;
        if self.norm_first {
            let x = x + self.attended(&norm1.call(x), mask);
            let x = &x + self.remembered(&norm2.call(&x), memory);
            return &x + self.fed_forward(&norm3.call(&x));
        }
        let x = norm1.call(&(x + self.attended(x, mask)));
        let x = norm2.call(&(&x + self.remembered(&x, memory)));
        norm3.call(&(&x + self.fed_forward(&x)))
    }
}

/// `torch.nn.TransformerDecoder`: copies of one layer, one after the other.
#[derive(Clone, Debug)]
pub struct TransformerDecoder {
    layers: ModuleList<TransformerDecoderLayer>,
    norm: Option<LayerNorm>,
}

impl TransformerDecoder {
    /// So many copies of this layer, as PyTorch copies it: with the same initial weights.
    pub fn new(layer: &TransformerDecoderLayer, copies: usize) -> TransformerDecoder {
        TransformerDecoder { layers: (0..copies).map(|_| layer.deep_clone()).collect(), norm: None }
    }
    /// With a normalization at the end.
    pub fn norm(self, norm: LayerNorm) -> TransformerDecoder {
        TransformerDecoder { norm: Some(norm), ..self }
    }
}

impl Module for TransformerDecoder {
    fn visit(&self, visitor: &mut dyn Visitor) {
        visitor.module("layers", &self.layers);
        self.norm.iter().for_each(|norm| visitor.module("norm", norm));
    }
    fn class(&self) -> String {
        "torch.nn.modules.transformer.TransformerDecoder".into()
    }
}

impl Forward<(&Tensor, &Tensor, Option<&Tensor>)> for TransformerDecoder {
    type Output = Tensor;
    fn forward(&self, (x, memory, mask): (&Tensor, &Tensor, Option<&Tensor>)) -> Tensor {
        let x = self.layers.iter().fold(x.clone(), |x, layer| layer.call((&x, memory, mask)));
        self.norm.as_ref().map_or_else(|| x.clone(), |norm| norm.call(&x))
    }
}

/// `torch.nn.Transformer`: an encoder of the source, a decoder of the target.
#[derive(Clone, Debug)]
pub struct Transformer {
    encoder: TransformerEncoder,
    decoder: TransformerDecoder,
}

impl Transformer {
    /// Over so many features, with these heads and layers, and feed-forward parts of that width.
    pub fn new(features: i64, heads: i64, layers: [usize; 2], width: i64, dropout: f64) -> Transformer {
        let encoder =
            TransformerEncoder::new(&TransformerEncoderLayer::new(features, heads, width, dropout), layers[0]);
        let decoder =
            TransformerDecoder::new(&TransformerDecoderLayer::new(features, heads, width, dropout), layers[1]);
        let norm = || LayerNorm::new(features);
        let all = Transformer { encoder: encoder.norm(norm()), decoder: decoder.norm(norm()) };
        all.visit(&mut Reset);
        all
    }
}

/// `Transformer._reset_parameters`: draws every weight again.
struct Reset;

impl Visitor for Reset {
    fn parameter(&mut self, _: &str, parameter: &Parameter) {
        let sizes = parameter.data().sizes().to_vec();
        if sizes.len() > 1 {
            parameter.set(init::xavier_uniform(&sizes));
        }
    }
    fn buffer(&mut self, _: &str, _: &Buffer) {}
    fn module(&mut self, _: &str, module: &dyn Module) {
        module.visit(self);
    }
}

impl Module for Transformer {
    fn visit(&self, visitor: &mut dyn Visitor) {
        visitor.module("encoder", &self.encoder);
        visitor.module("decoder", &self.decoder);
    }
    fn class(&self) -> String {
        "torch.nn.modules.transformer.Transformer".into()
    }
}

/// The source, the target, and what is added to the scores of the target's attention to itself.
impl Forward<(&Tensor, &Tensor, Option<&Tensor>)> for Transformer {
    type Output = Tensor;
    fn forward(&self, (source, target, mask): (&Tensor, &Tensor, Option<&Tensor>)) -> Tensor {
        let memory = self.encoder.call((source, None));
        self.decoder.call((target, &memory, mask))
    }
}
