//! Mutation testing of the verifier: programs tampered with in many ways, and which of it reading or verifying catches.
//!
//! A [`Tamper`] knows where in a document it could strike: each [`Edit`] changes the program JSON (or a payload config)
//! in one place and says which words a diagnostic of the right place has. Classes tell what an edit must prove:
//!
//! | class | effective if |
//! |---|---|
//! | [`Class::Broken`] | always: it breaks a rule of PyTorch's loader, verifier or runtime |
//! | [`Class::Stale`] | always: what is recorded is no longer what the operators yield |
//! | [`Class::Value`] | the tampered program fails, or gives other results |
//!
//! [`wild`] edits are those that no document can hold: of programs in memory, with values that have no spelling, names that
//! nobody takes, metas that are missing. They try the law that what verifies can be written.
//!
//! Law: everything is deterministic; the same program and seed give the same edits.

mod document;
mod judge;
mod metas;
mod nodes;
mod signature;
mod state;
mod subgraphs;
mod wild;

pub use document::{Change, Document, Edit, Site};
pub use judge::{Outcome, Tally, judge, report, run_program};
pub use wild::wild;

/// What an edit must prove to count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// It breaks a rule.
    Broken,
    /// It records something wrong.
    Stale,
    /// It is another program, possibly of the same types.
    Value,
}

/// A way of tampering.
#[derive(Clone, Copy)]
pub struct Tamper {
    /// A word.
    pub name: &'static str,
    /// What it must prove.
    pub class: Class,
    /// Where it could strike.
    pub edits: fn(&Document) -> Vec<Edit>,
}

/// All ways of tampering.
pub fn tampers() -> Vec<Tamper> {
    [nodes::TAMPERS, metas::TAMPERS, signature::TAMPERS, state::TAMPERS, subgraphs::TAMPERS].concat()
}

const fn broken(name: &'static str, edits: fn(&Document) -> Vec<Edit>) -> Tamper {
    Tamper { name, class: Class::Broken, edits }
}
const fn stale(name: &'static str, edits: fn(&Document) -> Vec<Edit>) -> Tamper {
    Tamper { name, class: Class::Stale, edits }
}
const fn value(name: &'static str, edits: fn(&Document) -> Vec<Edit>) -> Tamper {
    Tamper { name, class: Class::Value, edits }
}

/// `count` edits spread over all, by a seed.
pub fn draw(mut edits: Vec<Edit>, count: usize, seed: u64) -> Vec<Edit> {
    let mut dice = Dice::new(seed);
    let mut picked = Vec::new();
    while picked.len() < count && !edits.is_empty() {
        picked.push(edits.swap_remove(dice.below(edits.len())));
    }
    picked
}

/// Numbers that a seed gives.
struct Dice(u64);

impl Dice {
    fn new(seed: u64) -> Dice {
        Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }
    /// A number below `n`, which is not 0.
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 20) as usize % n
    }
}
