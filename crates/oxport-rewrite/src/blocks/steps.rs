//! Which steps of a search a choice needs: those of an explanation that each chosen term is in its class.
//!
//! Law: a class is told by its first term when a step was done, here as where that is replayed.

use super::quotient::{Part, Quotient};
use crate::applied::{Applied, Step};
use crate::extract::Choice;
use crate::ingest::observed;
use crate::matching::is_function;
use crate::proof::closure::{Closure, TermId};
use crate::term::Term;
use crate::typing::first;
use egg::{ENodeOrVar, Id, Language, PatternAst};
use oxport_ir::ExportedProgram;
use rustc_hash::FxHashSet;
use std::collections::BTreeSet;

/// What a search found in a quotient.
pub(super) struct Found<'a, 'r> {
    pub quotient: &'a Quotient<'r>,
    pub log: &'a [Applied],
    /// For each term what it is a part of.
    pub parts: Vec<Part>,
}

/// The numbers of steps, by where they are needed.
pub(super) struct Needed {
    /// In all blocks of a run.
    pub everywhere: BTreeSet<u32>,
    /// In the first two.
    pub first: BTreeSet<u32>,
}

impl<'a, 'r> Found<'a, 'r> {
    pub fn new(quotient: &'a Quotient<'r>, log: &'a [Applied]) -> Found<'a, 'r> {
        let graph = &quotient.ingested.egraph;
        // What was made for a term is a part of what that is a part of.
        let mut parts = quotient.parts.clone();
        for applied in log {
            let known = parts.len();
            for id in known..applied.made.start {
                parts.push(of_kids(&parts, graph.id_to_node(Id::from(id))));
            }
            let part = part_of(&parts, &applied.step);
            parts.resize(parts.len().max(applied.made.end), part);
        }
        for id in parts.len()..graph.nodes().len() {
            parts.push(of_kids(&parts, graph.id_to_node(Id::from(id))));
        }
        Found { quotient, log, parts }
    }

    /// The first term of a class.
    pub fn first(&self, class: Id) -> Id {
        first(&self.quotient.ingested.egraph, class)
    }

    /// How many classes of the program a class stands for.
    pub fn weight(&self, class: Id) -> u64 {
        self.quotient.weight(self.part(class))
    }

    /// What a class is a part of.
    fn part(&self, class: Id) -> Part {
        self.parts[usize::from(self.first(class))]
    }

    /// What a step is a part of.
    pub fn part_of_step(&self, step: &Step) -> Part {
        part_of(&self.parts, step)
    }

    /// What the operands of a step are parts of.
    pub fn part_of_operands(&self, applied: &Applied) -> Part {
        widest(applied.variables().into_iter().map(|(_, id)| self.parts[usize::from(id)]))
    }

    /// The steps that a choice needs.
    pub fn needed(&self, program: &ExportedProgram, choice: &Choice) -> Option<Needed> {
        let ingested = &self.quotient.ingested;
        let graph = &ingested.egraph;
        let mut equations = Equations { found: self, closure: Closure::new(), terms: vec![None; graph.nodes().len()] };
        // In the order in which they were made, so that no recursion is as deep as the program.
        for id in 0..self.quotient.own.len() {
            equations.made(Id::from(id));
        }
        for (number, applied) in (0..).zip(self.log) {
            for (left, right) in applied.pairs() {
                let sides = (equations.side(left, applied)?, equations.side(right, applied)?);
                equations.closure.unite(sides.0, sides.1, number);
            }
        }
        // A leaf needs what its node reads, and a value in a storage of its own may.
        let (mut everywhere, mut in_first) = (Vec::new(), Vec::new());
        let (mut open, mut seen, mut chosen) =
            (observed(program, ingested), FxHashSet::default(), FxHashSet::default());
        while let Some(id) = open.pop() {
            if !seen.insert(id) {
                continue;
            }
            let goals = if let Part::First(_) = self.part(id) { &mut in_first } else { &mut everywhere };
            let class = equations.class(id);
            goals.push((class, equations.made(id)));
            if !chosen.insert(graph.find(id)) {
                continue;
            }
            let term = choice.term(graph, id)?;
            goals.push((class, equations.term(term)));
            if let Term::Leaf(index) | Term::Own(index, _) = term {
                open.extend(ingested.reads(program, *index));
            }
            open.extend(term.children().iter().map(|kid| self.first(*kid)));
        }
        let closure = &equations.closure;
        Some(Needed { everywhere: closure.explain(everywhere), first: closure.explain(in_first) })
    }
}

/// What a step is a part of.
fn part_of(parts: &[Part], step: &Step) -> Part {
    match step {
        Step::Rule { class, .. } => parts[usize::from(*class)],
        Step::Merge { parts: merged, .. } => widest(merged.iter().map(|part| parts[usize::from(part.class)])),
    }
}

/// What a term is a part of that no step was logged for.
fn of_kids(parts: &[Part], term: &Term) -> Part {
    widest(term.children().iter().map(|kid| parts[usize::from(*kid)]))
}

/// The part that stands for most of some.
fn widest(parts: impl Iterator<Item = Part>) -> Part {
    let rank = |part: &Part| match part {
        Part::Outside(before) => (0, *before),
        Part::First(run) => (1, *run),
        Part::Block(run) => (2, *run),
    };
    parts.max_by_key(rank).unwrap_or(Part::Outside(0))
}

/// The equations of a log, over terms.
struct Equations<'a, 'b, 'r> {
    found: &'a Found<'b, 'r>,
    closure: Closure<Term>,
    /// The terms that were made so far.
    terms: Vec<Option<TermId>>,
}

impl Equations<'_, '_, '_> {
    /// The term that a class was made for first.
    fn class(&mut self, id: Id) -> TermId {
        self.made(self.found.first(id))
    }

    /// A term as it was made.
    fn made(&mut self, id: Id) -> TermId {
        if let Some(known) = self.terms[usize::from(id)] {
            return known;
        }
        let term = self.found.quotient.ingested.egraph.id_to_node(id);
        let kids: Vec<TermId> = term.children().iter().map(|kid| self.made(*kid)).collect();
        let made = self.over(term, &kids);
        self.terms[usize::from(id)] = Some(made);
        made
    }

    /// A term over classes.
    fn term(&mut self, term: &Term) -> TermId {
        let kids: Vec<TermId> = term.children().iter().map(|kid| self.class(*kid)).collect();
        self.over(term, &kids)
    }

    fn over(&mut self, term: &Term, kids: &[TermId]) -> TermId {
        let head = match term {
            Term::Op(name, _) => Term::Op(*name, [].into()),
            Term::List(_) => Term::List([].into()),
            Term::Own(index, _) => Term::Own(*index, [Id::from(0)]),
            constant => constant.clone(),
        };
        self.closure.add(head, kids)
    }

    /// A side of an application; `None` if it is not written in full.
    fn side(&mut self, side: &PatternAst<Term>, applied: &Applied) -> Option<TermId> {
        let (mut parts, mut computed): (Vec<TermId>, _) = (Vec::new(), applied.computed().iter());
        for node in side.as_ref() {
            parts.push(match node {
                ENodeOrVar::Var(var) => self.made(applied.variable(*var)?),
                ENodeOrVar::ENode(term) if is_function(term) => self.made(*computed.next()?),
                ENodeOrVar::ENode(term) => {
                    let kids: Vec<TermId> = term.children().iter().map(|kid| parts[usize::from(*kid)]).collect();
                    self.over(term, &kids)
                }
            });
        }
        parts.pop()
    }
}
