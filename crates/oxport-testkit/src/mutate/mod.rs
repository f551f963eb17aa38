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
//! Law: everything is deterministic; the same program and seed give the same edits.

mod document;
mod judge;
mod metas;
mod nodes;
mod signature;
mod state;
mod subgraphs;

pub use document::{Change, Document, Edit, Site};
pub use judge::{Outcome, Tally, judge, report, run_program};

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
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut picked = Vec::new();
    while picked.len() < count && !edits.is_empty() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        picked.push(edits.swap_remove((state >> 20) as usize % edits.len()));
    }
    picked
}
