//! `tuple`, `list`, `range`, `slice`, iterators.

use super::add_methods;
use crate::error::R;
use crate::interp::Interp;
use crate::journal::Slot;
use crate::value::{Args, Range, Value};
use std::rc::Rc;

pub(super) fn install(interp: &mut Interp) {
    let types = &interp.types;
    add_methods(&types.tuple, &[("__new__", tuple_new), ("index", sequence_index), ("count", sequence_count)]);
    add_methods(
        &types.list,
        &[
            ("__new__", |i, a| {
                let (list, class) = (i.types.list.clone(), a.at(i, "list", 0)?);
                let Value::Class(class) = class else { return i.type_error("list.__new__(X): X is not a type object") };
                i.wrap(&class, &list, Value::list(Vec::new()))
            }),
            ("__init__", list_init),
            ("append", |i, a| {
                let list = this(i, &a)?;
                i.charge(16)?;
                list.borrow_mut().push(a.at(i, "append", 1)?);
                Ok(Value::None)
            }),
            ("extend", |i, a| {
                let items = i.collect(&a.at(i, "extend", 1)?)?;
                i.charge(16 * items.len())?;
                this(i, &a)?.borrow_mut().extend(items);
                Ok(Value::None)
            }),
            ("insert", |i, a| {
                let list = this(i, &a)?;
                let at = i.index(&a.at(i, "insert", 1)?)?;
                let len = list.borrow().len();
                let at = if at < 0 { len.saturating_sub(at.unsigned_abs() as usize) } else { (at as usize).min(len) };
                i.charge(16)?;
                list.borrow_mut().insert(at, a.at(i, "insert", 2)?);
                Ok(Value::None)
            }),
            ("pop", list_pop),
            ("remove", |i, a| {
                let list = this(i, &a)?;
                let item = a.at(i, "remove", 1)?;
                let items = list.borrow().clone();
                for (at, other) in items.iter().enumerate() {
                    if other.is(&item) || i.equal(other, &item)? {
                        list.borrow_mut().remove(at);
                        return Ok(Value::None);
                    }
                }
                i.value_error("list.remove(x): x not in list")
            }),
            ("clear", |i, a| {
                this(i, &a)?.borrow_mut().clear();
                Ok(Value::None)
            }),
            ("copy", |i, a| {
                let items = this(i, &a)?.borrow().clone();
                i.new_list(items)
            }),
            ("reverse", |i, a| {
                this(i, &a)?.borrow_mut().reverse();
                Ok(Value::None)
            }),
            ("sort", |i, mut a| {
                let (key, reverse) = (a.take("key"), a.take("reverse"));
                let list = this(i, &a)?;
                let reverse = match reverse {
                    Some(reverse) => i.truth(&reverse)?,
                    None => false,
                };
                let items = std::mem::take(&mut *list.borrow_mut());
                let key = key.filter(|k| !matches!(k, Value::None));
                let sorted = i.sort(items, key.as_ref(), reverse)?;
                *list.borrow_mut() = sorted;
                Ok(Value::None)
            }),
            ("index", sequence_index),
            ("count", sequence_count),
            ("__reversed__", |i, a| {
                let mut items = this(i, &a)?.borrow().clone();
                items.reverse();
                Ok(crate::iter::Iter::values(items))
            }),
        ],
    );
    add_methods(&types.range, &[("__new__", range_new), ("index", sequence_index), ("count", sequence_count)]);
    add_methods(
        &types.slice,
        &[
            ("__new__", |_, a| {
                let at = |n: usize| a.pos.get(n).cloned().unwrap_or(Value::None);
                Ok(Value::Slice(Rc::new(match a.pos.len() {
                    0..=2 => [Value::None, at(1), Value::None],
                    _ => [at(1), at(2), at(3)],
                })))
            }),
            ("indices", |i, a| {
                let Value::Slice(slice) = a.at(i, "indices", 0)? else { return i.type_error("expected a slice") };
                let len = i.index(&a.at(i, "indices", 1)?)?;
                let bounds = i.slice_bounds(&slice, usize::try_from(len).unwrap_or(0))?;
                Ok(Value::tuple([Value::Int(bounds.start), Value::Int(bounds.stop), Value::Int(bounds.step)]))
            }),
        ],
    );
    add_methods(
        &types.iterator,
        &[
            ("__next__", |i, a| {
                let this = a.at(i, "__next__", 0)?;
                i.next_or_raise(&this, None)
            }),
            ("__iter__", |i, a| a.at(i, "__iter__", 0)),
        ],
    );
    for name in crate::iter::GENERATOR_METHODS {
        let body = move |i: &mut Interp, a: Args| i.generator_method(name, a);
        types.generator.dict.borrow_mut().insert(name.into(), Value::native_method(name, body));
    }
}

fn this(interp: &Interp, args: &Args) -> R<Rc<Slot<Vec<Value>>>> {
    match args.pos.first().map(Value::plain) {
        Some(Value::List(list)) => Ok(list),
        _ => interp.type_error("descriptor requires a 'list' object"),
    }
}

fn tuple_new(interp: &mut Interp, args: Args) -> R<Value> {
    let tuple = interp.types.tuple.clone();
    let Value::Class(class) = args.at(interp, "tuple", 0)? else { return interp.type_error("X is not a type object") };
    let items = match args.pos.get(1) {
        Some(items) => interp.collect(items)?,
        None => Vec::new(),
    };
    let value = interp.new_tuple(items)?;
    interp.wrap(&class, &tuple, value)
}

fn list_init(interp: &mut Interp, args: Args) -> R<Value> {
    let items = match args.pos.get(1) {
        Some(items) => interp.collect(items)?,
        None => Vec::new(),
    };
    interp.charge(16 * items.len())?;
    *this(interp, &args)?.borrow_mut() = items;
    Ok(Value::None)
}

fn list_pop(interp: &mut Interp, args: Args) -> R<Value> {
    let list = this(interp, &args)?;
    let len = list.borrow().len() as i64;
    if len == 0 {
        return interp.raise("IndexError", "pop from empty list");
    }
    let at = match args.pos.get(1) {
        Some(at) => interp.index(at)?,
        None => -1,
    };
    let at = if at < 0 { at + len } else { at };
    if !(0..len).contains(&at) {
        return interp.raise("IndexError", "pop index out of range");
    }
    Ok(list.borrow_mut().remove(at as usize))
}

fn sequence_index(interp: &mut Interp, args: Args) -> R<Value> {
    let (this, item) = (args.at(interp, "index", 0)?, args.at(interp, "index", 1)?);
    let items = interp.collect(&this.plain())?;
    let start = match args.pos.get(2) {
        Some(start) => usize::try_from(interp.index(start)?).unwrap_or(0),
        None => 0,
    };
    for (at, other) in items.iter().enumerate().skip(start) {
        interp.tick()?;
        if other.is(&item) || interp.equal(other, &item)? {
            return Ok(Value::from_len(at));
        }
    }
    let text = interp.repr(&item)?;
    match this.plain() {
        Value::List(_) => interp.value_error(format!("{text} is not in list")),
        Value::Tuple(_) => interp.value_error("tuple.index(x): x not in tuple"),
        _ => interp.value_error(format!("{text} is not in range")),
    }
}

fn sequence_count(interp: &mut Interp, args: Args) -> R<Value> {
    let (this, item) = (args.at(interp, "count", 0)?, args.at(interp, "count", 1)?);
    let mut n = 0;
    for other in interp.collect(&this.plain())? {
        if other.is(&item) || interp.equal(&other, &item)? {
            n += 1;
        }
    }
    Ok(Value::Int(n))
}

fn range_new(interp: &mut Interp, args: Args) -> R<Value> {
    let mut parts = Vec::new();
    for part in &args.pos[1..] {
        if matches!(part, Value::Float(_) | Value::Str(_) | Value::None) {
            let class = interp.type_name(part);
            return interp.type_error(format!("'{class}' object cannot be interpreted as an integer"));
        }
        parts.push(part.clone());
    }
    let (zero, one) = (Value::Int(0), Value::Int(1));
    let bounds = match parts.as_slice() {
        [stop] => Some([&zero, stop, &one]),
        [start, stop] => Some([start, stop, &one]),
        [start, stop, step] => Some([start, stop, step]),
        _ => None,
    };
    if let Some([start, stop, step]) = bounds
        && let Some(open) = crate::torch::branch::open_range(interp, start, stop, step)?
    {
        return Ok(open);
    }
    let parts = parts.iter().map(|part| interp.index(part)).collect::<R<Vec<i64>>>()?;
    let (start, stop, step) = match parts.as_slice() {
        [stop] => (0, *stop, 1),
        [start, stop] => (*start, *stop, 1),
        [start, stop, step] => (*start, *stop, *step),
        _ => return interp.type_error(format!("range expected 1 to 3 arguments, got {}", parts.len())),
    };
    if step == 0 {
        return interp.value_error("range() arg 3 must not be zero");
    }
    Ok(Value::Range(Rc::new(Range { start, stop, step })))
}
