//! [`Loan`]: the memory that a caller lends to one call.
//!
//! Law: when the loan has ended, nothing leads to that memory any more. What a call keeps is copied by the engine; what
//! it returns is copied here.

#![forbid(unsafe_code)]

use crate::status::Result;
use oxport::Value;
use std::any::Any;
use std::sync::Arc;

/// What a call borrows of its caller: every lender holds a clone.
#[derive(Default)]
pub(crate) struct Loan(Arc<()>);

impl Loan {
    /// What a borrowed tensor keeps as long as it lives.
    pub(crate) fn lender(&self) -> Box<dyn Any + Send + Sync> {
        Box::new(self.0.clone())
    }
    /// Ends the loan.
    pub(crate) fn end(self) {
        assert_eq!(Arc::strong_count(&self.0), 1, "law: a call keeps its inputs no longer than it runs");
    }
}

/// Results in memory of their own: a program may return its input.
pub(crate) fn own(values: &mut [Value]) -> Result<()> {
    for value in values {
        if let Value::Tensor(tensor) = value
            && tensor.storage().is_borrowed()
        {
            *tensor = tensor.deep_copy()?;
        }
    }
    Ok(())
}
