//! The values of a run, node by node: recorded, written to a folder, read back, and compared.
//!
//! A folder has `values.safetensors` (and `values.json`, if there are values that safetensors cannot represent), keyed
//! by node name, and `nodes.json`, the order and the operators:
//!
//! ```text
//! {"format": "oxport.dump", "nodes": [{"name": "linear", "op": "aten::linear"}, …]}
//! ```
//!
//! Invariants: inputs have the keys `in.0`, …, results those of tensor files (`out.0`, `mut.<buffer>`), and neither can
//! be a node's name; nodes are in the order in which they ran; a folder with other files is never written to.

use crate::compare::{Comparison, Tolerance, compare};
use crate::inputs::read_any;
use crate::io::{Values, named_outputs, read_values, write_values};
use crate::{Error, Plan, Result, Value};
use indexmap::IndexMap;
use oxport_pt2::Limits;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// The values of a run, in the order in which they were computed.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// By node name, or by the key of an input or result.
    pub nodes: IndexMap<String, Traced>,
}

/// One value of a run.
#[derive(Clone, Debug)]
pub struct Traced {
    /// The operator; `input` or `output` for those; empty if it is not known.
    pub op: String,
    /// The value.
    pub value: Value,
}

/// The comparison of one value.
#[derive(Clone, Debug)]
pub struct NodeComparison {
    /// The node's name, or the key of an input or result.
    pub name: String,
    /// The operator.
    pub op: String,
    /// The result.
    pub comparison: Comparison,
}

/// The comparison of two runs.
#[derive(Clone, Debug, Default)]
pub struct TraceComparison {
    /// The values that both have, in the order of the second.
    pub nodes: Vec<NodeComparison>,
    /// How many values only the first has.
    pub only_first: usize,
    /// How many values only the second has.
    pub only_second: usize,
}

impl TraceComparison {
    /// The values that differ, in order.
    pub fn different(&self) -> impl Iterator<Item = &NodeComparison> {
        self.nodes.iter().filter(|n| !n.comparison.agree)
    }
    /// The value with the largest absolute error.
    pub fn worst(&self) -> Option<&NodeComparison> {
        let error = |n: &NodeComparison| n.comparison.error.unwrap_or(-1.0);
        self.nodes
            .iter()
            .filter(|n| n.comparison.error.is_some())
            .reduce(|a, b| if error(b) > error(a) { b } else { a })
    }
}

impl Trace {
    /// Runs a plan and records its inputs, the nodes whose name `is_wanted`, and its results.
    ///
    /// # Errors
    /// The run fails.
    pub fn record(plan: &Plan, inputs: &[Value], is_wanted: &(dyn Fn(&str) -> bool + Sync)) -> Result<(Trace, Values)> {
        let mut trace = Trace::default();
        for (i, value) in inputs.iter().enumerate() {
            trace.nodes.insert(format!("in.{i}"), Traced { op: "input".to_string(), value: value.clone() });
        }
        let mut watch = |seen: &oxport_run::Seen<'_>| {
            if is_wanted(seen.name) {
                let traced = Traced { op: seen.op.to_string(), value: seen.value.clone() };
                trace.nodes.insert(seen.name.to_string(), traced);
            }
        };
        let outputs = named_outputs(&plan.watch(inputs.to_vec(), plan.initial_state(), &mut watch)?);
        for (key, value) in &outputs {
            trace.nodes.insert(key.clone(), Traced { op: "output".to_string(), value: value.clone() });
        }
        Ok((trace, outputs))
    }

    /// The trace with other names of nodes, those that the same nodes have in another trace. A node without a new name
    /// is left out if another one takes its own.
    pub fn renamed(self, names: &HashMap<String, String>, expected: &Trace) -> Trace {
        let taken: HashSet<&String> = names.values().collect();
        let sizes = |traced: &Traced| match &traced.value {
            Value::Tensor(tensor) => Some(tensor.sizes().to_vec()),
            _ => None,
        };
        let one = |(name, traced): (String, Traced)| match (names.get(&name), expected.nodes.get(&name)) {
            (Some(new), _) => Some((new.clone(), traced)),
            (None, _) if taken.contains(&name) => None,
            // A new node under a name that became free.
            (None, Some(other)) if traced.op != "output" && sizes(other) != sizes(&traced) => {
                Some((format!("{name}'"), traced))
            }
            (None, _) => Some((name, traced)),
        };
        Trace { nodes: self.nodes.into_iter().filter_map(one).collect() }
    }

    /// The inputs, by their keys.
    pub fn inputs(&self) -> Values {
        let inputs = self.nodes.iter().filter(|(_, n)| n.op == "input");
        inputs.map(|(key, n)| (key.clone(), n.value.clone())).collect()
    }

    /// The files of a trace in a folder.
    pub fn files(folder: &Path) -> [PathBuf; 3] {
        FILES.map(|file| folder.join(file))
    }

    /// An error if a folder cannot take a trace: it is a file, or has other files.
    ///
    /// # Errors
    /// See above.
    pub fn check_folder(folder: &Path) -> Result<()> {
        let failed = |why: &str| {
            Err(Error::io(format!("cannot write to {}", folder.display()), std::io::Error::other(why.to_string())))
        };
        let entries = match std::fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(e) => return Err(Error::io(format!("cannot write to {}", folder.display()), e)),
        };
        let foreign = entries.flatten().any(|e| !FILES.iter().any(|file| e.file_name() == **file));
        match foreign || folder.join(VALUES).exists() && order(folder).is_err() {
            true => failed("the folder has files that are not of a dump"),
            false => Ok(()),
        }
    }

    /// Writes the trace to a folder, which is made if it does not exist.
    ///
    /// # Errors
    /// As [`Trace::check_folder`], or a file cannot be written.
    pub fn write(&self, folder: &Path) -> Result<()> {
        Trace::check_folder(folder)?;
        std::fs::create_dir_all(folder)
            .map_err(|e| Error::io(format!("cannot make the folder {}", folder.display()), e))?;
        let mut values = Values::new();
        let mut order = Vec::new();
        for (name, traced) in &self.nodes {
            let mut count = 0;
            flatten(name, &traced.value, &mut |key, value| {
                values.insert(key, value);
                count += 1;
            });
            if count > 0 {
                order.push(serde_json::json!({"name": name, "op": traced.op}));
            }
        }
        write_values(&folder.join(VALUES), &values)?;
        let document = serde_json::json!({"format": FORMAT, "nodes": order});
        Ok(oxport_pt2::write_atomic(&folder.join(NODES), format!("{document:#}\n").as_bytes())?)
    }

    /// Reads a folder, or a file of values by node name, as a script makes it with PyTorch.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn read(path: &Path, limits: &Limits) -> Result<Trace> {
        if !path.is_dir() {
            let values = read_any(path, limits)?;
            let nodes = values.into_iter().map(|(name, value)| (name, Traced { op: String::new(), value }));
            return Ok(Trace { nodes: nodes.collect() });
        }
        let mut values = read_values(&path.join(VALUES), limits)?;
        let mut trace = Trace::default();
        for (name, op) in order(path)? {
            let value = match values.shift_remove(&name) {
                Some(value) => value,
                None => {
                    let parts = (0..).map_while(|i| values.shift_remove(&format!("{name}.{i}")));
                    Value::List(parts.collect())
                }
            };
            trace.nodes.insert(name, Traced { op, value });
        }
        Ok(trace)
    }

    /// Compares the values of this run, which are the expected ones, with those of another.
    pub fn compare(&self, got: &Trace, tolerance: Tolerance) -> TraceComparison {
        let mut found = TraceComparison {
            only_first: self.nodes.keys().filter(|name| !got.nodes.contains_key(*name)).count(),
            ..TraceComparison::default()
        };
        for (name, traced) in &got.nodes {
            match self.nodes.get(name) {
                Some(want) => found.nodes.push(NodeComparison {
                    name: name.clone(),
                    op: if traced.op.is_empty() { want.op.clone() } else { traced.op.clone() },
                    comparison: compare(&traced.value, &want.value, tolerance),
                }),
                None => found.only_second += 1,
            }
        }
        found
    }
}

const VALUES: &str = "values.safetensors";
const NODES: &str = "nodes.json";
const FILES: [&str; 3] = [VALUES, "values.json", NODES];
const FORMAT: &str = "oxport.dump";

/// The names and operators of a folder, in order.
fn order(folder: &Path) -> Result<Vec<(String, String)>> {
    let path = folder.join(NODES);
    let name = path.display().to_string();
    let text = oxport_pt2::open_file(&path)?;
    let wrong = || Error::data(format!("{name}: expected the nodes of a dump"));
    let document: serde_json::Value = serde_json::from_slice(text.bytes()).map_err(|_| wrong())?;
    let nodes = document["nodes"].as_array().filter(|_| document["format"] == FORMAT).ok_or_else(wrong)?;
    let one = |n: &serde_json::Value| Some((n["name"].as_str()?.to_string(), n["op"].as_str()?.to_string()));
    nodes.iter().map(one).collect::<Option<_>>().ok_or_else(wrong)
}

/// Calls `f` on every plain value; those of a list are `name.0`, `name.1`, ….
fn flatten(name: &str, value: &Value, f: &mut dyn FnMut(String, Value)) {
    match value {
        Value::List(list) => list.iter().enumerate().for_each(|(i, v)| flatten(&format!("{name}.{i}"), v, f)),
        // No file has these.
        Value::Token | Value::Complex(_) => {}
        plain => f(name.to_string(), plain.clone()),
    }
}
