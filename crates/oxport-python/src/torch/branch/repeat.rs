//! Loops on data: `while`, and `for` over a data-dependent number of elements, become `while_loop`s.
//!
//! The body is run for itself until the set of what it changes is stable: in the first round from the values that it
//! finds; in each further one, what the last round changed is a value of the round, of which only the dtype and sizes
//! are known. What remains as it was is constant, and is not carried.
//!
//! Laws: what was carried once stays carried, so that the rounds come to an end; a name that has no value before the
//! loop has none that is known after it. The condition is a graph of its own if it changes nothing and the body cannot
//! leave the loop; otherwise the loop carries a flag whether it goes on.

use super::join::refuse;
use super::walk::{Leaf, Missing, Walk};
use super::{BROKE, CONTINUED, Decision, Ended, Exits, RETURNED};
use crate::error::R;
use crate::exec::Flow;
use crate::interp::{Frame, Interp};
use crate::journal::{self, Change, Content, Slot};
use crate::syntax::tree::{Expr, Stmt, StmtKind};
use crate::torch::session::Session;
use crate::value::{Namespace, Value};
use oxport_capture::{Tracer, Value as Traced};
use std::collections::HashSet;
use std::rc::Rc;

/// How often the body may be run before what it changes must be stable.
const ROUNDS: usize = 64;

/// What a loop does: both are run several times.
pub(super) struct Loop<'a> {
    /// Whether there is another round.
    pub(super) test: &'a mut dyn FnMut(&mut Interp, &mut Frame) -> R<Value>,
    /// A round.
    pub(super) body: &'a mut dyn FnMut(&mut Interp, &mut Frame) -> R<Flow>,
    /// Whether the body can leave the loop.
    pub(super) may_leave: bool,
    /// What the loop itself keeps: its flags, its index.
    pub(super) registers: Rc<Slot<Namespace>>,
    /// Whether the loop ends by its test too, and not only by being left.
    pub(super) ends: bool,
}

const GO: &str = "whether the loop goes on";
const VALUE: &str = "the value";
const FLAGS: [&str; 2] = ["whether the loop returned", "whether the loop was left"];

/// Whether a body may leave its loop.
pub(super) fn may_leave(body: &[Stmt]) -> bool {
    body.iter().any(|stmt| match &stmt.kind {
        StmtKind::Return(_) | StmtKind::Break => true,
        StmtKind::If { body, orelse, .. } => may_leave(body) || may_leave(orelse),
        StmtKind::For { body, orelse, .. } | StmtKind::While { body, orelse, .. } => returns(body) || may_leave(orelse),
        StmtKind::With { body, .. } => may_leave(body),
        StmtKind::Try { body, handlers, orelse, finally } => {
            may_leave(body)
                || may_leave(orelse)
                || may_leave(finally)
                || handlers.iter().any(|handler| may_leave(&handler.body))
        }
        StmtKind::Match { cases, .. } => cases.iter().any(|case| may_leave(&case.body)),
        _ => false,
    })
}

/// Whether a body holds a `return`; a `break` in it may be of a loop within.
fn returns(body: &[Stmt]) -> bool {
    body.iter().any(|stmt| match &stmt.kind {
        StmtKind::Return(_) => true,
        StmtKind::If { body, orelse, .. }
        | StmtKind::For { body, orelse, .. }
        | StmtKind::While { body, orelse, .. } => returns(body) || returns(orelse),
        StmtKind::With { body, .. } => returns(body),
        StmtKind::Try { .. } | StmtKind::Match { .. } => true,
        _ => false,
    })
}

impl Interp {
    /// A `while` loop from here on, whose test is this bool of the program, or known to hold.
    pub(crate) fn repeat_while(&mut self, frame: &mut Frame, go: Value, test: &Expr, body: &[Stmt]) -> R<Exits> {
        let repeated = Loop {
            test: &mut |i, f| i.eval(f, test),
            body: &mut |i, f| i.block(f, body),
            may_leave: may_leave(body),
            registers: Rc::default(),
            ends: !matches!(go, Value::Bool(true)),
        };
        self.run_loop(frame, go, repeated)
    }

    /// A `for` loop over a data-dependent number of elements.
    pub(crate) fn repeat_for(
        &mut self,
        frame: &mut Frame,
        target: &Expr,
        iterable: &Value,
        count: &Value,
        body: &[Stmt],
    ) -> R<Exits> {
        use crate::syntax::tree::{BinOp, CmpOp};
        let registers: Rc<Slot<Namespace>> = Rc::default();
        registers.borrow_mut().insert("index".into(), Value::Int(0));
        let index = |r: &Slot<Namespace>| r.borrow().get("index").cloned().unwrap_or(Value::Int(0));
        let go = self.compare(&Value::Int(0), CmpOp::Lt, count)?;
        let repeated = Loop {
            test: &mut |i, _| i.compare(&index(&registers), CmpOp::Lt, count),
            body: &mut |i, f| {
                let at = index(&registers);
                let element = i.get_item(iterable, &at)?;
                i.assign(f, target, element)?;
                let next = i.binary(&at, BinOp::Add, &Value::Int(1))?;
                registers.borrow_mut().insert("index".into(), next);
                i.block(f, body)
            },
            may_leave: may_leave(body),
            registers: registers.clone(),
            ends: true,
        };
        self.run_loop(frame, go, repeated)
    }

    /// Runs the `else` of a loop, unless the loop was left.
    pub(crate) fn loop_else(&mut self, frame: &mut Frame, exits: Exits, orelse: &[Stmt]) -> R<Flow> {
        let left = self.or(&exits.flags[RETURNED], &exits.flags[BROKE])?;
        let after = exits.without(BROKE).without(CONTINUED);
        match left {
            _ if orelse.is_empty() => Ok(after.flow()),
            Value::Bool(true) => Ok(after.flow()),
            Value::Bool(false) => self.block(frame, orelse),
            left => {
                let scope = super::own_scope(frame);
                self.fork(scope.as_ref(), &left, &mut |i, is| match is {
                    true => Ok(Ended { flow: after.clone().flow(), is_gone: false }),
                    false => i.block(frame, orelse).map(Ended::from),
                })
            }
        }
    }

    /// Whether the body of a loop leaves it, depending on data; it is run, and what it does is taken back.
    pub(crate) fn leaves_on_data(&mut self, frame: &mut Frame, body: &[Stmt]) -> R<bool> {
        let Ok(session) = Session::of(self) else { return Ok(false) };
        if !session.is_tracing() || !may_leave(body) {
            return Ok(false);
        }
        let flow = self.apart(&session.tracer(), &mut |i| i.block(frame, body));
        Ok(matches!(flow?.0, Flow::Open(exits) if exits.is_possible(RETURNED) || exits.is_possible(BROKE)))
    }

    /// Runs something in a branch that is dropped.
    fn apart<T>(
        &mut self,
        tracer: &Tracer,
        run: &mut dyn FnMut(&mut Interp) -> R<T>,
    ) -> R<(T, oxport_capture::Branch, Vec<Change>)> {
        journal::begin();
        tracer.enter_loop();
        let result = self.deeper(run);
        let branch = tracer.leave_branch();
        let changes = journal::end();
        match branch {
            Ok(branch) => Ok((result?, branch, changes)),
            Err(error) => self.raise("RuntimeError", error.message()),
        }
    }

    fn run_loop(&mut self, frame: &mut Frame, go: Value, mut repeated: Loop<'_>) -> R<Exits> {
        let session = Session::of(self)?;
        let tracer = session.tracer();
        let mut is_apart = !repeated.may_leave;
        if is_apart {
            let test = self.apart(&tracer, &mut |i| (repeated.test)(i, frame));
            let (_, branch, changes) = test?;
            is_apart = changes.is_empty() && !branch.is_effectful();
        }
        let registers = repeated.registers.clone();
        if !is_apart {
            let mut kept = registers.borrow_mut();
            kept.insert(GO.into(), go);
            FLAGS.iter().for_each(|flag| drop(kept.insert((*flag).into(), Value::Bool(false))));
        }
        let mut forced: HashSet<String> = HashSet::new();
        let mut last: Option<(Vec<Change>, Vec<Leaf>)> = None;
        for _ in 0..ROUNDS {
            let round = self.apart(&tracer, &mut |i| {
                if let Some((changes, leaves)) = &last {
                    i.carry_in(&session, &tracer, &registers, changes, leaves)?;
                }
                let flow = (repeated.body)(i, frame)?;
                if is_apart { Ok(()) } else { i.end_round(frame, flow, &mut repeated) }
            });
            let ((), branch, changes) = round?;
            let mut walk = walk_of(&session, &forced, &changes);
            if let Some((before, _)) = &last {
                walk.mention_changes(before, 1);
            }
            self.walk_loop(&mut walk, &registers, &changes, Missing::Refused)?;
            let keys: HashSet<String> = walk.leaves.iter().map(|leaf| leaf.key.clone()).collect();
            if keys != forced || (last.is_none() && !keys.is_empty()) {
                forced.extend(keys);
                last = Some((changes, walk.leaves));
                continue;
            }
            // What is computed in a round is stable: the loop is known.
            drop(last);
            let leaves = std::mem::take(&mut walk.leaves);
            let mut first = Vec::new();
            for leaf in &leaves {
                match leaf.carrier.lower(self, &session, leaf.sides[0].as_ref())? {
                    Traced::Tensor(tensor) => first.push(tensor),
                    _ => return self.raise("RuntimeError", "expected a tensor"),
                }
            }
            tracer.reenter_branch(branch);
            let next: R<Vec<Traced>> =
                leaves.iter().map(|leaf| leaf.carrier.lower(self, &session, leaf.sides[1].as_ref())).collect();
            let branch = tracer.leave_branch();
            let next = next?;
            let test = self.apart(&tracer, &mut |i| {
                i.carry_in(&session, &tracer, &registers, &changes, &leaves)?;
                let go = match is_apart {
                    true => (repeated.test)(i, frame)?,
                    false => registers.borrow().get(GO).cloned().unwrap_or(Value::None),
                };
                let go = match i.decision(&go)? {
                    Decision::Known(known) => Value::Bool(known),
                    Decision::Open(go) => go,
                };
                let go = session.bool_tensor(i, &go)?;
                session.lower(i, &go)
            });
            let (go, test, _) = test?;
            session.note_trace(self);
            let last = branch.and_then(|branch| tracer.repeat(&first, (test, &go), (branch, &next)));
            let results = match last {
                Ok(results) => results,
                Err(error) => return self.raise("RuntimeError", error.message()),
            };
            let mut values = Vec::new();
            for (leaf, result) in leaves.iter().zip(results) {
                values.push(leaf.carrier.value(self, &session, result)?);
            }
            walk.build(values);
            let contents = self.walk_loop(&mut walk, &registers, &changes, Missing::Refused)?;
            changes.iter().zip(contents).for_each(|(change, content)| change.write(content));
            let kept = registers.borrow().clone();
            let flag = |name: &str| kept.get(name).cloned().unwrap_or(Value::Bool(false));
            let (returned, mut broke) = (flag(FLAGS[0]), flag(FLAGS[1]));
            let mut flags = [returned.clone(), broke.clone(), Value::Bool(false)];
            if !repeated.ends {
                // It was left in one of the ways that there are.
                let can_break = !matches!(broke, Value::Bool(false));
                broke = if can_break { self.not(&returned)? } else { broke };
                flags = [if can_break { returned } else { Value::Bool(true) }, broke, Value::Bool(false)];
            }
            return Ok(Exits { flags, value: kept.get(VALUE).cloned() });
        }
        self.raise("RuntimeError", "what the rounds of a loop on data change does not come to a fixed point")
    }

    /// After a round: whether there is another one, and how the loop was left.
    fn end_round(&mut self, frame: &mut Frame, flow: Flow, repeated: &mut Loop<'_>) -> R<()> {
        let registers = repeated.registers.clone();
        let exits = Exits::of(flow).without(CONTINUED);
        for (name, flag) in FLAGS.iter().zip(&exits.flags) {
            registers.borrow_mut().insert((*name).into(), flag.clone());
        }
        if let Some(value) = &exits.value {
            refuse(self, value)?;
            registers.borrow_mut().insert(VALUE.into(), value.clone());
        }
        let go = match self.or(&exits.flags[RETURNED], &exits.flags[BROKE])? {
            Value::Bool(true) => Value::Bool(false),
            Value::Bool(false) => self.test_of(frame, repeated)?,
            left => self.fork_value(&left, &mut |i, is| match is {
                true => Ok(Value::Bool(false)),
                false => i.test_of(frame, repeated),
            })?,
        };
        registers.borrow_mut().insert(GO.into(), go);
        Ok(())
    }

    fn test_of(&mut self, frame: &mut Frame, repeated: &mut Loop<'_>) -> R<Value> {
        let value = (repeated.test)(self, frame)?;
        let test = match self.decision(&value)? {
            Decision::Known(known) => Value::Bool(known),
            Decision::Open(open) => open,
        };
        repeated.ends |= !matches!(test, Value::Bool(true));
        Ok(test)
    }

    /// Within a branch: what is carried becomes values of the round.
    fn carry_in(
        &mut self,
        session: &Rc<Session>,
        tracer: &Tracer,
        registers: &Rc<Slot<Namespace>>,
        changes: &[Change],
        leaves: &[Leaf],
    ) -> R<()> {
        let mut values = Vec::new();
        let mut tensors = Vec::new();
        for leaf in leaves {
            match tracer.carry(leaf.carrier.fake()) {
                Ok(tensor) => tensors.push(tensor),
                Err(error) => return self.raise("RuntimeError", error.message()),
            }
        }
        for (leaf, tensor) in leaves.iter().zip(tensors) {
            values.push(leaf.carrier.value(self, session, tensor.into())?);
        }
        let forced = leaves.iter().map(|leaf| leaf.key.clone()).collect();
        let mut walk = walk_of(session, &forced, changes);
        walk.build(values);
        let contents = self.walk_loop(&mut walk, registers, changes, Missing::Absent)?;
        changes.iter().zip(contents).for_each(|(change, content)| change.write(content));
        Ok(())
    }

    /// The joint contents of what a loop changes: before it, and after a round.
    fn walk_loop(
        &mut self,
        walk: &mut Walk<'_>,
        registers: &Rc<Slot<Namespace>>,
        changes: &[Change],
        unbound: Missing,
    ) -> R<Vec<Content>> {
        let mut contents = Vec::new();
        for change in changes {
            let is_register = change.cell.address() == registers.address();
            let missing = if is_register { [Missing::Unread; 2] } else { [unbound, Missing::Refused] };
            let sides = [&change.before, &change.after];
            contents.push(walk.content(self, change, sides, missing, [false; 2])?);
        }
        Ok(contents)
    }
}

fn walk_of<'a>(session: &'a Rc<Session>, forced: &HashSet<String>, changes: &[Change]) -> Walk<'a> {
    let mut walk = Walk::new(session, None, ["before the loop", "after a round of the loop"]);
    walk.forced.clone_from(forced);
    walk.mention_changes(changes, 2);
    walk
}
