//! Choosing the cheapest term of every class, shared terms counted once.
//!
//! Greedy over the DAG: a class is taken with the term whose *set* of needed classes costs least; sets are bit rows, so
//! a class that two children need costs once. Classes are improved until nothing changes. Ties go to the term that the
//! program had, then to the smaller one: the choice is a function of the e-graph alone.

use crate::term::Term;
use crate::typing::{Graph, cost_of};
use egg::{Id, Language};
use std::collections::{HashMap, HashSet};

/// The chosen term of every class that has one.
pub(crate) struct Choice {
    best: Vec<Option<Best>>,
    index: HashMap<Id, usize>,
}

struct Best {
    term: Term,
    cost: f64,
    total: f64,
    needs: Vec<u64>,
}

impl Choice {
    /// The term of a class.
    pub fn term(&self, egraph: &Graph<'_>, class: Id) -> Option<&Term> {
        self.best[*self.index.get(&egraph.find(class))?].as_ref().map(|b| &b.term)
    }
}

/// The cost of one term by itself, in nanoseconds or so; work that is done once before the first run counts almost
/// nothing.
pub(crate) fn local_cost(egraph: &Graph<'_>, term: &Term, class: Id) -> f64 {
    let data = &egraph[class].data;
    match term {
        Term::Op(..) if data.is_static => 0.001,
        Term::Op(..) => match cost_of(egraph, term, &data.kind) {
            Some(c) if c.flops == 0.0 && c.bytes == 0.0 => 50.0,
            Some(c) => 500.0 + 0.1 * c.bytes + 0.02 * c.flops,
            None => 1e6,
        },
        _ => 0.0,
    }
}

/// Chooses; `original` are the program's own terms.
pub(crate) fn extract(egraph: &Graph<'_>, original: &HashSet<Term>) -> Choice {
    choose(egraph, original, &|term, class| local_cost(egraph, term, class))
}

/// Chooses what the program did not have, wherever there is something.
pub(crate) fn extract_preferring_new(egraph: &Graph<'_>, original: &HashSet<Term>) -> Choice {
    choose(egraph, original, &|term, class| {
        let penalty = if original.contains(term) { 1e12 } else { 0.0 };
        local_cost(egraph, term, class) + penalty
    })
}

fn choose(egraph: &Graph<'_>, original: &HashSet<Term>, price: &dyn Fn(&Term, Id) -> f64) -> Choice {
    let mut classes: Vec<Id> = egraph.classes().map(|c| c.id).collect();
    classes.sort_unstable();
    let index: HashMap<Id, usize> = classes.iter().enumerate().map(|(i, &id)| (id, i)).collect();
    let words = classes.len().div_ceil(64);
    let mut choice = Choice { best: classes.iter().map(|_| None).collect(), index };
    // Terms in a fixed order: the program's first, then by their own order.
    let terms: Vec<Vec<(Term, f64)>> = classes
        .iter()
        .map(|&id| {
            let mut terms: Vec<Term> = egraph[id].nodes.clone();
            terms.sort_by_key(|t| (!original.contains(t), t.clone()));
            terms
                .into_iter()
                .map(|t| {
                    let cost = price(&t, id);
                    (t, cost)
                })
                .collect()
        })
        .collect();
    for _round in 0..classes.len() + 2 {
        let mut changed = false;
        for at in 0..classes.len() {
            for (term, cost) in &terms[at] {
                let Some((total, needs)) = choice.price(egraph, term, *cost, at, words) else { continue };
                let better = match &choice.best[at] {
                    None => true,
                    Some(best) => total < best.total * (1.0 - 1e-9) - 1e-9,
                };
                if better {
                    choice.best[at] = Some(Best { term: term.clone(), cost: *cost, total, needs });
                    changed = true;
                }
            }
        }
        if !changed {
            break;
        }
    }
    choice
}

impl Choice {
    /// What a term costs with all that it needs; `None` if a child has no term yet, or the term needs its own class.
    fn price(&self, egraph: &Graph<'_>, term: &Term, cost: f64, at: usize, words: usize) -> Option<(f64, Vec<u64>)> {
        let mut needs = vec![0u64; words];
        for kid in term.children() {
            let best = self.best[*self.index.get(&egraph.find(*kid))?].as_ref()?;
            needs.iter_mut().zip(&best.needs).for_each(|(a, b)| *a |= b);
        }
        if needs[at / 64] >> (at % 64) & 1 == 1 {
            return None;
        }
        let mut total = cost;
        for (w, &word) in needs.iter().enumerate() {
            let mut bits = word;
            while bits != 0 {
                let i = w * 64 + bits.trailing_zeros() as usize;
                total += self.best[i].as_ref().map_or(0.0, |b| b.cost);
                bits &= bits - 1;
            }
        }
        needs[at / 64] |= 1 << (at % 64);
        Some((total, needs))
    }
}
