//! The schema version that introduced each key, and downgrading documents to older versions.
//!
//! | PyTorch | schema | archive |
//! |---|---|---|
//! | 2.5 | 7.3 | flat, pickled tensors |
//! | 2.6 | 8.2 | flat, pickled tensors |
//! | 2.7 | 8.7 | flat, pickled tensors |
//! | 2.8 | 8.8 | one root folder, pickled tensors |
//! | 2.9 | 8.14 | payload configs |
//! | 2.10 | 8.15 | |
//! | 2.11 | 8.17 | |
//! | 2.12 to 2.15 | 8.20 | |

use serde_json::{Map, Value};

use super::shape::{Shape, Union, tag_key};
use super::{Described, ExportedProgram};

/// A version of the schema: major and minor.
pub type Version = (u32, u32);

/// The versions that releases of PyTorch wrote, oldest first.
pub const RELEASED: [Version; 8] = [(7, 3), (8, 2), (8, 7), (8, 8), (8, 14), (8, 15), (8, 17), (8, 20)];

/// What an older reader loses by ignoring a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Loss {
    /// Nothing that changes results: names, checks, facts that the operator's schema also has.
    Harmless,
    /// The meaning, unless the value is empty.
    Meaning,
}
use Loss::{Harmless, Meaning};

/// The keys added after 7.3: record or union, key, version.
const ADDED: [(&str, &str, Version, Loss); 17] = [
    ("GraphModule", "treespec_namedtuple_fields", (8, 7), Meaning),
    ("ModuleCallSignature", "forward_arg_names", (8, 2), Harmless),
    ("NamedArgument", "kind", (8, 7), Harmless),
    ("Node", "is_hop_single_tensor_return", (8, 7), Harmless),
    ("Graph", "sym_float_values", (8, 2), Meaning),
    ("Argument", "as_sym_float", (8, 2), Meaning),
    ("Argument", "as_sym_floats", (8, 2), Meaning),
    ("Argument", "as_optional_tensor", (8, 8), Meaning),
    ("Argument", "as_complex", (8, 14), Meaning),
    ("ExportedProgram", "guards_code", (8, 14), Harmless),
    ("OutputSpec", "parameter_mutation", (8, 14), Meaning),
    ("Argument", "as_int_lists", (8, 15), Meaning),
    ("Argument", "as_string_to_argument", (8, 15), Meaning),
    ("Argument", "as_nested_tensors", (8, 17), Meaning),
    ("Node", "name", (8, 17), Harmless),
    ("Argument", "as_float_lists", (8, 20), Meaning),
    ("PayloadConfig", "config", (8, 14), Harmless),
];

/// The dtypes added after 7.3, by `ScalarType` number.
const ADDED_DTYPES: [(i64, Version); 8] = [
    (28, (8, 2)),
    (29, (8, 7)),
    (30, (8, 7)),
    (31, (8, 14)),
    (32, (8, 14)),
    (33, (8, 20)),
    (34, (8, 20)),
    (35, (8, 20)),
];

/// True if that version has the key of that record or union.
pub fn has_key(owner: &str, key: &str, version: Version) -> bool {
    ADDED.iter().all(|(o, k, since, _)| (*o, *k) != (owner, key) || *since <= version)
}

/// True if that version has the dtype of that `ScalarType` number.
pub fn has_dtype(code: i64, version: Version) -> bool {
    ADDED_DTYPES.iter().all(|(c, since)| *c != code || *since <= version)
}

/// A document for readers of an older version of the schema.
///
/// Errors: everything that the version cannot express, each with its path.
pub fn lower(document: &ExportedProgram, version: Version) -> Result<Value, Vec<(String, String)>> {
    let mut value = serde_json::to_value(document).expect("law: the types of this crate have string keys");
    value["schema_version"] = serde_json::json!({"major": version.0, "minor": version.1});
    let mut lowering = Downgrade { version, path: Vec::new(), errors: Vec::new() };
    lowering.value(&mut value, ExportedProgram::shape());
    if lowering.errors.is_empty() { Ok(value) } else { Err(lowering.errors) }
}

struct Downgrade {
    version: Version,
    path: Vec<String>,
    errors: Vec<(String, String)>,
}

impl Downgrade {
    fn report(&mut self, message: String) {
        let (major, minor) = self.version;
        self.errors.push((self.path.concat(), format!("schema {major}.{minor} has no {message}")));
    }

    fn within(&mut self, step: String, value: &mut Value, shape: Shape) {
        self.path.push(step);
        self.value(value, shape);
        self.path.pop();
    }

    fn value(&mut self, value: &mut Value, shape: Shape) {
        match (shape, value) {
            (Shape::Optional(inner), value) if !value.is_null() => self.value(value, inner()),
            (Shape::List(item), Value::Array(list)) => {
                list.iter_mut().enumerate().for_each(|(i, v)| self.within(format!("[{i}]"), v, item()));
            }
            (Shape::Dict(item), Value::Object(map)) => {
                map.iter_mut().for_each(|(key, v)| self.within(format!("[{key:?}]"), v, item()));
            }
            (Shape::Record(record), Value::Object(map)) => {
                self.keys(record.name, map);
                for field in record.fields {
                    if let Some(v) = map.get_mut(field.key) {
                        self.within(format!(".{}", field.key), v, (field.shape)());
                    }
                }
            }
            (Shape::Union(union), Value::Object(map)) => self.tag(union, map),
            // Before 8.7 non-finite floats were bare words; see `spell`.
            (Shape::Real, value) if self.version < (8, 7) => {
                if let Some(word) = value.as_str() {
                    *value = format!("{BARE}{word}").into();
                }
            }
            _ => {}
        }
    }

    fn keys(&mut self, owner: &str, map: &mut Map<String, Value>) {
        if owner == "Node" && self.version < (8, 7) {
            pack_results(map);
        }
        if owner == "TensorMeta" {
            self.dtype(map.get("dtype").and_then(Value::as_i64));
        }
        let version = self.version;
        for (_, key, _, loss) in ADDED.iter().filter(|(o, _, since, _)| *o == owner && *since > version) {
            match map.shift_remove(*key) {
                Some(lost) if *loss == Meaning && !is_empty(&lost) => self.report(format!("{owner}.{key}")),
                _ => {}
            }
        }
    }

    fn tag(&mut self, union: &Union, map: &mut Map<String, Value>) {
        for (tag, shape) in union.tags {
            let key = tag_key(tag);
            let Some(value) = map.get_mut(&key) else { continue };
            if !has_key(union.name, &key, self.version) {
                self.report(format!("{}.{key}", union.name));
            }
            if key == "as_scalar_type" {
                self.dtype(value.as_i64());
            }
            self.within(format!(".{key}"), value, shape());
        }
    }

    fn dtype(&mut self, code: Option<i64>) {
        if let Some(code) = code.filter(|code| !has_dtype(*code, self.version)) {
            let name = u8::try_from(code).ok().and_then(oxport_tensor::DType::from_code).map_or("?", |d| d.name());
            self.report(format!("dtype {name}"));
        }
    }
}

/// The prefix of words to be written without quotes; no string of a program begins with it.
const BARE: &str = "\u{0}bare:";

/// The text of a lowered document.
pub fn spell(document: &Value) -> String {
    let mut text = crate::json::to_string(document);
    for word in ["Infinity", "-Infinity", "NaN"] {
        text = text.replace(&format!("\"\\u0000bare:{word}\""), word);
    }
    text
}

/// Before 8.7 a tuple of one tensor was a list of tensors.
fn pack_results(node: &mut Map<String, Value>) {
    if node.get("is_hop_single_tensor_return") != Some(&Value::Bool(false)) {
        return;
    }
    let Some(Value::Array(outputs)) = node.get_mut("outputs") else { return };
    if let [Value::Object(only)] = outputs.as_mut_slice()
        && let Some(tensor) = only.shift_remove("as_tensor")
    {
        only.insert("as_tensors".into(), Value::Array(vec![tensor]));
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => false,
    }
}
