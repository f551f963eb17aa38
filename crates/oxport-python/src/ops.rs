//! Binary operators.
//!
//! Invariants: int arithmetic is exact for any size; the size of a result is charged before it is computed.

use crate::error::R;
use crate::interp::Interp;
use crate::syntax::tree::BinOp;
use crate::value::{Args, Value};
use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{Signed, ToPrimitive, Zero};
use std::rc::Rc;

/// Two numbers of the same kind.
enum Numbers {
    Small(i64, i64),
    Big(BigInt, BigInt),
    Float(f64, f64),
    Complex((f64, f64), (f64, f64)),
}

/// The int that a value is.
pub(crate) fn big_of(value: &Value) -> Option<BigInt> {
    match value {
        Value::Int(n) => Some(BigInt::from(*n)),
        Value::Bool(b) => Some(BigInt::from(u8::from(*b))),
        Value::Big(n) => Some((**n).clone()),
        _ => None,
    }
}

fn float_of(value: &Value) -> Option<f64> {
    match value {
        Value::Float(f) => Some(*f),
        Value::Int(n) => Some(*n as f64),
        Value::Bool(b) => Some(f64::from(u8::from(*b))),
        Value::Big(n) => n.to_f64(),
        _ => None,
    }
}

fn numbers(a: &Value, b: &Value) -> Option<Numbers> {
    let small = |v: &Value| match v {
        Value::Int(n) => Some(*n),
        Value::Bool(b) => Some(i64::from(*b)),
        _ => None,
    };
    if let (Some(a), Some(b)) = (small(a), small(b)) {
        return Some(Numbers::Small(a, b));
    }
    if let (Some(a), Some(b)) = (big_of(a), big_of(b)) {
        return Some(Numbers::Big(a, b));
    }
    let complex = |v: &Value| match v {
        Value::Complex(re, im) => Some((*re, *im)),
        _ => float_of(v).map(|re| (re, 0.0)),
    };
    if matches!(a, Value::Complex(..)) || matches!(b, Value::Complex(..)) {
        return Some(Numbers::Complex(complex(a)?, complex(b)?));
    }
    Some(Numbers::Float(float_of(a)?, float_of(b)?))
}

impl Interp {
    /// `left op right`.
    ///
    /// # Errors
    /// A `TypeError` if neither side knows the operator; what the operation raises.
    pub fn binary(&mut self, left: &Value, op: BinOp, right: &Value) -> R<Value> {
        if let Some(value) = self.try_binary(left, op, right)? {
            return Ok(value);
        }
        self.unsupported(op.names().0, left, right)
    }

    pub(crate) fn unsupported<T>(&self, sign: &str, left: &Value, right: &Value) -> R<T> {
        let sign = if sign == "**" { "** or pow()" } else { sign };
        let (a, b) = (self.type_name(left), self.type_name(right));
        if sign == "+" && matches!(left, Value::Str(_) | Value::List(_) | Value::Tuple(_)) {
            return self.type_error(format!("can only concatenate {a} (not \"{b}\") to {a}"));
        }
        self.type_error(format!("unsupported operand type(s) for {sign}: '{a}' and '{b}'"))
    }

    pub(crate) fn try_binary(&mut self, left: &Value, op: BinOp, right: &Value) -> R<Option<Value>> {
        if let Some(numbers) = numbers(left, right) {
            return self.arithmetic(numbers, op);
        }
        let is_user = |v: &Value| matches!(v, Value::Instance(_) | Value::Class(_));
        if is_user(left) || is_user(right) {
            return self.user_binary(left, op, right);
        }
        self.native_binary(left, op, right)
    }

    /// Operators that the program may define.
    fn user_binary(&mut self, left: &Value, op: BinOp, right: &Value) -> R<Option<Value>> {
        let name = op.names().1;
        let forward = format!("__{name}__");
        let reflected = format!("__r{name}__");
        let (left_class, right_class) = (self.class_of(left), self.class_of(right));
        // A subclass's reflected method comes first.
        let derives = !Rc::ptr_eq(&left_class, &right_class) && right_class.is_subclass(&left_class);
        let order: [(&Value, &str, &Value); 2] = match derives {
            true => [(right, &reflected, left), (left, &forward, right)],
            false => [(left, &forward, right), (right, &reflected, left)],
        };
        for (this, method, other) in order {
            if let Some(method) = self.user_special(this, method)? {
                let value = self.call(&method, Args::of([other.clone()]))?;
                if !matches!(value, Value::NotImplemented) {
                    return Ok(Some(value));
                }
            }
        }
        let (a, b) = (left.plain(), right.plain());
        if matches!((&a, &b), (Value::Instance(_), _) | (_, Value::Instance(_))) {
            // The host may know what to do with an instance, as a parameter of a subclass; a sequence is repeated by
            // what has `__index__`.
            return match (self.host_binary(&a, op, &b)?, op) {
                (Some(value), _) => Ok(Some(value)),
                (None, BinOp::Mul) if self.is_index(&b)? => self.repeat(&a, &b),
                (None, BinOp::Mul) if self.is_index(&a)? => self.repeat(&b, &a),
                (None, _) => Ok(None),
            };
        }
        match numbers(&a, &b) {
            Some(numbers) => self.arithmetic(numbers, op),
            None => self.native_binary(&a, op, &b),
        }
    }

    fn host_binary(&mut self, left: &Value, op: BinOp, right: &Value) -> R<Option<Value>> {
        if let Value::Host(host) = left {
            let host = host.clone();
            if let Some(value) = self.deeper(|i| host.binary(i, left, op, right, false))? {
                return Ok(Some(value));
            }
        }
        if let Value::Host(host) = right {
            let host = host.clone();
            return self.deeper(|i| host.binary(i, right, op, left, true));
        }
        Ok(None)
    }

    fn native_binary(&mut self, left: &Value, op: BinOp, right: &Value) -> R<Option<Value>> {
        use Value as V;
        if let Some(value) = self.host_binary(left, op, right)? {
            return Ok(Some(value));
        }
        Ok(Some(match (op, left, right) {
            (BinOp::Add, V::Str(a), V::Str(b)) => {
                self.charge(a.len() + b.len())?;
                V::Str(format!("{a}{b}").into())
            }
            (BinOp::Add, V::Bytes(a), V::Bytes(b)) => {
                self.charge(a.len() + b.len())?;
                V::Bytes([&**a, &**b].concat().into())
            }
            (BinOp::Add, V::List(a), V::List(b)) => {
                let items = [a.borrow().as_slice(), b.borrow().as_slice()].concat();
                self.new_list(items)?
            }
            (BinOp::Add, V::Tuple(a), V::Tuple(b)) => {
                let items = [&**a, &**b].concat();
                self.new_tuple(items)?
            }
            (BinOp::Mul, V::Str(_) | V::Bytes(_) | V::List(_) | V::Tuple(_), _) => {
                return self.repeat(left, right);
            }
            (BinOp::Mul, _, V::Str(_) | V::Bytes(_) | V::List(_) | V::Tuple(_)) => return self.repeat(right, left),
            (BinOp::Mod, V::Str(format), _) => {
                let text = self.percent_format(format, right)?;
                self.new_str(text)?
            }
            (BinOp::Or, V::Dict(a), V::Dict(_)) => {
                let map = Rc::new(crate::journal::Slot::new(a.borrow().clone()));
                self.charge(64 * map.borrow().len())?;
                self.update_dict(&map, right)?;
                V::Dict(map)
            }
            (
                BinOp::Or | BinOp::And | BinOp::Sub | BinOp::Xor,
                V::Set(a) | V::FrozenSet(a),
                V::Set(b) | V::FrozenSet(b),
            ) => {
                let map = self.set_operation(a, op, b)?;
                if matches!(left, V::Set(_)) { V::Set(map) } else { V::FrozenSet(map) }
            }
            // Unions of types have no meaning at run time but in `isinstance`.
            (BinOp::Or, V::Class(_) | V::None | V::Tuple(_), V::Class(_) | V::None | V::Tuple(_)) => {
                let parts = |v: &V| match v {
                    V::Tuple(items) => items.to_vec(),
                    V::None => vec![V::Class(self.types.none.clone())],
                    _ => vec![v.clone()],
                };
                V::tuple([parts(left), parts(right)].concat())
            }
            _ => return Ok(None),
        }))
    }

    /// `a op b` of sets.
    pub(crate) fn set_operation(
        &mut self,
        a: &crate::dict::Shared,
        op: BinOp,
        b: &crate::dict::Shared,
    ) -> R<crate::dict::Shared> {
        let result = crate::dict::Shared::default();
        let (left, right) = (a.borrow().keys(), b.borrow().keys());
        for key in left {
            let shared = self.dict_get(b, &key)?.is_some();
            if (op == BinOp::Or) || (op == BinOp::And) == shared {
                self.dict_set(&result, key, Value::None)?;
            }
        }
        if matches!(op, BinOp::Or | BinOp::Xor) {
            for key in right {
                if op == BinOp::Or || self.dict_get(a, &key)?.is_none() {
                    self.dict_set(&result, key, Value::None)?;
                }
            }
        }
        Ok(result)
    }

    fn is_index(&mut self, value: &Value) -> R<bool> {
        Ok(matches!(value, Value::Instance(_)) && self.special(value, "__index__")?.is_some())
    }

    fn repeat(&mut self, sequence: &Value, count: &Value) -> R<Option<Value>> {
        if matches!(count, Value::Float(_) | Value::Str(_) | Value::List(_) | Value::Tuple(_) | Value::None) {
            let class = self.type_name(count);
            return self.type_error(format!("can't multiply sequence by non-int of type '{class}'"));
        }
        if !matches!(sequence, Value::Str(_) | Value::Bytes(_) | Value::List(_) | Value::Tuple(_)) {
            return Ok(None);
        }
        let count = usize::try_from(self.index(count)?).unwrap_or(0);
        let size = match sequence {
            Value::Str(s) => s.len(),
            Value::Bytes(b) => b.len(),
            Value::List(l) => 16 * l.borrow().len(),
            Value::Tuple(t) => 16 * t.len(),
            _ => 0,
        };
        self.charge(size.saturating_mul(count))?;
        Ok(Some(match sequence {
            Value::Str(s) => Value::str(&s.repeat(count)),
            Value::Bytes(b) => Value::Bytes(b.repeat(count).into()),
            Value::List(l) => {
                let items: Vec<Value> = l.borrow().clone();
                Value::list(items.iter().cycle().take(items.len() * count).cloned().collect())
            }
            Value::Tuple(t) => Value::tuple(t.iter().cycle().take(t.len() * count).cloned().collect::<Vec<_>>()),
            _ => return Ok(None),
        }))
    }

    /// Arithmetic of numbers.
    fn arithmetic(&mut self, numbers: Numbers, op: BinOp) -> R<Option<Value>> {
        let (a, b) = match numbers {
            Numbers::Float(a, b) => return self.float_arithmetic(a, op, b),
            Numbers::Complex(a, b) => return self.complex_arithmetic(a, op, b),
            Numbers::Small(a, b) => {
                let fast = match op {
                    BinOp::Add => a.checked_add(b),
                    BinOp::Sub => a.checked_sub(b),
                    BinOp::Mul => a.checked_mul(b),
                    BinOp::FloorDiv if b > 0 => Some(a.div_euclid(b)),
                    BinOp::Mod if b > 0 => Some(a.rem_euclid(b)),
                    BinOp::And => Some(a & b),
                    BinOp::Or => Some(a | b),
                    BinOp::Xor => Some(a ^ b),
                    _ => None,
                };
                match fast {
                    Some(n) => return Ok(Some(Value::Int(n))),
                    None => (BigInt::from(a), BigInt::from(b)),
                }
            }
            Numbers::Big(a, b) => (a, b),
        };
        let size = |n: &BigInt| n.bits() / 8 + 1;
        Ok(Some(match op {
            BinOp::Add => Value::from_big(a + b),
            BinOp::Sub => Value::from_big(a - b),
            BinOp::Mul => {
                self.charge((size(&a) + size(&b)) as usize)?;
                self.bound_product(a.bits(), b.bits())?;
                Value::from_big(a * b)
            }
            BinOp::Div | BinOp::FloorDiv | BinOp::Mod if b.is_zero() => {
                return self.raise(
                    "ZeroDivisionError",
                    match op {
                        BinOp::Div => "division by zero",
                        BinOp::FloorDiv => "integer division or modulo by zero",
                        _ => "integer modulo by zero",
                    },
                );
            }
            BinOp::Div => return self.int_division(&a, &b).map(Some),
            BinOp::FloorDiv => Value::from_big(a.div_floor(&b)),
            BinOp::Mod => Value::from_big(a.mod_floor(&b)),
            BinOp::Pow => return self.int_power(&a, &b).map(Some),
            BinOp::And => Value::from_big(a & b),
            BinOp::Or => Value::from_big(a | b),
            BinOp::Xor => Value::from_big(a ^ b),
            BinOp::Shl | BinOp::Shr => {
                if b.is_negative() {
                    return self.value_error("negative shift count");
                }
                let n = b.to_usize().unwrap_or(usize::MAX);
                if op == BinOp::Shr {
                    return Ok(Some(Value::from_big({
                        let n = n.min(a.bits() as usize + 1);
                        a >> n
                    })));
                }
                if a.is_zero() {
                    return Ok(Some(Value::Int(0)));
                }
                self.charge(n / 8)?;
                Value::from_big(a << n)
            }
            BinOp::MatMul => return Ok(None),
        }))
    }

    /// Bounds the time of a product of ints.
    fn bound_product(&mut self, a: u64, b: u64) -> R<()> {
        if a.saturating_mul(b) > 1 << 40 {
            return self
                .stop(crate::error::StopKind::Limit, format!("a product of ints of {a} and {b} bits (`memory`)"));
        }
        Ok(())
    }

    fn int_division(&mut self, a: &BigInt, b: &BigInt) -> R<Value> {
        if let (Some(x), Some(y)) = (a.to_i64(), b.to_i64())
            && x.unsigned_abs() < 1 << 53
            && y.unsigned_abs() < 1 << 53
        {
            return Ok(Value::Float(x as f64 / y as f64));
        }
        // Correctly rounded: a quotient of 64 bits or more, with a sticky bit, is exact enough to round once.
        let shift = 66 - (a.bits() as i64 - b.bits() as i64);
        let (n, d) = match shift > 0 {
            true => (a.magnitude() << shift as u64, b.magnitude().clone()),
            false => (a.magnitude().clone(), b.magnitude() << (-shift) as u64),
        };
        let (quotient, rest) = n.div_rem(&d);
        let sticky = if rest.is_zero() { 0u8 } else { 1 };
        let exact: BigInt = BigInt::from(quotient) * 2 + sticky;
        let mut value = exact.to_f64().unwrap_or(f64::INFINITY);
        let mut exponent = -(shift + 1);
        while exponent != 0 && value != 0.0 && value.is_finite() {
            let step = exponent.clamp(-1000, 1000);
            value *= 2f64.powi(step as i32);
            exponent -= step;
        }
        if value.is_infinite() {
            return self.raise("OverflowError", "integer division result too large for a float");
        }
        Ok(Value::Float(if a.is_negative() != b.is_negative() { -value } else { value }))
    }

    fn int_power(&mut self, a: &BigInt, b: &BigInt) -> R<Value> {
        if b.is_negative() {
            let (Some(a), Some(b)) = (a.to_f64(), b.to_f64()) else {
                return self.raise("OverflowError", "int too large");
            };
            return self.float_power(a, b);
        }
        let is_unit = a.is_zero() || a.magnitude() == &1u8.into();
        let Some(exponent) = b.to_u32().or(if is_unit { Some(u32::from(b.bit(0)) + 2) } else { None }) else {
            return self.stop(crate::error::StopKind::Limit, "a power of ints that is too large (`memory`)");
        };
        if !is_unit {
            let bits = a.bits().saturating_mul(u64::from(exponent));
            self.charge((bits / 8) as usize)?;
            self.bound_product(bits, bits / 4)?;
        }
        Ok(Value::from_big(a.pow(exponent)))
    }

    fn float_power(&mut self, a: f64, b: f64) -> R<Value> {
        if a == 0.0 && b < 0.0 {
            return self.raise("ZeroDivisionError", "0.0 cannot be raised to a negative power");
        }
        if a < 0.0 && b.fract() != 0.0 && b.is_finite() && a.is_finite() {
            // A complex result, as in Python.
            let (r, angle) = (a.abs().powf(b), std::f64::consts::PI * b);
            return Ok(Value::Complex(r * angle.cos(), r * angle.sin()));
        }
        let value = a.powf(b);
        if value.is_infinite() && a.is_finite() && b.is_finite() {
            return self.raise_with("OverflowError", vec![Value::Int(34), Value::str("Numerical result out of range")]);
        }
        Ok(Value::Float(value))
    }

    fn float_arithmetic(&mut self, a: f64, op: BinOp, b: f64) -> R<Option<Value>> {
        if b == 0.0 {
            match op {
                BinOp::Div => return self.raise("ZeroDivisionError", "float division by zero"),
                BinOp::FloorDiv => return self.raise("ZeroDivisionError", "float floor division by zero"),
                BinOp::Mod => return self.raise("ZeroDivisionError", "float modulo"),
                _ => {}
            }
        }
        Ok(Some(Value::Float(match op {
            BinOp::Add => a + b,
            BinOp::Sub => a - b,
            BinOp::Mul => a * b,
            BinOp::Div => a / b,
            BinOp::FloorDiv | BinOp::Mod => {
                // As `float_divmod` of CPython.
                let mut rest = a % b;
                let mut quotient = (a - rest) / b;
                if rest != 0.0 && (b < 0.0) != (rest < 0.0) {
                    rest += b;
                    quotient -= 1.0;
                } else if rest == 0.0 {
                    rest = 0f64.copysign(b);
                }
                if op == BinOp::Mod {
                    rest
                } else if quotient == 0.0 {
                    0f64.copysign(a / b)
                } else {
                    let floor = quotient.floor();
                    if quotient - floor > 0.5 { floor + 1.0 } else { floor }
                }
            }
            BinOp::Pow => return self.float_power(a, b).map(Some),
            _ => return Ok(None),
        })))
    }

    fn complex_arithmetic(&mut self, a: (f64, f64), op: BinOp, b: (f64, f64)) -> R<Option<Value>> {
        let (re, im) = match op {
            BinOp::Add => (a.0 + b.0, a.1 + b.1),
            BinOp::Sub => (a.0 - b.0, a.1 - b.1),
            BinOp::Mul => (a.0 * b.0 - a.1 * b.1, a.0 * b.1 + a.1 * b.0),
            BinOp::Div => {
                let norm = b.0 * b.0 + b.1 * b.1;
                if norm == 0.0 {
                    return self.raise("ZeroDivisionError", "complex division by zero");
                }
                ((a.0 * b.0 + a.1 * b.1) / norm, (a.1 * b.0 - a.0 * b.1) / norm)
            }
            BinOp::Pow => {
                let (r, angle) = (a.0.hypot(a.1), a.1.atan2(a.0));
                if r == 0.0 {
                    return Ok(Some(Value::Complex(if b == (0.0, 0.0) { 1.0 } else { 0.0 }, 0.0)));
                }
                let size = r.powf(b.0) * (-b.1 * angle).exp();
                let turn = b.0 * angle + b.1 * r.ln();
                (size * turn.cos(), size * turn.sin())
            }
            _ => return Ok(None),
        };
        Ok(Some(Value::Complex(re, im)))
    }
}
