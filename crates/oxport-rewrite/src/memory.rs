//! What rules matched before: only where the e-graph changed since, they are matched again.
//!
//! What a pattern matches at a class depends on the terms of the classes that it looks into: those as many steps below
//! as the pattern is deep. Classes have the round in which something as near last changed.
//!
//! Law: what a rule of [`Rule::remembered`](crate::rule::Rule::remembered) finds is what egg's search finds, in its
//! order.

use crate::pattern::{Side, mark};
use crate::term::{Name, Term};
use egg::{Analysis, EGraph, ENodeOrVar, Id, Language, SearchMatches, Subst};
use rustc_hash::{FxHashMap, FxHashSet};
use std::borrow::Cow;

/// Patterns of more levels are matched everywhere.
const LEVELS: usize = 8;

/// What is known of an e-graph and of the rules that are matched in it.
#[derive(Default)]
pub(crate) struct Memory {
    /// The round, from 1 on.
    round: u32,
    /// Classes that were united since the last round, with those that have terms over them.
    united: Vec<Id>,
    /// For each class the last round in which something changed that many levels below it or less.
    changed: Vec<[u32; LEVELS]>,
    /// For each class what its terms are, a bit each: terms of other bits are not there.
    marks: Vec<u64>,
    /// The operators of all terms.
    operators: FxHashSet<Name>,
    /// What each form of each rule matched.
    found: FxHashMap<(usize, usize), Found>,
}

/// What a form of a rule matched.
#[derive(Default)]
struct Found {
    /// The last round in which all classes were searched.
    round: u32,
    /// The matches of classes that have some.
    matches: FxHashMap<Id, Vec<Subst>>,
}

impl Memory {
    /// Follows a union that is about to be made.
    pub fn unite<N: Analysis<Term>>(&mut self, graph: &EGraph<Term, N>, a: Id, b: Id) {
        let (a, b) = (graph.find(a), graph.find(b));
        // What is new is looked at whether or not it was united.
        let is_known = |class: &Id| usize::from(*class) < self.changed.len();
        if a != b {
            // Terms over one of them are over another class from now on.
            let classes = [a, b].into_iter().filter(is_known);
            self.united.extend(classes.flat_map(|class| graph[class].parents().chain([class])));
        }
    }

    /// Follows what became of the e-graph, which is clean, in front of a round of searches.
    pub fn follow<N: Analysis<Term>>(&mut self, graph: &EGraph<Term, N>) {
        self.round += 1;
        let (known, count) = (self.changed.len(), graph.nodes().len());
        for term in &graph.nodes()[known..] {
            if let Term::Op(name, _) = term {
                self.operators.insert(*name);
            }
        }
        self.changed.resize(count, [0; LEVELS]);
        self.marks.resize(count, 0);
        let united = std::mem::take(&mut self.united);
        let new = (known..count).map(Id::from);
        self.spread(graph, united.into_iter().chain(new).map(|id| graph.find(id)).collect());
    }

    /// Notes that classes changed, for themselves and for those above them.
    fn spread<N: Analysis<Term>>(&mut self, graph: &EGraph<Term, N>, mut changed: Vec<Id>) {
        for level in 0..LEVELS {
            let mut above = Vec::new();
            for class in changed {
                let at = usize::from(class);
                if self.changed[at][level] == self.round {
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
    pub fn search<'a, N: Analysis<Term>>(
        &mut self,
        graph: &EGraph<Term, N>,
        (rule, number): (usize, usize),
        left_side: &'a Side,
        classes: impl Iterator<Item = Id>,
        limit: usize,
    ) -> Vec<SearchMatches<'a, Term>> {
        let mut known = self.found.remove(&(rule, number)).unwrap_or_default();
        let root = Id::from(left_side.ast.as_ref().len() - 1);
        let (mut all, mut left) = (Vec::new(), limit);
        for class in classes {
            if left == 0 {
                break;
            }
            let rounds = &self.changed[usize::from(class)];
            if rounds.get(left_side.depth).is_none_or(|changed| *changed > known.round) {
                let is_there = self.may_match(graph, left_side, root, class);
                let found = if is_there { left_side.search_class(graph, class, left) } else { None };
                match found {
                    Some(found) => drop(known.matches.insert(class, found.substs)),
                    None => drop(known.matches.remove(&class)),
                }
            }
            if let Some(substs) = known.matches.get(&class) {
                let substs = substs[..left.min(substs.len())].to_vec();
                left -= substs.len();
                all.push(SearchMatches { eclass: class, substs, ast: Some(Cow::Borrowed(&left_side.ast)) });
            }
        }
        if left > 0 {
            known.round = self.round;
        }
        self.found.insert((rule, number), known);
        all
    }

    /// False if there are no terms for a part of a pattern in a class, whatever the variables stand for.
    fn may_match<N: Analysis<Term>>(&self, graph: &EGraph<Term, N>, side: &Side, part: Id, class: Id) -> bool {
        let ENodeOrVar::ENode(wanted) = &side.ast[part] else { return true };
        if self.marks[usize::from(class)] & side.marks[usize::from(part)] == 0 {
            return false;
        }
        let is_variable = |kid: &Id| side.marks[usize::from(*kid)] == 0;
        if wanted.children().iter().all(is_variable) {
            return true;
        }
        graph[class].nodes.iter().filter(|term| wanted.matches(term)).any(|term| {
            let mut kids = wanted.children().iter().zip(term.children());
            kids.all(|(part, class)| self.may_match(graph, side, *part, *class))
        })
    }
}
