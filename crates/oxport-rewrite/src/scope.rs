//! Where rules are matched, if not everywhere.

use crate::term::Term;
use egg::{Id, Language};
use rustc_hash::FxHashMap;

/// Some classes, by the operators of their terms.
#[derive(Default)]
pub(crate) struct Scope(FxHashMap<<Term as Language>::Discriminant, Vec<Id>>);

impl Scope {
    /// Adds a class with these terms.
    pub fn add(&mut self, class: Id, terms: &[Term]) {
        for term in terms {
            let classes = self.0.entry(term.discriminant()).or_default();
            if classes.last() != Some(&class) {
                classes.push(class);
            }
        }
    }

    /// The classes that have a term like this one.
    pub fn with(&self, term: &Term) -> &[Id] {
        self.0.get(&term.discriminant()).map_or(&[], Vec::as_slice)
    }
}
