//! A program for Graphviz.
//!
//! A node says its operator, its name and its value; an edge says the value that goes along it. Modules and subgraphs
//! are clusters; a dashed edge leads from a call to each of its subgraphs.
//!
//! Invariants: the text is valid DOT whatever the names are; every node stands before the edges; a line is one
//! statement.

use crate::clusters::{Cluster, Clusters};
use crate::page::subgraph_of;
use crate::text;
use oxport_ir::terminal::Plain;
use oxport_ir::{ExportedProgram, Graph, Node, NodeId, NodeKind};
use std::collections::HashMap;
use std::fmt::Write;

/// Attributes of all nodes and edges; an edge may end at a cluster.
const STYLE: &str = "    graph [compound=true, fontname=monospace];
    node [shape=box, fontname=monospace];
    edge [fontname=monospace, fontsize=10];
";

/// The program as a graph in the DOT language.
pub fn dot(program: &ExportedProgram) -> String {
    let mut printer = Printer::default();
    printer.graph(&program.graph, &Clusters::of_program(program), "", 1);
    let Printer { nodes, edges, .. } = printer;
    format!("digraph program {{\n{STYLE}{nodes}{edges}}}\n")
}

#[derive(Default)]
struct Printer {
    nodes: String,
    edges: String,
    /// How many clusters there are so far, which are named by numbers.
    clusters: usize,
    /// The clusters of subgraphs, by their paths.
    places: HashMap<String, usize>,
}

impl Printer {
    /// Writes a graph whose path is given.
    fn graph(&mut self, graph: &Graph, clusters: &Clusters, path: &str, depth: usize) {
        let mut content = vec![Content::default(); clusters.list.len()];
        graph.ids().zip(&clusters.of).for_each(|(id, at)| content[*at].nodes.push(id));
        clusters.list.iter().enumerate().skip(1).for_each(|(at, cluster)| content[cluster.parent].clusters.push(at));
        self.cluster(&Level { graph, clusters, content, path }, 0, depth);
        for (_, node) in graph.nodes() {
            let to = identifier(path, node);
            // Of a subgraph, its cluster is the end of an edge.
            for input in node.inputs().into_iter().filter(|input| subgraph_of(graph, *input).is_none()) {
                let from = graph.node(input);
                let label = quoted(&from.val().map_or_else(String::new, text::value));
                let _ = writeln!(self.edges, "    {} -> {to} [label={label}];", identifier(path, from));
            }
        }
    }

    /// Writes the nodes of a cluster, and the clusters within.
    fn cluster(&mut self, level: &Level<'_>, at: usize, depth: usize) {
        let pad = "    ".repeat(depth);
        let Level { graph, clusters, content, path } = level;
        for id in content[at].nodes.iter().filter(|id| subgraph_of(graph, **id).is_none()) {
            let node = graph.node(*id);
            let _ = writeln!(self.nodes, "{pad}{} [label={}];", identifier(path, node), label(node));
            node.inputs().into_iter().for_each(|input| self.subgraph(graph, path, *id, input, depth));
        }
        for inner in &content[at].clusters {
            self.open(&title(&clusters.list[*inner]), depth);
            self.cluster(level, *inner, depth + 1);
            let _ = writeln!(self.nodes, "{pad}}}");
        }
    }

    /// Writes the subgraph that a node calls by this input, if it is one.
    fn subgraph(&mut self, graph: &Graph, path: &str, caller: NodeId, input: NodeId, depth: usize) {
        let Some((name, sub)) = subgraph_of(graph, input) else { return };
        let inner = if path.is_empty() { name.to_string() } else { format!("{path}.{name}") };
        // A subgraph that several nodes call is at the first of them.
        if graph.users(input).keys().next() == Some(&caller) {
            self.places.insert(inner.clone(), self.clusters);
            self.open(name, depth);
            self.graph(sub, &Clusters::of_subgraph(sub), &inner, depth + 1);
            let _ = writeln!(self.nodes, "{}}}", "    ".repeat(depth));
        }
        if let Some((_, first)) = sub.nodes().next() {
            let (from, to) = (identifier(path, graph.node(caller)), identifier(&inner, first));
            let head = self.places.get(&inner).map_or_else(String::new, |at| format!(", lhead=cluster_{at}"));
            let label = quoted(name);
            let _ = writeln!(self.edges, "    {from} -> {to} [style=dashed, label={label}{head}];");
        }
    }

    /// Opens a cluster.
    fn open(&mut self, label: &str, depth: usize) {
        let pad = "    ".repeat(depth);
        let _ = writeln!(self.nodes, "{pad}subgraph cluster_{} {{ label={};", self.clusters, quoted(label));
        self.clusters += 1;
    }
}

/// A graph with what each of its clusters holds.
struct Level<'a> {
    graph: &'a Graph,
    clusters: &'a Clusters,
    content: Vec<Content>,
    path: &'a str,
}

#[derive(Clone, Default)]
struct Content {
    nodes: Vec<NodeId>,
    clusters: Vec<usize>,
}

fn title(cluster: &Cluster) -> String {
    if cluster.class.is_empty() { cluster.name.clone() } else { format!("{}: {}", cluster.name, cluster.class) }
}

/// The operator, the name and the value, a line each.
fn label(node: &Node) -> String {
    let what = match &node.kind {
        NodeKind::CallFunction(op) => op.short_name().to_string(),
        _ => text::operator(node),
    };
    let value = node.val().map(text::value).filter(|text| !text.is_empty());
    let lines: Vec<String> = [Some(what), Some(node.name.to_string()), value].into_iter().flatten().collect();
    // The end of a line is two characters of the DOT language, which no name can bring.
    format!("\"{}\"", lines.iter().map(|line| inner(line)).collect::<Vec<_>>().join("\\n"))
}

/// The identifier of a node: its name, after the path of its subgraph.
fn identifier(path: &str, node: &Node) -> String {
    if path.is_empty() { quoted(&node.name) } else { quoted(&format!("{path}:{}", node.name)) }
}

/// A string of the DOT language that is shown as this text.
fn quoted(text: &str) -> String {
    format!("\"{}\"", inner(text))
}

fn inner(text: &str) -> String {
    Plain(text).to_string().replace('\\', "\\\\").replace('"', "\\\"")
}
