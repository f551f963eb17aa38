//! The built-in functions.

use super::Native;
use crate::error::R;
use crate::interp::Interp;
use crate::iter::Iter;
use crate::syntax::tree::{BinOp, CmpOp};
use crate::value::{Args, Name, Value};
use num_traits::{FromPrimitive, Signed, ToPrimitive};

const FUNCTIONS: &[(&str, Native)] = &[
    ("print", print),
    ("__import__", import),
    ("len", |i, a| {
        let value = a.at(i, "len", 0)?;
        i.len(&value)
    }),
    ("repr", |i, a| {
        let text = i.repr(&a.at(i, "repr", 0)?)?;
        i.new_str(text)
    }),
    ("ascii", |i, a| {
        let text = i.repr(&a.at(i, "ascii", 0)?)?;
        i.new_str(text)
    }),
    ("isinstance", |i, a| Ok(Value::Bool(i.is_instance(&a.at(i, "isinstance", 0)?, &a.at(i, "isinstance", 1)?)?))),
    ("issubclass", |i, a| match a.at(i, "issubclass", 0)? {
        Value::Class(class) => Ok(Value::Bool(i.is_subclass_of(&class, &a.at(i, "issubclass", 1)?)?)),
        _ => i.type_error("issubclass() arg 1 must be a class"),
    }),
    ("getattr", |i, a| {
        let name = i.text(&a.at(i, "getattr", 1)?)?;
        match a.pos.get(2) {
            Some(default) => Ok(i.find_attr(&a.pos[0], &name)?.unwrap_or_else(|| default.clone())),
            None => i.get_attr(&a.pos[0], &name),
        }
    }),
    ("hasattr", |i, a| {
        let name = i.text(&a.at(i, "hasattr", 1)?)?;
        Ok(Value::Bool(i.find_attr(&a.pos[0], &name)?.is_some()))
    }),
    ("setattr", |i, a| {
        let name = i.text(&a.at(i, "setattr", 1)?)?;
        i.set_attr(&a.pos[0], &name, a.at(i, "setattr", 2)?)?;
        Ok(Value::None)
    }),
    ("delattr", |i, a| {
        let name = i.text(&a.at(i, "delattr", 1)?)?;
        i.del_attr(&a.pos[0], &name)?;
        Ok(Value::None)
    }),
    ("callable", |i, a| {
        let value = a.at(i, "callable", 0)?;
        Ok(Value::Bool(match &value {
            Value::Function(_) | Value::Builtin(_) | Value::Method(_) | Value::Class(_) | Value::StaticMethod(_) => {
                true
            }
            Value::Instance(instance) => instance.class.borrow().lookup("__call__").is_some(),
            Value::Host(host) => host.class(i).lookup("__call__").is_some(),
            _ => false,
        }))
    }),
    ("id", |i, a| {
        let value = a.at(i, "id", 0)?;
        Ok(match value.address() {
            Some(address) => Value::from_len(address),
            None => Value::Int(i.hash(&value)? as i64 >> 1),
        })
    }),
    ("hash", |i, a| {
        let value = a.at(i, "hash", 0)?;
        match value {
            Value::Int(_) | Value::Bool(_) => Ok(value),
            Value::Float(f) if f.fract() == 0.0 && f.abs() < 1e15 => Ok(Value::Int(f as i64)),
            value => Ok(Value::Int(i.hash(&value)? as i64)),
        }
    }),
    ("abs", abs),
    ("min", |i, a| extreme(i, a, "min", CmpOp::Lt)),
    ("max", |i, a| extreme(i, a, "max", CmpOp::Gt)),
    ("sum", |i, a| {
        let values = a.bind(i, "sum", &["iterable", "start"], 1)?;
        let mut total = values[1].clone().unwrap_or(Value::Int(0));
        let iter = i.iter(values[0].as_ref().unwrap_or(&Value::None))?;
        while let Some(item) = i.next(&iter)? {
            i.tick()?;
            total = i.binary(&total, BinOp::Add, &item)?;
        }
        Ok(total)
    }),
    ("sorted", |i, mut a| {
        let (key, reverse) = (a.take("key"), a.take("reverse"));
        let items = i.collect(&a.at(i, "sorted", 0)?)?;
        let reverse = match reverse {
            Some(reverse) => i.truth(&reverse)?,
            None => false,
        };
        let key = key.filter(|k| !matches!(k, Value::None));
        let sorted = i.sort(items, key.as_ref(), reverse)?;
        i.new_list(sorted)
    }),
    ("reversed", |i, a| {
        let value = a.at(i, "reversed", 0)?;
        if let Some(method) = i.special(&value, "__reversed__")? {
            return i.call(&method, Args::default());
        }
        if let (Value::Instance(_), Some(method)) = (&value, i.special(&value, "__len__")?) {
            let len = i.call(&method, Args::default())?;
            let len = i.index(&len)?;
            let items = (0..len).rev().map(|n| i.get_item(&value, &Value::Int(n))).collect::<R<Vec<_>>>()?;
            return Ok(Iter::values(items));
        }
        let mut items = i.collect(&value)?;
        items.reverse();
        Ok(Iter::values(items))
    }),
    ("enumerate", |i, a| {
        let values = a.bind(i, "enumerate", &["iterable", "start"], 1)?;
        let iter = i.iter(values[0].as_ref().unwrap_or(&Value::None))?;
        let start = match &values[1] {
            Some(start) => i.index(start)?,
            None => 0,
        };
        Ok(Iter::enumerate(iter, start))
    }),
    ("zip", |i, mut a| {
        let strict = match a.take("strict") {
            Some(strict) => i.truth(&strict)?,
            None => false,
        };
        let iters = a.pos.iter().map(|v| i.iter(v)).collect::<R<_>>()?;
        Ok(Iter::zip(iters, strict))
    }),
    ("map", |i, a| {
        let function = a.at(i, "map", 0)?;
        let iters = a.pos[1..].iter().map(|v| i.iter(v)).collect::<R<_>>()?;
        Ok(Iter::map(function, iters))
    }),
    ("filter", |i, a| {
        let iter = i.iter(&a.at(i, "filter", 1)?)?;
        Ok(Iter::filter(a.pos[0].clone(), iter))
    }),
    ("any", |i, a| any(i, a, true)),
    ("all", |i, a| any(i, a, false)),
    ("iter", |i, a| match a.pos.get(1) {
        Some(sentinel) => Ok(Iter::until(a.pos[0].clone(), sentinel.clone())),
        None => {
            let value = a.at(i, "iter", 0)?;
            if let Some(method) = i.user_special(&value, "__iter__")? {
                return i.call(&method, Args::default());
            }
            i.iter(&value)
        }
    }),
    ("next", |i, a| {
        let iter = a.at(i, "next", 0)?;
        i.next_or_raise(&iter, a.pos.get(1).cloned())
    }),
    ("round", round),
    ("pow", |i, a| {
        let power = i.binary(&a.at(i, "pow", 0)?, BinOp::Pow, &a.at(i, "pow", 1)?)?;
        match a.pos.get(2) {
            Some(modulus) => i.binary(&power, BinOp::Mod, modulus),
            None => Ok(power),
        }
    }),
    ("divmod", |i, a| {
        let (x, y) = (a.at(i, "divmod", 0)?, a.at(i, "divmod", 1)?);
        Ok(Value::tuple([i.binary(&x, BinOp::FloorDiv, &y)?, i.binary(&x, BinOp::Mod, &y)?]))
    }),
    ("chr", |i, a| {
        let n = i.index(&a.at(i, "chr", 0)?)?;
        match u32::try_from(n).ok().and_then(char::from_u32) {
            Some(c) => Ok(Value::str(&c.to_string())),
            None => i.value_error("chr() arg not in range(0x110000)"),
        }
    }),
    ("ord", |i, a| {
        let text = i.text(&a.at(i, "ord", 0)?)?;
        let mut chars = text.chars();
        match (chars.next(), chars.next()) {
            (Some(c), None) => Ok(Value::Int(i64::from(c as u32))),
            _ => {
                let n = text.chars().count();
                i.type_error(format!("ord() expected a character, but string of length {n} found"))
            }
        }
    }),
    ("hex", |i, a| radix(i, a, "#x")),
    ("bin", |i, a| radix(i, a, "#b")),
    ("oct", |i, a| radix(i, a, "#o")),
    ("format", |i, a| {
        let spec = match a.pos.get(1) {
            Some(spec) => i.text(spec)?,
            None => Name::from(""),
        };
        let text = i.format(&a.at(i, "format", 0)?, &spec)?;
        i.new_str(text)
    }),
    ("vars", |i, a| i.get_attr(&a.at(i, "vars", 0)?, &Name::from("__dict__"))),
    ("dir", |i, a| {
        let value = a.at(i, "dir", 0)?;
        let mut names: Vec<Name> =
            i.class_of(&value).mro().flat_map(|c| c.dict.borrow().keys().cloned().collect::<Vec<_>>()).collect();
        match &value {
            Value::Instance(v) => names.extend(v.dict.borrow().keys().cloned()),
            Value::Class(v) => names.extend(v.mro().flat_map(|c| c.dict.borrow().keys().cloned().collect::<Vec<_>>())),
            Value::Module(v) => names.extend(v.dict.borrow().keys().cloned()),
            _ => {}
        }
        names.sort();
        names.dedup();
        Ok(Value::list(names.into_iter().map(Value::Str).collect()))
    }),
];

/// Names that would leave the interpreter.
const REFUSED: [&str; 8] = ["open", "eval", "exec", "compile", "input", "breakpoint", "exit", "quit"];

pub(super) fn install(interp: &mut Interp) {
    let builtins = interp.builtins.clone();
    for &(name, body) in FUNCTIONS {
        builtins.set(name, Value::native(name, body));
    }
    for name in REFUSED {
        builtins.set(name, Value::native(name, move |i, _| i.refuse(name)));
    }
}

/// `__import__(name, globals, locals, fromlist, level)`, which sees what `import` sees.
fn import(interp: &mut Interp, mut args: Args) -> R<Value> {
    let name = args.at(interp, "__import__", 0)?;
    let name = interp.text(&name)?;
    let (names, level) =
        (args.take("fromlist").or(args.pos.get(3).cloned()), args.take("level").or(args.pos.get(4).cloned()));
    if let Some(level) = level
        && interp.index(&level)? != 0
    {
        return interp.raise("NotImplementedError", "`__import__` of a relative name is not supported");
    }
    let Some(module) = interp.known_module(&name)? else {
        return interp.raise("ModuleNotFoundError", format!("No module named '{name}'"));
    };
    let is_leaf = match names {
        Some(names) => interp.truth(&names)?,
        None => false,
    };
    let root = name.split('.').next().and_then(|root| interp.modules.get(root)).filter(|_| !is_leaf);
    Ok(root.map_or(module, |root| Value::Module(root.clone())))
}

fn print(interp: &mut Interp, mut args: Args) -> R<Value> {
    let part = |i: &mut Interp, value: Option<Value>, default: &str| match value {
        None | Some(Value::None) => Ok(Name::from(default)),
        Some(value) => i.text(&value),
    };
    let separator = part(interp, args.take("sep"), " ")?;
    let end = part(interp, args.take("end"), "\n")?;
    let mut line = String::new();
    for (at, value) in args.pos.iter().enumerate() {
        if at > 0 {
            line.push_str(&separator);
        }
        line.push_str(&interp.str(value)?);
    }
    line.push_str(&end);
    interp.charge(line.len())?;
    interp.output.push_str(&line);
    Ok(Value::None)
}

fn abs(interp: &mut Interp, args: Args) -> R<Value> {
    let value = args.at(interp, "abs", 0)?;
    match value.plain() {
        Value::Float(f) => Ok(Value::Float(f.abs())),
        Value::Complex(re, im) => Ok(Value::Float(re.hypot(im))),
        plain => match crate::ops::big_of(&plain) {
            Some(n) => Ok(Value::from_big(n.abs())),
            None => match interp.find_attr(&value, &Name::from("__abs__"))? {
                Some(method) => interp.call(&method, Args::default()),
                None => {
                    let class = interp.type_name(&value);
                    interp.type_error(format!("bad operand type for abs(): '{class}'"))
                }
            },
        },
    }
}

fn extreme(interp: &mut Interp, mut args: Args, name: &str, op: CmpOp) -> R<Value> {
    let (key, default) = (args.take("key"), args.take("default"));
    let items = match args.pos.len() {
        0 => return interp.type_error(format!("{name} expected at least 1 argument, got 0")),
        1 => interp.collect(&args.pos[0])?,
        _ => args.pos,
    };
    let key = key.filter(|k| !matches!(k, Value::None));
    let mut best: Option<(Value, Value)> = None;
    for item in items {
        interp.tick()?;
        let rank = match &key {
            Some(key) => interp.call(key, Args::of([item.clone()]))?,
            None => item.clone(),
        };
        let better = match &best {
            None => true,
            Some((known, kept)) => {
                if let (None, Some(symbolic)) = (&key, interp.symbolic_extreme(kept, &item, name)?) {
                    best = Some((symbolic.clone(), symbolic));
                    continue;
                }
                let result = interp.compare(&rank, op, known)?;
                interp.truth(&result)?
            }
        };
        if better {
            best = Some((rank, item));
        }
    }
    match best.map(|(_, item)| item).or(default) {
        Some(item) => Ok(item),
        None => interp.value_error(format!("{name}() arg is an empty sequence")),
    }
}

fn any(interp: &mut Interp, args: Args, wanted: bool) -> R<Value> {
    let iter = interp.iter(&args.at(interp, "any", 0)?)?;
    while let Some(item) = interp.next(&iter)? {
        interp.tick()?;
        if interp.truth(&item)? == wanted {
            return Ok(Value::Bool(wanted));
        }
    }
    Ok(Value::Bool(!wanted))
}

fn radix(interp: &mut Interp, args: Args, spec: &str) -> R<Value> {
    let value = args.at(interp, "hex", 0)?;
    let text = interp.format(&value, spec)?;
    interp.new_str(text)
}

fn round(interp: &mut Interp, args: Args) -> R<Value> {
    let values = args.bind(interp, "round", &["number", "ndigits"], 1)?;
    let value = values[0].clone().unwrap_or(Value::None);
    let digits = match &values[1] {
        None | Some(Value::None) => None,
        Some(digits) => Some(interp.index(digits)?),
    };
    if let Value::Instance(_) | Value::Host(_) = &value
        && let Some(method) = interp.find_attr(&value, &Name::from("__round__"))?
    {
        return interp.call(&method, Args::of(values[1].clone().into_iter().collect::<Vec<_>>()));
    }
    let value = match value {
        Value::Host(_) => Value::Float(interp.real(&value)?),
        value => value.plain(),
    };
    match (&value, digits) {
        (Value::Float(f), None) => {
            let rounded = f.round_ties_even();
            match num_bigint::BigInt::from_f64(rounded) {
                Some(n) => Ok(Value::from_big(n)),
                None => interp.value_error("cannot convert float NaN or infinity to integer"),
            }
        }
        (Value::Float(f), Some(digits)) => {
            if !f.is_finite() || digits > 300 {
                return Ok(value);
            }
            if digits >= 0 {
                // The decimal text is correctly rounded, as CPython's.
                return Ok(Value::Float(format!("{f:.*}", digits as usize).parse().unwrap_or(*f)));
            }
            let scale = 10f64.powi((-digits).min(400) as i32);
            Ok(Value::Float((f / scale).round_ties_even() * scale))
        }
        _ => match (crate::ops::big_of(&value), digits) {
            (Some(n), Some(digits)) if digits < 0 => {
                let scale = num_bigint::BigInt::from(10).pow((-digits).min(5000) as u32);
                let (half, rest) = (&scale / 2, num_integer::Integer::mod_floor(&n, &scale));
                let floor = &n - &rest;
                let is_even = (&floor / &scale).to_i64().is_some_and(|q| q % 2 == 0);
                let up = rest > half || (rest == half && !is_even);
                Ok(Value::from_big(if up { floor + scale } else { floor }))
            }
            (Some(n), _) => Ok(Value::from_big(n)),
            (None, _) => {
                let class = interp.type_name(&value);
                interp.type_error(format!("type {class} doesn't define __round__ method"))
            }
        },
    }
}

impl Interp {
    /// `len(value)`.
    ///
    /// # Errors
    /// A `TypeError` if the value has no length.
    pub fn len(&mut self, value: &Value) -> R<Value> {
        Ok(Value::from_len(match value {
            Value::Str(text) if text.is_ascii() => text.len(),
            Value::Str(text) => text.chars().count(),
            Value::Bytes(bytes) => bytes.len(),
            Value::Tuple(items) => items.len(),
            Value::List(list) => list.borrow().len(),
            Value::Dict(map) | Value::Set(map) | Value::FrozenSet(map) => map.borrow().len(),
            Value::Range(range) => range.len(),
            Value::Host(host) => {
                let host = host.clone();
                match self.deeper(|i| host.len(i))? {
                    Some(len) => return Ok(len),
                    None => return self.no_len(value),
                }
            }
            Value::Instance(_) | Value::Class(_) => {
                let Some(method) = self.user_special(value, "__len__")? else { return self.no_len(value) };
                return self.call(&method, Args::default());
            }
            _ => return self.no_len(value),
        }))
    }

    fn no_len<T>(&self, value: &Value) -> R<T> {
        self.type_error(format!("object of type '{}' has no len()", self.type_name(value)))
    }

    /// `min` or `max` of two values, if the host keeps it symbolic.
    fn symbolic_extreme(&mut self, a: &Value, b: &Value, name: &str) -> R<Option<Value>> {
        for (this, other) in [(a, b), (b, a)] {
            if let Value::Host(host) = this {
                let host = host.clone();
                if let Some(method) = host.get_attr(self, this, &format!("__sym_{name}__"))? {
                    return self.call(&method, Args::of([other.clone()])).map(Some);
                }
            }
        }
        Ok(None)
    }
}
