//! What right sides compute from what was matched.
//!
//! | function | is |
//! |---|---|
//! | `@mul(a, b)` | the product of two numbers, where the dtype of the whole holds it as a normal number |
//! | `@reciprocal(a)` | 1 / a, likewise |
//! | `@product(n, i, k)` | `n · (i + k)`, of integers |
//! | `@before(l, i, k)` | the sum of the first `i + k` elements of a list |
//! | `@compose(a, b)` | the order of dimensions that permuting by `a`, then by `b` gives |
//! | `@swap(x, a, b)` | the order of the dimensions of `x` with two of them exchanged |
//! | `@reverse(x)` | the order of the dimensions of `x` from the last to the first |
//! | `@dense(x)` | the order in which the dimensions of `x` lie without gaps, if it is another with the same last |
//! | `@inverse(a)` | the order of dimensions that undoes an order |
//! | `@sizes(x)` | the sizes of the whole, as the arguments of a reshape; symbolic ones may be those of `x` |
//! | `@last(x)` | the last size of `x` in a list, if it is a number |
//! | `@along(x, d)` | the sizes of a vector along dimension `d` of `x`, as the arguments of a reshape: `[1, -1, 1]` |
//! | `@after(x)` | the sizes that put a vector along the second dimension of `x`: `[-1, 1, 1]` |
//! | `@lead(l, x)` | the sizes of a list or tensor but the last two, then the last two of `x`: arguments of a reshape |
//! | `@dtype(x)` | the dtype of `x` |
//! | `@padding(p, w, d)` | the zeros on either side that the word `p` asks for, of a weight `w` and dilations `d` |
//! | `@around(v, w)` | the zeros around the last sizes of `v` that make them those of the kernel of `w`, as for `pad` |
//! | `@margins(x, l)` | how far indices go beyond `x`, as for `pad`; `l` is first, end, and last of `x`, in turn |
//! | `@item(l, i)` | the element of a list at an index |
//! | `@stacked(l, c, d, i)` | likewise of what is stacked along `c`, if `d` is the same dimension |
//! | `@part(l, c, d, s, e)` | the slice along `d` from `s` to `e` of what is concatenated along `c` |
//! | `@position(a, d)` | the dimension that the order `a` puts at `d` |
//! | `@start(s, t)`, `@end(s, e, u)` | where a slice from `t` to `u` of one from `s` to `e` begins and ends |
//!
//! Law: a function gives `None` where it has no value that is right whatever the symbols are.

use crate::constant::Constant;
use crate::kind::Kind;
use crate::terms::Terms;
use oxport_ir::{Fake, Val};
use oxport_sym::{Expr, ShapeEnv};
use oxport_tensor::DType;

/// The functions, and how many arguments they have.
const FUNCTIONS: [(&str, usize); 24] = [
    ("@mul", 2),
    ("@reciprocal", 1),
    ("@product", 3),
    ("@before", 3),
    ("@compose", 2),
    ("@swap", 3),
    ("@reverse", 1),
    ("@dense", 1),
    ("@inverse", 1),
    ("@sizes", 1),
    ("@last", 1),
    ("@along", 2),
    ("@after", 1),
    ("@lead", 2),
    ("@dtype", 1),
    ("@padding", 3),
    ("@around", 2),
    ("@margins", 2),
    ("@item", 2),
    ("@stacked", 4),
    ("@part", 5),
    ("@position", 2),
    ("@start", 2),
    ("@end", 3),
];

/// An error unless there is a function of as many arguments.
pub(crate) fn callable(name: &str, args: usize) -> Result<(), String> {
    match FUNCTIONS.iter().find(|f| f.0 == name) {
        Some((_, expected)) if *expected == args => Ok(()),
        Some((_, expected)) => Err(format!("{name}: expected {expected} arguments, got {args}")),
        None => Err(format!("there is no function {name}")),
    }
}

/// The class of what a function gives; `whole` is the class that the right side is to be equal to.
pub(crate) fn compute<T: Terms>(graph: &mut T, name: &str, kids: &[T::Id], whole: T::Id) -> Option<T::Id> {
    let kind = |i: usize| kids.get(i).map(|k| graph.kind(*k));
    let number = |i: usize| kind(i)?.constant()?.number();
    let int = |i: usize| as_int(kind(i)?);
    let rank = |i: usize| kind(i)?.tensor().map(Fake::dim);
    match name {
        "@mul" => {
            let product = number(0)? * number(1)?;
            float(graph, product, whole)
        }
        "@reciprocal" => {
            let reciprocal = 1.0 / number(0)?;
            float(graph, reciprocal, whole)
        }
        "@start" => {
            // What is empty is a slice of itself from any start on: there would be no end.
            let is_empty = |t: &Fake| t.sizes.iter().any(|size| size.as_int() == Some(0));
            if graph.kind(whole).tensor().is_some_and(is_empty) {
                return None;
            }
            let start = bound(kind(0)?, 0)?.checked_add(bound(kind(1)?, 0)?)?;
            Some(graph.constant(Constant::Int(start)))
        }
        "@end" => {
            let inner = bound(kind(0)?, 0)?.saturating_add(bound(kind(2)?, i64::MAX)?);
            let end = inner.min(bound(kind(1)?, i64::MAX)?);
            Some(graph.constant(Constant::Int(end)))
        }
        "@product" => {
            let product = int(0)?.checked_mul(int(1)?.checked_add(int(2)?)?)?;
            Some(graph.constant(Constant::Int(product)))
        }
        "@before" => {
            let (sizes, i) = (kind(0)?.ints()?, usize::try_from(int(1)?.checked_add(int(2)?)?).ok()?);
            let sum = sizes.get(..i)?.iter().try_fold(0i64, |sum, n| sum.checked_add(*n))?;
            Some(graph.constant(Constant::Int(sum)))
        }
        "@part" => part(graph, kids, whole),
        "@stacked" => {
            let rank = graph.kind(whole).tensor()?.dim() + 1;
            let is_along = wrap(int(1)?, rank)? == wrap(int(2)?, rank)?;
            let items = graph.items(kids[0]).filter(|_| is_along)?;
            items.get(wrap(int(3)?, items.len())?).copied()
        }
        "@compose" => {
            let (first, second) = (order(kind(0)?)?, order(kind(1)?)?);
            let dims = second.iter().map(|&d| first.get(d).copied()).collect::<Option<Vec<usize>>>()?;
            Some(ints(graph, dims.into_iter().map(|d| d as i64)))
        }
        "@swap" => {
            let n = rank(0)?;
            let mut dims: Vec<usize> = (0..n).collect();
            dims.swap(wrap(int(1)?, n)?, wrap(int(2)?, n)?);
            Some(ints(graph, dims.into_iter().map(|d| d as i64)))
        }
        "@reverse" => {
            let n = rank(0)? as i64;
            Some(ints(graph, (0..n).rev()))
        }
        "@dense" => {
            let order = dense(kind(0)?.tensor()?, graph.env())?;
            Some(ints(graph, order.into_iter().map(|d| d as i64)))
        }
        "@inverse" => {
            let order = order(kind(0)?)?;
            let place = |d: usize| order.iter().position(|&from| from == d);
            let places = (0..order.len()).map(place).collect::<Option<Vec<usize>>>()?;
            Some(ints(graph, places.into_iter().map(|d| d as i64)))
        }
        "@position" => {
            let order = order(kind(0)?)?;
            let dim = *order.get(wrap(int(1)?, order.len())?)?;
            Some(graph.constant(Constant::Int(dim as i64)))
        }
        "@sizes" => sizes(graph, kids[0], whole),
        "@last" => {
            let last = kind(0)?.tensor()?.sizes.last()?.as_int()?;
            Some(ints(graph, std::iter::once(last)))
        }
        "@along" => {
            let n = rank(0)?;
            let dim = wrap(int(1)?, n)?;
            Some(ints(graph, (0..n).map(|d| if d == dim { -1 } else { 1 })))
        }
        "@after" => {
            let n = rank(0)?;
            Some(ints(graph, std::iter::once(-1).chain((2..n).map(|_| 1))))
        }
        "@lead" => lead(graph, kids[0], kids[1]),
        "@dtype" => {
            let dtype = kind(0)?.tensor()?.dtype;
            Some(graph.constant(Constant::DType(dtype.code())))
        }
        "@padding" => {
            let Constant::Str(word) = kind(0)?.constant()? else { return None };
            let (kernel, dilation) = (kind(1)?.tensor()?.sizes.get(2..)?, kind(2)?.ints()?);
            let reach = kernel.iter().zip(dilation).map(|(k, d)| k.as_int()?.checked_sub(1)?.checked_mul(d));
            let zeros = reach.map(|reach| match &**word {
                "valid" => Some(0),
                // What is odd is padded on one side more.
                "same" => reach.filter(|reach| reach % 2 == 0).map(|reach| reach / 2),
                _ => None,
            });
            let zeros = zeros.collect::<Option<Vec<i64>>>()?;
            Some(ints(graph, zeros.into_iter()))
        }
        "@around" => {
            let (inner, outer) = (kind(0)?.tensor()?, kind(1)?.tensor()?.sizes.get(2..)?);
            let inner = inner.sizes.get(inner.dim().checked_sub(outer.len())?..)?;
            // The last dimension is said first.
            let missing = inner.iter().zip(outer).rev().map(|(v, w)| w.as_int()?.checked_sub(v.as_int()?));
            let zeros = missing.map(|n| n.filter(|n| *n >= 0 && n % 2 == 0).map(|n| [n / 2; 2]));
            let zeros = zeros.collect::<Option<Vec<[i64; 2]>>>()?;
            Some(ints(graph, zeros.into_iter().flatten()))
        }
        "@margins" => margins(graph, kids[0], kids[1]),
        "@item" => {
            let items = graph.items(kids[0])?;
            items.get(wrap(int(1)?, items.len())?).copied()
        }
        _ => None,
    }
}

pub(crate) fn as_int(kind: &Kind) -> Option<i64> {
    match kind.constant()? {
        Constant::Int(n) => Some(*n),
        _ => None,
    }
}

/// A bound of a slice that is counted from the front; `None` as an argument is the one given.
fn bound(kind: &Kind, none: i64) -> Option<i64> {
    match kind.constant()? {
        Constant::None => Some(none),
        Constant::Int(n) => Some(*n).filter(|n| *n >= 0),
        _ => None,
    }
}

/// What a slice of a concatenation takes of its parts: `l` along `c`, sliced along `d` from `s` to `e`.
fn part<T: Terms>(graph: &mut T, kids: &[T::Id], whole: T::Id) -> Option<T::Id> {
    let [list, along, dim, start, end] = kids else { return None };
    let kind = |id: &T::Id| graph.kind(*id);
    let rank = graph.kind(whole).tensor()?.dim();
    let axis = wrap(as_int(kind(dim))?, rank)?;
    if wrap(as_int(kind(along))?, rank)? != axis {
        return None;
    }
    let (start, end) = (bound(kind(start), 0)?, bound(kind(end), i64::MAX)?);
    let (mut at, mut parts) = (0i64, Vec::new());
    for item in graph.items(*list)? {
        if at >= end {
            break;
        }
        // What is concatenated may be an empty vector, of another rank.
        let size = kind(&item).tensor().filter(|t| t.dim() == rank)?.sizes[axis].as_int()?;
        let (from, to) = ((start - at).max(0), (end - at).min(size));
        if from < to {
            parts.push((item, (from, to), (from, to) == (0, size)));
        }
        at += size;
    }
    if parts.len() == graph.items(*list)?.len() {
        return None;
    }
    let mut ids = Vec::with_capacity(parts.len());
    for (item, (from, to), is_whole) in parts {
        let mut int = |n: i64| graph.constant(Constant::Int(n));
        let bounds = [int(axis as i64), int(from), int(to), int(1)];
        let [axis, from, to, step] = bounds;
        ids.push(if is_whole { item } else { graph.call("aten::slice.Tensor", vec![item, axis, from, to, step])? });
    }
    match ids[..] {
        [] => None,
        [one] => Some(one),
        _ => {
            let list = graph.list(ids);
            let axis = graph.constant(Constant::Int(axis as i64));
            graph.call("aten::cat", vec![list, axis])
        }
    }
}

/// How far indices reach beyond both ends of the last dimensions of a tensor, the last dimension first.
fn margins<T: Terms>(graph: &mut T, x: T::Id, reaches: T::Id) -> Option<T::Id> {
    let reaches = graph.items(reaches)?;
    let sizes = &graph.kind(x).tensor()?.sizes;
    let padded = sizes.get(sizes.len().checked_sub(reaches.len() / 3)?..)?;
    let mut margins = Vec::new();
    for (size, reach) in padded.iter().zip(reaches.chunks_exact(3)).rev() {
        let [first, end, last] = [0, 1, 2].map(|i| expr(graph.kind(reach[i])));
        let (before, behind) = (-first?.as_int()?, (&end? - size).as_int()?);
        if before < 0 || behind < 0 || !graph.env().equal(&(&last? + &Expr::int(1)), size) {
            return None;
        }
        margins.extend([before, behind]);
    }
    Some(ints(graph, margins.into_iter()))
}

/// An integer, a number or symbolic.
fn expr(kind: &Kind) -> Option<Expr> {
    match kind {
        Kind::Value(Val::Int(e)) => Some(e.clone()),
        kind => as_int(kind).map(Expr::int),
    }
}

/// A dimension counted from the front.
pub(crate) fn wrap(dim: i64, n: usize) -> Option<usize> {
    let dim = if dim < 0 { dim + n as i64 } else { dim };
    usize::try_from(dim).ok().filter(|d| *d < n)
}

/// An order of dimensions counted from the front.
pub(crate) fn order(kind: &Kind) -> Option<Vec<usize>> {
    let dims = kind.ints()?;
    dims.iter().map(|&d| wrap(d, dims.len())).collect()
}

/// The dimensions of a tensor from the one of the widest stride to that of stride 1, if it has no gaps; `None` if that
/// is the order in which they are, or ends with another one.
fn dense(x: &Fake, env: &ShapeEnv) -> Option<Vec<usize>> {
    let (mut left, mut order, mut stride): (Vec<usize>, _, _) = ((0..x.dim()).collect(), Vec::new(), Expr::int(1));
    while !left.is_empty() {
        let at = left.iter().rposition(|&d| env.equal(&x.strides[d], &stride))?;
        let dim = left.remove(at);
        stride = &stride * &x.sizes[dim];
        order.push(dim);
    }
    order.reverse();
    (!order.is_sorted() && order.last() == Some(&(order.len() - 1))).then_some(order)
}

fn ints<T: Terms>(graph: &mut T, numbers: impl Iterator<Item = i64>) -> T::Id {
    let ids = numbers.map(|n| graph.constant(Constant::Int(n))).collect();
    graph.list(ids)
}

/// The least positive normal number and the largest finite one of a dtype of floats.
pub(crate) fn normal_range(dtype: DType) -> Option<(f64, f64)> {
    Some(match dtype {
        DType::F16 => (f64::powi(2.0, -14), 65504.0),
        DType::BF16 => (f64::from(f32::MIN_POSITIVE), f64::from_bits(0x47ef_e000_0000_0000)),
        DType::F32 => (f64::from(f32::MIN_POSITIVE), f64::from(f32::MAX)),
        DType::F64 => (f64::MIN_POSITIVE, f64::MAX),
        _ => return None,
    })
}

/// A float, where the dtype of the whole holds it as a normal number.
fn float<T: Terms>(graph: &mut T, x: f64, whole: T::Id) -> Option<T::Id> {
    let (least, largest) = normal_range(graph.kind(whole).tensor()?.dtype)?;
    let holds = (least..=largest).contains(&x.abs());
    holds.then(|| graph.constant(Constant::Float(x.to_bits())))
}

/// The sizes of the whole as arguments: numbers, symbolic sizes that the program has, sizes of `x`, and at most one −1,
/// where no other size can be 0.
pub(crate) fn sizes<T: Terms>(graph: &mut T, x: T::Id, whole: T::Id) -> Option<T::Id> {
    let sizes: Vec<Expr> = graph.kind(whole).tensor()?.sizes.to_vec();
    let symbolic = sizes.iter().filter(|e| e.as_int().is_none()).count();
    let is_free = symbolic == 1 && sizes.iter().all(|e| e.as_int() != Some(0));
    let mut ids = Vec::with_capacity(sizes.len());
    for size in &sizes {
        ids.push(match size.as_int() {
            Some(n) => graph.constant(Constant::Int(n)),
            None if is_free => graph.constant(Constant::Int(-1)),
            None => symbolic_size(graph, x, size)?,
        });
    }
    Some(graph.list(ids))
}

/// The first sizes of a list or tensor, and the last two of `x`.
fn lead<T: Terms>(graph: &mut T, of: T::Id, x: T::Id) -> Option<T::Id> {
    let mut ids = match graph.kind(of).tensor().map(|t| t.sizes.to_vec()) {
        Some(sizes) => {
            let classes = sizes.iter().map(|size| size_class(graph, of, size));
            classes.collect::<Option<Vec<T::Id>>>()?
        }
        None => graph.items(of)?,
    };
    ids.truncate(ids.len().checked_sub(2)?);
    let sizes = graph.kind(x).tensor()?.sizes.to_vec();
    for size in sizes.get(sizes.len().checked_sub(2)?..)? {
        ids.push(size_class(graph, x, size)?);
    }
    Some(graph.list(ids))
}

/// A class that yields a size of `x`, a number or symbolic.
fn size_class<T: Terms>(graph: &mut T, x: T::Id, size: &Expr) -> Option<T::Id> {
    match size.as_int() {
        Some(n) => Some(graph.constant(Constant::Int(n))),
        None => symbolic_size(graph, x, size),
    }
}

/// A class that yields a size: one of the program's, or a size of `x`.
fn symbolic_size<T: Terms>(graph: &mut T, x: T::Id, size: &Expr) -> Option<T::Id> {
    if let Some(id) = graph.size(size) {
        return Some(id);
    }
    let dim = graph.kind(x).tensor()?.sizes.iter().position(|e| e == size)?;
    let dim = graph.constant(Constant::Int(dim as i64));
    graph.call("aten::sym_size.int", vec![x, dim])
}
