//! The JSON text of a tree spec: protocol 1 of `torch.utils._pytree.treespec_dumps`.
//!
//! `[1, node]`, where a node is `{"type", "context", "children_spec"}`. The context of most types is a JSON text inside
//! a JSON string. Reading opens what this crate knows and checks that it fits the children; nothing is imported and no
//! name is resolved.

use std::collections::HashMap;
use std::fmt;

use serde_json::Value;

use crate::key::{Key, write_keys};
use crate::python::write_json_string;
use crate::{KeyPath, Kind, Tree, TreeSpec};

/// How deep containers may nest in a text. (A JSON text of this depth stays below the limit of the JSON parser.)
pub const MAX_DEPTH: usize = 60;

/// The field names of named tuples by registered name (`treespec_namedtuple_fields` of a program).
pub type NamedTupleFields = HashMap<String, Vec<String>>;

impl TreeSpec {
    /// Reads the text of a spec; `fields` names the fields of its named tuples.
    ///
    /// Errors name the place in the spec: a protocol other than 1, a missing key, a context that does not fit.
    pub fn from_json(text: &str, fields: &NamedTupleFields) -> Result<TreeSpec, SpecError> {
        let fail = |message: String| SpecError { path: KeyPath::default(), message };
        let value: Value = serde_json::from_str(text).map_err(|e| fail(format!("not a JSON text: {e}")))?;
        match value.as_array().map(Vec::as_slice) {
            Some([protocol, node]) if *protocol == 1 => read(node, fields, &mut KeyPath::default()),
            Some([protocol, _]) => Err(fail(format!("protocol {protocol} is unknown; only 1 is"))),
            _ => Err(fail("expected `[1, spec]`".into())),
        }
    }

    /// The text of the spec, byte for byte as torch writes it.
    pub fn to_json(&self) -> String {
        let mut out = String::from("[1, ");
        write(self, &mut out);
        out.push(']');
        out
    }
}

fn read(node: &Value, names: &NamedTupleFields, path: &mut KeyPath) -> Result<TreeSpec, SpecError> {
    let fail = |message: String| SpecError { path: path.clone(), message };
    let part = |key: &str| node.get(key).ok_or_else(|| fail(format!("a spec node needs the key \"{key}\"")));
    let (type_name, context, children) = (part("type")?, part("context")?, part("children_spec")?);
    let children = children.as_array().ok_or_else(|| fail("`children_spec` is not a list".into()))?;
    let type_name = match type_name {
        Value::Null if context.is_null() && children.is_empty() => return Ok(Tree::Leaf(())),
        Value::String(name) => name,
        _ => return Err(fail("a node that is no leaf needs a type name".into())),
    };
    if path.0.len() >= MAX_DEPTH {
        return Err(fail(format!("containers nest deeper than {MAX_DEPTH} levels")));
    }
    let kind = read_kind(type_name, context, names).map_err(|m| fail(format!("{type_name}: {m}")))?;
    let expected = kind.keys().map(<[Key]>::len).or(kind.fields().map(<[String]>::len));
    if let Some(expected) = expected.filter(|n| *n != children.len()) {
        return Err(fail(format!("{type_name}: {expected} names for {} children", children.len())));
    }
    let mut specs = Vec::with_capacity(children.len());
    for (i, child) in children.iter().enumerate() {
        path.0.push(kind.entry(i));
        specs.push(read(child, names, path)?);
        path.0.pop();
    }
    Ok(Tree::Node(kind, specs))
}

fn read_kind(type_name: &str, context: &Value, names: &NamedTupleFields) -> Result<Kind, String> {
    let plain = |kind: Kind| match context.as_str() {
        Some("null") => Ok(kind),
        _ => Err(format!("expected the context \"null\", found {context}")),
    };
    Ok(match type_name {
        "builtins.tuple" => plain(Kind::Tuple)?,
        "builtins.list" => plain(Kind::List)?,
        "torch.Size" => plain(Kind::Size)?,
        "torch.fx.immutable_collections.immutable_list" => plain(Kind::ImmutableList)?,
        "builtins.dict" => Kind::Dict(read_keys(&inner(context)?)?),
        "collections.OrderedDict" => Kind::OrderedDict(read_keys(&inner(context)?)?),
        "torch.fx.immutable_collections.immutable_dict" => Kind::ImmutableDict(read_keys(&inner(context)?)?),
        "collections.defaultdict" => {
            let text = |key: &str| match context.get(key).and_then(Value::as_str) {
                Some(text) => Ok(text.to_string()),
                None => Err(format!("the context has no text \"{key}\"")),
            };
            let keys = context.get("dict_context").ok_or("the context has no \"dict_context\"")?;
            Kind::DefaultDict {
                module: text("default_factory_module")?,
                name: text("default_factory_name")?,
                keys: read_keys(keys)?,
            }
        }
        "collections.deque" => match inner(context)? {
            Value::Null => Kind::Deque { maxlen: None },
            Value::Number(n) if n.is_u64() => Kind::Deque { maxlen: n.as_u64() },
            other => return Err(format!("{other} is no length")),
        },
        "collections.namedtuple" => {
            let name = context.as_str().ok_or("the context is not a type name")?;
            Kind::NamedTuple { name: name.to_string(), fields: names.get(name).cloned() }
        }
        _ => match (type_name.strip_prefix("torch.return_types."), context.as_str()) {
            (Some(name), Some("null")) => Kind::ReturnType(name.to_string()),
            _ => read_dataclass(type_name, context)
                .unwrap_or_else(|| Kind::Custom { name: type_name.to_string(), context: dump(context) }),
        },
    })
}

/// A type we do not know is a dataclass if its context is what `register_dataclass` writes, and writes back the same.
fn read_dataclass(type_name: &str, context: &Value) -> Option<Kind> {
    let lists: [Vec<String>; 2] = serde_json::from_str(context.as_str()?).ok()?;
    let [fields, none] = lists;
    let kind = Kind::Dataclass { name: type_name.to_string(), fields, none };
    let mut text = String::new();
    write_context(&kind, &mut text);
    (text == dump(context)).then_some(kind)
}

/// The JSON text inside a context string.
fn inner(context: &Value) -> Result<Value, String> {
    let text = context.as_str().ok_or("the context is not a string")?;
    serde_json::from_str(text).map_err(|e| format!("the context is not a JSON text: {e}"))
}

fn read_keys(value: &Value) -> Result<Vec<Key>, String> {
    let items = value.as_array().ok_or("the context is not a list of keys")?;
    let mut keys = indexmap::IndexSet::with_capacity(items.len());
    for item in items {
        let key = Key::from_json(item).ok_or_else(|| format!("{item} is no key of a dictionary"))?;
        if let Some(twice) = keys.replace(key) {
            return Err(format!("the key {twice} stands there twice"));
        }
    }
    Ok(keys.into_iter().collect())
}

fn write(spec: &TreeSpec, out: &mut String) {
    let Tree::Node(kind, children) = spec else {
        out.push_str("{\"type\": null, \"context\": null, \"children_spec\": []}");
        return;
    };
    out.push_str("{\"type\": ");
    write_json_string(&kind.type_name(), out);
    out.push_str(", \"context\": ");
    write_context(kind, out);
    out.push_str(", \"children_spec\": [");
    for (i, child) in children.iter().enumerate() {
        out.push_str(if i == 0 { "" } else { ", " });
        write(child, out);
    }
    out.push_str("]}");
}

fn write_context(kind: &Kind, out: &mut String) {
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
fn dump(value: &Value) -> String {
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

/// The text is not that of a tree spec.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecError {
    /// Where in the tree.
    pub path: KeyPath,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path.0.is_empty() { "the root".to_string() } else { self.path.to_string() };
        write!(f, "tree spec, at {path}: {}", self.message)
    }
}

impl std::error::Error for SpecError {}

#[cfg(test)]
mod tests {
    use super::*;

    /// `{L}` stands for a leaf in the texts below.
    const LEAF: &str = r#"{"type": null, "context": null, "children_spec": []}"#;

    // Texts and paths as printed by torch 2.15 for values of these types.
    #[test]
    fn texts_of_torch_are_read_and_written_byte_for_byte() {
        let node = |kind: &str, context: &str, children: &str| {
            format!(r#"{{"type": "{kind}", "context": {context}, "children_spec": [{children}]}}"#)
        };
        let list = node("builtins.list", "\"null\"", "{L}");
        let table = [
            ("{L}".to_string(), ""),
            (node("builtins.tuple", "\"null\"", ""), "-"),
            (node("builtins.list", "\"null\"", &format!("{{L}}, {list}")), "[0] [1][0]"),
            (node("builtins.dict", r#""[\"b\", \"a\"]""#, "{L}, {L}"), "['b'] ['a']"),
            (node("builtins.dict", r#""[1, 2.5, null, true]""#, "{L}, {L}, {L}, {L}"), "[1] [2.5] [None] [True]"),
            (node("builtins.dict", r#""[1e-05, 1e+22, -0.0]""#, "{L}, {L}, {L}"), "[1e-05] [1e+22] [-0.0]"),
            (node("builtins.dict", r#""[[1, 2]]""#, "{L}"), "[(1, 2)]"),
            (
                node("builtins.dict", r#""[\"\\u00e9\\\"\\n\\ud83d\\ude00/\\u007f\\\\\"]""#, "{L}"),
                r#"['é"\n😀/\x7f\\']"#,
            ),
            (
                node("builtins.dict", r#""[{\"__enum__\": true, \"fqn\": \"__main__:E\", \"name\": \"A\"}]""#, "{L}"),
                "[E.A]",
            ),
            (node("collections.OrderedDict", r#""[\"b\", \"a\"]""#, &format!("{{L}}, {list}")), "['b'] ['a'][0]"),
            (
                node(
                    "collections.defaultdict",
                    r#"{"default_factory_module": "builtins", "default_factory_name": "int", "dict_context": ["k", 3]}"#,
                    "{L}, {L}",
                ),
                "['k'] [3]",
            ),
            (node("collections.deque", "\"5\"", "{L}, {L}"), "[0] [1]"),
            (node("collections.deque", "\"null\"", "{L}"), "[0]"),
            (node("collections.namedtuple", "\"my.NT\"", &format!("{{L}}, {list}")), ".x .y[0]"),
            (node("collections.namedtuple", "\"my.Unnamed\"", "{L}"), "[0]"),
            (node("my.D", r#""[[\"a\", \"c\"], [\"b\"]]""#, &format!("{{L}}, {list}")), ".a .c[0]"),
            (node("torch.Size", "\"null\"", "{L}, {L}"), "[0] [1]"),
            (node("torch.return_types.max", "\"null\"", "{L}, {L}"), "[0] [1]"),
            (node("torch.fx.immutable_collections.immutable_dict", r#""[\"a\"]""#, "{L}"), "['a']"),
            (node("my.Custom", r#"{"deep": [1, 2.0, "\u00e9", null]}"#, "{L}"), "[0]"),
            (node("my.Spaced", r#""[[\"a\"],[]]""#, "{L}"), "[0]"),
        ];
        let fields = NamedTupleFields::from([("my.NT".to_string(), vec!["x".to_string(), "y".to_string()])]);
        for (text, paths) in table {
            let text = format!("[1, {}]", text.replace("{L}", LEAF));
            let spec = TreeSpec::from_json(&text, &fields).unwrap();
            assert_eq!(spec.to_json(), text);
            let found: Vec<_> = spec.paths().iter().map(KeyPath::to_string).collect();
            assert_eq!(if found.is_empty() { "-".into() } else { found.join(" ") }, paths);
        }
    }

    #[test]
    fn bad_texts_are_refused_with_their_place() {
        let tuple = |child: &str| {
            let child = child.replace("{L}", LEAF);
            format!(r#"[1, {{"type": "builtins.tuple", "context": "null", "children_spec": [{child}]}}]"#)
        };
        let table = [
            ("".to_string(), "not a JSON text"),
            ("[2, {}]".to_string(), "protocol 2 is unknown"),
            ("[1]".to_string(), "expected `[1, spec]`"),
            (tuple("{}"), "at [0]: a spec node needs the key \"type\""),
            (tuple(r#"{"type": 3, "context": null, "children_spec": []}"#), "at [0]: a node that is no leaf"),
            (
                tuple(r#"{"type": "builtins.list", "context": null, "children_spec": []}"#),
                "expected the context \"null\"",
            ),
            (tuple(r#"{"type": "builtins.dict", "context": "[1]", "children_spec": []}"#), "1 names for 0 children"),
            (
                tuple(r#"{"type": "builtins.dict", "context": "[1, 1]", "children_spec": [{L}, {L}]}"#),
                "the key 1 stands there twice",
            ),
            (tuple(r#"{"type": "builtins.dict", "context": "[NaN]", "children_spec": [{L}]}"#), "not a JSON text"),
            (tuple(r#"{"type": "collections.deque", "context": "-1", "children_spec": []}"#), "-1 is no length"),
            (
                tuple(r#"{"type": "collections.defaultdict", "context": {}, "children_spec": []}"#),
                "no \"dict_context\"",
            ),
        ];
        for (text, message) in table {
            let error = TreeSpec::from_json(&text, &NamedTupleFields::new()).unwrap_err().to_string();
            assert!(error.contains(message), "{error}\nshould say: {message}");
        }
    }

    #[test]
    fn deep_texts_are_refused_not_followed() {
        for depth in [40, 61, 100, 100_000] {
            let open = r#"{"type": "builtins.list", "context": "null", "children_spec": ["#.repeat(depth);
            let text = format!("[1, {open}{LEAF}{}]", "]}".repeat(depth));
            assert_eq!(TreeSpec::from_json(&text, &NamedTupleFields::new()).is_ok(), depth <= MAX_DEPTH, "{depth}");
        }
    }
}
