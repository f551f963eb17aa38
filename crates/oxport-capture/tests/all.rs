//! The tests of this crate, in one binary.

mod calls;
mod models;
mod nn;
mod shapes;
