//! Mutators of the subgraphs of higher-order operators.

use super::{Change, Document, Edit, Mutator, broken};
use serde_json::{Value, json};

pub(super) const MUTATORS: &[Mutator] = &[
    broken("operand-dropped", |d| {
        operands(d, |list| {
            let mut l = list.clone();
            l.pop();
            l
        })
    }),
    broken("operand-doubled", |d| {
        operands(d, |list| {
            let mut l = list.clone();
            l.extend(list.last().cloned());
            l
        })
    }),
    broken("subgraph-input-dropped", |d| {
        inner(d, |d, g| (d.len(&format!("{g}/inputs")) > 0).then(|| (format!("{g}/inputs/0"), Change::Remove)))
    }),
    broken("subgraph-output-dropped", |d| {
        inner(d, |d, g| (d.len(&format!("{g}/outputs")) > 0).then(|| (format!("{g}/outputs/0"), Change::Remove)))
    }),
    broken("subgraph-output-doubled", |d| {
        inner(d, |d, g| {
            let first = d.get(&format!("{g}/outputs/0"));
            first.is_object().then(|| (format!("{g}/outputs/0"), Change::Insert(first.clone())))
        })
    }),
    broken("subgraph-input-size", |d| {
        input_meta(d, |m| {
            let n = m["sizes"][0]["as_int"].as_i64()?;
            Some(("sizes/0", json!({"as_int": n + 1})))
        })
    }),
    broken("subgraph-input-dtype", |d| {
        input_meta(d, |m| {
            let t = m["dtype"].as_i64()?;
            Some(("dtype", json!(if t == 7 { 8 } else { 7 })))
        })
    }),
    broken("subgraph-output-constant", |d| {
        inner(d, |d, g| {
            (d.len(&format!("{g}/outputs")) > 0)
                .then(|| (format!("{g}/outputs/0"), Change::Set(json!({"as_string": "x"}))))
        })
    }),
    broken("subgraph-output-undefined", |d| {
        inner(d, |d, g| {
            (d.len(&format!("{g}/outputs")) > 0)
                .then(|| (format!("{g}/outputs/0"), Change::Set(json!({"as_tensor": {"name": "nobody"}}))))
        })
    }),
    broken("subgraph-bare-flag", |d| {
        inner(d, |d, g| {
            let at = format!("{g}/is_single_tensor_return");
            let old = d.get(&at).as_bool()?;
            Some((at, Change::Set(json!(!old))))
        })
    }),
    broken("subgraph-gone", |d| {
        hops(d, |d, node, i| {
            let at = format!("{node}/inputs/{i}/arg");
            d.get(&format!("{at}/as_graph")).is_object().then(|| (at, Change::Set(json!({"as_none": true}))))
        })
    }),
    broken("bare-result-flag", |d| {
        let mut edits = Vec::new();
        for (_, node) in d.nodes() {
            let at = format!("{node}/is_hop_single_tensor_return");
            let is_one =
                d.len(&format!("{node}/outputs")) == 1 && d.get(&format!("{node}/outputs/0/as_tensor")).is_object();
            if let Some(old) = d.get(&at).as_bool().filter(|_| is_one) {
                edits.push(Edit { words: d.words(&node), changes: vec![(at, Change::Set(json!(!old)))] });
            }
        }
        edits
    }),
    broken("outer-value-in-subgraph", |d| {
        let outer = d.text("/program/graph_module/graph/inputs/0/as_tensor/name").to_string();
        inner(d, move |d, g| {
            let at = format!("{g}/nodes/0/inputs/0/arg/as_tensor/name");
            let is_own = d.get(&format!("{g}/inputs")).to_string().contains(&format!("\"{outer}\""));
            (d.get(&at).is_string() && !is_own && !outer.is_empty()).then(|| (at, Change::Set(json!(outer))))
        })
    }),
    broken("predicate-of-other-kind", |d| {
        hops(d, |d, node, i| {
            let is_cond = d.text(&format!("{node}/target")).ends_with(".cond") && i == 0;
            let other = d.get(&format!("{node}/inputs/3/arg/as_tensors/0")).clone();
            (is_cond && other.is_object())
                .then(|| (format!("{node}/inputs/0/arg"), Change::Set(json!({"as_tensor": other}))))
        })
    }),
];

/// The graphs below the top one, with what diagnostics may name: the subgraph, the node that uses it, its nodes.
fn inner(d: &Document, f: impl Fn(&Document, &str) -> Option<(String, Change)>) -> Vec<Edit> {
    let mut edits = Vec::new();
    for g in d.graphs().into_iter().skip(1) {
        let Some(change) = f(d, &g.at) else { continue };
        let mut words: Vec<String> = g.path.split('.').map(str::to_string).collect();
        let node = g.at.split("/inputs/").next().map(|_| g.at.rsplitn(2, "/inputs/").last().unwrap_or(""));
        words.extend(node.map(|n| d.words(n)).unwrap_or_default());
        edits.push(Edit { words, changes: vec![change] });
    }
    edits
}

fn input_meta(d: &Document, f: impl Fn(&Value) -> Option<(&'static str, Value)>) -> Vec<Edit> {
    inner(d, |d, g| {
        let name = d.text(&format!("{g}/inputs/0/as_tensor/name"));
        let at = format!("{g}/tensor_values/{name}");
        let (key, new) = f(d.get(&at))?;
        Some((format!("{at}/{key}"), Change::Set(new)))
    })
}

/// The arguments of nodes that have a subgraph.
fn hops(d: &Document, f: impl Fn(&Document, &str, usize) -> Option<(String, Change)>) -> Vec<Edit> {
    let mut edits = Vec::new();
    for (_, node) in d.nodes() {
        let count = d.len(&format!("{node}/inputs"));
        if !(0..count).any(|i| d.get(&format!("{node}/inputs/{i}/arg/as_graph")).is_object()) {
            continue;
        }
        for i in 0..count {
            if let Some(change) = f(d, &node, i) {
                edits.push(Edit { words: d.words(&node), changes: vec![change] });
            }
        }
    }
    edits
}

/// The last list of operands, or the last operand.
fn operands(d: &Document, f: impl Fn(&Vec<Value>) -> Vec<Value>) -> Vec<Edit> {
    hops(d, |d, node, i| {
        let at = format!("{node}/inputs/{i}/arg/as_tensors");
        let list = d.get(&at).as_array().filter(|l| !l.is_empty())?;
        Some((at, Change::Set(f(list).into())))
    })
}
