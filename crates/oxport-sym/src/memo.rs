//! A cache of decided conditions: [`Memo`].
//!
//! Invariants: an entry is a function of what its owner knows, so the owner begins a new memo whenever it learns
//! something; clones of an owner share one until then. The number of entries is bounded.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use crate::expr::Expr;

/// The maximum number of entries; at the limit the cache is cleared.
const MAX_ENTRIES: usize = 1 << 12;

/// Answers by condition.
#[derive(Clone, Default)]
pub(crate) struct Memo(Arc<Mutex<HashMap<Expr, Option<bool>>>>);

impl Memo {
    /// The answer for a condition: as it was, or as `decide` finds it.
    pub fn of(&self, condition: &Expr, decide: impl FnOnce() -> Option<bool>) -> Option<bool> {
        if let Some(&known) = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(condition) {
            return known;
        }
        // Not locked during the call, which decides parts recursively.
        let found = decide();
        let mut answers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if answers.len() >= MAX_ENTRIES {
            answers.clear();
        }
        answers.insert(condition.clone(), found);
        found
    }
}

impl fmt::Debug for Memo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Memo")
    }
}
