//! Symbolic integers: expressions, ranges, and the shape environment.
//!
//! An [`Expr`] is what PyTorch writes as `expr_str`: a sympy expression over size symbols. Expressions are canonical
//! and hash-consed, so `==` is a pointer comparison. Three layers, each using only the ones before it:
//!
//! 1. *Construction* ([`Expr::call`], operators, [`Expr::parse`]): exactly the rewrites that sympy and
//!    `torch.utils._sympy` do when a node is made, never more. Invariant: text written by torch → parse →
//!    [`Expr::srepr`] is the same text.
//! 2. *Bounds* ([`Range`]): the interval of an expression from the intervals of its symbols. Invariant: a range
//!    contains the value.
//! 3. *Knowledge* ([`ShapeEnv`]): ranges, hints and equalities of symbols; decides relations and equality of sizes.
//!    Invariant: simplification preserves the value on every valuation that satisfies the environment.

mod assume;
mod bounds;
mod build;
mod env;
mod eval;
mod expand;
mod expr;
mod float_fns;
mod floor;
mod func;
mod intern;
mod layered;
mod lex;
mod logic;
mod memo;
mod minmax;
mod number;
mod ops;
mod order;
mod parse;
mod piecewise;
mod print;
mod range;
mod simplify;
mod solve;
mod symbol;
mod system;
mod unbacked;

pub use env::ShapeEnv;
pub use eval::EvalError;
pub use expr::{Expr, Kind};
pub use func::Func;
pub use number::{Number, Sign};
pub use parse::ParseError;
pub use range::Range;
pub use symbol::{Assumption, Assumptions, Symbol};
pub use unbacked::{NextUnbacked, Unbacked};
