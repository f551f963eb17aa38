//! A program as a user holds it: [`Module`], a shared plan with state of its own.
//!
//! As in PyTorch, a call takes the tree that the program was exported with: types of containers exactly, keys of
//! dictionaries in any order.

use crate::error::{Error, Result};
use crate::plan::{Outputs, Plan};
use crate::profile::Profile;
use indexmap::IndexMap;
use oxport_ir::Value;
use oxport_pytree::Tree;
use oxport_tensor::Tensor;
use std::sync::Arc;

/// A plan with the buffers that its calls change.
#[derive(Clone, Debug)]
pub struct Module {
    plan: Arc<Plan>,
    state: Vec<Tensor>,
}

impl Module {
    /// A module whose buffers are as the program has them.
    pub fn new(plan: Arc<Plan>) -> Module {
        let state = plan.initial_state();
        Module { plan, state }
    }
    /// The plan.
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }
    /// Calls the program with positional and keyword arguments, and changes the buffers.
    ///
    /// # Errors
    /// The arguments do not form the tree that the program takes, or as [`Plan::call`]. The buffers are then unchanged.
    pub fn call(&mut self, args: Vec<Tree<Value>>, kwargs: IndexMap<String, Tree<Value>>) -> Result<Tree<Value>> {
        let inputs = self.flatten(args, kwargs)?;
        let user = self.call_flat(inputs)?.user;
        let signature = self.plan.signature().expect("law: `flatten` has seen the signature");
        signature.out_spec.unflatten(user).map_err(|e| Error::input(format!("the outputs do not fit the tree: {e}")))
    }
    /// The flat inputs of a call with positional and keyword arguments.
    ///
    /// # Errors
    /// The arguments do not form the tree that the program takes; the message names the place.
    pub fn flatten(&self, args: Vec<Tree<Value>>, kwargs: IndexMap<String, Tree<Value>>) -> Result<Vec<Value>> {
        let signature =
            self.plan.signature().ok_or_else(|| Error::input("the program does not say how it is called"))?;
        let call = Tree::call(args, kwargs);
        let leaves = signature.in_spec.flatten_like(&call);
        let leaves = leaves.map_err(|e| Error::input(format!("the arguments do not fit the program: {e}")))?;
        Ok(leaves.into_iter().cloned().collect())
    }
    /// Calls the program on flat inputs, and changes the buffers.
    ///
    /// # Errors
    /// As [`Plan::call`]. The buffers are then unchanged.
    pub fn call_flat(&mut self, inputs: Vec<Value>) -> Result<Outputs> {
        self.call_profiled(inputs, None)
    }
    /// [`Module::call_flat`], adding to a profile.
    ///
    /// # Errors
    /// As there.
    pub fn call_profiled(&mut self, inputs: Vec<Value>, profile: Option<&mut Profile>) -> Result<Outputs> {
        let outputs = self.plan.call(inputs, self.state.clone(), profile)?;
        self.state.clone_from(&outputs.state);
        Ok(outputs)
    }
    /// The buffers and parameters that calls change, by name, as they are now.
    pub fn buffers(&self) -> impl Iterator<Item = (&Arc<str>, &Tensor)> {
        self.plan.state().iter().map(|s| &s.name).zip(&self.state)
    }
    /// Replaces a buffer.
    ///
    /// # Errors
    /// The program changes no buffer of that name, or it has another dtype or other sizes.
    pub fn set_buffer(&mut self, name: &str, value: Tensor) -> Result<()> {
        let at = self.plan.state().iter().position(|s| &*s.name == name);
        let old = &mut self.state[at.ok_or_else(|| Error::input(format!("no buffer `{name}` that calls change")))?];
        if old.dtype() != value.dtype() || old.sizes() != value.sizes() {
            let show = |t: &Tensor| format!("{}{:?}", t.dtype().short(), t.sizes());
            return Err(Error::input(format!("buffer `{name}` is {}, not {}", show(old), show(&value))));
        }
        *old = value;
        Ok(())
    }
    /// Sets the buffers back to what the program has.
    pub fn reset(&mut self) {
        self.state = self.plan.initial_state();
    }
}
