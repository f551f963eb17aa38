//! The tests of this crate, in one binary.

mod capture;
mod snippets;
