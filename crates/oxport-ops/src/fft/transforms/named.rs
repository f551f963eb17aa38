//! The named forms: `fft_fft` to `fft_ihfftn`, shifts and frequencies.
//!
//! In their names, `i` is inverse, `r` real input (or output, if inverse), `h` Hermitian; `2` and `n` are several
//! dimensions.

use super::transformed;
use crate::linalg::linear::ints;
use crate::support::class::Fill;
use crate::support::dense::fill;
use crate::support::meta::{MetaArgs, Metas, one, wrap_dim, wrap_dims};
use oxport_ir::fake::contiguous_strides;
use oxport_ir::opdef::MetaFn;
use oxport_ir::{Args, Argument, Build, Builder, Class, Error, Fake, NodeId, OpDef, Real, Result, World, ensure};
use oxport_sym::Expr;
use oxport_tensor::{DType, TensorMut};

pub(super) const fn fft(schema: &'static str, kind: Kind) -> OpDef {
    let (meta, decomp): (MetaFn, Expand) = match kind {
        Kind::Forward => (|a| fft_meta(a, Kind::Forward), |b, a| fft_decomp(b, a, Kind::Forward)),
        Kind::Inverse => (|a| fft_meta(a, Kind::Inverse), |b, a| fft_decomp(b, a, Kind::Inverse)),
        Kind::RealToHalf => (|a| fft_meta(a, Kind::RealToHalf), |b, a| fft_decomp(b, a, Kind::RealToHalf)),
        Kind::HalfToReal => (|a| fft_meta(a, Kind::HalfToReal), |b, a| fft_decomp(b, a, Kind::HalfToReal)),
        Kind::HermitianToReal => {
            (|a| fft_meta(a, Kind::HermitianToReal), |b, a| fft_decomp(b, a, Kind::HermitianToReal))
        }
        Kind::RealToHermitian => {
            (|a| fft_meta(a, Kind::RealToHermitian), |b, a| fft_decomp(b, a, Kind::RealToHermitian))
        }
    };
    OpDef::new(schema, meta).doc("A discrete Fourier transform.").decomp(decomp).samples(&["f32[3, 4]"])
}
pub(super) const fn shift(schema: &'static str) -> OpDef {
    OpDef::new(schema, shift_meta)
        .doc("Moves the zero frequency to the middle, or back.")
        .decomp(|b, a| shift_decomp(b, a, Shift::ToMiddle))
        .samples(&["f32[3, 4]", "f32[3, 4], [0]"])
}
pub(super) const fn unshift(schema: &'static str) -> OpDef {
    shift(schema).decomp(|b, a| shift_decomp(b, a, Shift::Back))
}
pub(super) const fn frequencies(schema: &'static str) -> OpDef {
    spectrum(schema, |a| frequencies_meta(a, Frequencies::All), |a, o| frequencies_kernel(a, o, Frequencies::All))
}
pub(super) const fn half_frequencies(schema: &'static str) -> OpDef {
    spectrum(schema, |a| frequencies_meta(a, Frequencies::Half), |a, o| frequencies_kernel(a, o, Frequencies::Half))
}
const fn spectrum(schema: &'static str, meta: MetaFn, kernel: Fill) -> OpDef {
    OpDef::new(schema, meta)
        .doc("The frequencies of a transform of `n` samples `d` apart.")
        .fill(kernel)
        .work(Class::Transform)
        .samples(&["5, 0.5", "4"])
}

type Expand = fn(&mut Builder<'_>, &Args<'_, Build>) -> Result<Vec<Argument>>;

/// The kinds of transform. Where real numbers are transformed, one half of the spectrum says it all.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    /// Complex to complex, forward: `fft`.
    Forward,
    /// Complex to complex, inverse: `ifft`.
    Inverse,
    /// Real to half, forward: `rfft`.
    RealToHalf,
    /// Half to real, inverse: `irfft`.
    HalfToReal,
    /// Half to real, forward: `hfft`, of the conjugate.
    HermitianToReal,
    /// Real to half, inverse: `ihfft`, conjugated.
    RealToHermitian,
}

impl Kind {
    fn is_inverse(self) -> bool {
        matches!(self, Kind::Inverse | Kind::HalfToReal | Kind::RealToHermitian)
    }
    fn is_complex(self) -> bool {
        matches!(self, Kind::Forward | Kind::Inverse)
    }
    fn takes_real(self) -> bool {
        matches!(self, Kind::RealToHalf | Kind::RealToHermitian)
    }
    fn takes_half(self) -> bool {
        matches!(self, Kind::HalfToReal | Kind::HermitianToReal)
    }
}

/// Whether a form transforms several dimensions: then it takes sizes `s`, not a size `n`.
fn takes_several<W: World>(args: &Args<'_, W>) -> bool {
    args.has("s")
}

/// The code of a normalization by name.
fn normalization(norm: Option<&str>, inverse: bool) -> Result<i64> {
    Ok(match (norm.unwrap_or("backward"), inverse) {
        ("backward", false) | ("forward", true) => 0,
        ("ortho", _) => 1,
        ("backward", true) | ("forward", false) => 2,
        (other, _) => return Err(Error::invalid(format!("no normalization `{other}`"))),
    })
}

/// Dimensions and wanted sizes (`None`: as they are) of a call on a tensor of so many dimensions.
fn request<'a, W: World, I: oxport_ir::FromArg<'a, W> + Clone>(
    args: &Args<'a, W>,
    ndim: usize,
    keep: impl Fn(&I) -> bool,
) -> Result<(Vec<usize>, Vec<Option<I>>)> {
    if !takes_several(args) {
        let (n, dim): (Option<I>, i64) = (args.at(1)?, args.at(2)?);
        ensure!(ndim > 0, "{}: a number has no dimension", args.name());
        return Ok((vec![wrap_dim(dim, ndim)?], vec![n]));
    }
    let sizes: Option<Vec<I>> = args.at(1)?;
    let dims: Option<Vec<i64>> = args.at(2)?;
    let dims = match (&sizes, dims) {
        (_, Some(dims)) => {
            ensure!(ndim > 0 || dims.is_empty(), "{}: a number has no dimension", args.name());
            wrap_dims(&dims, ndim)?
        }
        (Some(sizes), None) => {
            ensure!(sizes.len() <= ndim, "{}: {} sizes for {ndim} dimensions", args.name(), sizes.len());
            (ndim - sizes.len()..ndim).collect()
        }
        (None, None) => (0..ndim).collect(),
    };
    let sizes = match sizes {
        Some(sizes) => {
            ensure!(sizes.len() == dims.len(), "{}: {} sizes for {} dimensions", args.name(), sizes.len(), dims.len());
            sizes.into_iter().map(|s| if keep(&s) { None } else { Some(s) }).collect()
        }
        None => vec![None; dims.len()],
    };
    Ok((dims, sizes))
}

/// The dtype that a transform computes in.
fn promoted(dtype: DType, complex: bool) -> Result<DType> {
    let float = if dtype.is_float() || dtype.is_complex() { dtype } else { DType::F32 };
    let fits = matches!(float, DType::F32 | DType::F64 | DType::C64 | DType::C128);
    ensure!(fits, "transforms are not implemented for {}", dtype.name());
    Ok(if complex { float.to_complex() } else { float })
}

fn fft_meta(args: &MetaArgs<'_>, kind: Kind) -> Metas {
    let x: &Fake = args.at(0)?;
    let cx = args.cx;
    normalization(args.at(3)?, kind.is_inverse())?;
    let (dims, wanted) = request::<_, Expr>(args, x.dim(), |s| s.as_int() == Some(-1))?;
    let real_input = kind.takes_real();
    ensure!(!(real_input && x.dtype.is_complex()), "{}: expected a real input", args.name());
    let plain = kind.is_complex() && !takes_several(args) && !x.dtype.is_complex();
    let dtype = promoted(x.dtype, !real_input && !plain)?;
    let mut y = x.with_dtype(dtype);
    if x.dtype != dtype {
        y.strides = crate::support::meta::preserved_strides(cx, x);
    }
    let Some((&last, rest)) = dims.split_last() else {
        ensure!(kind.is_complex(), "{}: expected at least one dimension", args.name());
        return one(Fake { strides: crate::support::meta::preserved_strides(cx, &y), ..y });
    };
    let half = kind.takes_half();
    let out_last = match (half, wanted.last().cloned().flatten()) {
        (true, None) => (&y.sizes[last] - 1) * 2,
        (_, Some(n)) => n,
        (false, None) => y.sizes[last].clone(),
    };
    ensure!(out_last.as_int().is_none_or(|n| n > 0), "{}: invalid number of data points {out_last}", args.name());
    let mut grows = false;
    for (&d, wanted) in dims.iter().zip(&wanted) {
        let target = match wanted {
            _ if half && d == last => out_last.floor_div(&Expr::from(2i64)) + 1,
            Some(n) => n.clone(),
            None => continue,
        };
        ensure!(target.as_int().is_none_or(|n| n > 0), "{}: invalid number of data points {target}", args.name());
        grows |= cx.decide(&y.sizes[d].lt(&target), false);
        y.sizes[d] = target;
    }
    if grows {
        y.strides = contiguous_strides(&y.sizes);
    }
    ensure!(!dims.iter().any(|&d| cx.is(&y.sizes[d], 0)), "{}: a dimension has no data points", args.name());
    let mut sizes = y.sizes.to_vec();
    let out = match kind {
        Kind::Forward | Kind::Inverse => transformed(cx, &y, &dims, plain, dtype.to_complex(), &sizes),
        Kind::RealToHalf | Kind::RealToHermitian => {
            sizes[last] = sizes[last].floor_div(&Expr::from(2i64)) + 1;
            if kind == Kind::RealToHermitian && !rest.is_empty() {
                let first = transformed(cx, &y, &[last], true, dtype.to_complex(), &sizes);
                transformed(cx, &first, rest, false, dtype.to_complex(), &sizes)
            } else {
                transformed(cx, &y, &dims, true, dtype.to_complex(), &sizes)
            }
        }
        Kind::HalfToReal | Kind::HermitianToReal => {
            let first = if rest.is_empty() { y } else { transformed(cx, &y, rest, false, dtype, &sizes) };
            sizes[last] = out_last;
            transformed(cx, &first, &[last], true, dtype.to_real(), &sizes)
        }
    };
    one(out)
}

fn fft_decomp(b: &mut Builder<'_>, args: &Args<'_, Build>, kind: Kind) -> Result<Vec<Argument>> {
    let mut x: NodeId = args.at(0)?;
    let fake = b.fake(x)?.clone();
    let norm = normalization(args.at(3)?, kind.is_inverse())?;
    let (dims, wanted) = request::<_, Argument>(args, fake.dim(), |s| *s == Argument::Int(-1))?;
    let plain = kind.is_complex() && !takes_several(args) && !fake.dtype.is_complex();
    let dtype = promoted(fake.dtype, !kind.takes_real() && !plain)?;
    if fake.dtype != dtype {
        x = b.call_kw("_to_copy", (x,), &[("dtype", dtype.into())])?;
    }
    let Some((&last, rest)) = dims.split_last() else {
        return Ok(vec![b.call("clone", (x,))?.into()]);
    };
    let half = kind.takes_half();
    let out_last = match wanted.last().cloned().flatten() {
        Some(n) => n,
        None if half => match b.size(x, last as i64)? {
            Argument::Int(n) => Argument::Int(2 * (n - 1)),
            n => {
                let less = b.call("_operator::sub", (n, 1i64))?;
                b.call("_operator::mul", (less, 2i64))?.into()
            }
        },
        None => b.size(x, last as i64)?,
    };
    for (&d, wanted) in dims.iter().zip(&wanted) {
        let target = match wanted {
            _ if half && d == last => match &out_last {
                Argument::Int(n) => Argument::Int(n / 2 + 1),
                n => {
                    let less = b.call("_operator::floordiv", (n.clone(), 2i64))?;
                    b.call("_operator::add", (less, 1i64))?.into()
                }
            },
            Some(n) => n.clone(),
            None => continue,
        };
        x = resize(b, x, d as i64, target)?;
    }
    let list = |d: &[usize]| ints(&d.iter().map(|&d| d as i64).collect::<Vec<_>>());
    let y = match kind {
        Kind::Forward | Kind::Inverse if plain => {
            let y = b.call("_fft_r2c", (x, list(&dims), norm_of(norm), false))?;
            if kind.is_inverse() { b.call("conj_physical", (y,))? } else { y }
        }
        Kind::Forward | Kind::Inverse => b.call("_fft_c2c", (x, list(&dims), norm, !kind.is_inverse()))?,
        Kind::RealToHalf => b.call("_fft_r2c", (x, list(&dims), norm, true))?,
        Kind::RealToHermitian => {
            let y = b.call("_fft_r2c", (x, ints(&[last as i64]), norm, true))?;
            let y = b.call("conj_physical", (y,))?;
            if rest.is_empty() { y } else { b.call("_fft_c2c", (y, list(rest), norm, false))? }
        }
        Kind::HalfToReal => b.call("_fft_c2r", (x, list(&dims), norm, out_last))?,
        Kind::HermitianToReal => {
            let x = if rest.is_empty() { x } else { b.call("_fft_c2c", (x, list(rest), norm, true))? };
            let x = b.call("conj_physical", (x,))?;
            b.call("_fft_c2r", (x, ints(&[last as i64]), norm, out_last))?
        }
    };
    Ok(vec![y.into()])
}

/// A normalization as an argument.
fn norm_of(norm: i64) -> Argument {
    norm.into()
}

/// Cuts a dimension, or fills it with zeros.
fn resize(b: &mut Builder<'_>, x: NodeId, dim: i64, target: Argument) -> Result<NodeId> {
    let ndim = b.fake(x)?.dim() as i64;
    match (b.size(x, dim)?, target) {
        (Argument::Int(n), Argument::Int(m)) if n < m => {
            let mut pad = vec![0i64; 2 * (ndim - dim) as usize];
            pad[2 * (ndim - dim) as usize - 1] = m - n;
            b.call("constant_pad_nd", (x, pad))
        }
        (n, m) if n == m => Ok(x),
        (Argument::Int(_), m @ Argument::Int(_)) => b.call("slice.Tensor", (x, dim, 0i64, m)),
        // Which of the two it is, only the run says: a negative padding cuts.
        (n, m) => {
            let more = b.call("_operator::sub", (m, n))?;
            let mut pad = vec![Argument::Int(0); 2 * (ndim - dim) as usize];
            pad[2 * (ndim - dim) as usize - 1] = more.into();
            b.call("constant_pad_nd", (x, Argument::List(pad)))
        }
    }
}

fn shift_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, dims): (&Fake, Option<Vec<i64>>) = args.unpack()?;
    wrap_dims(&dims.unwrap_or_default(), x.dim())?;
    one(crate::support::checks::fresh(x, x.dtype, x.sizes.clone()))
}

/// Which way the zero frequency is moved.
#[derive(Clone, Copy, PartialEq)]
enum Shift {
    ToMiddle,
    Back,
}

fn shift_decomp(b: &mut Builder<'_>, args: &Args<'_, Build>, shift: Shift) -> Result<Vec<Argument>> {
    let (x, dims): (NodeId, Option<Vec<i64>>) = args.unpack()?;
    let ndim = b.fake(x)?.dim();
    let dims = wrap_dims(&dims.unwrap_or_else(|| (0..ndim as i64).collect()), ndim)?;
    let back = shift == Shift::Back;
    let mut shifts: Vec<Argument> = Vec::with_capacity(dims.len());
    for &d in &dims {
        shifts.push(match b.size(x, d as i64)? {
            Argument::Int(n) => Argument::Int(n / 2 + if back { n % 2 } else { 0 }),
            n => {
                let n = if back { b.call("_operator::add", (n, 1i64))?.into() } else { n };
                b.call("_operator::floordiv", (n, 2i64))?.into()
            }
        });
    }
    let dims: Vec<i64> = dims.iter().map(|&d| d as i64).collect();
    Ok(vec![b.call("roll", (x, shifts, dims))?.into()])
}

/// Which frequencies there are: of real numbers, the first half.
#[derive(Clone, Copy, PartialEq)]
enum Frequencies {
    All,
    Half,
}

fn frequencies_meta(args: &MetaArgs<'_>, which: Frequencies) -> Metas {
    let (n, _d, dtype): (i64, f64, Option<DType>) = args.unpack()?;
    ensure!(n >= 0, "{}: a negative number of samples", args.name());
    let dtype = dtype.unwrap_or(DType::F32);
    ensure!(dtype.is_float() || dtype.is_complex(), "{} is not implemented for {}", args.name(), dtype.name());
    let count = if which == Frequencies::Half { n / 2 + 1 } else { n };
    one(Fake::new(dtype, [Expr::from(count)]))
}

fn frequencies_kernel(args: &Args<'_, Real>, outs: &mut [TensorMut], which: Frequencies) -> Result<()> {
    let (n, d): (i64, f64) = args.unpack()?;
    let step = 1.0 / (n as f64 * d);
    let half = which == Frequencies::Half;
    fill(&mut outs[0], |out: &mut [f64]| {
        for (i, y) in (0..).zip(out.iter_mut()) {
            let k = if half || i < (n + 1) / 2 { i } else { i - n };
            *y = k as f64 * step;
        }
    })
}
