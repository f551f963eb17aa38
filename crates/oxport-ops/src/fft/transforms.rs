//! Discrete Fourier transforms: the three that everything is made of, and their named forms.
//!
//! Laws: results have the strides of PyTorch's CPU kernels, which put the transformed dimensions innermost;
//! normalization is by 1, by √n or by n; integers become float32, and real numbers complex where the form needs them.

mod named;

use crate::support::checks::fresh;
use crate::support::meta::{MetaArgs, Metas, dense_strides, one, wrap_dims};
use named::Kind;
use oxport_ir::{Args, Class, Error, Fake, MetaCx, OpDef, Real, Result, ensure};
use oxport_sym::Expr;
use oxport_tensor::fft::{Direction, c2c, c2r, r2c};
use oxport_tensor::{DType, Layout, Tensor, TensorMut, copy};

/// The operators of this family.
pub static OPS: &[OpDef] = &[
    OpDef::new("aten::_fft_c2c(Tensor self, SymInt[] dim, int normalization, bool forward) -> Tensor", c2c_meta)
        .doc("The transform of complex numbers, or its inverse.")
        .fill(c2c_kernel)
        .work(Class::Transform)
        .samples(&["c64[3, 4], [1], 0, True", "c128[3, 4], [0, 1], 2, False"]),
    OpDef::new("aten::_fft_r2c(Tensor self, int[] dim, int normalization, bool onesided) -> Tensor", r2c_meta)
        .doc("The transform of real numbers; the redundant half may be left out.")
        .fill(r2c_kernel)
        .work(Class::Transform)
        .samples(&["f32[3, 4], [1], 0, True", "f64[3, 4], [0, 1], 1, False"]),
    OpDef::new("aten::_fft_c2r(Tensor self, int[] dim, int normalization, SymInt last_dim_size) -> Tensor", c2r_meta)
        .doc("The inverse of a transform whose result is real.")
        .fill(c2r_kernel)
        .work(Class::Transform)
        .samples(&["c64[3, 4], [1], 2, 6"]),
    named::fft("aten::fft_fft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor", Kind::Forward),
    named::fft("aten::fft_ifft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor", Kind::Inverse),
    named::fft("aten::fft_rfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor", Kind::RealToHalf),
    named::fft("aten::fft_irfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor", Kind::HalfToReal),
    named::fft(
        "aten::fft_hfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor",
        Kind::HermitianToReal,
    ),
    named::fft(
        "aten::fft_ihfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor",
        Kind::RealToHermitian,
    ),
    named::fft(
        "aten::fft_fft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor",
        Kind::Forward,
    ),
    named::fft(
        "aten::fft_ifft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor",
        Kind::Inverse,
    ),
    named::fft(
        "aten::fft_rfft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor",
        Kind::RealToHalf,
    ),
    named::fft(
        "aten::fft_irfft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor",
        Kind::HalfToReal,
    ),
    named::fft(
        "aten::fft_hfft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor",
        Kind::HermitianToReal,
    ),
    named::fft(
        "aten::fft_ihfft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor",
        Kind::RealToHermitian,
    ),
    named::fft(
        "aten::fft_fftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor",
        Kind::Forward,
    ),
    named::fft(
        "aten::fft_ifftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor",
        Kind::Inverse,
    ),
    named::fft(
        "aten::fft_rfftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor",
        Kind::RealToHalf,
    ),
    named::fft(
        "aten::fft_irfftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor",
        Kind::HalfToReal,
    ),
    named::fft(
        "aten::fft_hfftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor",
        Kind::HermitianToReal,
    ),
    named::fft(
        "aten::fft_ihfftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor",
        Kind::RealToHermitian,
    ),
    named::shift("aten::fft_fftshift(Tensor self, int[1]? dim=None) -> Tensor"),
    named::unshift("aten::fft_ifftshift(Tensor self, int[1]? dim=None) -> Tensor"),
    named::frequencies(
        "aten::fft_fftfreq(int n, float d=1., *, ScalarType? dtype=None, Layout? layout=None, Device? \
        device=None, bool? pin_memory=None) -> Tensor",
    ),
    named::half_frequencies(
        "aten::fft_rfftfreq(int n, float d=1., *, ScalarType? dtype=None, Layout? layout=None, Device? \
        device=None, bool? pin_memory=None) -> Tensor",
    ),
];

/// The result of a transform of `x` along some dimensions: those innermost in the order of their strides (the last one
/// last if `keep_last`), the others around them likewise.
pub(crate) fn transformed(
    cx: &MetaCx<'_>,
    x: &Fake,
    dims: &[usize],
    keep_last: bool,
    dtype: DType,
    sizes: &[Expr],
) -> Fake {
    let stride = |d: &usize| std::cmp::Reverse(cx.hint(&x.strides[*d]).unwrap_or(4096));
    let mut batch: Vec<usize> = (0..x.dim()).filter(|d| !dims.contains(d)).collect();
    batch.sort_by_key(stride);
    let mut sorted = dims.to_vec();
    let free = sorted.len().saturating_sub(usize::from(keep_last));
    sorted[..free].sort_by_key(stride);
    let fastest_first: Vec<usize> = batch.into_iter().chain(sorted).rev().collect();
    Fake { strides: dense_strides(sizes, &fastest_first), ..fresh(x, dtype, sizes.to_vec()) }
}

/// The dimensions of a call, which are not empty and differ.
fn dims_of(args: &MetaArgs<'_>, x: &Fake) -> Result<Vec<usize>> {
    let dims: Vec<i64> = args.at(1)?;
    let normalization: i64 = args.at(2)?;
    ensure!((0..=2).contains(&normalization), "{}: no normalization {normalization}", args.name());
    ensure!(x.dim() > 0 || dims.is_empty(), "{}: a number has no dimension", args.name());
    wrap_dims(&dims, x.dim())
}

fn wide(args: &MetaArgs<'_>, x: &Fake, complex: bool) -> Result<()> {
    let fits =
        if complex { matches!(x.dtype, DType::C64 | DType::C128) } else { matches!(x.dtype, DType::F32 | DType::F64) };
    ensure!(fits, "{} is not implemented for {}", args.name(), x.dtype.name());
    Ok(())
}

fn c2c_meta(args: &MetaArgs<'_>) -> Metas {
    let x: &Fake = args.at(0)?;
    wide(args, x, true)?;
    let dims = dims_of(args, x)?;
    if dims.is_empty() {
        return one(Fake { strides: crate::support::meta::preserved_strides(args.cx, x), ..x.clone() });
    }
    one(transformed(args.cx, x, &dims, false, x.dtype, &x.sizes))
}

fn r2c_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, onesided): (&Fake, bool) = (args.at(0)?, args.at(3)?);
    wide(args, x, false)?;
    let dims = dims_of(args, x)?;
    let mut sizes = x.sizes.to_vec();
    let last = *dims.last().ok_or_else(|| Error::invalid("_fft_r2c: expected a dimension"))?;
    if onesided {
        sizes[last] = sizes[last].floor_div(&Expr::from(2i64)) + 1;
    }
    one(transformed(args.cx, x, &dims, true, x.dtype.to_complex(), &sizes))
}

fn c2r_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, size): (&Fake, Expr) = (args.at(0)?, args.at(3)?);
    wide(args, x, true)?;
    let dims = dims_of(args, x)?;
    let (&last, rest) = dims.split_last().ok_or_else(|| Error::invalid("_fft_c2r: expected a dimension"))?;
    ensure!(size.as_int().is_none_or(|n| n > 0), "{}: size {size} of the last dimension", args.name());
    // All dimensions but the last are transformed first.
    let x = if rest.is_empty() { x.clone() } else { transformed(args.cx, x, rest, false, x.dtype, &x.sizes) };
    let mut sizes = x.sizes.to_vec();
    sizes[last] = size;
    one(transformed(args.cx, &x, &[last], true, x.dtype.to_real(), &sizes))
}

/// The factor of a normalization over `n` elements.
fn factor(normalization: i64, n: i64) -> f64 {
    match normalization {
        0 => 1.0,
        1 => 1.0 / (n as f64).sqrt(),
        _ => 1.0 / n as f64,
    }
}

fn signal(x: &[i64], dims: &[i64]) -> Result<i64> {
    Ok(wrap_dims(dims, x.len())?.iter().map(|&d| x[d]).product())
}

fn c2c_kernel(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, dims, normalization, forward): (&Tensor, Vec<i64>, i64, bool) = args.unpack()?;
    if dims.is_empty() {
        return Ok(copy(x, &mut outs[0])?);
    }
    let scale = factor(normalization, signal(x.sizes(), &dims)?);
    let direction = if forward { Direction::Forward } else { Direction::Inverse };
    Ok(c2c(x, &dims, direction, scale, &mut outs[0])?)
}

fn r2c_kernel(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, dims, normalization): (&Tensor, Vec<i64>, i64) = args.unpack()?;
    Ok(r2c(x, &dims, factor(normalization, signal(x.sizes(), &dims)?), &mut outs[0])?)
}

fn c2r_kernel(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, dims, normalization): (&Tensor, Vec<i64>, i64) = args.unpack()?;
    let scale = factor(normalization, signal(outs[0].sizes(), &dims)?);
    // The half that is needed: fewer numbers count as zeros, more are ignored.
    let last = wrap_dims(&dims[dims.len() - 1..], x.rank())?[0];
    let half = outs[0].sizes()[last] / 2 + 1;
    Ok(c2r(&resized(x, last, half)?, &dims, scale, &mut outs[0])?)
}

/// A tensor cut or filled with zeros to a size of one dimension.
pub(crate) fn resized(x: &Tensor, dim: usize, size: i64) -> Result<Tensor> {
    let have = x.sizes()[dim];
    if have >= size {
        return Ok(x.view(|l| l.narrow(dim as i64, 0, size))?);
    }
    let mut sizes = x.sizes().to_vec();
    sizes[dim] = size;
    let zeros = Tensor::zeros(x.dtype(), &sizes)?;
    let mut out = zeros.into_mut().or_else(|_| TensorMut::empty(x.dtype(), Layout::contiguous(&sizes)?))?;
    let inside = out.layout().narrow(dim as i64, 0, have)?;
    out.part(inside, |out| copy(x, out))?;
    Ok(out.freeze())
}
