//! What the metas of the neural-network families share: fresh results, sizes that must agree, strict dtypes.

use crate::support::meta::{MetaArgs, channels_last_strides};
use oxport_ir::{Error, Fake, MetaCx, Result, ensure};
use oxport_sym::Expr;
use oxport_tensor::DType;

/// A contiguous result on the device of `like`.
pub fn fresh(like: &Fake, dtype: DType, sizes: impl IntoIterator<Item = Expr>) -> Fake {
    Fake { device: like.device.clone(), ..Fake::new(dtype, sizes) }
}

/// A result that is laid out channels last where `like` is, else contiguous: what convolutions, pools and resampling
/// give.
pub fn fresh_in_format(cx: &MetaCx<'_>, like: &Fake, dtype: DType, sizes: impl IntoIterator<Item = Expr>) -> Fake {
    let out = fresh(like, dtype, sizes);
    if cx.suggests_channels_last(like) && out.dim() == like.dim() {
        return Fake { strides: channels_last_strides(&out.sizes), ..out };
    }
    out
}

/// Refuses sizes that are known to differ.
///
/// # Errors
/// They differ; the message says where.
pub fn agree(cx: &MetaCx<'_>, a: &Expr, b: &Expr, what: &str) -> Result<()> {
    ensure!(cx.may_be_same(a, b), "{what}: {a} and {b} must be equal");
    Ok(())
}

/// Refuses tensors whose dtypes differ: the operators here do not promote.
///
/// # Errors
/// Two dtypes differ.
pub fn same_dtype(args: &MetaArgs<'_>, tensors: &[&Fake]) -> Result<DType> {
    let first = tensors[0].dtype;
    for t in &tensors[1..] {
        ensure!(
            t.dtype == first,
            "{}: expected the same dtype, got {} and {}",
            args.name(),
            first.name(),
            t.dtype.name()
        );
    }
    Ok(first)
}

/// Refuses tensors that are not floats (or, where `complex`, complex).
///
/// # Errors
/// The dtype is none of these.
pub fn floating(args: &MetaArgs<'_>, x: &Fake, complex: bool) -> Result<()> {
    if x.dtype.is_float() || complex && x.dtype.is_complex() {
        return Ok(());
    }
    Err(Error::invalid(format!("{} is not implemented for {}", args.name(), x.dtype.name())))
}

/// Refuses a tensor that has not this number of dimensions.
///
/// # Errors
/// It has another one.
pub fn of_dim(args: &MetaArgs<'_>, x: &Fake, dims: std::ops::RangeInclusive<usize>, what: &str) -> Result<()> {
    ensure!(
        dims.contains(&x.dim()),
        "{}: {what} must have {} dimensions, got {}",
        args.name(),
        if dims.start() == dims.end() { format!("{}", dims.start()) } else { format!("{dims:?}") },
        x.dim()
    );
    Ok(())
}

/// Refuses a tensor whose sizes are known to be others than these.
///
/// # Errors
/// They are; the message says which were expected.
pub fn of_sizes<'s>(
    args: &MetaArgs<'_>,
    x: &Fake,
    sizes: impl IntoIterator<Item = &'s Expr>,
    what: &str,
) -> Result<()> {
    let sizes: Vec<&Expr> = sizes.into_iter().collect();
    let fits = x.dim() == sizes.len() && x.sizes.iter().zip(&sizes).all(|(a, b)| args.cx.may_be_same(a, b));
    let expected = || sizes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    ensure!(fits, "{}: expected {what} of sizes [{}], got {x}", args.name(), expected());
    Ok(())
}

/// Refuses a tensor that is known to have another number of elements.
///
/// # Errors
/// It has; the message says how many were expected.
pub fn of_numel(args: &MetaArgs<'_>, x: &Fake, count: &Expr, what: &str) -> Result<()> {
    let fits = args.cx.may_be_same(&x.numel(), count);
    ensure!(fits, "{}: expected {count} elements of {what}, got {x}", args.name());
    Ok(())
}

/// One number per dimension of a window: a single number stands for all.
///
/// # Errors
/// There are neither one nor `n` of them.
pub fn per_dim<T: Clone>(values: &[T], n: usize, what: &str) -> Result<Vec<T>> {
    match values.len() {
        1 => Ok(vec![values[0].clone(); n]),
        len if len == n => Ok(values.to_vec()),
        len => Err(Error::invalid(format!("{what}: expected one number or {n}, got {len}"))),
    }
}

/// Refuses numbers of a window that are no C int, as PyTorch's pools do. Sums and products of two are an int64 then.
///
/// # Errors
/// One of them is none.
pub fn in_c_int(numbers: &[&[i64]]) -> Result<()> {
    let outside = numbers.iter().copied().flatten().find(|n| i32::try_from(**n).is_err());
    ensure!(outside.is_none(), "integer out of range: {}", outside.unwrap_or(&0));
    Ok(())
}

/// Refuses a number that `is_wrong`. One that is computed is open here; metas are asked again when the program runs.
pub fn refuse_number(args: &MetaArgs<'_>, name: &str, is_wrong: fn(f64) -> bool, message: &str) -> Result<()> {
    match args.named::<f64>(name) {
        Ok(x) if is_wrong(x) => Err(Error::invalid(format!("{message}{x}"))),
        _ => Ok(()),
    }
}
