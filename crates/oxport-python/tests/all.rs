//! The tests of this crate, in one binary.

mod branches;
mod capture;
mod refused;
mod snippets;
