//! Models written in code, traced into exported programs as `torch.export` gives them.
//!
//! ```
//! use oxport_capture::{Tracer, Value};
//! use oxport_ir::{Fake, Value as Data};
//! use oxport_tensor::{DType, Tensor};
//! # fn main() -> oxport_capture::Result<()> {
//! let t = Tracer::new();
//! let w = t.parameter("w", Tensor::from_vec(&[3, 2], vec![1.0f32; 6])?)?;
//! let x = t.input("x", Fake::of(&Tensor::from_vec(&[4, 2], vec![0.0f32; 8])?))?;
//! let y = t.op("aten.linear", &[x.into(), w.into()], &[])?;
//! let z = t.op("aten.add", &[y, 1.into()], &[])?;
//! let program = t.finish(z)?;
//! assert!(program.graph.find("add").is_some());
//! # Ok(()) }
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`value`] | what traced code computes with |
//! | [`tracer`] | the program that grows: inputs, state, calls, outputs |
//! | `overload` | which overload a call means, and how its arguments are bound |
//! | `naming` | names of nodes and placeholders, as FX and `torch.export` give them |
//! | [`given`] | calls as the text of a program has them |
//! | `functional` | writes at the end as outputs |
//! | [`number`] | symbolic numbers: arithmetic, guards, the nodes they become |
//!
//! Laws: what is traced is what PyTorch would trace of the same calls; nothing here panics, whatever the code does.

mod arithmetic;
mod autocast;
pub mod branch;
mod call;
mod constraint;
pub mod control;
pub mod dim;
pub mod error;
pub mod export;
mod functional;
pub mod given;
mod guard_text;
pub mod indexing;
mod memo;
mod methods;
pub mod module;
mod naming;
pub mod nn;
pub mod number;
mod operators;
mod overload;
pub mod pytree;
pub mod regions;
mod state;
pub mod tracer;
pub mod value;

pub use branch::Branch;
pub use dim::Dim;
pub use error::{Error, Result};
pub use export::{Export, Inputs};
pub use given::{Given, HigherOrder, Several};
pub use indexing::Index;
pub use module::{Buffer, Forward, Mode, Module, ModuleState, Parameter, Visitor, manual_seed};
pub use oxport_derive::{Module, Pytree};
pub use pytree::Pytree;
pub use tracer::Tracer;
pub use value::{SymBool, SymFloat, SymInt, Tensor, Value};

/// The snippets of the tutorial, as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/capture.md")]
pub struct Tutorial;
