//! Where two JSON values differ: for tests.

use serde_json::Value;

/// The path of the first difference, with both values.
pub(crate) fn difference(a: &Value, b: &Value) -> Option<String> {
    between(a, b, String::new())
}

fn between(a: &Value, b: &Value, path: String) -> Option<String> {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            let missing = a.keys().find(|k| !b.contains_key(*k)).or(b.keys().find(|k| !a.contains_key(*k)));
            if let Some(key) = missing {
                return Some(format!("{path}: key {key:?} on one side only"));
            }
            a.iter().find_map(|(key, value)| between(value, &b[key], format!("{path}.{key}")))
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            a.iter().zip(b).enumerate().find_map(|(i, (a, b))| between(a, b, format!("{path}[{i}]")))
        }
        (a, b) => (a != b).then(|| format!("{path}: {a} became {b}")),
    }
}
