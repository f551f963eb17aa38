//! Run, check and optimize programs exported by `torch.export`, without Python and without libtorch.
//!
//! The pipeline, one crate per step:
//!
//! ```no_run
//! # fn main() -> Result<(), oxport::Error> {
//! let program = oxport::read("model.pt2")?;                        // bytes → ExportedProgram
//! let diagnostics = oxport::verify(&program);                       // located diagnostics
//! assert!(diagnostics.is_empty());
//! let program = oxport::prepare(&program, oxport::Opt::Exact)?;     // functionalize, decompose, optimize
//! let plan = oxport::plan(&program, &Default::default())?;          // slots, lifetimes, buffers
//! # let inputs = vec![];
//! let outputs = plan.run(inputs)?;
//! # Ok(()) }
//! ```
//!
//! A program is built in Rust, verified, run and written:
//!
//! ```
//! use oxport::{DType, Fake, ProgramBuilder, Tensor};
//! # fn main() -> Result<(), oxport::Error> {
//! let mut b = ProgramBuilder::new(oxport::registry());
//! let batch = b.size("s0", 1, Some(64));
//! let x = b.input("x", Fake::new(DType::F32, [batch, 2.into()]))?;
//! let w = b.parameter("w", Tensor::from([[1.0f32, 2.0], [3.0, 4.0]]))?;
//! let y = b.call("aten::linear", (x, w))?;
//! let z = b.call("aten::relu", (y,))?;
//! let program = b.finish(&[z])?;
//! assert!(oxport::verify(&program).is_empty());
//!
//! let plan = oxport::plan(&oxport::prepare(&program, oxport::Opt::None)?, &Default::default())?;
//! let outputs = plan.run(vec![Tensor::from([[1.0f32, -1.0]]).into()])?;
//! assert_eq!(outputs.user[0], Tensor::from([[0.0f32, 0.0]]).into());
//! println!("{}", outputs.user[0]);                                  // tensor([[0., 0.]])
//!
//! let folder = tempfile::tempdir().unwrap();
//! oxport::write(&program, folder.path().join("small.pt2"))?;
//! # Ok(()) }
//! ```
//!
//! The folder `examples` has ten more programs.
//!
//! | feature | what it adds |
//! |---|---|
//! | `cli` (default) | the command line, with all below but `ndarray` |
//! | `rewrite` | equality saturation: `optimize`, and the rules of [`Opt`] |
//! | `fft` | Fourier transforms (`torch.fft`, `stft`) |
//! | `linalg` | eigenvalues and singular values (`linalg.eigh`, `linalg.svd`, …) |
//! | `images` | PNG and JPEG pictures as inputs |
//! | `capture` | models written in Rust: `oxport::capture` |
//! | `python` | models written as PyTorch source: `oxport::python` |
//! | `ndarray` | conversions from and to `ndarray::Array` |
//!
//! A program that only runs models takes `oxport` with `default-features = false`.

#[cfg(feature = "rewrite")]
pub mod bisect;
pub mod compare;
#[cfg(feature = "rewrite")]
pub mod coverage;
pub mod difference;
pub mod display;
mod error;
pub mod info;
pub mod inputs;
pub mod io;
pub mod json;
pub mod kind;
pub mod listing;
pub mod names;
pub mod peak;
mod prepare;
pub mod profile;
#[cfg(feature = "rewrite")]
pub mod proof;
pub mod random_inputs;
#[cfg(feature = "rewrite")]
pub mod rule_file;
#[cfg(feature = "rewrite")]
pub mod rule_test;
pub mod samples;
pub mod scan;
#[cfg(feature = "python")]
pub mod source;
pub mod suggest;
mod toolchain;
pub mod trace;
pub mod validate;
pub mod weights;

pub use error::{Error, Result};
pub use oxport_ir::{
    Argument, Builder, Diagnostic, Dialect, ExportedProgram, Fake, Graph, Loc, Node, NodeId, Op, OpDef, Operator,
    ProgramBuilder, Registry, Severity, Signature, StateTensor, Val, Value, print,
};
pub use oxport_pt2::{Limits as ReadLimits, ReadOptions, WriteOptions};
pub use oxport_pytree::{Tree, TreeSpec};
#[cfg(feature = "rewrite")]
pub use oxport_rewrite::cost::{Model, Target};
#[cfg(feature = "rewrite")]
pub use oxport_rewrite::proof::{Checked, Proof, Refused};
#[cfg(feature = "rewrite")]
pub use oxport_rewrite::{Limits, Report};
pub use oxport_run::{InputChecks, Module, Outputs, Plan, PlanOptions, Profile};
pub use oxport_sym::{Expr, ShapeEnv, Symbol};
pub use oxport_tensor::{DType, Layout, Scalar, Storage, Tensor};
pub use prepare::Opt;
pub use toolchain::{Toolchain, registry};

// The crates of the pipeline, whole: every type of a public signature has a path here.
#[cfg(feature = "capture")]
pub use oxport_capture as capture;
#[cfg(feature = "python")]
pub use oxport_python as python;
#[cfg(feature = "rewrite")]
pub use oxport_rewrite as rewrite;
pub use {
    indexmap, oxport_ir as ir, oxport_ops as ops, oxport_passes as passes, oxport_pt2 as pt2, oxport_pytree as pytree,
    oxport_run as run, oxport_sym as sym, oxport_tensor as tensor, serde_json,
};

/// Types for defining custom operators; see `examples/custom_op.rs`.
pub mod custom {
    pub use oxport_ir::{
        Arg, Args, Build, Cost, Decomp, Effect, Error, Exact, Kernel, Meta, MetaCx, Prepared, Real, Result, RunCx,
    };
    pub use oxport_tensor::{Layout, TensorMut};
}

use std::path::Path;

/// Reads a program: a `.pt2` archive, or a `.json` program with a `.safetensors` file next to it.
///
/// # Errors
/// The file cannot be read, or is not a valid program: see [`Error::diagnostics`].
pub fn read(path: impl AsRef<Path>) -> Result<ExportedProgram> {
    read_with(path, &ReadOptions::default())
}

/// As [`read`], with options: the model, limits, whether to check the CRC-32 of weights.
///
/// # Errors
/// As [`read`].
pub fn read_with(path: impl AsRef<Path>, options: &ReadOptions) -> Result<ExportedProgram> {
    Toolchain::standard().read(path, options)
}

/// Writes a program, by the suffix of the path: `.pt2`, or `.json` with `.safetensors` next to it. Files are written
/// atomically.
///
/// # Errors
/// The format cannot represent the program, or the file cannot be written.
pub fn write(program: &ExportedProgram, path: impl AsRef<Path>) -> Result<()> {
    write_with(program, path, &WriteOptions::default())
}

/// As [`write`](fn@write), with options: the schema version, and the maximum size of a tensors file.
///
/// # Errors
/// As [`write`](fn@write), or the older version cannot represent the program.
pub fn write_with(program: &ExportedProgram, path: impl AsRef<Path>, options: &WriteOptions) -> Result<()> {
    Ok(oxport_pt2::write(program, path.as_ref(), options)?)
}

/// [`Toolchain::verify`] with the standard operators.
pub fn verify(program: &ExportedProgram) -> Vec<Diagnostic> {
    Toolchain::standard().verify(program)
}

/// [`Toolchain::prepare`] with the standard operators.
///
/// # Errors
/// See there.
pub fn prepare(program: &ExportedProgram, opt: Opt) -> Result<ExportedProgram> {
    Toolchain::standard().prepare(program, opt)
}

/// [`Toolchain::optimize`] with the standard operators.
///
/// # Errors
/// See there.
#[cfg(feature = "rewrite")]
pub fn optimize(program: &ExportedProgram, opt: Opt, limits: &Limits) -> Result<(ExportedProgram, Report)> {
    Toolchain::standard().optimize(program, opt, limits)
}

/// [`Toolchain::optimize_with_proof`] with the standard operators.
///
/// # Errors
/// See there.
#[cfg(feature = "rewrite")]
pub fn optimize_with_proof(
    program: &ExportedProgram,
    opt: Opt,
    limits: &Limits,
) -> Result<(ExportedProgram, Report, Result<Proof, Refused>)> {
    Toolchain::standard().optimize_with_proof(program, opt, limits)
}

/// [`Toolchain::check_proof`] with the standard operators.
///
/// # Errors
/// See there.
#[cfg(feature = "rewrite")]
pub fn check_proof(
    before: &ExportedProgram,
    after: &ExportedProgram,
    proof: &Proof,
) -> Result<Result<Checked, Refused>> {
    Toolchain::standard().check_proof(before, after, proof)
}

/// [`Toolchain::functionalize`] with the standard operators.
///
/// # Errors
/// See there.
pub fn functionalize(program: &ExportedProgram) -> Result<ExportedProgram> {
    Toolchain::standard().functionalize(program)
}

/// [`Toolchain::decompose`] with the standard operators.
///
/// # Errors
/// See there.
pub fn decompose(program: &ExportedProgram) -> Result<ExportedProgram> {
    Toolchain::standard().decompose(program)
}

/// [`Toolchain::plan`] with the standard operators.
///
/// # Errors
/// See there.
pub fn plan(program: &ExportedProgram, options: &PlanOptions) -> Result<Plan> {
    Toolchain::standard().plan(program, options)
}

/// The snippets of the book, as tests.
#[cfg(doctest)]
mod book {
    #[doc = include_str!("../../../docs/embedding.md")]
    struct Embedding;
    #[doc = include_str!("../../../docs/cookbook.md")]
    struct Cookbook;
}
