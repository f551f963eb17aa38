//! Which node of one graph is which of another: by what a node computes, in the order of the graph, then by name.
//!
//! Invariant: a node has at most one partner. Names break ties only, so that two exports of one model that number their
//! nodes differently are aligned.

use oxport_ir::{Argument, Graph, Node, NodeId, NodeKind, Val};
use std::collections::{HashMap, HashSet};

/// The pairs of two graphs: placeholders, then other nodes; second to first.
pub(super) type Pairs = HashMap<NodeId, NodeId>;

/// Aligns the nodes of two graphs; `inputs` are pairs of placeholders.
pub(super) fn align(a: &Graph, b: &Graph, inputs: &[(NodeId, NodeId)]) -> Pairs {
    let key_a: HashMap<NodeId, usize> = inputs.iter().enumerate().map(|(i, (x, _))| (*x, i)).collect();
    let key_b: HashMap<NodeId, usize> = inputs.iter().enumerate().map(|(i, (_, y))| (*y, i)).collect();
    let (tokens_a, tokens_b) = (Tokens::of(a, &key_a), Tokens::of(b, &key_b));
    let score = |i: usize, j: usize| {
        let ((x, text_x), (y, text_y)) = (&tokens_a.0[i], &tokens_b.0[j]);
        match text_x == text_y {
            true => 4 + u32::from(a.node(*x).name == b.node(*y).name),
            false => 0,
        }
    };
    let mut pairs: Pairs = inputs.iter().map(|(x, y)| (*y, *x)).collect();
    for (i, j) in longest(tokens_a.0.len(), tokens_b.0.len(), 5, &score) {
        pairs.insert(tokens_b.0[j].0, tokens_a.0[i].0);
    }
    let mut taken: HashSet<NodeId> = pairs.values().copied().collect();
    // The same operator of the same operands, whose result is described in another way: strides that are equal.
    let key = |node: &Node, partner: &dyn Fn(NodeId) -> Option<NodeId>| {
        let NodeKind::CallFunction(op) = &node.kind else { return None };
        let mut is_known = true;
        let mut operand = |n: NodeId| match partner(n) {
            Some(n) => Argument::Str(format!("{n:?}").into()),
            None => {
                is_known = false;
                Argument::None
            }
        };
        let args: Vec<Argument> = node.args.iter().map(|a| a.map_nodes(&mut operand)).collect();
        let kwargs = node.kwargs.map_nodes(&mut operand);
        is_known.then(|| format!("{} {args:?} {kwargs:?}", op.name()))
    };
    let mut described: HashMap<String, Vec<(NodeId, &str)>> = HashMap::new();
    for (id, node) in a.nodes().filter(|(id, _)| !taken.contains(id)) {
        key(node, &Some).into_iter().for_each(|key| described.entry(key).or_default().push((id, &node.name)));
    }
    for (id, node) in b.nodes() {
        if !pairs.contains_key(&id)
            && let Some(key) = key(node, &|n| pairs.get(&n).copied())
            && let Some(others) = described.get_mut(&key).filter(|others| !others.is_empty())
        {
            let at = others.iter().position(|(_, name)| *name == &*node.name).unwrap_or(0);
            let (other, _) = others.remove(at);
            pairs.insert(id, other);
            taken.insert(other);
        }
    }
    // What stands elsewhere, or computes with other arguments: the same operator under the same name.
    for (id, node) in b.nodes() {
        let Some(other) = a.find(&node.name).filter(|other| !taken.contains(other)) else { continue };
        if !pairs.contains_key(&id) && is_alike(a.node(other), node) {
            pairs.insert(id, other);
            taken.insert(other);
        }
    }
    // What computes the same and only stands elsewhere.
    let mut left: Vec<&(NodeId, String)> = tokens_a.0.iter().filter(|(x, _)| !taken.contains(x)).collect();
    for (y, text) in tokens_b.0.iter().filter(|(y, _)| !pairs.contains_key(y)).collect::<Vec<_>>() {
        if let Some(at) = left.iter().position(|(_, other)| other == text) {
            pairs.insert(*y, left.remove(at).0);
        }
    }
    pairs
}

fn is_alike(a: &Node, b: &Node) -> bool {
    match (&a.kind, &b.kind) {
        (NodeKind::CallFunction(x), NodeKind::CallFunction(y)) => x == y,
        (NodeKind::GetAttr(_), NodeKind::GetAttr(_)) | (NodeKind::Output, NodeKind::Output) => true,
        _ => false,
    }
}

/// What every node that is no placeholder computes, as text: the operator, constants, which input it reads, and its
/// result, but not the names of other operands.
struct Tokens(Vec<(NodeId, String)>);

impl Tokens {
    fn of(graph: &Graph, inputs: &HashMap<NodeId, usize>) -> Tokens {
        let mut list = Vec::new();
        for (id, node) in graph.nodes() {
            let what = match &node.kind {
                NodeKind::Placeholder => continue,
                NodeKind::CallFunction(op) => op.name(),
                NodeKind::GetAttr(name) => name,
                // There is one, whatever it returns.
                NodeKind::Output => {
                    list.push((id, "output".to_string()));
                    continue;
                }
            };
            // A call for its effect has no value, said or not.
            let mut text = format!("{what} {:?}", node.val().unwrap_or(&Val::None));
            let mut operand = |n: NodeId| match inputs.get(&n) {
                Some(i) => Argument::Str(format!("input {i}").into()),
                None => Argument::Str("node".into()),
            };
            for argument in &node.args {
                text += &format!(" {:?}", argument.map_nodes(&mut operand));
            }
            text += &format!(" {:?}", node.kwargs.map_nodes(&mut operand));
            list.push((id, text));
        }
        Tokens(list)
    }
}

/// The most cells of a table; larger ones are aligned at their ends only.
const MOST_CELLS: usize = 1 << 24;

/// The pairs of two sequences with the greatest sum of scores, both ascending. A score of `best` is the greatest there
/// is; 0 is no pair.
pub(super) fn longest(n: usize, m: usize, best: u32, score: &dyn Fn(usize, usize) -> u32) -> Vec<(usize, usize)> {
    let is_large = |n: usize, m: usize| n.saturating_mul(m) > MOST_CELLS;
    // Ends that fit in every way are taken; in large sequences, those that fit at all.
    let least = if is_large(n, m) { 1 } else { best };
    let head = (0..n.min(m)).take_while(|&i| score(i, i) >= least).count();
    let tail = (0..n.min(m) - head).take_while(|&i| score(n - 1 - i, m - 1 - i) >= least).count();
    let (rows, columns) = (n - head - tail, m - head - tail);
    let mut pairs: Vec<(usize, usize)> = (0..head).map(|i| (i, i)).collect();
    if !is_large(rows, columns) {
        let at = |i: usize, j: usize| i * (columns + 1) + j;
        let mut sums = vec![0u32; (rows + 1) * (columns + 1)];
        for i in (0..rows).rev() {
            for j in (0..columns).rev() {
                let pair = match score(head + i, head + j) {
                    0 => 0,
                    s => s + sums[at(i + 1, j + 1)],
                };
                sums[at(i, j)] = pair.max(sums[at(i + 1, j)]).max(sums[at(i, j + 1)]);
            }
        }
        let (mut i, mut j) = (0, 0);
        while i < rows && j < columns {
            let s = score(head + i, head + j);
            if s > 0 && sums[at(i, j)] == s + sums[at(i + 1, j + 1)] {
                pairs.push((head + i, head + j));
                (i, j) = (i + 1, j + 1);
            } else if sums[at(i, j)] == sums[at(i + 1, j)] {
                i += 1;
            } else {
                j += 1;
            }
        }
    }
    pairs.extend((0..tail).rev().map(|i| (n - 1 - i, m - 1 - i)));
    pairs
}
