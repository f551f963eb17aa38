//! [`Loan`]: the memory that a caller lends to one call.
//!
//! Law: when the loan has ended, nothing leads to that memory any more.

#![forbid(unsafe_code)]

use crate::status::Result;
use oxport::tensor::{TensorMut, copy};
use oxport::{Layout, Outputs, Storage, Tensor, Value};
use std::any::Any;
use std::sync::Arc;

/// What a call borrows of its caller.
#[derive(Default)]
pub(crate) struct Loan {
    /// Every lender holds a clone.
    token: Arc<()>,
    storages: Vec<Storage>,
}

impl Loan {
    /// What a borrowed tensor keeps as long as it lives.
    pub(crate) fn lender(&self) -> Box<dyn Any + Send + Sync> {
        Box::new(self.token.clone())
    }
    /// Notes a borrowed tensor.
    pub(crate) fn note(&mut self, tensor: &Tensor) {
        self.storages.push(tensor.storage().clone());
    }
    fn is_of(&self, tensor: &Tensor) -> bool {
        self.storages.iter().any(|lent| lent.same_storage(tensor.storage()))
    }
    /// The tensor, or a copy of it if its memory is lent: a program may return its input, or keep it in a buffer.
    pub(crate) fn own(&self, tensor: &mut Tensor) -> Result<bool> {
        let is_lent = self.is_of(tensor);
        if is_lent {
            *tensor = copy_of(tensor)?;
        }
        Ok(is_lent)
    }
    /// The same for all results of a call.
    pub(crate) fn own_all(&self, outputs: &mut Outputs) -> Result<()> {
        for value in &mut outputs.user {
            if let Value::Tensor(tensor) = value {
                self.own(tensor)?;
            }
        }
        let mutated = outputs.mutated_inputs.iter_mut().map(|(_, tensor)| tensor);
        let buffers = outputs.mutated_buffers.iter_mut().map(|(_, tensor)| tensor);
        for tensor in mutated.chain(buffers).chain(&mut outputs.state) {
            self.own(tensor)?;
        }
        Ok(())
    }
    /// Ends the loan.
    pub(crate) fn end(self) {
        drop(self.storages);
        assert_eq!(Arc::strong_count(&self.token), 1, "law: a call keeps its inputs no longer than it runs");
    }
}

/// A tensor with memory of its own, and the same strides if they leave no gaps.
pub(crate) fn copy_of(tensor: &Tensor) -> Result<Tensor> {
    let is_dense = tensor.layout().is_dense() && tensor.strides().iter().all(|stride| *stride >= 0);
    let layout = match is_dense {
        true => Layout { offset: 0, ..tensor.layout().clone() },
        false => Layout::contiguous(tensor.sizes())?,
    };
    let mut out = TensorMut::empty(tensor.dtype(), layout)?;
    copy(tensor, &mut out)?;
    Ok(out.freeze())
}
