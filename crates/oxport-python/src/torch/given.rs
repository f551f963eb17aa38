//! `torch.ops`: calls as printed programs have them, each of which is one node; and functions that become subgraphs.
//!
//! Law: `torch.ops.aten.add.Tensor(…)` is that overload, whose results become nodes when they are taken.

use super::native::is_ignored;
use super::session::Session;
use crate::error::R;
use crate::host::Host;
use crate::interp::Interp;
use crate::value::{Args, Class, Module, Name, Value};
use oxport_capture::{Given, Several, Value as Traced};
use std::any::Any;
use std::rc::Rc;

/// The results of a call.
struct Results {
    session: Rc<Session>,
    several: Several,
}

impl Results {
    fn at(&self, interp: &mut Interp, index: usize) -> R<Value> {
        self.session.note_trace(interp);
        let value = taken(interp, self.several.get(index))?;
        self.session.raise_value(interp, value)
    }
}

impl Host for Results {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn class(&self, interp: &Interp) -> Rc<Class> {
        interp.types.tuple.clone()
    }

    fn get_item(&self, interp: &mut Interp, _: &Value, index: &Value) -> R<Option<Value>> {
        if let Value::Slice(_) = index {
            let all = self.items(interp)?;
            let all = interp.new_tuple(all)?;
            return interp.get_item(&all, index).map(Some);
        }
        let (index, len) = (interp.index(index)?, self.several.len() as i64);
        let at = if index < 0 { index + len } else { index };
        match usize::try_from(at).ok().filter(|at| *at < self.several.len()) {
            Some(at) => self.at(interp, at).map(Some),
            None => interp.raise("IndexError", "tuple index out of range"),
        }
    }

    fn len(&self, _: &mut Interp) -> R<Option<Value>> {
        Ok(Some(Value::from_len(self.several.len())))
    }

    fn iter(&self, interp: &mut Interp, _: &Value) -> R<Option<Vec<Value>>> {
        self.items(interp).map(Some)
    }

    fn repr(&self, _: &mut Interp) -> R<String> {
        Ok(format!("<{} results>", self.several.len()))
    }
}

impl Results {
    fn items(&self, interp: &mut Interp) -> R<Vec<Value>> {
        (0..self.several.len()).map(|i| self.at(interp, i)).collect()
    }
}

fn taken<T>(interp: &Interp, result: oxport_capture::Result<T>) -> R<T> {
    match result {
        Ok(value) => Ok(value),
        Err(error) if error.message().contains("argument") => interp.type_error(error.message()),
        Err(error) => interp.raise("RuntimeError", error.message()),
    }
}

/// The results of a call, if the value is those.
pub(super) fn items(interp: &mut Interp, value: &Value) -> R<Option<Vec<Value>>> {
    match value {
        Value::Host(host) => host.as_any().downcast_ref::<Results>().map(|r| r.items(interp)).transpose(),
        _ => Ok(None),
    }
}

impl Session {
    fn given(self: &Rc<Session>, interp: &mut Interp, given: Given) -> R<Value> {
        match given {
            Given::Value(value) => self.raise_value(interp, value),
            Given::Several(several) => {
                interp.charge(1024)?;
                Ok(Value::Host(Rc::new(Results { session: self.clone(), several })))
            }
        }
    }

    fn lower_given(self: &Rc<Session>, interp: &mut Interp, args: &Args) -> R<(Vec<Traced>, Vec<(Name, Traced)>)> {
        let pos = args.pos.iter().map(|v| self.lower(interp, v)).collect::<R<Vec<_>>>()?;
        let mut kw = Vec::with_capacity(args.kw.len());
        for (name, value) in args.kw.iter().filter(|(n, v)| !is_ignored(n, v)) {
            kw.push((name.clone(), self.lower(interp, value)?));
        }
        Ok((pos, kw))
    }

    fn higher_order(self: &Rc<Session>, interp: &mut Interp, name: &str, args: &Args) -> R<Value> {
        let mut functions = Vec::new();
        let mut lowered = Vec::with_capacity(args.pos.len());
        for (at, value) in args.pos.iter().enumerate() {
            lowered.push(match subgraph(interp, value)? {
                Some(function) => {
                    functions.push((at, function));
                    None
                }
                None => Some(self.lower(interp, value)?),
            });
        }
        let mut kw = Vec::with_capacity(args.kw.len());
        for (key, value) in &args.kw {
            kw.push((&**key, self.lower(interp, value)?));
        }
        let tracer = self.tracer();
        self.note_trace(interp);
        let mut call = taken(interp, tracer.higher_order(name, &lowered, &kw))?;
        for (at, function) in functions {
            let inputs = taken(interp, tracer.enter_subgraph(&call, at, &function.parameters))?;
            let run = self.run_subgraph(interp, &function, inputs);
            let (results, is_bare) = match run {
                Ok(results) => results,
                Err(unwind) => {
                    tracer.drop_subgraph();
                    return Err(unwind);
                }
            };
            taken(interp, tracer.leave_subgraph(&mut call, at, &function.name, &results, is_bare))?;
        }
        self.note_trace(interp);
        let given = taken(interp, tracer.finish_higher_order(call))?;
        self.given(interp, given)
    }

    fn run_subgraph(
        self: &Rc<Session>,
        interp: &mut Interp,
        function: &Subgraph,
        inputs: Vec<Traced>,
    ) -> R<(Vec<Traced>, bool)> {
        let mut values = Vec::with_capacity(inputs.len());
        for input in inputs {
            values.push(self.raise_value(interp, input)?);
        }
        let result = interp.call(&function.call, Args::of(values))?;
        let several = match result.plain() {
            Value::Tuple(_) | Value::List(_) => Some(interp.collect(&result)?),
            _ => items(interp, &result)?,
        };
        let is_bare = several.is_none();
        let items = several.unwrap_or_else(|| vec![result]);
        let items = items.iter().map(|v| self.lower(interp, v)).collect::<R<Vec<_>>>()?;
        Ok((items, is_bare))
    }
}

/// A function that becomes a subgraph.
struct Subgraph {
    call: Value,
    name: String,
    parameters: Vec<String>,
}

/// The subgraph that an argument is: a function, or a module, or the class of one, as `print_readable()` has them.
fn subgraph(interp: &mut Interp, value: &Value) -> R<Option<Subgraph>> {
    let (call, name) = match value {
        Value::Function(f) => (value.clone(), f.code.name.to_string()),
        Value::Method(_) => (value.clone(), String::new()),
        Value::Class(class) if class.lookup("forward").is_some() => {
            let module = interp.call(value, Args::default())?;
            (interp.get_attr(&module, &Name::from("forward"))?, class.name.to_string())
        }
        Value::Instance(_) => match interp.find_attr(value, &Name::from("forward"))? {
            Some(forward) => (forward, interp.type_name(value).to_string()),
            None => return Ok(None),
        },
        _ => return Ok(None),
    };
    let (code, skipped) = match &call {
        Value::Function(f) => (f.code.clone(), 0),
        Value::Method(m) => match &m.function {
            Value::Function(f) => (f.code.clone(), 1),
            _ => return Ok(None),
        },
        _ => return Ok(None),
    };
    let name = if name.is_empty() { code.name.to_string() } else { name };
    let parameters = code.params.iter().skip(skipped).map(|p| p.name.to_string()).collect();
    Ok(Some(Subgraph { call, name, parameters }))
}

pub(super) fn install(module: &Module, session: &Rc<Session>) {
    let native = |name: &str, body: fn(&mut Interp, &Rc<Session>, &str, Args) -> R<Value>| {
        let session = session.clone();
        module.set(
            name,
            Value::native(name, move |i, mut args| {
                let called = i.text(&args.at(i, "a call", 0)?)?;
                args.pos.remove(0);
                body(i, &session, &called, args)
            }),
        );
    };
    native("given", |i, s, name, args| {
        let (pos, kw) = s.lower_given(i, &args)?;
        let kw: Vec<(&str, Traced)> = kw.iter().map(|(name, value)| (&**name, value.clone())).collect();
        s.note_trace(i);
        // What lies in whose storage is not followed here.
        s.note_write();
        let given = taken(i, s.tracer().given(name, &pos, &kw))?;
        s.given(i, given)
    });
    native("higher_order", |i, s, name, args| s.higher_order(i, name, &args));
    native("python_function", |i, s, name, args| {
        let (mut pos, kw) = s.lower_given(i, &args)?;
        pos.extend(kw.into_iter().map(|(_, value)| value));
        s.note_trace(i);
        let given = taken(i, s.tracer().function(name, &pos))?;
        s.given(i, given)
    });
}
