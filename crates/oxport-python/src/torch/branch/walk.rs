//! The walk over two states of the heap that become one.
//!
//! The states are walked side by side, twice in the same order: first to collect the pairs of leaves that differ, which
//! the program must carry or choose between; then, with the results of the program, to build the joined state.
//!
//! Laws: leaves of a pair have one kind, and tensors one dtype and the same sizes; containers have the same form, and
//! nobody but the states that are joined knows them, so that their joint copy can stand for both.

use super::carrier::{Carrier, carrier, common};
use super::unknown::Unknown;
use crate::error::R;
use crate::interp::Interp;
use crate::journal::{Change, Content, Slot};
use crate::torch::session::Session;
use crate::torch::tensor::{Kind, tensor_of};
use crate::value::{Instance, Namespace, Value};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// A pair of values that differ.
pub(super) struct Leaf {
    /// Where it is, the same in every walk.
    pub(super) key: String,
    pub(super) carrier: Carrier,
    pub(super) sides: [Option<Value>; 2],
}

/// Where a value is: for comparison, and in words.
#[derive(Clone)]
pub(super) struct Path {
    pub(super) key: String,
    pub(super) words: String,
}

impl Path {
    fn item(&self, index: &str) -> Path {
        Path { key: format!("{}[{index}]", self.key), words: format!("{}[{index}]", self.words) }
    }
}

/// What a missing name means.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Missing {
    /// Nobody reads it on that side.
    Unread,
    /// It remains missing.
    Absent,
    /// It cannot be used.
    Refused,
}

/// How two states are walked.
pub(super) struct Walk<'a> {
    session: &'a Rc<Session>,
    /// The bool that chooses the first side, where there is one.
    test: Option<&'a Value>,
    /// What holds on each side, in words.
    when: [&'static str; 2],
    /// The pairs that are leaves even where they do not differ.
    pub(super) forced: HashSet<String>,
    pub(super) leaves: Vec<Leaf>,
    results: Option<std::vec::IntoIter<Value>>,
    /// How often the states mention a container.
    mentions: HashMap<usize, usize>,
    joint: HashMap<(usize, usize), Value>,
    partners: [HashMap<usize, usize>; 2],
}

/// The values that a content holds at first hand.
fn held(content: &Content) -> Vec<&Value> {
    match content {
        Content::Names(names) => names.values().collect(),
        Content::Items(items) => items.iter().collect(),
        Content::Map(map) => map.iter().map(|(_, v)| v).collect(),
        Content::Payload(value) => vec![value],
        Content::Class(_) | Content::Tensor(_) => Vec::new(),
    }
}

impl<'a> Walk<'a> {
    pub(super) fn new(session: &'a Rc<Session>, test: Option<&'a Value>, when: [&'static str; 2]) -> Walk<'a> {
        Walk {
            session,
            test,
            when,
            forced: HashSet::new(),
            leaves: Vec::new(),
            results: None,
            mentions: HashMap::new(),
            joint: HashMap::new(),
            partners: Default::default(),
        }
    }

    /// Begins the second walk, which builds with these values for the leaves.
    pub(super) fn build(&mut self, results: Vec<Value>) {
        self.results = Some(results.into_iter());
        self.joint.clear();
        self.partners = Default::default();
    }

    pub(super) fn mention<'v>(&mut self, values: impl IntoIterator<Item = &'v Value>, times: usize) {
        for value in values {
            if let Some(address) = value.address() {
                *self.mentions.entry(address).or_default() += times;
            }
        }
    }

    /// Counts what changes hold; the content before counts twice where it stands in the cell again.
    pub(super) fn mention_changes(&mut self, changes: &[Change], before: usize) {
        for change in changes {
            self.mention(held(&change.before), before);
            self.mention(held(&change.after), 1);
        }
    }

    fn leaf(&mut self, path: &Path, carrier: Carrier, sides: [Option<&Value>; 2]) -> Value {
        match &mut self.results {
            Some(results) => results.next().unwrap_or(Value::None),
            None => {
                let key = path.key.clone();
                self.leaves.push(Leaf { key, carrier, sides: sides.map(|v| v.cloned()) });
                Value::None
            }
        }
    }

    fn refused(&self, interp: &mut Interp, path: &Path, sides: [&Value; 2]) -> R<Value> {
        let mut words = Vec::new();
        for (value, when) in sides.into_iter().zip(self.when) {
            let what = match (value, carrier(value)) {
                (_, Some(Carrier::Tensor(fake))) => {
                    let sizes: Vec<String> = fake.sizes.iter().map(ToString::to_string).collect();
                    format!("a {} tensor of sizes [{}]", fake.dtype.name(), sizes.join(", "))
                }
                (Value::Host(host), _) if host.refusal().is_some() => return Ok(value.clone()),
                (Value::None | Value::Int(_) | Value::Float(_) | Value::Bool(_) | Value::Str(_), _) => {
                    interp.repr(value)?
                }
                _ => format!("a {}", interp.type_name(value)),
            };
            words.push(format!("{what} {when}"));
        }
        let what = &path.words;
        let advice = match sides.map(carrier) {
            [Some(Carrier::Tensor(_)), Some(Carrier::Tensor(_))] => "make dtypes and sizes equal",
            [Some(Carrier::Int | Carrier::Float), Some(Carrier::Int | Carrier::Float)] => {
                "make both ints or both floats"
            }
            [Some(_), Some(_)] => "make both tensors of the same dtype and sizes, as by torch.full",
            _ => "compute with it on each side, so that only tensors and numbers differ",
        };
        Ok(Unknown::value(format!(
            "{what} is {}, and {}, in data-dependent control flow: {advice}",
            words[0], words[1]
        )))
    }

    /// The joint value of two sides, of which one may be none that is read.
    pub(super) fn pair(&mut self, interp: &mut Interp, sides: [Option<&Value>; 2], path: &Path) -> R<Value> {
        interp.tick()?;
        let (a, b) = match sides {
            [Some(a), Some(b)] => (a, b),
            [None, Some(only)] | [Some(only), None] => return self.single(interp, sides, only, path),
            [None, None] => return Ok(Value::None),
        };
        let is_forced = self.forced.contains(&path.key);
        if a.is(b) && !is_forced {
            return Ok(a.clone());
        }
        if let (Value::Bool(a), Value::Bool(_), Some(test), false) = (a, b, self.test, is_forced) {
            return if *a { Ok(test.clone()) } else { interp.not(test) };
        }
        if let Some(carrier) = common(a, b) {
            return Ok(self.leaf(path, carrier, [Some(a), Some(b)]));
        }
        let joint = match (a.address(), b.address()) {
            (Some(x), Some(y)) => Some((x, y)),
            _ => None,
        };
        if let Some(known) = joint.and_then(|key| self.joint.get(&key)) {
            return Ok(known.clone());
        }
        let value = match (a, b) {
            (Value::Tuple(x), Value::Tuple(y)) if x.len() == y.len() => {
                let mut items = Vec::new();
                for (n, (x, y)) in x.iter().zip(y.iter()).enumerate() {
                    items.push(self.pair(interp, [Some(x), Some(y)], &path.item(&n.to_string()))?);
                }
                interp.new_tuple(items)?
            }
            (Value::List(x), Value::List(y)) if self.is_own(a, b) && x.borrow().len() == y.borrow().len() => {
                let (x, y) = (x.borrow().clone(), y.borrow().clone());
                let mut items = Vec::new();
                for (n, (x, y)) in x.iter().zip(y.iter()).enumerate() {
                    items.push(self.pair(interp, [Some(x), Some(y)], &path.item(&n.to_string()))?);
                }
                interp.new_list(items)?
            }
            (Value::Dict(x), Value::Dict(y)) if self.is_own(a, b) => {
                let (x, y) = (x.borrow().clone(), y.borrow().clone());
                match self.maps(interp, &x, &y, path)? {
                    Some(items) => Value::Dict(interp.make_dict(items)?),
                    None => return self.refused(interp, path, [a, b]),
                }
            }
            (Value::Instance(x), Value::Instance(y))
                if Rc::ptr_eq(&*x.class.borrow(), &*y.class.borrow()) && self.is_own(a, b) =>
            {
                let (names, others) = (x.dict.borrow().clone(), y.dict.borrow().clone());
                let dict = self.names(interp, [&names, &others], path, [Missing::Refused; 2])?;
                let (p, q) = (x.payload.borrow().clone(), y.payload.borrow().clone());
                let payload = self.pair(interp, [Some(&p), Some(&q)], path)?;
                let class = x.class.borrow().clone();
                Value::Instance(Rc::new(Instance {
                    class: Slot::new(class),
                    dict: Slot::new(dict),
                    payload: Slot::new(payload),
                }))
            }
            _ => return self.refused(interp, path, [a, b]),
        };
        if let Some(key) = joint {
            self.joint.insert(key, value.clone());
        }
        Ok(value)
    }

    /// A value that is read only after one side.
    fn single(&mut self, interp: &mut Interp, sides: [Option<&Value>; 2], only: &Value, path: &Path) -> R<Value> {
        // What is no node of the branch needs no result.
        let is_around = match (only, tensor_of(only)) {
            (_, Some(tensor)) => match &*tensor.kind.borrow() {
                Kind::Traced(t) => t.name().is_some(),
                Kind::Data(_) => true,
            },
            (Value::Host(_), _) => false,
            _ => carrier(only).is_some(),
        };
        let is_forced = self.forced.contains(&path.key) || (self.test.is_none() && carrier(only).is_some());
        match (only, carrier(only)) {
            (_, Some(_)) if is_around && !is_forced => Ok(only.clone()),
            (_, Some(carrier)) => Ok(self.leaf(path, carrier, sides)),
            (Value::Tuple(items), _) => {
                let is_first = sides[0].is_some();
                let mut joint = Vec::new();
                for (n, item) in items.iter().enumerate() {
                    let sides = if is_first { [Some(item), None] } else { [None, Some(item)] };
                    joint.push(self.pair(interp, sides, &path.item(&n.to_string()))?);
                }
                interp.new_tuple(joint)
            }
            _ => Ok(only.clone()),
        }
    }

    /// Whether nobody but the two states knows these containers, and none of them stands for two others.
    fn is_own(&mut self, a: &Value, b: &Value) -> bool {
        let (Some(x), Some(y)) = (a.address(), b.address()) else { return false };
        let partner = *self.partners[0].entry(x).or_insert(y) == y && *self.partners[1].entry(y).or_insert(x) == x;
        let count = |value: &Value| match value {
            Value::List(rc) => Rc::strong_count(rc),
            Value::Dict(rc) => Rc::strong_count(rc),
            Value::Instance(rc) => Rc::strong_count(rc),
            _ => usize::MAX,
        };
        let is_own = |value: &Value, address: usize| {
            let known = self.mentions.get(&address).copied().unwrap_or(1) + crate::journal::mentions(value);
            count(value) <= known
        };
        partner && is_own(a, x) && is_own(b, y)
    }

    fn maps(
        &mut self,
        interp: &mut Interp,
        x: &crate::dict::DictMap,
        y: &crate::dict::DictMap,
        path: &Path,
    ) -> R<Option<Vec<(Value, Value)>>> {
        let mut items = Vec::new();
        if x.len() != y.len() {
            return Ok(None);
        }
        for ((key, a), (other, b)) in x.iter().zip(y.iter()) {
            if !interp.equal(key, other)? {
                return Ok(None);
            }
            let index = interp.repr(key)?;
            items.push((key.clone(), self.pair(interp, [Some(a), Some(b)], &path.item(&index))?));
        }
        Ok(Some(items))
    }

    fn names(
        &mut self,
        interp: &mut Interp,
        sides: [&Namespace; 2],
        path: &Path,
        missing: [Missing; 2],
    ) -> R<Namespace> {
        let mut joint = Namespace::default();
        let more = sides[1].keys().filter(|key| !sides[0].contains_key(*key));
        for key in sides[0].keys().chain(more) {
            let path = Path { key: format!("{}.{key}", path.key), words: format!("`{key}`") };
            let values = [sides[0].get(key), sides[1].get(key)];
            let absent = values.iter().position(Option::is_none);
            let value = match absent.map(|at| (at, missing[at])) {
                None | Some((_, Missing::Unread)) => self.pair(interp, values, &path)?,
                Some((_, Missing::Absent)) => continue,
                Some((at, Missing::Refused)) => {
                    let when = self.when[1 - at];
                    Unknown::value(format!(
                        "`{key}` has a value only {when}, which is data-dependent: give it one before, of the same \
                         dtype and sizes"
                    ))
                }
            };
            joint.insert(key.clone(), value);
        }
        Ok(joint)
    }

    /// The joint content of a cell.
    pub(super) fn content(
        &mut self,
        interp: &mut Interp,
        cell: &Change,
        [a, b]: [&Content; 2],
        missing: [Missing; 2],
        unread: [bool; 2],
    ) -> R<Content> {
        let path = Path { key: cell.cell.address().to_string(), words: "an element".to_string() };
        let [one, other] = self.when;
        let differ = |i: &mut Interp, what: String| {
            i.raise("RuntimeError", format!("{what}, in data-dependent control flow: change it alike on both sides"))
        };
        Ok(match (a, b) {
            (Content::Names(a), Content::Names(b)) => {
                // Where nobody reads the variables any more, they need no values.
                let empty = Namespace::default();
                let read = |names, is_unread| if is_unread { &empty } else { names };
                let sides = if unread == [true, true] { [a, b] } else { [read(a, unread[0]), read(b, unread[1])] };
                Content::Names(self.names(interp, sides, &path, missing)?)
            }
            (Content::Items(a), Content::Items(b)) if a.len() == b.len() => {
                let mut items = Vec::new();
                for (n, (a, b)) in a.iter().zip(b).enumerate() {
                    items.push(self.pair(interp, [Some(a), Some(b)], &path.item(&n.to_string()))?);
                }
                Content::Items(items)
            }
            (Content::Items(a), Content::Items(b)) => {
                let (a, b) = (a.len(), b.len());
                return differ(interp, format!("a list has {a} elements {one}, and {b} {other}"));
            }
            (Content::Map(a), Content::Map(b)) => match self.maps(interp, a, b, &path)? {
                Some(items) => {
                    let map = interp.make_dict(items)?;
                    let map = map.borrow().clone();
                    Content::Map(map)
                }
                None => return differ(interp, format!("a dict or set has some keys {one}, and others {other}")),
            },
            (Content::Payload(a), Content::Payload(b)) => {
                Content::Payload(self.pair(interp, [Some(a), Some(b)], &path)?)
            }
            (Content::Tensor(a), Content::Tensor(b)) => {
                let (a, b) = (self.session.value(a.clone()), self.session.value(b.clone()));
                let joint = self.pair(interp, [Some(&a), Some(&b)], &path)?;
                let joint = interp.usable(joint)?;
                match tensor_of(&joint) {
                    Some(tensor) => Content::Tensor(tensor.kind.borrow().clone()),
                    None => cell.before.clone(),
                }
            }
            (Content::Class(a), Content::Class(b)) if Rc::ptr_eq(a, b) => Content::Class(a.clone()),
            _ => return differ(interp, format!("an object has one class {one}, and another {other}")),
        })
    }
}
