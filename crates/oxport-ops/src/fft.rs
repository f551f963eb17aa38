//! Fourier transforms, by `rustfft`, and the short-time transform made of them.
//!
//! `normalization` is PyTorch's number: 0 none, 1 by √n, 2 by n, with n the number of elements transformed.

use crate::meta::{MetaArgs, Metas, one, wrap_dims};
use oxport_ir::{Args, Argument, Build, Builder, Fake, NodeId, OpDef, Real, Result, ensure};
use oxport_sym::Expr;
use oxport_tensor::fft::{Direction, c2c, c2r, r2c};
use oxport_tensor::{Tensor, TensorMut};

/// The table.
#[rustfmt::skip]
pub static OPS: &[OpDef] = &[
    OpDef::new("aten::_fft_r2c(Tensor self, int[] dim, int normalization, bool onesided) -> Tensor", r2c_meta).fill(real_to_complex).doc("The transform of real numbers over some dimensions; `onesided` keeps the first half of the last one.").samples(&["f32[2, 8], [1], 0, True", "f32[4, 6], [0, 1], 1, False", "!i64[4], [0], 0, True"]),
    OpDef::new("aten::_fft_c2c(Tensor self, SymInt[] dim, int normalization, bool forward) -> Tensor", c2c_meta).fill(complex_to_complex).doc("The transform of complex numbers over some dimensions, or its inverse.").samples(&["c64[2, 8], [1], 0, True", "c64[3, 5], [0, 1], 2, False"]),
    OpDef::new("aten::_fft_c2r(Tensor self, int[] dim, int normalization, SymInt last_dim_size) -> Tensor", c2r_meta).fill(complex_to_real).doc("The inverse transform to real numbers, of which so many are in the last dimension.").samples(&["c64[2, 5], [1], 2, 8"]),
    OpDef::new("aten::stft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool normalized=False, bool? onesided=None, bool? return_complex=None, bool? align_to_window=None) -> Tensor", stft_meta).decomp(stft).doc("The transforms of overlapping windows of a signal: `[batch, frequency, frame]`.").samples(&["f32[2, 32], 8, 4, return_complex=True", "f32[32], 8, None, 6, f32[6], True, return_complex=False"]),
];

fn scale(normalization: i64, n: i64) -> Result<f64> {
    match normalization {
        0 => Ok(1.0),
        1 => Ok(1.0 / (n as f64).sqrt()),
        2 => Ok(1.0 / n as f64),
        other => Err(oxport_ir::Error::invalid(format!("no normalization {other}"))),
    }
}

fn transformed(sizes: &[i64], dims: &[i64]) -> Result<i64> {
    Ok(wrap_dims(dims, sizes.len())?.iter().map(|&d| sizes[d]).product())
}

fn r2c_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, dims, _, onesided): (&Fake, Vec<i64>, i64, bool) = args.unpack()?;
    ensure!(x.dtype.is_float() && !dims.is_empty(), "_fft_r2c of {}", x.dtype.name());
    let dims = wrap_dims(&dims, x.dim())?;
    let mut sizes = x.sizes.clone();
    if let (true, Some(&last)) = (onesided, dims.last()) {
        sizes[last] = sizes[last].floor_div(&Expr::from(2i64)) + Expr::from(1i64);
    }
    one(Fake::new(x.dtype.to_complex(), sizes))
}

fn c2c_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, dims): (&Fake, Vec<i64>) = args.unpack()?;
    ensure!(x.dtype.is_complex(), "_fft_c2c of {}", x.dtype.name());
    wrap_dims(&dims, x.dim())?;
    one(Fake::new(x.dtype, x.sizes.clone()))
}

fn c2r_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, dims, _, size): (&Fake, Vec<i64>, i64, Expr) = args.unpack()?;
    ensure!(x.dtype.is_complex() && !dims.is_empty(), "_fft_c2r of {}", x.dtype.name());
    let last = wrap_dims(&dims, x.dim())?[dims.len() - 1];
    let mut sizes = x.sizes.clone();
    sizes[last] = size;
    one(Fake::new(x.dtype.to_real(), sizes))
}

fn real_to_complex(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, dims, normalization, onesided): (&Tensor, Vec<i64>, i64, bool) = args.unpack()?;
    let scale = scale(normalization, transformed(x.sizes(), &dims)?)?;
    if onesided {
        return Ok(r2c(x, &dims, scale, &mut outs[0])?);
    }
    let x = x.to_dtype(outs[0].dtype());
    Ok(c2c(&x, &dims, Direction::Forward, scale, &mut outs[0])?)
}

fn complex_to_complex(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, dims, normalization, forward): (&Tensor, Vec<i64>, i64, bool) = args.unpack()?;
    let scale = scale(normalization, transformed(x.sizes(), &dims)?)?;
    let direction = if forward { Direction::Forward } else { Direction::Inverse };
    Ok(c2c(x, &dims, direction, scale, &mut outs[0])?)
}

fn complex_to_real(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, dims, normalization): (&Tensor, Vec<i64>, i64) = args.unpack()?;
    let scale = scale(normalization, transformed(outs[0].sizes(), &dims)?)?;
    Ok(c2r(x, &dims, scale, &mut outs[0])?)
}

/// What `stft` is called with.
struct Call {
    n_fft: i64,
    hop: i64,
    width: i64,
    normalized: bool,
    onesided: bool,
    complex: bool,
}

fn call<'a, W: oxport_ir::World>(args: &Args<'a, W>, is_complex: bool) -> Result<Call> {
    let (n_fft, hop, width): (i64, Option<i64>, Option<i64>) = (args.at(1)?, args.at(2)?, args.at(3)?);
    let (normalized, onesided): (bool, Option<bool>) = (args.at(5)?, args.at(6)?);
    let complex: Option<bool> = args.at(7)?;
    let hop = hop.unwrap_or(n_fft / 4);
    ensure!(n_fft > 0 && hop > 0, "stft wants a positive n_fft and hop_length");
    Ok(Call {
        n_fft,
        hop,
        width: width.unwrap_or(n_fft),
        normalized,
        onesided: onesided.unwrap_or(!is_complex),
        complex: complex.unwrap_or(is_complex),
    })
}

fn stft_meta(args: &MetaArgs<'_>) -> Metas {
    let x: &Fake = args.at(0)?;
    let c = call(args, x.dtype.is_complex())?;
    ensure!(matches!(x.dim(), 1 | 2), "stft wants a signal of 1 or 2 dimensions");
    ensure!(x.dtype.is_float() || x.dtype.is_complex(), "stft of {}", x.dtype.name());
    let length = &x.sizes[x.dim() - 1];
    let frames = (length - &Expr::from(c.n_fft)).floor_div(&Expr::from(c.hop)) + Expr::from(1i64);
    let bins = if c.onesided { c.n_fft / 2 + 1 } else { c.n_fft };
    let dtype = if c.complex { x.dtype.to_complex() } else { x.dtype.to_real() };
    let mut sizes: Vec<Expr> = x.sizes[..x.dim() - 1].to_vec();
    sizes.extend([frames, Expr::from(bins)]);
    sizes.extend((!c.complex).then(|| Expr::from(2i64)));
    // Computed frame by frame, shown with the frequencies first.
    let mut out = Fake::new(dtype, sizes);
    let at = x.dim() - 1;
    out.sizes.swap(at, at + 1);
    out.strides.swap(at, at + 1);
    one(out)
}

fn stft(b: &mut Builder<'_>, args: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (x, window): (NodeId, Option<NodeId>) = (args.at(0)?, args.at(4)?);
    let dtype = b.fake(x)?.dtype;
    let c = call(args, dtype.is_complex())?;
    let last = b.fake(x)?.dim() as i64;
    let mut frames = b.call("aten::unfold", (x, -1i64, c.n_fft, c.hop))?;
    let left = (c.n_fft - c.width) / 2;
    let padded = |b: &mut Builder<'_>, window: NodeId| -> Result<NodeId> {
        if c.width == c.n_fft {
            return Ok(window);
        }
        b.call("aten::constant_pad_nd", (window, vec![left, c.n_fft - c.width - left]))
    };
    let window = match window {
        Some(window) => Some(padded(b, window)?),
        None if c.width < c.n_fft => {
            let ones = b.call_kw("aten::ones", (vec![c.width],), &[("dtype", dtype.to_real().into())])?;
            Some(padded(b, ones)?)
        }
        None => None,
    };
    if let Some(window) = window {
        frames = b.call("aten::mul.Tensor", (frames, window))?;
    }
    let normalization = i64::from(c.normalized);
    let spectrum = if dtype.is_complex() {
        b.call("aten::_fft_c2c", (frames, vec![last], normalization, true))?
    } else {
        b.call("aten::_fft_r2c", (frames, vec![last], normalization, c.onesided))?
    };
    let mut out = b.call("aten::transpose.int", (spectrum, last - 1, last))?;
    if !c.complex {
        out = b.call("aten::view_as_real", (out,))?;
    }
    Ok(vec![out.into()])
}
