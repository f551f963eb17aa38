//! Mutation testing of the verifier: which mutants of a program does reading or verifying catch?
//!
//! A [`Mutator`] enumerates its edits of a document: each [`Edit`] changes the program JSON (or a payload config) in
//! one place and has the words by which a diagnostic names that place. The class says when an edit is effective:
//!
//! | class | effective if |
//! |---|---|
//! | [`Class::Broken`] | always: it breaks a rule of PyTorch's loader, verifier or runtime |
//! | [`Class::Stale`] | always: recorded metas differ from those of the operators |
//! | [`Class::Value`] | the mutated program fails, or gives other results |
//!
//! [`edit_in_memory`] changes a program in memory, also in ways that the program JSON cannot represent: values without
//! JSON form, invalid names, missing metas. It tests the invariant that programs that verify can be written.
//!
//! Invariant: the same program and seed give the same edits.

mod document;
mod in_memory;
mod judge;
mod metas;
mod nodes;
mod signature;
mod state;
mod subgraphs;

pub use document::{Change, Document, Edit, Site};
pub use in_memory::edit_in_memory;
pub use judge::{Outcome, Tally, judge, report, run_program};

/// When an edit is effective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// It breaks a rule.
    Broken,
    /// It records something wrong.
    Stale,
    /// It is another program, possibly of the same types.
    Value,
}

/// A mutation operator.
#[derive(Clone, Copy)]
pub struct Mutator {
    /// The name.
    pub name: &'static str,
    /// When its edits are effective.
    pub class: Class,
    /// Its edits of a document.
    pub edits: fn(&Document) -> Vec<Edit>,
}

/// All mutators.
pub fn mutators() -> Vec<Mutator> {
    [nodes::MUTATORS, metas::MUTATORS, signature::MUTATORS, state::MUTATORS, subgraphs::MUTATORS].concat()
}

const fn broken(name: &'static str, edits: fn(&Document) -> Vec<Edit>) -> Mutator {
    Mutator { name, class: Class::Broken, edits }
}
const fn stale(name: &'static str, edits: fn(&Document) -> Vec<Edit>) -> Mutator {
    Mutator { name, class: Class::Stale, edits }
}
const fn value(name: &'static str, edits: fn(&Document) -> Vec<Edit>) -> Mutator {
    Mutator { name, class: Class::Value, edits }
}

/// A random sample of `count` edits.
pub fn draw(mut edits: Vec<Edit>, count: usize, seed: u64) -> Vec<Edit> {
    let mut rng = Rng::new(seed);
    let mut picked = Vec::new();
    while picked.len() < count && !edits.is_empty() {
        picked.push(edits.swap_remove(rng.below(edits.len())));
    }
    picked
}

/// A seeded random number generator.
struct Rng(u64);

impl Rng {
    fn new(seed: u64) -> Rng {
        Rng(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }
    /// A number below `n`, which is not 0.
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 20) as usize % n
    }
}
