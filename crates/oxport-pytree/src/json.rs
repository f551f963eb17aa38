//! Reading the JSON text of a tree spec: protocol 1 of `torch.utils._pytree.treespec_dumps`.
//!
//! `[1, node]`, where a node is `{"type", "context", "children_spec"}`. The context of most types is a JSON text inside
//! a JSON string. Reading opens what this crate knows and checks that it fits the children; nothing is imported and no
//! name is resolved. Nodes may nest as deep as the text says, contexts as deep as the JSON parser follows.

use std::collections::HashMap;
use std::fmt;

use serde_json::Value;

use crate::key::Key;
use crate::write::{dump, write_context};
use crate::{KeyPath, Kind, PathEntry, Tree, TreeSpec, Types};

/// The field names of named tuples by registered name (`treespec_namedtuple_fields` of a program).
pub type NamedTupleFields = HashMap<String, Vec<String>>;

impl TreeSpec {
    /// Reads the text of a spec; `fields` names the fields of its named tuples.
    ///
    /// Errors name the place in the spec: a protocol other than 1, a missing key, a context that does not fit.
    pub fn from_json(text: &str, fields: &NamedTupleFields) -> Result<TreeSpec, SpecError> {
        TreeSpec::from_json_with(text, fields, &Types::new())
    }

    /// As [`TreeSpec::from_json`], with types of the user.
    pub fn from_json_with(text: &str, fields: &NamedTupleFields, types: &Types) -> Result<TreeSpec, SpecError> {
        let mut reader = Reader { text, at: 0, fields, types, open: Vec::new() };
        reader.document().map_err(|message| SpecError { path: reader.path(), message })
    }
}

/// A reader of nodes in nodes; what stands in their contexts is small, and read by the JSON parser.
struct Reader<'a> {
    text: &'a str,
    at: usize,
    fields: &'a NamedTupleFields,
    types: &'a Types,
    open: Vec<Open>,
}

/// A node that is being read.
#[derive(Default)]
struct Open {
    type_name: Option<Value>,
    context: Option<Value>,
    children: Option<Vec<TreeSpec>>,
    /// What the node is, once type and context are known.
    kind: Option<Kind>,
    /// Whether the reader is inside the list of children.
    in_children: bool,
}

impl Reader<'_> {
    fn document(&mut self) -> Result<TreeSpec, String> {
        if !self.eat('[') {
            return Err(match serde_json::from_str::<Value>(self.text) {
                Err(e) => format!("not a JSON text: {e}"),
                Ok(_) => "expected `[1, spec]`".into(),
            });
        }
        let protocol = self.value()?;
        if !self.eat(',') {
            return Err("expected `[1, spec]`".into());
        }
        if protocol != 1 {
            return Err(format!("protocol {protocol} is unknown; only 1 is"));
        }
        let spec = self.node()?;
        if !self.eat(']') {
            return Err("expected `[1, spec]`".into());
        }
        self.skip();
        if self.at < self.text.len() { Err("not a JSON text: trailing characters".into()) } else { Ok(spec) }
    }

    /// A node with everything below it.
    fn node(&mut self) -> Result<TreeSpec, String> {
        self.begin()?;
        loop {
            let is_inside = self.open.last().is_some_and(|node| node.in_children);
            let done = if is_inside { self.child()? } else { self.entry()? };
            let Some(spec) = done else { continue };
            match self.open.last_mut() {
                Some(parent) => parent.children.get_or_insert_default().push(spec),
                None => return Ok(spec),
            }
        }
    }

    fn begin(&mut self) -> Result<(), String> {
        if !self.eat('{') {
            return Err(self.unexpected("a spec node"));
        }
        self.open.push(Open::default());
        Ok(())
    }

    /// The next child of the innermost node, or the end of its children.
    fn child(&mut self) -> Result<Option<TreeSpec>, String> {
        let node = self.open.last_mut().expect("law: a node is open");
        let is_first = node.children.as_ref().is_none_or(Vec::is_empty);
        if self.eat(']') {
            let node = self.open.last_mut().expect("law: a node is open");
            node.children.get_or_insert_default();
            node.in_children = false;
            return Ok(None);
        }
        if !is_first && !self.eat(',') {
            return Err(self.unexpected("`,` or `]`"));
        }
        self.begin()?;
        Ok(None)
    }

    /// The next key of the innermost node, or the end of the node.
    fn entry(&mut self) -> Result<Option<TreeSpec>, String> {
        if self.eat('}') {
            return self.finish().map(Some);
        }
        self.eat(',');
        let key = self.value()?;
        if !self.eat(':') {
            return Err(self.unexpected("`:`"));
        }
        match key.as_str() {
            Some("children_spec") => {
                if !self.eat('[') {
                    return Err("`children_spec` is not a list".into());
                }
                let node = self.open.last_mut().expect("law: a node is open");
                (node.in_children, node.children) = (true, Some(Vec::new()));
                self.settle()?;
            }
            Some("type") => self.top().type_name = Some(self.value()?),
            Some("context") => self.top().context = Some(self.value()?),
            _ => drop(self.value()?),
        }
        Ok(None)
    }

    /// Finds out what the innermost node is, if its type and context are known.
    fn settle(&mut self) -> Result<(), String> {
        let (fields, types) = (self.fields, self.types);
        let node = self.top();
        if let (Some(Value::String(name)), Some(context), None) = (&node.type_name, &node.context, &node.kind) {
            node.kind = Some(read_kind(name, context, fields, types).map_err(|m| format!("{name}: {m}"))?);
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<TreeSpec, String> {
        self.settle()?;
        let node = self.top();
        let needs = |key: &str| format!("a spec node needs the key \"{key}\"");
        let type_name = node.type_name.as_ref().ok_or_else(|| needs("type"))?;
        let context = node.context.as_ref().ok_or_else(|| needs("context"))?;
        let count = node.children.as_ref().ok_or_else(|| needs("children_spec"))?.len();
        if type_name.is_null() && context.is_null() && count == 0 {
            self.open.pop();
            return Ok(Tree::Leaf(()));
        }
        let Some(kind) = &node.kind else { return Err("a node that is no leaf needs a type name".into()) };
        let expected = kind.keys().map(<[Key]>::len).or(kind.fields().map(<[String]>::len));
        if let Some(expected) = expected.filter(|n| *n != count) {
            return Err(format!("{}: {expected} names for {count} children", kind.type_name()));
        }
        let node = self.open.pop().expect("law: a node is open");
        let law = "law: both are known";
        Ok(Tree::node(node.kind.expect(law), node.children.expect(law)))
    }

    fn top(&mut self) -> &mut Open {
        self.open.last_mut().expect("law: a node is open")
    }

    /// Where in the tree the reader is.
    fn path(&self) -> KeyPath {
        let steps = self.open.iter().take(self.open.len().saturating_sub(1));
        KeyPath(
            steps
                .map(|node| {
                    let at = node.children.as_ref().map_or(0, Vec::len);
                    node.kind.as_ref().map_or(PathEntry::Index(at), |kind| kind.entry(at))
                })
                .collect(),
        )
    }

    fn skip(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start_matches([' ', '\n', '\t', '\r']).len();
    }

    fn eat(&mut self, c: char) -> bool {
        self.skip();
        let hit = self.text[self.at..].starts_with(c);
        self.at += usize::from(hit);
        hit
    }

    /// Any JSON value; numbers end before the next comma or bracket.
    fn value(&mut self) -> Result<Value, String> {
        self.skip();
        let mut stream = serde_json::Deserializer::from_str(&self.text[self.at..]).into_iter::<Value>();
        let value = match stream.next() {
            Some(Ok(value)) => value,
            Some(Err(e)) => return Err(format!("not a JSON text: {e}")),
            None => return Err("not a JSON text: it ends too early".into()),
        };
        self.at += stream.byte_offset();
        Ok(value)
    }

    fn unexpected(&self, wanted: &str) -> String {
        match self.text[self.at..].chars().next() {
            Some(c) => format!("not a JSON text: expected {wanted} at byte {}, found {c:?}", self.at),
            None => format!("not a JSON text: expected {wanted}, but it ends"),
        }
    }
}

fn read_kind(type_name: &str, context: &Value, names: &NamedTupleFields, types: &Types) -> Result<Kind, String> {
    if let Some(ty) = types.get(type_name) {
        let fields = (ty.fields)(context).ok_or_else(|| format!("the context {context} is not that of the type"))?;
        return Ok(Kind::Custom { name: type_name.to_string(), context: dump(context), fields: Some(fields) });
    }
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
            _ => read_dataclass(type_name, context).unwrap_or_else(|| Kind::Custom {
                name: type_name.to_string(),
                context: dump(context),
                fields: None,
            }),
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
                    concat!(
                        r#"{"default_factory_module": "builtins", "default_factory_name": "int", "#,
                        r#""dict_context": ["k", 3]}"#
                    ),
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
}
