//! Where rules are matched, if not everywhere.

use crate::term::Term;
use egg::{Id, Language};
use rustc_hash::FxHashMap;

/// Some classes, by the operators of their terms.
#[derive(Default)]
pub(crate) struct Scope {
    by_operator: FxHashMap<<Term as Language>::Discriminant, Vec<Id>>,
    /// Whether each class is among them.
    is_there: Vec<bool>,
}

impl Scope {
    /// Adds a class with these terms.
    pub fn add(&mut self, class: Id, terms: &[Term]) {
        let at = usize::from(class);
        if self.is_there.len() <= at {
            self.is_there.resize(at + 1, false);
        }
        self.is_there[at] = true;
        for term in terms {
            let classes = self.by_operator.entry(term.discriminant()).or_default();
            if classes.last() != Some(&class) {
                classes.push(class);
            }
        }
    }

    /// Whether a class is among them.
    pub fn contains(&self, class: Id) -> bool {
        self.is_there.get(usize::from(class)).is_some_and(|is_there| *is_there)
    }

    /// The classes that have a term like this one.
    pub fn with(&self, term: &Term) -> &[Id] {
        self.by_operator.get(&term.discriminant()).map_or(&[], Vec::as_slice)
    }
}
