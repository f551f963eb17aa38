//! The tests of this crate, in one binary.

mod calls;
mod control;
mod data;
mod models;
mod nn;
mod shapes;
