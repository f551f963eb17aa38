//! Statements.

use crate::error::{R, StopKind, Unwind};
use crate::interp::{Frame, Interp};
use crate::syntax::tree::{Code, Expr, ExprKind, Handler, Stmt, StmtKind};
use crate::torch::branch::{Decision, Exits};
use crate::value::{Args, Function, Name, Value};
use std::rc::Rc;

/// How a statement ends.
#[derive(Clone)]
pub enum Flow {
    /// The next one follows.
    Next,
    /// `break`.
    Break,
    /// `continue`.
    Continue,
    /// `return`.
    Return(Value),
    /// One of these, which is not known before the program runs.
    Open(Box<Exits>),
}

/// How a statement of a block ends.
pub(crate) enum Step {
    /// So; what follows it in the block is still to come, unless it is left.
    Flow(Flow),
    /// So, and what follows has run too, in the branches of the statement.
    Whole(Flow),
}

impl Interp {
    /// Runs statements.
    ///
    /// # Errors
    /// The first exception, marked with its place.
    pub fn block(&mut self, frame: &mut Frame, body: &[Stmt]) -> R<Flow> {
        for (at, stmt) in body.iter().enumerate() {
            frame.pos = stmt.pos;
            let rest = &body[at + 1..];
            let result = self.tick().and_then(|()| match self.statement(frame, stmt, rest)? {
                Step::Flow(Flow::Open(exits)) => {
                    let flow = self.unless_left(frame, *exits, &mut |i, f| i.block(f, rest))?;
                    Ok(Step::Whole(flow))
                }
                step => Ok(step),
            });
            match result {
                Ok(Step::Flow(Flow::Next)) => {}
                Ok(Step::Flow(flow) | Step::Whole(flow)) => return Ok(flow),
                Err(unwind) => {
                    let unwind = self.located(frame, unwind);
                    self.bind_unavailable(frame, stmt, unwind)?;
                }
            }
        }
        Ok(Flow::Next)
    }

    /// Runs a statement; `rest` follows it.
    fn statement(&mut self, frame: &mut Frame, stmt: &Stmt, rest: &[Stmt]) -> R<Step> {
        if let StmtKind::If { test, body, orelse } = &stmt.kind {
            let test = self.eval(frame, test)?;
            return match self.decision(&test)? {
                Decision::Known(is) => {
                    let branch = if is { body } else { orelse };
                    self.deeper(|i| i.block(frame, branch)).map(Step::Flow)
                }
                Decision::Open(test) => self.deeper(|i| i.fork_statement(frame, &test, body, orelse, rest)),
            };
        }
        self.plain_statement(frame, stmt).map(Step::Flow)
    }

    fn plain_statement(&mut self, frame: &mut Frame, stmt: &Stmt) -> R<Flow> {
        match &stmt.kind {
            StmtKind::Expr(value) => {
                self.eval(frame, value)?;
            }
            StmtKind::Assign { targets, value } => {
                let value = self.eval(frame, value)?;
                for target in targets {
                    self.assign(frame, target, value.clone())?;
                }
            }
            StmtKind::Return(value) => {
                return Ok(Flow::Return(match value {
                    Some(value) => self.eval(frame, value)?,
                    None => Value::None,
                }));
            }
            StmtKind::For { target, iter, body, orelse } => return self.for_loop(frame, target, iter, body, orelse),
            StmtKind::While { test, body, orelse } => return self.while_loop(frame, test, body, orelse),
            StmtKind::Try { body, handlers, orelse, finally } => {
                return self.deeper(|i| i.try_statement(frame, body, handlers, orelse, finally));
            }
            StmtKind::With { context, target, body } => {
                return self.with_statement(frame, context, target.as_ref(), body);
            }
            StmtKind::Break => return Ok(Flow::Break),
            StmtKind::Continue => return Ok(Flow::Continue),
            StmtKind::Pass => {}
            StmtKind::Match { subject, cases } => {
                let subject = self.eval(frame, subject)?;
                return match self.select_case(frame, &subject, cases)? {
                    Some(body) => self.deeper(|i| i.block(frame, &body)),
                    None => Ok(Flow::Next),
                };
            }
            _ => self.definition(frame, stmt)?,
        }
        Ok(Flow::Next)
    }

    /// The statements that are no control flow and less frequent.
    fn definition(&mut self, frame: &mut Frame, stmt: &Stmt) -> R<()> {
        match &stmt.kind {
            StmtKind::AugAssign { target, op, value } => self.augmented(frame, target, *op, value),
            StmtKind::AnnAssign { target, annotation, value } => {
                if let Some(value) = value {
                    let value = self.eval(frame, value)?;
                    self.assign(frame, target, value)?;
                }
                if let ExprKind::Name(name) = &target.kind {
                    self.annotate(frame, name, annotation)?;
                }
                Ok(())
            }
            StmtKind::Delete(targets) => targets.iter().try_for_each(|target| self.delete_target(frame, target)),
            StmtKind::Raise { exc, cause } => self.raise_statement(frame, exc.as_ref(), cause.as_ref()),
            StmtKind::Assert { test, message } => {
                let value = self.eval(frame, test)?;
                match self.decision(&value)? {
                    Decision::Known(true) => return Ok(()),
                    Decision::Known(false) => {}
                    Decision::Open(test) => {
                        let message = match message {
                            Some(message) => {
                                let message = self.eval(frame, message)?;
                                self.str(&message)?.to_string()
                            }
                            None => "assertion error".to_string(),
                        };
                        return self.assert_open(&test, true, &message);
                    }
                }
                let explicit = |unwind: Unwind| unwind.explicit();
                match message {
                    Some(message) => {
                        let message = self.eval(frame, message)?;
                        self.raise_with("AssertionError", vec![message]).map_err(explicit)
                    }
                    None => self.raise_with("AssertionError", Vec::new()).map_err(explicit),
                }
            }
            StmtKind::Import(names) => self.import_statement(frame, names),
            StmtKind::ImportFrom { module, level, names } => self.import_from(frame, module, *level, names),
            StmtKind::Function { decorators, code } => {
                let decorators = self.eval_all(frame, decorators)?;
                let function = self.make_function(frame, code)?;
                let value = self.decorate(decorators, function)?;
                self.store(frame, &code.name, value);
                Ok(())
            }
            StmtKind::Class { decorators, arguments, code } => {
                let decorators = self.eval_all(frame, decorators)?;
                let args = self.arguments(frame, arguments)?;
                let class = self.deeper(|i| i.class_statement(frame, args, code))?;
                let value = self.decorate(decorators, class)?;
                self.store(frame, &code.name, value);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn eval_all(&mut self, frame: &mut Frame, exprs: &[Expr]) -> R<Vec<Value>> {
        exprs.iter().map(|e| self.eval(frame, e)).collect()
    }

    fn decorate(&mut self, decorators: Vec<Value>, mut value: Value) -> R<Value> {
        for decorator in decorators.into_iter().rev() {
            value = self.call(&decorator, Args::of([value]))?;
        }
        Ok(value)
    }

    /// Notes an annotation of a class or module.
    fn annotate(&mut self, frame: &Frame, name: &Name, annotation: &Name) -> R<()> {
        let dict = match &frame.scope {
            None => &frame.globals.dict,
            Some(scope) if scope.code.kind == crate::syntax::tree::ScopeKind::Class => &scope.vars,
            Some(_) => return Ok(()),
        };
        let key: Name = "__annotations__".into();
        let known = dict.borrow().get(&key).cloned();
        let map = match known {
            Some(Value::Dict(map)) => map,
            _ => {
                let map = crate::dict::Shared::default();
                dict.borrow_mut().insert(key, Value::Dict(map.clone()));
                map
            }
        };
        self.dict_set(&map, Value::Str(name.clone()), Value::Str(annotation.clone()))
    }

    /// A function value: defaults are evaluated now.
    pub fn make_function(&mut self, frame: &mut Frame, code: &Rc<Code>) -> R<Value> {
        let mut defaults = Vec::with_capacity(code.params.len());
        for param in &code.params {
            defaults.push(match &param.default {
                Some(default) => Some(self.eval(frame, default)?),
                None => None,
            });
        }
        self.charge(256)?;
        Ok(Value::Function(Rc::new(Function {
            code: code.clone(),
            defaults,
            closure: frame.closure(),
            globals: frame.globals.clone(),
            class_cell: frame.class_cell.clone(),
            dict: crate::journal::Slot::default(),
        })))
    }

    fn try_statement(
        &mut self,
        frame: &mut Frame,
        body: &[Stmt],
        handlers: &[Handler],
        orelse: &[Stmt],
        finally: &[Stmt],
    ) -> R<Flow> {
        frame.guarded += usize::from(!handlers.is_empty());
        self.guarded += usize::from(!handlers.is_empty());
        frame.finals += usize::from(!finally.is_empty());
        let mut result = self.block(frame, body);
        frame.guarded -= usize::from(!handlers.is_empty());
        self.guarded -= usize::from(!handlers.is_empty());
        match result {
            Ok(Flow::Next) => result = self.block(frame, orelse),
            Ok(Flow::Open(exits)) if !orelse.is_empty() => {
                result = self.unless_left(frame, *exits, &mut |i, f| i.block(f, orelse));
            }
            Ok(_) => {}
            Err(unwind) => {
                result = match self.select_handler(frame, handlers, &unwind) {
                    Ok(Some(handler)) => self.handle(frame, handler, unwind),
                    Ok(None) => Err(unwind),
                    Err(other) => Err(other),
                }
            }
        }
        frame.finals -= usize::from(!finally.is_empty());
        if matches!(&result, Err(Unwind::Stop(_))) || finally.is_empty() {
            return result;
        }
        match self.block(frame, finally)? {
            Flow::Next => result,
            Flow::Open(_) => {
                self.raise("NotImplementedError", "a data-dependent exit from a `finally` block is not supported")
            }
            flow => Ok(flow),
        }
    }

    /// The handler of an exception.
    pub(crate) fn select_handler<'h>(
        &mut self,
        frame: &mut Frame,
        handlers: &'h [Handler],
        unwind: &Unwind,
    ) -> R<Option<&'h Handler>> {
        let Unwind::Raised(raised) = unwind else { return Ok(None) };
        for handler in handlers {
            let Some(types) = &handler.types else { return Ok(Some(handler)) };
            let types = self.eval(frame, types)?;
            let class = self.class_of(&raised.value);
            if self.is_subclass_of(&class, &types)? {
                return Ok(Some(handler));
            }
        }
        Ok(None)
    }

    fn handle(&mut self, frame: &mut Frame, handler: &Handler, unwind: Unwind) -> R<Flow> {
        let Unwind::Raised(raised) = unwind else { return Err(unwind) };
        self.handled.push(raised.value.clone());
        if let Some(name) = &handler.name {
            self.store(frame, name, raised.value.clone());
        }
        let result = self.block(frame, &handler.body);
        self.handled.pop();
        if let Some(name) = &handler.name {
            // The name may have been deleted in the handler.
            let _ = self.delete(frame, name);
        }
        result
    }

    fn with_statement(&mut self, frame: &mut Frame, context: &Expr, target: Option<&Expr>, body: &[Stmt]) -> R<Flow> {
        let manager = self.eval(frame, context)?;
        let exit = self.enter(frame, &manager, target)?;
        let result = self.deeper(|i| i.block(frame, body));
        self.exit(&exit, result)
    }

    /// Enters a context, binds its value, and gives its `__exit__`.
    pub(crate) fn enter(&mut self, frame: &mut Frame, manager: &Value, target: Option<&Expr>) -> R<Value> {
        let (Some(enter), Some(exit)) = (self.special(manager, "__enter__")?, self.special(manager, "__exit__")?)
        else {
            let class = self.type_name(manager);
            return self.type_error(format!("'{class}' object does not support the context manager protocol"));
        };
        let value = self.call(&enter, Args::default())?;
        if let Some(target) = target {
            self.assign(frame, target, value)?;
        }
        Ok(exit)
    }

    /// Leaves a context.
    pub(crate) fn exit(&mut self, exit: &Value, result: R<Flow>) -> R<Flow> {
        match result {
            Ok(flow) => {
                self.call(exit, Args::of([Value::None, Value::None, Value::None]))?;
                Ok(flow)
            }
            Err(Unwind::Raised(raised)) => {
                let class = Value::Class(self.class_of(&raised.value));
                let handled = self.call(exit, Args::of([class, raised.value.clone(), Value::None]))?;
                if self.truth(&handled)? { Ok(Flow::Next) } else { Err(Unwind::Raised(raised)) }
            }
            stop => stop,
        }
    }

    fn raise_statement(&mut self, frame: &mut Frame, exc: Option<&Expr>, cause: Option<&Expr>) -> R<()> {
        let Some(exc) = exc else {
            let Some(value) = self.handled.last().cloned() else {
                return self.raise("RuntimeError", "No active exception to reraise");
            };
            return Err(self.raised(value));
        };
        let value = self.eval(frame, exc)?;
        let value = self.as_exception(value)?;
        let cause = match cause {
            Some(cause) => Some(self.eval(frame, cause)?),
            None => None,
        };
        if let Value::Instance(instance) = &value {
            let mut dict = instance.dict.borrow_mut();
            if let Some(cause) = cause {
                dict.insert("__cause__".into(), cause);
            }
            if let Some(context) = self.handled.last() {
                dict.entry("__context__".into()).or_insert_with(|| context.clone());
            }
        }
        Err(self.raised(value))
    }

    /// An exception on its way.
    pub(crate) fn raised(&self, value: Value) -> Unwind {
        Unwind::Raised(Box::new(crate::error::Raised {
            value,
            trace: Vec::new(),
            is_explicit: true,
            is_of_stand_in: false,
        }))
    }

    /// An exception: a class of exceptions is called.
    pub(crate) fn as_exception(&mut self, value: Value) -> R<Value> {
        let base = self.exception_class("BaseException");
        let value = match &value {
            Value::Class(class) if class.is_subclass(&base) => self.call(&value, Args::default())?,
            _ => value,
        };
        if !self.class_of(&value).is_subclass(&base) {
            return self.type_error("exceptions must derive from BaseException");
        }
        Ok(value)
    }

    /// Refuses a request that would leave the interpreter.
    ///
    /// # Errors
    /// Always.
    pub fn refuse<T>(&self, what: &str) -> R<T> {
        let message =
            format!("`{what}` is not available to captured programs: no files, network, processes, clock or eval");
        self.stop(StopKind::Refused, message)
    }
}
