//! The modules around the nodes of a graph, as a tree.
//!
//! The tree has a level for each component of a module's path (`layers`, `0`, `attention`), also for containers that
//! are never called themselves. A second call of a module (`@1`) is a cluster of its own. In a subgraph the modules
//! that are around all of its nodes are left out.
//!
//! Invariants: cluster 0 is the graph itself; a cluster stands behind its parent; every node is in one cluster.

use oxport_ir::{ExportedProgram, Graph, InputKind, NodeKind};
use std::collections::HashMap;

/// A module, or the graph itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cluster {
    /// The last part of the path: `attention`; several parts where there is nothing but them: `layers.0`.
    pub name: String,
    /// The path in the model.
    pub path: String,
    /// The class, where a node says it.
    pub class: String,
    /// The cluster around it; 0 of cluster 0.
    pub parent: usize,
}

/// The clusters of a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clusters {
    /// The clusters, the graph itself first.
    pub list: Vec<Cluster>,
    /// The cluster of every node, in the order of the nodes.
    pub of: Vec<usize>,
}

/// Modules nest no deeper than that; what is within more is in the last.
const MAX_DEPTH: usize = 48;

/// A level of the tree around a node: its name, which call of the module it is, the path, and the class.
#[derive(Clone, PartialEq, Eq)]
struct Level {
    name: String,
    call: String,
    path: String,
    class: String,
}

impl Clusters {
    /// The clusters of a program's graph. Parameters and buffers are with the module that has them.
    pub fn of_program(program: &ExportedProgram) -> Clusters {
        let stacks: Vec<Vec<Level>> = program.graph.nodes().map(|(_, node)| levels(node)).collect();
        let mut tree = Tree::new(&stacks);
        let nodes = program.graph.nodes().enumerate();
        let placeholders = nodes.filter(|(_, (_, node))| node.kind == NodeKind::Placeholder);
        for ((at, _), spec) in placeholders.zip(&program.signature.inputs) {
            if let InputKind::Parameter(name) | InputKind::Buffer { name, .. } = &spec.kind {
                tree.of[at] = tree.nearest(name);
            }
        }
        tree.finish()
    }

    /// The clusters of a subgraph.
    pub fn of_subgraph(graph: &Graph) -> Clusters {
        let mut stacks: Vec<Vec<Level>> = graph.nodes().map(|(_, node)| levels(node)).collect();
        let mut shared: Option<Vec<Level>> = None;
        for stack in stacks.iter().filter(|stack| !stack.is_empty()) {
            let common = shared.get_or_insert_with(|| stack.clone());
            let length = common.iter().zip(stack).take_while(|(a, b)| a == b).count();
            common.truncate(length);
        }
        let length = shared.map_or(0, |shared| shared.len());
        stacks.iter_mut().filter(|stack| !stack.is_empty()).for_each(|stack| drop(stack.drain(..length)));
        Tree::new(&stacks).finish()
    }
}

/// The levels around a node, outermost first; none, where its metadata cannot be read, which the verifier says.
fn levels(node: &oxport_ir::Node) -> Vec<Level> {
    let (mut levels, mut around) = (Vec::new(), String::new());
    for frame in node.meta.modules().unwrap_or_default() {
        // What PyTorch writes for nodes without a module.
        if frame.path.is_empty() || frame.path.starts_with("_empty_nn_module_stack") {
            continue;
        }
        let within = frame.path.strip_prefix(&*around).and_then(|rest| rest.strip_prefix('.'));
        // A module that belongs to another one than that which calls it has its whole path.
        let (mut path, own) = match within {
            Some(own) if !around.is_empty() => (around.clone(), own),
            _ => (String::new(), frame.path),
        };
        let parts = parts(own);
        for (i, part) in parts.iter().enumerate() {
            path = if path.is_empty() { part.to_string() } else { format!("{path}.{part}") };
            let (call, class) = match i + 1 == parts.len() {
                true => (frame.key.rsplit_once('@').map_or("", |(_, n)| n), frame.class),
                false => ("", ""),
            };
            let (call, class) = (call.to_string(), class.to_string());
            levels.push(Level { name: part.to_string(), call, path: path.clone(), class });
        }
        around = frame.path.to_string();
    }
    levels.truncate(MAX_DEPTH);
    levels
}

/// The parts between dots that are in no brackets.
fn parts(path: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0i64);
    for (i, c) in path.char_indices() {
        match c {
            '[' | '(' => depth += 1,
            ']' | ')' => depth -= 1,
            '.' if depth == 0 => {
                parts.push(&path[start..i]);
                start = i + 1;
            }
            _ => {}
        }
    }
    parts.push(&path[start..]);
    parts
}

struct Tree {
    list: Vec<Cluster>,
    of: Vec<usize>,
    places: HashMap<(usize, String, String), usize>,
}

impl Tree {
    fn new(stacks: &[Vec<Level>]) -> Tree {
        let mut tree = Tree { list: vec![Cluster::default()], of: Vec::new(), places: HashMap::new() };
        for stack in stacks {
            let at = stack.iter().fold(0, |parent, level| tree.child(parent, level));
            tree.of.push(at);
        }
        tree
    }

    fn child(&mut self, parent: usize, level: &Level) -> usize {
        let place = (parent, level.name.clone(), level.call.clone());
        let next = self.list.len();
        let at = *self.places.entry(place).or_insert(next);
        if at == next {
            let name = match level.call.as_str() {
                "" => level.name.clone(),
                call => format!("{}@{call}", level.name),
            };
            self.list.push(Cluster { name, path: level.path.clone(), class: level.class.clone(), parent });
        } else if self.list[at].class.is_empty() {
            self.list[at].class.clone_from(&level.class);
        }
        at
    }

    /// The innermost cluster that a state tensor is in, by its name.
    fn nearest(&self, name: &str) -> usize {
        let mut at = 0;
        for part in parts(name) {
            match self.places.get(&(at, part.to_string(), String::new())) {
                Some(inner) => at = *inner,
                None => break,
            }
        }
        at
    }

    /// Joins a cluster that has nothing but one other cluster with that one.
    fn finish(self) -> Clusters {
        let Tree { list, of, .. } = self;
        let (mut nodes, mut inner) = (vec![0usize; list.len()], vec![0usize; list.len()]);
        of.iter().for_each(|at| nodes[*at] += 1);
        list.iter().skip(1).for_each(|cluster| inner[cluster.parent] += 1);
        let is_joined = |at: usize| at > 0 && nodes[at] == 0 && inner[at] == 1;
        let mut kept: Vec<Cluster> = Vec::new();
        // Of a joined cluster: the place of its parent, and the names to put before that of its only child.
        let mut places: Vec<(usize, String)> = Vec::with_capacity(list.len());
        for (at, cluster) in list.into_iter().enumerate() {
            let (parent, before) = places.get(cluster.parent).cloned().unwrap_or_default();
            let name = if before.is_empty() { cluster.name } else { format!("{before}.{}", cluster.name) };
            if is_joined(at) {
                places.push((parent, name));
                continue;
            }
            places.push((kept.len(), String::new()));
            kept.push(Cluster { name, parent, ..cluster });
        }
        Clusters { list: kept, of: of.into_iter().map(|at| places[at].0).collect() }
    }
}
