//! The built-in names: types with their methods, functions, exceptions.

mod containers;
mod dicts;
mod functions;
mod numbers;
mod objects;
mod sequences;
mod strings;
mod text;

use crate::error::{EXCEPTIONS, R};
use crate::interp::Interp;
use crate::value::{Args, Class, Value};
use std::rc::Rc;

/// A native function of a table.
pub type Native = fn(&mut Interp, Args) -> R<Value>;

/// Names and native functions.
pub type Table = &'static [(&'static str, Native)];

/// Adds methods to a built-in class.
pub(crate) fn add_methods(class: &Rc<Class>, table: Table) {
    let mut dict = class.dict.borrow_mut();
    for &(name, body) in table {
        // As in Python, `__new__` is static.
        let value = match name {
            "__new__" | "fromkeys" | "maketrans" => Value::native(name, body),
            _ => Value::native_method(name, body),
        };
        let value =
            if name == "fromkeys" { Value::ClassMethod(Rc::new(Value::native_method(name, body))) } else { value };
        dict.insert(name.into(), value);
    }
}

/// Adds the built-in names.
pub fn install(interp: &mut Interp) {
    let builtins = interp.builtins.clone();
    let internal =
        ["NoneType", "NotImplementedType", "ellipsis", "function", "builtin_function_or_method", "method", "module"];
    for class in interp.types.all() {
        if !internal.contains(&&*class.name) {
            builtins.set(&class.name, Value::Class(class.clone()));
        }
    }
    for (name, base) in EXCEPTIONS {
        let bases = match builtins.dict.borrow().get(*base) {
            Some(Value::Class(base)) => vec![base.clone()],
            _ => vec![interp.types.object.clone()],
        };
        let ancestors = bases.iter().flat_map(|b| b.mro().cloned()).collect();
        let dict = crate::journal::Slot::default();
        let class = Class { name: (*name).into(), module: "builtins".into(), bases, ancestors, dict, metaclass: None };
        builtins.set(name, Value::Class(Rc::new(class)));
    }
    for alias in ["EnvironmentError", "IOError"] {
        let os_error = Value::Class(interp.exception_class("OSError"));
        builtins.set(alias, os_error);
    }
    builtins.set("NotImplemented", Value::NotImplemented);
    builtins.set("Ellipsis", Value::Ellipsis);
    builtins.set("__debug__", Value::Bool(true));
    objects::install(interp);
    numbers::install(interp);
    text::install(interp);
    sequences::install(interp);
    dicts::install(interp);
    containers::install(interp);
    functions::install(interp);
}

impl Args {
    /// Binds the arguments to names, by position or keyword; the first `required` must be given.
    ///
    /// # Errors
    /// A `TypeError` as Python's.
    pub fn bind(mut self, interp: &Interp, function: &str, names: &[&str], required: usize) -> R<Vec<Option<Value>>> {
        if self.pos.len() > names.len() {
            let (n, m) = (names.len(), self.pos.len());
            let plural = if n == 1 { "" } else { "s" };
            return interp.type_error(format!("{function}() takes at most {n} argument{plural} ({m} given)"));
        }
        let mut values: Vec<Option<Value>> = self.pos.drain(..).map(Some).collect();
        values.resize(names.len(), None);
        for (name, value) in self.kw {
            let Some(at) = names.iter().position(|n| *n == &*name) else {
                return interp.type_error(format!("{function}() got an unexpected keyword argument '{name}'"));
            };
            if values[at].replace(value).is_some() {
                return interp.type_error(format!("{function}() got multiple values for argument '{name}'"));
            }
        }
        if let Some(at) = values.iter().take(required).position(Option::is_none) {
            let name = names[at];
            return interp.type_error(format!("{function}() missing required argument '{name}' (pos {})", at + 1));
        }
        Ok(values)
    }

    /// The argument at a position.
    ///
    /// # Errors
    /// A `TypeError` if it is not given.
    pub fn at(&self, interp: &Interp, function: &str, n: usize) -> R<Value> {
        match self.pos.get(n) {
            Some(value) => Ok(value.clone()),
            None => interp.type_error(format!("{function}() missing required argument (pos {})", n + 1)),
        }
    }
}
