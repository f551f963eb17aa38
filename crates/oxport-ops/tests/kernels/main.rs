//! Kernels by themselves. They stand here and not beside the kernels because a crate with unit tests is compiled twice,
//! and this is the largest one.

mod algebra;
mod apart;
mod bounds;
mod elements;
mod layers;
mod parts;
mod trial;
mod waves;
