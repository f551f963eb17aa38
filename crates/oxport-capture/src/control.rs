//! Control flow that the program keeps, by closures: `torch.cond` and `torch.while_loop`; `map`, `scan` and
//! `associative_scan` of `torch._higher_order_ops`.
//!
//! A closure is traced once, into a branch of its own (see [`crate::branch`]).
//!
//! Law: both branches of a `cond` take the same operands and give results of the same form.

mod over;

pub use over::Along;

use crate::branch::Branch;
use crate::pytree::Pytree;
use crate::{Error, Result, Tensor, Tracer, Value};
use oxport_ir::{Fake, NodeId};
use oxport_pytree::{Tree, TreeSpec};
use std::panic::Location;

/// A closure's branch, and the tree that it gives.
struct Traced {
    branch: Branch,
    leaves: Vec<Value>,
    spec: TreeSpec,
}

impl Tracer {
    /// `torch.cond(predicate, then, otherwise, operands)`: what one of the closures gives, chosen when the program
    /// runs.
    ///
    /// # Errors
    /// A closure is refused; the closures give trees of different form, or of tensors that differ.
    #[track_caller]
    pub fn cond<A: Pytree, B: Pytree>(
        &self,
        predicate: &Tensor,
        operands: &[Tensor],
        then: impl Fn(&[Tensor]) -> A,
        otherwise: impl Fn(&[Tensor]) -> B,
    ) -> Result<Tree<Value>> {
        let origin = self.here(Location::caller(), "cond");
        if predicate.node.is_none() {
            return Err(Error::invalid("the predicate is the result of a refused call"));
        }
        let explicit = nodes(operands)?;
        let lift = || -> Result<Vec<Tensor>> {
            let lifted: Result<Vec<NodeId>> = explicit.iter().map(|node| self.state_mut().lifted(*node)).collect();
            Ok(lifted?.into_iter().map(|node| self.tensor(node)).collect())
        };
        self.enter_branch();
        let one = self.trace_closure(lift, |o| then(o).tree())?;
        self.enter_branch();
        let other = self.trace_closure(lift, |o| otherwise(o).tree())?;
        if one.spec != other.spec {
            return Err(Error::invalid("Expected both branches of cond to return the same pytree structure"));
        }
        let branches = [(one.branch, &one.leaves[..]), (other.branch, &other.leaves[..])];
        let values = self.join_at(&predicate.into(), branches, &origin)?;
        let mut values = values.into_iter();
        Ok(one.spec.map(&mut |()| values.next().unwrap_or(Value::None)))
    }

    /// `torch.while_loop(condition, body, carried)`: the carried tensors after the last round.
    ///
    /// # Errors
    /// A closure is refused; the condition gives no single bool, or the body other tensors than it takes.
    #[track_caller]
    pub fn while_loop(
        &self,
        carried: &[Tensor],
        condition: impl Fn(&[Tensor]) -> Tensor,
        body: impl Fn(&[Tensor]) -> Vec<Tensor>,
    ) -> Result<Vec<Tensor>> {
        let carry = || {
            let void = || Error::invalid("a carried value is the result of a refused call");
            let fake = |tensor: &Tensor| tensor.fake().ok_or_else(void);
            let contiguous = |fake: Fake| Fake { device: fake.device.clone(), ..Fake::new(fake.dtype, fake.sizes) };
            carried.iter().map(|tensor| self.carry(contiguous(fake(tensor)?))).collect::<Result<Vec<Tensor>>>()
        };
        self.enter_loop();
        let test = self.trace_closure(carry, |o| condition(o).tree())?;
        self.enter_loop();
        let round = self.trace_closure(carry, |o| Tree::tuple(body(o).into_iter().map(Pytree::tree)))?;
        let [truth] = &test.leaves[..] else { return Err(Error::invalid("a condition gives one bool")) };
        let last = self.repeat(carried, (test.branch, truth), (round.branch, &round.leaves))?;
        Ok(last.iter().filter_map(|v| v.as_tensor().cloned()).collect())
    }

    /// A closure's branch, which was entered: over the tensors that it is given within.
    fn trace_closure(
        &self,
        arguments: impl FnOnce() -> Result<Vec<Tensor>>,
        code: impl FnOnce(&[Tensor]) -> Tree<Value>,
    ) -> Result<Traced> {
        let errors = self.errors().len();
        let traced = arguments().map(|arguments| code(&arguments).into_flat());
        let branch = self.leave_branch()?;
        let (leaves, spec) = traced?;
        match self.errors().get(errors) {
            Some(error) => Err(error.clone()),
            None => Ok(Traced { branch, leaves, spec }),
        }
    }
}

fn nodes(tensors: &[Tensor]) -> Result<Vec<NodeId>> {
    let void = || Error::invalid("an operand is the result of a refused call");
    tensors.iter().map(|t| t.node.ok_or_else(void)).collect()
}
