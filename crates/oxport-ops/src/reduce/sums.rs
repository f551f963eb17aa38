//! Reductions: sums, products, means, truth values, counts.
//!
//! Laws: an operator without `dim`, with `dim=None` or with `dim=[]` reduces everything; integers sum to int64, floats
//! of 16 bits in float32; the order of operations is that of `oxport_tensor::reduce`, whatever the strides.

use crate::reduce::over::{Over, Rule, over, over_listed, reduced, reduced_over, wide, widest};
use crate::support::meta::{MetaArgs, Metas, one};
use crate::support::rowmajor::as_dtype;
use oxport_ir::{Args, Argument, Build, Builder, Class, Error, Fake, MetaCx, NodeId, OpDef, Real, Result, ensure};
use oxport_sym::Expr;
use oxport_tensor::reduce::{self, reduce, reduce_with};
use oxport_tensor::{Analytic, DType, Layout, Number, Real as Ordered, Tensor, TensorMut, dispatch, update_zip};

/// A reduction: the result's dtype rule, and the kernel over a widened input.
macro_rules! reduction {
    ($schema:literal, $rule:expr, $kernel:expr, $doc:literal, [$($sample:literal),* $(,)?]) => {
        OpDef::new($schema, |args| reduced(args, &[$rule])).fill($kernel)
            .work(Class::Reduction)
            .any_strides()
            .doc($doc).samples(&[$($sample),*])
    };
}

/// The table.
pub static OPS: &[OpDef] = &[
    reduction!(
        "aten::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor",
        Rule::Sum,
        sum,
        "The sum of all elements.",
        ["f32[2, 3]", "b8[5]", "u8[4], dtype=float32", "f32[0]", "c64[3]"]
    )
    .expr("sum.dim_IntList(self, [], dtype=dtype)"),
    reduction!(
        "aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) \
        -> Tensor",
        Rule::Sum,
        sum,
        "Sums over some dimensions.",
        [
            "f32[2, 3, 4], [0, -1]",
            "f32[2, 3], [1], True",
            "i32[2, 3], []",
            "bf16[4, 5], [0]",
            "f32[], [0]",
            "!f32[2], [1]",
            "!f32[2, 2], [0, -2]"
        ]
    ),
    reduction!(
        "aten::prod(Tensor self, *, ScalarType? dtype=None) -> Tensor",
        Rule::Sum,
        prod,
        "The product of all elements.",
        ["f32[2, 3]", "i32[4]", "f32[0]"]
    ),
    reduction!(
        "aten::prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> \
        Tensor",
        Rule::Sum,
        prod,
        "Products over a dimension.",
        ["f32[2, 3], 1", "f32[2, 3], 0, True"]
    ),
    reduction!(
        "aten::mean(Tensor self, *, ScalarType? dtype=None) -> Tensor",
        Rule::Mean,
        mean,
        "The mean of all elements.",
        ["f32[2, 3]", "f16[5]", "i64[3], dtype=float32", "!i64[3]"]
    ),
    reduction!(
        "aten::mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> \
        Tensor",
        Rule::Mean,
        mean,
        "Means over some dimensions.",
        ["f32[2, 3, 4], [1, 2], True", "f32[2, 3], [0]", "f32[0, 3], [0]", "c64[2, 3], [1]"]
    ),
    reduction!(
        "aten::nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> \
        Tensor",
        Rule::Sum,
        nansum,
        "Sums that leave out NaN.",
        ["f32[2, 3], [1]", "i32[2, 3]"]
    ),
    OpDef::new(
        "aten::nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> \
        Tensor",
        |a| reduced(a, &[Rule::Mean]),
    )
    .fill(nanmean)
    .work(Class::Reduction)
    .doc("Means that leave out NaN.")
    .samples(&["f32[2, 3], [1]"]),
    reduction!(
        "aten::all(Tensor self) -> Tensor",
        Rule::Truth,
        |a, o| all(a, o, over),
        "Whether all elements are true.",
        ["b8[2, 3]", "f32[0]", "u8[3]"]
    ),
    reduction!(
        "aten::all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor",
        Rule::Truth,
        |a, o| all(a, o, over),
        "Whether all elements along a dimension are true.",
        ["b8[2, 3], 1", "i64[2, 3], 0, True"]
    )
    .decomp(none_is_false),
    OpDef::new("aten::all.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor", truth_meta)
        .fill(|a, o| all(a, o, over_listed))
        .work(Class::Reduction)
        .doc("Whether all elements along some dimensions are true.")
        .samples(&["b8[2, 3, 4], [0, 2]", "b8[2, 3], []"]),
    reduction!(
        "aten::any(Tensor self) -> Tensor",
        Rule::Truth,
        |a, o| any(a, o, over),
        "Whether any element is true.",
        ["b8[2, 3]", "f32[0]", "u8[3]"]
    ),
    reduction!(
        "aten::any.dim(Tensor self, int dim, bool keepdim=False) -> Tensor",
        Rule::Truth,
        |a, o| any(a, o, over),
        "Whether any element along a dimension is true.",
        ["b8[2, 3], 1"]
    ),
    OpDef::new("aten::any.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor", truth_meta)
        .fill(|a, o| any(a, o, over_listed))
        .work(Class::Reduction)
        .doc("Whether any element along some dimensions is true.")
        .samples(&["b8[2, 3, 4], [0, 2]"]),
    reduction!(
        "aten::_is_all_true(Tensor self) -> Tensor",
        Rule::Truth,
        |a, o| all(a, o, over),
        "Whether all elements of a bool tensor are true.",
        ["b8[2, 3]"]
    ),
    reduction!(
        "aten::_is_any_true(Tensor self) -> Tensor",
        Rule::Truth,
        |a, o| any(a, o, over),
        "Whether any element of a bool tensor is true.",
        ["b8[2, 3]"]
    ),
    reduction!(
        "aten::count_nonzero(Tensor self, int? dim=None) -> Tensor",
        Rule::Index,
        count_nonzero,
        "How many elements are not zero.",
        ["f32[2, 3]", "b8[2, 3], 1"]
    ),
    reduction!(
        "aten::count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor",
        Rule::Index,
        count_nonzero,
        "How many elements along some dimensions are not zero.",
        ["f32[2, 3], [0, 1]"]
    ),
    reduction!(
        "aten::logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
        Rule::Float,
        logsumexp,
        "Logarithms of sums of exponentials.",
        ["f32[2, 3], [1]", "f32[2, 3], [0, 1], True", "i64[3], [0]"]
    ),
    reduction!(
        "aten::special_logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
        Rule::Float,
        logsumexp,
        "As `logsumexp`.",
        ["f32[2, 3], [1]"]
    ),
    reduction!(
        "aten::hash_tensor(Tensor self, int[1] dim=[], *, bool keepdim=False, int mode=0) -> Tensor",
        Rule::Bits,
        hash,
        "The exclusive or of the elements as 64 bits: integers extended, floats in double precision.",
        ["f32[2, 3]", "i64[2, 3], [1]", "!c64[2]"]
    ),
    OpDef::new("aten::sum_to_size(Tensor self, SymInt[] size) -> Tensor", sum_to_size)
        .decomp(sum_to)
        .doc("Sums over the dimensions along which a size was broadcast; the tensor itself if there are none.")
        .samples(&[
            "f32[2, 3], [1, 3]",
            "f32[2, 3], [3]",
            "f32[2, 3], [2, 3]",
            "f32[3, 2]{1, 4}, [3, 2]",
            "f32[], []",
            "f32[2, 1, 3], [1, 1]",
            "b8[2], [1]",
            "!f32[2, 3], [2]",
        ])
        .alias_if(|a, out| Ok(out.dim() > 0 && a.at::<&Fake>(0)?.sizes == out.sizes))
        .write_back("value"),
];

/// That all elements are true, by `any`, which is of Core ATen.
fn none_is_false(b: &mut Builder<'_>, a: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (x, dim, keep): (NodeId, i64, bool) = a.unpack()?;
    let is_byte = b.fake(x)?.dtype == DType::U8;
    let is_false = b.call("logical_not", (x,))?;
    let any = b.call("any.dim", (is_false, dim, keep))?;
    let all = b.call("logical_not", (any,))?;
    Ok(vec![if is_byte { b.call_kw("_to_copy", (all,), &[("dtype", DType::U8.into())])? } else { all }.into()])
}

/// The input in the output's dtype, widened, with what is reduced; the body writes an output of that dtype.
fn widened(
    args: &Args<'_, Real>,
    outs: &mut [TensorMut],
    f: impl FnOnce(&Tensor, &[i64], &mut TensorMut) -> Result<()>,
) -> Result<()> {
    let x: &Tensor = args.at(0)?;
    let over = over(args, x.rank())?;
    let wide = widest(outs[0].dtype());
    // Rounding to the result's dtype comes first: `sum(x, dtype=float16)` sums what was rounded.
    let x = if x.dtype() == wide { x.clone() } else { x.to_dtype(outs[0].dtype())?.to_dtype(wide)? };
    as_dtype(&mut outs[0], wide, |out| f(&x, &over.loops(), out))
}

/// The input and what is reduced, if both it and the output are of one dtype of 16 bits: then elements are widened as
/// they are read, which gives what [`widened`] does.
fn halves<'a>(args: &Args<'a, Real>, outs: &[TensorMut]) -> Result<Option<(&'a Tensor, Vec<i64>)>> {
    let x: &Tensor = args.at(0)?;
    let half = matches!(x.dtype(), DType::F16 | DType::BF16) && x.dtype() == outs[0].dtype();
    Ok(if half { Some((x, over(args, x.rank())?.loops())) } else { None })
}

fn sum(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    fn run<T: Number>(x: &Tensor, dims: &[i64], out: &mut TensorMut) -> Result<()> {
        Ok(reduce::<T, T, T>(x, dims, out, T::ZERO, T::add, T::add, |a| a)?)
    }
    if let Some((x, dims)) = halves(args, outs)? {
        return dispatch!(half x.dtype(), |T| Ok(reduce::sum::<T, T>(x, &dims, &mut outs[0])?));
    }
    widened(args, outs, |x, dims, out| wide!(arith x.dtype(), |T| run::<T>(x, dims, out)))
}

fn prod(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    fn run<T: Number>(x: &Tensor, dims: &[i64], out: &mut TensorMut) -> Result<()> {
        Ok(reduce::<T, T, T>(x, dims, out, T::ONE, T::mul, T::mul, |a| a)?)
    }
    widened(args, outs, |x, dims, out| wide!(arith x.dtype(), |T| run::<T>(x, dims, out)))
}

/// How many elements are reduced to one.
fn count(x: &Tensor, dims: &[i64]) -> i64 {
    dims.iter().map(|&d| x.sizes()[d as usize]).product()
}

fn mean(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    fn run<T: Analytic>(x: &Tensor, dims: &[i64], out: &mut TensorMut) -> Result<()> {
        let n = T::from_real(count(x, dims) as f64);
        Ok(reduce::<T, T, T>(x, dims, out, T::ZERO, T::add, T::add, |a| a.div(n))?)
    }
    if let Some((x, dims)) = halves(args, outs)? {
        return dispatch!(half x.dtype(), |T| Ok(reduce::mean::<T>(x, &dims, &mut outs[0])?));
    }
    widened(args, outs, |x, dims, out| wide!(inexact x.dtype(), |T| run::<T>(x, dims, out)))
}

fn nansum(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    fn run<T: Ordered>(x: &Tensor, dims: &[i64], out: &mut TensorMut) -> Result<()> {
        let some = |x: T| if x.is_nan() { T::ZERO } else { x };
        Ok(reduce::<T, T, T>(x, dims, out, T::ZERO, |a, x| a.add(some(x)), T::add, |a| a)?)
    }
    widened(args, outs, |x, dims, out| wide!(real x.dtype(), |T| run::<T>(x, dims, out)))
}

fn nanmean(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    fn run<T: Ordered + Analytic>(x: &Tensor, dims: &[i64], out: &mut TensorMut) -> Result<()> {
        let fold = |(a, n): (T, f64), x: T| if x.is_nan() { (a, n) } else { (a.add(x), n + 1.0) };
        let meet = |(a, n): (T, f64), (b, m): (T, f64)| (a.add(b), n + m);
        Ok(reduce::<T, (T, f64), T>(x, dims, out, (T::ZERO, 0.0), fold, meet, |(a, n)| a.div(T::from_real(n)))?)
    }
    widened(args, outs, |x, dims, out| dispatch!(wide_float x.dtype(), |T| run::<T>(x, dims, out)))
}

/// The input as bools, NaN being true, and a reduction of those.
fn truth(
    args: &Args<'_, Real>,
    out: &mut TensorMut,
    dtype: DType,
    over: OverOf,
    f: impl FnOnce(&Tensor, &[i64], &mut TensorMut) -> Result<()>,
) -> Result<()> {
    let x: &Tensor = args.at(0)?;
    let over = over(args, x.rank())?;
    as_dtype(out, dtype, |out| f(&x.to_dtype(DType::Bool)?, &over.loops(), out))
}

/// What a call reduces, for a tensor of this rank.
type OverOf = fn(&Args<'_, Real>, usize) -> Result<Over>;

fn truth_meta(args: &MetaArgs<'_>) -> Metas {
    let x: &Fake = args.at(0)?;
    reduced_over(args, &over_listed(args, x.dim())?, &[Rule::Truth])
}

fn all(args: &Args<'_, Real>, outs: &mut [TensorMut], over: OverOf) -> Result<()> {
    truth(args, &mut outs[0], DType::Bool, over, |x, dims, out| Ok(reduce::all::<bool, bool>(x, dims, out)?))
}

fn any(args: &Args<'_, Real>, outs: &mut [TensorMut], over: OverOf) -> Result<()> {
    truth(args, &mut outs[0], DType::Bool, over, |x, dims, out| Ok(reduce::any::<bool, bool>(x, dims, out)?))
}

fn count_nonzero(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    truth(args, &mut outs[0], DType::I64, over, |x, dims, out| {
        Ok(reduce::<bool, i64, i64>(x, dims, out, 0, |a, x| a + i64::from(x), |a, b| a + b, |a| a)?)
    })
}

fn hash(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    ensure!(args.named::<i64>("mode")? == 0, "{}: only mode 0 is known", args.name());
    let x: &Tensor = args.at(0)?;
    let over = over(args, x.rank())?;
    let bits = if x.dtype().is_float() {
        x.to_dtype(DType::F64)?.contiguous()?.view_dtype(DType::U64)?
    } else {
        x.to_dtype(DType::U64)?
    };
    Ok(reduce::<u64, u64, u64>(&bits, &over.loops(), &mut outs[0], 0, |a, x| a ^ x, |a, b| a ^ b, |a| a)?)
}

/// `m + ln Σ e^(x − m)`, where `m` is the greatest element, or 0 where that is infinite.
fn logsumexp(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    fn run<T: Ordered + Analytic>(x: &Tensor, dims: &[i64], out: &mut TensorMut) -> Result<()> {
        let finite = |m: T| if m == T::LOWEST || m == T::HIGHEST { T::ZERO } else { m };
        let mut top = TensorMut::empty(T::DTYPE, Layout::contiguous(out.sizes())?)?;
        reduce::<T, T, T>(x, dims, &mut top, T::LOWEST, T::maximum, T::maximum, finite)?;
        let top = top.freeze();
        reduce_with::<T, T, T, T>(
            x,
            &top,
            dims,
            out,
            T::ZERO,
            #[inline(always)]
            |sum, x, m| sum.add(x.sub(m).exp()),
            T::add,
            T::ln,
        )?;
        Ok(update_zip::<T, T>(out, &top, T::add)?)
    }
    if outs[0].dtype().is_complex() {
        return complex_logsumexp(args, &mut outs[0]);
    }
    widened(args, outs, |x, dims, out| dispatch!(wide_float x.dtype(), |T| run::<T>(x, dims, out)))
}

/// The greatest real part takes the place of the greatest element.
fn complex_logsumexp(args: &Args<'_, Real>, out: &mut TensorMut) -> Result<()> {
    type C = oxport_tensor::Complex<f64>;
    let x: &Tensor = args.at(0)?;
    let over = over(args, x.rank())?;
    let meet = |(a, s): (f64, C), (b, t): (f64, C)| {
        let m = if a.is_nan() || a > b { a } else { b };
        let part = |x: f64, s: C| if x == m { s } else { s * (x - m).exp() };
        (m, part(a, s) + part(b, t))
    };
    let fold = |a: (f64, C), x: C| meet(a, (x.re, C::from_polar(1.0, x.im)));
    // Where every term is 0, its sign alone is left.
    let finish = |(m, s): (f64, C)| match m {
        f64::NEG_INFINITY => (s * 0.0).ln(),
        f64::INFINITY => s * m,
        _ => s.ln() + m,
    };
    let start = (f64::NEG_INFINITY, C::new(0.0, 0.0));
    as_dtype(out, DType::C128, |out| {
        Ok(reduce::<C, (f64, C), C>(&x.to_dtype(DType::C128)?, &over.loops(), out, start, fold, meet, finish)?)
    })
}

/// The dimensions to sum over to get to some sizes.
fn spread_over(cx: &MetaCx<'_>, x: &Fake, sizes: &[Expr]) -> Result<Vec<usize>> {
    let lead = x.dim().checked_sub(sizes.len());
    let lead = lead.ok_or_else(|| Error::invalid(format!("sum_to_size of {x} to {} dimensions", sizes.len())))?;
    let mut dims: Vec<usize> = (0..lead).collect();
    for (i, size) in sizes.iter().enumerate() {
        let have = &x.sizes[lead + i];
        if cx.same(size, have) {
            continue;
        }
        ensure!(cx.is(size, 1), "sum_to_size: size {have} does not come from {size} by broadcasting");
        dims.push(lead + i);
    }
    Ok(dims)
}

fn sum_to_size(args: &MetaArgs<'_>) -> Metas {
    let (x, sizes): (&Fake, Vec<Expr>) = args.unpack()?;
    let spread = spread_over(args.cx, x, &sizes)?;
    // What is summed at all is summed in int64.
    let is_whole = x.dtype.is_integer() || x.dtype.is_bool();
    let dtype = if is_whole && (!spread.is_empty() || sizes.is_empty()) { DType::I64 } else { x.dtype };
    if spread.is_empty() && !sizes.is_empty() {
        return one(x.clone());
    }
    one(Fake { device: x.device.clone(), ..Fake::new(dtype, sizes) })
}

/// As PyTorch's `sum_to`.
fn sum_to(b: &mut Builder<'_>, args: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (x, sizes): (NodeId, Vec<Argument>) = args.unpack()?;
    if sizes.is_empty() {
        return Ok(vec![b.call("sum", (x,))?.into()]);
    }
    let size = |a: &Argument| match a {
        Argument::Node(n) => b.val(*n).ok()?.as_int().cloned(),
        a => a.as_int().map(Expr::from),
    };
    let wanted = sizes.iter().map(size).collect::<Option<Vec<_>>>();
    let wanted = wanted.ok_or_else(|| Error::invalid("sum_to_size: a size that is no integer"))?;
    let rank = b.fake(x)?.dim();
    let spread = spread_over(&MetaCx::new(b.env), b.fake(x)?, &wanted)?;
    if spread.is_empty() {
        return Ok(vec![x.into()]);
    }
    let dims = Argument::List(spread.into_iter().map(|d| (d as i64).into()).collect());
    let sum = b.call("sum.dim_IntList", (x, dims, true))?;
    Ok(vec![if rank > sizes.len() { b.call("view", (sum, Argument::List(sizes)))? } else { sum }.into()])
}
