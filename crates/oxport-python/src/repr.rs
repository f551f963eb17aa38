//! `repr` and `str` of values.

use crate::error::R;
use crate::interp::Interp;
use crate::value::{Args, Name, Value};

impl Interp {
    /// `str(value)`.
    ///
    /// # Errors
    /// What `__str__` raises.
    pub fn str(&mut self, value: &Value) -> R<Name> {
        match value {
            Value::Str(text) => return Ok(text.clone()),
            Value::Instance(_) => {
                if let Some(method) = self.special(value, "__str__")? {
                    let text = self.call(&method, Args::default())?;
                    return self.text(&text);
                }
                if let Value::Str(text) = value.plain() {
                    return Ok(text);
                }
            }
            _ => {}
        }
        Ok(self.repr(value)?.into())
    }

    /// `repr(value)`.
    ///
    /// # Errors
    /// What `__repr__` raises.
    pub fn repr(&mut self, value: &Value) -> R<String> {
        let address = value.address();
        let nests =
            matches!(value, Value::List(_) | Value::Dict(_) | Value::Set(_) | Value::Instance(_) | Value::Tuple(_));
        if let (true, Some(address)) = (nests, address) {
            if self.reprs.contains(&address) {
                return Ok(match value {
                    Value::List(_) => "[...]".into(),
                    Value::Dict(_) | Value::Set(_) => "{...}".into(),
                    _ => "...".into(),
                });
            }
            self.reprs.push(address);
        }
        let result = self.deeper(|i| i.repr_of(value));
        if nests && address.is_some() {
            self.reprs.pop();
        }
        let text = result?;
        self.charge(text.len())?;
        Ok(text)
    }

    fn repr_of(&mut self, value: &Value) -> R<String> {
        Ok(match value {
            Value::None => "None".into(),
            Value::NotImplemented => "NotImplemented".into(),
            Value::Ellipsis => "Ellipsis".into(),
            Value::Bool(b) => if *b { "True" } else { "False" }.into(),
            Value::Int(n) => n.to_string(),
            Value::Big(n) => {
                self.charge(n.bits() as usize / 3)?;
                if n.bits() > 14_284 {
                    return self.value_error("Exceeds the limit (4300 digits) for integer string conversion");
                }
                n.to_string()
            }
            Value::Float(f) => float_repr(*f),
            Value::Complex(re, im) => complex_repr(*re, *im),
            Value::Str(text) => str_repr(text),
            Value::Bytes(bytes) => bytes_repr(bytes),
            Value::Tuple(items) => {
                let parts = self.repr_all(&items.clone())?;
                if let [only] = parts.as_slice() { format!("({only},)") } else { format!("({})", parts.join(", ")) }
            }
            Value::List(list) => {
                let items = list.borrow().clone();
                format!("[{}]", self.repr_all(&items)?.join(", "))
            }
            Value::Dict(_) => {
                let mut parts = Vec::new();
                for (key, value) in self.mapping_items(value)? {
                    parts.push(format!("{}: {}", self.repr(&key)?, self.repr(&value)?));
                }
                format!("{{{}}}", parts.join(", "))
            }
            Value::Set(map) if map.borrow().is_empty() => "set()".into(),
            Value::FrozenSet(map) if map.borrow().is_empty() => "frozenset()".into(),
            Value::Set(map) => {
                let keys = map.borrow().keys();
                format!("{{{}}}", self.repr_all(&keys)?.join(", "))
            }
            Value::FrozenSet(map) => {
                let keys = map.borrow().keys();
                format!("frozenset({{{}}})", self.repr_all(&keys)?.join(", "))
            }
            Value::Slice(parts) => format!("slice({})", self.repr_all(&parts[..])?.join(", ")),
            Value::Range(r) if r.step == 1 => format!("range({}, {})", r.start, r.stop),
            Value::Range(r) => format!("range({}, {}, {})", r.start, r.stop, r.step),
            Value::Function(f) => format!("<function {}>", f.code.qualname),
            Value::Builtin(b) => format!("<built-in function {}>", b.name),
            Value::Method(m) => {
                let name = self.find_attr(&m.function.clone(), &Name::from("__qualname__"))?;
                let name = name.map_or_else(|| Ok(Name::from("?")), |n| self.str(&n))?;
                format!("<bound method {name} of {}>", self.repr(&m.this)?)
            }
            Value::Class(class) => {
                if let Some(method) = self.user_special(value, "__repr__")? {
                    let text = self.call(&method, Args::default())?;
                    return Ok(self.text(&text)?.to_string());
                }
                let qualname =
                    class.dict.borrow().get("__qualname__").cloned().unwrap_or(Value::Str(class.name.clone()));
                let qualname = self.str(&qualname)?;
                match &*class.module {
                    "builtins" => format!("<class '{qualname}'>"),
                    module => format!("<class '{module}.{qualname}'>"),
                }
            }
            Value::Instance(instance) => {
                if let Some(method) = self.special(value, "__repr__")? {
                    let text = self.call(&method, Args::default())?;
                    return Ok(self.text(&text)?.to_string());
                }
                match value.plain() {
                    Value::Instance(_) => {
                        let class = instance.class.borrow().clone();
                        format!("<{}.{} object>", class.module, class.name)
                    }
                    plain => return self.repr_of(&plain),
                }
            }
            Value::Module(module) => format!("<module '{}'>", module.name),
            Value::Iter(iter) if iter.is_generator() => "<generator object>".into(),
            Value::Iter(_) => "<iterator object>".into(),
            Value::Property(_) => "<property object>".into(),
            Value::StaticMethod(inner) => format!("<staticmethod({})>", self.repr(inner)?),
            Value::ClassMethod(inner) => format!("<classmethod({})>", self.repr(inner)?),
            Value::Super(parts) => format!("<super: <class '{}'>>", parts.0.name),
            Value::Host(host) => {
                let host = host.clone();
                return host.repr(self);
            }
        })
    }

    fn repr_all(&mut self, items: &[Value]) -> R<Vec<String>> {
        items.iter().map(|item| self.repr(item)).collect()
    }
}

/// The shortest text of a float, as Python writes it.
pub(crate) fn float_repr(f: f64) -> String {
    if f.is_nan() {
        return "nan".into();
    }
    if f.is_infinite() {
        return if f > 0.0 { "inf" } else { "-inf" }.into();
    }
    let scientific = format!("{f:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..16).contains(&exponent) {
        let text = format!("{f}");
        return if text.contains('.') { text } else { format!("{text}.0") };
    }
    format!("{digits}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
}

fn complex_repr(re: f64, im: f64) -> String {
    let short = |f: f64| float_repr(f).trim_end_matches(".0").to_string();
    if re == 0.0 && re.is_sign_positive() {
        return format!("{}j", short(im));
    }
    let sign = if im.is_sign_negative() { "" } else { "+" };
    format!("({}{sign}{}j)", short(re), short(im))
}

/// The text of a string literal.
pub(crate) fn str_repr(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let mut out = String::with_capacity(text.len() + 2);
    out.push(quote);
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c == quote => {
                out.push('\\');
                out.push(c);
            }
            c if (c as u32) < 0x20 || (0x7f..0xa0).contains(&(c as u32)) => {
                out.push_str(&format!("\\x{:02x}", c as u32))
            }
            c => out.push(c),
        }
    }
    out.push(quote);
    out
}

fn bytes_repr(bytes: &[u8]) -> String {
    let quote = if bytes.contains(&b'\'') && !bytes.contains(&b'"') { '"' } else { '\'' };
    let mut out = format!("b{quote}");
    for &byte in bytes {
        match byte {
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            _ if byte == quote as u8 => {
                out.push('\\');
                out.push(quote);
            }
            0x20..=0x7e => out.push(byte as char),
            _ => out.push_str(&format!("\\x{byte:02x}")),
        }
    }
    out.push(quote);
    out
}
