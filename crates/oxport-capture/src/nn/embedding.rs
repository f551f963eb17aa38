//! Embeddings.

use super::init;
use crate::{Forward, Module, Parameter, Tensor, Value, Visitor};
use oxport_tensor::DType;

/// `torch.nn.Embedding`: rows of a table.
#[derive(Clone, Debug)]
pub struct Embedding {
    /// `[rows, features]`
    pub weight: Parameter,
    /// The row that padding stands for, which training leaves alone.
    pub padding_idx: Option<i64>,
}

impl Embedding {
    /// These many rows of so many features.
    pub fn new(rows: i64, features: i64) -> Embedding {
        Embedding { weight: Parameter::new(init::normal(&[rows, features], 0.0, 1.0)), padding_idx: None }
    }
    /// The table of another module, tied to it.
    pub fn tied(weight: &Parameter) -> Embedding {
        Embedding { weight: weight.clone(), padding_idx: None }
    }
}

impl Module for Embedding {
    fn visit(&self, visitor: &mut dyn Visitor) {
        visitor.parameter("weight", &self.weight);
    }
    fn class(&self) -> String {
        "torch.nn.modules.sparse.Embedding".into()
    }
}

impl Forward<&Tensor> for Embedding {
    type Output = Tensor;
    fn forward(&self, indices: &Tensor) -> Tensor {
        let padding = self.padding_idx.unwrap_or(-1);
        self.weight.get().call("embedding", &[indices.into(), padding.into()], &[])
    }
}

/// What becomes of the rows of a bag.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BagMode {
    /// Their sum.
    Sum,
    /// Their mean.
    #[default]
    Mean,
    /// The largest of each feature.
    Max,
}

/// `torch.nn.EmbeddingBag`: sums, means or maxima of rows of a table.
#[derive(Clone, Debug)]
pub struct EmbeddingBag {
    /// `[rows, features]`
    pub weight: Parameter,
    /// What becomes of the rows of a bag.
    pub mode: BagMode,
    /// The row that counts for nothing.
    pub padding_idx: Option<i64>,
    /// Whether offsets end with the number of indices.
    pub include_last_offset: bool,
}

impl EmbeddingBag {
    /// These many rows of so many features, of which means are taken.
    pub fn new(rows: i64, features: i64) -> EmbeddingBag {
        let weight = Parameter::new(init::normal(&[rows, features], 0.0, 1.0));
        EmbeddingBag { weight, mode: BagMode::Mean, padding_idx: None, include_last_offset: false }
    }
}

impl Module for EmbeddingBag {
    fn visit(&self, visitor: &mut dyn Visitor) {
        visitor.parameter("weight", &self.weight);
    }
    fn class(&self) -> String {
        "torch.nn.modules.sparse.EmbeddingBag".into()
    }
}

/// Bags are rows of a matrix of indices.
impl Forward<&Tensor> for EmbeddingBag {
    type Output = Tensor;
    fn forward(&self, indices: &Tensor) -> Tensor {
        let (bags, size) = (indices.size(0), indices.size(1));
        let int = [("dtype", DType::I64.into())];
        let offsets = indices.tracer().make("arange", &[0.into(), (bags * &size).into(), size.into()], &int);
        self.forward((&indices.reshape([-1i64]), &offsets))
    }
}

/// A list of indices, and where each bag of it begins.
impl Forward<(&Tensor, &Tensor)> for EmbeddingBag {
    type Output = Tensor;
    fn forward(&self, (indices, offsets): (&Tensor, &Tensor)) -> Tensor {
        let rest: [Value; 8] = [
            indices.into(),
            offsets.into(),
            false.into(),
            (self.mode as i64).into(),
            false.into(),
            Value::None,
            self.include_last_offset.into(),
            self.padding_idx.into(),
        ];
        self.weight.get().call("embedding_bag.padding_idx", &rest, &[])
    }
}
