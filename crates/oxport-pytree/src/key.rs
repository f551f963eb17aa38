//! Keys of dictionaries, as far as torch can write them down.

use std::fmt;
use std::hash::{Hash, Hasher};

use crate::python;

/// A dictionary key. Floats compare by their bits, so a key is always equal to itself.
#[derive(Clone, Debug)]
pub enum Key {
    /// A string.
    Str(String),
    /// An integer.
    Int(i64),
    /// A float.
    Float(f64),
    /// A bool.
    Bool(bool),
    /// `None`.
    None,
    /// A tuple of keys.
    Tuple(Vec<Key>),
    /// A member of an enum class, by name; the class is never imported.
    Enum {
        /// `module:Class`.
        fqn: String,
        /// The member's name.
        name: String,
    },
}

impl Key {
    /// Appends the key as Python's `json.dumps` writes it.
    pub(crate) fn write_json(&self, out: &mut String) {
        match self {
            Key::Str(s) => python::write_json_string(s, out),
            Key::Int(n) => out.push_str(&n.to_string()),
            Key::Float(x) => out.push_str(&python::json_float(*x)),
            Key::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
            Key::None => out.push_str("null"),
            Key::Tuple(items) => write_keys(items, out),
            Key::Enum { fqn, name } => {
                out.push_str("{\"__enum__\": true, \"fqn\": ");
                python::write_json_string(fqn, out);
                out.push_str(", \"name\": ");
                python::write_json_string(name, out);
                out.push('}');
            }
        }
    }

    pub(crate) fn from_json(value: &serde_json::Value) -> Option<Key> {
        use serde_json::Value;
        Some(match value {
            Value::String(s) => Key::Str(s.clone()),
            Value::Number(n) if n.is_f64() => Key::Float(n.as_f64()?),
            Value::Number(n) => Key::Int(n.as_i64()?),
            Value::Bool(b) => Key::Bool(*b),
            Value::Null => Key::None,
            Value::Array(items) => Key::Tuple(items.iter().map(Key::from_json).collect::<Option<_>>()?),
            Value::Object(map) if map.len() == 3 && map.get("__enum__") == Some(&Value::Bool(true)) => {
                Key::Enum { fqn: map.get("fqn")?.as_str()?.into(), name: map.get("name")?.as_str()?.into() }
            }
            Value::Object(_) => return None,
        })
    }
}

/// Appends a list of keys as Python's `json.dumps` writes it.
pub(crate) fn write_keys(keys: &[Key], out: &mut String) {
    out.push('[');
    for (i, key) in keys.iter().enumerate() {
        out.push_str(if i == 0 { "" } else { ", " });
        key.write_json(out);
    }
    out.push(']');
}

/// As Python's `repr` prints the key; an enum member shows as `Class.NAME`.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Key::Str(s) => f.write_str(&python::str_repr(s)),
            Key::Int(n) => write!(f, "{n}"),
            Key::Float(x) => f.write_str(&python::float_repr(*x)),
            Key::Bool(b) => f.write_str(if *b { "True" } else { "False" }),
            Key::None => f.write_str("None"),
            Key::Tuple(items) => {
                f.write_str("(")?;
                for (i, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if i == 0 { "" } else { ", " })?;
                }
                f.write_str(if items.len() == 1 { ",)" } else { ")" })
            }
            Key::Enum { fqn, name } => write!(f, "{}.{name}", fqn.rsplit([':', '.']).next().unwrap_or_default()),
        }
    }
}

impl Key {
    /// What equality and hashing look at: the variant, and a float by its bits.
    fn identity(&self) -> (u8, &str, i64, &[Key], &str) {
        match self {
            Key::Str(s) => (0, s, 0, &[], ""),
            Key::Int(n) => (1, "", *n, &[], ""),
            Key::Float(x) => (2, "", x.to_bits() as i64, &[], ""),
            Key::Bool(b) => (3, "", *b as i64, &[], ""),
            Key::None => (4, "", 0, &[], ""),
            Key::Tuple(items) => (5, "", 0, items, ""),
            Key::Enum { fqn, name } => (6, fqn, 0, &[], name),
        }
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Key) -> bool {
        self.identity() == other.identity()
    }
}

impl Eq for Key {}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.identity().hash(state);
    }
}

impl From<&str> for Key {
    fn from(s: &str) -> Key {
        Key::Str(s.to_string())
    }
}

impl From<String> for Key {
    fn from(s: String) -> Key {
        Key::Str(s)
    }
}

impl From<i64> for Key {
    fn from(n: i64) -> Key {
        Key::Int(n)
    }
}
