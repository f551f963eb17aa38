//! The tests of this crate, in one binary.

mod branches;
mod capture;
mod generated;
mod printed;
mod refused;
mod snippets;
mod worked;
