//! Embeddings.

use super::init;
use crate::{Forward, Module, Parameter, Tensor, Visitor};

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
