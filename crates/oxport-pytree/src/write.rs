//! Writing the JSON text of a tree spec, byte for byte as `torch.utils._pytree.treespec_dumps` does.

use std::slice::Iter;

use serde_json::Value;

use crate::key::{Key, write_keys};
use crate::python::write_json_string;
use crate::{Kind, Tree, TreeSpec};

impl TreeSpec {
    /// The text of the spec, byte for byte as torch writes it.
    pub fn to_json(&self) -> String {
        let mut out = String::from("[1, ");
        write(self, &mut out);
        out.push(']');
        out
    }
}

fn write(spec: &TreeSpec, out: &mut String) {
    const LEAF: &str = "{\"type\": null, \"context\": null, \"children_spec\": []}";
    let mut open: Vec<Iter<'_, TreeSpec>> = Vec::new();
    let mut next = Some(spec);
    loop {
        match next.take() {
            Some(Tree::Leaf(())) => out.push_str(LEAF),
            Some(Tree::Node(kind, children)) => {
                out.push_str("{\"type\": ");
                write_json_string(&kind.type_name(), out);
                out.push_str(", \"context\": ");
                write_context(kind, out);
                out.push_str(", \"children_spec\": [");
                open.push(children.iter());
                next = open.last_mut().and_then(Iterator::next);
                if next.is_some() {
                    continue;
                }
            }
            None => {}
        }
        loop {
            let Some(siblings) = open.last_mut() else { return };
            next = siblings.next();
            if next.is_some() {
                out.push_str(", ");
                break;
            }
            out.push_str("]}");
            open.pop();
        }
    }
}

pub(crate) fn write_context(kind: &Kind, out: &mut String) {
    let mut text = String::new();
    match kind {
        Kind::Tuple | Kind::List | Kind::Size | Kind::ImmutableList | Kind::ReturnType(_) => text.push_str("null"),
        Kind::Dict(keys) | Kind::OrderedDict(keys) | Kind::ImmutableDict(keys) => write_keys(keys, &mut text),
        Kind::Deque { maxlen } => text = maxlen.map_or("null".into(), |n| n.to_string()),
        Kind::NamedTuple { name, .. } => text.push_str(name),
        Kind::Dataclass { fields, none, .. } => {
            let list = |names: &[String]| names.iter().cloned().map(Key::Str).collect();
            write_keys(&[Key::Tuple(list(fields)), Key::Tuple(list(none))], &mut text);
        }
        Kind::DefaultDict { module, name, keys } => {
            out.push_str("{\"default_factory_module\": ");
            write_json_string(module, out);
            out.push_str(", \"default_factory_name\": ");
            write_json_string(name, out);
            out.push_str(", \"dict_context\": ");
            write_keys(keys, out);
            return out.push('}');
        }
        Kind::Custom { context, .. } => return out.push_str(context),
    }
    write_json_string(&text, out);
}

/// A JSON value as Python's `json.dumps` writes it.
pub(crate) fn dump(value: &Value) -> String {
    fn walk(value: &Value, out: &mut String) {
        match value {
            Value::String(s) => write_json_string(s, out),
            Value::Number(n) => match n.as_f64().filter(|_| n.is_f64()) {
                Some(x) => out.push_str(&crate::python::json_float(x)),
                None => out.push_str(&n.to_string()),
            },
            Value::Array(items) => {
                out.push('[');
                for (i, item) in items.iter().enumerate() {
                    out.push_str(if i == 0 { "" } else { ", " });
                    walk(item, out);
                }
                out.push(']');
            }
            Value::Object(map) => {
                out.push('{');
                for (i, (key, item)) in map.iter().enumerate() {
                    out.push_str(if i == 0 { "" } else { ", " });
                    write_json_string(key, out);
                    out.push_str(": ");
                    walk(item, out);
                }
                out.push('}');
            }
            Value::Null | Value::Bool(_) => out.push_str(&value.to_string()),
        }
    }
    let mut out = String::new();
    walk(value, &mut out);
    out
}
