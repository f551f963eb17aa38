//! Mutators of recorded metas, symbols and ranges.

use super::{Change, Document, Edit, Mutator, broken, stale};
use serde_json::{Value, json};

pub(super) const MUTATORS: &[Mutator] = &[
    stale("stale-size", |d| dims(d, "sizes", Which::Results, plus(1))),
    stale("stale-size-to-symbol", |d| dims(d, "sizes", Which::Results, |_| Some(symbol("s987654")))),
    stale("stale-size-to-data", |d| dims(d, "sizes", Which::Results, |_| Some(symbol("u987654")))),
    stale("stale-rank", rank),
    stale("stale-rank-added", rank_added),
    stale("stale-dtype", |d| metas(d, Which::Results, |m| dtype(m, |t| if t == 7 { 8 } else { 7 }))),
    stale("stale-dtype-to-int", |d| metas(d, Which::Results, |m| dtype(m, |t| if t == 5 { 4 } else { 5 }))),
    broken("unknown-dtype", |d| metas(d, Which::Any, |m| dtype(m, |_| 99))),
    stale("stale-stride", |d| strides(d, Which::Results, plus(3))),
    stale("negative-stride", |d| dims(d, "strides", Which::Any, |_| Some(json!({"as_int": -1})))),
    stale("zero-stride", zero_stride),
    broken("missing-stride", |d| list(d, "strides", Which::Any)),
    stale("stale-device", |d| {
        metas(d, Which::Results, |m| {
            Some(("device", json!({"type": "cuda", "index": 0})).clone()).filter(|_| m.is_object())
        })
    }),
    stale("stale-state-size", |d| dims(d, "sizes", Which::Lifted, plus(1))),
    stale("stale-state-dtype", |d| metas(d, Which::Lifted, |m| dtype(m, |t| if t == 7 { 6 } else { 7 }))),
    stale("stale-state-stride", |d| strides(d, Which::Lifted, plus(1))),
    stale("stale-input-size", |d| dims(d, "sizes", Which::Users, plus(1))),
    stale("stale-input-dtype", |d| metas(d, Which::Users, |m| dtype(m, |t| if t == 7 { 5 } else { 7 }))),
    stale("stale-input-rank", |d| list_both(d, Which::Users)),
    stale("stale-expression", |d| expressions(d, |text| format!("Add({text}, Integer(1))"))),
    stale("doubled-expression", |d| expressions(d, |text| format!("Mul(Integer(2), {text})"))),
    broken("broken-expression", |d| expressions(d, |text| format!("Addd({text}, "))),
    broken("unbound-symbol", |d| expressions(d, |_| "Symbol('s987654', positive=True, integer=True)".to_string())),
    broken("missing-meta", missing_meta),
    stale("stale-number", numbers),
    broken("contradicting-hint", hints),
    broken("empty-range", |d| ranges(d, |_| Some(json!({"min_val": 9, "max_val": 3})))),
    broken("range-without-capture", without_capture),
    broken("negative-range", |d| symbol_ranges(d, |r| Some(json!({"min_val": -7, "max_val": r["max_val"]})))),
    broken("derived-range", derived_ranges),
    broken("broken-range-key", |d| {
        d.entries("/program/range_constraints")
            .into_iter()
            .map(|(k, at)| Edit::one(k.clone(), at, Change::Rename(format!("{k} +* 2"))))
            .collect()
    }),
];

/// Whose metas.
#[derive(Clone, Copy, PartialEq)]
enum Which {
    Results,
    Lifted,
    Users,
    Any,
}

fn plus(n: i64) -> impl Fn(&Value) -> Option<Value> {
    move |v| Some(json!({"as_int": v["as_int"].as_i64()? + n}))
}

fn symbol(name: &str) -> Value {
    let more = if name.starts_with('s') { ", positive=True" } else { "" };
    json!({"as_expr": {"expr_str": format!("Symbol('{name}'{more}, integer=True)"), "hint": null}})
}

fn dtype(meta: &Value, f: impl Fn(i64) -> i64) -> Option<(&'static str, Value)> {
    Some(("dtype", f(meta["dtype"].as_i64()?).into()))
}

/// The tensor metas of some values that are used or returned: name and pointer.
fn tensors(d: &Document, which: Which) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for g in d.graphs() {
        let mut inputs = Vec::new();
        for i in 0..d.len(&format!("{}/inputs", g.at)) {
            inputs.push(d.text(&format!("{}/inputs/{i}/as_tensor/name", g.at)).to_string());
        }
        let mut results = Vec::new();
        for i in 0..d.len(&format!("{}/nodes", g.at)) {
            results.extend(d.results(&format!("{}/nodes/{i}", g.at)));
        }
        for (name, at) in d.entries(&format!("{}/tensor_values", g.at)) {
            let place = inputs.iter().position(|i| *i == name);
            let lifted = g.path.is_empty()
                && place.is_some_and(|i| {
                    let spec = d.get(&format!("/program/graph_module/signature/input_specs/{i}"));
                    ["parameter", "buffer", "tensor_constant"].iter().any(|k| spec[k].is_object())
                });
            let fits = match which {
                Which::Results => results.contains(&name),
                Which::Lifted => lifted,
                Which::Users => place.is_some() && !lifted && g.path.is_empty(),
                Which::Any => place.is_some() || results.contains(&name),
            };
            if fits {
                all.push((name, at));
            }
        }
    }
    all
}

fn metas(d: &Document, which: Which, f: impl Fn(&Value) -> Option<(&'static str, Value)>) -> Vec<Edit> {
    let edit = |(name, at): (String, String)| {
        let (key, new) = f(d.get(&at))?;
        Some(place(d, Edit::one(name, format!("{at}/{key}"), Change::Set(new)), which))
    };
    tensors(d, which).into_iter().filter_map(edit).collect()
}

/// A wrong meta of an input may be reported at the first call with a mismatch.
fn place(d: &Document, mut edit: Edit, which: Which) -> Edit {
    // A result that nothing takes has a name only in the file.
    if let Some((node, _)) = edit.words[0].clone().split_once("_unused_") {
        edit.words.push(node.to_string());
    }
    if which == Which::Users {
        for (_, node) in d.nodes() {
            let mut used = Vec::new();
            super::document::collect_names(d.get(&format!("{node}/inputs")), &mut used);
            if used.iter().any(|u| edit.words.first() == Some(u)) {
                edit.words.extend(d.words(&node));
            }
        }
    }
    edit
}

/// One dimension of one list, changed.
fn dims(d: &Document, key: &str, which: Which, f: impl Fn(&Value) -> Option<Value>) -> Vec<Edit> {
    let mut edits = Vec::new();
    for (name, at) in tensors(d, which) {
        for i in 0..d.len(&format!("{at}/{key}")) {
            let at = format!("{at}/{key}/{i}");
            if let Some(new) = f(d.get(&at)) {
                edits.push(place(d, Edit::one(&name, at, Change::Set(new)), which));
            }
        }
    }
    edits
}

/// One significant stride, changed: of a dimension of size above 1 in a non-empty tensor.
fn strides(d: &Document, which: Which, f: impl Fn(&Value) -> Option<Value>) -> Vec<Edit> {
    let size = |edit: &Edit, n: i64| {
        let (of, dim) = edit.changes[0].0.rsplit_once("/strides/").unwrap_or_default();
        let sizes = d.get(&format!("{of}/sizes")).as_array();
        sizes.is_some_and(|all| {
            if n == 0 {
                all.iter().any(|s| s["as_int"] == 0)
            } else {
                dim.parse::<usize>().is_ok_and(|i| all[i]["as_int"] == n)
            }
        })
    };
    dims(d, "strides", which, f).into_iter().filter(|e| !size(e, 0) && !size(e, 1)).collect()
}

fn list(d: &Document, key: &str, which: Which) -> Vec<Edit> {
    let some = tensors(d, which).into_iter().filter(|(_, at)| d.len(&format!("{at}/{key}")) > 0);
    some.map(|(name, at)| Edit::one(name, format!("{at}/{key}/0"), Change::Remove)).collect()
}

fn list_both(d: &Document, which: Which) -> Vec<Edit> {
    let some = tensors(d, which).into_iter().filter(|(_, at)| d.len(&format!("{at}/sizes")) > 0);
    let both = |(name, at): (String, String)| {
        let edit =
            Edit::one(name, format!("{at}/sizes/0"), Change::Remove).and(format!("{at}/strides/0"), Change::Remove);
        place(d, edit, which)
    };
    some.map(both).collect()
}

fn rank(d: &Document) -> Vec<Edit> {
    list_both(d, Which::Results)
}

fn rank_added(d: &Document) -> Vec<Edit> {
    let one = || Change::Insert(json!({"as_int": 1}));
    let edit = |(name, at): (String, String)| {
        Edit::one(name, format!("{at}/sizes/0"), one()).and(format!("{at}/strides/0"), one())
    };
    tensors(d, Which::Results).into_iter().map(edit).collect()
}

/// A stride of 0 where the size is more than 1.
fn zero_stride(d: &Document) -> Vec<Edit> {
    let mut edits = Vec::new();
    for (name, at) in tensors(d, Which::Results) {
        for i in 0..d.len(&format!("{at}/strides")) {
            if d.get(&format!("{at}/sizes/{i}/as_int")).as_i64().is_some_and(|n| n > 1) {
                edits.push(Edit::one(&name, format!("{at}/strides/{i}"), Change::Set(json!({"as_int": 0}))));
            }
        }
    }
    edits
}

/// Symbolic sizes of results.
fn expressions(d: &Document, f: impl Fn(&str) -> String) -> Vec<Edit> {
    let mut edits = Vec::new();
    for (name, at) in tensors(d, Which::Results) {
        for i in 0..d.len(&format!("{at}/sizes")) {
            let at = format!("{at}/sizes/{i}/as_expr");
            if d.get(&at).is_object() {
                let text = f(d.text(&format!("{at}/expr_str")));
                edits.push(Edit::one(&name, at, Change::Set(json!({"expr_str": text, "hint": null}))));
            }
        }
    }
    edits
}

fn missing_meta(d: &Document) -> Vec<Edit> {
    tensors(d, Which::Any).into_iter().map(|(name, at)| Edit::one(name, at, Change::Remove)).collect()
}

/// Recorded numbers: constants by one more, expressions by one more.
fn numbers(d: &Document) -> Vec<Edit> {
    let mut edits = Vec::new();
    for g in d.graphs() {
        let mut results = Vec::new();
        for i in 0..d.len(&format!("{}/nodes", g.at)) {
            results.extend(d.results(&format!("{}/nodes/{i}", g.at)));
        }
        for (name, at) in d.entries(&format!("{}/sym_int_values", g.at)) {
            if !results.contains(&name) {
                continue;
            }
            let old = d.get(&at);
            let new = match (old["as_int"].as_i64(), old["as_expr"]["expr_str"].as_str()) {
                (Some(n), _) => json!({"as_int": n + 1}),
                // A data-dependent number may have another value.
                (_, Some(text)) if !text.contains("Symbol('u") => {
                    json!({"as_expr": {"expr_str": format!("Add({text}, Integer(1))"), "hint": null}})
                }
                _ => continue,
            };
            edits.push(Edit::one(name, at, Change::Set(new)));
        }
    }
    edits
}

/// The hint of one occurrence of an expression, contradicting the others.
fn hints(d: &Document) -> Vec<Edit> {
    let mut edits = Vec::new();
    for (name, at) in tensors(d, Which::Any) {
        for i in 0..d.len(&format!("{at}/sizes")) {
            let at = format!("{at}/sizes/{i}/as_expr");
            if let Some(n) = d.get(&format!("{at}/hint/as_int")).as_i64() {
                let mut edit = Edit::one(&name, format!("{at}/hint/as_int"), Change::Set(json!(n + 1)));
                edit.words.extend(symbols(d.text(&format!("{at}/expr_str"))));
                edits.push(edit);
            }
        }
    }
    edits
}

/// The names in `Symbol('…'`.
fn symbols(text: &str) -> Vec<String> {
    text.split("Symbol('").skip(1).filter_map(|t| Some(t.split('\'').next()?.to_string())).collect()
}

fn ranges(d: &Document, f: impl Fn(&Value) -> Option<Value>) -> Vec<Edit> {
    let all = d.entries("/program/range_constraints").into_iter();
    all.filter_map(|(key, at)| Some(Edit::one(key, at.clone(), Change::Set(f(d.get(&at))?)))).collect()
}

fn symbol_ranges(d: &Document, f: impl Fn(&Value) -> Option<Value>) -> Vec<Edit> {
    let all = d.entries("/program/range_constraints").into_iter();
    let is_size = |key: &str| key.starts_with('s') && key[1..].bytes().all(|b| b.is_ascii_digit());
    let is_input = |key: &str| !d.json.to_string().contains(&format!("Symbol('{key}', integer=True)"));
    all.filter(|(key, _)| is_size(key) && is_input(key))
        .filter_map(|(key, at)| Some(Edit::one(key, at.clone(), Change::Set(f(d.get(&at))?))))
        .collect()
}

/// A range that ends below the value at capture.
fn without_capture(d: &Document) -> Vec<Edit> {
    let mut edits = Vec::new();
    for (key, at) in d.entries("/program/range_constraints") {
        let bare = |t: &str| {
            t.starts_with(&format!("Symbol('{key}'")) && t.matches("Symbol").count() == 1 && !t.contains("Add")
        };
        let hint = tensors(d, Which::Users).into_iter().find_map(|(_, meta)| {
            (0..d.len(&format!("{meta}/sizes"))).find_map(|i| {
                let e = d.get(&format!("{meta}/sizes/{i}/as_expr"));
                e["expr_str"].as_str().filter(|t| bare(t)).and_then(|_| e["hint"]["as_int"].as_i64())
            })
        });
        if let Some(hint) = hint {
            edits.push(Edit::one(key, at, Change::Set(json!({"min_val": 0, "max_val": hint - 1}))));
        }
    }
    edits
}

fn derived_ranges(d: &Document) -> Vec<Edit> {
    let all = d.entries("/program/range_constraints").into_iter().filter(|(key, _)| key.contains(['*', '+', '-']));
    let edit = |(key, at): (String, String)| {
        let min = d.get(&format!("{at}/min_val")).as_i64()?;
        Some(Edit::one(key, format!("{at}/min_val"), Change::Set(json!(min - 1))))
    };
    all.filter_map(edit).collect()
}
