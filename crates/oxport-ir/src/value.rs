//! Run-time values, and what a kernel may ask of the engine.

use crate::text::print::{python_complex, python_float};
use crate::{Error, Makings, Result};
use num_complex::Complex64;
use oxport_tensor::rng::Generator;
use oxport_tensor::{Scalar, Tensor};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// What a node yields at run time.
///
/// ```
/// use oxport_ir::Value;
/// use oxport_tensor::Tensor;
///
/// let x: Value = Tensor::from([1.0f32, 2.5]).into();
/// assert_eq!(x.to_string(), "tensor([1.0000, 2.5000])");
/// assert_eq!(Tensor::try_from(x)?.sizes(), [2]);
/// let wrong = Tensor::try_from(Value::from(3)).unwrap_err();
/// assert_eq!(wrong.to_string(), "expected a tensor, got an int");
/// # Ok::<(), oxport_ir::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    /// No value.
    #[default]
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
    fn is_not(&self, expected: &str) -> Error {
        let article = if matches!(self, Value::Int(_)) { "an" } else { "a" };
        let got = match self {
            Value::None => "None".to_string(),
            other => format!("{article} {}", other.kind()),
        };
        Error::invalid(format!("expected {expected}, got {got}"))
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

/// Makes a [`Value`] of a type that a variant holds, and takes it out again.
macro_rules! variants {
    ($($T:ty, $variant:ident, $word:literal;)*) => { $(
        impl From<$T> for Value {
            fn from(x: $T) -> Value {
                Value::$variant(x)
            }
        }
        impl TryFrom<Value> for $T {
            type Error = Error;
            fn try_from(value: Value) -> Result<$T> {
                match value {
                    Value::$variant(x) => Ok(x),
                    other => Err(other.is_not($word)),
                }
            }
        }
    )* };
}

variants! {
    Tensor, Tensor, "a tensor";
    i64, Int, "an int";
    f64, Float, "a float";
    bool, Bool, "a bool";
    Complex64, Complex, "a complex";
    Arc<str>, Str, "a str";
    Vec<Value>, List, "a list";
}

impl From<&str> for Value {
    fn from(s: &str) -> Value {
        Value::Str(s.into())
    }
}

impl From<&Tensor> for Value {
    fn from(t: &Tensor) -> Value {
        Value::Tensor(t.clone())
    }
}

/// `None` is [`Value::None`].
impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Value {
        value.map_or(Value::None, Into::into)
    }
}

/// As Python prints them: `tensor([1., 2.])`, `0.5`, `True`, `[1, None]`; a string without quotes.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::None => f.write_str("None"),
            Value::Tensor(t) => t.fmt(f),
            Value::Int(n) => n.fmt(f),
            Value::Float(x) => f.write_str(&python_float(*x)),
            Value::Bool(b) => f.write_str(if *b { "True" } else { "False" }),
            Value::Complex(c) => f.write_str(&python_complex(*c)),
            Value::Str(s) => f.write_str(s),
            Value::List(items) => {
                let items: Vec<String> = items.iter().map(ToString::to_string).collect();
                write!(f, "[{}]", items.join(", "))
            }
            Value::Token => f.write_str("token"),
        }
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
    /// While a plan is made: whether what is prepared may make results that round otherwise.
    pub may_round: bool,
    generator: OnceLock<Mutex<Generator>>,
    makings: OnceLock<Makings>,
}

impl RunCx {
    /// A context whose random operators start as after `torch.manual_seed(seed)`.
    pub fn new(seed: u64) -> RunCx {
        RunCx { seed, ..RunCx::default() }
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
