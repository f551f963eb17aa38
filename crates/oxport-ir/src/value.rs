//! Run-time values, and what a kernel may ask of the engine.

use crate::Result;
use num_complex::Complex64;
use oxport_tensor::{Scalar, Tensor};
use std::fmt;
use std::sync::Arc;

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
#[derive(Debug, Default)]
pub struct RunCx {
    /// The seed of random operators.
    pub seed: u64,
}
