//! The checked-in schemas match the types; real documents satisfy them, and malformed ones do not.

use std::path::{Path, PathBuf};

use super::*;
use crate::model::versions::{RELEASED, lower, spell};
use crate::{Archive, Layout, Limits, json as text};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)
}

/// A definition a line.
fn printed(schema: &Value) -> String {
    let defs: Vec<String> = schema["$defs"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, def)| format!("    {}: {}", Value::from(name.as_str()), text::to_string(def)))
        .collect();
    let mut top = String::new();
    for key in ["$schema", "title", "$ref"] {
        top += &format!("  \"{key}\": {},\n", schema[key]);
    }
    format!("{{\n{top}  \"$defs\": {{\n{}\n  }}\n}}\n", defs.join(",\n"))
}

#[test]
fn checked_in_schemas_match_the_types() {
    for (major, minor) in RELEASED {
        let path = folder("schemas").join(format!("program-{major}.{minor}.json"));
        let made = printed(&json_schema((major, minor)));
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            std::fs::write(&path, &made).unwrap();
        }
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(kept == made, "{}: run with UPDATE_EXPECT=1", path.display());
    }
}

/// The first violation of the schema, if any.
fn diagnostic(value: &Value, schema: &Value, root: &Value, at: &str) -> Option<String> {
    let Some(rules) = schema.as_object() else { return (schema == &json!(false)).then(|| at.to_string()) };
    for (rule, want) in rules {
        let found = match rule.as_str() {
            "$ref" => {
                let name = want.as_str().unwrap().trim_start_matches("#/$defs/");
                diagnostic(value, &root["$defs"][name], root, at)
            }
            "type" => {
                let is = |kind: &Value| match kind.as_str().unwrap() {
                    "object" => value.is_object(),
                    "array" => value.is_array(),
                    "string" => value.is_string(),
                    "boolean" => value.is_boolean(),
                    "integer" => value.is_i64(),
                    "number" => value.is_number(),
                    "null" => value.is_null(),
                    other => panic!("type {other}"),
                };
                let fits = want.as_array().map_or_else(|| is(want), |kinds| kinds.iter().any(is));
                (!fits).then(|| format!("{at}: expected {want}"))
            }
            "enum" => (!want.as_array().unwrap().contains(value)).then(|| format!("{at}: expected one of {want}")),
            "anyOf" => {
                let fits = want.as_array().unwrap().iter().any(|s| diagnostic(value, s, root, at).is_none());
                (!fits).then(|| format!("{at}: expected one of {want}"))
            }
            "required" => {
                let missing = want.as_array().unwrap().iter().find(|key| value.get(key.as_str().unwrap()).is_none());
                missing.map(|key| format!("{at} has no {key}"))
            }
            "items" => {
                let mut items = value.as_array().into_iter().flatten().enumerate();
                items.find_map(|(i, item)| diagnostic(item, want, root, &format!("{at}[{i}]")))
            }
            "properties" => {
                let mut known = want.as_object().unwrap().iter();
                known.find_map(|(key, s)| diagnostic(value.get(key)?, s, root, &format!("{at}.{key}")))
            }
            "additionalProperties" => {
                let is_known = |key: &str| rules.get("properties").is_some_and(|known| known.get(key).is_some());
                let mut others = value.as_object().into_iter().flatten().filter(|(key, _)| !is_known(key));
                others.find_map(|(key, v)| diagnostic(v, want, root, &format!("{at}.{key}")))
            }
            "minProperties" => (value.as_object().unwrap().is_empty()).then(|| format!("{at} is empty")),
            "maxProperties" => (value.as_object().unwrap().len() > 1).then(|| format!("{at} has several keys")),
            "$schema" | "title" | "$defs" => None,
            other => panic!("the rule {other} is not known"),
        };
        if found.is_some() {
            return found;
        }
    }
    None
}

fn check(value: &Value, version: Version) -> Option<String> {
    let schema = json_schema(version);
    diagnostic(value, &schema, &schema, "$")
}

/// All archives of the fixtures, of every version.
fn archives() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder("fixtures")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            // Both have files that are no exported programs.
            let are_others = path.ends_with("malicious") || path.ends_with("fixtures/inputs");
            match path.is_dir() {
                true if !are_others => folders.push(path),
                true => {}
                false if path.extension().is_some_and(|e| e == "pt2") => found.push(path),
                false => {}
            }
        }
    }
    found.sort();
    found
}

#[test]
fn documents_of_pytorch_satisfy_the_schema_of_their_version() {
    let mut versions = std::collections::BTreeSet::new();
    for path in archives() {
        let archive = Archive::open(&path, &Limits::default()).unwrap();
        let name = if archive.layout() == Layout::Flat { crate::archive::FLAT_PROGRAM } else { "models/model.json" };
        let document: Value = text::from_slice(name, &archive.read(name).unwrap(), &Limits::default()).unwrap();
        let number = |key: &str| document["schema_version"][key].as_u64().unwrap() as u32;
        let version = (number("major"), number("minor"));
        assert_eq!(check(&document, version), None, "{}", path.display());
        versions.insert(version);
        if archive.has("data/weights/model_weights_config.json") {
            let schema = json_schema(version);
            for name in ["data/weights/model_weights_config.json", "data/constants/model_constants_config.json"] {
                let config: Value = serde_json::from_slice(&archive.read(name).unwrap()).unwrap();
                assert_eq!(diagnostic(&config, &schema["$defs"]["PayloadConfig"], &schema, name), None);
            }
        }
    }
    assert!(versions.len() >= 3, "{versions:?}");
}

#[test]
fn invalid_documents_do_not_satisfy_it() {
    let path = folder("fixtures/archives/today.pt2");
    let archive = Archive::open(&path, &Limits::default()).unwrap();
    let document: Value = serde_json::from_slice(&archive.read("models/model.json").unwrap()).unwrap();
    let table = [
        ("/graph_module/graph/nodes/0/target", json!(3), "target: expected \"string\""),
        ("/graph_module/graph/nodes/0/outputs/0", json!({}), "outputs[0] is empty"),
        ("/graph_module/graph/nodes/0/outputs/0", json!({"as_new": 1}), "outputs[0].as_new"),
        ("/graph_module/graph/outputs/0", json!({"as_int": 1, "as_none": true}), "several keys"),
        ("/graph_module/signature", json!({"input_specs": []}), "has no \"output_specs\""),
        ("/range_constraints", json!({"s0": {"min_val": "x", "max_val": 2}}), "min_val: expected one of"),
        ("/verifiers", json!("ATEN"), "verifiers: expected \"array\""),
    ];
    assert_eq!(check(&document, (8, 20)), None);
    for (pointer, value, message) in table {
        let mut wrong = document.clone();
        *wrong.pointer_mut(pointer).unwrap() = value;
        let found = check(&wrong, (8, 20)).unwrap_or_default();
        assert!(found.contains(message), "{pointer}: {found:?} expected {message:?}");
    }
}

#[test]
fn downgraded_documents_satisfy_the_schema_of_their_version() {
    let path = folder("fixtures/archives/today.pt2");
    let archive = Archive::open(&path, &Limits::default()).unwrap();
    let bytes = archive.read("models/model.json").unwrap();
    let mut document: ExportedProgram = text::from_slice("t", &bytes, &Limits::default()).unwrap();
    for version in RELEASED.into_iter().skip(1) {
        let lowered = spell(&lower(&document, version).unwrap());
        assert_eq!(lowered.contains("-Infinity}") || lowered.contains(": -Infinity"), version < (8, 7), "{version:?}");
        let value: Value = text::from_slice("t", lowered.as_bytes(), &Limits::default()).unwrap();
        assert_eq!(check(&value, version), None, "{version:?}");
        assert!(value["graph_module"]["graph"]["nodes"][0].get("name").is_some() == (version >= (8, 17)));
    }
    let node = &mut document.graph_module.graph.nodes[0];
    node.inputs[0].arg = crate::model::Argument::AsFloatLists(vec![vec![crate::model::Real(1.0)]]);
    let errors = lower(&document, (8, 17)).unwrap_err();
    let expected = ".graph_module.graph.nodes[0].inputs[0].arg: schema 8.17 has no Argument.as_float_lists";
    assert_eq!(errors.iter().map(|(at, m)| format!("{at}: {m}")).collect::<Vec<_>>(), [expected]);
    assert!(lower(&document, (8, 20)).is_ok());
}
