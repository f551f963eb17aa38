//! Mutators of stored tensors: the payload configs.

use super::{Change, Document, Edit, Mutator, broken};
use serde_json::{Value, json};

pub(super) const MUTATORS: &[Mutator] = &[
    broken("missing-state", |d| stored(d, "/weights/config", |_| Some(("", Change::Remove)))),
    broken("missing-constant", |d| stored(d, "/constants/config", |_| Some(("", Change::Remove)))),
    broken("renamed-state", |d| stored(d, "/weights/config", |_| Some(("", Change::Rename("renamed.weight".into()))))),
    broken("state-size", |d| stored(d, "/weights/config", |m| first(m, "sizes", 1))),
    broken("state-smaller", |d| stored(d, "/weights/config", |m| first(m, "sizes", -1))),
    broken("state-stride", |d| stored(d, "/weights/config", |m| first(m, "strides", 1))),
    broken("state-offset", |d| {
        stored(d, "/weights/config", |_| {
            Some(("/tensor_meta/storage_offset", Change::Set(json!({"as_int": 1_000_000_007}))))
        })
    }),
    broken("state-dtype", |d| {
        stored(d, "/weights/config", |m| {
            let t = m["tensor_meta"]["dtype"].as_i64()?;
            Some(("/tensor_meta/dtype", Change::Set(json!(if t == 7 { 4 } else { 7 }))))
        })
    }),
    broken("constant-dtype", |d| {
        stored(d, "/constants/config", |m| {
            let t = m["tensor_meta"]["dtype"].as_i64()?;
            Some(("/tensor_meta/dtype", Change::Set(json!(if t == 1 { 2 } else { 1 }))))
        })
    }),
    broken("parameter-flag", |d| {
        stored(d, "/weights/config", |m| Some(("/is_param", Change::Set(json!(!m["is_param"].as_bool()?)))))
    }),
    broken("payload-gone", |d| {
        stored(d, "/weights/config", |_| Some(("/path_name", Change::Set(json!("weight_777")))))
    }),
    broken("payload-outside", |d| {
        stored(d, "/weights/config", |_| Some(("/path_name", Change::Set(json!("../weights/weight_0")))))
    }),
];

fn stored(d: &Document, config: &str, f: impl Fn(&Value) -> Option<(&'static str, Change)>) -> Vec<Edit> {
    let lifted = d.get("/program/graph_module/signature/input_specs").to_string();
    let edit = |(name, at): (String, String)| {
        if !lifted.contains(&format!("\"{name}\"")) || !d.get(&format!("{at}/tensor_meta")).is_object() {
            return None;
        }
        let (below, change) = f(d.get(&at))?;
        Some(Edit { words: placeholders(d, &name), changes: vec![(format!("{at}{below}"), change)] }.word(name))
    };
    d.entries(config).into_iter().filter_map(edit).collect()
}

/// The placeholders that are lifted from a stored tensor.
fn placeholders(d: &Document, name: &str) -> Vec<String> {
    let specs = d.get("/program/graph_module/signature/input_specs").as_array();
    let mut found = Vec::new();
    for spec in specs.into_iter().flatten().flat_map(|s| s.as_object()).flatten() {
        let is_it = ["parameter_name", "buffer_name", "tensor_constant_name"].iter().any(|k| spec.1[k] == name);
        if is_it {
            found.extend(spec.1["arg"]["name"].as_str().map(str::to_string));
        }
    }
    found
}

fn first(m: &Value, key: &'static str, plus: i64) -> Option<(&'static str, Change)> {
    let n = m["tensor_meta"][key][0]["as_int"].as_i64()?;
    let at = if key == "sizes" { "/tensor_meta/sizes/0" } else { "/tensor_meta/strides/0" };
    // The stride of a dimension of size 1 is not significant.
    (m["tensor_meta"]["sizes"][0]["as_int"].as_i64()? > 1).then(|| (at, Change::Set(json!({"as_int": n + plus}))))
}
