//! `set` and `frozenset`; the special methods that built-in types have by name.

use super::add_methods;
use crate::dict::Shared;
use crate::error::R;
use crate::interp::Interp;
use crate::syntax::tree::{BinOp, CmpOp};
use crate::value::{Args, Value};

pub(super) fn install(interp: &mut Interp) {
    let types = &interp.types;
    add_methods(
        &types.set,
        &[
            ("__new__", |i, a| {
                let set = i.types.set.clone();
                let Value::Class(class) = a.at(i, "set", 0)? else { return i.type_error("X is not a type object") };
                i.wrap(&class, &set, Value::set(Default::default()))
            }),
            ("__init__", |i, a| {
                let set = this(i, &a)?;
                set.borrow_mut().clear();
                if let Some(items) = a.pos.get(1) {
                    for item in i.collect(items)? {
                        i.dict_set(&set, item, Value::None)?;
                    }
                }
                Ok(Value::None)
            }),
            ("add", |i, a| {
                let set = this(i, &a)?;
                i.dict_set(&set, a.at(i, "add", 1)?, Value::None)?;
                Ok(Value::None)
            }),
            ("discard", |i, a| {
                let set = this(i, &a)?;
                i.dict_remove(&set, &a.at(i, "discard", 1)?)?;
                Ok(Value::None)
            }),
            ("remove", |i, a| {
                let set = this(i, &a)?;
                let item = a.at(i, "remove", 1)?;
                match i.dict_remove(&set, &item)? {
                    Some(_) => Ok(Value::None),
                    None => i.raise_with("KeyError", vec![item]),
                }
            }),
            ("pop", |i, a| match this(i, &a)?.borrow_mut().pop_end(false) {
                Some((item, _)) => Ok(item),
                None => i.raise("KeyError", "pop from an empty set"),
            }),
            ("clear", |i, a| {
                this(i, &a)?.borrow_mut().clear();
                Ok(Value::None)
            }),
            ("update", |i, a| {
                let set = this(i, &a)?;
                for items in &a.pos[1..] {
                    for item in i.collect(items)? {
                        i.dict_set(&set, item, Value::None)?;
                    }
                }
                Ok(Value::None)
            }),
            ("difference_update", |i, a| {
                let set = this(i, &a)?;
                for items in &a.pos[1..] {
                    for item in i.collect(items)? {
                        i.dict_remove(&set, &item)?;
                    }
                }
                Ok(Value::None)
            }),
        ],
    );
    add_methods(
        &types.frozenset,
        &[("__new__", |i, a| {
            let frozenset = i.types.frozenset.clone();
            let Value::Class(class) = a.at(i, "frozenset", 0)? else { return i.type_error("X is not a type object") };
            let items = match a.pos.get(1) {
                Some(items) => i.collect(items)?,
                None => Vec::new(),
            };
            let map = i.make_set(items)?;
            i.wrap(&class, &frozenset, Value::FrozenSet(map))
        })],
    );
    for class in [&types.set, &types.frozenset] {
        add_methods(
            class,
            &[
                ("copy", |i, a| {
                    let map = this(i, &a)?.borrow().clone();
                    Ok(like(&a, std::rc::Rc::new(crate::journal::Slot::new(map))))
                }),
                ("union", |i, a| combine(i, a, BinOp::Or)),
                ("intersection", |i, a| combine(i, a, BinOp::And)),
                ("difference", |i, a| combine(i, a, BinOp::Sub)),
                ("symmetric_difference", |i, a| combine(i, a, BinOp::Xor)),
                ("issubset", |i, a| relation(i, a, CmpOp::Le)),
                ("issuperset", |i, a| relation(i, a, CmpOp::Ge)),
                ("isdisjoint", |i, a| {
                    let set = this(i, &a)?;
                    for item in i.collect(&a.at(i, "isdisjoint", 1)?)? {
                        if i.dict_get(&set, &item)?.is_some() {
                            return Ok(Value::Bool(false));
                        }
                    }
                    Ok(Value::Bool(true))
                }),
            ],
        );
    }
    let sized =
        [&types.str, &types.bytes, &types.tuple, &types.list, &types.dict, &types.set, &types.frozenset, &types.range];
    for class in sized {
        add_methods(
            class,
            &[
                ("__len__", |i, a| {
                    let this = a.at(i, "__len__", 0)?.plain();
                    i.len(&this)
                }),
                ("__iter__", |i, a| {
                    let this = a.at(i, "__iter__", 0)?.plain();
                    i.native_iter(&this)
                }),
                ("__contains__", |i, a| {
                    let (this, item) = (a.at(i, "__contains__", 0)?.plain(), a.at(i, "__contains__", 1)?);
                    i.contains(&this, &item).map(Value::Bool)
                }),
                ("__eq__", |i, a| {
                    let (this, other) = (a.at(i, "__eq__", 0)?.plain(), a.at(i, "__eq__", 1)?.plain());
                    i.equal(&this, &other).map(Value::Bool)
                }),
                ("__repr__", |i, a| {
                    let this = a.at(i, "__repr__", 0)?.plain();
                    let text = i.repr(&this)?;
                    i.new_str(text)
                }),
            ],
        );
    }
    for class in [&types.tuple, &types.list, &types.str, &types.bytes, &types.range] {
        add_methods(
            class,
            &[("__getitem__", |i, a| {
                let (this, index) = (a.at(i, "__getitem__", 0)?.plain(), a.at(i, "__getitem__", 1)?);
                i.native_item(&this, &index)
            })],
        );
    }
    for class in [&types.list, &types.dict] {
        add_methods(
            class,
            &[
                ("__setitem__", |i, a| {
                    let (this, index) = (a.at(i, "__setitem__", 0)?.plain(), a.at(i, "__setitem__", 1)?);
                    let value = a.at(i, "__setitem__", 2)?;
                    i.native_set_item(&this, &index, value)?;
                    Ok(Value::None)
                }),
                ("__delitem__", |i, a| {
                    let (this, index) = (a.at(i, "__delitem__", 0)?.plain(), a.at(i, "__delitem__", 1)?);
                    i.native_del_item(&this, &index)?;
                    Ok(Value::None)
                }),
            ],
        );
    }
    for class in [&types.tuple, &types.list, &types.str] {
        add_methods(
            class,
            &[
                ("__add__", |i, a| {
                    let (this, other) = (a.at(i, "__add__", 0)?.plain(), a.at(i, "__add__", 1)?.plain());
                    i.binary(&this, BinOp::Add, &other)
                }),
                ("__lt__", |i, a| {
                    let (this, other) = (a.at(i, "__lt__", 0)?.plain(), a.at(i, "__lt__", 1)?.plain());
                    i.compare(&this, CmpOp::Lt, &other)
                }),
            ],
        );
    }
}

fn this(interp: &Interp, args: &Args) -> R<Shared> {
    match args.pos.first().map(Value::plain) {
        Some(Value::Set(map) | Value::FrozenSet(map)) => Ok(map),
        _ => interp.type_error("descriptor requires a 'set' object"),
    }
}

/// A set of the kind of the first argument.
fn like(args: &Args, map: Shared) -> Value {
    match args.pos.first().map(Value::plain) {
        Some(Value::FrozenSet(_)) => Value::FrozenSet(map),
        _ => Value::Set(map),
    }
}

fn combine(interp: &mut Interp, args: Args, op: BinOp) -> R<Value> {
    let mut set = this(interp, &args)?;
    if args.pos.len() == 1 {
        let copy = set.borrow().clone();
        set = std::rc::Rc::new(crate::journal::Slot::new(copy));
    }
    for items in &args.pos[1..] {
        let items = interp.collect(items)?;
        let other = interp.make_set(items)?;
        set = interp.set_operation(&set, op, &other)?;
    }
    Ok(like(&args, set))
}

fn relation(interp: &mut Interp, args: Args, op: CmpOp) -> R<Value> {
    let set = this(interp, &args)?;
    let items = interp.collect(&args.at(interp, "issubset", 1)?)?;
    let other = Value::Set(interp.make_set(items)?);
    interp.compare(&Value::Set(set), op, &other)
}
