//! Which stretches of a program's nodes repeat, and which classes correspond.
//!
//! Law: what is found depends on the program alone: nodes are compared by operators, constants and types, in the
//! program's order.

use super::{Class, Run};
use crate::ingest::Ingested;
use crate::term::Term;
use crate::typing::{Graph, Kind};
use egg::{Id, Language};
use oxport_ir::{ExportedProgram, NodeId, Val};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// How many nodes must be alike for a stretch to be looked at.
const WINDOW: usize = 8;
/// How many later places of a stretch are looked at.
const PLACES: usize = 64;

/// Equal blocks one behind another: the first node, the nodes of a block, and how many blocks.
struct Stretch {
    start: usize,
    period: usize,
    blocks: usize,
}

/// The runs of equal blocks in a program.
pub(super) fn find(program: &ExportedProgram, ingested: &Ingested<'_>) -> Vec<Run> {
    let nodes: Vec<NodeId> = program.graph.nodes().filter(|(_, n)| n.op().is_some()).map(|(id, _)| id).collect();
    let signatures: Vec<u64> = nodes.iter().map(|&id| signature(program, ingested, id)).collect();
    let runs = stretches(&signatures).into_iter().map(|stretch| run(ingested, &nodes, &stretch));
    runs.filter(|run| run.copies > 0).collect()
}

/// A number that nodes which are alike have in common.
fn signature(program: &ExportedProgram, ingested: &Ingested<'_>, id: NodeId) -> u64 {
    let graph = &ingested.egraph;
    let mut hasher = DefaultHasher::new();
    let node = program.graph.node(id);
    node.op().map(|op| op.name()).hash(&mut hasher);
    if let Some(term) = ingested.term_of.get(&id) {
        term.children().iter().for_each(|kid| hash_constants(graph, *kid, &mut hasher));
    }
    if let Some(Val::Tensor(t)) = node.val() {
        t.dtype.code().hash(&mut hasher);
        t.sizes.iter().for_each(|size| size.as_int().hash(&mut hasher));
    }
    hasher.finish()
}

fn hash_constants(graph: &Graph<'_>, class: Id, hasher: &mut DefaultHasher) {
    match (&*graph[class].data.kind, list(graph, class)) {
        (Kind::Const(c), _) => c.hash(hasher),
        (_, Some(items)) => items.iter().for_each(|item| hash_constants(graph, *item, hasher)),
        _ => 0u8.hash(hasher),
    }
}

/// The items of a list.
fn list<'a>(graph: &'a Graph<'_>, class: Id) -> Option<&'a [Id]> {
    graph[class].nodes.iter().find_map(|term| if let Term::List(items) = term { Some(&**items) } else { None })
}

/// The longest stretches of equal blocks, at least three of them, from the first node on.
fn stretches(signatures: &[u64]) -> Vec<Stretch> {
    let windows: Vec<u64> = signatures
        .windows(WINDOW)
        .map(|window| {
            let mut hasher = DefaultHasher::new();
            window.hash(&mut hasher);
            hasher.finish()
        })
        .collect();
    let mut places: HashMap<u64, Vec<usize>> = HashMap::new();
    windows.iter().enumerate().for_each(|(at, window)| places.entry(*window).or_default().push(at));
    // Where the nodes that are like those a period later end.
    let mut ends: HashMap<usize, usize> = HashMap::new();
    let (mut found, mut start) = (Vec::new(), 0);
    while let Some(window) = windows.get(start) {
        let later = &places[window];
        let later = &later[later.partition_point(|&place| place <= start)..];
        let mut best = None;
        for period in later.iter().take(PLACES).map(|place| place - start) {
            let end = ends.entry(period).or_insert(start);
            *end = (*end).max(start);
            while signatures.get(*end + period).is_some_and(|next| *next == signatures[*end]) {
                *end += 1;
            }
            let alike = *end - start;
            if alike >= 2 * period {
                best = best.max(Some((alike + period, Reverse(period))));
            }
        }
        start += match best {
            Some((nodes, Reverse(period))) => {
                found.push(Stretch { start, period, blocks: nodes / period });
                nodes / period * period
            }
            None => 1,
        };
    }
    found
}

/// The classes of the first two blocks of a stretch, and what is in their places in the others, up to one that is not
/// like them.
fn run(ingested: &Ingested<'_>, nodes: &[NodeId], stretch: &Stretch) -> Run {
    let Stretch { start, period, blocks } = *stretch;
    let classes = nodes[start..start + 2 * period].iter().filter_map(|node| ingested.term_class_of.get(node));
    let end = classes.copied().max().unwrap_or_default();
    let mut run = Run { copies: blocks - 2, end, ..Run::default() };
    for copy in 0..run.copies {
        let by = (copy + 1) * period;
        for at in start..start + 2 * period {
            let is_own = at >= start + period;
            // The first block need not have anything in common with the copy: its neighbor before it differs.
            if !run.pair_nodes(ingested, (nodes[at], nodes[at + by]), copy, is_own) && is_own {
                run.copies = copy;
                return run;
            }
        }
        let mut pairs = (start + period..start + 2 * period).map(|at| (nodes[at], nodes[at + by]));
        if !pairs.all(|pair| run.is_image(ingested, pair, copy)) {
            run.copies = copy;
            return run;
        }
    }
    run
}

impl Run {
    /// Whether the term of a node of a copy is what the pairs make of that of another node.
    fn is_image(&self, ingested: &Ingested<'_>, (one, other): (NodeId, NodeId), copy: usize) -> bool {
        let image = |kid: &Id| self.at.get(kid).and_then(|&at| self.classes[at].images[copy]).unwrap_or(*kid);
        match (ingested.term_of.get(&one), ingested.term_of.get(&other)) {
            (Some(a), Some(b)) => a.children().iter().map(image).eq(b.children().iter().copied()),
            _ => true,
        }
    }

    /// Pairs a node with that of a copy; false if one cannot stand for the other.
    fn pair_nodes(
        &mut self,
        ingested: &Ingested<'_>,
        (one, other): (NodeId, NodeId),
        copy: usize,
        is_own: bool,
    ) -> bool {
        let graph = &ingested.egraph;
        let terms = (ingested.term_of.get(&one), ingested.term_of.get(&other));
        let is_alike = match terms {
            (Some(a), Some(b)) if a.discriminant() == b.discriminant() => {
                let pairs = a.children().iter().zip(b.children());
                pairs.fold(true, |all, (a, b)| self.pair(graph, (*a, *b), copy, is_own) && all)
            }
            (None, None) => true,
            _ => false,
        };
        let classes = [&ingested.term_class_of, &ingested.class_of];
        let pairs = classes.iter().filter_map(|classes| Some((*classes.get(&one)?, *classes.get(&other)?)));
        let mut is_paired = true;
        for pair in pairs {
            is_paired &= self.pair(graph, pair, copy, is_own);
        }
        // What is not rewritten may have no value.
        is_alike && (is_paired || terms == (None, None))
    }

    /// Pairs classes; false if the first has another one in its place already, or they are not alike.
    fn pair(&mut self, graph: &Graph<'_>, (one, other): (Id, Id), copy: usize, is_own: bool) -> bool {
        let (one, other) = (graph.find(one), graph.find(other));
        let known = self.at.get(&one).copied();
        if let Some(image) = known.and_then(|i| self.classes[i].images[copy]) {
            return image == other;
        }
        if one == other {
            return true;
        }
        let (a, b) = (&graph[one].data, &graph[other].data);
        let is_alike = match (list(graph, one), list(graph, other)) {
            (Some(items), Some(others)) if items.len() == others.len() => {
                let pairs = items.iter().zip(others);
                pairs.fold(true, |all, (a, b)| self.pair(graph, (*a, *b), copy, is_own) && all)
            }
            (None, None) => a.is_like(&graph.analysis.types.env, b),
            _ => false,
        };
        if !is_alike || (a.is_static, a.is_certain) != (b.is_static, b.is_certain) {
            return false;
        }
        let place = known.unwrap_or_else(|| {
            self.at.insert(one, self.classes.len());
            self.classes.push(Class { id: one, is_own, images: vec![None; self.copies] });
            self.classes.len() - 1
        });
        self.classes[place].images[copy] = Some(other);
        true
    }
}
