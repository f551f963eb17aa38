//! Truth, comparison, hashes, membership.

use crate::error::R;
use crate::interp::Interp;
use crate::syntax::tree::CmpOp;
use crate::value::{Args, Name, NameHasher, Value};
use num_bigint::BigInt;
use num_traits::{FromPrimitive, ToPrimitive};
use std::cmp::Ordering;
use std::hash::Hasher;

impl Interp {
    /// `bool(value)`.
    ///
    /// # Errors
    /// What `__bool__` and `__len__` raise; the host's, for a tensor whose data are not known.
    pub fn truth(&mut self, value: &Value) -> R<bool> {
        Ok(match value {
            Value::None => false,
            Value::Bool(b) => *b,
            Value::Int(n) => *n != 0,
            Value::Float(f) => *f != 0.0,
            Value::Complex(re, im) => *re != 0.0 || *im != 0.0,
            Value::Str(s) => !s.is_empty(),
            Value::Bytes(b) => !b.is_empty(),
            Value::Tuple(t) => !t.is_empty(),
            Value::List(l) => !l.borrow().is_empty(),
            Value::Dict(m) | Value::Set(m) | Value::FrozenSet(m) => !m.borrow().is_empty(),
            Value::Range(r) => !r.is_empty(),
            Value::Host(host) => {
                let host = host.clone();
                return self.deeper(|i| host.truth(i, value));
            }
            Value::Instance(_) | Value::Class(_) => {
                if let Some(method) = self.user_special(value, "__bool__")? {
                    return match self.call(&method, Args::default())? {
                        Value::Bool(b) => Ok(b),
                        other => {
                            let class = self.type_name(&other);
                            self.type_error(format!("__bool__ should return bool, returned {class}"))
                        }
                    };
                }
                if let Some(method) = self.user_special(value, "__len__")? {
                    let len = self.call(&method, Args::default())?;
                    return self.truth(&len);
                }
                match value.plain() {
                    Value::Instance(_) | Value::Class(_) => true,
                    plain => return self.truth(&plain),
                }
            }
            _ => true,
        })
    }

    /// `left == right` as a bool.
    ///
    /// # Errors
    /// What `__eq__` raises.
    pub fn equal(&mut self, left: &Value, right: &Value) -> R<bool> {
        if left.is(right) && !matches!(left, Value::Float(_) | Value::Complex(..) | Value::Host(_)) {
            return Ok(true);
        }
        let result = self.compare(left, CmpOp::Eq, right)?;
        self.truth(&result)
    }

    /// `left op right`.
    ///
    /// # Errors
    /// A `TypeError` if the values have no order; what the program's methods raise.
    pub fn compare(&mut self, left: &Value, op: CmpOp, right: &Value) -> R<Value> {
        match op {
            CmpOp::Is => return Ok(Value::Bool(left.is(right))),
            CmpOp::IsNot => return Ok(Value::Bool(!left.is(right))),
            CmpOp::In => return Ok(Value::Bool(self.contains(right, left)?)),
            CmpOp::NotIn => return Ok(Value::Bool(!self.contains(right, left)?)),
            _ => {}
        }
        for (this, op, other) in [(left, op, right), (right, op.swapped(), left)] {
            match this {
                Value::Instance(_) | Value::Class(_) => {
                    if let Some(method) = self.user_special(this, &format!("__{}__", op.names().1))? {
                        let value = self.call(&method, Args::of([other.clone()]))?;
                        if !matches!(value, Value::NotImplemented) {
                            return Ok(value);
                        }
                    } else if op == CmpOp::Ne
                        && let Some(method) = self.user_special(this, "__eq__")?
                    {
                        let value = self.call(&method, Args::of([other.clone()]))?;
                        if !matches!(value, Value::NotImplemented) {
                            return Ok(Value::Bool(!self.truth(&value)?));
                        }
                    }
                }
                Value::Host(host) => {
                    let host = host.clone();
                    if let Some(value) = self.deeper(|i| host.compare(i, this, op, other))? {
                        return Ok(value);
                    }
                }
                _ => {}
            }
        }
        let (a, b) = (left.plain(), right.plain());
        match op {
            CmpOp::Eq => Ok(Value::Bool(self.deeper(|i| i.native_equal(&a, &b))?)),
            CmpOp::Ne => Ok(Value::Bool(!self.deeper(|i| i.native_equal(&a, &b))?)),
            _ => match self.deeper(|i| i.native_order(&a, op, &b))? {
                Some(result) => Ok(Value::Bool(result)),
                None => {
                    let (x, y) = (self.type_name(left), self.type_name(right));
                    let sign = op.names().0;
                    self.type_error(format!("'{sign}' not supported between instances of '{x}' and '{y}'"))
                }
            },
        }
    }

    fn native_equal(&mut self, a: &Value, b: &Value) -> R<bool> {
        use Value as V;
        Ok(match (a, b) {
            (V::Complex(re, im), V::Complex(x, y)) => re == x && im == y,
            (V::Complex(re, im), other) | (other, V::Complex(re, im)) => {
                *im == 0.0 && number_order(&V::Float(*re), other) == Some(Ordering::Equal)
            }
            (V::Bytes(a), V::Bytes(b)) => a == b,
            (V::Tuple(a), V::Tuple(b)) => return self.all_equal(&a.clone(), &b.clone()),
            (V::List(a), V::List(b)) => {
                let (a, b) = (a.borrow().clone(), b.borrow().clone());
                return self.all_equal(&a, &b);
            }
            (V::Dict(a), V::Dict(b)) => {
                if a.borrow().len() != b.borrow().len() {
                    return Ok(false);
                }
                let items: Vec<_> = a.borrow().iter().map(|(k, v)| (k.clone(), v.clone())).collect();
                for (key, value) in items {
                    match self.dict_get(b, &key)? {
                        Some(other) if self.equal(&value, &other)? => {}
                        _ => return Ok(false),
                    }
                }
                true
            }
            (V::Set(a) | V::FrozenSet(a), V::Set(b) | V::FrozenSet(b)) => {
                a.borrow().len() == b.borrow().len() && self.is_subset(a, b)?
            }
            (V::Range(a), V::Range(b)) => {
                let (n, m) = (a.len(), b.len());
                n == m && (n == 0 || (a.start == b.start && (n == 1 || a.step == b.step)))
            }
            (V::Slice(a), V::Slice(b)) => return self.all_equal(&a[..], &b[..]),
            (V::Method(a), V::Method(b)) => a.this.is(&b.this) && a.function.is(&b.function),
            _ => match number_order(a, b) {
                Some(order) => order == Ordering::Equal,
                None => a.is(b) && !matches!(a, V::Float(_)),
            },
        })
    }

    fn all_equal(&mut self, a: &[Value], b: &[Value]) -> R<bool> {
        if a.len() != b.len() {
            return Ok(false);
        }
        for (x, y) in a.iter().zip(b) {
            self.tick()?;
            if !x.is(y) && !self.equal(x, y)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub(crate) fn is_subset(&mut self, a: &crate::dict::Shared, b: &crate::dict::Shared) -> R<bool> {
        for key in a.borrow().keys() {
            if self.dict_get(b, &key)?.is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn native_order(&mut self, a: &Value, op: CmpOp, b: &Value) -> R<Option<bool>> {
        use Value as V;
        let by = |order: Ordering| match op {
            CmpOp::Lt => order == Ordering::Less,
            CmpOp::Le => order != Ordering::Greater,
            CmpOp::Gt => order == Ordering::Greater,
            _ => order != Ordering::Less,
        };
        Ok(match (a, b) {
            (V::Str(a), V::Str(b)) => Some(by(a.cmp(b))),
            (V::Bytes(a), V::Bytes(b)) => Some(by(a.cmp(b))),
            (V::Tuple(a), V::Tuple(b)) => return self.sequence_order(&a.clone(), op, &b.clone()),
            (V::List(a), V::List(b)) => {
                let (a, b) = (a.borrow().clone(), b.borrow().clone());
                return self.sequence_order(&a, op, &b);
            }
            (V::Set(a) | V::FrozenSet(a), V::Set(b) | V::FrozenSet(b)) => {
                let (small, large) = if matches!(op, CmpOp::Lt | CmpOp::Le) { (a, b) } else { (b, a) };
                let is_strict = matches!(op, CmpOp::Lt | CmpOp::Gt);
                let (n, m) = (small.borrow().len(), large.borrow().len());
                Some((!is_strict || n < m) && self.is_subset(small, large)?)
            }
            _ => match (is_number(a) && is_number(b), number_order(a, b)) {
                (true, Some(order)) => Some(by(order)),
                (true, None) => Some(false),
                _ => None,
            },
        })
    }

    fn sequence_order(&mut self, a: &[Value], op: CmpOp, b: &[Value]) -> R<Option<bool>> {
        for (x, y) in a.iter().zip(b) {
            self.tick()?;
            if !self.equal(x, y)? {
                let result = self.compare(x, op, y)?;
                return self.truth(&result).map(Some);
            }
        }
        self.native_order(&Value::from_len(a.len()), op, &Value::from_len(b.len()))
    }

    /// `item in container`.
    ///
    /// # Errors
    /// A `TypeError` if the container is none.
    pub fn contains(&mut self, container: &Value, item: &Value) -> R<bool> {
        if let Some(method) = self.user_special(container, "__contains__")? {
            let result = self.call(&method, Args::of([item.clone()]))?;
            return self.truth(&result);
        }
        match container.plain() {
            Value::Dict(map) | Value::Set(map) | Value::FrozenSet(map) => {
                return Ok(self.dict_get(&map, item)?.is_some());
            }
            Value::Str(text) => {
                return match item.plain() {
                    Value::Str(part) => Ok(text.contains(&*part)),
                    _ => {
                        let class = self.type_name(item);
                        self.type_error(format!("'in <string>' requires string as left operand, not {class}"))
                    }
                };
            }
            Value::Host(host) => {
                if let Some(found) = self.view_contains(&host, item)? {
                    return Ok(found);
                }
            }
            Value::Range(range) => {
                if let Value::Int(n) = item.plain() {
                    let (n, start) = (i128::from(n), i128::from(range.start));
                    let offset = (n - start) / i128::from(range.step);
                    return Ok((n - start) % i128::from(range.step) == 0
                        && offset >= 0
                        && (offset as usize) < range.len());
                }
            }
            _ => {}
        }
        if !self.is_iterable(container) {
            let class = self.type_name(container);
            return self.type_error(format!("argument of type '{class}' is not iterable"));
        }
        let iter = self.iter(container)?;
        while let Some(value) = self.next(&iter)? {
            self.tick()?;
            if value.is(item) || self.equal(&value, item)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// A number that equal values share.
    ///
    /// # Errors
    /// A `TypeError` if the value is not hashable.
    pub fn hash(&mut self, value: &Value) -> R<u64> {
        let mut hasher = NameHasher::default();
        match value {
            Value::Str(text) => hasher.write(text.as_bytes()),
            Value::Int(_) | Value::Bool(_) | Value::Big(_) | Value::Float(_) => return Ok(number_hash(value)),
            Value::Complex(re, im) if *im == 0.0 => return Ok(number_hash(&Value::Float(*re))),
            Value::Complex(re, im) => {
                hasher.write(&re.to_bits().to_le_bytes());
                hasher.write(&im.to_bits().to_le_bytes());
            }
            Value::Bytes(bytes) => hasher.write(bytes),
            Value::Tuple(items) => {
                for item in items.iter() {
                    let hash = self.deeper(|i| i.hash(item))?;
                    hasher.write(&hash.to_le_bytes());
                }
            }
            Value::FrozenSet(map) => {
                let mut sum = 0u64;
                for key in map.borrow().keys() {
                    sum = sum.wrapping_add(self.hash(&key)?);
                }
                hasher.write(&sum.to_le_bytes());
            }
            Value::List(_) | Value::Dict(_) | Value::Set(_) | Value::Slice(_) => return self.unhashable(value),
            Value::Method(method) => {
                hasher.write(&method.this.address().unwrap_or(0).to_le_bytes());
                hasher.write(&method.function.address().unwrap_or(0).to_le_bytes());
            }
            Value::Host(host) => match host.hash() {
                Some(hash) => return Ok(hash),
                None => hasher.write(&value.address().unwrap_or(0).to_le_bytes()),
            },
            Value::Instance(instance) => {
                let class = instance.class.borrow().clone();
                match class.lookup("__hash__") {
                    Some(Value::None) => return self.unhashable(value),
                    Some(method @ Value::Function(_)) => {
                        let hash = self.call(&method, Args::of([value.clone()]))?;
                        return Ok(number_hash(&hash));
                    }
                    _ => match value.plain() {
                        Value::Instance(_) => hasher.write(&value.address().unwrap_or(0).to_le_bytes()),
                        plain => return self.hash(&plain),
                    },
                }
            }
            _ => hasher.write(&value.address().unwrap_or(0).to_le_bytes()),
        }
        Ok(hasher.finish())
    }

    fn unhashable<T>(&self, value: &Value) -> R<T> {
        self.type_error(format!("unhashable type: '{}'", self.type_name(value)))
    }

    /// Sorts values, by keys if given.
    ///
    /// # Errors
    /// A `TypeError` if they have no order.
    pub fn sort(&mut self, items: Vec<Value>, key: Option<&Value>, reverse: bool) -> R<Vec<Value>> {
        let mut keyed = Vec::with_capacity(items.len());
        for item in items {
            let key = match key {
                Some(key) => self.call(key, Args::of([item.clone()]))?,
                None => item.clone(),
            };
            keyed.push((key, item));
        }
        if reverse {
            keyed.reverse();
        }
        let mut failure = None;
        let sorted = merge_sort(keyed, &mut |a: &(Value, Value), b: &(Value, Value)| {
            if failure.is_some() {
                return true;
            }
            let result = self.tick().and_then(|()| self.compare(&b.0, CmpOp::Lt, &a.0)).and_then(|v| self.truth(&v));
            match result {
                Ok(is_less) => !is_less,
                Err(unwind) => {
                    failure = Some(unwind);
                    true
                }
            }
        });
        if let Some(unwind) = failure {
            return Err(unwind);
        }
        let mut sorted: Vec<Value> = sorted.into_iter().map(|(_, item)| item).collect();
        if reverse {
            sorted.reverse();
        }
        Ok(sorted)
    }

    /// A string argument.
    ///
    /// # Errors
    /// A `TypeError` if it is none.
    pub fn text(&self, value: &Value) -> R<Name> {
        match value.plain() {
            Value::Str(text) => Ok(text),
            other => self.type_error(format!("expected str, got {}", self.type_name(&other))),
        }
    }
}

/// A stable sort that calls the order only on pairs; `in_order(a, b)` says that `a` may stay before `b`.
fn merge_sort<T>(mut items: Vec<T>, in_order: &mut dyn FnMut(&T, &T) -> bool) -> Vec<T> {
    if items.len() < 2 {
        return items;
    }
    let right = items.split_off(items.len() / 2);
    let (left, right) = (merge_sort(items, in_order), merge_sort(right, in_order));
    let mut merged = Vec::with_capacity(left.len() + right.len());
    let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
    while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
        let next = if in_order(a, b) { left.next() } else { right.next() };
        merged.extend(next);
    }
    merged.extend(left);
    merged.extend(right);
    merged
}

fn is_number(value: &Value) -> bool {
    matches!(value, Value::Int(_) | Value::Bool(_) | Value::Big(_) | Value::Float(_))
}

/// The order of two numbers, exact between ints and floats; nothing for NaN and for what is no number.
fn number_order(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => Some(a.cmp(b)),
        (Value::Float(a), Value::Float(b)) => a.partial_cmp(b),
        (Value::Float(a), _) => Some(float_int_order(*a, &crate::ops::big_of(b)?)?),
        (_, Value::Float(b)) => Some(float_int_order(*b, &crate::ops::big_of(a)?)?.reverse()),
        _ => Some(crate::ops::big_of(a)?.cmp(&crate::ops::big_of(b)?)),
    }
}

fn float_int_order(a: f64, b: &BigInt) -> Option<Ordering> {
    if a.is_nan() {
        return None;
    }
    match BigInt::from_f64(a.floor()) {
        Some(floor) => Some(floor.cmp(b).then(if a.fract() == 0.0 { Ordering::Equal } else { Ordering::Greater })),
        None => Some(if a > 0.0 { Ordering::Greater } else { Ordering::Less }),
    }
}

fn number_hash(value: &Value) -> u64 {
    let small = match value {
        Value::Int(n) => *n,
        Value::Bool(b) => i64::from(*b),
        Value::Float(f) => match f.to_i64() {
            Some(n) if n as f64 == *f => n,
            _ => f.to_bits() as i64,
        },
        Value::Big(n) => n.to_f64().unwrap_or(f64::INFINITY).to_bits() as i64,
        _ => 0,
    };
    let mut hasher = NameHasher::default();
    hasher.write(&small.to_le_bytes());
    hasher.finish()
}
