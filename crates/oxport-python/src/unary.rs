//! In-place and unary operators.

use crate::error::R;
use crate::interp::Interp;
use crate::ops::big_of;
use crate::syntax::tree::{BinOp, UnaryOp};
use crate::value::{Args, Value};

impl Interp {
    /// `left op= right`.
    ///
    /// # Errors
    /// As [`Interp::binary`].
    pub fn in_place(&mut self, left: &Value, op: BinOp, right: &Value) -> R<Value> {
        match (left, op) {
            (Value::List(list), BinOp::Add) => {
                let items = self.collect(right)?;
                self.charge(16 * items.len())?;
                list.borrow_mut().extend(items);
                return Ok(left.clone());
            }
            (Value::Dict(map), BinOp::Or) => {
                self.update_dict(map, right)?;
                return Ok(left.clone());
            }
            (Value::Set(a), BinOp::Or | BinOp::And | BinOp::Sub | BinOp::Xor) => {
                if let Value::Set(b) | Value::FrozenSet(b) = right.plain() {
                    let result = self.set_operation(a, op, &b)?;
                    let result = result.borrow().clone();
                    *a.borrow_mut() = result;
                    return Ok(left.clone());
                }
            }
            (Value::Host(host), _) => {
                let host = host.clone();
                if let Some(value) = self.deeper(|i| host.in_place(i, left, op, right))? {
                    return Ok(value);
                }
            }
            (Value::Instance(_), _) => {
                if let Some(method) = self.special(left, &format!("__i{}__", op.names().1))? {
                    let value = self.call(&method, Args::of([right.clone()]))?;
                    if !matches!(value, Value::NotImplemented) {
                        return Ok(value);
                    }
                }
            }
            _ => {}
        }
        if let Some(value) = self.try_binary(left, op, right)? {
            return Ok(value);
        }
        self.unsupported(&format!("{}=", op.names().0), left, right)
    }

    /// `op value`, but not `not`.
    ///
    /// # Errors
    /// A `TypeError` if the value does not know the operator.
    pub fn unary(&mut self, op: UnaryOp, value: &Value) -> R<Value> {
        let (sign, method) = match op {
            UnaryOp::Not => return Ok(Value::Bool(!self.truth(value)?)),
            UnaryOp::Neg => ("-", "__neg__"),
            UnaryOp::Pos => ("+", "__pos__"),
            UnaryOp::Invert => ("~", "__invert__"),
        };
        if let Some(method) = self.user_special(value, method)? {
            return self.call(&method, Args::default());
        }
        if let Value::Host(host) = value {
            let host = host.clone();
            if let Some(value) = self.deeper(|i| host.unary(i, value, op))? {
                return Ok(value);
            }
        }
        let plain = value.plain();
        Ok(match (op, &plain) {
            (UnaryOp::Neg, Value::Float(f)) => Value::Float(-f),
            (UnaryOp::Neg, Value::Complex(re, im)) => Value::Complex(-re, -im),
            (UnaryOp::Pos, Value::Float(_) | Value::Complex(..)) => plain,
            _ => match (op, big_of(&plain)) {
                (UnaryOp::Neg, Some(n)) => Value::from_big(-n),
                (UnaryOp::Pos, Some(n)) => Value::from_big(n),
                (UnaryOp::Invert, Some(n)) => Value::from_big(!n),
                _ => {
                    let class = self.type_name(value);
                    return self.type_error(format!("bad operand type for unary {sign}: '{class}'"));
                }
            },
        })
    }
}
