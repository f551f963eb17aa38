//! Different elements: `unique` and its kin.
//!
//! Laws: results are sorted, also where PyTorch leaves the order open; every NaN is different from every other. What
//! was not asked for is an empty int64 vector.

use crate::reduce::over::{wide, widest};
use crate::support::meta::{MetaArgs, Metas, wrap_dim};
use crate::support::rowmajor::{Lines, dense};
use oxport_ir::schema::Type;
use oxport_ir::{Args, Class, Exact, Fake, OpDef, Real, Result, Val, Value, World, ensure};
use oxport_sym::Expr;
use oxport_tensor::{DType, Layout, Real as Ordered, Tensor, TensorMut, memory};
use std::cmp::Ordering;

/// The table.
pub static OPS: &[OpDef] = &[
    OpDef::new(
        "aten::_unique2(Tensor self, bool sorted=True, bool return_inverse=False, bool \
        return_counts=False) -> (Tensor, Tensor, Tensor)",
        meta,
    )
    .eval(|a| unique(a, true))
    .work(Class::Search)
    .exact(Exact::Bits)
    .doc("The different elements in order, for each element which one it is, and how often each occurs.")
    .samples(&["i64[6]<3>", "f32[2, 2], True, True, True", "b8[4], False, False, True"]),
    OpDef::new("aten::_unique(Tensor self, bool sorted=True, bool return_inverse=False) -> (Tensor, Tensor)", meta)
        .eval(|a| unique(a, true))
        .work(Class::Search)
        .exact(Exact::Bits)
        .doc("The different elements in order, and for each element which one it is.")
        .samples(&["i64[6]<3>, True, True"]),
    OpDef::new(
        "aten::unique_consecutive(Tensor self, bool return_inverse=False, bool return_counts=False, int? \
        dim=None) -> (Tensor, Tensor, Tensor)",
        meta,
    )
    .eval(|a| unique(a, false))
    .work(Class::Search)
    .exact(Exact::Bits)
    .doc("Runs of equal elements, or of equal slices along a dimension, made one.")
    .samples(&["i64[6]<2>, True, True", "i64[4, 2]<2>, True, True, 0"]),
    OpDef::new(
        "aten::unique_dim(Tensor self, int dim, bool sorted=True, bool return_inverse=False, bool \
        return_counts=False) -> (Tensor, Tensor, Tensor)",
        meta,
    )
    .eval(|a| unique(a, true))
    .work(Class::Search)
    .exact(Exact::Bits)
    .doc("The different slices along a dimension in order.")
    .samples(&["i64[4, 2]<2>, 0, True, True, True", "i64[2, 3]<2>, 1"]),
    OpDef::new(
        "aten::unique_dim_consecutive(Tensor self, int dim, bool return_inverse=False, bool \
        return_counts=False) -> (Tensor, Tensor, Tensor)",
        meta,
    )
    .eval(|a| unique(a, false))
    .work(Class::Search)
    .exact(Exact::Bits)
    .doc("Runs of equal slices along a dimension made one.")
    .samples(&["i64[4, 2]<2>, 0, True, True"]),
];

/// What was asked for: along which dimension, the inverse, the counts.
struct Wish {
    dim: Option<usize>,
    inverse: bool,
    counts: bool,
    /// Whether the operator has a third result.
    has_counts: bool,
}

fn wish<W: World>(args: &Args<'_, W>, rank: usize) -> Result<Wish> {
    let schema = args.op.schema().expect("law: it is in the table");
    let flag = |name| schema.arg(name).map_or(Ok(false), |(i, _)| args.at::<bool>(i));
    let given = schema.arg("dim").map_or(Ok(None), |(i, _)| args.at::<Option<i64>>(i))?;
    let dim = given.map(|d| wrap_dim(d, rank)).transpose()?;
    // Slices always come with both, except where the dimension is optional and a vector's only one is named.
    let is_optional = schema.arg("dim").is_some_and(|(_, p)| matches!(p.ty, Type::Optional(_)));
    let along = dim.is_some() && !(is_optional && rank == 1 && given == Some(0));
    Ok(Wish {
        dim,
        inverse: flag("return_inverse")? || along,
        counts: flag("return_counts")? || along,
        has_counts: schema.returns.len() == 3,
    })
}

fn meta(args: &MetaArgs<'_>) -> Metas {
    let x: &Fake = args.at(0)?;
    ensure!(!x.dtype.is_complex(), "{} of complex numbers", args.name());
    let wish = wish(args, x.dim())?;
    let found = args.cx.fresh_count(&x.numel());
    let fake = |dtype, sizes: Vec<Expr>| Val::Tensor(Fake { device: x.device.clone(), ..Fake::new(dtype, sizes) });
    let none = || vec![Expr::from(0i64)];
    let (values, inverse) = match wish.dim {
        None => (vec![found.clone()], x.sizes.to_vec()),
        Some(d) => {
            let mut sizes = x.sizes.to_vec();
            if let Some(size) = sizes.get_mut(d) {
                *size = found.clone();
            }
            (sizes, vec![x.sizes.get(d).cloned().unwrap_or_else(|| Expr::from(1i64))])
        }
    };
    let mut outs = vec![
        fake(x.dtype, values),
        fake(DType::I64, if wish.inverse { inverse } else { none() }),
        fake(DType::I64, if wish.counts { vec![found] } else { none() }),
    ];
    outs.truncate(if wish.has_counts { 3 } else { 2 });
    Ok(outs)
}

/// Groups of equal items, as (first item, size), and for each item its group.
struct Groups {
    firsts: Vec<i64>,
    counts: Vec<i64>,
    inverse: Vec<i64>,
}

fn groups(
    n: usize,
    sorted: bool,
    compare: impl Fn(usize, usize) -> Ordering,
    same: impl Fn(usize, usize) -> bool,
) -> Result<Groups> {
    let mut order: Vec<usize> = memory::collect(0..n)?;
    if sorted {
        order.sort_by(|&a, &b| compare(a, b));
    }
    let mut out = Groups { firsts: Vec::new(), counts: Vec::new(), inverse: memory::filled(0, n)? };
    let mut last = None;
    for i in order {
        if last.is_some_and(|l| same(l, i)) {
            *out.counts.last_mut().expect("law: the last item is in a group") += 1;
        } else {
            out.firsts.push(i as i64);
            out.counts.push(1);
        }
        out.inverse[i] = out.firsts.len() as i64 - 1;
        last = Some(i);
    }
    Ok(out)
}

fn unique(args: &Args<'_, Real>, sorted: bool) -> Result<Vec<Value>> {
    fn elements<T: Ordered>(x: &[T], sorted: bool) -> Result<Groups> {
        groups(x.len(), sorted, |a, b| x[a].order(x[b]), |a, b| x[a] == x[b])
    }
    fn slices<T: Ordered>(x: &[T], lines: Lines, sorted: bool) -> Result<Groups> {
        let of = |i: usize| {
            (0..lines.outer).flat_map(move |o| (0..lines.inner).map(move |k| x[(o * lines.n + i) * lines.inner + k]))
        };
        let compare = |a: usize, b: usize| {
            of(a).zip(of(b)).map(|(a, b)| a.order(b)).find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
        };
        groups(lines.n, sorted, compare, |a, b| of(a).eq(of(b)))
    }
    let x: &Tensor = args.at(0)?;
    let wish = wish(args, x.rank())?;
    let wide = widest(x.dtype());
    let (items, d, found) = match wish.dim {
        None => {
            let found = wide!(real wide, |T| elements::<T>(&dense(x)?, sorted))?;
            (x.reshape(&[-1])?, 0, found)
        }
        Some(d) => {
            let lines = Lines::of(x.sizes(), d);
            let empty = lines.n == 0 && x.numel() == 0 && x.sizes().iter().filter(|s| **s == 0).count() > 1;
            ensure!(!empty, "{}: there are no slices of sizes {:?}", args.name(), x.sizes());
            (x.clone(), d, wide!(real wide, |T| slices::<T>(&dense(x)?, lines, sorted))?)
        }
    };
    let mut sizes = items.sizes().to_vec();
    if let Some(size) = sizes.get_mut(d) {
        *size = found.firsts.len() as i64;
    }
    let mut values = TensorMut::empty(x.dtype(), Layout::contiguous(&sizes)?)?;
    crate::index::select::select_rows(&items, d, found.firsts, &mut values)?;
    let vector = |v: Vec<i64>| Tensor::from_vec(&[v.len() as i64], v);
    let inverse = match (wish.inverse, wish.dim) {
        (false, _) => vector(Vec::new())?,
        (true, None) => Tensor::from_vec(x.sizes(), found.inverse)?,
        (true, Some(_)) => vector(found.inverse)?,
    };
    let counts = vector(if wish.counts { found.counts } else { Vec::new() })?;
    let mut outs = vec![values.freeze().into(), inverse.into(), counts.into()];
    outs.truncate(if wish.has_counts { 3 } else { 2 });
    Ok(outs)
}
