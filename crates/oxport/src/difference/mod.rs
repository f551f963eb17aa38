//! Differences between two programs, up to the names of nodes and symbols: a patch of the graph, and changes of
//! signature, ranges and tensors.
//!
//! Nodes are aligned by what they compute and by def-use, so that a node that is missing gives a patch of a few lines,
//! whatever the others are called; symbols, by the sizes of the inputs. Tensors are compared by content, also under
//! other names.

mod align;
mod patch;
mod symbols;

use crate::compare::{Tolerance, compare_tensors};
use crate::listing::Listing;
use align::{Pairs, align, longest};
use oxport_ir::print::Style;
use oxport_ir::{ExportedProgram, Graph, InputKind, NodeId, NodeKind, StateTensor};
use patch::patch;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;
use symbols::rename_symbols;

/// The differences of two programs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// Lines of the graphs, with the lines around them.
    pub graph: Vec<Line>,
    /// Lines of the signature and the ranges.
    pub signature: Vec<Line>,
    /// Parameters, buffers and constants.
    pub tensors: Vec<TensorChange>,
}

/// A line of a patch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Whose line it is.
    pub side: Side,
    /// The path of the subgraph; empty for the graph itself.
    pub graph: String,
    /// The name of the node, if it is about one.
    pub node: String,
    /// The text, with nodes of the second program by their names in the first.
    pub text: String,
}

/// Whose line it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Only of the first program.
    First,
    /// Only of the second.
    Second,
    /// Of both.
    Both,
    /// A part is left out here.
    Gap,
}

/// A difference of the tensors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TensorChange {
    /// Only the first program has it.
    Removed(Arc<str>),
    /// Only the second program has it.
    Added(Arc<str>),
    /// The same bits have another name.
    Renamed(Arc<str>, Arc<str>),
    /// The elements, sizes or dtypes differ.
    Changed(Arc<str>, String),
}

impl Difference {
    /// The differences of two programs.
    pub fn of(a: &ExportedProgram, b: &ExportedProgram) -> Difference {
        let (tensors, renamed) = tensors(a, b);
        let mut b = b.clone();
        let mut graphs = Vec::new();
        let inputs = inputs(a, &b, &renamed);
        rename_symbols(a, &mut b, &inputs);
        let named = rename_inputs(&a.graph, &mut b.graph, &inputs);
        align_graphs(&a.graph, &mut b.graph, "", &inputs, &mut graphs);
        let style = Style { origins: false, ..Style::GRAPH };
        let (first, second) = (Listing::of(a, style), Listing::of(&b, style));
        let mut found = Difference { tensors, ..Difference::default() };
        for (path, pairs) in &graphs {
            let (Some(x), Some(y)) = (graph_at(&a.graph, path), graph_at(&b.graph, path)) else { continue };
            found.graph.extend(patch((x, &first), (y, &second), path, pairs));
        }
        found.signature = named;
        found.signature.extend(lines(&behind_graph(a), &behind_graph(&b)));
        found
    }

    /// True if the programs are equal up to node names.
    pub fn is_empty(&self) -> bool {
        self.graph.is_empty() && self.signature.is_empty() && self.tensors.is_empty()
    }
}

/// The nodes of the second graph that compute what a node of the first does, by name: second to first. Subgraphs are
/// not looked into.
pub fn same_nodes(a: &ExportedProgram, b: &ExportedProgram) -> HashMap<String, String> {
    let (_, renamed) = tensors(a, b);
    let mut b = b.clone();
    let inputs = inputs(a, &b, &renamed);
    rename_symbols(a, &mut b, &inputs);
    let pairs = align(&a.graph, &b.graph, &inputs);
    let name = |graph: &Graph, id: NodeId| graph.node(id).name.to_string();
    pairs.iter().map(|(y, x)| (name(&b.graph, *y), name(&a.graph, *x))).collect()
}

/// The differences, as text: graph up to renaming, signature, ranges, tensors. Empty if there are none.
pub fn difference(a: &ExportedProgram, b: &ExportedProgram) -> Vec<String> {
    let found = Difference::of(a, b);
    let lines = found.graph.iter().chain(&found.signature).map(ToString::to_string);
    lines.chain(found.tensors.iter().map(ToString::to_string)).collect()
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.side {
            Side::First => write!(f, "- {}", self.text),
            Side::Second => write!(f, "+ {}", self.text),
            Side::Both => write!(f, "  {}", self.text),
            Side::Gap if self.graph.is_empty() => f.write_str("@@"),
            Side::Gap => write!(f, "@@ {}", self.graph),
        }
    }
}

impl fmt::Display for TensorChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TensorChange::Removed(name) => write!(f, "- tensor {name}"),
            TensorChange::Added(name) => write!(f, "+ tensor {name}"),
            TensorChange::Renamed(old, new) => write!(f, "! tensor {old} is called {new}"),
            TensorChange::Changed(name, how) => write!(f, "! tensor {name}: {how}"),
        }
    }
}

/// The changes of tensors, and the names in the second program of those of the first.
fn tensors(a: &ExportedProgram, b: &ExportedProgram) -> (Vec<TensorChange>, HashMap<Arc<str>, Arc<str>>) {
    let other: HashMap<&Arc<str>, &StateTensor> = b.tensors().collect();
    let own: HashSet<&Arc<str>> = a.tensors().map(|(name, _)| name).collect();
    let same = |x: &StateTensor, y: &StateTensor| compare_tensors(&y.tensor, &x.tensor, Tolerance::Exact);
    let mut added: Vec<(&Arc<str>, &StateTensor)> = b.tensors().filter(|(name, _)| !own.contains(name)).collect();
    let (mut found, mut renamed) = (Vec::new(), HashMap::new());
    for (name, x) in a.tensors() {
        if let Some(y) = other.get(name) {
            let compared = same(x, y);
            if !compared.agree {
                found.push(TensorChange::Changed(name.clone(), compared.detail));
            } else if (x.is_param, x.requires_grad) != (y.is_param, y.requires_grad) {
                let what = "one is a parameter or requires a gradient, the other does not";
                found.push(TensorChange::Changed(name.clone(), what.to_string()));
            }
            renamed.insert(name.clone(), name.clone());
            continue;
        }
        let is_twin = |(_, y): &(&Arc<str>, &StateTensor)| {
            x.tensor.sizes() == y.tensor.sizes() && x.tensor.dtype() == y.tensor.dtype() && same(x, y).agree
        };
        match added.iter().position(is_twin) {
            Some(i) => {
                let (new, _) = added.remove(i);
                found.push(TensorChange::Renamed(name.clone(), new.clone()));
                renamed.insert(name.clone(), new.clone());
            }
            None => found.push(TensorChange::Removed(name.clone())),
        }
    }
    found.extend(added.into_iter().map(|(name, _)| TensorChange::Added(name.clone())));
    (found, renamed)
}

/// The placeholders that mean the same: user inputs by position, lifted tensors by name.
fn inputs(a: &ExportedProgram, b: &ExportedProgram, names: &HashMap<Arc<str>, Arc<str>>) -> Vec<(NodeId, NodeId)> {
    let users = |p: &ExportedProgram| crate::names::user_placeholders(p).map(|(id, _)| id).collect::<Vec<_>>();
    let lifted = |p: &ExportedProgram| -> Vec<(Arc<str>, NodeId)> {
        let all = p.graph.placeholders().zip(&p.signature.inputs);
        let one = |((id, _), spec): ((NodeId, &oxport_ir::Node), &oxport_ir::InputSpec)| match &spec.kind {
            InputKind::Token => Some(("token".into(), id)),
            kind => Some((kind.lifted()?.clone(), id)),
        };
        all.filter_map(one).collect()
    };
    let mut pairs: Vec<(NodeId, NodeId)> = users(a).into_iter().zip(users(b)).collect();
    let other: HashMap<Arc<str>, NodeId> = lifted(b).into_iter().collect();
    for (name, id) in lifted(a) {
        let name = names.get(&name).unwrap_or(&name);
        pairs.extend(other.get(name).map(|twin| (id, *twin)));
    }
    pairs
}

/// Gives placeholders of the second graph the names of their partners, and says which were called otherwise.
fn rename_inputs(a: &Graph, b: &mut Graph, pairs: &[(NodeId, NodeId)]) -> Vec<Line> {
    let mut lines = Vec::new();
    let others = pairs.iter().filter(|(x, y)| a.node(*x).name != b.node(*y).name).collect::<Vec<_>>();
    for (i, (x, y)) in others.iter().enumerate() {
        for (side, name) in [(Side::First, &a.node(*x).name), (Side::Second, &b.node(*y).name)] {
            let (graph, node) = (String::new(), name.to_string());
            lines.push(Line { side, graph, text: format!("input {node}"), node });
        }
        let _ = b.rename(*y, &format!("__input{i}"));
    }
    for (x, y) in others {
        let _ = b.rename(*y, &a.node(*x).name);
    }
    lines
}

/// Aligns two graphs and their subgraphs, and gives nodes of the second the names of their partners.
fn align_graphs(a: &Graph, b: &mut Graph, path: &str, inputs: &[(NodeId, NodeId)], found: &mut Vec<(String, Pairs)>) {
    let pairs = align(a, b, inputs);
    rename(a, b, &pairs);
    for (name, sub) in &mut b.subgraphs {
        let Some(other) = a.subgraphs.get(name) else { continue };
        let ids = |g: &Graph| g.placeholders().map(|(id, _)| id).collect::<Vec<_>>();
        let inputs: Vec<(NodeId, NodeId)> = ids(other).into_iter().zip(ids(sub)).collect();
        let path = if path.is_empty() { name.to_string() } else { format!("{path}.{name}") };
        align_graphs(other, sub, &path, &inputs, found);
    }
    found.insert(0, (path.to_string(), pairs));
}

fn rename(a: &Graph, b: &mut Graph, pairs: &Pairs) {
    let is_call = |kind: &NodeKind| !matches!(kind, NodeKind::Output | NodeKind::Placeholder);
    let calls: Vec<(NodeId, Arc<str>)> =
        b.nodes().filter(|(_, n)| is_call(&n.kind)).map(|(id, n)| (id, n.name.clone())).collect();
    // A name that is taken keeps the old one, which is then a difference of names only.
    for (i, (id, _)) in calls.iter().enumerate() {
        let _ = b.rename(*id, &format!("__moving{i}"));
    }
    for (id, _) in &calls {
        if let Some(partner) = pairs.get(id) {
            let _ = b.rename(*id, &a.node(*partner).name);
        }
    }
    for (id, old) in &calls {
        if !pairs.contains_key(id) {
            // A name of the first program is another node's, even if that one is gone.
            let free = if a.find(old).is_some() || b.find(old).is_some() { b.unique_name(old) } else { old.clone() };
            let _ = b.rename(*id, &free);
        }
    }
}

fn graph_at<'g>(graph: &'g Graph, path: &str) -> Option<&'g Graph> {
    match path.is_empty() {
        true => Some(graph),
        false => path.split('.').try_fold(graph, |g, name| g.subgraphs.get(name)),
    }
}

/// The lines behind the graph: the signature, with the types of inputs, and the ranges.
fn behind_graph(program: &ExportedProgram) -> Vec<String> {
    let text = oxport_ir::print::readable_with(program, Style::PLAIN, &|_, _| Vec::new());
    let behind = text.rfind("\nGraph signature:").map_or("", |at| &text[at..]);
    let (behind, ranges) = behind.split_once("\nRange constraints:").unwrap_or((behind, ""));
    let typed = |line: &str| {
        let node = line.split_once(':').and_then(|(name, _)| program.graph.find(name));
        let tensor = node.and_then(|id| program.graph.node(id).val()?.as_tensor());
        tensor.map_or_else(|| line.to_string(), |t| format!("{line} {t}"))
    };
    // They have no order of their own.
    let ranges = ranges.trim().trim_matches(['{', '}']).split("], ");
    let mut ranges: Vec<String> = ranges.map(|range| format!("range {}]", range.trim_end_matches(']'))).collect();
    ranges.sort();
    behind.lines().map(str::trim).filter(|line| !line.is_empty()).map(typed).chain(ranges).collect()
}

/// A line difference.
fn lines(a: &[String], b: &[String]) -> Vec<Line> {
    let line = |side, text: &str| Line { side, graph: String::new(), node: String::new(), text: text.to_string() };
    let pairs = longest(a.len(), b.len(), 1, &|i, j| u32::from(a[i] == b[j]));
    let (mut out, mut i, mut j) = (Vec::new(), 0, 0);
    for (x, y) in pairs.into_iter().chain([(a.len(), b.len())]) {
        out.extend(a[i..x].iter().map(|text| line(Side::First, text)));
        out.extend(b[j..y].iter().map(|text| line(Side::Second, text)));
        (i, j) = (x + 1, y + 1);
    }
    out
}
