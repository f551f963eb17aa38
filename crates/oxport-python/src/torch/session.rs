//! What a capture shares: the tracer that is current, the classes of tensors, the evaluation of tensors that the code
//! makes.
//!
//! While a module is made, its tensors are traced into a scratch program and computed only when their data are needed
//! (a buffer, `item()`); while its `forward` runs, calls are traced into the program. A tensor of the first that is
//! used in the second becomes an attribute of it.

use super::tensor::{Kind, TensorValue, tensor_of};
use crate::error::R;
use crate::interp::Interp;
use crate::journal::Slot;
use crate::value::{Class, Name, Namespace, Value};
use oxport_capture::{Tracer, Value as Traced};
use oxport_ir::ExportedProgram;
use oxport_tensor::Tensor as Data;
use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::rc::Rc;

/// Computes the outputs of a program without inputs.
pub type Evaluator = Rc<dyn Fn(&ExportedProgram) -> Result<Vec<Data>, String>>;

/// What a capture shares.
pub struct Session {
    /// The program being traced.
    current: RefCell<Tracer>,
    /// The program of what the code computes before.
    pub scratch: Tracer,
    evaluator: Evaluator,
    /// `torch.Tensor`.
    pub tensor: Rc<Class>,
    /// `torch.nn.Parameter`.
    pub parameter: Rc<Class>,
    /// `torch.dtype`, `torch.device`, `torch.layout`, `torch.memory_format`.
    pub constants: [Rc<Class>; 4],
    /// `torch.SymInt`, `torch.SymFloat`, `torch.SymBool`.
    pub symbols: [Rc<Class>; 3],
    names: HashSet<String>,
    /// Those of operators that draw.
    random: HashSet<String>,
    /// Those whose several results have names, as their overloads that return them say.
    structs: HashSet<String>,
    writes: Cell<u64>,
}

fn class(name: &str, base: &Rc<Class>) -> Rc<Class> {
    class_of(None, name, base)
}

fn class_of(metaclass: Option<&Rc<Class>>, name: &str, base: &Rc<Class>) -> Rc<Class> {
    Rc::new(Class {
        name: name.into(),
        module: "torch".into(),
        bases: vec![base.clone()],
        ancestors: base.mro().cloned().collect(),
        dict: Slot::new(Namespace::default()),
        metaclass: metaclass.cloned(),
    })
}

impl Session {
    /// A session of an interpreter.
    pub fn new(interp: &Interp, evaluator: Evaluator) -> Rc<Session> {
        let object = &interp.types.object;
        let meta = class("_TensorMeta", &interp.types.type_);
        let tensor = class_of(Some(&meta), "Tensor", object);
        let scratch = Tracer::new();
        let base = |name: &str| {
            let (space, name) = name.split_once("::")?;
            (space == "aten").then(|| name.split('.').next().unwrap_or(name).to_string())
        };
        let structs = oxport_ops::registry().names().into_iter().filter(|name| fields(name).is_some()).filter_map(base);
        let structs = structs.filter(|name| !name.starts_with('_')).collect();
        let names = oxport_ops::registry().names().into_iter().filter_map(base).collect();
        let random = oxport_ops::registry().tagged("nondeterministic_seeded");
        let random = random.iter().filter_map(|op| base(op.name())).collect();
        Rc::new(Session {
            current: RefCell::new(scratch.clone()),
            scratch,
            evaluator,
            parameter: class_of(Some(&meta), "Parameter", &tensor),
            tensor,
            constants: ["dtype", "device", "layout", "memory_format"].map(|name| class(name, object)),
            symbols: [
                class("SymInt", &interp.types.int),
                class("SymFloat", &interp.types.float),
                class("SymBool", &interp.types.bool),
            ],
            names,
            random,
            structs,
            writes: Cell::new(0),
        })
    }

    /// The session of an interpreter.
    pub fn of(interp: &Interp) -> R<Rc<Session>> {
        match interp.host.clone().and_then(|host| host.downcast::<Session>().ok()) {
            Some(session) => Ok(session),
            None => interp.raise("RuntimeError", "torch is not available"),
        }
    }

    /// Whether there is an operator `aten::name`.
    pub fn has_op(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// The tracer that is current.
    pub fn tracer(&self) -> Tracer {
        self.current.borrow().clone()
    }

    /// Whether the program is traced, and not the scratch program.
    pub fn is_tracing(&self) -> bool {
        !self.tracer().is_same(&self.scratch)
    }

    /// Makes a tracer the current one.
    pub fn set_tracer(&self, tracer: &Tracer) {
        *self.current.borrow_mut() = tracer.clone();
    }

    /// A tensor value.
    pub fn value(self: &Rc<Session>, kind: Kind) -> Value {
        Value::Host(Rc::new(TensorValue {
            session: self.clone(),
            kind: Slot::new(kind),
            is_parameter: Cell::new(false),
            requires_grad: Cell::new(false),
            lifted: RefCell::default(),
            dict: Slot::default(),
            twin: RefCell::default(),
            is_kin: Cell::default(),
        }))
    }

    /// The data of traced scratch tensors.
    pub fn evaluate(&self, interp: &Interp, tensors: &[oxport_capture::Tensor]) -> R<Vec<Data>> {
        let outputs: Vec<Traced> = tensors.iter().map(Traced::from).collect();
        let program = match self.scratch.finish(Traced::List(outputs)) {
            Ok(program) => program,
            Err(error) => return interp.raise("RuntimeError", error.message()),
        };
        match (self.evaluator)(&program) {
            Ok(data) => Ok(data),
            Err(message) => interp.raise("RuntimeError", message),
        }
    }

    /// A bool, known or of the program, as a tensor of no dimensions.
    pub fn bool_tensor(self: &Rc<Session>, interp: &mut Interp, value: &Value) -> R<Value> {
        if tensor_of(value).is_some() {
            return Ok(value.clone());
        }
        let dtype = super::convert::Constant::DType(oxport_tensor::DType::Bool).value();
        self.op(interp, "full", &[Value::list(Vec::new()), value.clone()], &[("dtype".into(), dtype)])
    }

    /// Tells the tracer where the program is, for the nodes that follow.
    pub fn note_trace(&self, interp: &Interp) {
        if self.is_tracing() {
            self.tracer().set_stack_trace(Some(&stack_trace(interp)));
        }
    }

    /// How many writes were traced to tensors that are known constants.
    pub fn writes(&self) -> u64 {
        self.writes.get()
    }

    /// Forgets which tensors are known constants: one of them may have been written.
    pub fn note_write(&self) {
        self.writes.set(self.writes.get() + 1);
    }

    /// Computes a result of at most one element outside of the program, too, if it is one of known constants alone, as
    /// PyTorch's fake tensors do. A write to what may lie in the storage of one ends what is known of all.
    fn follow(
        self: &Rc<Session>,
        interp: &mut Interp,
        name: &str,
        args: &[Value],
        kw: &[(Name, Value)],
        result: &Value,
    ) {
        // Results lie in the storage of the first tensor, and writes go there.
        if args.iter().find_map(is_kin) != Some(true) {
            return;
        }
        let stem = name.split('.').next().unwrap_or(name);
        if stem.ends_with('_') && (!stem.ends_with("__") || stem.starts_with("__i")) {
            self.note_write();
            return;
        }
        mark_kin(result);
        let Some(made) = tensor_of(result) else { return };
        let numel = made.sizes().iter().try_fold(1, |product: i64, n| Some(product.saturating_mul(n.known()?)));
        if numel.is_none_or(|n| n > 1) || self.random.contains(stem) {
            return;
        }
        let args: Option<Vec<Value>> = args.iter().map(twin_of).collect();
        let kw: Option<Vec<(Name, Value)>> = kw.iter().map(|(key, v)| Some((key.clone(), twin_of(v)?))).collect();
        if let (Some(args), Some(kw)) = (args, kw) {
            let tracer = self.tracer();
            self.set_tracer(&self.scratch);
            let twin = self.op(interp, name, &args, &kw);
            self.set_tracer(&tracer);
            *made.twin.borrow_mut() = twin.ok().map(|twin| (self.writes(), twin));
        }
    }

    /// Calls an operator of the current program.
    pub fn op(self: &Rc<Session>, interp: &mut Interp, name: &str, args: &[Value], kw: &[(Name, Value)]) -> R<Value> {
        let mut lowered = Vec::with_capacity(args.len());
        for arg in args {
            lowered.push(self.lower(interp, arg)?);
        }
        let mut named = Vec::with_capacity(kw.len());
        for (key, value) in kw {
            named.push((numpy_name(name, key), self.lower(interp, value)?));
        }
        let tracer = self.tracer();
        self.note_trace(interp);
        // `to.dtype` is an overload; `aten.add` has its namespace.
        let stem = name.split('.').next().unwrap_or(name);
        let full = if self.has_op(stem) { format!("aten.{name}") } else { name.to_string() };
        match tracer.op(&full, &lowered, &named) {
            Ok(value) => {
                let result = self.raise_value(interp, value)?;
                let result = match result {
                    Value::Tuple(_) if self.structs.contains(stem) => self.named(interp, stem, result)?,
                    result => result,
                };
                if self.is_tracing() {
                    self.follow(interp, name, args, kw, &result);
                }
                Ok(result)
            }
            Err(error) if error.message().contains("expected at most") || error.message().contains("argument") => {
                // Where a number is wanted, a known one may be given as a tensor.
                match numbers_of(interp, args, kw)? {
                    Some((args, kw)) => self.op(interp, name, &args, &kw),
                    None => interp.type_error(error.message()),
                }
            }
            Err(error) => interp.raise("RuntimeError", error.message()),
        }
    }
}

/// The name of a parameter that is given by its name in numpy (`torch/csrc/utils/python_arg_parser.cpp`).
fn numpy_name<'a>(op: &str, key: &'a str) -> &'a str {
    match key {
        "axis" if !takes(op, key) => "dim",
        "keepdims" => "keepdim",
        _ => key,
    }
}

/// Whether an overload of the operator has that parameter.
fn takes(op: &str, parameter: &str) -> bool {
    let registry = oxport_ops::registry();
    let is_overload = |name: &&str| name.strip_prefix("aten::").is_some_and(|n| n.split('.').next() == Some(op));
    let mut overloads = registry.names().into_iter().filter(is_overload).map(|name| registry.op(name));
    overloads.any(|o| o.schema().is_some_and(|s| s.args.iter().any(|arg| &*arg.name == parameter)))
}

/// The names of several results, if the operator has them.
pub fn fields(name: &str) -> Option<Vec<Name>> {
    let op = oxport_ops::registry().op(name);
    let returns = &op.schema()?.returns;
    let are_written = returns.iter().any(|r| r.alias.as_ref().is_some_and(|alias| alias.is_write));
    if returns.len() < 2 || are_written {
        return None;
    }
    returns.iter().map(|r| Some(Name::from(r.name.as_deref()?))).collect()
}

/// Whether the first tensor in an argument may lie in the storage of a known constant; nothing without tensors.
fn is_kin(value: &Value) -> Option<bool> {
    match (value, tensor_of(value)) {
        (_, Some(tensor)) => Some(tensor.is_kin.get()),
        (Value::List(items), _) => items.borrow().iter().find_map(is_kin),
        (Value::Tuple(items), _) => items.iter().find_map(is_kin),
        _ => None,
    }
}

/// Says of the tensors in a result that they may lie in the storage of a known constant.
fn mark_kin(result: &Value) {
    match (result, tensor_of(result)) {
        (_, Some(tensor)) => tensor.is_kin.set(true),
        (Value::List(items), _) => items.borrow().iter().for_each(mark_kin),
        (Value::Tuple(items), _) => items.iter().for_each(mark_kin),
        _ => {}
    }
}

/// The arguments of a call.
type Given = (Vec<Value>, Vec<(Name, Value)>);

/// The arguments with the numbers that known tensors behind the first argument hold; nothing if there are none.
fn numbers_of(interp: &mut Interp, args: &[Value], kw: &[(Name, Value)]) -> R<Option<Given>> {
    fn number(interp: &mut Interp, value: &Value, found: &mut bool) -> R<Value> {
        match (value, tensor_of(value)) {
            (_, Some(tensor)) if tensor.twin().is_some() && tensor.sizes().is_empty() => {
                *found = true;
                tensor.item(interp, value)
            }
            (Value::List(items), _) => {
                let items = items.borrow().clone();
                Ok(Value::list(items.iter().map(|item| number(interp, item, found)).collect::<R<_>>()?))
            }
            (Value::Tuple(items), _) => {
                Ok(Value::tuple(items.iter().map(|item| number(interp, item, found)).collect::<R<Vec<_>>>()?))
            }
            _ => Ok(value.clone()),
        }
    }
    let mut found = false;
    let mut given = args.iter().take(1).cloned().collect::<Vec<_>>();
    for arg in args.iter().skip(1) {
        given.push(number(interp, arg, &mut found)?);
    }
    let mut named = Vec::with_capacity(kw.len());
    for (key, value) in kw {
        named.push((key.clone(), number(interp, value, &mut found)?));
    }
    Ok(found.then_some((given, named)))
}

/// An argument outside of the program; nothing if a tensor of it is no known constant.
fn twin_of(value: &Value) -> Option<Value> {
    match (value, tensor_of(value)) {
        (_, Some(tensor)) => tensor.twin(),
        (Value::List(items), _) => Some(Value::list(items.borrow().iter().map(twin_of).collect::<Option<Vec<_>>>()?)),
        (Value::Tuple(items), _) => Some(Value::tuple(items.iter().map(twin_of).collect::<Option<Vec<_>>>()?)),
        _ => Some(value.clone()),
    }
}

/// The calls that run, as tracebacks have them; those of bundled sources are left out.
fn stack_trace(interp: &Interp) -> String {
    let mut lines = Vec::new();
    for place in interp.places.iter().filter(|p| !p.source.name.starts_with('<')) {
        let text = place.source.line(place.pos.line);
        lines.push(format!(
            "  File \"{}\", line {}, in {}\n    {text}",
            place.source.name, place.pos.line, place.function
        ));
    }
    lines.join("\n")
}
