//! What rules matched before: only where the e-graph changed since, they are matched again.
//!
//! What a pattern matches at a class depends on the terms of the classes that it looks into: those as many steps below
//! as the pattern is deep. Classes have the round in which something as near last changed.
//!
//! Law: what a rule of [`Rule::remembered`](crate::rule::Rule::remembered) finds is what egg's search finds, in its
//! order; at some classes only, where the search is narrowed to these.

use crate::forms::Form;
use crate::scope::Scope;
use crate::term::{Name, Term};
use crate::typing::Graph;
use egg::{ENodeOrVar, Id, Language, SearchMatches, Subst};
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use std::borrow::Cow;
use std::hash::{Hash, Hasher};

/// Patterns of more levels are matched everywhere.
const LEVELS: usize = 8;

/// What is known of an e-graph and of the rules that are matched in it.
#[derive(Default)]
pub(crate) struct Memory {
    /// The round, from 1 on.
    round: u32,
    /// Classes that were united since the last round, with those that have terms over them.
    united: Vec<Id>,
    /// Whether each class was searched, and whether it was looked into.
    places: Vec<Place>,
    /// For each class the last round in which something changed that many levels below it or less.
    changed: Vec<[u32; LEVELS]>,
    /// For each class what its terms are, a bit each: terms of other bits are not there. All bits, where no rule looks.
    marks: Vec<u64>,
    /// The operators of all terms.
    operators: FxHashSet<Name>,
    /// What each form of each rule matched.
    found: FxHashMap<(usize, usize), Found>,
}

/// Where a class is, as rules see it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    /// No rule looks into it.
    Far,
    /// Rules look into it.
    Near,
    /// Rules are matched at it.
    Searched,
}

/// What a form of a rule matched.
#[derive(Default)]
struct Found {
    /// The last round in which all classes were searched.
    round: u32,
    /// The matches of classes that have some.
    matches: FxHashMap<Id, Vec<Subst>>,
}

/// The mark of a term, one of 64 bits.
pub(crate) fn mark(term: &Term) -> u64 {
    let mut hasher = FxHasher::default();
    match term {
        Term::Const(constant) => constant.hash(&mut hasher),
        term => term.discriminant().hash(&mut hasher),
    }
    1 << (hasher.finish() % 61)
}

/// Begins a round of searches in an e-graph, which is clean and stays as it is during them.
pub fn begin_round(graph: &Graph<'_>) {
    graph.analysis.memory.borrow_mut().follow(graph);
}

/// Narrows searches of a clean e-graph to classes for which something holds, from the next round on. Classes that are
/// made or united later are asked about by narrowing again.
pub fn narrow(graph: &mut Graph<'_>, holds: impl Fn(Id) -> bool) {
    graph.analysis.scope = Some(Scope::of(graph, LEVELS, holds));
}

impl Memory {
    /// Follows a union that is about to be made.
    pub fn unite(&mut self, graph: &Graph<'_>, a: Id, b: Id) {
        let (a, b) = (graph.find(a), graph.find(b));
        // What is new is looked at whether or not it was united.
        let is_known = |class: &Id| self.places.get(usize::from(*class)).is_some_and(|place| *place != Place::Far);
        if a != b {
            // Terms over one of them are over another class from now on.
            let classes = [a, b].into_iter().filter(is_known);
            self.united.extend(classes.flat_map(|class| graph[class].parents().chain([class])));
        }
    }

    /// Follows what became of the e-graph, which is clean, in front of a round of searches.
    fn follow(&mut self, graph: &Graph<'_>) {
        self.round += 1;
        let known = self.places.len();
        for term in &graph.nodes()[known..] {
            if let Term::Op(name, _) = term {
                self.operators.insert(*name);
            }
        }
        let count = graph.nodes().len();
        self.changed.resize(count, [0; LEVELS]);
        self.marks.resize(count, u64::MAX);
        self.places.resize(count, Place::Far);
        let united = std::mem::take(&mut self.united);
        let mut changed: Vec<Id> = united.into_iter().map(|id| graph.find(id)).collect();
        let mut entered = Vec::new();
        for (id, was) in self.places.iter_mut().enumerate() {
            let class = Id::from(id);
            let place = match &graph.analysis.scope {
                Some(scope) if scope.contains(class) => Place::Searched,
                Some(scope) if scope.is_near(class) => Place::Near,
                Some(_) => Place::Far,
                None => Place::Searched,
            };
            if place == *was && id < known {
                continue;
            }
            match place {
                Place::Far => self.marks[id] = u64::MAX,
                Place::Near => {}
                Place::Searched => entered.push(id),
            }
            changed.push(graph.find(class));
            *was = place;
        }
        self.spread(graph, changed);
        // What was not searched before is new to all rules.
        entered.into_iter().for_each(|id| self.changed[id] = [self.round; LEVELS]);
    }

    /// Notes that classes changed, for themselves and for those above them, as far as rules look into them.
    fn spread(&mut self, graph: &Graph<'_>, mut changed: Vec<Id>) {
        for level in 0..LEVELS {
            let mut above = Vec::new();
            for class in changed {
                let at = usize::from(class);
                if self.places[at] == Place::Far || self.changed[at][level] == self.round {
                    continue;
                }
                self.changed[at][level..].fill(self.round);
                if level == 0 {
                    let marks = graph[class].nodes.iter().map(mark);
                    self.marks[at] = marks.fold(0, |all, mark| all | mark);
                }
                above.extend(graph[class].parents().map(|parent| graph.find(parent)));
            }
            changed = above;
        }
    }

    /// How many operators there are.
    pub fn operators(&self) -> usize {
        self.operators.len()
    }

    /// Whether there is a term of an operator.
    pub fn has_operator(&self, name: Name) -> bool {
        self.operators.contains(&name)
    }

    /// The matches of a form of a rule in these classes, `limit` of them at most.
    pub fn search<'a>(
        &mut self,
        graph: &Graph<'_>,
        (rule, number): (usize, usize),
        form: &'a Form,
        classes: impl Iterator<Item = Id>,
        limit: usize,
    ) -> Vec<SearchMatches<'a, Term>> {
        let mut known = self.found.remove(&(rule, number)).unwrap_or_default();
        let root = Id::from(form.left.ast.as_ref().len() - 1);
        let (mut all, mut left) = (Vec::new(), limit);
        for class in classes {
            if left == 0 {
                break;
            }
            let rounds = &self.changed[usize::from(class)];
            if rounds.get(form.depth).is_none_or(|changed| *changed > known.round) {
                let is_there = self.may_match(graph, form, root, class);
                let found = if is_there { form.left.search_class(graph, class, left) } else { None };
                match found {
                    Some(found) => drop(known.matches.insert(class, found.substs)),
                    None => drop(known.matches.remove(&class)),
                }
            }
            if let Some(substs) = known.matches.get(&class) {
                let substs = substs[..left.min(substs.len())].to_vec();
                left -= substs.len();
                all.push(SearchMatches { eclass: class, substs, ast: Some(Cow::Borrowed(&form.left.ast)) });
            }
        }
        if left > 0 {
            known.round = self.round;
        }
        self.found.insert((rule, number), known);
        all
    }

    /// False if there are no terms for a part of a form in a class, whatever the variables stand for.
    fn may_match(&self, graph: &Graph<'_>, form: &Form, part: Id, class: Id) -> bool {
        let ENodeOrVar::ENode(wanted) = &form.left.ast[part] else { return true };
        if self.marks[usize::from(class)] & form.marks[usize::from(part)] == 0 {
            return false;
        }
        let is_variable = |kid: &Id| form.marks[usize::from(*kid)] == 0;
        if wanted.children().iter().all(is_variable) {
            return true;
        }
        graph[class].nodes.iter().filter(|term| wanted.matches(term)).any(|term| {
            let mut kids = wanted.children().iter().zip(term.children());
            kids.all(|(part, class)| self.may_match(graph, form, *part, *class))
        })
    }
}
