//! What a search did in the quotient, done to the program as far as the choice needs it.
//!
//! Laws: what is replayed is an application of a rule to terms of the program; a chosen term is in its class.

use super::quotient::{Part, Place, Quotient};
use super::steps::{Found, Needed};
use crate::applied::{Applied, Step};
use crate::applier::Typed;
use crate::cost::Model;
use crate::extract::Choice;
use crate::ingest::{Ingested, observed};
use crate::interned::PerCall;
use crate::matching::class_of;
use crate::rules::merge::merge_again;
use crate::term::Term;
use crate::typing::{Graph, add};
use egg::{Id, Language};
use oxport_ir::ExportedProgram;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// What became of a choice of the quotient in the program.
pub(super) struct Replayed {
    /// The choice, if it is not dearer than in the quotient.
    pub choice: Option<Choice>,
    /// How often each rule added something to copies.
    pub rules: BTreeMap<String, usize>,
    /// How many classes of the program took the term of each class.
    pub counts: FxHashMap<Id, u64>,
}

impl Found<'_, '_> {
    /// Takes a choice to the program, after the steps that it needs. `None` if the blocks are not alike in that.
    pub fn replay(
        &self,
        choice: &Choice,
        program: &ExportedProgram,
        whole: &mut Ingested<'_>,
        model: &Model,
    ) -> Option<Replayed> {
        let needed = self.needed(program, choice)?;
        let mut replay = Replay { found: self, images: FxHashMap::default() };
        let mut rules = BTreeMap::new();
        for is_wide in [false, true] {
            replay.steps(&mut whole.egraph, &needed, is_wide, &mut rules);
            whole.egraph.rebuild();
            if let Some((choice, counts)) = Transfer::new(&mut replay, program, whole, model, choice).choice() {
                return Some(Replayed { choice, rules, counts });
            }
        }
        None
    }
}

impl Quotient<'_> {
    /// Where a step of a part is done.
    fn places(&self, part: Part, is_everywhere: bool) -> Vec<Place> {
        match part {
            Part::Outside(before) => vec![Place::Outside(before)],
            Part::First(run) | Part::Block(run) => {
                let copies = if is_everywhere { self.runs[run].copies } else { 0 };
                std::iter::once(Place::Blocks(run)).chain((0..copies).map(|copy| Place::Copy(run, copy))).collect()
            }
        }
    }
}

/// Terms of a quotient in the places that they stand for.
struct Replay<'a, 'r> {
    found: &'a Found<'a, 'r>,
    /// The classes of the program that are in the places of new ones, as they were added.
    images: FxHashMap<(Id, Place), Option<Id>>,
}

impl Replay<'_, '_> {
    /// What is in the place of a term as it was made; `None` if it is ill-typed there.
    fn image(&mut self, whole: &mut Graph<'_>, id: Id, place: Place) -> Option<Id> {
        let quotient = self.found.quotient;
        if quotient.has(id) {
            return Some(quotient.image(id, place));
        }
        if let Some(known) = self.images.get(&(id, place)) {
            return *known;
        }
        let image = self.over_images(whole, quotient.ingested.egraph.id_to_node(id), place);
        let image = image.and_then(|term| add(whole, term));
        self.images.insert((id, place), image);
        image
    }

    /// A term over what is in the places of its arguments; of one that is no leaf.
    fn over_images(&mut self, whole: &mut Graph<'_>, term: &Term, place: Place) -> Option<Term> {
        let mut term = term.clone();
        for kid in term.children_mut() {
            *kid = self.image(whole, *kid, place)?;
        }
        Some(term)
    }

    /// Does what is needed, in order, and counts what rules add to copies: where a step was found, or in all places of
    /// its operands, where what it was found at was made by another part.
    fn steps(&mut self, whole: &mut Graph<'_>, needed: &Needed, is_wide: bool, rules: &mut BTreeMap<String, usize>) {
        let found = self.found;
        for (number, applied) in (0..).zip(found.log) {
            let is_everywhere = needed.everywhere.contains(&number);
            if !is_everywhere && !needed.first.contains(&number) {
                continue;
            }
            let places = match is_wide {
                false => found.quotient.places(found.part_of_step(&applied.step), is_everywhere),
                true => found.quotient.places(found.part_of_operands(applied), true),
            };
            for place in places {
                let added = self.step(whole, applied, place);
                if let (Place::Copy(..), 1..) = (place, added) {
                    *rules.entry(applied.name.to_string()).or_insert(0) += added;
                }
            }
        }
    }

    /// Does a step in a place; where it cannot be done, nothing. Gives how many classes were united.
    fn step(&mut self, whole: &mut Graph<'_>, Applied { name, step, .. }: &Applied, place: Place) -> usize {
        match step {
            Step::Rule { rule, form, sides: [left, _], subst, .. } => {
                let mut subst = subst.clone();
                for var in left.vars() {
                    let Some(image) = self.image(whole, subst[var], place) else { return 0 };
                    subst.insert(var, image);
                }
                let Some(class) = class_of(whole, &left.ast, &subst) else { return 0 };
                let applied = Typed::of(*rule, whole.analysis.types.registry).apply(whole, class, &subst, *form);
                usize::from(applied == Some(true))
            }
            Step::Merge { parts, .. } => {
                merge_again(whole, name, parts, &mut |whole, kid| self.image(whole, kid, place)).unwrap_or(0)
            }
        }
    }
}

/// A choice that is taken from the quotient to the program.
struct Transfer<'a, 'b, 'r, 's> {
    replay: &'a mut Replay<'b, 'r>,
    program: &'a ExportedProgram,
    whole: &'a mut Ingested<'s>,
    model: &'a Model,
    choice: &'a Choice,
    /// Terms of the quotient by what [`leaf`] says of them.
    leaves: FxHashMap<(u32, bool), Id>,
    noted: PerCall<f64>,
    marks: FxHashMap<Id, Mark>,
    terms: FxHashMap<Id, Term>,
    price: u64,
    counts: FxHashMap<Id, u64>,
    /// What nodes of values in storages of their own read.
    later: Vec<Id>,
}

/// How far a class is visited.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    Open,
    Done,
}

/// A class that is visited: its term, and what of that is not visited yet.
struct Visit {
    class: Id,
    left: Vec<(Id, Place)>,
}

impl<'a, 'b, 'r, 's> Transfer<'a, 'b, 'r, 's> {
    fn new(
        replay: &'a mut Replay<'b, 'r>,
        program: &'a ExportedProgram,
        whole: &'a mut Ingested<'s>,
        model: &'a Model,
        choice: &'a Choice,
    ) -> Transfer<'a, 'b, 'r, 's> {
        let terms = replay.found.quotient.ingested.egraph.nodes().iter();
        let leaves = terms.enumerate().filter_map(|(id, term)| Some((leaf(term)?, Id::from(id)))).collect();
        let (marks, terms, counts) = (FxHashMap::default(), FxHashMap::default(), FxHashMap::default());
        let (noted, price, later) = (PerCall::new(), 0, Vec::new());
        Transfer { replay, program, whole, model, choice, leaves, noted, marks, terms, price, counts, later }
    }

    /// The choice, if it is not dearer than in the quotient, and how often terms were taken; `None` if it is none.
    fn choice(mut self) -> Option<(Option<Choice>, FxHashMap<Id, u64>)> {
        self.visit(observed(self.program, self.whole))?;
        let (price, counts) = (self.price, self.counts.clone());
        // What a value in a storage of its own may be computed from is not paid for.
        while !self.later.is_empty() {
            let later = std::mem::take(&mut self.later);
            self.visit(later)?;
        }
        Some(((price <= self.choice.price).then(|| Choice::new(self.terms, price)), counts))
    }

    /// Takes the terms of classes of the program, and of what they need; `None` if one is not in its class, or a class
    /// needs itself.
    fn visit(&mut self, roots: Vec<Id>) -> Option<()> {
        for root in roots {
            let at = self.place_of(root)?;
            let mut open: Vec<Visit> = self.enter(at)?.into_iter().collect();
            while let Some(visit) = open.last_mut() {
                match visit.left.pop() {
                    Some(at) => open.extend(self.enter(at)?),
                    None => {
                        self.marks.insert(visit.class, Mark::Done);
                        open.pop();
                    }
                }
            }
        }
        Some(())
    }

    /// The class of the quotient that stands for one of the program as it was made, and the place.
    fn place_of(&self, class: Id) -> Option<(Id, Place)> {
        self.replay.found.quotient.of[usize::from(class)]
    }

    /// Takes the term of a class in a place, if it was not visited yet.
    fn enter(&mut self, (class, place): (Id, Place)) -> Option<Option<Visit>> {
        let found = self.replay.found;
        let made = found.first(class);
        let image = self.replay.image(&mut self.whole.egraph, made, place)?;
        // In the place of the first block there may be one that another block stands for.
        let (class, place) = if found.quotient.has(made) { self.place_of(image)? } else { (class, place) };
        let image = self.whole.egraph.find(image);
        match self.marks.get(&image) {
            Some(Mark::Done) => return Some(None),
            Some(Mark::Open) => return None,
            None => {}
        }
        let chosen = self.choice.term(&found.quotient.ingested.egraph, class)?;
        let mut left: Vec<(Id, Place)> = chosen.children().iter().map(|kid| (*kid, place)).collect();
        let term = match leaf(chosen) {
            Some(leaf) => self.whole.egraph.id_to_node(found.quotient.image(self.leaves[&leaf], place)).clone(),
            None => {
                let chosen = chosen.clone().map_children(|kid| found.first(kid));
                self.replay.over_images(&mut self.whole.egraph, &chosen, place)?
            }
        };
        match term {
            Term::Leaf(index) => {
                for read in self.whole.reads(self.program, index) {
                    left.push(self.place_of(read)?);
                }
            }
            Term::Own(index, _) => self.later.extend(self.whole.reads_apart(self.program, index)),
            _ => {}
        }
        let graph = &self.whole.egraph;
        let term = term.map_children(|kid| graph.find(kid));
        if graph.lookup(term.clone()) != Some(image) {
            return None;
        }
        self.price = self.price.saturating_add(self.model.price(graph, &term, image, &self.noted));
        *self.counts.entry(found.first(class)).or_insert(0) += 1;
        self.terms.insert(image, term);
        self.marks.insert(image, Mark::Open);
        Some(Some(Visit { class: image, left }))
    }
}

/// The index of the node of a leaf or of a value in a storage of its own, and whether it is one of these.
fn leaf(term: &Term) -> Option<(u32, bool)> {
    match term {
        Term::Leaf(index) => Some((*index, false)),
        Term::Own(index, _) => Some((*index, true)),
        _ => None,
    }
}
