//! Calls: arguments to parameters, functions, classes and callable objects.

use crate::error::R;
use crate::exec::Flow;
use crate::interp::Interp;
use crate::iter::Iter;
use crate::journal::Slot;
use crate::syntax::tree::ParamKind;
use crate::value::{Args, Class, Function, Instance, Name, Namespace, Scope, Value};
use std::rc::Rc;

impl Interp {
    /// Calls a value.
    ///
    /// # Errors
    /// What the program raises; a `TypeError` if the value cannot be called so.
    pub fn call(&mut self, callee: &Value, mut args: Args) -> R<Value> {
        match callee {
            Value::Function(function) => self.deeper(|i| i.call_function(function, args)),
            Value::Builtin(builtin) => {
                let body = builtin.body.clone();
                self.deeper(|i| body(i, args))
            }
            Value::Method(method) => {
                args.pos.insert(0, method.this.clone());
                self.call(&method.function, args)
            }
            Value::Class(class) => self.deeper(|i| i.call_class(class, args)),
            Value::StaticMethod(function) => self.call(function, args),
            Value::Host(host) => {
                let host = host.clone();
                match self.deeper(|i| host.call(i, args))? {
                    Some(value) => Ok(value),
                    None => self.not_callable(callee),
                }
            }
            Value::Instance(_) => match self.special(callee, "__call__")? {
                Some(call) => self.deeper(|i| i.call(&call, args)),
                None => self.not_callable(callee),
            },
            _ => self.not_callable(callee),
        }
    }

    fn not_callable<T>(&self, value: &Value) -> R<T> {
        self.type_error(format!("'{}' object is not callable", self.type_name(value)))
    }

    /// Calls a method of a value by name.
    ///
    /// # Errors
    /// As [`Interp::call`].
    pub fn call_method(&mut self, this: &Value, name: &str, args: Args) -> R<Value> {
        let method = self.get_attr(this, &Name::from(name))?;
        self.call(&method, args)
    }

    fn call_function(&mut self, function: &Rc<Function>, args: Args) -> R<Value> {
        self.tick()?;
        self.charge(192)?;
        if self.calls >= self.limits.recursion {
            return self.raise("RecursionError", "maximum recursion depth exceeded");
        }
        let vars = self.bind(function, args)?;
        let code = function.code.clone();
        let scope = Scope { vars: Slot::new(vars), parent: function.closure.clone(), code: code.clone() };
        let mut frame = self.frame(code.clone(), Some(Rc::new(scope)), function.globals.clone());
        frame.class_cell.clone_from(&function.class_cell);
        if code.is_coroutine {
            let message = format!("{}() is a coroutine, which is not supported", code.name);
            return self.raise("NotImplementedError", message);
        }
        if code.is_generator {
            return Ok(Value::Iter(Rc::new(Iter::generator(frame))));
        }
        self.calls += 1;
        self.places.push(crate::error::Place {
            source: code.source.clone(),
            pos: code.pos,
            function: code.name.clone(),
            frame: frame.id,
        });
        let result = self.block(&mut frame, &code.body);
        self.places.pop();
        self.calls -= 1;
        match result? {
            Flow::Return(value) => Ok(value),
            Flow::Open(exits) => self.returned_or_none(&code.name, *exits),
            _ => Ok(Value::None),
        }
    }

    /// The variables of a call: parameters and their arguments.
    fn bind(&mut self, function: &Rc<Function>, args: Args) -> R<Namespace> {
        let code = &function.code;
        let mut vars = Namespace::default();
        let given = args.pos.len();
        let mut pos = args.pos.into_iter();
        let mut kw = args.kw;
        let mut missing: Vec<&Name> = Vec::new();
        let mut positional = 0;
        for (param, default) in code.params.iter().zip(&function.defaults) {
            let keyword = |kw: &mut Vec<(Name, Value)>| {
                let at = kw.iter().position(|(name, _)| *name == param.name)?;
                Some(kw.remove(at).1)
            };
            let value = match param.kind {
                ParamKind::Star => {
                    let rest: Vec<Value> = pos.by_ref().collect();
                    Some(self.new_tuple(rest)?)
                }
                ParamKind::DoubleStar => {
                    let rest = std::mem::take(&mut kw).into_iter().map(|(k, v)| (Value::Str(k), v));
                    Some(Value::Dict(self.make_dict(rest)?))
                }
                ParamKind::KeywordOnly => keyword(&mut kw).or_else(|| default.clone()),
                ParamKind::PositionalOnly | ParamKind::Normal => {
                    positional += 1;
                    match pos.next() {
                        Some(value) => {
                            if param.kind == ParamKind::Normal && keyword(&mut kw).is_some() {
                                let message =
                                    format!("{}() got multiple values for argument '{}'", code.qualname, param.name);
                                return self.type_error(message);
                            }
                            Some(value)
                        }
                        None if param.kind == ParamKind::Normal => keyword(&mut kw).or_else(|| default.clone()),
                        None => default.clone(),
                    }
                }
            };
            match value {
                Some(value) => {
                    vars.insert(param.name.clone(), value);
                }
                None => missing.push(&param.name),
            }
        }
        if pos.next().is_some() {
            let required = code.params.iter().zip(&function.defaults);
            let takes_range = required.clone().any(|(p, d)| is_positional(p.kind) && d.is_some());
            let least = required.filter(|(p, d)| is_positional(p.kind) && d.is_none()).count();
            let takes = if takes_range { format!("from {least} to {positional}") } else { positional.to_string() };
            let plural = if positional == 1 && !takes_range { "" } else { "s" };
            let verb = if given == 1 { "was" } else { "were" };
            let name = &code.qualname;
            return self
                .type_error(format!("{name}() takes {takes} positional argument{plural} but {given} {verb} given"));
        }
        if let Some((name, _)) = kw.first() {
            if code.params.iter().any(|p| p.name == *name && p.kind == ParamKind::PositionalOnly) {
                let message = "got some positional-only arguments passed as keyword arguments";
                return self.type_error(format!("{}() {message}: '{name}'", code.qualname));
            }
            return self.type_error(format!("{}() got an unexpected keyword argument '{name}'", code.qualname));
        }
        if !missing.is_empty() {
            return self.missing_arguments(function, &missing);
        }
        Ok(vars)
    }

    fn missing_arguments<T>(&self, function: &Function, missing: &[&Name]) -> R<T> {
        let is_keyword =
            |name: &Name| function.code.params.iter().any(|p| p.name == *name && p.kind == ParamKind::KeywordOnly);
        // Positional ones are reported first, as in CPython.
        let all_keyword = missing.iter().all(|n| is_keyword(n));
        let names: Vec<String> =
            missing.iter().filter(|n| all_keyword || !is_keyword(n)).map(|n| format!("'{n}'")).collect();
        let list = match names.split_last() {
            Some((last, [])) => last.clone(),
            Some((last, [only])) => format!("{only} and {last}"),
            Some((last, rest)) => format!("{}, and {last}", rest.join(", ")),
            None => String::new(),
        };
        let what = if all_keyword { "keyword-only" } else { "positional" };
        let plural = if names.len() == 1 { "" } else { "s" };
        let (name, n) = (&function.code.qualname, names.len());
        self.type_error(format!("{name}() missing {n} required {what} argument{plural}: {list}"))
    }

    /// Makes an instance: `__new__`, then `__init__`.
    fn call_class(&mut self, class: &Rc<Class>, args: Args) -> R<Value> {
        if let Some(metaclass) = &class.metaclass
            && let Some(call) = metaclass.lookup("__call__")
            && !matches!(&call, Value::Builtin(_))
        {
            let call = self.bind_attr(&call, &Value::Class(class.clone()), metaclass)?;
            return self.call(&call, args);
        }
        self.instantiate(class, args)
    }

    /// `type.__call__`.
    pub(crate) fn instantiate(&mut self, class: &Rc<Class>, args: Args) -> R<Value> {
        if Rc::ptr_eq(class, &self.types.type_) && args.pos.len() == 1 && args.kw.is_empty() {
            return Ok(Value::Class(self.class_of(&args.pos[0])));
        }
        if let Some(Value::FrozenSet(missing)) = class.lookup("__abstractmethods__")
            && !missing.borrow().is_empty()
        {
            let names: Vec<String> = missing.borrow().iter().map(|(k, _)| text_of(k)).collect();
            let plural = if names.len() == 1 { "" } else { "s" };
            let (name, names) = (&class.name, names.join(", "));
            let message = format!("Can't instantiate abstract class {name} with abstract method{plural} {names}");
            return self.type_error(message);
        }
        let new = match class.lookup("__new__") {
            Some(Value::StaticMethod(function)) => (*function).clone(),
            Some(function) => function,
            None => return self.type_error(format!("cannot create '{}' instances", class.name)),
        };
        let mut new_args = args.clone();
        new_args.pos.insert(0, Value::Class(class.clone()));
        let instance = self.call(&new, new_args)?;
        if !self.class_of(&instance).is_subclass(class) {
            return Ok(instance);
        }
        let Some(init) = self.class_of(&instance).lookup("__init__") else { return Ok(instance) };
        let mut init_args = args;
        // Native initializers of immutable values have nothing to do.
        if let (Value::Builtin(builtin), false) = (&init, matches!(new, Value::Builtin(_)))
            && &*builtin.name == "object.__init__"
        {
            return Ok(instance);
        }
        init_args.pos.insert(0, instance.clone());
        let result = self.call(&init, init_args)?;
        if !matches!(result, Value::None) {
            let class = self.type_name(&result);
            return self.type_error(format!("__init__() should return None, not '{class}'"));
        }
        Ok(instance)
    }

    /// An instance of a class of the program, or the built-in value if the class is a built-in one.
    pub fn wrap(&mut self, class: &Rc<Class>, native: &Rc<Class>, payload: Value) -> R<Value> {
        if Rc::ptr_eq(class, native) {
            return Ok(payload);
        }
        self.charge(256)?;
        let dict = match class.is_subclass(&self.exception_class("BaseException")) {
            true => Interp::exception_dict(Vec::new()),
            false => Namespace::default(),
        };
        Ok(Value::Instance(Rc::new(Instance {
            class: Slot::new(class.clone()),
            dict: Slot::new(dict),
            payload: Slot::new(payload),
        })))
    }
}

fn is_positional(kind: ParamKind) -> bool {
    matches!(kind, ParamKind::Normal | ParamKind::PositionalOnly)
}

fn text_of(value: &Value) -> String {
    match value {
        Value::Str(text) => text.to_string(),
        _ => String::new(),
    }
}
