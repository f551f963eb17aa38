//! What the document is told of programs, as JSON.
//!
//! A [`Page`] has a view for each program: the program of the file, and what optimization made of it. A view lists its
//! graphs, each with its clusters and nodes; nodes refer to one another by position. Texts that recur (operators,
//! values, stack traces) are in one table.
//!
//! Invariants: every index is in range; what cannot be shown plainly (control characters, marks of direction) stands as
//! its number, as on a terminal.

use crate::clusters::{Cluster, Clusters};
use crate::text;
use indexmap::{IndexMap, IndexSet};
use oxport_ir::infer::cost_of;
use oxport_ir::terminal::{Lines, Plain};
use oxport_ir::{Cost, Diagnostic, ExportedProgram, Graph, Loc, Node, NodeId, NodeKind, Severity};
use serde::Serialize;
use std::collections::HashMap;

/// The content of a document.
#[derive(Debug, Serialize)]
pub struct Page {
    title: String,
    producer: String,
    views: Vec<View>,
    strings: IndexSet<String>,
}

/// A program, and what is known of it.
pub struct Source<'a> {
    /// What the view is called: `program`, `optimized`.
    pub label: &'a str,
    /// What else is to be said, line by line.
    pub notes: Vec<String>,
    /// The program.
    pub program: &'a ExportedProgram,
    /// What is wrong with it.
    pub diagnostics: &'a [Diagnostic],
    /// The time of a call by its counts, in nanoseconds.
    pub model: &'a dyn Fn(&Cost) -> f64,
    /// Measured nanoseconds, by the name of a node of the top graph.
    pub measured: HashMap<String, f64>,
    /// What optimization changed, by the name of a node of the top graph.
    pub changes: IndexMap<String, Change>,
    /// How often each rule added something.
    pub rules: Vec<(String, usize)>,
}

/// What became of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// In which way.
    pub kind: ChangeKind,
    /// The call in the other program, if it has a node of that name.
    pub other: String,
    /// Why: rules and passes.
    pub reasons: Vec<String>,
}

/// In which way two programs differ in a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeKind {
    /// It is in both, with different calls.
    Changed,
    /// It is only in this program, the later one.
    Added,
    /// It is only in this program, the earlier one.
    Removed,
}

#[derive(Debug, Serialize)]
struct View {
    label: String,
    notes: Vec<String>,
    graphs: Vec<GraphView>,
    symbols: Vec<SymbolView>,
    diagnostics: Vec<DiagnosticView>,
    rules: Vec<(String, usize)>,
    is_measured: bool,
}

#[derive(Debug, Serialize)]
struct GraphView {
    name: String,
    /// The graph around it, and the node that calls it, if one does.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<(usize, Option<usize>)>,
    clusters: Vec<ClusterView>,
    nodes: Vec<NodeView>,
}

#[derive(Debug, Serialize)]
struct ClusterView {
    name: String,
    path: String,
    class: String,
    parent: usize,
}

#[derive(Debug, Serialize)]
struct SymbolView {
    name: String,
    range: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    captured: Option<String>,
}

#[derive(Debug, Serialize)]
struct DiagnosticView {
    code: &'static str,
    severity: String,
    at: String,
    message: String,
    notes: Vec<String>,
    /// The graph and the node that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<(usize, usize)>,
}

/// Numbers that are not said are positions in the table of strings.
#[derive(Debug, Serialize)]
struct NodeView {
    name: String,
    kind: &'static str,
    op: usize,
    #[serde(skip_serializing_if = "is_zero")]
    cluster: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    inputs: Vec<usize>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    args: Vec<(usize, String)>,
    #[serde(skip_serializing_if = "is_zero")]
    value: usize,
    #[serde(skip_serializing_if = "is_zero")]
    layout: usize,
    #[serde(skip_serializing_if = "is_zero")]
    ranges: usize,
    #[serde(skip_serializing_if = "is_zero")]
    trace: usize,
    #[serde(skip_serializing_if = "is_zero")]
    modules: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    meta: Vec<(usize, usize)>,
    /// The graphs that it calls.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    graphs: Vec<usize>,
    /// What fills a placeholder.
    #[serde(skip_serializing_if = "String::is_empty")]
    filled: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    class: String,
    /// Estimated nanoseconds, operations, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<[f64; 3]>,
    /// Measured nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    change: Option<ChangeView>,
}

#[derive(Debug, Serialize)]
struct ChangeView {
    kind: ChangeKind,
    other: String,
    reasons: Vec<usize>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_zero(n: &usize) -> bool {
    *n == 0
}

fn plain(text: &str) -> String {
    Plain(text).to_string()
}

/// A number without digits that nobody reads.
fn rounded(x: f64) -> f64 {
    if x.is_finite() { (x * 10.0).round() / 10.0 } else { 0.0 }
}

impl Page {
    /// A page without programs.
    pub fn new(title: &str) -> Page {
        let producer = concat!("oxport ", env!("CARGO_PKG_VERSION")).to_string();
        Page { title: plain(title), producer, views: Vec::new(), strings: IndexSet::from([String::new()]) }
    }

    /// The title.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// The same with a view of one more program.
    pub fn with(mut self, source: &Source<'_>) -> Page {
        let mut viewer = Viewer { source, strings: &mut self.strings, graphs: Vec::new(), paths: HashMap::new() };
        viewer.graph(&source.program.graph, "", "", None);
        let (graphs, paths) = (viewer.graphs, viewer.paths);
        let diagnostics = source.diagnostics.iter().map(|d| diagnostic(d, source.program, &graphs, &paths)).collect();
        self.views.push(View {
            label: plain(source.label),
            notes: source.notes.iter().map(|note| plain(note)).collect(),
            graphs,
            symbols: symbols(source.program),
            diagnostics,
            rules: source.rules.iter().map(|(rule, n)| (plain(rule), *n)).collect(),
            is_measured: !source.measured.is_empty(),
        });
        self
    }
}

/// Makes the views of a program's graphs.
struct Viewer<'s, 'a> {
    source: &'s Source<'a>,
    strings: &'s mut IndexSet<String>,
    graphs: Vec<GraphView>,
    /// The places of graphs, by their paths as diagnostics write them.
    paths: HashMap<String, usize>,
}

impl Viewer<'_, '_> {
    fn string(&mut self, text: &str) -> usize {
        self.strings.insert_full(Plain(text).to_string()).0
    }
    fn lines(&mut self, text: &str) -> usize {
        self.strings.insert_full(Lines(text.trim_end()).to_string()).0
    }

    /// Adds a graph and, behind it, its subgraphs; gives its place.
    fn graph(&mut self, graph: &Graph, path: &str, name: &str, parent: Option<(usize, Option<usize>)>) -> usize {
        let place = self.graphs.len();
        let is_top = parent.is_none();
        let clusters = match is_top {
            true => Clusters::of_program(self.source.program),
            false => Clusters::of_subgraph(graph),
        };
        let list = clusters.list.iter().map(view_of_cluster).collect();
        self.graphs.push(GraphView { name: plain(name), parent, clusters: list, nodes: Vec::new() });
        self.paths.insert(path.to_string(), place);
        let places: HashMap<NodeId, usize> = graph.ids().zip(0..).collect();
        let mut nodes: Vec<NodeView> = Vec::with_capacity(graph.len());
        for (i, (_, node)) in graph.nodes().enumerate() {
            nodes.push(self.node(graph, node, &places, clusters.of[i], is_top));
        }
        let mut filled = self.source.program.signature.inputs.iter();
        for node in nodes.iter_mut().filter(|node| is_top && node.kind == "input") {
            node.filled =
                filled.next().and_then(|spec| text::filled_by(&spec.kind)).map_or(String::new(), |t| plain(&t));
        }
        // The first node that mentions a subgraph has it; others refer to the same one.
        let mut called: HashMap<&str, usize> = HashMap::new();
        for (i, (_, node)) in graph.nodes().enumerate() {
            for input in node.inputs() {
                let Some((name, sub)) = subgraph_of(graph, input) else { continue };
                let at = match called.get(name) {
                    Some(at) => *at,
                    None => self.graph(sub, &within(path, name), name, Some((place, Some(i)))),
                };
                called.insert(name, at);
                if !nodes[i].graphs.contains(&at) {
                    nodes[i].graphs.push(at);
                }
            }
        }
        for (name, sub) in graph.subgraphs.iter().filter(|(name, _)| !called.contains_key(&***name)) {
            self.graph(sub, &within(path, name), name, Some((place, None)));
        }
        self.graphs[place].nodes = nodes;
        place
    }

    fn node(
        &mut self,
        graph: &Graph,
        node: &Node,
        places: &HashMap<NodeId, usize>,
        cluster: usize,
        is_top: bool,
    ) -> NodeView {
        let source = self.source;
        let arguments = match node.kind {
            NodeKind::Output => returned(graph, source.program, node, is_top),
            _ => text::arguments(graph, node),
        };
        let cost = cost_of(graph, node, &source.program.env).filter(|_| !is_calling(graph, node));
        let op = self.string(&text::operator(node));
        let args = arguments.iter().map(|(name, value)| (self.string(name), plain(value))).collect();
        let meta = &node.meta;
        let mut extra = Vec::new();
        let torch_fn = meta.torch_fn.as_deref().map(|text| ("torch_fn", text));
        for (key, text) in torch_fn.into_iter().chain(meta.extra.iter().map(|(k, t)| (&**k, &**t))) {
            extra.push((self.string(key), self.lines(text)));
        }
        let change = source.changes.get(&*node.name).filter(|_| is_top).map(|change| ChangeView {
            kind: change.kind,
            other: plain(&change.other),
            reasons: change.reasons.iter().map(|reason| self.string(reason)).collect(),
        });
        let val = node.val();
        NodeView {
            name: plain(&node.name),
            kind: match &node.kind {
                NodeKind::Placeholder => "input",
                NodeKind::CallFunction(_) => "call",
                NodeKind::GetAttr(_) => "attr",
                NodeKind::Output => "output",
            },
            op,
            cluster,
            inputs: node.inputs().iter().filter_map(|input| places.get(input).copied()).collect(),
            args,
            value: val.map_or(0, |val| self.string(&text::value(val))),
            layout: val.map_or(0, |val| self.lines(&text::layout(val))),
            ranges: val.map_or(0, |val| self.lines(&text::ranges(source.program, val))),
            trace: meta.stack_trace.as_deref().map_or(0, |trace| self.lines(trace)),
            modules: meta.nn_module_stack.as_deref().map_or(0, |_| self.lines(&modules(node))),
            meta: extra,
            graphs: Vec::new(),
            filled: String::new(),
            class: cost.map_or(String::new(), |cost| cost.class.name().into()),
            cost: cost.map(|cost| [rounded((source.model)(&cost)), rounded(cost.flops), rounded(cost.bytes)]),
            time: source.measured.get(&*node.name).filter(|_| is_top).map(|time| rounded(*time)),
            change,
        }
    }
}

/// The path of a subgraph, as diagnostics write it.
fn within(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_string() } else { format!("{path}.{name}") }
}

/// The subgraph that a node is the name of.
pub(crate) fn subgraph_of(graph: &Graph, id: NodeId) -> Option<(&str, &Graph)> {
    let NodeKind::GetAttr(name) = &graph.get(id)?.kind else { return None };
    Some((name, graph.subgraphs.get(name)?))
}

/// True if what a node does is what its subgraphs do.
fn is_calling(graph: &Graph, node: &Node) -> bool {
    node.op().is_some_and(|op| op.is_higher_order()) && node.inputs().iter().any(|id| subgraph_of(graph, *id).is_some())
}

/// What an output node returns: each value, by what it is.
fn returned(graph: &Graph, program: &ExportedProgram, node: &Node, is_top: bool) -> Vec<(String, String)> {
    let one = |(i, a): (usize, &oxport_ir::Argument)| {
        let spec = program.signature.outputs.get(i).filter(|_| is_top);
        let what = spec.map_or_else(|| i.to_string(), |spec| format!("{i}: {}", text::returned_as(&spec.kind)));
        (what, text::argument(graph, a))
    };
    node.args.iter().enumerate().map(one).collect()
}

/// The modules around a node, a line each; the text itself, where it cannot be read.
fn modules(node: &Node) -> String {
    match node.meta.modules() {
        Ok(frames) => frames.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
        Err(_) => node.meta.nn_module_stack.as_deref().unwrap_or_default().to_string(),
    }
}

fn view_of_cluster(cluster: &Cluster) -> ClusterView {
    let (name, path, class) = (plain(&cluster.name), plain(&cluster.path), plain(&cluster.class));
    ClusterView { name, path, class, parent: cluster.parent }
}

/// The symbols of all values, with their ranges.
fn symbols(program: &ExportedProgram) -> Vec<SymbolView> {
    let mut found = IndexMap::new();
    let mut note = |graph: &Graph| {
        for (_, node) in graph.nodes() {
            node.val().into_iter().for_each(|val| {
                val.for_each_expr(&mut |e| found.extend(e.free_symbols().into_iter().map(|s| (s, ()))));
            });
        }
    };
    fn each(graph: &Graph, f: &mut dyn FnMut(&Graph)) {
        f(graph);
        graph.subgraphs.values().for_each(|sub| each(sub, f));
    }
    each(&program.graph, &mut note);
    let one = |symbol| {
        let known = program.env.range(symbol);
        let (name, captured) = (symbol.name().to_string(), program.env.hint(symbol).map(ToString::to_string));
        let declared = program.ranges.iter().find(|(e, _)| e.to_string() == name).map(|(_, r)| r);
        let min = declared.map_or_else(|| known.min_int(), |r| r.min);
        let max = declared.map_or_else(|| known.max_int(), |r| r.max);
        SymbolView { name: plain(&name), range: text::range(min, max), captured }
    };
    found.keys().map(one).collect()
}

fn diagnostic(
    d: &Diagnostic,
    program: &ExportedProgram,
    graphs: &[GraphView],
    paths: &HashMap<String, usize>,
) -> DiagnosticView {
    let named = |graph: &str, name: &str| {
        let (place, name) = (*paths.get(graph)?, plain(name));
        Some((place, graphs.get(place)?.nodes.iter().position(|node| node.name == name)?))
    };
    let of_kind = |kind: &str, i: usize| {
        let mut places = graphs.first()?.nodes.iter().enumerate().filter(|(_, node)| node.kind == kind);
        places.nth(i).map(|(at, _)| (0, at))
    };
    let node = match &d.at {
        Loc::Node { graph, node } | Loc::Argument { graph, node, .. } => named(graph, node),
        Loc::Input(i) => of_kind("input", *i),
        Loc::Output(_) => of_kind("output", 0),
        Loc::State(name) => {
            let mut specs = program.signature.inputs.iter();
            let at = specs.position(|spec| spec.kind.lifted().is_some_and(|lifted| **lifted == **name));
            at.and_then(|i| of_kind("input", i))
        }
        _ => None,
    };
    let severity = if d.severity == Severity::Error { "error" } else { "warning" };
    DiagnosticView {
        code: d.code,
        severity: severity.to_string(),
        at: plain(&d.at.to_string()),
        message: plain(&d.message),
        notes: d.notes.iter().map(|note| plain(note)).collect(),
        node,
    }
}
