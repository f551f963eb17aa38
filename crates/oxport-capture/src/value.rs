//! What traced code computes with: [`Tensor`]s, symbolic numbers, and constants; together a [`Value`].
//!
//! Laws: a value is a handle, cloning it is cheap; a number that is known is a constant, and never becomes a node; a
//! tensor
//! whose computation was refused is *void*: it has no node, every call on it is void too, and the tracer keeps the
//! one error.

use crate::{Result, Tracer};
use num_complex::Complex64;
use oxport_ir::{Device, Fake, MemoryFormat, MemoryLayout, NodeId, Val};
use oxport_sym::Expr;
use oxport_tensor::{DType, Scalar};
use std::cell::Cell;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

/// A traced tensor: a node of the graph that grows.
#[derive(Clone)]
pub struct Tensor {
    pub(crate) tracer: Tracer,
    pub(crate) node: Option<NodeId>,
}

/// Anything that an operator takes or gives.
#[derive(Clone, Debug)]
pub enum Value {
    /// `None`
    None,
    /// A tensor.
    Tensor(Tensor),
    /// An int, symbolic or constant.
    Int(SymInt),
    /// A float, symbolic or constant.
    Float(SymFloat),
    /// A bool, symbolic or constant.
    Bool(SymBool),
    /// A complex constant.
    Complex(Complex64),
    /// A string.
    Str(Arc<str>),
    /// A `torch.dtype`.
    DType(DType),
    /// A `torch.layout`.
    Layout(MemoryLayout),
    /// A `torch.memory_format`.
    MemoryFormat(MemoryFormat),
    /// A `torch.device`.
    Device(Device),
    /// A list or tuple; several results of one call.
    List(Vec<Value>),
}

/// A symbolic number: what it is, and the tracer that knows how it came about.
#[derive(Clone)]
pub(crate) struct Symbolic {
    pub(crate) expr: Expr,
    pub(crate) tracer: Option<Tracer>,
    /// How it came about, where that counts and not only what it is.
    pub(crate) made: Option<Rc<Made>>,
}

/// How a number came about that is a node of its own, whatever else is equal to it.
pub(crate) enum Made {
    /// By a call whose text was captured.
    Given(NodeId),
    /// By an operator of Python, of such numbers, or a constant of numbers that are none (`n >= 0`). The node, once a
    /// call took it.
    Computed { op: &'static str, operands: Vec<Value>, is_given: bool, node: Cell<Option<NodeId>> },
}

impl Symbolic {
    /// True if the text of a call made it, or what it was computed of.
    pub(crate) fn is_given(&self) -> bool {
        match self.made.as_deref() {
            None => false,
            Some(Made::Given(_)) => true,
            Some(Made::Computed { is_given, .. }) => *is_given,
        }
    }
}

macro_rules! symbolic {
    ($($(#[$doc:meta])* $name:ident $variant:ident $known:ty, $as_known:ident, $constant:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone)]
        pub struct $name(pub(crate) Symbolic);

        impl $name {
            pub(crate) fn new(expr: Expr, tracer: &Tracer) -> $name {
                $name(Symbolic { expr, tracer: Some(tracer.clone()), made: None })
            }
            /// The expression over the program's symbols.
            pub fn expr(&self) -> &Expr {
                &self.0.expr
            }
            /// The number, if it is known for all inputs.
            pub fn known(&self) -> Option<$known> {
                self.0.expr.$as_known()
            }
        }
        impl From<$known> for $name {
            fn from(x: $known) -> $name {
                $name(Symbolic { expr: $constant(x), tracer: None, made: None })
            }
        }
        impl From<&$name> for $name {
            fn from(x: &$name) -> $name {
                x.clone()
            }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0.expr)
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0.expr)
            }
        }
        impl From<$name> for Value {
            fn from(x: $name) -> Value {
                Value::$variant(x)
            }
        }
        impl From<&$name> for Value {
            fn from(x: &$name) -> Value {
                Value::$variant(x.clone())
            }
        }
        impl From<$known> for Value {
            fn from(x: $known) -> Value {
                Value::$variant(x.into())
            }
        }
    )*};
}
symbolic! {
    /// An int that may depend on the sizes of inputs: PyTorch's `SymInt`.
    SymInt Int i64, as_int, Expr::int;
    /// A float that may depend on the sizes of inputs: PyTorch's `SymFloat`.
    SymFloat Float f64, as_float, Expr::float;
    /// A truth value that may depend on the sizes of inputs: PyTorch's `SymBool`.
    SymBool Bool bool, as_bool, Expr::boolean;
}

impl From<usize> for SymInt {
    fn from(n: usize) -> SymInt {
        Expr::from(n).into()
    }
}
impl From<i32> for SymInt {
    fn from(n: i32) -> SymInt {
        i64::from(n).into()
    }
}
impl From<Expr> for SymInt {
    fn from(expr: Expr) -> SymInt {
        SymInt(Symbolic { expr, tracer: None, made: None })
    }
}

impl Value {
    /// The tensor, if it is one.
    pub fn as_tensor(&self) -> Option<&Tensor> {
        if let Value::Tensor(t) = self { Some(t) } else { None }
    }
    /// True for `None`.
    pub fn is_none(&self) -> bool {
        matches!(self, Value::None)
    }
    /// The int, if it is one.
    pub fn as_int(&self) -> Option<&SymInt> {
        if let Value::Int(n) = self { Some(n) } else { None }
    }
    /// The items, if it is a list.
    pub fn as_list(&self) -> Option<&[Value]> {
        if let Value::List(l) = self { Some(l) } else { None }
    }
    /// What PyTorch calls the type in its messages.
    pub fn type_name(&self) -> String {
        match self {
            Value::None => "NoneType".into(),
            Value::Tensor(_) => "Tensor".into(),
            Value::Int(n) => if n.known().is_some() { "int" } else { "SymInt" }.into(),
            Value::Float(x) => if x.known().is_some() { "float" } else { "SymFloat" }.into(),
            Value::Bool(b) => if b.known().is_some() { "bool" } else { "SymBool" }.into(),
            Value::Complex(_) => "complex".into(),
            Value::Str(_) => "str".into(),
            Value::DType(_) => "torch.dtype".into(),
            Value::Layout(_) => "torch.layout".into(),
            Value::MemoryFormat(_) => "torch.memory_format".into(),
            Value::Device(_) => "torch.device".into(),
            Value::List(_) => "list".into(),
        }
    }
    /// The number as an expression and its kind; `None` for what is no number.
    pub(crate) fn as_val(&self) -> Option<Val> {
        Some(match self {
            Value::Int(n) => Val::Int(n.0.expr.clone()),
            Value::Float(x) => Val::Float(x.0.expr.clone()),
            Value::Bool(b) => Val::Bool(b.0.expr.clone()),
            _ => return None,
        })
    }
    /// True if a void tensor is in it.
    pub(crate) fn is_void(&self) -> bool {
        match self {
            Value::Tensor(t) => t.node.is_none(),
            Value::List(l) => l.iter().any(Value::is_void),
            _ => false,
        }
    }
}

impl Tensor {
    /// Dtype, sizes, strides and device; none of a void tensor.
    pub fn fake(&self) -> Option<Fake> {
        self.tracer.fake(self.node?)
    }
    /// Whether it is an input of the program, its state among them, or of the closure that is being traced.
    pub fn is_input(&self) -> bool {
        self.node.is_some_and(|node| self.tracer.is_placeholder(node))
    }
    /// The tracer that traces it.
    pub fn tracer(&self) -> &Tracer {
        &self.tracer
    }
    /// The name of its node in the graph; none of a void tensor.
    pub fn name(&self) -> Option<Arc<str>> {
        self.tracer.name_of(self.node?)
    }
    /// The element type; float32 of a void tensor.
    pub fn dtype(&self) -> DType {
        self.fake().map_or(DType::F32, |f| f.dtype)
    }
    /// The number of dimensions; 0 of a void tensor.
    pub fn ndim(&self) -> usize {
        self.fake().map_or(0, |f| f.dim())
    }
    /// The sizes; none of a void tensor.
    pub fn shape(&self) -> Vec<SymInt> {
        let sizes = self.fake().map(|f| f.sizes).unwrap_or_default();
        sizes.into_iter().map(|e| SymInt::new(e, &self.tracer)).collect()
    }
    /// The strides, in elements; none of a void tensor.
    pub fn strides(&self) -> Vec<SymInt> {
        let strides = self.fake().map(|f| f.strides).unwrap_or_default();
        strides.into_iter().map(|e| SymInt::new(e, &self.tracer)).collect()
    }
    /// The size of a dimension, counted from the end where negative.
    ///
    /// # Errors
    /// There is no such dimension.
    pub fn try_size(&self, dim: i64) -> Result<SymInt> {
        let sizes = self.shape();
        let rank = sizes.len() as i64;
        let at = usize::try_from(if dim < 0 { dim + rank } else { dim }).ok();
        at.and_then(|i| sizes.get(i).cloned()).ok_or_else(|| {
            let (least, most) = (-rank.max(1), rank.max(1) - 1);
            crate::Error::invalid(format!(
                "Dimension out of range (expected to be in range of [{least}, {most}], but got {dim})"
            ))
        })
    }
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.name(), self.fake()) {
            (Some(name), Some(fake)) => write!(f, "{name}: {fake}"),
            _ => f.write_str("void"),
        }
    }
}

macro_rules! value_from {
    ($($t:ty, $x:ident => $value:expr;)*) => {$(
        impl From<$t> for Value {
            fn from($x: $t) -> Value {
                $value
            }
        }
    )*};
}
value_from! {
    Tensor, t => Value::Tensor(t);
    &Tensor, t => Value::Tensor(t.clone());
    usize, n => Value::Int(n.into());
    i32, n => Value::Int(n.into());
    f32, x => Value::Float(f64::from(x).into());
    Complex64, c => Value::Complex(c);
    &str, s => Value::Str(s.into());
    DType, d => Value::DType(d);
    MemoryLayout, l => Value::Layout(l);
    MemoryFormat, m => Value::MemoryFormat(m);
    Device, d => Value::Device(d);
    &Value, v => v.clone();
}
impl From<Scalar> for Value {
    fn from(x: Scalar) -> Value {
        match x {
            Scalar::Int(n) => n.into(),
            Scalar::Float(x) => x.into(),
            Scalar::Bool(b) => b.into(),
            Scalar::Complex(c) => c.into(),
        }
    }
}
impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(x: Option<T>) -> Value {
        x.map_or(Value::None, Into::into)
    }
}
impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(items: Vec<T>) -> Value {
        Value::List(items.into_iter().map(Into::into).collect())
    }
}
impl<T: Into<Value> + Clone> From<&[T]> for Value {
    fn from(items: &[T]) -> Value {
        Value::List(items.iter().cloned().map(Into::into).collect())
    }
}
impl<T: Into<Value>, const N: usize> From<[T; N]> for Value {
    fn from(items: [T; N]) -> Value {
        Value::List(items.into_iter().map(Into::into).collect())
    }
}
