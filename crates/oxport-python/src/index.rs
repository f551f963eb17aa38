//! Subscripts: `value[index]`, its assignment and deletion, slices.

use crate::error::R;
use crate::interp::Interp;
use crate::value::{Args, Name, Range, Value};
use num_traits::ToPrimitive;
use std::rc::Rc;

/// A slice of a length: start, stop, step, count.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// The first index.
    pub start: i64,
    /// The bound.
    pub stop: i64,
    /// The step, not 0.
    pub step: i64,
}

impl Bounds {
    /// The indices.
    pub fn indices(self) -> impl Iterator<Item = usize> {
        let range = Range { start: self.start, stop: self.stop, step: self.step };
        (0..range.len()).map(move |n| range.get(n) as usize)
    }
}

impl Interp {
    /// An int where one is needed: `__index__`, or a specialized symbolic size.
    ///
    /// # Errors
    /// A `TypeError` if the value is no int.
    pub fn index(&mut self, value: &Value) -> R<i64> {
        match value {
            Value::Int(n) => Ok(*n),
            Value::Bool(b) => Ok(i64::from(*b)),
            Value::Big(n) => match n.to_i64() {
                Some(n) => Ok(n),
                None => self.raise("IndexError", "cannot fit 'int' into an index-sized integer"),
            },
            Value::Host(host) => {
                let host = host.clone();
                match host.index(self, value)? {
                    Some(n) => Ok(n),
                    None => self.no_index(value),
                }
            }
            Value::Instance(_) => match self.special(value, "__index__")? {
                Some(method) => {
                    let n = self.call(&method, Args::default())?;
                    self.index(&n)
                }
                None => match value.plain() {
                    Value::Instance(_) => self.no_index(value),
                    plain => self.index(&plain),
                },
            },
            _ => self.no_index(value),
        }
    }

    fn no_index<T>(&self, value: &Value) -> R<T> {
        self.type_error(format!("'{}' object cannot be interpreted as an integer", self.type_name(value)))
    }

    /// The bounds of a slice of a sequence.
    ///
    /// # Errors
    /// If they are no ints, or the step is 0.
    pub fn slice_bounds(&mut self, slice: &[Value; 3], len: usize) -> R<Bounds> {
        let len = i64::try_from(len).unwrap_or(i64::MAX);
        let mut part = |value: &Value| -> R<Option<i64>> {
            match value {
                Value::None => Ok(None),
                Value::Big(n) => Ok(Some(if n.sign() == num_bigint::Sign::Minus { i64::MIN } else { i64::MAX })),
                value => self.index(value).map(Some),
            }
        };
        let (start, stop, step) = (part(&slice[0])?, part(&slice[1])?, part(&slice[2])?.unwrap_or(1));
        if step == 0 {
            return self.value_error("slice step cannot be zero");
        }
        let (low, high) = if step > 0 { (0, len) } else { (-1, len - 1) };
        let clamp = |n: i64| if n < 0 { n.saturating_add(len).max(low) } else { n.min(high) };
        let start = start.map_or(if step > 0 { low } else { high }, clamp);
        let stop = stop.map_or(if step > 0 { high } else { low }, clamp);
        Ok(Bounds { start, stop, step })
    }

    fn offset(&mut self, index: &Value, len: usize, what: &str) -> R<usize> {
        if matches!(index, Value::Str(_) | Value::Float(_) | Value::None | Value::Tuple(_) | Value::List(_)) {
            let class = self.type_name(index);
            return self.type_error(format!("{what} indices must be integers or slices, not {class}"));
        }
        let n = self.index(index)?;
        let at = if n < 0 { n.checked_add(len as i64) } else { Some(n) };
        match at.and_then(|n| usize::try_from(n).ok()).filter(|n| *n < len) {
            Some(n) => Ok(n),
            None => self.raise("IndexError", format!("{what} index out of range")),
        }
    }

    /// `value[index]`.
    ///
    /// # Errors
    /// As in Python.
    pub fn get_item(&mut self, value: &Value, index: &Value) -> R<Value> {
        match value {
            Value::Host(host) => {
                let host = host.clone();
                if let Some(item) = self.deeper(|i| host.get_item(i, value, index))? {
                    return Ok(item);
                }
            }
            Value::Instance(_) => {
                if let Some(method) = self.special(value, "__getitem__")? {
                    return self.call(&method, Args::of([index.clone()]));
                }
            }
            Value::Class(class) => {
                if let Some(method) = self.user_special(value, "__getitem__")? {
                    return self.call(&method, Args::of([index.clone()]));
                }
                if let Some(method) = class.lookup("__class_getitem__") {
                    let method = self.bind_attr(&method, value, class)?;
                    return self.call(&method, Args::of([index.clone()]));
                }
                // `list[int]` is the class itself at run time.
                return Ok(value.clone());
            }
            _ => {}
        }
        self.native_item(&value.plain(), index)
    }

    /// An item of a built-in value.
    pub(crate) fn native_item(&mut self, value: &Value, index: &Value) -> R<Value> {
        if let (Value::Slice(slice), false) = (index, matches!(value, Value::Dict(_))) {
            return self.get_slice(value, slice);
        }
        match value {
            Value::List(list) => {
                let len = list.borrow().len();
                let at = self.offset(index, len, "list")?;
                let item = list.borrow().get(at).cloned();
                Ok(item.unwrap_or(Value::None))
            }
            Value::Tuple(items) => {
                let at = self.offset(index, items.len(), "tuple")?;
                Ok(items[at].clone())
            }
            Value::Str(text) => {
                let len = if text.is_ascii() { text.len() } else { text.chars().count() };
                let at = self.offset(index, len, "string")?;
                Ok(Value::str(&text.chars().nth(at).map(String::from).unwrap_or_default()))
            }
            Value::Bytes(bytes) => {
                let at = self.offset(index, bytes.len(), "index")?;
                Ok(Value::Int(i64::from(bytes[at])))
            }
            Value::Range(range) => {
                let at = self.offset(index, range.len(), "range object")?;
                Ok(Value::Int(range.get(at)))
            }
            Value::Dict(map) => match self.dict_get(map, index)? {
                Some(value) => Ok(value),
                None => self.raise_with("KeyError", vec![index.clone()]),
            },
            _ => {
                let class = self.type_name(value);
                self.type_error(format!("'{class}' object is not subscriptable"))
            }
        }
    }

    fn get_slice(&mut self, value: &Value, slice: &[Value; 3]) -> R<Value> {
        match value {
            Value::List(list) => {
                let bounds = self.slice_bounds(slice, list.borrow().len())?;
                let items = { bounds.indices().map(|n| list.borrow()[n].clone()).collect() };
                self.new_list(items)
            }
            Value::Tuple(items) => {
                let bounds = self.slice_bounds(slice, items.len())?;
                let items = bounds.indices().map(|n| items[n].clone()).collect();
                self.new_tuple(items)
            }
            Value::Str(text) => {
                let chars: Vec<char> = text.chars().collect();
                self.charge(chars.len())?;
                let bounds = self.slice_bounds(slice, chars.len())?;
                self.new_str(bounds.indices().map(|n| chars[n]).collect::<String>())
            }
            Value::Bytes(bytes) => {
                let bounds = self.slice_bounds(slice, bytes.len())?;
                Ok(Value::Bytes(bounds.indices().map(|n| bytes[n]).collect()))
            }
            Value::Range(range) => {
                let bounds = self.slice_bounds(slice, range.len())?;
                let at = |n: i64| range.start.saturating_add(n.saturating_mul(range.step));
                let step = range.step.saturating_mul(bounds.step);
                Ok(Value::Range(Rc::new(Range { start: at(bounds.start), stop: at(bounds.stop), step })))
            }
            _ => {
                let class = self.type_name(value);
                self.type_error(format!("'{class}' object is not subscriptable"))
            }
        }
    }

    /// `object[index] = value`.
    ///
    /// # Errors
    /// As in Python.
    pub fn set_item(&mut self, object: &Value, index: &Value, value: Value) -> R<()> {
        match object {
            Value::Host(host) => {
                let host = host.clone();
                if self.deeper(|i| host.set_item(i, object, index, &value))? {
                    return Ok(());
                }
            }
            Value::Instance(_) => {
                if let Some(method) = self.special(object, "__setitem__")? {
                    return self.call(&method, Args::of([index.clone(), value])).map(drop);
                }
            }
            _ => {}
        }
        self.native_set_item(&object.plain(), index, value)
    }

    pub(crate) fn native_set_item(&mut self, object: &Value, index: &Value, value: Value) -> R<()> {
        match (object, index) {
            (Value::List(list), Value::Slice(slice)) => {
                let items = self.collect(&value)?;
                let bounds = self.slice_bounds(slice, list.borrow().len())?;
                self.charge(16 * items.len())?;
                let mut list = list.borrow_mut();
                if bounds.step == 1 {
                    let start = bounds.start as usize;
                    let stop = (bounds.stop.max(bounds.start)) as usize;
                    list.splice(start..stop, items);
                    return Ok(());
                }
                let places: Vec<usize> = bounds.indices().collect();
                if places.len() != items.len() {
                    let (n, m) = (items.len(), places.len());
                    let message = format!("attempt to assign sequence of size {n} to extended slice of size {m}");
                    return self.value_error(message);
                }
                for (at, item) in places.into_iter().zip(items) {
                    list[at] = item;
                }
                Ok(())
            }
            (Value::List(list), _) => {
                let len = list.borrow().len();
                let at = self.offset(index, len, "list assignment")?;
                if let Some(place) = list.borrow_mut().get_mut(at) {
                    *place = value;
                }
                Ok(())
            }
            (Value::Dict(map), _) => self.dict_set(map, index.clone(), value),
            _ => {
                let class = self.type_name(object);
                self.type_error(format!("'{class}' object does not support item assignment"))
            }
        }
    }

    /// `del object[index]`.
    ///
    /// # Errors
    /// As in Python.
    pub fn del_item(&mut self, object: &Value, index: &Value) -> R<()> {
        if let Value::Instance(_) = object
            && let Some(method) = self.special(object, "__delitem__")?
        {
            return self.call(&method, Args::of([index.clone()])).map(drop);
        }
        if let Value::Host(_) = object {
            let pop = self.find_attr(object, &Name::from("pop"))?;
            if let Some(pop) = pop {
                return self.call(&pop, Args::of([index.clone()])).map(drop);
            }
        }
        self.native_del_item(&object.plain(), index)
    }

    pub(crate) fn native_del_item(&mut self, object: &Value, index: &Value) -> R<()> {
        match (object, index) {
            (Value::List(list), Value::Slice(slice)) => {
                let bounds = self.slice_bounds(slice, list.borrow().len())?;
                let mut places: Vec<usize> = bounds.indices().collect();
                places.sort_unstable();
                for at in places.into_iter().rev() {
                    list.borrow_mut().remove(at);
                }
                Ok(())
            }
            (Value::List(list), _) => {
                let len = list.borrow().len();
                let at = self.offset(index, len, "list assignment")?;
                list.borrow_mut().remove(at);
                Ok(())
            }
            (Value::Dict(map), _) => match self.dict_remove(map, index)? {
                Some(_) => Ok(()),
                None => self.raise_with("KeyError", vec![index.clone()]),
            },
            _ => {
                let class = self.type_name(object);
                self.type_error(format!("'{class}' object doesn't support item deletion"))
            }
        }
    }
}
