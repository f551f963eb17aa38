//! [`Prepared`]: what an operator makes once of its constant arguments, for all calls of a step: packed weights.
//!
//! ```text
//! Plan::new   OpDef::prepare(arguments, `None` where they are not constant) ─> Prepared ┐ kept beside the step
//! a call      kernel: args.prepared::<PackedMatrix>() <─────────────────────────────────┘
//! ```
//!
//! Laws: a kernel computes the same bits without it, unless the plan may round ([`RunCx::may_round`]); what is made of
//! one tensor is made once in a plan, however many steps read it ([`Makings`]).
//!
//! [`RunCx::may_round`]: crate::RunCx::may_round

use crate::Result;
use indexmap::IndexMap;
use oxport_tensor::{DType, Layout, Tensor};
use std::any::{Any, TypeId};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What an operator made of its constant arguments. Cloning shares.
#[derive(Clone)]
pub struct Prepared(Arc<dyn Any + Send + Sync>);

impl Prepared {
    /// For kernels that ask for a `T`.
    pub fn new<T: Any + Send + Sync>(made: Arc<T>) -> Prepared {
        Prepared(made)
    }
    /// What was made, if it is a `T`.
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.0.downcast_ref()
    }
}

impl fmt::Debug for Prepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Prepared")
    }
}

/// What has been made of constant tensors while one plan is made, so that equal ones share it.
#[derive(Default)]
pub struct Makings(Mutex<IndexMap<Key, Making>>);

/// What is made, of which storage, and how it is seen.
type Key = (TypeId, usize, DType, Layout);
/// The tensor, which keeps the storage alive, and what was made of it, if it was worth it.
type Making = (Tensor, Option<Arc<dyn Any + Send + Sync>>);

impl Makings {
    /// What `make` gives for the elements of this tensor, in this layout; made at the first call.
    ///
    /// # Errors
    /// Those of `make`.
    pub fn once<T: Any + Send + Sync>(
        &self,
        of: &Tensor,
        make: impl FnOnce(&Tensor) -> Result<Option<T>>,
    ) -> Result<Option<Arc<T>>> {
        let key = (TypeId::of::<T>(), of.storage().id(), of.dtype(), of.layout().clone());
        if let Some((_, made)) = self.lock().get(&key) {
            return Ok(made.clone().and_then(|made| made.downcast().ok()));
        }
        // Not made under the lock: what makes it may run on several threads.
        let new = make(of)?.map(Arc::new);
        let made = new.clone().map(|new| new as Arc<dyn Any + Send + Sync>);
        self.lock().insert(key, (of.clone(), made));
        Ok(new)
    }

    /// The tensors of which something was made, in order, but the first `known`.
    pub fn tensors(&self, known: usize) -> Vec<Tensor> {
        let makings = self.lock();
        makings.values().filter(|(_, made)| made.is_some()).skip(known).map(|(t, _)| t.clone()).collect()
    }

    fn lock(&self) -> MutexGuard<'_, IndexMap<Key, Making>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
