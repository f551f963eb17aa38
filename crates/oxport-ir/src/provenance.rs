//! Where a node comes from: the texts of its metadata, parsed.
//!
//! | key | text | parsed |
//! |---|---|---|
//! | `nn_module_stack` | `key,path,type;…`, commas within brackets aside | [`ModuleFrame`]s, outermost first |
//! | `source_fn_stack` | `name,target;…` | [`SourceFn`]s, outermost first |
//! | `torch_fn` | `linear_1;builtin_function_or_method.linear` | its parts |
//! | `from_node` | a JSON list of objects that nest in `from_node` | [`NodeSource`]s |
//! | `custom` | a JSON text | any JSON value |
//!
//! Laws: the texts themselves are what a node keeps and what is written; what is an error here, `torch.export.load`
//! fails on (`deserialize_metadata` of PyTorch's `serialize.py`), and the other way round. An empty text counts as
//! none, as there.

use crate::NodeMeta;
use serde_json::Value;
use std::fmt;

/// One module around a node: an entry of `nn_module_stack`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModuleFrame<'t> {
    /// The key, `L__self___layer`, with `@1` for a repeated call.
    pub key: &'t str,
    /// The path in the model: `layer.0`; empty for the model itself.
    pub path: &'t str,
    /// The class, by module and name.
    pub class: &'t str,
}

/// One function around a node: an entry of `source_fn_stack`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceFn<'t> {
    /// The name of the node that called it.
    pub name: &'t str,
    /// What was called, as text; nothing resolves it.
    pub target: &'t str,
}

/// A node of an earlier graph that this one was made from: an entry of `from_node`.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeSource {
    /// The name, where it is said.
    pub name: Option<String>,
    /// What it called.
    pub target: Option<String>,
    /// The number of its graph, in the process that exported.
    pub graph_id: Option<i64>,
    /// The pass that made this node of it.
    pub pass: String,
    /// `create`, `replace`, or both joined by `+`.
    pub action: String,
    /// What that node was made from.
    pub from: Vec<NodeSource>,
}

impl NodeMeta {
    /// The modules around the node, outermost first.
    ///
    /// # Errors
    /// An entry is not of three parts.
    pub fn modules(&self) -> Result<Vec<ModuleFrame<'_>>, String> {
        let frame = |entry| match apart(entry)[..] {
            [key, path, class] => Ok(ModuleFrame { key, path, class }),
            ref parts => Err(format!("expected `key,path,type`, got {} parts in {entry:?}", parts.len())),
        };
        entries(self.nn_module_stack.as_deref()).map(frame).collect()
    }
    /// The functions around the node, outermost first.
    ///
    /// # Errors
    /// An entry is not of two parts.
    pub fn source_fns(&self) -> Result<Vec<SourceFn<'_>>, String> {
        entries(self.extra("source_fn_stack")).map(source_fn).collect()
    }
    /// The parts of `torch_fn`: the name of the call, and the function.
    pub fn torch_fn_parts(&self) -> Vec<&str> {
        entries(self.torch_fn.as_deref()).collect()
    }
    /// The nodes of earlier graphs that this one was made from.
    ///
    /// # Errors
    /// The text is no JSON list of objects, or one of them is not as PyTorch writes it.
    pub fn from_nodes(&self) -> Result<Vec<NodeSource>, String> {
        let Some(text) = self.extra("from_node").filter(|text| !text.is_empty()) else { return Ok(Vec::new()) };
        sources(&json(text)?)
    }
    /// The user's own metadata.
    ///
    /// # Errors
    /// The text is no JSON.
    pub fn custom(&self) -> Result<Option<Value>, String> {
        self.extra("custom").filter(|text| !text.is_empty()).map(json).transpose()
    }
    /// The text of a key that has no field of its own.
    pub fn extra(&self, key: &str) -> Option<&str> {
        self.extra.iter().find(|(k, _)| &**k == key).map(|(_, text)| &**text)
    }
}

fn entries(text: Option<&str>) -> impl Iterator<Item = &str> {
    text.filter(|text| !text.is_empty()).into_iter().flat_map(|text| text.split(';'))
}

/// The parts between commas that are in no brackets.
fn apart(entry: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0i64);
    for (i, c) in entry.char_indices() {
        match c {
            '[' | '(' => depth += 1,
            ']' | ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&entry[start..i]);
                start = i + 1;
            }
            _ => {}
        }
    }
    parts.push(&entry[start..]);
    parts
}

fn source_fn(entry: &str) -> Result<SourceFn<'_>, String> {
    let count = entry.split(',').count();
    match entry.split_once(',').filter(|_| count == 2) {
        Some((name, target)) => Ok(SourceFn { name, target }),
        None => Err(format!("expected `name,target`, got {count} parts in {entry:?}")),
    }
}

fn json(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|e| format!("no JSON: {e}"))
}

fn sources(list: &Value) -> Result<Vec<NodeSource>, String> {
    let Value::Array(list) = list else { return Err(format!("expected a list, got {}", kind(list))) };
    // An entry may be null; it is then left out.
    list.iter().filter(|entry| !entry.is_null()).map(source).collect()
}

fn source(entry: &Value) -> Result<NodeSource, String> {
    let Value::Object(entry) = entry else { return Err(format!("expected an object, got {}", kind(entry))) };
    let text = |key: &str| entry.get(key).and_then(Value::as_str).map(str::to_string);
    let action = match entry.get("action") {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(action)) => action.clone(),
        Some(Value::Array(list)) if list.is_empty() => String::new(),
        Some(other) => return Err(format!("expected an action as a string, got {}", kind(other))),
    };
    let from = entry.get("from_node").filter(|from| !from.is_null()).map_or(Ok(Vec::new()), sources)?;
    let (name, target, pass) = (text("name"), text("target"), text("pass_name").unwrap_or_default());
    Ok(NodeSource { name, target, graph_id: entry.get("graph_id").and_then(Value::as_i64), pass, action, from })
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a bool",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

impl fmt::Display for ModuleFrame<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", if self.path.is_empty() { self.key } else { self.path }, self.class)
    }
}

impl fmt::Display for SourceFn<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name, self.target)
    }
}

impl fmt::Display for NodeSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}, {})", self.name.as_deref().unwrap_or("?"), self.pass, self.action)?;
        self.from.iter().try_for_each(|from| write!(f, " < {from}"))
    }
}
