//! The tests of this crate, in one binary.

mod calls;
mod control;
mod data;
mod layers;
mod models;
mod nn;
mod over;
mod shapes;
