//! Small changes of a call: nearly valid calls get past the first checks and reach kernels.

use super::draw::{FLOATS, INTS, SIZES, by_type, dtype, int, operand, sizes, tensor};
use super::{Call, Item, Random, Spec};
use oxport::OpDef;
use oxport_ir::schema::Type;
use oxport_ir::{Argument, FunctionSchema};

/// Changes one thing.
pub(super) fn perturb(call: &mut Call, def: &OpDef, random: &mut Random) {
    match random.below(10) {
        0 | 1 => resize_together(call, random),
        2 => add_argument(call, def, random),
        3 if random.one_in(4) => drop(call.args.pop()),
        _ => {
            let shape = call.tensors().first().map_or(vec![2, 3], |t| t.sizes.clone());
            let mut items: Vec<&mut Item> = call.items_mut().collect();
            let at = random.below(items.len());
            if let Some(item) = items.get_mut(at) {
                change(item, &shape, random);
            }
        }
    }
}

/// Makes all tensors empty that have the first size of the first.
pub(super) fn empty_first(call: &mut Call) {
    let first = call.tensors().first().and_then(|t| t.sizes.first().copied());
    for item in call.items_mut() {
        each(item, &mut |t| {
            if t.sizes.first().copied() == first && first.is_some() {
                let mut sizes = t.sizes.clone();
                sizes[0] = 0;
                resize(t, sizes);
            }
        });
    }
}

/// Makes one of the integers, if there is one, also in a list, an extreme one.
pub(super) fn extreme_number(call: &mut Call, random: &mut Random) {
    fn numbers<'a>(item: &'a mut Item, all: &mut Vec<&'a mut i64>) {
        match item {
            Item::Const(Argument::Int(n)) => all.push(n),
            Item::List(l) => l.iter_mut().for_each(|i| numbers(i, all)),
            _ => {}
        }
    }
    let mut all = Vec::new();
    call.items_mut().for_each(|i| numbers(i, &mut all));
    let at = random.below(all.len());
    if let Some(n) = all.get_mut(at) {
        **n = random.pick(&INTS);
    }
}

fn each(item: &mut Item, f: &mut dyn FnMut(&mut Spec)) {
    match item {
        Item::Tensor(t) => f(t),
        Item::List(l) => l.iter_mut().for_each(|i| each(i, f)),
        _ => {}
    }
}

/// Replaces a size in all tensors that have it: for example, an empty batch everywhere.
fn resize_together(call: &mut Call, random: &mut Random) {
    let all: Vec<i64> = call.tensors().iter().flat_map(|t| t.sizes.clone()).collect();
    let Some(&old) = all.get(random.below(all.len())) else { return };
    let new =
        if random.one_in(5) { random.pick(&SIZES) } else { random.pick(&[0, 0, 1, old.saturating_add(1), old - 1]) };
    let place = if random.one_in(2) { None } else { Some(random.below(3)) };
    for item in call.items_mut() {
        each(item, &mut |t| {
            let mut sizes = t.sizes.clone();
            for (d, size) in sizes.iter_mut().enumerate() {
                if *size == old && place.is_none_or(|p| p == d) {
                    *size = new.max(0);
                }
            }
            resize(t, sizes);
        });
    }
}

/// Changes the sizes of a tensor; its range of elements stays.
fn resize(t: &mut Spec, sizes: Vec<i64>) {
    if sizes != t.sizes {
        *t = Spec { range: t.range, has_special_values: t.has_special_values, ..tensor(t.dtype, sizes) };
    }
}

/// Adds an omitted argument.
fn add_argument(call: &mut Call, def: &OpDef, random: &mut Random) {
    let Some(schema) = FunctionSchema::parse(def.schema).ok().filter(|s| !s.is_vararg) else { return };
    let open: Vec<_> = schema.args.iter().enumerate().skip(call.args.len()).map(|(_, p)| p).collect();
    let open: Vec<_> = open.into_iter().filter(|p| call.kwargs.iter().all(|(k, _)| **k != *p.name)).collect();
    if let Some(param) = open.get(random.below(open.len())) {
        let shape = call.tensors().first().map_or(vec![2, 3], |t| t.sizes.clone());
        call.kwargs.push((param.name.to_string(), by_type(&param.ty, &shape, random)));
    }
}

fn change(item: &mut Item, shape: &[i64], random: &mut Random) {
    if random.one_in(30) {
        let ty = random.pick(&[Type::Tensor, Type::Int, Type::Float, Type::Bool]);
        *item = if random.one_in(2) { Item::Const(Argument::None) } else { by_type(&ty, shape, random) };
        return;
    }
    match item {
        Item::Tensor(t) => match random.below(24) {
            0 => *item = Item::Const(Argument::Float(random.pick(&FLOATS))),
            1 => *item = Item::Const(Argument::Int(int(random))),
            2 => *t = operand(shape, random),
            _ => change_tensor(t, random),
        },
        Item::Const(a) => match a {
            Argument::Int(n) => match random.below(8) {
                0 => *item = Item::Read(a.clone()),
                1 if *n >= 0 => *item = Item::Size(*n),
                2 | 3 => *n = n.wrapping_add(random.pick(&[1, -1, 2, -2])),
                4 => *n = n.wrapping_neg(),
                _ => *n = random.pick(&INTS),
            },
            Argument::Float(_) if random.one_in(8) => *item = Item::Read(a.clone()),
            Argument::Float(x) => *x = random.pick(&FLOATS),
            Argument::Bool(_) if random.one_in(8) => *item = Item::Read(a.clone()),
            Argument::Bool(b) => *b = !*b,
            Argument::Complex(c) => *c = oxport_ir::Complex::new(random.pick(&FLOATS), random.pick(&FLOATS)),
            Argument::DType(d) => *d = dtype(random),
            Argument::Str(_) => *item = by_type(&Type::Str, shape, random),
            Argument::Layout(_) => *item = by_type(&Type::Layout, shape, random),
            Argument::MemoryFormat(_) => *item = by_type(&Type::MemoryFormat, shape, random),
            Argument::None => {
                let list = Type::List(Box::new(Type::Int), None);
                let ty = random.pick(&[Type::Tensor, Type::Int, Type::Float, Type::Bool, list, Type::DType]);
                *item = by_type(&ty, shape, random);
            }
            _ => {}
        },
        Item::Read(a) => *item = Item::Const(a.clone()),
        Item::Size(n) => *item = Item::Const(Argument::Int(*n)),
        Item::List(l) => change_list(l, shape, random),
    }
}

fn change_list(l: &mut Vec<Item>, shape: &[i64], random: &mut Random) {
    let at = random.below(l.len());
    match random.below(10) {
        0 => l.clear(),
        1 => drop(l.pop()),
        2 if !l.is_empty() => drop(l.remove(at)),
        3 if !l.is_empty() => l.insert(at, l[at].clone()),
        4 if !l.is_empty() => {
            let count = random.pick(&[l.len() * 2, l.len() + 5, 40]);
            *l = l.iter().cloned().cycle().take(count.min(80)).collect();
        }
        _ if !l.is_empty() => change(&mut l[at], shape, random),
        _ => l.push(Item::Const(Argument::Int(int(random)))),
    }
}

fn change_tensor(t: &mut Spec, random: &mut Random) {
    let rank = t.sizes.len();
    let at = random.below(rank);
    match random.below(16) {
        0 | 1 if rank > 0 => {
            let mut sizes = t.sizes.clone();
            sizes[at] = 0;
            resize(t, sizes);
        }
        2..=4 if rank > 0 => {
            let mut sizes = t.sizes.clone();
            sizes[at] = sizes[at].saturating_add(random.pick(&[1, -1, 2])).max(0);
            resize(t, sizes);
        }
        5 if rank > 0 => {
            let mut sizes = t.sizes.clone();
            sizes[at] = random.pick(&SIZES);
            resize(t, sizes);
        }
        6 if rank > 0 => {
            let mut sizes = t.sizes.clone();
            sizes.remove(at);
            resize(t, sizes);
        }
        7 => {
            let mut sizes = t.sizes.clone();
            sizes.insert(random.below(rank + 1), random.pick(&[0, 1, 2]));
            resize(t, sizes);
        }
        8 => {
            let sizes = sizes(random);
            resize(t, sizes);
        }
        9 | 10 => t.dtype = dtype(random),
        // Other strides: permuted, with gaps, or zero.
        11 if rank > 1 => {
            let mut turned: Vec<i64> = vec![1; rank];
            for d in 1..rank {
                turned[d] = turned[d - 1].saturating_mul(t.sizes[d - 1].max(1));
            }
            t.strides = Some(turned);
        }
        12 => {
            let mut next = random.pick(&[0i64, 2, 3]);
            let mut strides = vec![0; rank];
            for d in (0..rank).rev() {
                strides[d] = next;
                next = next.saturating_mul(t.sizes[d].max(1));
            }
            t.strides = Some(strides);
        }
        13 => t.has_special_values = !t.has_special_values,
        14 => {
            t.range = random.pick(&[None, Some((-3.0, 3.0)), Some((0.0, 0.0)), Some((-1e18, 1e18)), Some((5.0, 9.0))])
        }
        _ => {
            // Elements slightly out of the previous range.
            let (low, high) = t.range.unwrap_or((0.0, 2.0));
            t.range = Some(random.pick(&[(low - 1.0, high), (low, high + 1.0), (low, high * 1000.0)]));
        }
    }
}
