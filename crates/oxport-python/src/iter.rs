//! Iteration: the iterators of built-in values, of `enumerate`, `zip`, `map`, `filter`, and of objects of the program.

use crate::error::R;
use crate::generator::Generator;
use crate::interp::{Frame, Interp};
use crate::journal::{self, Slot};
use crate::value::{Args, Name, Range, Value};
use std::cell::RefCell;
use std::rc::Rc;

/// An iterator.
pub struct Iter {
    state: RefCell<State>,
    /// Its age, see [`crate::journal`].
    born: u64,
}

/// What an iterator still gives.
enum State {
    /// A list, which may change meanwhile.
    List(Rc<Slot<Vec<Value>>>, usize),
    /// Values, in order.
    Values(std::vec::IntoIter<Value>),
    /// A range.
    Range(Range, usize),
    /// The keys of a dict or set of a size, from a slot.
    Keys(crate::dict::Shared, usize, usize, What),
    /// `__getitem__` with 0, 1, ….
    Items(Value, i64),
    /// An object with `__next__`.
    Next(Value),
    /// A function called until it gives a value.
    Until(Value, Value),
    /// `enumerate`.
    Enumerate(Value, i64),
    /// `zip`, strict or not.
    Zip(Vec<Value>, bool),
    /// `map`.
    Map(Value, Vec<Value>),
    /// `filter`.
    Filter(Value, Value),
    /// A generator; none while it runs.
    Generator(Option<Box<Generator>>),
    /// The end.
    Done,
}

/// What the iterator of a dict gives.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// Keys.
    Keys,
    /// Values.
    Values,
    /// Pairs.
    Items,
}

impl Iter {
    fn of(state: State) -> Value {
        Value::Iter(Rc::new(Iter { state: RefCell::new(state), born: journal::age() }))
    }

    /// A generator that has not begun.
    pub fn generator(frame: Frame) -> Iter {
        Iter { state: RefCell::new(State::Generator(Some(Box::new(Generator::new(frame))))), born: journal::age() }
    }

    /// Values in order.
    pub fn values(values: Vec<Value>) -> Value {
        Iter::of(State::Values(values.into_iter()))
    }

    /// The keys, values or items of a dict.
    pub fn dict(map: &crate::dict::Shared, what: What) -> Value {
        let len = map.borrow().len();
        Iter::of(State::Keys(map.clone(), 0, len, what))
    }

    /// `enumerate`.
    pub fn enumerate(iter: Value, start: i64) -> Value {
        Iter::of(State::Enumerate(iter, start))
    }

    /// `zip`.
    pub fn zip(iters: Vec<Value>, strict: bool) -> Value {
        Iter::of(State::Zip(iters, strict))
    }

    /// `map`.
    pub fn map(function: Value, iters: Vec<Value>) -> Value {
        Iter::of(State::Map(function, iters))
    }

    /// `filter`.
    pub fn filter(function: Value, iter: Value) -> Value {
        Iter::of(State::Filter(function, iter))
    }

    /// `iter(function, sentinel)`.
    pub fn until(function: Value, sentinel: Value) -> Value {
        Iter::of(State::Until(function, sentinel))
    }

    /// Whether it is a generator.
    pub fn is_generator(&self) -> bool {
        matches!(self.state.try_borrow().as_deref(), Ok(State::Generator(_)) | Err(_))
    }

    /// Takes the generator out while it runs.
    pub(crate) fn take_generator(&self) -> Option<Box<Generator>> {
        match &mut *self.state.borrow_mut() {
            State::Generator(generator) => generator.take(),
            _ => None,
        }
    }

    /// Puts the generator back.
    pub(crate) fn put_generator(&self, generator: Box<Generator>) {
        *self.state.borrow_mut() = State::Generator(Some(generator));
    }
}

impl Interp {
    /// Whether a value can be iterated.
    pub fn is_iterable(&self, value: &Value) -> bool {
        match value.plain() {
            Value::Str(_) | Value::Bytes(_) | Value::Tuple(_) | Value::List(_) | Value::Dict(_) | Value::Set(_) => true,
            Value::FrozenSet(_) | Value::Range(_) | Value::Iter(_) | Value::Host(_) => true,
            Value::Instance(instance) => {
                let class = instance.class.borrow().clone();
                class.lookup("__iter__").is_some_and(|v| !matches!(v, Value::None))
                    || class.lookup("__getitem__").is_some()
            }
            Value::Class(class) => class.metaclass.as_ref().is_some_and(|m| m.lookup("__iter__").is_some()),
            _ => false,
        }
    }

    /// `iter(value)`.
    ///
    /// # Errors
    /// A `TypeError` if the value is not iterable.
    pub fn iter(&mut self, value: &Value) -> R<Value> {
        self.charge(64)?;
        if let Some(method) = self.user_special(value, "__iter__")? {
            let iter = self.call(&method, Args::default())?;
            return match &iter {
                Value::Iter(_) => Ok(iter),
                Value::Instance(_) if self.special(&iter, "__next__")?.is_some() => Ok(Iter::of(State::Next(iter))),
                _ => {
                    let class = self.type_name(&iter);
                    self.type_error(format!("iter() returned non-iterator of type '{class}'"))
                }
            };
        }
        if self.user_special(value, "__getitem__")?.is_some() && matches!(value.plain(), Value::Instance(_)) {
            return Ok(Iter::of(State::Items(value.clone(), 0)));
        }
        self.native_iter(&value.plain())
    }

    /// The iterator of a built-in value.
    pub(crate) fn native_iter(&mut self, value: &Value) -> R<Value> {
        Ok(match value {
            Value::Iter(_) => value.clone(),
            Value::List(list) => Iter::of(State::List(list.clone(), 0)),
            Value::Tuple(items) => Iter::values(items.to_vec()),
            Value::Range(range) => Iter::of(State::Range(**range, 0)),
            Value::Dict(map) | Value::Set(map) | Value::FrozenSet(map) => Iter::dict(map, What::Keys),
            Value::Str(text) => {
                self.charge(16 * text.len())?;
                Iter::values(text.chars().map(|c| Value::str(c.encode_utf8(&mut [0; 4]))).collect())
            }
            Value::Bytes(bytes) => Iter::values(bytes.iter().map(|b| Value::Int(i64::from(*b))).collect()),
            Value::Host(host) => {
                let host = host.clone();
                if let Some(iter) = self.view_iter(&host) {
                    return Ok(iter);
                }
                match self.deeper(|i| host.iter(i, value))? {
                    Some(values) => Iter::values(values),
                    None => return self.not_iterable(value),
                }
            }
            _ => return self.not_iterable(value),
        })
    }

    fn not_iterable<T>(&self, value: &Value) -> R<T> {
        self.type_error(format!("'{}' object is not iterable", self.type_name(value)))
    }

    /// The next value of an iterator, or nothing at its end.
    ///
    /// # Errors
    /// What the program raises.
    pub fn next(&mut self, iter: &Value) -> R<Option<Value>> {
        let Value::Iter(cell) = iter else {
            return match self.special(iter, "__next__")? {
                Some(next) => {
                    let result = self.call(&next, Args::default());
                    self.unless(result, "StopIteration")
                }
                None => {
                    let class = self.type_name(iter);
                    self.type_error(format!("'{class}' object is not an iterator"))
                }
            };
        };
        if journal::is_older(cell.born) {
            return self.raise(
                "RuntimeError",
                "an iterator from outside of a branch on data is advanced within it, which cannot be joined with the \
                 other branch; make a list of its elements before",
            );
        }
        // The state is taken out, as what is called may ask the same iterator.
        let Ok(mut state) = cell.state.try_borrow_mut() else { return self.value_error("iterator already executing") };
        if let State::Generator(_) = &*state {
            drop(state);
            return self.deeper(|i| i.resume(cell, Ok(Value::None)));
        }
        let mut taken = std::mem::replace(&mut *state, State::Done);
        drop(state);
        let result = self.deeper(|i| i.advance(&mut taken));
        if matches!(result, Ok(Some(_))) {
            *cell.state.borrow_mut() = taken;
        }
        result
    }

    fn advance(&mut self, state: &mut State) -> R<Option<Value>> {
        match state {
            State::List(list, at) => {
                *at += 1;
                Ok(list.borrow().get(*at - 1).cloned())
            }
            State::Values(values) => Ok(values.next()),
            State::Range(range, at) => {
                if *at >= range.len() {
                    return Ok(None);
                }
                *at += 1;
                Ok(Some(Value::Int(range.get(*at - 1))))
            }
            State::Keys(map, slot, len, what) => {
                let map = map.borrow();
                if map.len() != *len {
                    return self.raise("RuntimeError", "dictionary changed size during iteration");
                }
                let Some((next, key, value)) = map.next(*slot) else { return Ok(None) };
                *slot = next;
                Ok(Some(match what {
                    What::Keys => key.clone(),
                    What::Values => value.clone(),
                    What::Items => Value::tuple([key.clone(), value.clone()]),
                }))
            }
            State::Items(object, at) => {
                let item = self.get_item(object, &Value::Int(*at));
                *at += 1;
                self.unless(item, "IndexError")
            }
            State::Next(object) => {
                let object = object.clone();
                let result = self.call_method(&object, "__next__", Args::default());
                self.unless(result, "StopIteration")
            }
            State::Until(function, sentinel) => {
                let value = self.call(function, Args::default())?;
                Ok(if self.equal(&value, sentinel)? { None } else { Some(value) })
            }
            State::Enumerate(iter, n) => {
                let Some(value) = self.next(iter)? else { return Ok(None) };
                *n += 1;
                Ok(Some(Value::tuple([Value::Int(*n - 1), value])))
            }
            State::Zip(iters, strict) => self.zip_next(iters, *strict),
            State::Map(function, iters) => {
                let mut args = Vec::new();
                for iter in iters.iter() {
                    let Some(value) = self.next(iter)? else { return Ok(None) };
                    args.push(value);
                }
                self.call(function, Args::of(args)).map(Some)
            }
            State::Filter(function, iter) => loop {
                self.tick()?;
                let Some(value) = self.next(iter)? else { return Ok(None) };
                let keep = match &*function {
                    Value::None => value.clone(),
                    function => self.call(function, Args::of([value.clone()]))?,
                };
                if self.truth(&keep)? {
                    return Ok(Some(value));
                }
            },
            State::Generator(_) | State::Done => Ok(None),
        }
    }

    fn zip_next(&mut self, iters: &[Value], strict: bool) -> R<Option<Value>> {
        let mut items = Vec::with_capacity(iters.len());
        for (at, iter) in iters.iter().enumerate() {
            match self.next(iter)? {
                Some(value) => items.push(value),
                None if strict && at > 0 => {
                    let message = format!("zip() argument {} is shorter than argument{}", at + 1, first_arguments(at));
                    return self.value_error(message);
                }
                None if strict => {
                    for (other, iter) in iters.iter().enumerate().skip(1) {
                        if self.next(iter)?.is_some() {
                            let before = first_arguments(other);
                            return self
                                .value_error(format!("zip() argument {} is longer than argument{before}", other + 1));
                        }
                    }
                    return Ok(None);
                }
                None => return Ok(None),
            }
        }
        Ok(if iters.is_empty() { None } else { Some(Value::tuple(items)) })
    }

    /// All values of an iterable.
    ///
    /// # Errors
    /// A `TypeError` if the value is not iterable; what the program raises.
    pub fn collect(&mut self, value: &Value) -> R<Vec<Value>> {
        match value {
            Value::List(list) => return Ok(list.borrow().clone()),
            Value::Tuple(items) => return Ok(items.to_vec()),
            _ => {}
        }
        let iter = self.iter(value)?;
        let mut items = Vec::new();
        while let Some(item) = self.next(&iter)? {
            self.tick()?;
            self.charge(16)?;
            items.push(item);
        }
        Ok(items)
    }

    /// A method of an iterator by name, for `send`, `throw` and `close` of generators.
    pub(crate) fn generator_method(&mut self, name: &str, mut args: Args) -> R<Value> {
        let this = args.pos.remove(0);
        let Value::Iter(cell) = &this else { return self.type_error(format!("{name}: expected a generator")) };
        let given = args.pos.into_iter().next().unwrap_or(Value::None);
        let sent = match name {
            "send" => Ok(given),
            "throw" => {
                let value = self.as_exception(given)?;
                Err(self.raised(value))
            }
            _ => Err(self.raised(self.exception("GeneratorExit", Vec::new()))),
        };
        let result = self.resume(cell, sent);
        if name == "close" {
            return match result {
                Ok(Some(_)) => self.raise("RuntimeError", "generator ignored GeneratorExit"),
                Ok(None) => Ok(Value::None),
                Err(unwind) if self.is_raised(&unwind, "GeneratorExit") => Ok(Value::None),
                Err(unwind) => Err(unwind),
            };
        }
        match result? {
            Some(value) => Ok(value),
            None => {
                let value = cell.returned();
                let args = if matches!(value, Value::None) { Vec::new() } else { vec![value] };
                self.raise_with("StopIteration", args)
            }
        }
    }
}

impl Iter {
    /// What a finished generator returned.
    pub(crate) fn returned(&self) -> Value {
        match &*self.state.borrow() {
            State::Generator(Some(generator)) => generator.returned(),
            _ => Value::None,
        }
    }
}

fn first_arguments(n: usize) -> String {
    if n == 1 { " 1".to_string() } else { format!("s 1-{n}") }
}

/// The name of a method of generators.
pub(crate) const GENERATOR_METHODS: [&str; 3] = ["send", "throw", "close"];

impl Interp {
    /// `next(iter)` as the program calls it.
    pub(crate) fn next_or_raise(&mut self, iter: &Value, default: Option<Value>) -> R<Value> {
        if let Value::Instance(_) = iter {
            let next = self.get_attr(iter, &Name::from("__next__"))?;
            let result = self.call(&next, Args::default());
            return match default {
                Some(default) => Ok(self.unless(result, "StopIteration")?.unwrap_or(default)),
                None => result,
            };
        }
        match (self.next(iter)?, default) {
            (Some(value), _) | (None, Some(value)) => Ok(value),
            (None, None) => {
                let returned = match iter {
                    Value::Iter(cell) => cell.returned(),
                    _ => Value::None,
                };
                let args = if matches!(returned, Value::None) { Vec::new() } else { vec![returned] };
                self.raise_with("StopIteration", args)
            }
        }
    }
}
