//! `dict` and its views.

use super::add_methods;
use crate::dict::Shared;
use crate::error::R;
use crate::host::Host;
use crate::interp::Interp;
use crate::iter::{Iter, What};
use crate::syntax::tree::{BinOp, CmpOp};
use crate::value::{Args, Class, Value};
use std::any::Any;
use std::rc::Rc;

pub(super) fn install(interp: &mut Interp) {
    add_methods(
        &interp.types.dict,
        &[
            ("__new__", |i, a| {
                let dict = i.types.dict.clone();
                let Value::Class(class) = a.at(i, "dict", 0)? else { return i.type_error("X is not a type object") };
                i.wrap(&class, &dict, Value::dict(Default::default()))
            }),
            ("__init__", dict_update),
            ("update", dict_update),
            ("get", |i, a| {
                let map = this(i, &a)?;
                let found = i.dict_get(&map, &a.at(i, "get", 1)?)?;
                Ok(found.or_else(|| a.pos.get(2).cloned()).unwrap_or(Value::None))
            }),
            ("keys", |i, a| Ok(DictView::value(this(i, &a)?, What::Keys))),
            ("values", |i, a| Ok(DictView::value(this(i, &a)?, What::Values))),
            ("items", |i, a| Ok(DictView::value(this(i, &a)?, What::Items))),
            ("pop", |i, a| {
                let map = this(i, &a)?;
                let key = a.at(i, "pop", 1)?;
                match i.dict_remove(&map, &key)?.or_else(|| a.pos.get(2).cloned()) {
                    Some(value) => Ok(value),
                    None => i.raise_with("KeyError", vec![key]),
                }
            }),
            ("popitem", |i, a| {
                let last = a.kw.iter().all(|(_, v)| !matches!(v, Value::Bool(false)));
                let popped = this(i, &a)?.borrow_mut().pop_end(last);
                match popped {
                    Some((key, value)) => Ok(Value::tuple([key, value])),
                    None => i.raise("KeyError", "popitem(): dictionary is empty"),
                }
            }),
            ("setdefault", |i, a| {
                let map = this(i, &a)?;
                let key = a.at(i, "setdefault", 1)?;
                if let Some(value) = i.dict_get(&map, &key)? {
                    return Ok(value);
                }
                let value = a.pos.get(2).cloned().unwrap_or(Value::None);
                i.dict_set(&map, key, value.clone())?;
                Ok(value)
            }),
            ("copy", |i, a| {
                let map = this(i, &a)?.borrow().clone();
                i.charge(96 * map.len())?;
                Ok(Value::dict(map))
            }),
            ("clear", |i, a| {
                this(i, &a)?.borrow_mut().clear();
                Ok(Value::None)
            }),
            ("fromkeys", |i, a| {
                let value = a.pos.get(2).cloned().unwrap_or(Value::None);
                let keys = i.collect(&a.at(i, "fromkeys", 1)?)?;
                let map = i.make_dict(keys.into_iter().map(|k| (k, value.clone())))?;
                Ok(Value::Dict(map))
            }),
            ("__getitem__", |i, a| {
                let (this, key) = (a.at(i, "__getitem__", 0)?, a.at(i, "__getitem__", 1)?);
                let Value::Dict(map) = this.plain() else { return i.type_error("expected a dict") };
                if let Some(value) = i.dict_get(&map, &key)? {
                    return Ok(value);
                }
                match i.user_special(&this, "__missing__")? {
                    Some(missing) => i.call(&missing, Args::of([key])),
                    None => i.raise_with("KeyError", vec![key]),
                }
            }),
            ("__reversed__", |i, a| {
                let mut keys = this(i, &a)?.borrow().keys();
                keys.reverse();
                Ok(Iter::values(keys))
            }),
        ],
    );
}

fn this(interp: &Interp, args: &Args) -> R<Shared> {
    match args.pos.first().map(Value::plain) {
        Some(Value::Dict(map)) => Ok(map),
        _ => interp.type_error("descriptor requires a 'dict' object"),
    }
}

fn dict_update(interp: &mut Interp, args: Args) -> R<Value> {
    let map = this(interp, &args)?;
    if let Some(value) = args.pos.get(1) {
        let is_mapping = matches!(value.plain(), Value::Dict(_)) || interp.find_attr(value, &"keys".into())?.is_some();
        if is_mapping {
            interp.update_dict(&map, value)?;
        } else {
            for (at, pair) in interp.collect(value)?.into_iter().enumerate() {
                let pair = interp.collect(&pair)?;
                let [key, value] = pair.as_slice() else {
                    let n = pair.len();
                    let message = format!("dictionary update sequence element #{at} has length {n}; 2 is required");
                    return interp.value_error(message);
                };
                interp.dict_set(&map, key.clone(), value.clone())?;
            }
        }
    }
    for (key, value) in args.kw {
        interp.dict_set(&map, Value::Str(key), value)?;
    }
    Ok(Value::None)
}

/// `keys()`, `values()` or `items()` of a dict, alive.
pub(crate) struct DictView {
    map: Shared,
    what: What,
}

impl DictView {
    fn value(map: Shared, what: What) -> Value {
        Value::Host(Rc::new(DictView { map, what }))
    }

    fn list(&self) -> Vec<Value> {
        let map = self.map.borrow();
        match self.what {
            What::Keys => map.keys(),
            What::Values => map.values(),
            What::Items => map.iter().map(|(k, v)| Value::tuple([k.clone(), v.clone()])).collect(),
        }
    }

    fn name(&self) -> &'static str {
        match self.what {
            What::Keys => "dict_keys",
            What::Values => "dict_values",
            What::Items => "dict_items",
        }
    }
}

impl Host for DictView {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn class(&self, interp: &Interp) -> Rc<Class> {
        interp.types.iterator.clone()
    }

    fn get_attr(&self, interp: &mut Interp, _: &Value, name: &str) -> R<Option<Value>> {
        if name == "isdisjoint" {
            let set = Value::Set(interp.make_set(self.list())?);
            return interp.find_attr(&set, &name.into());
        }
        Ok(None)
    }

    fn len(&self, _: &mut Interp) -> R<Option<Value>> {
        Ok(Some(Value::from_len(self.map.borrow().len())))
    }

    fn truth(&self, _: &mut Interp, _: &Value) -> R<bool> {
        Ok(!self.map.borrow().is_empty())
    }

    fn iter(&self, _: &mut Interp, _: &Value) -> R<Option<Vec<Value>>> {
        Ok(Some(self.list()))
    }

    fn binary(&self, interp: &mut Interp, _: &Value, op: BinOp, other: &Value, swapped: bool) -> R<Option<Value>> {
        if !matches!(op, BinOp::And | BinOp::Or | BinOp::Sub | BinOp::Xor) || self.what == What::Values {
            return Ok(None);
        }
        let this = interp.make_set(self.list())?;
        let items = interp.collect(other)?;
        let other = interp.make_set(items)?;
        let (a, b) = if swapped { (&other, &this) } else { (&this, &other) };
        Ok(Some(Value::Set(interp.set_operation(a, op, b)?)))
    }

    fn compare(&self, interp: &mut Interp, _: &Value, op: CmpOp, other: &Value) -> R<Option<Value>> {
        if self.what == What::Values {
            return Ok(None);
        }
        let this = Value::Set(interp.make_set(self.list())?);
        let other = match other {
            Value::Host(host) if host.as_any().is::<DictView>() => {
                let items = interp.collect(other)?;
                Value::Set(interp.make_set(items)?)
            }
            Value::Set(_) | Value::FrozenSet(_) => other.clone(),
            _ => return Ok(None),
        };
        interp.compare(&this, op, &other).map(Some)
    }

    fn repr(&self, interp: &mut Interp) -> R<String> {
        let list = interp.repr(&Value::list(self.list()))?;
        Ok(format!("{}({list})", self.name()))
    }
}

impl Interp {
    /// The live iterator of a view.
    pub(crate) fn view_iter(&self, host: &Rc<dyn Host>) -> Option<Value> {
        let view = host.as_any().downcast_ref::<DictView>()?;
        Some(Iter::dict(&view.map, view.what))
    }

    /// Whether a view of keys has a key.
    pub(crate) fn view_contains(&mut self, host: &Rc<dyn Host>, item: &Value) -> R<Option<bool>> {
        match host.as_any().downcast_ref::<DictView>() {
            Some(view) if view.what == What::Keys => Ok(Some(self.dict_get(&view.map.clone(), item)?.is_some())),
            _ => Ok(None),
        }
    }
}
