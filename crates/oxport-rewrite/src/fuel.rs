//! The fuel of a search: how many applications of rules are left, so that the first one with an effect can be searched.
//!
//! Laws: a search is deterministic, so a search with less fuel does what one with more does first, and then nothing
//! more; an application that adds nothing costs nothing.

use egg::Symbol;

/// What is left, and what was used.
#[derive(Clone, Debug, Default)]
pub struct Fuel {
    limit: Option<usize>,
    used: usize,
    last: Option<Symbol>,
    is_out: bool,
}

impl Fuel {
    /// As many applications, or any number of them.
    pub fn new(limit: Option<usize>) -> Fuel {
        Fuel { limit, ..Fuel::default() }
    }
    /// Applications so far.
    pub fn used(&self) -> usize {
        self.used
    }
    /// The rule that was applied last.
    pub fn last(&self) -> Option<Symbol> {
        self.last
    }
    /// True if an application was refused: no other is tried.
    pub fn is_out(&self) -> bool {
        self.is_out
    }
    /// Whether one more application may add something.
    pub(crate) fn allows_one(&mut self) -> bool {
        self.is_out |= self.limit.is_some_and(|limit| self.used >= limit);
        !self.is_out
    }
    /// Counts an application that added something.
    pub(crate) fn count(&mut self, rule: Symbol) {
        self.used += 1;
        self.last = Some(rule);
    }
}
