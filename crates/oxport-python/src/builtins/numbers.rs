//! `int`, `bool`, `float`, `complex`.

use super::add_methods;
use crate::error::R;
use crate::interp::Interp;
use crate::syntax::tree::BinOp;
use crate::value::{Args, Class, Value};
use num_bigint::BigInt;
use num_traits::{FromPrimitive, Num};
use std::rc::Rc;

pub(super) fn install(interp: &mut Interp) {
    let types = &interp.types;
    add_methods(
        &types.int,
        &[
            ("__new__", int_new),
            ("bit_length", |i, a| {
                let n = crate::ops::big_of(&a.at(i, "bit_length", 0)?.plain()).unwrap_or_default();
                Ok(Value::from_len(n.bits() as usize))
            }),
            ("__index__", |i, a| Ok(a.at(i, "__index__", 0)?.plain())),
            ("__int__", |i, a| Ok(a.at(i, "__int__", 0)?.plain())),
            ("is_integer", |_, _| Ok(Value::Bool(true))),
            ("conjugate", |i, a| Ok(a.at(i, "conjugate", 0)?.plain())),
        ],
    );
    add_methods(
        &types.bool,
        &[("__new__", |i, a| {
            let value = match a.pos.get(1) {
                Some(value) => i.truth(value)?,
                None => false,
            };
            Ok(Value::Bool(value))
        })],
    );
    add_methods(
        &types.float,
        &[
            ("__new__", float_new),
            ("is_integer", |i, a| {
                let Value::Float(f) = a.at(i, "is_integer", 0)?.plain() else {
                    return i.type_error("expected a float");
                };
                Ok(Value::Bool(f.is_finite() && f.fract() == 0.0))
            }),
        ],
    );
    let from_hex = |i: &mut Interp, _: Args| i.value_error("float.fromhex is not supported");
    types.float.dict.borrow_mut().insert("fromhex".into(), Value::native("fromhex", from_hex));
    add_methods(
        &types.complex,
        &[
            ("__new__", |i, a| {
                let part = |i: &mut Interp, v: Option<&Value>| match v {
                    Some(Value::Complex(re, im)) => Ok((*re, *im)),
                    Some(v) => match i.float(v)? {
                        Value::Float(f) => Ok((f, 0.0)),
                        _ => i.type_error("complex() argument must be a number"),
                    },
                    None => Ok((0.0, 0.0)),
                };
                let (re, im) = (part(i, a.pos.get(1))?, part(i, a.pos.get(2))?);
                Ok(Value::Complex(re.0 - im.1, re.1 + im.0))
            }),
            ("conjugate", |i, a| match a.at(i, "conjugate", 0)? {
                Value::Complex(re, im) => Ok(Value::Complex(re, -im)),
                _ => i.type_error("expected a complex number"),
            }),
        ],
    );
    for (class, methods) in [(&types.int, ARITHMETIC), (&types.int, BITWISE), (&types.float, ARITHMETIC)] {
        for &(name, op, swapped) in methods {
            let body = move |i: &mut Interp, a: Args| {
                let (x, y) = (a.at(i, name, 0)?.plain(), a.at(i, name, 1)?.plain());
                let is_number =
                    |v: &Value| matches!(v, Value::Int(_) | Value::Big(_) | Value::Bool(_) | Value::Float(_));
                if !is_number(&y) {
                    return Ok(Value::NotImplemented);
                }
                if swapped { i.binary(&y, op, &x) } else { i.binary(&x, op, &y) }
            };
            class.dict.borrow_mut().insert(name.into(), Value::native_method(name, body));
        }
    }
}

/// Methods by name: the operator, and whether the operands are swapped.
type Methods = &'static [(&'static str, BinOp, bool)];

const ARITHMETIC: Methods = &[
    ("__add__", BinOp::Add, false),
    ("__radd__", BinOp::Add, true),
    ("__sub__", BinOp::Sub, false),
    ("__rsub__", BinOp::Sub, true),
    ("__mul__", BinOp::Mul, false),
    ("__rmul__", BinOp::Mul, true),
    ("__truediv__", BinOp::Div, false),
    ("__floordiv__", BinOp::FloorDiv, false),
    ("__mod__", BinOp::Mod, false),
    ("__pow__", BinOp::Pow, false),
];

const BITWISE: Methods = &[
    ("__and__", BinOp::And, false),
    ("__or__", BinOp::Or, false),
    ("__xor__", BinOp::Xor, false),
    ("__lshift__", BinOp::Shl, false),
    ("__rshift__", BinOp::Shr, false),
];

fn class_of(args: &Args, default: &Rc<Class>) -> Rc<Class> {
    match args.pos.first() {
        Some(Value::Class(class)) => class.clone(),
        _ => default.clone(),
    }
}

fn int_new(interp: &mut Interp, args: Args) -> R<Value> {
    let int = interp.types.int.clone();
    let class = class_of(&args, &int);
    let mut rest = args;
    rest.pos.remove(0);
    let values = rest.bind(interp, "int", &["x", "base"], 0)?;
    let value = match (&values[0], &values[1]) {
        (None, _) => Value::Int(0),
        (Some(value), base) => {
            let base = match base {
                Some(base) => Some(interp.index(base)?),
                None => None,
            };
            interp.int(value, base)?
        }
    };
    interp.wrap(&class, &int, value)
}

fn float_new(interp: &mut Interp, args: Args) -> R<Value> {
    let float = interp.types.float.clone();
    let class = class_of(&args, &float);
    let value = match args.pos.get(1) {
        Some(value) => interp.float(value)?,
        None => Value::Float(0.0),
    };
    interp.wrap(&class, &float, value)
}

impl Interp {
    /// `int(value, base)`: a symbolic number may stay one.
    ///
    /// # Errors
    /// A `ValueError` or `TypeError`, as in Python.
    pub fn int(&mut self, value: &Value, base: Option<i64>) -> R<Value> {
        match value {
            Value::Host(host) => {
                let host = host.clone();
                if let Some(n) = host.int(self, value)? {
                    return Ok(n);
                }
            }
            Value::Instance(_) => {
                for method in ["__int__", "__index__", "__trunc__"] {
                    if let Some(method) = self.special(value, method)? {
                        return self.call(&method, Args::default());
                    }
                }
            }
            _ => {}
        }
        match value.plain() {
            v @ (Value::Int(_) | Value::Big(_)) => Ok(v),
            Value::Bool(b) => Ok(Value::Int(i64::from(b))),
            Value::Float(f) => match BigInt::from_f64(f.trunc()) {
                Some(n) => Ok(Value::from_big(n)),
                None if f.is_nan() => self.value_error("cannot convert float NaN to integer"),
                None => self.raise("OverflowError", "cannot convert float infinity to integer"),
            },
            Value::Str(text) => {
                let base = base.unwrap_or(10);
                let clean = text.trim().replace('_', "").to_ascii_lowercase();
                let (sign, digits) = match clean.strip_prefix('-') {
                    Some(digits) => ("-", digits),
                    None => ("", clean.strip_prefix('+').unwrap_or(&clean)),
                };
                let prefixes = [("0x", 16), ("0o", 8), ("0b", 2)];
                let prefix = prefixes.iter().find(|(p, b)| digits.starts_with(p) && (base == 0 || base == *b));
                let (digits, radix) = match prefix {
                    Some((p, b)) => (&digits[p.len()..], *b),
                    None => (digits, if base == 0 { 10 } else { base }),
                };
                let is_sane = digits.len() <= 4300 && (2..=36).contains(&radix) && !digits.starts_with(['+', '-']);
                match BigInt::from_str_radix(&format!("{sign}{digits}"), if is_sane { radix as u32 } else { 10 }) {
                    Ok(n) if is_sane => Ok(Value::from_big(n)),
                    _ => {
                        let text = crate::repr::str_repr(&text);
                        self.value_error(format!("invalid literal for int() with base {base}: {text}"))
                    }
                }
            }
            _ => {
                let class = self.type_name(value);
                let what = "a string, a bytes-like object or a real number";
                self.type_error(format!("int() argument must be {what}, not '{class}'"))
            }
        }
    }

    /// `float(value)`: a symbolic number may stay one.
    ///
    /// # Errors
    /// A `ValueError` or `TypeError`, as in Python.
    pub fn float(&mut self, value: &Value) -> R<Value> {
        match value {
            Value::Host(host) => {
                let host = host.clone();
                if let Some(f) = host.float(self, value)? {
                    return Ok(f);
                }
            }
            Value::Instance(_) => {
                for method in ["__float__", "__index__"] {
                    if let Some(method) = self.special(value, method)? {
                        let number = self.call(&method, Args::default())?;
                        return self.float(&number);
                    }
                }
            }
            _ => {}
        }
        match value.plain() {
            v @ Value::Float(_) => Ok(v),
            Value::Int(n) => Ok(Value::Float(n as f64)),
            Value::Bool(b) => Ok(Value::Float(f64::from(u8::from(b)))),
            Value::Big(n) => match num_traits::ToPrimitive::to_f64(&*n) {
                Some(f) if f.is_finite() => Ok(Value::Float(f)),
                _ => self.raise("OverflowError", "int too large to convert to float"),
            },
            Value::Str(text) => {
                let clean = text.trim().replace('_', "").to_ascii_lowercase();
                let is_word = matches!(clean.trim_start_matches(['+', '-']), "inf" | "infinity" | "nan");
                let is_number = clean.chars().all(|c| c.is_ascii_digit() || "+-.e".contains(c));
                match clean.parse() {
                    Ok(f) if is_word || is_number => Ok(Value::Float(f)),
                    _ => {
                        let text = crate::repr::str_repr(&text);
                        self.value_error(format!("could not convert string to float: {text}"))
                    }
                }
            }
            _ => {
                let class = self.type_name(value);
                self.type_error(format!("float() argument must be a string or a real number, not '{class}'"))
            }
        }
    }

    /// A float argument as a number; a symbolic one is specialized.
    ///
    /// # Errors
    /// As [`Interp::float`].
    pub fn real(&mut self, value: &Value) -> R<f64> {
        match self.float(value)? {
            Value::Float(f) => Ok(f),
            other => match &other {
                Value::Host(_) => Ok(self.index(&other)? as f64),
                _ => self.type_error("must be real number"),
            },
        }
    }
}
