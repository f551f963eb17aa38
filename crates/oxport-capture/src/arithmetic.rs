//! The operators of Rust on symbolic numbers, and what Python's `math` and `torch.sym_*` have beside them.
//!
//! Laws: constants are computed, symbols give expressions; division is Python's: `/` gives a float,
//! [`SymInt::floor_div`] rounds down. What cannot be computed (a division by zero) refuses the capture, and gives the
//! first operand.

use crate::value::{Made, Symbolic};
use crate::{Result, SymBool, SymFloat, SymInt, Tracer, Value};
use oxport_ir::Val;
use std::cell::Cell;
use std::rc::Rc;

/// A number of any kind as an operand: with its tracer, where it has one.
trait Operand {
    fn val(&self) -> Val;
    fn value(&self) -> Value;
    fn symbolic(&self) -> &Symbolic;
}
macro_rules! operand {
    ($($t:ident $variant:ident)*) => {$(
        impl Operand for $t {
            fn val(&self) -> Val {
                Val::$variant(self.0.expr.clone())
            }
            fn value(&self) -> Value {
                self.into()
            }
            fn symbolic(&self) -> &Symbolic {
                &self.0
            }
        }
    )*};
}
operand! { SymInt Int SymFloat Float SymBool Bool }

/// The result of an operator of Python, where its kind is known.
fn of<T: From<Symbolic>>(op: &'static str, operands: &[&dyn Operand]) -> Result<T> {
    let tracer = operands.iter().find_map(|o| o.symbolic().tracer.clone());
    let vals: Vec<Val> = operands.iter().map(|o| o.val()).collect();
    let val = match &tracer {
        Some(tracer) => tracer.apply(op, &vals)?,
        None => Tracer::new().apply(op, &vals)?,
    };
    let (Val::Int(expr) | Val::Float(expr) | Val::Bool(expr)) = val else {
        return Err(crate::Error::invalid("expected a number"));
    };
    let is_given = operands.iter().any(|o| o.symbolic().is_given());
    let is_computed = expr.is_const() && operands.iter().any(|o| !o.symbolic().expr.is_const());
    let made = (is_given || is_computed).then(|| {
        let operands = operands.iter().map(|o| o.value()).collect();
        Rc::new(Made::Computed { op, operands, is_given, node: Cell::default() })
    });
    Ok(T::from(Symbolic { expr, tracer, made }))
}

/// As [`of`]; an error is kept by the tracer, and the result is the first operand, or false.
fn lenient<T: From<Symbolic>>(op: &'static str, operands: &[&dyn Operand]) -> T {
    of(op, operands).unwrap_or_else(|error| {
        let tracer = operands.iter().find_map(|o| o.symbolic().tracer.clone());
        tracer.iter().for_each(|t: &Tracer| t.refuse(error.clone()));
        let first = operands.first().map(|o| o.symbolic().clone());
        T::from(first.unwrap_or_else(|| SymBool::from(false).0))
    })
}

macro_rules! kinds {
    ($($t:ident)*) => {$(
        impl From<Symbolic> for $t {
            fn from(s: Symbolic) -> $t {
                $t(s)
            }
        }
    )*};
}
kinds! { SymInt SymFloat SymBool }

macro_rules! binary {
    ($($trait:ident $method:ident $op:literal $t:ident $other:ty => $out:ident;)*) => {$(
        impl std::ops::$trait<$other> for &$t {
            type Output = $out;
            fn $method(self, other: $other) -> $out {
                lenient($op, &[self, &$t::from(other)])
            }
        }
        impl std::ops::$trait<$other> for $t {
            type Output = $out;
            fn $method(self, other: $other) -> $out {
                lenient($op, &[&self, &$t::from(other)])
            }
        }
    )*};
}
binary! {
    Add add "_operator::add" SymInt SymInt => SymInt;
    Add add "_operator::add" SymInt &SymInt => SymInt;
    Add add "_operator::add" SymInt i64 => SymInt;
    Sub sub "_operator::sub" SymInt SymInt => SymInt;
    Sub sub "_operator::sub" SymInt &SymInt => SymInt;
    Sub sub "_operator::sub" SymInt i64 => SymInt;
    Mul mul "_operator::mul" SymInt SymInt => SymInt;
    Mul mul "_operator::mul" SymInt &SymInt => SymInt;
    Mul mul "_operator::mul" SymInt i64 => SymInt;
    Div div "_operator::truediv" SymInt SymInt => SymFloat;
    Div div "_operator::truediv" SymInt &SymInt => SymFloat;
    Div div "_operator::truediv" SymInt i64 => SymFloat;
    Rem rem "_operator::mod" SymInt SymInt => SymInt;
    Rem rem "_operator::mod" SymInt &SymInt => SymInt;
    Rem rem "_operator::mod" SymInt i64 => SymInt;
    Add add "_operator::add" SymFloat SymFloat => SymFloat;
    Add add "_operator::add" SymFloat f64 => SymFloat;
    Sub sub "_operator::sub" SymFloat SymFloat => SymFloat;
    Sub sub "_operator::sub" SymFloat f64 => SymFloat;
    Mul mul "_operator::mul" SymFloat SymFloat => SymFloat;
    Mul mul "_operator::mul" SymFloat f64 => SymFloat;
    Div div "_operator::truediv" SymFloat SymFloat => SymFloat;
    Div div "_operator::truediv" SymFloat f64 => SymFloat;
}

macro_rules! negations {
    ($($t:ident)*) => {$(
        impl std::ops::Neg for $t {
            type Output = $t;
            fn neg(self) -> $t {
                lenient("_operator::neg", &[&self])
            }
        }
    )*};
}
negations! { SymInt SymFloat }

macro_rules! methods {
    ($($(#[$doc:meta])* $t:ident $name:ident $op:literal $($other:ident)? => $out:ident;)*) => {$(
        impl $t {
            $(#[$doc])*
            pub fn $name(&self $(, other: impl Into<$other>)?) -> $out {
                methods!(@call self $op $($other other)?)
            }
        }
    )*};
    (@call $self:ident $op:literal $t:ident $other:ident) => { lenient($op, &[$self, &$t::from($other.into())]) };
    (@call $self:ident $op:literal) => { lenient($op, &[$self]) };
}
methods! {
    /// `self // other`, rounded down.
    SymInt floor_div "_operator::floordiv" SymInt => SymInt;
    /// `self ** other`
    SymInt pow "_operator::pow" SymInt => SymInt;
    /// `torch.sym_max(self, other)`
    SymInt max "torch::sym_max" SymInt => SymInt;
    /// `torch.sym_min(self, other)`
    SymInt min "torch::sym_min" SymInt => SymInt;
    /// `self == other`, undecided: see [`Tracer::decide`].
    SymInt eq "_operator::eq" SymInt => SymBool;
    /// `self != other`, undecided.
    SymInt ne "_operator::ne" SymInt => SymBool;
    /// `self < other`, undecided.
    SymInt lt "_operator::lt" SymInt => SymBool;
    /// `self <= other`, undecided.
    SymInt le "_operator::le" SymInt => SymBool;
    /// `self > other`, undecided.
    SymInt gt "_operator::gt" SymInt => SymBool;
    /// `self >= other`, undecided.
    SymInt ge "_operator::ge" SymInt => SymBool;
    /// `float(self)`
    SymInt to_float "torch::sym_float" => SymFloat;
    /// `abs(self)`
    SymInt abs "_operator::abs" => SymInt;
    /// `self // other`, rounded down.
    SymFloat floor_div "_operator::floordiv" SymFloat => SymFloat;
    /// `self ** other`
    SymFloat pow "_operator::pow" SymFloat => SymFloat;
    /// `torch.sym_max(self, other)`
    SymFloat max "torch::sym_max" SymFloat => SymFloat;
    /// `torch.sym_min(self, other)`
    SymFloat min "torch::sym_min" SymFloat => SymFloat;
    /// `abs(self)`
    SymFloat abs "_operator::abs" => SymFloat;
    /// `torch.sym_sqrt(self)`
    SymFloat sqrt "torch::_sym_sqrt" => SymFloat;
    /// `self == other`, undecided.
    SymFloat eq "_operator::eq" SymFloat => SymBool;
    /// `self != other`, undecided.
    SymFloat ne "_operator::ne" SymFloat => SymBool;
    /// `self < other`, undecided.
    SymFloat lt "_operator::lt" SymFloat => SymBool;
    /// `self <= other`, undecided.
    SymFloat le "_operator::le" SymFloat => SymBool;
    /// `self > other`, undecided.
    SymFloat gt "_operator::gt" SymFloat => SymBool;
    /// `self >= other`, undecided.
    SymFloat ge "_operator::ge" SymFloat => SymBool;
    /// `math.ceil(self)`
    SymFloat ceil "math::ceil" => SymInt;
    /// `math.floor(self)`
    SymFloat floor "math::floor" => SymInt;
    /// `int(self)`, towards zero.
    SymFloat trunc "math::trunc" => SymInt;
    /// `not self`
    SymBool not "torch::sym_not" => SymBool;
    /// `self & other`
    SymBool and "_operator::and_" SymBool => SymBool;
    /// `self | other`
    SymBool or "_operator::or_" SymBool => SymBool;
}

impl SymBool {
    /// True of a comparison of symbolic numbers, also where its result is the same for all of them.
    pub fn is_computed(&self) -> bool {
        !self.0.expr.is_const() || self.0.made.is_some()
    }
    /// `torch.sym_ite(self, one, other)`: one of two ints.
    pub fn ite(&self, one: SymInt, other: SymInt) -> SymInt {
        lenient("torch::sym_ite", &[self, &one, &other])
    }
}
