//! Operator fuzzing: random single calls run through every stage; findings are one line of text each.
//!
//! ```text
//! aten::slice.Tensor(f32[5, 3], 0, 0, 9223372036854775807, 9223372036854775807) symbolic
//! aten::gather(f32[3, 0]{0, 1}, 1, i64[3, 2]<-1..9>~) constant
//! aten::diff(f32[8], read(1000000000000)) plain
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`text`] | a call as text, and back |
//! | [`spec`] | a tensor as text: dtype, sizes, strides, range of elements |
//! | [`seeds`] | seed calls: samples of the operator table, PyTorch's operator cases |
//! | [`draw`] | arguments by the types of the schema; changes of a call |
//! | [`mod@drive`] | one call through verifier, passes, rules, plan and kernels |
//! | [`campaign`] | many calls in monitored child processes with limited memory |
//!
//! Invariants: a call is a function of a seed and a number; its text reads back as the same call with the same
//! elements.

pub mod campaign;
pub mod draw;
pub mod drive;
mod perturb;
mod random;
pub mod seeds;
pub mod spec;
pub mod text;

pub use drive::{Finding, drive};
pub use random::Random;
pub use seeds::SeedCalls;
pub use spec::Spec;

use oxport_ir::Argument;

/// One call of an operator, as a program.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The operator, `aten::add.Tensor`.
    pub op: String,
    /// Positional arguments.
    pub args: Vec<Item>,
    /// Arguments by name.
    pub kwargs: Vec<(String, Item)>,
    /// How tensors and sizes are represented in the program.
    pub mode: Mode,
}

/// An argument of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// A tensor.
    Tensor(Spec),
    /// A constant.
    Const(Argument),
    /// A number that the program reads from a tensor, as `item()` does: a data-dependent value.
    Read(Argument),
    /// A number that is a size of an input: a symbol of a bounded range.
    Size(i64),
    /// A list.
    List(Vec<Item>),
}

/// How tensors and sizes are represented in the program of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Inputs of fixed sizes.
    Plain,
    /// Constants of the program, so that the call is folded.
    Constant,
    /// Inputs whose sizes are symbols from 2 to infinity, with the drawn sizes as hints.
    Symbolic,
    /// Inputs whose sizes are symbols from 0 to a bound, without hints.
    Bounded,
}

impl Mode {
    /// All modes.
    pub const ALL: [Mode; 4] = [Mode::Plain, Mode::Constant, Mode::Symbolic, Mode::Bounded];
    /// The name in texts.
    pub fn word(self) -> &'static str {
        match self {
            Mode::Plain => "plain",
            Mode::Constant => "constant",
            Mode::Symbolic => "symbolic",
            Mode::Bounded => "bounded",
        }
    }
}

impl Item {
    /// Calls `f` on every tensor of this argument.
    pub fn for_each_tensor<'a>(&'a self, f: &mut dyn FnMut(&'a Spec)) {
        match self {
            Item::Tensor(t) => f(t),
            Item::List(l) => l.iter().for_each(|i| i.for_each_tensor(f)),
            _ => {}
        }
    }
}

impl Call {
    /// All arguments, the positional ones first.
    pub fn items(&self) -> impl Iterator<Item = &Item> {
        self.args.iter().chain(self.kwargs.iter().map(|(_, i)| i))
    }
    /// All arguments, to be changed.
    pub fn items_mut(&mut self) -> impl Iterator<Item = &mut Item> {
        self.args.iter_mut().chain(self.kwargs.iter_mut().map(|(_, i)| i))
    }
    /// The tensors, in order.
    pub fn tensors(&self) -> Vec<&Spec> {
        let mut all = Vec::new();
        self.items().for_each(|i| i.for_each_tensor(&mut |t| all.push(t)));
        all
    }
}
