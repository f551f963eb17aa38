//! An interpreter of Python source, pure and bounded, for capturing model code without Python.
//!
//! [`Interp`] runs a module's source with real Python semantics. The program has no file, network, process or clock: it
//! sees the sources that a [`Loader`] finds, and nothing else. Steps, recursion and memory are bounded by [`Limits`].
//! Objects that are not Python's come from a [`host::Host`]; the interpreter itself does not know tensors.
//!
//! Invariants: no source makes the interpreter panic; errors are exceptions of the program with a traceback, or a
//! reached limit.

mod attr;
mod builtins;
mod call;
mod class;
mod compare;
pub mod dict;
pub mod error;
mod eval;
mod exec;
mod format;
mod generator;
pub mod host;
mod import;
mod index;
mod interp;
mod iter;
mod journal;
mod loops;
mod matching;
mod names;
mod ops;
mod packages;
mod repr;
mod stdlib;
pub mod syntax;
pub mod torch;
mod unary;
mod unavailable;
pub mod value;
mod view;

pub use error::Error;
pub use interp::{Bundled, Frame, Interp, Limits, Loader, NoModules, STACK};
