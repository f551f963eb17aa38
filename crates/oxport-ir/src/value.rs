//! Run-time values, and what a kernel may ask of the engine.

use crate::{Makings, Result};
use num_complex::Complex64;
use oxport_tensor::rng::Generator;
use oxport_tensor::{Scalar, Tensor};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// What a node yields at run time.
#[derive(Clone, Debug)]
pub enum Value {
    /// No value.
    None,
    /// A tensor.
    Tensor(Tensor),
    /// A number of the host program.
    Int(i64),
    /// A number of the host program.
    Float(f64),
    /// A number of the host program.
    Bool(bool),
    /// A number of the host program.
    Complex(Complex64),
    /// A string constant.
    Str(Arc<str>),
    /// Several results.
    List(Vec<Value>),
    /// An effect token.
    Token,
}

impl Value {
    /// The tensor, if it is one.
    pub fn as_tensor(&self) -> Option<&Tensor> {
        if let Value::Tensor(t) = self { Some(t) } else { None }
    }
    /// The integer, if it is one.
    pub fn as_int(&self) -> Option<i64> {
        if let Value::Int(n) = self { Some(*n) } else { None }
    }
    /// A word for messages: `tensor`, `int`, ….
    pub fn kind(&self) -> &'static str {
        match self {
            Value::None => "None",
            Value::Tensor(_) => "tensor",
            Value::Int(_) => "int",
            Value::Float(_) => "float",
            Value::Bool(_) => "bool",
            Value::Complex(_) => "complex",
            Value::Str(_) => "str",
            Value::List(_) => "list",
            Value::Token => "token",
        }
    }
}

impl From<Tensor> for Value {
    fn from(t: Tensor) -> Value {
        Value::Tensor(t)
    }
}

impl From<Scalar> for Value {
    fn from(s: Scalar) -> Value {
        match s {
            Scalar::Int(n) => Value::Int(n),
            Scalar::Float(x) => Value::Float(x),
            Scalar::Bool(b) => Value::Bool(b),
            Scalar::Complex(c) => Value::Complex(c),
        }
    }
}

/// A subgraph that a higher-order operator's kernel can call.
pub trait Callable: Send + Sync + fmt::Debug {
    /// Runs the subgraph.
    ///
    /// # Errors
    /// Whatever a node of it fails with.
    fn call(&self, cx: &RunCx, inputs: Vec<Value>) -> Result<Vec<Value>>;
}

/// What kernels may ask of the engine while running.
#[derive(Default)]
pub struct RunCx {
    /// The seed of random operators.
    pub seed: u64,
    generator: OnceLock<Mutex<Generator>>,
    makings: OnceLock<Makings>,
}

impl RunCx {
    /// A context whose random operators start as after `torch.manual_seed(seed)`.
    pub fn new(seed: u64) -> RunCx {
        RunCx { seed, generator: OnceLock::new(), makings: OnceLock::new() }
    }
    /// While a plan is made: what has been made of its constants.
    pub fn makings(&self) -> &Makings {
        self.makings.get_or_init(Makings::default)
    }
    /// The generator that random operators draw from, one after the other.
    pub fn generator(&self) -> MutexGuard<'_, Generator> {
        let generator = self.generator.get_or_init(|| Mutex::new(Generator::new(self.seed)));
        // A kernel that panicked left a generator that is as good as any.
        generator.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for RunCx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunCx").field("seed", &self.seed).finish_non_exhaustive()
    }
}
