//! Writing by indices: elements and rows of a copy replaced, added to, or reduced with others.
//!
//! Laws: everything happens in row-major order of the index, on one thread, so sums of floats are the same every time;
//! of several writes to one place the last one stays. float16 and bfloat16 round once per addition.

use crate::lines::{Lines, check_index, check_index_dtype, dense, fill_dense, wrap_index};
use crate::index::{AlongDim, check_sizes};
use crate::meta::{MetaArgs, Metas, one, preserved_strides, wrap_dim};
use oxport_ir::{Args, Error, Exact, Fake, OpDef, Operand, Real, Result, ensure};
use oxport_sym::Expr;
use oxport_tensor::{DType, Element, Number, Real as Ordered, Scalar, Tensor, TensorMut, dispatch};

/// The table.
#[rustfmt::skip]
pub static OPS: &[OpDef] = &[
    OpDef::new("aten::scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor", scatter_meta).fill(|a, o| scatter(a, o, "set", true)).exact(Exact::Bits).doc("A copy with elements along a dimension replaced.").samples(&["f32[3, 4], 1, i64[2, 1]<4>, f32[2, 3]", "!f32[3], 0, i64[1]<3..4>, f32[1]", "!f32[3], 0, i64[1]<3>, f64[1]"]),
    OpDef::new("aten::scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor", scatter_meta).fill(|a, o| scatter(a, o, "set", true)).exact(Exact::Bits).doc("A copy with elements along a dimension replaced by a number.").samples(&["f32[3, 4], 1, i64[2, 2]<4>, 1.5"]),
    OpDef::new("aten::scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor", scatter_meta).fill(|a, o| scatter(a, o, a.named("reduce")?, true)).doc("A copy with elements along a dimension added to or multiplied.").samples(&["f32[3, 4], 1, i64[2, 2]<4>, f32[2, 2], reduce=\"add\"", "f32[3, 4], 0, i64[2, 2]<3>, f32[2, 2], reduce=\"multiply\"", "!f32[3], 0, i64[1]<3>, f32[1], reduce=\"amax\""]),
    OpDef::new("aten::scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor", scatter_meta).fill(|a, o| scatter(a, o, a.named("reduce")?, true)).doc("A copy with a number added to, or multiplied into, elements along a dimension.").samples(&["f32[3, 4], 1, i64[2, 2]<4>, 2.0, reduce=\"multiply\""]),
    OpDef::new("aten::scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor", scatter_meta).fill(|a, o| scatter(a, o, "add", true)).doc("A copy with elements along a dimension added to.").samples(&["f32[3, 4], 1, i64[2, 5]<4>, f32[2, 5]", "f32[3], 0, i64[0], f32[0]"]),
    OpDef::new("aten::scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True) -> Tensor", scatter_meta).fill(|a, o| scatter(a, o, a.named("reduce")?, a.named("include_self")?)).doc("A copy with elements along a dimension reduced with others: sum, prod, mean, amax, amin.").samples(&["f32[3, 4], 1, i64[2, 5]<4>, f32[2, 5], \"sum\"", "f32[3, 4], 0, i64[3, 4]<3>, f32[3, 4], \"mean\"", "f32[3], 0, i64[5]<3>, f32[5], \"amax\", include_self=False", "i64[3], 0, i64[5]<3>, i64[5], \"prod\"", "!f32[3], 0, i64[1]<3>, f32[1], \"max\""]),
    OpDef::new("aten::index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor", rows_meta).fill(index_add).doc("A copy with `alpha · source` added to some indices of a dimension.").samples(&["f32[4, 3], 0, i64[2]<4>, f32[2, 3]", "f32[4, 3], 1, i64[5]<3>, f32[4, 5], alpha=2", "!f32[4], 0, i64[2]<4>, f32[3]"]),
    OpDef::new("aten::index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor", rows_meta).fill(|a, o| rows(a, o, "set", true)).exact(Exact::Bits).doc("A copy with some indices of a dimension replaced.").samples(&["f32[4, 3], 0, i64[2]<4>, f32[2, 3]", "!f32[4], 0, i64[2]<4..5>, f32[2]"]),
    OpDef::new("aten::index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True) -> Tensor", rows_meta).fill(|a, o| rows(a, o, a.named("reduce")?, a.named("include_self")?)).doc("A copy with some indices of a dimension reduced with others: prod, mean, amax, amin.").samples(&["f32[4, 3], 0, i64[6]<4>, f32[6, 3], \"mean\"", "f32[4], 0, i64[6]<4>, f32[6], \"prod\", include_self=False"]),
    OpDef::new("aten::index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor", fill_meta).fill(index_fill).exact(Exact::Bits).doc("A copy with some indices of a dimension filled with a number.").samples(&["f32[4, 3], 0, i64[2]<-4..4>, 1.5", "!i64[4], 0, i64[1]<4>, 1j"]),
    OpDef::new("aten::index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value) -> Tensor", fill_meta).fill(index_fill).exact(Exact::Bits).doc("A copy with some indices of a dimension filled with a 0-d tensor.").samples(&["f32[4, 3], 0, i64[2]<4>, f32[]", "!f32[4], 0, i64[1]<4>, f32[1]"]),
    OpDef::new("aten::put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor", put_meta).fill(put).doc("A copy with elements of the flattened tensor replaced or added to.").samples(&["f32[3, 4], i64[2, 2]<-12..12>, f32[2, 2]", "f32[3], i64[4]<3>, f32[4], True"]),
];

/// What is written is no tensor but a number.
fn source<'a>(args: &Args<'a, Real>, x: &Tensor) -> Result<(Tensor, bool)> {
    Ok(match args.at::<Operand<'a, Real>>(3)? {
        Operand::Tensor(t) => (t.clone(), false),
        Operand::Number(n) => {
            let value: Option<Scalar> = n.known();
            (Tensor::from_scalar(value.expect("law: real numbers are known"), x.dtype()), true)
        }
    })
}

fn check_reduce(args: &MetaArgs<'_>) -> Result<()> {
    let Some((i, _)) = args.op.schema().and_then(|s| s.arg("reduce")) else { return Ok(()) };
    let name: &str = args.at(i)?;
    let known: &[&str] = match args.op.short_name() {
        "scatter_reduce.two" => &["sum", "prod", "mean", "amax", "amin"],
        "index_reduce" => &["prod", "mean", "amax", "amin"],
        _ => &["add", "multiply"],
    };
    ensure!(known.contains(&name), "{}: reduce `{name}` is none of {known:?}", args.op.name());
    Ok(())
}

fn scatter_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, dim, index): (&Fake, i64, &Fake) = args.unpack()?;
    let d = wrap_dim(dim, x.dim())?;
    check_reduce(args)?;
    check_sizes(args, x, d, index)?;
    if let Operand::Tensor(source) = args.at::<Operand<'_, oxport_ir::Meta>>(3)? {
        ensure!(x.dtype == source.dtype, "{}: {} into {}", args.op.name(), source.dtype.name(), x.dtype.name());
        if !index.sizes.iter().any(|s| args.cx.is(s, 0)) {
            ensure!(source.dim().max(1) == index.dim().max(1), "{}: {source} for an index {index}", args.op.name());
            let fits = |(i, s): (&Expr, &Expr)| args.cx.decide(&i.le(s), true);
            ensure!(index.sizes.iter().zip(&source.sizes).all(fits), "{}: {source} for an index {index}", args.op.name());
        }
    }
    one(Fake { device: x.device.clone(), ..Fake::new(x.dtype, x.sizes.clone()) })
}

/// The reductions by the name that the program gives.
#[derive(Clone, Copy, PartialEq)]
enum Reduce {
    Set,
    Add,
    Mul,
    Mean,
    Max,
    Min,
}

impl Reduce {
    fn named(name: &str) -> Result<Reduce> {
        Ok(match name {
            "set" => Reduce::Set,
            "add" | "sum" => Reduce::Add,
            "multiply" | "prod" => Reduce::Mul,
            "mean" => Reduce::Mean,
            "amax" => Reduce::Max,
            "amin" => Reduce::Min,
            other => return Err(Error::invalid(format!("reduce `{other}` is unknown"))),
        })
    }
}

/// Where each element of a source goes.
enum Plan<'a> {
    /// One place along a dimension per element of an index; the source's strides by dimension of the index.
    Elements { walk: AlongDim, index: &'a [i64], source: AlongDim },
    /// One row of the lines per element of an index.
    Rows { lines: Lines, index: &'a [i64] },
}

impl Plan<'_> {
    /// Calls `f` with (place, element of the source), in order.
    fn for_each(&self, mut f: impl FnMut(usize, usize) -> Result<()>) -> Result<()> {
        match self {
            Plan::Elements { walk, index, source } => {
                let mut from = Vec::with_capacity(index.len());
                source.for_each(index.len(), |_, s| {
                    from.push(s);
                    Ok(())
                })?;
                walk.for_each(index.len(), |i, base| f(base + check_index(index[i], walk.n)? * walk.step, from[i]))
            }
            Plan::Rows { lines, index } => {
                let (n, inner) = (lines.n, lines.inner);
                for o in 0..lines.outer {
                    for (r, &i) in index.iter().enumerate() {
                        let row = (o * n + check_index(i, n as i64)?) * inner;
                        for k in 0..inner {
                            f(row + k, (o * index.len() + r) * inner + k)?;
                        }
                    }
                }
                Ok(())
            }
        }
    }
}

fn scatter(args: &Args<'_, Real>, outs: &mut [TensorMut], reduce: &str, include_self: bool) -> Result<()> {
    let (x, dim, index): (&Tensor, i64, &Tensor) = args.unpack()?;
    let d = wrap_dim(dim, x.rank())?;
    let (source, number) = source(args, x)?;
    let places = dense::<i64>(index);
    // Where the source's dimension `d` steps as any other: no coordinate of it is replaced.
    let from = if number { vec![0; index.rank()] } else { oxport_tensor::Layout::contiguous(source.sizes())?.strides.to_vec() };
    let from = AlongDim::strided(index.sizes(), &from);
    let plan = Plan::Elements { walk: AlongDim::new(x.sizes(), index.sizes(), d), index: &places, source: from };
    apply(x, &source, &plan, Reduce::named(reduce)?, include_self, &mut outs[0])
}

fn rows_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, dim, index, source): (&Fake, i64, &Fake, &Fake) = args.unpack()?;
    let d = wrap_dim(dim, x.dim())?;
    check_reduce(args)?;
    check_index_dtype(index.dtype)?;
    ensure!(index.dim() <= 1, "{}: an index of {} dimensions", args.op.name(), index.dim());
    ensure!(x.dtype == source.dtype, "{}: {} into {}", args.op.name(), source.dtype.name(), x.dtype.name());
    let found = source.sizes.get(d).cloned().unwrap_or(Expr::from(1i64));
    ensure!(args.cx.may_be_same(&found, &index.numel()), "{}: {source} for {} indices", args.op.name(), index.numel());
    let scalar = source.dim() == 0 || x.dim() == 0;
    ensure!(scalar || x.dim() == source.dim(), "{}: {source} into {x}", args.op.name());
    for (e, (a, b)) in x.sizes.iter().zip(&source.sizes).enumerate() {
        ensure!(e == d || scalar || args.cx.may_be_same(a, b), "{}: {source} into {x}", args.op.name());
    }
    one(Fake { device: x.device.clone(), ..Fake::new(x.dtype, x.sizes.clone()) })
}

fn rows(args: &Args<'_, Real>, outs: &mut [TensorMut], reduce: &str, include_self: bool) -> Result<()> {
    let (x, dim, index, source): (&Tensor, i64, &Tensor, &Tensor) = args.unpack()?;
    let index = dense::<i64>(index);
    let plan = Plan::Rows { lines: Lines::of(x.sizes(), wrap_dim(dim, x.rank())?), index: &index };
    apply(x, source, &plan, Reduce::named(reduce)?, include_self, &mut outs[0])
}

fn index_add(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, dim, index, source, alpha): (&Tensor, i64, &Tensor, &Tensor, Scalar) = args.unpack()?;
    let index = dense::<i64>(index);
    let plan = Plan::Rows { lines: Lines::of(x.sizes(), wrap_dim(dim, x.rank())?), index: &index };
    fn scaled<T: Number>(x: &Tensor, source: &[T], plan: &Plan<'_>, alpha: T, out: &mut TensorMut) -> Result<()> {
        start::<T>(x, out, |out| {
            plan.for_each(|to, from| {
                out[to] = out[to].add(alpha.mul(source[from]));
                Ok(())
            })
        })
    }
    dispatch!(plain x.dtype(), |T| scaled::<T>(x, &dense(source), &plan, alpha.to(), &mut outs[0]))
}

/// Fills `out` with a copy of `x` and gives `f` its elements.
fn start<T: Element>(x: &Tensor, out: &mut TensorMut, f: impl FnOnce(&mut [T]) -> Result<()>) -> Result<()> {
    let direct = out.layout().is_contiguous();
    if direct {
        oxport_tensor::copy(x, out)?;
    }
    fill_dense::<T>(out, |out| {
        if !direct {
            out.copy_from_slice(&dense::<T>(x));
        }
        f(out)
    })
}

fn apply(x: &Tensor, s: &Tensor, plan: &Plan<'_>, how: Reduce, include_self: bool, out: &mut TensorMut) -> Result<()> {
    match how {
        Reduce::Set => dispatch!(all x.dtype(), |T| set::<T>(x, &dense(s), plan, out)),
        Reduce::Add | Reduce::Mul => dispatch!(plain x.dtype(), |T| combine::<T>(x, &dense(s), plan, how, include_self, out)),
        _ => dispatch!(real x.dtype(), |T| order::<T>(x, &dense(s), plan, how, include_self, out)),
    }
}

#[inline(never)]
fn set<T: Element>(x: &Tensor, source: &[T], plan: &Plan<'_>, out: &mut TensorMut) -> Result<()> {
    start::<T>(x, out, |out| {
        plan.for_each(|to, from| {
            out[to] = source[from];
            Ok(())
        })
    })
}

#[inline(never)]
fn combine<T: Number>(x: &Tensor, s: &[T], plan: &Plan<'_>, how: Reduce, include: bool, out: &mut TensorMut) -> Result<()> {
    let (identity, f): (T, fn(T, T) -> T) = if how == Reduce::Add { (T::ZERO, T::add) } else { (T::ONE, T::mul) };
    start::<T>(x, out, |out| {
        if !include {
            plan.for_each(|to, _| {
                out[to] = identity;
                Ok(())
            })?;
        }
        plan.for_each(|to, from| {
            out[to] = f(out[to], s[from]);
            Ok(())
        })
    })
}

#[inline(never)]
fn order<T: Ordered>(x: &Tensor, s: &[T], plan: &Plan<'_>, how: Reduce, include: bool, out: &mut TensorMut) -> Result<()> {
    start::<T>(x, out, |out| {
        let identity = match how {
            Reduce::Max => T::LOWEST,
            Reduce::Min => T::HIGHEST,
            _ => T::ZERO,
        };
        if !include {
            plan.for_each(|to, _| {
                out[to] = identity;
                Ok(())
            })?;
        }
        let mut counts = vec![i64::from(include); if how == Reduce::Mean { out.len() } else { 0 }];
        plan.for_each(|to, from| {
            let (a, b) = (out[to], s[from]);
            out[to] = match how {
                Reduce::Max => a.maximum(b),
                Reduce::Min => a.minimum(b),
                _ => {
                    counts[to] += 1;
                    a.add(b)
                }
            };
            Ok(())
        })?;
        for (out, &n) in out.iter_mut().zip(&counts).filter(|(_, n)| **n > 1) {
            let n: T = Scalar::Int(n).to();
            *out = if T::DTYPE.is_float() { mean(*out, n) } else { out.floor_div(n) };
        }
        Ok(())
    })
}

/// A quotient of floats, through `f64`, which is exact enough to round once.
fn mean<T: Ordered>(sum: T, n: T) -> T {
    let (sum, n): (f64, f64) = (oxport_tensor::cast(sum), oxport_tensor::cast(n));
    oxport_tensor::cast(sum / n)
}

fn fill_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, dim, index): (&Fake, i64, &Fake) = args.unpack()?;
    wrap_dim(dim, x.dim())?;
    check_index_dtype(index.dtype)?;
    ensure!(index.dim() <= 1, "{}: an index of {} dimensions", args.op.name(), index.dim());
    match args.at::<Operand<'_, oxport_ir::Meta>>(3)? {
        Operand::Tensor(v) => ensure!(v.dim() == 0, "index_fill with a value of {} dimensions", v.dim()),
        Operand::Number(n) => {
            let complex = n.default_dtype().is_complex();
            ensure!(!complex || x.dtype.is_complex(), "index_fill of a complex number into {}", x.dtype.name());
        }
    }
    one(Fake { strides: preserved_strides(args.cx, x), offset: Expr::from(0i64), requires_grad: false, ..x.clone() })
}

fn index_fill(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, dim, index): (&Tensor, i64, &Tensor) = args.unpack()?;
    let lines = Lines::of(x.sizes(), wrap_dim(dim, x.rank())?);
    let value = source(args, x)?.0.to_dtype(x.dtype()).item()?;
    let picks = dense::<i64>(index).iter().map(|&i| wrap_index(i, lines.n as i64)).collect::<Result<Vec<_>>>()?;
    fn filled<T: Element>(x: &Tensor, lines: Lines, picks: &[usize], value: T, out: &mut TensorMut) -> Result<()> {
        start::<T>(x, out, |out| {
            for (o, &i) in (0..lines.outer).flat_map(|o| picks.iter().map(move |i| (o, i))) {
                let row = (o * lines.n + i) * lines.inner;
                out[row..row + lines.inner].fill(value);
            }
            Ok(())
        })
    }
    dispatch!(all x.dtype(), |T| filled::<T>(x, lines, &picks, value.to(), &mut outs[0]))
}

fn put_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, index, source): (&Fake, &Fake, &Fake) = args.unpack()?;
    ensure!(index.dtype == DType::I64, "put by an index of dtype {}", index.dtype.name());
    ensure!(x.dtype == source.dtype, "put of {} into {}", source.dtype.name(), x.dtype.name());
    ensure!(args.cx.may_be_same(&index.numel(), &source.numel()), "put of {source} at {index}");
    one(Fake { strides: preserved_strides(args.cx, x), offset: Expr::from(0i64), requires_grad: false, ..x.clone() })
}

fn put(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, index, source, accumulate): (&Tensor, &Tensor, &Tensor, bool) = args.unpack()?;
    let n = x.numel() as i64;
    let picks = dense::<i64>(index).iter().map(|&i| Ok(wrap_index(i, n)? as i64)).collect::<Result<Vec<_>>>()?;
    let plan = Plan::Rows { lines: Lines { outer: 1, n: x.numel(), inner: 1 }, index: &picks };
    apply(x, source, &plan, if accumulate { Reduce::Add } else { Reduce::Set }, true, &mut outs[0])
}
