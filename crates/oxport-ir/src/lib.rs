//! The FX graph: nodes, meta values, signatures, programs, and what an operator *is*.
//!
//! An [`ExportedProgram`] is a value: a [`Graph`] of [`Node`]s in explicit order, a [`Signature`] that says what its
//! inputs and outputs mean, and the tensors that it owns. Every node carries its meta value ([`Val`]): a [`Fake`]
//! tensor (dtype, symbolic sizes and strides, no data), a symbolic number, or a list of those.
//!
//! | module | holds |
//! |---|---|
//! | [`schema`] | `FunctionSchema`: ATen's operator signatures, parsed |
//! | [`opdef`] | [`OpDef`]: everything that is known of an operator |
//! | [`operator`] | [`Operator`]: one made at run time, with closures |
//! | [`work`] | [`Cost`]: what a call costs |
//! | [`op`] | [`Op`], [`Registry`]: how it is found |
//! | [`intrinsic`] | higher-order operators and Python functions that are handled one by one |
//! | [`variants`] | from an operator that writes to the one that computes what it writes |
//! | [`args`] | argument lists bound to a schema, read in one of three worlds: meta, build, real |
//! | [`fake`] | meta values |
//! | [`infer`] | from a call to its meta value |
//! | [`node`], [`graph`] | the graph and its edits |
//! | [`provenance`] | where a node comes from, read from its metadata |
//! | [`signature`], [`program`] | the exported program |
//! | [`text`] | programs as text, in both of PyTorch's forms, and read back |
//! | [`builder`] | making programs and decompositions, with metas inferred on the way |
//!
//! Laws: names are unique within a graph; a node stands after everything that it uses; ids are never reused; users
//! are exact after every edit. This room knows no files, no kernels' bodies and no e-graphs.

pub mod args;
pub mod builder;
pub mod diagnostic;
pub mod error;
pub mod fake;
pub mod from_arg;
pub mod graph;
pub mod guards;
pub mod infer;
pub mod intrinsic;
pub mod node;
pub mod op;
pub mod opdef;
pub mod operator;
mod prepared;
pub mod program;
pub mod provenance;
pub mod schema;
pub mod signature;
pub mod storage;
pub mod template;
pub mod terminal;
pub mod text;
mod translate;
pub mod value;
pub mod variants;
pub mod verify;
pub mod work;

pub use args::{Arg, Args, Build, Complex, Meta, Numeral, Real, Sym, World};
pub use builder::{Builder, ProgramBuilder};
pub use diagnostic::{Diagnostic, Loc, Severity};
pub use error::{Error, Result};
pub use fake::{Device, Fake, MemoryFormat, MemoryLayout, Val};
pub use from_arg::{FromArg, Number, Operand};
pub use graph::{Graph, Users};
pub use infer::MetaCx;
pub use intrinsic::Intrinsic;
pub use node::{Argument, Kwargs, Node, NodeId, NodeKind, NodeMeta};
pub use op::{Op, Registry};
pub use opdef::{
    Aliasing, Assertion, Autocast, Decomp, Effect, Exact, IndexedDim, Indexes, Kernel, Memo, Mutated, Mutation, Noise,
    OpDef, OperandStrides, WriteBack,
};
pub use operator::Operator;
pub use prepared::{Makings, Prepared};
pub use program::{
    Constant, Dialect, ExportedProgram, ModuleCall, ModuleCallSignature, RangeConstraint, StateTensor, Subclass,
};
pub use schema::FunctionSchema;
pub use signature::{InputKind, InputSpec, OutputKind, OutputSpec, Signature};
pub use text::{parse, print};
pub use value::{Callable, RunCx, Value};
pub use verify::verify;
pub use work::{Class, Cost, Work};
