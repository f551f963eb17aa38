//! [`OxportModule`]: a program with buffers of its own, which its calls change.
//!
//! Law: a call that fails leaves the buffers as they were.

#![forbid(unsafe_code)]

use crate::loan::Loan;
use crate::program::{Loaded, OxportProgram};
use crate::status::{Failure, OxportStatus, Result};
use oxport::{Module, Tensor, Value};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A program with buffers of its own. Calls from several threads wait for one another; a clone per thread does not.
pub struct OxportModule {
    program: Arc<Loaded>,
    module: Mutex<Module>,
}

impl OxportModule {
    pub(crate) fn new(program: &OxportProgram) -> OxportModule {
        let program = program.0.clone();
        let module = Mutex::new(Module::new(program.plan.clone()));
        OxportModule { program, module }
    }
    /// Another module with the same buffers, and the same plan.
    pub(crate) fn copied(&self) -> OxportModule {
        OxportModule { program: self.program.clone(), module: Mutex::new(self.lock().clone()) }
    }
    pub(crate) fn program(&self) -> &Arc<Loaded> {
        &self.program
    }
    /// A panic within a call leaves the buffers as they were, so that a poisoned lock protects nothing.
    fn lock(&self) -> MutexGuard<'_, Module> {
        self.module.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Calls the program and takes over its buffers, if `take` accepts the results.
    pub(crate) fn call<T>(
        &self,
        inputs: Vec<Value>,
        loan: Loan,
        take: impl FnOnce(Vec<(String, Value)>) -> Result<T>,
    ) -> Result<T> {
        let mut module = self.lock();
        // What fails half way is dropped before the loan ends.
        let mut done = None;
        let results = self.program.call(inputs, loan, |inputs| {
            let mut next = module.clone();
            let outputs = next.call_flat(inputs)?;
            done = Some(next);
            Ok(outputs)
        })?;
        let taken = take(results)?;
        *module = done.expect("law: a call that succeeded has new buffers");
        Ok(taken)
    }
    pub(crate) fn reset(&self) {
        self.lock().reset();
    }
    /// The current value of a buffer.
    pub(crate) fn buffer(&self, name: &str) -> Result<Tensor> {
        let module = self.lock();
        let found = module.buffers().find(|(other, _)| &***other == name).map(|(_, tensor)| tensor.clone());
        found.ok_or_else(|| {
            let names: Vec<String> = module.buffers().map(|(name, _)| format!("`{name}`")).collect();
            let has = if names.is_empty() { "none".to_string() } else { names.join(", ") };
            Failure::usage(format!("expected the name of a buffer that calls change ({has}), got {name:?}"))
        })
    }
    /// Replaces the value of a buffer by a copy of this one.
    pub(crate) fn set_buffer(&self, name: &str, value: &Value) -> Result<()> {
        let Value::Tensor(tensor) = value else {
            return Err(Failure::usage(format!("buffer `{name}`: expected a tensor, got a {}", value.kind())));
        };
        self.buffer(name)?;
        let set = self.lock().set_buffer(name, tensor.deep_copy()?);
        set.map_err(|e| Failure::new(OxportStatus::Usage, e.to_string()))
    }
}
