//! From the e-graph to a space of choices, and back.
//!
//! Law: what a leaf's node reads is needed by the leaf, so that no choice makes a node depend on itself by way of one
//! that is not rewritten.

use crate::choice::{Effort, Node, Pick, Space};
use crate::cost::Model;
use crate::ingest::{Ingested, observed};
use crate::interned::PerCall;
use crate::term::Term;
use crate::typing::Graph;
use egg::{Id, Language};
use oxport_ir::ExportedProgram;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;

/// The chosen term of every class that has one.
pub(crate) struct Choice {
    terms: FxHashMap<Id, Term>,
    /// What all of it costs, in picoseconds.
    pub price: u64,
}

impl Choice {
    /// Of these terms, at a price.
    pub fn new(terms: FxHashMap<Id, Term>, price: u64) -> Choice {
        Choice { terms, price }
    }
    /// The term of a class.
    pub fn term(&self, egraph: &Graph<'_>, class: Id) -> Option<&Term> {
        self.terms.get(&egraph.find(class))
    }
}

/// What is preferred where there is a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prefer {
    /// What costs least; the program's own terms where that is equal.
    Cheap,
    /// What the program did not have, at any cost.
    New,
    /// The program's own terms.
    Own,
}

/// The terms of all classes, as a space of choices.
pub(crate) struct Candidates {
    /// The classes, in order.
    pub classes: Vec<Id>,
    /// The terms of each class, preferred ones first.
    pub terms: Vec<Vec<Term>>,
    /// The same as a space.
    pub space: Space,
    /// The program's own terms.
    pub given: Pick,
    /// How many of the terms of each class are the program's own: the first ones.
    own_count: Vec<usize>,
    index: FxHashMap<Id, usize>,
}

impl Candidates {
    /// The candidates for the values of a program; classes may count several times.
    pub fn of(
        program: &ExportedProgram,
        ingested: &Ingested<'_>,
        weight: impl Fn(Id) -> u64,
        model: &Model,
        prefer: Prefer,
    ) -> Candidates {
        let egraph = &ingested.egraph;
        let (own, noted) = (own_terms(program, ingested), PerCall::new());
        let mut classes: Vec<Id> = egraph.classes().map(|c| c.id).collect();
        classes.sort_unstable();
        let index: FxHashMap<Id, usize> = classes.iter().enumerate().map(|(i, &id)| (id, i)).collect();
        let at = |id: Id| index[&egraph.find(id)];
        let mut terms: Vec<Vec<Term>> = Vec::with_capacity(classes.len());
        let mut space = Space { classes: Vec::with_capacity(classes.len()), roots: Vec::new() };
        let mut given: Pick = Vec::with_capacity(classes.len());
        let mut own_count = Vec::with_capacity(classes.len());
        for &id in &classes {
            let mut nodes: Vec<(Option<u32>, &Term)> =
                egraph[id].nodes.iter().map(|t| (own.get(t).copied(), t)).collect();
            // The program's own in its order, then the others by name.
            nodes.sort_by(|(a, t), (b, u)| (a.is_none(), a).cmp(&(b.is_none(), b)).then_with(|| t.cmp(u)));
            if prefer == Prefer::Own && nodes[0].0.is_some() {
                nodes.truncate(1);
            }
            given.push((nodes[0].0.is_some() || matches!(nodes[0].1, Term::Const(_) | Term::List(_))).then_some(0));
            let price = |own: Option<u32>, term: &Term| match prefer {
                Prefer::New if own.is_some() && matches!(term, Term::Op(..)) => 1 << 50,
                _ => model.price(egraph, term, id, &noted).saturating_mul(weight(id)),
            };
            own_count.push(nodes.iter().filter(|(own, _)| own.is_some()).count());
            let node = |&(own, term): &(Option<u32>, &Term)| {
                let mut kids: Vec<usize> = term.children().iter().map(|k| at(*k)).collect();
                if let Term::Leaf(node) = term {
                    kids.extend(ingested.reads(program, *node).into_iter().map(at));
                }
                Node::new(price(own, term), kids)
            };
            space.classes.push(nodes.iter().map(node).collect());
            terms.push(nodes.into_iter().map(|(_, t)| t.clone()).collect());
        }
        let mut roots = FxHashSet::default();
        space.roots = observed(program, ingested).into_iter().map(at).filter(|&c| roots.insert(c)).collect();
        Candidates { classes, terms, space, given, own_count, index }
    }

    /// The place of a class.
    pub fn at(&self, egraph: &Graph<'_>, class: Id) -> usize {
        self.index[&egraph.find(class)]
    }

    /// The least price where classes take one of some terms each; `None` if there is no such choice.
    pub fn price_where(&self, egraph: &Graph<'_>, taken: &[Taken<'_>]) -> Option<u64> {
        let mut space = self.space.clone();
        for class in taken.iter().map(|(class, _)| self.at(egraph, *class)).collect::<BTreeSet<usize>>() {
            let may_take = |term: &Term| taken.iter().any(|(id, may)| self.at(egraph, *id) == class && may(term));
            let mut terms = self.terms[class].iter();
            space.classes[class].retain(|_| terms.next().is_some_and(may_take));
            // A class that is asked for is needed, whether or not it is by itself.
            if !space.roots.contains(&class) {
                space.roots.push(class);
            }
        }
        space.price(&space.choose(None, &Effort::default())?)
    }
}

/// How often a class counts where none stands for others.
pub(crate) fn once(_: Id) -> u64 {
    1
}

/// A class, and which of its terms it may take.
pub(crate) type Taken<'a> = (Id, Box<dyn Fn(&Term) -> bool + 'a>);

/// So many new terms count as little as a picosecond.
const FAVOR: u64 = 1 << 12;

/// Chooses for all outputs and effects of the program; classes may count several times.
pub(crate) fn extract(
    program: &ExportedProgram,
    ingested: &Ingested<'_>,
    weight: impl Fn(Id) -> u64,
    model: &Model,
    prefer: Prefer,
) -> Option<Choice> {
    let egraph = &ingested.egraph;
    let Candidates { classes, mut terms, mut space, given, own_count, index } =
        Candidates::of(program, ingested, weight, model, prefer);
    let at = |id: Id| index[&egraph.find(id)];
    // Among equals the program's own, so that what was optimized stays as it is.
    let favor_own = |space: &mut Space| {
        for ((nodes, terms), own) in space.classes.iter_mut().zip(&terms).zip(&own_count) {
            for (i, (node, term)) in nodes.iter_mut().zip(terms).enumerate() {
                let is_new = i >= *own && matches!(term, Term::Op(..));
                node.cost = node.cost.saturating_mul(FAVOR).saturating_add(u64::from(is_new));
            }
        }
    };
    let pick = match prefer {
        Prefer::Own => given,
        _ => {
            favor_own(&mut space);
            let pick = space.choose(Some(&given), &Effort::default())?;
            // A value that must lie in a storage of its own may have to be computed as the program did, from classes
            // that the choice does not need: these keep what the search found for them, or the program's terms.
            let needed = space.needed(&pick);
            let found: Pick = pick.iter().zip(&given).map(|(mine, own)| mine.or(*own)).collect();
            let own = pick.iter().zip(given.iter().copied()).zip(needed);
            let own = own.map(|((mine, own), is_needed)| if is_needed { *mine } else { own.or(*mine) }).collect();
            let written: Vec<usize> =
                ingested.term_class_of.values().chain(ingested.class_of.values()).map(|&id| at(id)).collect();
            let ends = |pick: &Pick| space.price_of(&written, pick).is_some();
            match [found, own].into_iter().find(ends) {
                Some(pick) => pick,
                // Else such a value needs at once all that its node reads, which rules out what would go in a circle.
                None => {
                    for (nodes, terms) in space.classes.iter_mut().zip(&terms) {
                        for (node, term) in nodes.iter_mut().zip(terms) {
                            if let Term::Own(index, _) = term {
                                let reads = ingested.reads_apart(program, *index).into_iter().map(at);
                                *node = Node::new(node.cost, node.kids.iter().copied().chain(reads).collect());
                            }
                        }
                    }
                    space.choose(Some(&given), &Effort::default())?
                }
            }
        }
    };
    if !matches!(prefer, Prefer::Own) {
        space.classes.iter_mut().flatten().for_each(|node| node.cost /= FAVOR);
    }
    let price = space.price(&pick)?;
    let chosen = classes.iter().zip(&mut terms).zip(&pick);
    let terms = chosen.filter_map(|((&id, terms), &i)| Some((id, terms.swap_remove(i?)))).collect();
    Some(Choice { terms, price })
}

/// The terms that the program has, with the first node of each; lists and constants as often as they are used.
fn own_terms(program: &ExportedProgram, ingested: &Ingested<'_>) -> FxHashMap<Term, u32> {
    let egraph = &ingested.egraph;
    let canonical = |t: &Term| t.clone().map_children(|k| egraph.find(k));
    let mut own = FxHashMap::default();
    for id in program.graph.ids() {
        let index = id.index() as u32;
        own.entry(Term::Leaf(index)).or_insert(index);
        if let Some(term) = ingested.term_of.get(&id) {
            own.entry(canonical(term)).or_insert(index);
            own.entry(canonical(&Term::Own(index, [ingested.term_class_of[&id]]))).or_insert(index);
        }
    }
    own
}
