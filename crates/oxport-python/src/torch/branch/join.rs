//! The join of the two sides of a fork: what they changed of the heap, and how they ended.

use super::walk::{Missing, Path, Walk};
use super::{Exits, Side};
use crate::error::R;
use crate::exec::Flow;
use crate::interp::Interp;
use crate::journal::{Change, Content};
use crate::torch::session::Session;
use crate::value::{Scope, Value};
use indexmap::IndexMap;
use oxport_capture::{Branch, Value as Traced};
use std::rc::Rc;

/// Two sides that are joined.
pub(super) struct Join<'a> {
    session: &'a Rc<Session>,
    walk: Walk<'a>,
    /// The changes of each side.
    changes: [Vec<Change>; 2],
    flows: [Option<Flow>; 2],
    /// The variables of the call, and on which side they are not read any more.
    scope: Option<usize>,
    is_gone: [bool; 2],
}

impl<'a> Join<'a> {
    /// The join of these sides, whose branches are left to the caller.
    pub(super) fn new(
        session: &'a Rc<Session>,
        scope: Option<&Rc<Scope>>,
        test: &'a Value,
        sides: [Side; 2],
    ) -> (Join<'a>, [Branch; 2]) {
        let mut walk = Walk::new(session, Some(test), ["if the condition holds", "if not"]);
        let [one, other] = sides;
        let is_gone = [one.ended.is_gone, other.ended.is_gone];
        for side in [&one, &other] {
            walk.mention_changes(&side.changes, 2);
            if let Flow::Return(value) = &side.ended.flow {
                walk.mention([value], 1);
            }
        }
        let join = Join {
            session,
            walk,
            changes: [one.changes, other.changes],
            flows: [Some(one.ended.flow), Some(other.ended.flow)],
            scope: scope.map(|scope| scope.vars.address()),
            is_gone,
        };
        (join, [one.branch, other.branch])
    }

    /// Walks both sides: at first to collect what differs, then to write what is joint.
    pub(super) fn run(&mut self, interp: &mut Interp, is_last: bool) -> R<Flow> {
        let [ones, others] = std::mem::take(&mut self.changes);
        let mut cells: IndexMap<usize, [Option<&Change>; 2]> = IndexMap::new();
        for (at, changes) in [&ones, &others].into_iter().enumerate() {
            for change in changes {
                cells.entry(change.cell.address()).or_default()[at] = Some(change);
            }
        }
        let mut written: Vec<(&Change, Content)> = Vec::new();
        for (address, changes) in &cells {
            let ([Some(change), _] | [None, Some(change)]) = changes else { continue };
            let after = changes.map(|c| c.map_or(&change.before, |c| &c.after));
            let is_scope = self.scope == Some(*address);
            let missing =
                self.is_gone.map(|is_gone| if is_scope && is_gone { Missing::Unread } else { Missing::Refused });
            let unread = [0, 1].map(|at| is_scope && self.is_gone[at]);
            let content = self.walk.content(interp, change, after, missing, unread)?;
            written.push((change, content));
        }
        if is_last {
            for (change, content) in written {
                change.write(content);
            }
        }
        self.changes = [ones, others];
        self.flow(interp, is_last)
    }

    fn flow(&mut self, interp: &mut Interp, is_last: bool) -> R<Flow> {
        let path = |words: &str| Path { key: words.to_string(), words: words.to_string() };
        let flows = match is_last {
            true => [self.flows[0].take(), self.flows[1].take()],
            false => [self.flows[0].clone(), self.flows[1].clone()],
        };
        let [Some(one), Some(other)] = flows else { return Ok(Flow::Next) };
        let (one, other) = (Exits::of(one), Exits::of(other));
        let mut flags = [const { Value::Bool(false) }; 3];
        for (at, flag) in flags.iter_mut().enumerate() {
            let words = format!("how a block ends ({at})");
            *flag = self.walk.pair(interp, [Some(&one.flags[at]), Some(&other.flags[at])], &path(&words))?;
        }
        let value = match (&one.value, &other.value) {
            (None, None) => None,
            (a, b) => {
                let value = self.walk.pair(interp, [a.as_ref(), b.as_ref()], &path("the value"))?;
                refuse(interp, &value)?;
                Some(value)
            }
        };
        Ok(Exits { flags, value }.flow())
    }

    /// Whether nothing differs that the program must choose.
    pub(super) fn is_empty(&self) -> bool {
        self.walk.leaves.is_empty()
    }

    /// A side's leaves, computed in its branch.
    pub(super) fn lower(&self, interp: &mut Interp, branch: Branch, side: usize) -> R<(Branch, Vec<Traced>)> {
        let tracer = self.session.tracer();
        tracer.reenter_branch(branch);
        let lowered: R<Vec<Traced>> = self
            .walk
            .leaves
            .iter()
            .map(|leaf| leaf.carrier.lower(interp, self.session, leaf.sides[side].as_ref()))
            .collect();
        let branch = tracer.leave_branch();
        match branch {
            Ok(branch) => Ok((branch, lowered?)),
            Err(error) => interp.raise("RuntimeError", error.message()),
        }
    }

    /// Takes what the program chooses for the leaves.
    pub(super) fn give(&mut self, interp: &mut Interp, results: Vec<Traced>) -> R<()> {
        let mut values = Vec::new();
        for (leaf, result) in self.walk.leaves.iter().zip(results) {
            values.push(leaf.carrier.value(interp, self.session, result)?);
        }
        self.walk.build(values);
        Ok(())
    }
}

/// # Errors
/// The value, or an element of it, cannot be used.
pub(super) fn refuse(interp: &Interp, value: &Value) -> R<()> {
    match value {
        Value::Host(host) => match host.refusal() {
            Some(reason) => interp.raise("RuntimeError", reason),
            None => Ok(()),
        },
        Value::Tuple(items) => items.iter().try_for_each(|item| refuse(interp, item)),
        _ => Ok(()),
    }
}
