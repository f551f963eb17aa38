//! JSON Schemas of the program JSON, one a version, made from the types of this module.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::shape::{Record, Shape, Union, tag_key};
use super::versions::{Version, has_dtype, has_key};
use super::{Described, ExportedProgram, PayloadConfig};

/// The JSON Schema (draft 2020-12) of documents of that version, as PyTorch writes and reads them.
///
/// Unknown keys are allowed in records, as PyTorch allows them; unions have exactly one key. Payload configs, which are
/// separate documents, are under `$defs/PayloadConfig`.
pub fn json_schema(version: Version) -> Value {
    let mut defs = Definitions { version, done: BTreeMap::new() };
    let top = defs.schema(ExportedProgram::shape());
    if has_key("PayloadConfig", "config", version) {
        defs.schema(PayloadConfig::shape());
    }
    let (major, minor) = version;
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": format!("A program of torch.export, schema {major}.{minor}"),
        "$ref": top["$ref"],
        "$defs": defs.done,
    })
}

struct Definitions {
    version: Version,
    done: BTreeMap<String, Value>,
}

impl Definitions {
    fn schema(&mut self, shape: Shape) -> Value {
        match shape {
            Shape::Bool => json!({"type": "boolean"}),
            Shape::Int => json!({"type": "integer"}),
            Shape::Real => json!({"anyOf": [{"type": "number"}, {"enum": ["Infinity", "-Infinity", "NaN"]}]}),
            Shape::Text => json!({"type": "string"}),
            Shape::Flag => json!(true),
            Shape::List(item) => json!({"type": "array", "items": self.schema(item())}),
            Shape::Dict(item) => json!({"type": "object", "additionalProperties": self.schema(item())}),
            Shape::Optional(inner) => json!({"anyOf": [self.schema(inner()), {"type": "null"}]}),
            Shape::Record(record) => self.define(record.name, |defs| defs.record(record)),
            Shape::Union(union) => self.define(union.name, |defs| defs.union(union)),
        }
    }

    /// A reference to the definition of that name; adds the definition on first use.
    fn define(&mut self, name: &str, make: impl FnOnce(&mut Definitions) -> Value) -> Value {
        if !self.done.contains_key(name) {
            // Shapes refer to themselves.
            self.done.insert(name.to_string(), Value::Null);
            let made = make(self);
            self.done.insert(name.to_string(), made);
        }
        json!({"$ref": format!("#/$defs/{name}")})
    }

    fn record(&mut self, record: &Record) -> Value {
        let mut properties = serde_json::Map::new();
        let mut required = Vec::new();
        let version = self.version;
        for field in record.fields.iter().filter(|f| has_key(record.name, f.key, version)) {
            let schema = match (record.name, field.key) {
                ("TensorMeta", "dtype") => self.dtypes(),
                // Up to 8.2 unbounded ranges ended at bare infinities, which are not JSON; readers may accept them as
                // strings.
                ("RangeConstraint", _) if self.version < (8, 7) => {
                    json!({"anyOf": [{"type": ["integer", "null"]}, {"enum": ["Infinity", "-Infinity"]}]})
                }
                _ => self.schema((field.shape)()),
            };
            properties.insert(field.key.to_string(), schema);
            // Up to 8.2 keys whose value is null were left out.
            let left_out = self.version < (8, 7) && matches!((field.shape)(), Shape::Optional(_));
            if field.required && !left_out {
                required.push(field.key);
            }
        }
        json!({"type": "object", "properties": properties, "required": required})
    }

    fn union(&mut self, union: &Union) -> Value {
        let mut properties = serde_json::Map::new();
        for (tag, shape) in union.tags {
            let key = tag_key(tag);
            if has_key(union.name, &key, self.version) {
                let schema = if key == "as_scalar_type" { self.dtypes() } else { self.schema(shape()) };
                properties.insert(key, schema);
            }
        }
        let bounds = json!({"minProperties": 1, "maxProperties": 1, "additionalProperties": false});
        let mut schema = json!({"type": "object", "properties": properties});
        schema.as_object_mut().into_iter().for_each(|map| map.extend(bounds.as_object().cloned().unwrap_or_default()));
        schema
    }

    fn dtypes(&self) -> Value {
        let codes: Vec<i64> = (0..=35).filter(|c| !(14..28).contains(c) && has_dtype(*c, self.version)).collect();
        json!({"enum": codes})
    }
}

#[cfg(test)]
mod tests;
