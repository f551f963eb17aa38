//! [`Operator`]: an operator made at run time, whose functions may be closures.
//!
//! Law: a row is plain data, and its functions are plain functions. One that stands for a closure finds what was
//! captured in the operator called, so that nothing else need know of closures.

use crate::args::{Build, Meta, Real, World};
use crate::{Args, Argument, Builder, Error, OpDef, Result, Val, Value};
use oxport_tensor::TensorMut;
use std::any::Any;
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

/// An operator whose functions keep what they need: a table, a connection, a counter. [`Registry::with`] makes a
/// registry of it, which shares what was captured and drops it in the end.
///
/// A closure that changes what later calls see is not pure, and its row must say so ([`Operator::row`],
/// [`OpDef::effect`]): calls of pure operators are merged, folded and dropped, and run in any order and on any thread.
///
/// [`Registry::with`]: crate::Registry::with
#[derive(Clone)]
pub struct Operator {
    def: OpDef,
    meta: Captured,
    kernel: Captured,
    decomp: Captured,
}

type Captured = Option<Arc<dyn Any + Send + Sync>>;

impl Operator {
    /// An operator that is computed by nothing yet, exact up to rounding, and pure: see [`OpDef::new`]. A schema that
    /// is made at run time is leaked by [`String::leak`].
    pub fn new<F>(schema: &'static str, meta: F) -> Operator
    where
        F: Fn(&Args<'_, Meta>) -> Result<Vec<Val>> + Send + Sync + 'static,
    {
        let def = OpDef::new(schema, |args| captured::<F, _>(args, |op| &op.meta)?(args));
        Operator { def, meta: Some(Arc::new(meta)), kernel: None, decomp: None }
    }
    /// Sets what its functions do not say: `op.row(|row| row.doc("…").effect(Effect::Effectful))`.
    pub fn row(self, set: impl FnOnce(OpDef) -> OpDef) -> Operator {
        Operator { def: set(self.def), ..self }
    }
    /// Computes by filling outputs: see [`OpDef::fill`].
    pub fn fill<F>(self, f: F) -> Operator
    where
        F: Fn(&Args<'_, Real>, &mut [TensorMut]) -> Result<()> + Send + Sync + 'static,
    {
        let def = self.def.fill(|args, outputs| captured::<F, _>(args, |op| &op.kernel)?(args, outputs));
        Operator { def, kernel: Some(Arc::new(f)), ..self }
    }
    /// Computes by making results: see [`OpDef::eval`].
    pub fn eval<F>(self, f: F) -> Operator
    where
        F: Fn(&Args<'_, Real>) -> Result<Vec<Value>> + Send + Sync + 'static,
    {
        let def = self.def.eval(|args| captured::<F, _>(args, |op| &op.kernel)?(args));
        Operator { def, kernel: Some(Arc::new(f)), ..self }
    }
    /// Decomposes: see [`OpDef::decomp`].
    pub fn decomp<F>(self, f: F) -> Operator
    where
        F: Fn(&mut Builder<'_>, &Args<'_, Build>) -> Result<Vec<Argument>> + Send + Sync + 'static,
    {
        let def = self.def.decomp(|builder, args| captured::<F, _>(args, |op| &op.decomp)?(builder, args));
        Operator { def, decomp: Some(Arc::new(f)), ..self }
    }
    /// Its row.
    pub fn def(&self) -> &OpDef {
        &self.def
    }
}

/// The closure of type `F` that the operator called has at this place.
fn captured<'a, F: 'static, W: World>(args: &Args<'a, W>, at: fn(&Operator) -> &Captured) -> Result<&'a F> {
    let found = args.op.made().and_then(|op| at(op).as_ref()?.downcast_ref());
    found.ok_or_else(|| {
        Error::invalid(format!("expected a call of the operator that has the closure, got {}", args.name()))
    })
}

// Programs hold operators, and may be used behind a panic: closures are called through shared references, on any
// thread, and what they change is theirs to keep whole.
impl UnwindSafe for Operator {}
impl RefUnwindSafe for Operator {}

impl fmt::Debug for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.def.schema)
    }
}
