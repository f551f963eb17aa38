//! `torch._C`: what the sources of `torch` ask of the tracer.

use super::convert::Constant;
use super::data::{self, Origin};
use super::number;
use super::session::Session;
use super::tensor::{Kind, TensorValue, gather_sizes, tensor_of};
use crate::error::R;
use crate::interp::Interp;
use crate::journal::Slot;
use crate::value::{Args, Module, Name, Value};
use oxport_capture::regions::Autocast;
use oxport_ir::{Device, MemoryFormat, MemoryLayout};
use oxport_tensor::DType;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

pub(super) fn install(interp: &mut Interp, module: &Rc<Module>) {
    let Ok(session) = Session::of(interp) else { return };
    for dtype in DType::ALL {
        module.set(dtype.name(), Constant::DType(*dtype).value());
    }
    for (name, format) in [
        ("contiguous_format", MemoryFormat::Contiguous),
        ("channels_last", MemoryFormat::ChannelsLast),
        ("channels_last_3d", MemoryFormat::ChannelsLast3d),
        ("preserve_format", MemoryFormat::Preserve),
    ] {
        module.set(name, Constant::MemoryFormat(format).value());
    }
    for layout in MemoryLayout::ALL {
        module.set(layout.name(), Constant::Layout(layout).value());
    }
    module.set("_set_grad_enabled", set_grad_enabled(&session));
    autocast(module, &session);
    module.set("Tensor", Value::Class(session.tensor.clone()));
    module.set("Parameter", Value::Class(session.parameter.clone()));
    for class in session.constants.iter().chain(&session.symbols) {
        module.set(&class.name, Value::Class(class.clone()));
    }
    set_constructors(&session);
    functions(module, &session);
    super::given::install(module, &session);
}

/// `torch._C._set_grad_enabled`, which programs have as a call.
fn set_grad_enabled(session: &Rc<Session>) -> Value {
    let session = session.clone();
    Value::native("_set_grad_enabled", move |i, args| {
        let mode = session.lower(i, &args.at(i, "_set_grad_enabled", 0)?)?;
        session.note_trace(i);
        match session.tracer().function("torch._C._set_grad_enabled", &[mode]) {
            Ok(_) => Ok(Value::None),
            Err(error) => i.raise("RuntimeError", error.message()),
        }
    })
}

/// `enter_autocast(dtype, enabled, cache_enabled)` and `exit_autocast()` of a region of the CPU; `autocast_dtype()`, of
/// the region that is open.
fn autocast(module: &Module, session: &Rc<Session>) {
    let s = session.clone();
    let enter = Value::native("enter_autocast", move |i, args| {
        let oxport_capture::Value::DType(dtype) = s.lower(i, &args.at(i, "enter_autocast", 0)?)? else {
            return i.raise("TypeError", "expected a torch.dtype");
        };
        let enabled = i.truth(&args.at(i, "enter_autocast", 1)?)?;
        let cache_enabled = i.truth(&args.at(i, "enter_autocast", 2)?)?;
        s.note_trace(i);
        match s.tracer().enter_autocast(Autocast { dtype, enabled, cache_enabled }) {
            Ok(()) => Ok(Value::None),
            Err(error) => i.raise("RuntimeError", error.message()),
        }
    });
    let s = session.clone();
    let exit = Value::native("exit_autocast", move |i, _| {
        s.note_trace(i);
        match s.tracer().exit_autocast() {
            Ok(()) => Ok(Value::None),
            Err(error) => i.raise("RuntimeError", error.message()),
        }
    });
    let s = session.clone();
    let dtype = Value::native("autocast_dtype", move |_, _| {
        Ok(s.tracer().autocast_dtype().map_or(Value::None, |dtype| Constant::DType(dtype).value()))
    });
    module.set("enter_autocast", enter);
    module.set("exit_autocast", exit);
    module.set("autocast_dtype", dtype);
}

fn set_constructors(session: &Rc<Session>) {
    let device = Value::native("device", |i, mut args| {
        let index = args.take("index").or_else(|| args.pos.get(2).cloned());
        let kind = args.take("type").map_or_else(|| args.at(i, "device", 1), Ok)?;
        if let Value::Host(_) = kind {
            return Ok(kind);
        }
        let text = i.text(&kind)?;
        let (kind, number) = match text.split_once(':') {
            Some((kind, n)) => (kind, n.parse().ok()),
            None => (&*text, None),
        };
        let index = match index {
            Some(index) => Some(i.index(&index)?),
            None => number,
        };
        Ok(Constant::Device(Device { kind: kind.into(), index }).value())
    });
    session.constants[1].dict.borrow_mut().insert("__new__".into(), device);
    let shared = session.clone();
    let parameter = Value::native("Parameter", move |i, args| {
        let mut rest = args;
        rest.pos.remove(0);
        let values = rest.bind(i, "Parameter", &["data", "requires_grad"], 0)?;
        let requires_grad = match &values[1] {
            Some(value) => i.truth(value)?,
            None => true,
        };
        let Some(tensor) = values[0].as_ref().and_then(tensor_of) else {
            return i.type_error("Parameter() takes a tensor");
        };
        Ok(Value::Host(Rc::new(TensorValue {
            session: shared.clone(),
            kind: Slot::new(tensor.kind.borrow().clone()),
            is_parameter: Cell::new(true),
            requires_grad: Cell::new(requires_grad),
            lifted: RefCell::default(),
            dict: Slot::default(),
            twin: RefCell::default(),
            is_kin: Cell::default(),
        })))
    });
    session.parameter.dict.borrow_mut().insert("__new__".into(), parameter);
    let shared = session.clone();
    let tensor = Value::native("Tensor", move |i, args| match args.pos.get(1) {
        Some(value @ (Value::List(_) | Value::Tuple(_))) => {
            data::make(i, &shared, value, Some(&Constant::DType(DType::F32).value()), Origin::Data)
        }
        Some(value) if tensor_of(value).is_some() => Ok(value.clone()),
        _ => shared.op(i, "empty", &[Value::list(args.pos[1..].to_vec())], &[]),
    });
    session.tensor.dict.borrow_mut().insert("__new__".into(), tensor);
    // Making an instance does not initialize it again.
    for class in [&session.tensor, &session.parameter, &session.constants[1]] {
        class.dict.borrow_mut().insert("__init__".into(), Value::native_method("__init__", |_, _| Ok(Value::None)));
    }
}

fn functions(module: &Module, session: &Rc<Session>) {
    let native = |name: &str, body: fn(&mut Interp, &Rc<Session>, Args) -> R<Value>| {
        let session = session.clone();
        module.set(name, Value::native(name, move |i, args| body(i, &session, args)));
    };
    native("op", |i, s, args| {
        let name = i.text(&args.at(i, "op", 0)?)?;
        s.op(i, &name, &args.pos[1..], &args.kw)
    });
    native("has_op", |i, s, args| Ok(Value::Bool(s.has_op(&i.text(&args.at(i, "has_op", 0)?)?))));
    // The function of an operator, which takes sizes one by one too.
    native("function", |i, s, args| {
        let name = i.text(&args.at(i, "function", 0)?)?;
        let (session, op) = (s.clone(), name.clone());
        Ok(Value::native(&name, move |i, mut args| {
            // As the bindings of PyTorch: `input` and `other` names, and `out` is not understood.
            if let Some(input) = args.take("input") {
                args.pos.insert(0, input);
            }
            let skip = usize::from(args.pos.first().is_some_and(|v| tensor_of(v).is_some()));
            let writes = op.ends_with('_') && !op.ends_with("__");
            let pos = gather_sizes(&op, skip, args.pos);
            let kw: Vec<(Name, Value)> = args.kw.into_iter().filter(|(n, v)| !is_ignored(n, v)).collect();
            let result = session.op(i, &op, &pos, &kw)?;
            Ok(if writes { pos.into_iter().next().unwrap_or(result) } else { result })
        }))
    });
    // The names of an operator's results; none if they have none.
    native("fields", |i, _, args| {
        let name = i.text(&args.at(i, "fields", 0)?)?;
        let registry = oxport_ops::registry();
        let overloads = registry
            .names()
            .into_iter()
            .filter(|full| full.strip_prefix("aten::").is_some_and(|n| n.split('.').next() == Some(&*name)));
        let found = overloads.into_iter().find_map(super::session::fields).unwrap_or_default();
        Ok(Value::tuple(found.into_iter().map(|field| Value::str(&field)).collect::<Vec<_>>()))
    });
    native("tensor", |i, s, args| data::make(i, s, &args.at(i, "tensor", 0)?, args.pos.get(1), Origin::Tensor));
    native("as_tensor", |i, s, args| data::make(i, s, &args.at(i, "as_tensor", 0)?, args.pos.get(1), Origin::Data));
    native("tolist", |i, _, args| data::to_list(i, &args.at(i, "tolist", 0)?));
    native("become", |i, s, args| {
        let (this, other) = (args.at(i, "become", 0)?, args.at(i, "become", 1)?);
        match (tensor_of(&this), tensor_of(&other)) {
            (Some(tensor), Some(_)) if s.is_tracing() && tensor.is_from_outside() => i.raise(
                "NotImplementedError",
                "sizes and strides of an input, parameter or buffer are changed in place, which its next user would \
                 see: take the view (`x = x.t()`)",
            ),
            (Some(tensor), Some(view)) => {
                s.note_write();
                *tensor.kind.borrow_mut() = view.kind.borrow().clone();
                Ok(this)
            }
            _ => i.type_error("become() takes tensors"),
        }
    });
    native("storage_offset", |i, _, args| match tensor_of(&args.at(i, "storage_offset", 0)?) {
        Some(tensor) => Ok(number::Number::Int(tensor.fake().offset.into()).value()),
        None => i.type_error("storage_offset() takes a tensor"),
    });
    native("strides", |i, _, args| {
        let this = args.at(i, "strides", 0)?;
        match tensor_of(&this) {
            Some(tensor) => {
                let strides = tensor.strides().into_iter().map(|n| number::Number::Int(n).value());
                Ok(Value::tuple(strides.collect::<Vec<_>>()))
            }
            None => i.type_error("strides() takes a tensor"),
        }
    });
    native("item", |i, _, args| {
        let this = args.at(i, "item", 0)?;
        match tensor_of(&this) {
            Some(tensor) => tensor.item(i, &this),
            None => i.type_error("item() takes a tensor"),
        }
    });
    native("loop_over", |i, s, args| super::branch::over::loop_over(i, s, &args));
    native("sym_not", |i, _, args| number::not(i, &args.at(i, "sym_not", 0)?));
    native("sym_sqrt", |i, _, args| number::sqrt(i, &args.at(i, "sym_sqrt", 0)?));
    native("sym_ite", |i, _, args| {
        number::ite(i, &args.at(i, "sym_ite", 0)?, &args.at(i, "sym_ite", 1)?, &args.at(i, "sym_ite", 2)?)
    });
    native("_log_api_usage_once", |_, _, _| Ok(Value::None));
    native("is_tensor", |i, _, args| Ok(Value::Bool(tensor_of(&args.at(i, "is_tensor", 0)?).is_some())));
    native("promote_types", |i, _, args| {
        let dtype = |value: &Value| match value {
            Value::Host(host) => match host.as_any().downcast_ref() {
                Some(Constant::DType(dtype)) => Some(*dtype),
                _ => None,
            },
            _ => None,
        };
        let (a, b) = (args.at(i, "promote_types", 0)?, args.at(i, "promote_types", 1)?);
        match (dtype(&a), dtype(&b)) {
            (Some(a), Some(b)) => match DType::promote(a, b) {
                Some(dtype) => Ok(Constant::DType(dtype).value()),
                None => i.raise("RuntimeError", format!("Promotion for {a} and {b} is not supported")),
            },
            _ => i.type_error("promote_types() takes two dtypes"),
        }
    });
    native("is_tracing", |_, s, _| Ok(Value::Bool(s.is_tracing())));
    native("is_symbolic", |i, _, args| {
        let value = args.at(i, "is_symbolic", 0)?;
        Ok(Value::Bool(matches!(value, Value::Host(h) if h.as_any().is::<number::SymValue>())))
    });
    native("specialize", |i, _, args| i.index(&args.at(i, "specialize", 0)?).map(Value::Int));
    // Runs a function as the `forward` of a module.
    native("in_module", |i, s, args| {
        let (path, class) = (i.text(&args.at(i, "in_module", 0)?)?, i.text(&args.at(i, "in_module", 1)?)?);
        let function = args.at(i, "in_module", 2)?;
        let inner = Args { pos: args.pos[3..].to_vec(), kw: args.kw };
        let tracer = s.tracer();
        tracer.in_module(&path, &class, || i.call(&function, inner))
    });
    // Makes one tensor hold what another one does: `_replace`.
    native("assign", |i, _, args| {
        let (to, from) = (args.at(i, "assign", 0)?, args.at(i, "assign", 1)?);
        if let (Some(to), Some(from)) = (tensor_of(&to), tensor_of(&from)) {
            let kind: Kind = from.kind.borrow().clone();
            *to.kind.borrow_mut() = kind;
        }
        Ok(Value::None)
    });
}

/// Keyword arguments that say nothing here.
pub(super) fn is_ignored(name: &str, value: &Value) -> bool {
    matches!((name, value), ("out" | "names" | "generator", Value::None) | ("requires_grad", _))
}
