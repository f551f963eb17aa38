//! Writing by indices: elements and rows of a copy replaced, added to, or reduced with others.
//!
//! Laws: what happens to one place happens in row-major order of the index, whatever the number of threads, so sums of
//! floats are the same every time; of several writes to one place the last one stays. float16 and bfloat16 round once
//! per addition.

use crate::index::select::check_sizes;
use crate::support::meta::{MetaArgs, Metas, one, preserved_strides, wrap_dim};
use crate::support::rowmajor::check_index_dtype;
use oxport_ir::{Args, Class, Error, Exact, Fake, IndexedDim, OpDef, Operand, Real, Result, ensure};
use oxport_sym::Expr;
use oxport_tensor::{
    DType, Element, Layout, Number, Real as Ordered, Scalar, Tensor, TensorMut, cast, dispatch, index,
};

/// The table.
pub static OPS: &[OpDef] = &[
    OpDef::new("aten::scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor", scatter_meta)
        .fill(|a, o| scatter(a, o, "set", true))
        .work(Class::Move)
        .any_strides()
        .indexes("index", "self", IndexedDim::Named("dim"))
        .exact(Exact::Bits)
        .doc("A copy with elements along a dimension replaced.")
        .samples(&[
            "f32[3, 4], 1, i64[2, 1]<4>, f32[2, 3]",
            "!f32[3], 0, i64[1]<3..4>, f32[1]",
            "!f32[3], 0, i64[1]<3>, f64[1]",
        ]),
    OpDef::new("aten::scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor", scatter_meta)
        .fill(|a, o| scatter(a, o, "set", true))
        .work(Class::Move)
        .any_strides()
        .indexes("index", "self", IndexedDim::Named("dim"))
        .exact(Exact::Bits)
        .doc("A copy with elements along a dimension replaced by a number.")
        .samples(&["f32[3, 4], 1, i64[2, 2]<4>, 1.5"]),
    OpDef::new("aten::scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor", |a| {
        check_reduce(a, &["add", "multiply"])?;
        scatter_meta(a)
    })
    .fill(|a, o| scatter(a, o, a.named("reduce")?, true))
    .work(Class::Move)
    .any_strides()
    .indexes("index", "self", IndexedDim::Named("dim"))
    .doc("A copy with elements along a dimension added to or multiplied.")
    .samples(&[
        "f32[3, 4], 1, i64[2, 2]<4>, f32[2, 2], reduce=\"add\"",
        "f32[3, 4], 0, i64[2, 2]<3>, f32[2, 2], reduce=\"multiply\"",
        "!f32[3], 0, i64[1]<3>, f32[1], reduce=\"amax\"",
    ]),
    OpDef::new(
        "aten::scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce) -> \
        Tensor",
        |a| {
            check_reduce(a, &["add", "multiply"])?;
            scatter_meta(a)
        },
    )
    .fill(|a, o| scatter(a, o, a.named("reduce")?, true))
    .work(Class::Move)
    .any_strides()
    .indexes("index", "self", IndexedDim::Named("dim"))
    .doc("A copy with a number added to, or multiplied into, elements along a dimension.")
    .samples(&["f32[3, 4], 1, i64[2, 2]<4>, 2.0, reduce=\"multiply\""]),
    OpDef::new("aten::scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor", scatter_meta)
        .fill(|a, o| scatter(a, o, "add", true))
        .work(Class::Move)
        .any_strides()
        .indexes("index", "self", IndexedDim::Named("dim"))
        .doc("A copy with elements along a dimension added to.")
        .samples(&["f32[3, 4], 1, i64[2, 5]<4>, f32[2, 5]", "f32[3], 0, i64[0], f32[0]"]),
    OpDef::new(
        "aten::scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool \
        include_self=True) -> Tensor",
        |a| {
            check_reduce(a, &["sum", "prod", "mean", "amax", "amin"])?;
            scatter_meta(a)
        },
    )
    .fill(|a, o| scatter(a, o, a.named("reduce")?, a.named("include_self")?))
    .work(Class::Move)
    .any_strides()
    .indexes("index", "self", IndexedDim::Named("dim"))
    .doc("A copy with elements along a dimension reduced with others: sum, prod, mean, amax, amin.")
    .samples(&[
        "f32[3, 4], 1, i64[2, 5]<4>, f32[2, 5], \"sum\"",
        "f32[3, 4], 0, i64[3, 4]<3>, f32[3, 4], \"mean\"",
        "f32[3], 0, i64[5]<3>, f32[5], \"amax\", include_self=False",
        "i64[3], 0, i64[5]<3>, i64[5], \"prod\"",
        "!f32[3], 0, i64[1]<3>, f32[1], \"max\"",
    ]),
    OpDef::new(
        "aten::index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor",
        rows_meta,
    )
    .fill(index_add)
    .work(Class::Move)
    .any_strides()
    .indexes("index", "self", IndexedDim::Named("dim"))
    .doc("A copy with `alpha · source` added to some indices of a dimension.")
    .samples(&[
        "f32[4, 3], 0, i64[2]<4>, f32[2, 3]",
        "f32[4, 3], 1, i64[5]<3>, f32[4, 5], alpha=2",
        "!f32[4], 0, i64[2]<4>, f32[3]",
    ]),
    OpDef::new("aten::index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor", rows_meta)
        .fill(|a, o| rows(a, o, "set", true))
        .work(Class::Move)
        .any_strides()
        .indexes("index", "self", IndexedDim::Named("dim"))
        .exact(Exact::Bits)
        .doc("A copy with some indices of a dimension replaced.")
        .samples(&["f32[4, 3], 0, i64[2]<4>, f32[2, 3]", "!f32[4], 0, i64[2]<4..5>, f32[2]"]),
    OpDef::new(
        "aten::index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool \
        include_self=True) -> Tensor",
        |a| {
            check_reduce(a, &["prod", "mean", "amax", "amin"])?;
            rows_meta(a)
        },
    )
    .fill(|a, o| rows(a, o, a.named("reduce")?, a.named("include_self")?))
    .work(Class::Move)
    .any_strides()
    .indexes("index", "self", IndexedDim::Named("dim"))
    .doc("A copy with some indices of a dimension reduced with others: prod, mean, amax, amin.")
    .samples(&[
        "f32[4, 3], 0, i64[6]<4>, f32[6, 3], \"mean\"",
        "f32[4], 0, i64[6]<4>, f32[6], \"prod\", include_self=False",
    ]),
    OpDef::new("aten::index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor", fill_meta)
        .fill(index_fill)
        .work(Class::Move)
        .any_strides()
        .indexes("index", "self", IndexedDim::Named("dim"))
        .exact(Exact::Bits)
        .doc("A copy with some indices of a dimension filled with a number.")
        .samples(&["f32[4, 3], 0, i64[2]<-4..4>, 1.5", "!i64[4], 0, i64[1]<4>, 1j"]),
    OpDef::new("aten::index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value) -> Tensor", fill_meta)
        .fill(index_fill)
        .work(Class::Move)
        .any_strides()
        .indexes("index", "self", IndexedDim::Named("dim"))
        .exact(Exact::Bits)
        .doc("A copy with some indices of a dimension filled with a 0-d tensor.")
        .samples(&["f32[4, 3], 0, i64[2]<4>, f32[]", "!f32[4], 0, i64[1]<4>, f32[1]"]),
    OpDef::new("aten::put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor", put_meta)
        .fill(put)
        .work(Class::Move)
        .any_strides()
        .doc("A copy with elements of the flattened tensor replaced or added to.")
        .samples(&["f32[3, 4], i64[2, 2]<-12..12>, f32[2, 2]", "f32[3], i64[4]<3>, f32[4], True"]),
];

/// What is written; a number as a tensor without dimensions.
fn source<'a>(args: &Args<'a, Real>, x: &Tensor) -> Result<Tensor> {
    Ok(match args.at::<Operand<'a, Real>>(3)? {
        Operand::Tensor(t) => t.clone(),
        Operand::Number(n) => Tensor::from_scalar(n.known().expect("law: real numbers are known"), x.dtype()),
    })
}

/// Refuses reductions that the operator does not know.
fn check_reduce(args: &MetaArgs<'_>, known: &[&str]) -> Result<()> {
    let name: &str = args.named("reduce")?;
    ensure!(known.contains(&name), "{}: reduce `{name}` is none of {known:?}", args.name());
    Ok(())
}

fn scatter_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, dim, index): (&Fake, i64, &Fake) = args.unpack()?;
    let d = wrap_dim(dim, x.dim())?;
    check_sizes(args, x, d, index)?;
    if let Operand::Tensor(source) = args.at::<Operand<'_, oxport_ir::Meta>>(3)? {
        ensure!(x.dtype == source.dtype, "{}: {} into {}", args.name(), source.dtype.name(), x.dtype.name());
        if !index.sizes.iter().any(|s| args.cx.is(s, 0)) {
            ensure!(source.dim().max(1) == index.dim().max(1), "{}: {source} for an index {index}", args.name());
            let fits = |(i, s): (&Expr, &Expr)| args.cx.decide(&i.le(s), true);
            ensure!(index.sizes.iter().zip(&source.sizes).all(fits), "{}: {source} for an index {index}", args.name());
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

/// Where the parts of a source go.
enum Place<'a> {
    /// Every element where the index says along a dimension.
    Element(i64, &'a Tensor),
    /// Every slab along a dimension where the index says.
    Slab(i64, &'a Tensor),
}

impl Place<'_> {
    fn index(&self) -> &Tensor {
        match self {
            Place::Element(_, index) | Place::Slab(_, index) => index,
        }
    }

    /// `out[…] = source[…]`, in order.
    fn set(&self, out: &mut TensorMut, source: &Tensor) -> Result<()> {
        Ok(match *self {
            _ if self.index().numel() == 0 => {}
            Place::Element(dim, index) => index::scatter(out, dim, index, source)?,
            Place::Slab(dim, index) => {
                let slabs = source.reshape(&self.source_sizes(out)?)?;
                index::copy_slabs(out, dim, index, &slabs)?
            }
        })
    }

    /// `out[…] = f(out[…], source[…])`, in order.
    fn update<T: Element>(&self, out: &mut TensorMut, source: &Tensor, f: impl Fn(T, T) -> T + Sync) -> Result<()> {
        Ok(match *self {
            _ if self.index().numel() == 0 => {}
            Place::Element(dim, index) => index::scatter_with(out, dim, index, source, f)?,
            Place::Slab(dim, index) => {
                let slabs = source.reshape(&self.source_sizes(out)?)?;
                index::update_slabs(out, dim, index, &slabs, f)?
            }
        })
    }

    /// The sizes of a source: those of the index, or of so many slabs. A source without dimensions, or of one element
    /// for a tensor without, is a slab.
    fn source_sizes(&self, out: &TensorMut) -> Result<Vec<i64>> {
        let (Place::Element(dim, index) | Place::Slab(dim, index)) = *self;
        if matches!(self, Place::Element(..)) {
            return Ok(index.sizes().to_vec());
        }
        let mut sizes = out.sizes().to_vec();
        if let Some(size) = sizes.get_mut(wrap_dim(dim, out.rank())?) {
            *size = index.numel() as i64;
        }
        Ok(sizes)
    }

    /// One number at every place of a source.
    fn repeated(&self, value: &Tensor, out: &TensorMut) -> Result<Tensor> {
        let sizes = self.source_sizes(out)?;
        Ok(value.view(|l| l.expand(&sizes))?)
    }

    /// How many elements come to each of `out`, as int64, with `first` added. A size is 1 where the numbers are equal
    /// along the dimension, because the index is.
    fn counts(&self, out: &TensorMut, first: i64) -> Result<Tensor> {
        let (Place::Element(dim, index) | Place::Slab(dim, index)) = *self;
        let d = wrap_dim(dim, out.rank())?;
        let (mut sizes, mut once) = (out.sizes().to_vec(), index.layout().clone());
        for e in (0..sizes.len()).filter(|&e| e != d) {
            match self {
                Place::Element(..) if once.sizes.len() != sizes.len() => {}
                Place::Element(..) if once.strides[e] != 0 || once.sizes[e] != sizes[e] => {}
                Place::Element(..) => (sizes[e], once.sizes[e]) = (sizes[e].min(1), once.sizes[e].min(1)),
                Place::Slab(..) => sizes[e] = sizes[e].min(1),
            }
        }
        let mut counts = TensorMut::empty(DType::I64, Layout::contiguous(&sizes)?)?;
        oxport_tensor::fill(&mut counts, Scalar::Int(first))?;
        let index = index.with_layout(once)?;
        let place = match self {
            Place::Element(..) => Place::Element(dim, &index),
            Place::Slab(..) => Place::Slab(dim, &index),
        };
        let ones = place.repeated(&Tensor::scalar(1i64), &counts)?;
        place.update::<i64>(&mut counts, &ones, <i64 as Number>::add)?;
        Ok(counts.freeze())
    }
}

fn scatter(args: &Args<'_, Real>, outs: &mut [TensorMut], reduce: &str, include_self: bool) -> Result<()> {
    let (x, dim, index): (&Tensor, i64, &Tensor) = args.unpack()?;
    apply(x, &source(args, x)?, &Place::Element(dim, index), Reduce::named(reduce)?, include_self, &mut outs[0])
}

fn rows_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, dim, index, source): (&Fake, i64, &Fake, &Fake) = args.unpack()?;
    let d = wrap_dim(dim, x.dim())?;
    check_index_dtype(index.dtype)?;
    ensure!(index.dim() <= 1, "{}: an index of {} dimensions", args.name(), index.dim());
    ensure!(x.dtype == source.dtype, "{}: {} into {}", args.name(), source.dtype.name(), x.dtype.name());
    let found = source.sizes.get(d).cloned().unwrap_or(Expr::from(1i64));
    ensure!(args.cx.may_be_same(&found, &index.numel()), "{}: {source} for {} indices", args.name(), index.numel());
    let scalar = source.dim() == 0 || x.dim() == 0;
    ensure!(scalar || x.dim() == source.dim(), "{}: {source} into {x}", args.name());
    for (e, (a, b)) in x.sizes.iter().zip(&source.sizes).enumerate() {
        ensure!(e == d || scalar || args.cx.may_be_same(a, b), "{}: {source} into {x}", args.name());
    }
    one(Fake { device: x.device.clone(), ..Fake::new(x.dtype, x.sizes.clone()) })
}

fn rows(args: &Args<'_, Real>, outs: &mut [TensorMut], reduce: &str, include_self: bool) -> Result<()> {
    let (x, dim, index, source): (&Tensor, i64, &Tensor, &Tensor) = args.unpack()?;
    apply(x, source, &Place::Slab(dim, index), Reduce::named(reduce)?, include_self, &mut outs[0])
}

fn index_add(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, dim, index, source, alpha): (&Tensor, i64, &Tensor, &Tensor, Scalar) = args.unpack()?;
    fn add<T: Number>(place: &Place<'_>, source: &Tensor, alpha: T, out: &mut TensorMut) -> Result<()> {
        // 1 times a complex number may be another one: an infinite part makes a NaN of the other.
        if alpha == T::ONE && !T::DTYPE.is_complex() {
            return place.update(out, source, T::add);
        }
        place.update(
            out,
            source,
            #[inline(always)]
            |a: T, b: T| a.add(alpha.mul(b)),
        )
    }
    let place = Place::Slab(dim, index);
    oxport_tensor::copy(x, &mut outs[0])?;
    dispatch!(plain x.dtype(), |T| add::<T>(&place, source, alpha.to(), &mut outs[0]))
}

fn apply(x: &Tensor, s: &Tensor, place: &Place<'_>, how: Reduce, include: bool, out: &mut TensorMut) -> Result<()> {
    oxport_tensor::copy(x, out)?;
    match how {
        Reduce::Set => place.set(out, s),
        Reduce::Add | Reduce::Mul => dispatch!(plain x.dtype(), |T| combine::<T>(s, place, how, include, out)),
        _ => dispatch!(real x.dtype(), |T| order::<T>(s, place, how, include, out)),
    }
}

fn combine<T: Number>(s: &Tensor, place: &Place<'_>, how: Reduce, include: bool, out: &mut TensorMut) -> Result<()> {
    if !include {
        let identity = if how == Reduce::Add { T::ZERO } else { T::ONE };
        place.set(out, &place.repeated(&Tensor::scalar(identity), out)?)?;
    }
    match how {
        Reduce::Add => place.update::<T>(out, s, T::add),
        _ => place.update::<T>(out, s, T::mul),
    }
}

fn order<T: Ordered>(s: &Tensor, place: &Place<'_>, how: Reduce, include: bool, out: &mut TensorMut) -> Result<()> {
    if !include {
        let identity = match how {
            Reduce::Max => T::LOWEST,
            Reduce::Min => T::HIGHEST,
            _ => T::ZERO,
        };
        place.set(out, &place.repeated(&Tensor::scalar(identity), out)?)?;
    }
    match how {
        Reduce::Max => return place.update::<T>(out, s, T::maximum),
        Reduce::Min => return place.update::<T>(out, s, T::minimum),
        _ => place.update::<T>(out, s, T::add)?,
    }
    let counts = place.counts(out, i64::from(include))?;
    // A quotient of float32 rounds the same through float64, while the number is exact.
    if T::DTYPE == DType::F32 && place.index().numel() < 1 << f32::MANTISSA_DIGITS {
        let counts = counts.to_dtype(DType::F32)?;
        return Ok(oxport_tensor::update_zip::<f32, f32>(
            out,
            &counts,
            #[inline(always)]
            |sum, n| if n > 1.0 { sum / n } else { sum },
        )?);
    }
    let mean = |a: T, n: i64| match n {
        0 | 1 => a,
        // Through `f64`, which is exact enough to round once.
        n if T::DTYPE.is_float() => cast(cast::<T, f64>(a) / n as f64),
        n => a.floor_div(cast(n)),
    };
    Ok(oxport_tensor::update_zip::<T, i64>(out, &counts, mean)?)
}

fn fill_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, dim, index): (&Fake, i64, &Fake) = args.unpack()?;
    wrap_dim(dim, x.dim())?;
    check_index_dtype(index.dtype)?;
    ensure!(index.dim() <= 1, "{}: an index of {} dimensions", args.name(), index.dim());
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
    let (d, value, out) = (wrap_dim(dim, x.rank())?, source(args, x)?.to_dtype(x.dtype())?, &mut outs[0]);
    oxport_tensor::copy(x, out)?;
    let mut indices = vec![None; d];
    indices.push(Some(index.clone()));
    // A tensor without dimensions has one to name here.
    let place = if x.rank() == 0 { out.layout().unsqueeze(0)? } else { out.layout().clone() };
    Ok(out.part(place, |out| index::put(out, &indices, &value))?)
}

fn put_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, index, source): (&Fake, &Fake, &Fake) = args.unpack()?;
    ensure!(index.dtype == DType::I64, "put by an index of dtype {}", index.dtype.name());
    ensure!(x.dtype == source.dtype, "put of {} into {}", source.dtype.name(), x.dtype.name());
    ensure!(args.cx.may_be_same(&index.numel(), &source.numel()), "put of {source} at {index}");
    one(Fake { strides: preserved_strides(args.cx, x), offset: Expr::from(0i64), requires_grad: false, ..x.clone() })
}

fn put(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, places, source, accumulate): (&Tensor, &Tensor, &Tensor, bool) = args.unpack()?;
    let mut flat = TensorMut::empty(x.dtype(), Layout::contiguous(&[x.numel() as i64])?)?;
    oxport_tensor::copy(&x.reshape(&[-1])?, &mut flat)?;
    let (places, source) = ([Some(places.reshape(&[-1])?)], source.reshape(&[-1])?);
    match accumulate {
        false => index::put(&mut flat, &places, &source)?,
        true => dispatch!(plain x.dtype(), |T| index::put_with::<T>(&mut flat, &places, &source, <T as Number>::add))?,
    }
    Ok(oxport_tensor::copy(&flat.freeze().reshape(x.sizes())?, &mut outs[0])?)
}
