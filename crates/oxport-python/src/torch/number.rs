//! Symbolic ints, floats and bools.

use super::session::Session;
use crate::error::R;
use crate::host::Host;
use crate::interp::Interp;
use crate::syntax::tree::{BinOp, CmpOp, UnaryOp};
use crate::value::{Class, Value};
use oxport_capture::{SymBool, SymFloat, SymInt, Value as Traced};
use std::any::Any;
use std::rc::Rc;

/// A number of the tracer.
#[derive(Clone)]
pub enum Number {
    /// An int.
    Int(SymInt),
    /// A float.
    Float(SymFloat),
    /// A bool.
    Bool(SymBool),
}

/// A symbolic number.
pub struct SymValue(pub Number);

impl Number {
    /// The number as a value: a constant if it is known, but for a comparison that was computed, as in PyTorch.
    pub fn value(self) -> Value {
        let known = match &self {
            Number::Int(n) => n.known().map(Value::Int),
            Number::Float(x) => x.known().map(Value::Float),
            Number::Bool(b) => b.known().filter(|_| !b.is_computed()).map(Value::Bool),
        };
        known.unwrap_or_else(|| Value::Host(Rc::new(SymValue(self))))
    }

    /// The number as an argument.
    pub fn traced(&self) -> Traced {
        match self {
            Number::Int(n) => n.into(),
            Number::Float(x) => x.into(),
            Number::Bool(b) => b.into(),
        }
    }

    fn of(value: &Value) -> Option<Number> {
        Some(match value {
            Value::Int(n) => Number::Int((*n).into()),
            Value::Bool(b) => Number::Int(i64::from(*b).into()),
            Value::Float(f) => Number::Float((*f).into()),
            Value::Host(host) => host.as_any().downcast_ref::<SymValue>()?.0.clone(),
            _ => return None,
        })
    }

    fn float(&self) -> Option<SymFloat> {
        match self {
            Number::Int(n) => Some(match n.known() {
                Some(n) => (n as f64).into(),
                None => n.to_float(),
            }),
            Number::Float(x) => Some(x.clone()),
            Number::Bool(_) => None,
        }
    }
}

fn binary(a: &Number, op: BinOp, b: &Number) -> Option<Number> {
    if let (Number::Int(a), Number::Int(b)) = (a, b) {
        return Some(match op {
            BinOp::Add => Number::Int(a + b),
            BinOp::Sub => Number::Int(a - b),
            BinOp::Mul => Number::Int(a * b),
            BinOp::Div => Number::Float(a / b),
            BinOp::FloorDiv => Number::Int(a.floor_div(b)),
            BinOp::Mod => Number::Int(a % b),
            BinOp::Pow => Number::Int(a.pow(b)),
            _ => return None,
        });
    }
    let (a, b) = (a.float()?, b.float()?);
    Some(Number::Float(match op {
        BinOp::Add => a + b,
        BinOp::Sub => a - b,
        BinOp::Mul => a * b,
        BinOp::Div => a / b,
        BinOp::FloorDiv => a.floor_div(b),
        BinOp::Pow => a.pow(b),
        _ => return None,
    }))
}

/// The greater or the lesser; a float if either is.
fn extreme(a: &Number, b: &Number, is_max: bool) -> Option<Number> {
    if let (Number::Int(a), Number::Int(b)) = (a, b) {
        return Some(Number::Int(if is_max { a.max(b) } else { a.min(b) }));
    }
    let (a, b) = (a.float()?, b.float()?);
    Some(Number::Float(if is_max { a.max(b) } else { a.min(b) }))
}

macro_rules! comparisons {
    ($name:ident $t:ty) => {
        fn $name(a: &$t, op: CmpOp, b: &$t) -> Option<SymBool> {
            Some(match op {
                CmpOp::Eq => a.eq(b),
                CmpOp::Ne => a.ne(b),
                CmpOp::Lt => a.lt(b),
                CmpOp::Le => a.le(b),
                CmpOp::Gt => a.gt(b),
                CmpOp::Ge => a.ge(b),
                _ => return None,
            })
        }
    };
}
comparisons! { compare SymInt }
comparisons! { compare_floats SymFloat }

/// `torch.sym_not`.
pub fn not(interp: &mut Interp, value: &Value) -> R<Value> {
    match Number::of(value) {
        Some(Number::Bool(b)) => Ok(Number::Bool(b.not()).value()),
        _ => interp.truth(value).map(|truth| Value::Bool(!truth)),
    }
}

/// `torch.sym_sqrt`.
pub fn sqrt(interp: &mut Interp, value: &Value) -> R<Value> {
    match Number::of(value).and_then(|n| n.float()) {
        Some(x) => Ok(Number::Float(x.sqrt()).value()),
        None => interp.type_error("sym_sqrt() takes a number"),
    }
}

/// `torch.sym_ite`: one of two ints.
pub fn ite(interp: &mut Interp, condition: &Value, one: &Value, other: &Value) -> R<Value> {
    match (Number::of(condition), Number::of(one), Number::of(other)) {
        (Some(Number::Bool(b)), Some(Number::Int(one)), Some(Number::Int(other))) => {
            Ok(Number::Int(b.ite(one, other)).value())
        }
        _ => Ok(if interp.truth(condition)? { one.clone() } else { other.clone() }),
    }
}

/// Whether a value is a number that depends on data.
pub fn is_open(value: &Value) -> bool {
    match value {
        Value::Host(host) => match host.as_any().downcast_ref::<SymValue>() {
            Some(SymValue(Number::Int(n))) => n.is_data_dependent(),
            _ => false,
        },
        _ => false,
    }
}

impl Host for SymValue {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn class(&self, interp: &Interp) -> Rc<Class> {
        let at = match self.0 {
            Number::Int(_) => 0,
            Number::Float(_) => 1,
            Number::Bool(_) => 2,
        };
        match Session::of(interp) {
            Ok(session) => session.symbols[at].clone(),
            Err(_) => interp.types.int.clone(),
        }
    }

    fn get_attr(&self, _: &mut Interp, _: &Value, name: &str) -> R<Option<Value>> {
        let this = self.0.clone();
        let function = |f: fn(&Number) -> Option<Number>| {
            let this = this.clone();
            Value::native(name, move |i, _| match f(&this) {
                Some(number) => Ok(number.value()),
                None => i.type_error("the operation is not supported for this symbolic number"),
            })
        };
        Ok(Some(match name {
            // PyTorch specializes the root of a size.
            "__sym_sqrt__" => match &this {
                Number::Float(x) if x.is_data_dependent() => function(|n| Some(Number::Float(n.float()?.sqrt()))),
                _ => return Ok(None),
            },
            "__sym_floor__" => function(|n| match n {
                Number::Float(x) => Some(Number::Int(x.floor())),
                n => Some(n.clone()),
            }),
            "__sym_ceil__" => function(|n| match n {
                Number::Float(x) => Some(Number::Int(x.ceil())),
                n => Some(n.clone()),
            }),
            "__sym_trunc__" => function(|n| match n {
                Number::Float(x) => Some(Number::Int(x.trunc())),
                n => Some(n.clone()),
            }),
            "__abs__" => function(|n| match n {
                Number::Int(n) => Some(Number::Int(n.abs())),
                Number::Float(x) => Some(Number::Float(x.abs())),
                Number::Bool(_) => None,
            }),
            "__sym_max__" | "__sym_min__" => {
                let is_max = name == "__sym_max__";
                Value::native(name, move |i, args| {
                    let other = args.at(i, "max", 0)?;
                    match Number::of(&other).and_then(|other| extreme(&this, &other, is_max)) {
                        Some(number) => Ok(number.value()),
                        None => i.type_error("max() of symbolic numbers takes ints and floats"),
                    }
                })
            }
            _ => return Ok(None),
        }))
    }

    fn binary(&self, interp: &mut Interp, _: &Value, op: BinOp, other: &Value, swapped: bool) -> R<Option<Value>> {
        let Some(other) = Number::of(other) else { return Ok(None) };
        let (a, b) = if swapped { (&other, &self.0) } else { (&self.0, &other) };
        if let (BinOp::Div | BinOp::FloorDiv | BinOp::Mod, Number::Int(n)) = (op, b)
            && n.known() == Some(0)
        {
            return interp.raise("ZeroDivisionError", "division by zero");
        }
        if let Some(number) = binary(a, op, b) {
            return Ok(Some(number.value()));
        }
        // What has no symbolic form is computed of the specialized numbers.
        let (a, b) = (self.known(interp, a)?, self.known(interp, b)?);
        interp.binary(&a, op, &b).map(Some)
    }

    fn unary(&self, _: &mut Interp, _: &Value, op: UnaryOp) -> R<Option<Value>> {
        Ok(match (op, &self.0) {
            (UnaryOp::Neg, Number::Int(n)) => Some(Number::Int(-n.clone()).value()),
            (UnaryOp::Neg, Number::Float(x)) => Some(Number::Float(-x.clone()).value()),
            (UnaryOp::Pos, n) => Some(n.clone().value()),
            _ => None,
        })
    }

    fn compare(&self, interp: &mut Interp, _: &Value, op: CmpOp, other: &Value) -> R<Option<Value>> {
        let Some(other) = Number::of(other) else { return Ok(None) };
        if let (Number::Int(a), Number::Int(b)) = (&self.0, &other) {
            return Ok(compare(a, op, b).map(|b| Number::Bool(b).value()));
        }
        if let (Some(a), Some(b)) = (self.0.float(), other.float()) {
            return Ok(compare_floats(&a, op, &b).map(|b| Number::Bool(b).value()));
        }
        let (a, b) = (self.known(interp, &self.0)?, self.known(interp, &other)?);
        interp.compare(&a, op, &b).map(Some)
    }

    fn undecided(&self, interp: &mut Interp, _: &Value) -> R<Option<Value>> {
        let condition = match &self.0 {
            Number::Bool(b) => b.clone(),
            Number::Int(n) => n.ne(0i64),
            Number::Float(x) => x.ne(0.0),
        };
        let is_known = Session::of(interp)?.tracer().decide_now(&condition).is_some();
        Ok(if is_known { None } else { Some(Number::Bool(condition).value()) })
    }

    fn truth(&self, interp: &mut Interp, _: &Value) -> R<bool> {
        let condition = match &self.0 {
            Number::Bool(b) => b.clone(),
            Number::Int(n) => n.ne(0i64),
            Number::Float(_) => {
                return interp.raise("NotImplementedError", "the truth of a symbolic float is not supported");
            }
        };
        let session = Session::of(interp)?;
        match session.tracer().decide(&condition) {
            Ok(truth) => Ok(truth),
            Err(error) => interp.raise("RuntimeError", error.message()),
        }
    }

    fn index(&self, interp: &mut Interp, _: &Value) -> R<Option<i64>> {
        match self.known(interp, &self.0)? {
            Value::Int(n) => Ok(Some(n)),
            Value::Bool(b) => Ok(Some(i64::from(b))),
            _ => Ok(None),
        }
    }

    fn int(&self, interp: &mut Interp, this: &Value) -> R<Option<Value>> {
        Ok(match &self.0 {
            Number::Int(_) => Some(this.clone()),
            Number::Float(x) => Some(Number::Int(x.trunc()).value()),
            Number::Bool(_) => Some(Value::Int(i64::from(self.truth(interp, this)?))),
        })
    }

    fn float(&self, _: &mut Interp, _: &Value) -> R<Option<Value>> {
        Ok(self.0.float().map(|x| Number::Float(x).value()))
    }

    fn repr(&self, _: &mut Interp) -> R<String> {
        Ok(match &self.0 {
            Number::Int(n) => n.to_string(),
            Number::Float(x) => x.to_string(),
            Number::Bool(b) => b.to_string(),
        })
    }
}

impl SymValue {
    /// A number as a constant, to which the program is specialized.
    fn known(&self, interp: &mut Interp, number: &Number) -> R<Value> {
        let tracer = Session::of(interp)?.tracer();
        let result = match number {
            Number::Int(n) => tracer.specialize(n).map(Value::Int),
            Number::Bool(b) => tracer.decide(b).map(Value::Bool),
            Number::Float(x) => tracer.specialize_float(x).map(Value::Float),
        };
        match result {
            Ok(value) => Ok(value),
            Err(error) => interp.raise("RuntimeError", error.message()),
        }
    }
}
