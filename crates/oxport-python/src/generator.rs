//! Generators: functions that stop at `yield` and go on later.
//!
//! A statement without a `yield` runs as in any function; one with a `yield` is a task on a stack of its own, which
//! says where it is. Invariants: a `yield` is the whole value of a statement (the parser sees to that); a finished
//! generator has no tasks.

use crate::error::{R, Unwind};
use crate::exec::Flow;
use crate::interp::{Frame, Interp};
use crate::iter::Iter;
use crate::syntax::tree::{Block, Expr, ExprKind, Handler, Stmt, StmtKind};
use crate::value::{Args, Value};
use std::rc::Rc;

/// A generator between its `yield`s.
pub struct Generator {
    frame: Frame,
    tasks: Vec<Task>,
    /// What the `yield` where it stopped is.
    waiting: Waiting,
    returned: Value,
    has_begun: bool,
}

/// Where a statement is.
enum Task {
    /// Statements from an index.
    Block(Block, usize),
    /// A loop over an iterator: block, index of the statement.
    For(Block, usize, Value),
    /// A `while` loop.
    While(Block, usize),
    /// The body of a `try`, its handlers still to come.
    Try(Block, usize),
    /// A handler or `else`: only `finally` remains.
    Finally(Block, usize),
    /// The `finally` block, and how what was before ended.
    Ending(R<Flow>),
    /// The exception that is being handled, to be forgotten after the handler.
    Handling(Option<crate::value::Name>),
    /// A context to leave.
    With(Value),
}

/// What is done with the value that is sent.
enum Waiting {
    /// Nothing.
    Nothing,
    /// It is assigned by the statement: block, index.
    Assign(Block, usize),
    /// It is returned.
    Return,
    /// Values of another iterator are passed on.
    From(Value, Box<Waiting>),
}

fn parts(block: &Block, at: usize) -> &Stmt {
    &block[at]
}

impl Generator {
    /// A generator that has not begun.
    pub fn new(frame: Frame) -> Generator {
        let body = frame.code.body.clone();
        Generator {
            frame,
            tasks: vec![Task::Block(body, 0)],
            waiting: Waiting::Nothing,
            returned: Value::None,
            has_begun: false,
        }
    }

    /// What it returned.
    pub fn returned(&self) -> Value {
        self.returned.clone()
    }
}

impl Interp {
    /// Goes on with a generator: sends a value or raises an exception where it stopped.
    pub(crate) fn resume(&mut self, cell: &Rc<Iter>, sent: R<Value>) -> R<Option<Value>> {
        let Some(mut generator) = cell.take_generator() else {
            return self.value_error("generator already executing");
        };
        if self.calls >= self.limits.recursion {
            cell.put_generator(generator);
            return self.raise("RecursionError", "maximum recursion depth exceeded");
        }
        self.calls += 1;
        let handled = self.handled.len();
        let result = self.go_on(&mut generator, sent);
        self.handled.truncate(handled);
        self.calls -= 1;
        if !matches!(result, Ok(Some(_))) {
            generator.tasks.clear();
        }
        let result = result.map_err(|unwind| self.located(&generator.frame, unwind));
        cell.put_generator(generator);
        match result {
            // As PEP 479.
            Err(unwind) if self.is_raised(&unwind, "StopIteration") => {
                self.raise("RuntimeError", "generator raised StopIteration")
            }
            result => result,
        }
    }

    fn go_on(&mut self, generator: &mut Generator, sent: R<Value>) -> R<Option<Value>> {
        if generator.tasks.is_empty() {
            return sent.map(|_| None);
        }
        if !generator.has_begun {
            generator.has_begun = true;
            if let Ok(value) = &sent {
                if !matches!(value, Value::None) {
                    return self.type_error("can't send non-None value to a just-started generator");
                }
            } else {
                generator.tasks.clear();
                return sent.map(|_| None);
            }
        }
        let waiting = std::mem::replace(&mut generator.waiting, Waiting::Nothing);
        let mut state = match self.arrive(generator, waiting, sent) {
            Ok(Arrival::Yield(value)) => return Ok(Some(value)),
            Ok(Arrival::Flow(flow)) => Ok(flow),
            Err(unwind) => Err(unwind),
        };
        loop {
            self.tick()?;
            if let Err(Unwind::Stop(_)) = &state {
                return state.map(|_| None);
            }
            let Some(task) = generator.tasks.pop() else {
                return match state {
                    Ok(Flow::Return(value)) => {
                        generator.returned = value;
                        Ok(None)
                    }
                    Ok(_) => Ok(None),
                    Err(unwind) => Err(unwind),
                };
            };
            state = match self.task(generator, task, state) {
                Ok(Arrival::Yield(value)) => return Ok(Some(value)),
                Ok(Arrival::Flow(flow)) => Ok(flow),
                Err(unwind) => Err(self.located(&generator.frame, unwind)),
            };
        }
    }

    /// The value sent to a `yield`.
    fn arrive(&mut self, generator: &mut Generator, waiting: Waiting, sent: R<Value>) -> R<Arrival> {
        match waiting {
            Waiting::From(iter, then) => {
                let result = match (&iter, sent) {
                    (Value::Iter(cell), sent) if cell.is_generator() => self.resume(cell, sent),
                    (_, Ok(_)) => self.next(&iter),
                    (_, Err(unwind)) => Err(unwind),
                };
                match result? {
                    Some(value) => {
                        generator.waiting = Waiting::From(iter, then);
                        Ok(Arrival::Yield(value))
                    }
                    None => {
                        let value = match &iter {
                            Value::Iter(cell) => cell.returned(),
                            _ => Value::None,
                        };
                        self.arrive(generator, *then, Ok(value))
                    }
                }
            }
            Waiting::Nothing => sent.map(|_| Arrival::Flow(Flow::Next)),
            Waiting::Return => sent.map(|value| Arrival::Flow(Flow::Return(value))),
            Waiting::Assign(block, at) => {
                let value = sent?;
                if let StmtKind::Assign { targets, .. } = &parts(&block, at).kind {
                    for target in targets {
                        self.assign(&mut generator.frame, target, value.clone())?;
                    }
                }
                Ok(Arrival::Flow(Flow::Next))
            }
        }
    }

    /// Goes on with a task after what was within ended so.
    fn task(&mut self, generator: &mut Generator, task: Task, state: R<Flow>) -> R<Arrival> {
        if let Ok(Flow::Open(_)) = &state {
            return self
                .raise("NotImplementedError", "a data-dependent exit from a block of a generator is not supported");
        }
        let done = |flow: Flow| Ok(Arrival::Flow(flow));
        match task {
            Task::Block(block, at) => match state? {
                Flow::Next if at < block.len() => {
                    generator.tasks.push(Task::Block(block.clone(), at + 1));
                    self.step(generator, &block, at)
                }
                flow => done(flow),
            },
            Task::For(block, at, iter) => {
                let StmtKind::For { target, body, orelse, .. } = &parts(&block, at).kind else {
                    return done(Flow::Next);
                };
                match state? {
                    Flow::Break => return done(Flow::Next),
                    flow @ (Flow::Return(_) | Flow::Open(_)) => return done(flow),
                    Flow::Next | Flow::Continue => {}
                }
                match self.next(&iter)? {
                    Some(value) => {
                        self.assign(&mut generator.frame, target, value)?;
                        let body = body.clone();
                        generator.tasks.push(Task::For(block.clone(), at, iter));
                        generator.tasks.push(Task::Block(body, 0));
                    }
                    None => generator.tasks.push(Task::Block(orelse.clone(), 0)),
                }
                done(Flow::Next)
            }
            Task::While(block, at) => {
                let StmtKind::While { test, body, orelse } = &parts(&block, at).kind else { return done(Flow::Next) };
                match state? {
                    Flow::Break => return done(Flow::Next),
                    flow @ (Flow::Return(_) | Flow::Open(_)) => return done(flow),
                    Flow::Next | Flow::Continue => {}
                }
                let value = self.eval(&mut generator.frame, test)?;
                if self.truth(&value)? {
                    generator.tasks.push(Task::While(block.clone(), at));
                    generator.tasks.push(Task::Block(body.clone(), 0));
                } else {
                    generator.tasks.push(Task::Block(orelse.clone(), 0));
                }
                done(Flow::Next)
            }
            Task::Try(block, at) => self.try_task(generator, block, at, state),
            Task::Handling(name) => {
                self.handled.pop();
                if let Some(name) = name {
                    let _ = self.delete(&generator.frame, &name);
                }
                state.map(Arrival::Flow)
            }
            Task::Finally(block, at) => {
                let StmtKind::Try { finally, .. } = &parts(&block, at).kind else { return done(Flow::Next) };
                generator.tasks.push(Task::Ending(state));
                generator.tasks.push(Task::Block(finally.clone(), 0));
                done(Flow::Next)
            }
            Task::Ending(before) => match state? {
                Flow::Next => before.map(Arrival::Flow),
                flow => done(flow),
            },
            Task::With(exit) => self.exit(&exit, state).map(Arrival::Flow),
        }
    }

    fn try_task(&mut self, generator: &mut Generator, block: Block, at: usize, state: R<Flow>) -> R<Arrival> {
        let StmtKind::Try { handlers, orelse, finally, .. } = &parts(&block, at).kind else {
            return Ok(Arrival::Flow(Flow::Next));
        };
        if !finally.is_empty() {
            generator.tasks.push(Task::Finally(block.clone(), at));
        }
        match state {
            Ok(Flow::Next) => {
                generator.tasks.push(Task::Block(orelse.clone(), 0));
                Ok(Arrival::Flow(Flow::Next))
            }
            Err(Unwind::Raised(raised)) => {
                let unwind = Unwind::Raised(raised);
                let handlers: &[Handler] = handlers;
                let Some(handler) = self.select_handler(&mut generator.frame, handlers, &unwind)? else {
                    return Err(unwind);
                };
                let Unwind::Raised(raised) = unwind else { return Ok(Arrival::Flow(Flow::Next)) };
                self.handled.push(raised.value.clone());
                if let Some(name) = &handler.name {
                    self.store(&generator.frame, name, raised.value);
                }
                generator.tasks.push(Task::Handling(handler.name.clone()));
                generator.tasks.push(Task::Block(handler.body.clone(), 0));
                Ok(Arrival::Flow(Flow::Next))
            }
            state => state.map(Arrival::Flow),
        }
    }

    /// Runs a statement, or begins one that may yield.
    fn step(&mut self, generator: &mut Generator, block: &Block, at: usize) -> R<Arrival> {
        let stmt = parts(block, at);
        generator.frame.pos = stmt.pos;
        if !stmt.has_yield {
            return self.block(&mut generator.frame, &block[at..=at]).map(Arrival::Flow);
        }
        let done = Ok(Arrival::Flow(Flow::Next));
        match &stmt.kind {
            StmtKind::Expr(value) => self.suspend(generator, value, Waiting::Nothing),
            StmtKind::Assign { value, .. } if is_yield(value) => {
                self.suspend(generator, value, Waiting::Assign(block.clone(), at))
            }
            StmtKind::Return(Some(value)) if is_yield(value) => self.suspend(generator, value, Waiting::Return),
            StmtKind::If { test, body, orelse } => {
                let test = self.eval(&mut generator.frame, test)?;
                let branch = if self.truth(&test)? { body } else { orelse };
                generator.tasks.push(Task::Block(branch.clone(), 0));
                done
            }
            StmtKind::For { iter, .. } => {
                let iterable = self.eval(&mut generator.frame, iter)?;
                let iter = self.iter(&iterable)?;
                generator.tasks.push(Task::For(block.clone(), at, iter));
                done
            }
            StmtKind::While { .. } => {
                generator.tasks.push(Task::While(block.clone(), at));
                done
            }
            StmtKind::Try { body, .. } => {
                generator.tasks.push(Task::Try(block.clone(), at));
                generator.tasks.push(Task::Block(body.clone(), 0));
                done
            }
            StmtKind::With { context, target, body } => {
                let manager = self.eval(&mut generator.frame, context)?;
                let exit = self.enter(&mut generator.frame, &manager, target.as_ref())?;
                generator.tasks.push(Task::With(exit));
                generator.tasks.push(Task::Block(body.clone(), 0));
                done
            }
            StmtKind::Match { subject, cases } => {
                let subject = self.eval(&mut generator.frame, subject)?;
                if let Some(body) = self.select_case(&mut generator.frame, &subject, cases)? {
                    generator.tasks.push(Task::Block(body, 0));
                }
                done
            }
            _ => self.block(&mut generator.frame, &block[at..=at]).map(Arrival::Flow),
        }
    }

    /// Stops at a `yield`.
    fn suspend(&mut self, generator: &mut Generator, value: &Expr, waiting: Waiting) -> R<Arrival> {
        match &value.kind {
            ExprKind::Yield(value) => {
                let value = match value {
                    Some(value) => self.eval(&mut generator.frame, value)?,
                    None => Value::None,
                };
                generator.waiting = waiting;
                Ok(Arrival::Yield(value))
            }
            ExprKind::YieldFrom(value) => {
                let iterable = self.eval(&mut generator.frame, value)?;
                let iter = self.iter(&iterable)?;
                self.arrive(generator, Waiting::From(iter, Box::new(waiting)), Ok(Value::None))
            }
            _ => {
                let _: Args = Args::default();
                self.eval(&mut generator.frame, value)?;
                Ok(Arrival::Flow(Flow::Next))
            }
        }
    }
}

/// What a task comes to.
enum Arrival {
    /// A value is given out.
    Yield(Value),
    /// The task above goes on.
    Flow(Flow),
}

fn is_yield(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Yield(_) | ExprKind::YieldFrom(_))
}
