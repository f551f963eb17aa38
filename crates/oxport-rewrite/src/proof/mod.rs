//! Proofs of optimization: the steps from a program to the optimized one, and their checker.
//!
//! ```text
//! log of the search ─cut→ steps over terms ─check→ outputs, effects and aliases of both programs are equal
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`closure`] | congruence closure, with explanations |
//! | `store` | typed terms in classes |
//! | `pattern` | patterns of rules, read and compared with terms |
//! | `program` | a program's nodes as terms |
//! | `alias` | which results share a storage |
//! | `step`, `merge`, `fold` | what makes a step right |
//! | `check` | the checker |
//! | `prove` | from a log of the search to a proof |
//! | `explain` | the steps for people |
//!
//! Laws: nothing in this folder knows of an e-graph, of a choice or of how programs are built from one; the checker
//! believes nothing that a proof says: it computes types, constants and right sides anew; a proof that the checker does
//! not accept is never handed out.

mod alias;
mod check;
pub mod closure;
mod explain;
mod fold;
mod merge;
mod pattern;
mod program;
mod prove;
mod recurrent;
mod step;
mod store;
mod text;

pub use check::{Checked, Refused, check};
pub use explain::{explain, nodes};
pub use fold::Evaluate;
pub use prove::{Fold, Optimization, prove, steps_of};
pub use text::{Digest, Entry, Proof, Rules, Start, Step, Value};

use crate::rule::Rule;
use oxport_ir::Registry;

/// What the two sides of a proof are read by.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The operators.
    pub registry: &'a Registry,
    /// Rules beside the standard ones.
    pub further: &'a [Rule],
    /// Computes constants.
    pub evaluate: Evaluate<'a>,
}

/// Why a proof is not accepted.
pub(crate) type Refusal = String;
