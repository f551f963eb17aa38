//! What meta functions share: broadcasting, result strides, dimensions.

use crate::support::promote::{Promotion, promote};
use oxport_ir::fake::{Dims, contiguous_strides};
use oxport_ir::{Arg, Args, Error, Fake, MemoryFormat, Meta, MetaCx, Operand, Real, Result, Val, ensure};
use oxport_sym::{Expr, ShapeEnv};
use oxport_tensor::Layout;
use std::sync::LazyLock;

/// The meta arguments of a call.
pub type MetaArgs<'a> = Args<'a, Meta>;
/// What a meta function gives.
pub type Metas = Result<Vec<Val>>;

/// No symbols: the environment of metas asked with numbers.
static NUMBERS: LazyLock<ShapeEnv> = LazyLock::new(ShapeEnv::new);

/// What a meta function of this operator says of these arguments.
pub(crate) fn ask_meta_of(args: &Args<'_, Real>, values: &[Arg<Meta>], meta: fn(&MetaArgs<'_>) -> Metas) -> Metas {
    let cx = MetaCx::new(&NUMBERS);
    meta(&MetaArgs::new(values, args.op, &cx))
}

/// Real arguments as metas.
pub fn fake_args(args: &[Arg<Real>]) -> Vec<Arg<Meta>> {
    args.iter().map(Arg::to_meta).collect()
}

/// One tensor as a result.
pub fn one(fake: Fake) -> Metas {
    Ok(vec![Val::Tensor(fake)])
}

/// Sizes as messages show them: `[2, s0, 3]`.
pub fn listed(sizes: &[Expr]) -> String {
    format!("[{}]", sizes.iter().map(Expr::to_string).collect::<Vec<_>>().join(", "))
}

/// A dimension counted from the end made one from the start; a 0-d tensor has dimension 0.
///
/// # Errors
/// Out of range.
pub fn wrap_dim(dim: i64, ndim: usize) -> Result<usize> {
    let n = ndim.max(1) as i64;
    ensure!(
        (-n..n).contains(&dim),
        "Dimension out of range (expected to be in range of [{}, {}], but got {dim})",
        -n,
        n - 1
    );
    Ok(if dim < 0 { dim + n } else { dim } as usize)
}

/// Dimensions wrapped, each at most once; an empty list is kept.
///
/// # Errors
/// One is out of range or given twice.
pub fn wrap_dims(dims: &[i64], ndim: usize) -> Result<Vec<usize>> {
    let mut wrapped = Vec::with_capacity(dims.len());
    for &d in dims {
        let w = wrap_dim(d, ndim)?;
        ensure!(!wrapped.contains(&w), "dim {w} appears multiple times in the list of dims");
        wrapped.push(w);
    }
    Ok(wrapped)
}

/// The sizes that some size lists broadcast to, aligned at the end.
///
/// # Errors
/// Two sizes differ and neither is 1.
pub fn broadcast(cx: &MetaCx<'_>, shapes: &[&[Expr]]) -> Result<Dims> {
    let ndim = shapes.iter().map(|s| s.len()).max().unwrap_or(0);
    // True if a size is 1 whenever the first is: then the first is the result's, whichever of them broadcasts.
    let follows = |first: &Expr, size: &Expr| {
        let at_one = first.as_symbol().map(|s| size.subs(&|of| (of == s).then(|| Expr::from(1i64))));
        size == first || at_one.is_some_and(|n| n.as_int() == Some(1))
    };
    // A size that all have, or all that do not broadcast, is the result's, be it 1 or not.
    let common = |d: usize| {
        let sizes = shapes.iter().filter_map(|s| s.get((d + s.len()).checked_sub(ndim)?));
        let mut sizes = sizes.filter(|size| size.as_int() != Some(1));
        let first = sizes.next()?;
        sizes.all(|size| follows(first, size)).then(|| first.clone())
    };
    let mut out: Dims = (0..ndim).map(|d| common(d).unwrap_or_else(|| Expr::from(1i64))).collect();
    for shape in shapes {
        let lead = ndim - shape.len();
        for (i, size) in shape.iter().enumerate() {
            let have = &mut out[lead + i];
            if cx.is(size, 1) || have == size {
                continue;
            }
            if cx.is(have, 1) {
                if !follows(have, size) {
                    *have = size.clone();
                }
                continue;
            }
            ensure!(
                cx.may_be_same(have, size),
                "The size of tensor a ({have}) must match the size of tensor b ({size}) at non-singleton dimension {}",
                lead + i
            );
            // Both stand for the same number: keep the simpler one.
            if size.as_int().is_some() {
                *have = size.clone();
            }
        }
    }
    Ok(out)
}

/// The strides of a pointwise result over inputs, as TensorIterator allocates it: the inputs' common dense layout, or
/// the order of dimensions that the first input with an opinion prefers.
pub fn pointwise_strides(cx: &MetaCx<'_>, sizes: &[Expr], inputs: &[&Fake]) -> Dims {
    let full: Vec<&Fake> = inputs.iter().copied().filter(|t| t.dim() > 0).collect();
    let same_shape =
        full.iter().all(|t| t.sizes.len() == sizes.len() && t.sizes.iter().zip(sizes).all(|(a, b)| cx.same(a, b)));
    if full.is_empty() || same_shape && full.iter().all(|t| is_contiguous(cx, t)) {
        return contiguous_strides(sizes);
    }
    // Volumes have no way of their own: strides of dimensions of size 1 stay theirs.
    if same_shape && sizes.len() == 4 && full.iter().all(|t| is_channels_last(cx, t)) {
        return channels_last_strides(sizes);
    }
    if same_shape && full.iter().all(|t| t.strides == full[0].strides) && is_non_overlapping_and_dense(cx, full[0]) {
        return full[0].strides.clone();
    }
    dense_strides(sizes, &dimension_order(cx, sizes, &full))
}

/// The dimensions from fastest to slowest, as TensorIterator's `reorder_dimensions` sorts them.
pub(crate) fn dimension_order(cx: &MetaCx<'_>, sizes: &[Expr], inputs: &[&Fake]) -> Vec<usize> {
    let number = |e: &Expr| cx.hint(e).unwrap_or(4096);
    let ndim = sizes.len();
    let shape: Vec<i64> = sizes.iter().map(number).collect();
    let strides: Vec<Vec<i64>> = inputs
        .iter()
        .map(|t| {
            let lead = ndim - t.dim();
            let stride = |d: usize| {
                let broadcast = d < lead || number(&t.sizes[d - lead]) == 1 && shape[d] != 1;
                if broadcast { 0 } else { number(&t.strides[d - lead]) }
            };
            (0..ndim).map(stride).collect()
        })
        .collect();
    // Positive: `a` is slower than `b`.
    let compare = |a: usize, b: usize| {
        for s in &strides {
            let (x, y) = (s[a], s[b]);
            if x == 0 || y == 0 {
                continue;
            }
            if x != y {
                return if x < y { -1 } else { 1 };
            }
            if shape[a] > shape[b] {
                return 1;
            }
        }
        0
    };
    let mut order: Vec<usize> = (0..ndim).rev().collect();
    for i in 1..ndim {
        let mut at = i;
        for j in (0..i).rev() {
            match compare(order[j], order[at]) {
                1 => {
                    order.swap(j, at);
                    at = j;
                }
                -1 => break,
                _ => {}
            }
        }
    }
    order
}

/// Dense strides with dimensions from fastest to slowest in this order.
pub fn dense_strides(sizes: &[Expr], order: &[usize]) -> Dims {
    if order.iter().rev().copied().eq(0..sizes.len()) {
        return contiguous_strides(sizes);
    }
    let mut strides: Dims = sizes.to_vec().into();
    let mut next = Expr::from(1i64);
    for &d in order {
        strides[d] = next.clone();
        next = &next * &sizes[d];
    }
    strides
}

/// The strides that `preserve_format` gives a copy of a tensor: its own if it is dense, else the order of its
/// dimensions made dense.
pub fn preserved_strides(cx: &MetaCx<'_>, t: &Fake) -> Dims {
    pointwise_strides(cx, &t.sizes, &[t])
}

/// May two elements share a place? As far as sizes and strides at hand tell.
pub fn overlaps(cx: &MetaCx<'_>, x: &Fake) -> bool {
    let number = |e: &Expr| cx.hint(e).unwrap_or(4096);
    let strides = x.strides.iter().map(number).collect();
    Layout { sizes: x.sizes.iter().map(number).collect(), strides, offset: 0 }.may_overlap()
}

/// The strides of a copy in a memory format.
///
/// # Errors
/// The format does not fit the number of dimensions.
pub fn format_strides(cx: &MetaCx<'_>, t: &Fake, format: Option<MemoryFormat>) -> Result<Dims> {
    match format {
        None | Some(MemoryFormat::Preserve) => Ok(preserved_strides(cx, t)),
        Some(format) => strides_in_format(&t.sizes, format),
    }
}

/// The strides of a fresh tensor in a memory format.
///
/// # Errors
/// The format does not fit the number of dimensions, or is `preserve_format`.
pub fn strides_in_format(sizes: &[Expr], format: MemoryFormat) -> Result<Dims> {
    match (format, sizes.len()) {
        (MemoryFormat::Contiguous, _) => Ok(contiguous_strides(sizes)),
        (MemoryFormat::ChannelsLast, 4) | (MemoryFormat::ChannelsLast3d, 5) => Ok(channels_last_strides(sizes)),
        (format, n) => Err(Error::invalid(format!("memory format {} does not fit {n} dimensions", format.name()))),
    }
}

/// Strides with the channels (dimension 1) innermost.
pub fn channels_last_strides(sizes: &[Expr]) -> Dims {
    let n = sizes.len();
    let mut strides: Dims = sizes.to_vec().into();
    let mut next = Expr::from(1i64);
    for d in std::iter::once(1).chain((2..n).rev()).chain([0]) {
        strides[d] = next.clone();
        next = &next * &sizes[d];
    }
    strides
}

/// `is_contiguous()`: dimensions of size 1 do not count, empty tensors are contiguous.
pub fn is_contiguous(cx: &MetaCx<'_>, t: &Fake) -> bool {
    if t.sizes.iter().any(|s| cx.is(s, 0)) {
        return true;
    }
    follows(cx, t, (0..t.dim()).rev())
}

/// `is_contiguous(memory_format=channels_last)`, or `channels_last_3d` of a 5-d tensor.
pub fn is_channels_last(cx: &MetaCx<'_>, t: &Fake) -> bool {
    let n = t.dim();
    (n == 4 || n == 5) && follows(cx, t, std::iter::once(1).chain((2..n).rev()).chain([0]))
}

/// True if the strides are dense with dimensions from fastest to slowest in this order, sizes of 1 aside.
fn follows(cx: &MetaCx<'_>, t: &Fake, order: impl Iterator<Item = usize>) -> bool {
    let mut expected = Expr::from(1i64);
    for d in order {
        if cx.is(&t.sizes[d], 1) {
            continue;
        }
        if !cx.same(&t.strides[d], &expected) {
            return false;
        }
        expected = &expected * &t.sizes[d];
    }
    true
}

/// True if every element of the storage's span is used by exactly one index.
pub fn is_non_overlapping_and_dense(cx: &MetaCx<'_>, t: &Fake) -> bool {
    if is_contiguous(cx, t) {
        return true;
    }
    let key = |d: &usize| (cx.hint(&t.strides[*d]).unwrap_or(4096), cx.hint(&t.sizes[*d]).unwrap_or(4096));
    let mut order: Vec<usize> = (0..t.dim()).filter(|&d| !cx.is(&t.sizes[d], 1)).collect();
    order.sort_by_key(key);
    follows(cx, t, order.into_iter())
}

/// The meta of a pointwise call over some operands: broadcast sizes, promoted dtype, TensorIterator's strides.
///
/// # Errors
/// The sizes do not broadcast, or the dtypes do not promote.
pub fn pointwise(cx: &MetaCx<'_>, operands: &[Operand<'_, Meta>], kind: Promotion) -> Result<Fake> {
    let refs: Vec<&Operand<'_, Meta>> = operands.iter().collect();
    let dtype = kind.result(promote(&refs)?);
    let tensors: Vec<&Fake> =
        operands.iter().filter_map(|o| if let Operand::Tensor(t) = o { Some(*t) } else { None }).collect();
    pointwise_as(cx, &tensors, dtype)
}

/// [`pointwise`] over tensors with a given result dtype.
///
/// # Errors
/// The sizes do not broadcast.
pub fn pointwise_as(cx: &MetaCx<'_>, tensors: &[&Fake], dtype: oxport_tensor::DType) -> Result<Fake> {
    let sizes = broadcast(cx, &tensors.iter().map(|t| &t.sizes[..]).collect::<Vec<_>>())?;
    let strides = pointwise_strides(cx, &sizes, tensors);
    let device = tensors.first().map_or_else(oxport_ir::Device::cpu, |t| t.device.clone());
    Ok(Fake { strides, device, ..Fake::new(dtype, sizes) })
}
