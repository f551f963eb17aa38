//! Where rules are matched, if not everywhere.

use crate::term::Term;
use egg::{Analysis, EGraph, Id, Language};
use rustc_hash::FxHashMap;

/// Some classes, by the operators of their terms.
pub(crate) struct Scope {
    by_operator: FxHashMap<<Term as Language>::Discriminant, Vec<Id>>,
    /// Whether each class is among them.
    is_there: Vec<bool>,
    /// Whether each class is among them, or terms of theirs are over it within some levels.
    is_near: Vec<bool>,
}

impl Scope {
    /// The classes of a clean e-graph for which something holds, and those that are some levels below them.
    pub fn of<N: Analysis<Term>>(graph: &EGraph<Term, N>, levels: usize, holds: impl Fn(Id) -> bool) -> Scope {
        let mut is_there = vec![false; graph.nodes().len()];
        let mut by_operator: FxHashMap<_, Vec<Id>> = FxHashMap::default();
        let mut last = Vec::new();
        for class in graph.classes().filter(|class| holds(class.id)) {
            is_there[usize::from(class.id)] = true;
            last.push(class.id);
            for term in &class.nodes {
                let classes = by_operator.entry(term.discriminant()).or_default();
                if classes.last() != Some(&class.id) {
                    classes.push(class.id);
                }
            }
        }
        let mut is_near = is_there.clone();
        for _ in 0..levels {
            let kids = last.iter().flat_map(|&class| graph[class].nodes.iter().flat_map(Term::children));
            let is_new = |kid: &Id| !std::mem::replace(&mut is_near[usize::from(*kid)], true);
            last = kids.copied().filter(is_new).collect();
        }
        Scope { by_operator, is_there, is_near }
    }

    /// Whether a class is among them.
    pub fn contains(&self, class: Id) -> bool {
        self.is_there.get(usize::from(class)).is_some_and(|is_there| *is_there)
    }

    /// Whether a class is among them, or some levels below one of them.
    pub fn is_near(&self, class: Id) -> bool {
        self.is_near.get(usize::from(class)).is_some_and(|is_near| *is_near)
    }

    /// The classes that have a term like this one.
    pub fn with(&self, term: &Term) -> &[Id] {
        self.by_operator.get(&term.discriminant()).map_or(&[], Vec::as_slice)
    }
}
