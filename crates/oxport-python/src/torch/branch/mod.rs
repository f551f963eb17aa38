//! Branches on data: `if`, conditional expressions, `and`, `or`, `not`, `assert` become `cond`s and assertions.
//!
//! Where the interpreter needs the truth of a value that is known only when the program runs, it *forks*: each side is
//! run for itself, traced into a graph of its own, and what it changes of the heap is noted and taken back (see
//! [`crate::journal`]). Then both are joined: what they changed differently becomes results of a `cond`.
//!
//! Laws:
//! * A fork has the effects of the side that is taken when the program runs, and no others. What cannot be joined so is
//!   refused: at once if it lies in the heap, on its first use if it is a name or the element of a result.
//! * How a block ends is a value too: an early `return`, `break` or `continue` on one side gives the flags of
//!   [`Exits`], and what follows runs where none of them is set.
//! * A `raise` on one side is an assertion that the other one is taken.

mod carrier;
mod join;
pub(super) mod over;
mod range;
mod repeat;
mod unknown;
mod walk;

pub use range::open_range;

use super::number::{Number, SymValue};
use super::session::Session;
use super::tensor::tensor_of;
use crate::error::{R, Unwind};
use crate::exec::{Flow, Step};
use crate::interp::{Frame, Interp};
use crate::journal::{self, Change};
use crate::syntax::tree::{CmpOp, Expr, Pos, Stmt, StmtKind};
use crate::value::{Name, Scope, Value};
use join::Join;
use oxport_capture::Branch;
use std::rc::Rc;

/// The truth of a value.
pub enum Decision {
    /// It is known.
    Known(bool),
    /// It is this bool of the program: a tensor or a symbolic bool.
    Open(Value),
}

/// How a block ends, where that is data-dependent: at most one flag is set when the program runs. If none is, what
/// follows runs.
#[derive(Clone)]
pub struct Exits {
    /// `return`, `break`, `continue`: each a bool, or one of the program.
    pub flags: [Value; 3],
    /// What is returned.
    pub value: Option<Value>,
}

const RETURNED: usize = 0;
const BROKE: usize = 1;
const CONTINUED: usize = 2;

impl Exits {
    fn of(flow: Flow) -> Exits {
        let mut exits = Exits { flags: [const { Value::Bool(false) }; 3], value: None };
        match flow {
            Flow::Next => {}
            Flow::Return(value) => {
                exits.flags[RETURNED] = Value::Bool(true);
                exits.value = Some(value);
            }
            Flow::Break => exits.flags[BROKE] = Value::Bool(true),
            Flow::Continue => exits.flags[CONTINUED] = Value::Bool(true),
            Flow::Open(open) => return *open,
        }
        exits
    }
    /// The flow, simple if it is known.
    fn flow(self) -> Flow {
        let is = |at: usize| matches!(self.flags[at], Value::Bool(true));
        match self.flags.iter().all(|flag| matches!(flag, Value::Bool(false))) {
            true => Flow::Next,
            false if is(BROKE) => Flow::Break,
            false if is(CONTINUED) => Flow::Continue,
            false if is(RETURNED) => Flow::Return(self.value.unwrap_or(Value::None)),
            false => Flow::Open(Box::new(self)),
        }
    }
    fn without(mut self, flag: usize) -> Exits {
        self.flags[flag] = Value::Bool(false);
        self
    }
    /// What remains of it when the next round of a loop begins.
    pub(crate) fn goes_on(self) -> Option<Exits> {
        let exits = self.without(CONTINUED);
        (exits.is_possible(RETURNED) || exits.is_possible(BROKE)).then_some(exits)
    }
    fn is_possible(&self, flag: usize) -> bool {
        !matches!(self.flags[flag], Value::Bool(false))
    }
}

/// How a side of a fork ended.
pub(crate) struct Ended {
    flow: Flow,
    /// Whether the call is left, so that nobody reads its variables any more.
    is_gone: bool,
}

impl From<Flow> for Ended {
    fn from(flow: Flow) -> Ended {
        let is_gone = matches!(flow, Flow::Return(_));
        Ended { flow, is_gone }
    }
}

/// The variables that nobody reads after a `return`.
fn own_scope(frame: &Frame) -> Option<Rc<Scope>> {
    frame.scope.clone().filter(|_| frame.finals == 0)
}

/// A side of a fork that was run.
struct Side {
    ended: Ended,
    branch: Branch,
    changes: Vec<Change>,
}

/// Whether every way through a block leaves it.
fn always_leaves(block: &[Stmt]) -> bool {
    block.last().is_some_and(|last| match &last.kind {
        StmtKind::Return(_) | StmtKind::Break | StmtKind::Continue | StmtKind::Raise { .. } => true,
        StmtKind::If { body, orelse, .. } => always_leaves(body) && always_leaves(orelse),
        StmtKind::With { body, .. } => always_leaves(body),
        _ => false,
    })
}

impl Interp {
    /// The truth of a value, if it is known.
    ///
    /// # Errors
    /// The value has no truth.
    pub fn decision(&mut self, value: &Value) -> R<Decision> {
        if let Value::Host(host) = value {
            let host = host.clone();
            if let Some(test) = host.undecided(self, value)? {
                return Ok(Decision::Open(test));
            }
        }
        self.truth(value).map(Decision::Known)
    }

    /// `left op right op …`: what follows a comparison is evaluated only if it holds.
    pub(crate) fn comparisons(&mut self, frame: &mut Frame, pos: Pos, left: Value, rest: &[(CmpOp, Expr)]) -> R<Value> {
        let Some(((op, right), rest)) = rest.split_first() else { return Ok(left) };
        let right = self.eval(frame, right)?;
        frame.pos = pos;
        let result = self.compare(&left, *op, &right)?;
        if rest.is_empty() {
            return Ok(result);
        }
        match self.decision(&result)? {
            Decision::Known(true) => self.comparisons(frame, pos, right, rest),
            Decision::Known(false) => Ok(result),
            Decision::Open(test) => self.fork_value(&test, &mut |i, is| match is {
                true => i.comparisons(frame, pos, right.clone(), rest),
                false => Ok(result.clone()),
            }),
        }
    }

    /// `a and b and …`, or `a or b or …`.
    pub(crate) fn connected(&mut self, frame: &mut Frame, is_and: bool, items: &[Expr]) -> R<Value> {
        let Some((first, rest)) = items.split_first() else { return Ok(Value::None) };
        let value = self.eval(frame, first)?;
        if rest.is_empty() {
            return Ok(value);
        }
        match self.decision(&value)? {
            Decision::Known(is) if is == is_and => self.connected(frame, is_and, rest),
            Decision::Known(_) => Ok(value),
            Decision::Open(test) => self.fork_value(&test, &mut |i, is| match is == is_and {
                true => i.connected(frame, is_and, rest),
                false => Ok(value.clone()),
            }),
        }
    }

    /// `body if test else orelse`.
    pub(crate) fn conditional(&mut self, frame: &mut Frame, test: &Expr, body: &Expr, orelse: &Expr) -> R<Value> {
        let test = self.eval(frame, test)?;
        match self.decision(&test)? {
            Decision::Known(is) => self.eval(frame, if is { body } else { orelse }),
            Decision::Open(test) => self.fork_value(&test, &mut |i, is| i.eval(frame, if is { body } else { orelse })),
        }
    }

    /// `not test`.
    pub(crate) fn not(&mut self, test: &Value) -> R<Value> {
        if let Value::Bool(known) = test {
            return Ok(Value::Bool(!known));
        }
        if let Value::Host(host) = test
            && let Some(SymValue(Number::Bool(b))) = host.as_any().downcast_ref::<SymValue>()
        {
            return Ok(Number::Bool(b.not()).value());
        }
        Session::of(self)?.op(self, "logical_not", std::slice::from_ref(test), &[])
    }

    /// `a or b` of bools that are evaluated already.
    fn or(&mut self, a: &Value, b: &Value) -> R<Value> {
        Ok(match (a, b) {
            (Value::Bool(true), _) | (_, Value::Bool(true)) => Value::Bool(true),
            (Value::Bool(false), other) | (other, Value::Bool(false)) => other.clone(),
            _ => {
                let session = Session::of(self)?;
                let (a, b) = (session.bool_tensor(self, a)?, session.bool_tensor(self, b)?);
                session.op(self, "logical_or", &[a, b], &[])?
            }
        })
    }

    /// Asserts, when the program runs, that a bool is so.
    pub(crate) fn assert_open(&mut self, test: &Value, is: bool, message: &str) -> R<()> {
        let session = Session::of(self)?;
        let test = if is { test.clone() } else { self.not(test)? };
        if tensor_of(&test).is_some() {
            session.op(self, "_assert_async.msg", &[test, Value::str(message)], &[])?;
            return Ok(());
        }
        let oxport_capture::Value::Bool(condition) = session.lower(self, &test)? else { return Ok(()) };
        session.note_trace(self);
        match session.tracer().check(&condition, Some(message)) {
            Ok(()) => Ok(()),
            Err(error) => self.raise("AssertionError", error.message()),
        }
    }

    /// An `if` statement on data; the rest of its block runs within, where only one side reaches it.
    pub(crate) fn fork_statement(
        &mut self,
        frame: &mut Frame,
        test: &Value,
        body: &[Stmt],
        orelse: &[Stmt],
        rest: &[Stmt],
    ) -> R<Step> {
        let is_whole = always_leaves(body) != always_leaves(orelse) && !rest.is_empty();
        let scope = own_scope(frame);
        let flow = self.fork(scope.as_ref(), test, &mut |i, is| {
            let block = if is { body } else { orelse };
            match i.block(frame, block)? {
                Flow::Next if is_whole => i.block(frame, rest).map(Ended::from),
                Flow::Open(exits) if is_whole => {
                    i.unless_left(frame, *exits, &mut |i, f| i.block(f, rest)).map(Ended::from)
                }
                flow => Ok(flow.into()),
            }
        })?;
        Ok(if is_whole { Step::Whole(flow) } else { Step::Flow(flow) })
    }

    /// Runs what follows a block, unless that was left.
    pub(crate) fn unless_left(
        &mut self,
        frame: &mut Frame,
        exits: Exits,
        then: &mut dyn FnMut(&mut Interp, &mut Frame) -> R<Flow>,
    ) -> R<Flow> {
        let [returned, broke, continued] = &exits.flags;
        let jumped = self.or(broke, continued)?;
        let left = self.or(returned, &jumped)?;
        let is_gone = matches!(jumped, Value::Bool(false));
        match left {
            Value::Bool(true) => return Ok(exits.flow()),
            Value::Bool(false) => return then(self, frame),
            _ => {}
        }
        let scope = own_scope(frame);
        let possible: Vec<usize> = (0..3).filter(|at| exits.is_possible(*at)).collect();
        let Exits { mut flags, value } = exits;
        // Where the block was left in the one way that there is, its flag is set.
        if let [only] = possible[..] {
            flags[only] = Value::Bool(true);
        }
        self.fork(scope.as_ref(), &left, &mut |i, is| match is {
            true => {
                let again = Exits { flags: flags.clone(), value: value.clone() };
                Ok(Ended { flow: again.flow(), is_gone })
            }
            false => then(i, frame).map(Ended::from),
        })
    }

    /// What a call gives that returns on some ways, and reaches its end on others.
    pub(crate) fn returned_or_none(&mut self, function: &Name, exits: Exits) -> R<Value> {
        match exits.value {
            None | Some(Value::None) => Ok(Value::None),
            Some(_) => self.raise(
                "RuntimeError",
                format!("`{function}` returns a value or None, depending on data; return a value on every path"),
            ),
        }
    }

    /// The value of an expression whose sides data choose between.
    pub(crate) fn fork_value(&mut self, test: &Value, run: &mut dyn FnMut(&mut Interp, bool) -> R<Value>) -> R<Value> {
        let flow = self.fork(None, test, &mut |i, is| Ok(Ended { flow: Flow::Return(run(i, is)?), is_gone: false }))?;
        match flow {
            Flow::Return(value) => Ok(value),
            _ => Ok(Value::None),
        }
    }

    /// Runs both sides and joins them.
    fn fork(
        &mut self,
        scope: Option<&Rc<Scope>>,
        test: &Value,
        run: &mut dyn FnMut(&mut Interp, bool) -> R<Ended>,
    ) -> R<Flow> {
        let session = Session::of(self)?;
        let (raised, is) = match (self.side(&session, &mut |i| run(i, true))?, &mut *run) {
            (Err(unwind), _) => (unwind, true),
            (Ok(one), run) => match self.side(&session, &mut |i| run(i, false))? {
                Err(unwind) => (unwind, false),
                Ok(other) => return self.join(&session, scope, test, one, other),
            },
        };
        if self.guarded > 0 {
            let message = "a data-dependent `raise` in a `try` that may handle it; \
                           compute a flag, and branch on that";
            return self.raise("RuntimeError", message);
        }
        let Unwind::Raised(exception) = raised else { return Err(raised) };
        let class = self.type_name(&exception.value);
        let text = self.str(&exception.value)?;
        let message = match &*class {
            "AssertionError" if !text.is_empty() => text.to_string(),
            _ => format!("{class}: {text}"),
        };
        self.assert_open(test, !is, &message)?;
        run(self, !is).map(|ended| ended.flow)
    }

    /// Runs a side for itself; the inner error is an exception that the program raises in it.
    fn side(&mut self, session: &Rc<Session>, run: &mut dyn FnMut(&mut Interp) -> R<Ended>) -> R<Result<Side, Unwind>> {
        let tracer = session.tracer();
        let handled = self.handled.len();
        journal::begin();
        tracer.enter_branch();
        let ended = self.deeper(run);
        let branch = tracer.leave_branch();
        let changes = journal::end();
        self.handled.truncate(handled);
        match (ended, branch) {
            (Err(Unwind::Raised(raised)), _) if raised.is_explicit => Ok(Err(Unwind::Raised(raised))),
            (Err(unwind), _) => Err(unwind),
            (_, Err(error)) => self.raise("RuntimeError", error.message()),
            (Ok(ended), Ok(branch)) => Ok(Ok(Side { ended, branch, changes })),
        }
    }

    fn join(
        &mut self,
        session: &Rc<Session>,
        scope: Option<&Rc<Scope>>,
        test: &Value,
        one: Side,
        other: Side,
    ) -> R<Flow> {
        let is_seen = one.branch.is_effectful() || other.branch.is_effectful();
        let (mut join, [one, other]) = Join::new(session, scope, test, [one, other]);
        join.run(self, false)?;
        if join.is_empty() && !is_seen {
            join.give(self, Vec::new())?;
            return join.run(self, true);
        }
        let (one, ones) = join.lower(self, one, 0)?;
        let (other, others) = join.lower(self, other, 1)?;
        let test = session.lower(self, test)?;
        session.note_trace(self);
        match session.tracer().join(&test, [(one, &ones), (other, &others)]) {
            Ok(results) => join.give(self, results)?,
            Err(error) => return self.raise("RuntimeError", error.message()),
        }
        join.run(self, true)
    }
}
