//! The tests of this crate, in one binary.

mod calls;
mod control;
mod models;
mod nn;
mod shapes;
