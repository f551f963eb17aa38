//! The named forms: `fft_fft` to `fft_ihfftn`, shifts and frequencies.
//!
//! A name says it all: `i` inverse, `r` real input (or output, if inverse), `h` Hermitian, `2` and `n` several
//! dimensions.

use super::transformed;
use crate::linalg::linear::ints;
use crate::support::dense::fill;
use crate::support::meta::{MetaArgs, Metas, one, wrap_dim, wrap_dims};
use oxport_ir::fake::contiguous_strides;
use oxport_ir::{Args, Argument, Build, Builder, Error, Fake, NodeId, OpDef, Real, Result, World, ensure};
use oxport_sym::Expr;
use oxport_tensor::{DType, TensorMut};

pub(super) const fn fft(schema: &'static str) -> OpDef {
    OpDef::new(schema, fft_meta).doc("A discrete Fourier transform.").decomp(fft_decomp).samples(&["f32[3, 4]"])
}
pub(super) const fn shift(schema: &'static str) -> OpDef {
    OpDef::new(schema, shift_meta)
        .doc("Moves the zero frequency to the middle, or back.")
        .decomp(shift_decomp)
        .samples(&["f32[3, 4]", "f32[3, 4], [0]"])
}
pub(super) const fn frequencies(schema: &'static str) -> OpDef {
    OpDef::new(schema, frequencies_meta)
        .doc("The frequencies of a transform of `n` samples `d` apart.")
        .fill(frequencies_kernel)
        .samples(&["5, 0.5", "4"])
}

/// The kinds of transform.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// Complex to complex.
    C2c,
    /// Real to half.
    R2c,
    /// Half to real.
    C2r,
    /// Half to real, forward: of the conjugate.
    Hermitian,
    /// Real to half, inverse: conjugated.
    InverseHermitian,
}

/// What a name says.
struct Form {
    kind: Kind,
    inverse: bool,
    several: bool,
}

fn form(name: &str) -> Form {
    let stem = name.trim_start_matches("fft_");
    let several = stem.ends_with(['2', 'n']);
    let stem = stem.trim_end_matches(['2', 'n']);
    let (kind, inverse) = match stem {
        "rfft" => (Kind::R2c, false),
        "irfft" => (Kind::C2r, true),
        "hfft" => (Kind::Hermitian, false),
        "ihfft" => (Kind::InverseHermitian, true),
        "ifft" => (Kind::C2c, true),
        _ => (Kind::C2c, false),
    };
    Form { kind, inverse, several }
}

/// The code of a normalisation by name.
fn normalization(norm: Option<&str>, inverse: bool) -> Result<i64> {
    Ok(match (norm.unwrap_or("backward"), inverse) {
        ("backward", false) | ("forward", true) => 0,
        ("ortho", _) => 1,
        ("backward", true) | ("forward", false) => 2,
        (other, _) => return Err(Error::invalid(format!("no normalisation `{other}`"))),
    })
}

/// Dimensions and wanted sizes (`None`: as they are) of a call on a tensor of so many dimensions.
fn request<'a, W: World, I: oxport_ir::FromArg<'a, W> + Clone>(
    args: &Args<'a, W>,
    ndim: usize,
    keep: impl Fn(&I) -> bool,
) -> Result<(Vec<usize>, Vec<Option<I>>)> {
    if !form(args.op.short_name()).several {
        let (n, dim): (Option<I>, i64) = (args.at(1)?, args.at(2)?);
        ensure!(ndim > 0, "{}: a number has no dimension", args.op.name());
        return Ok((vec![wrap_dim(dim, ndim)?], vec![n]));
    }
    let sizes: Option<Vec<I>> = args.at(1)?;
    let dims: Option<Vec<i64>> = args.at(2)?;
    let dims = match (&sizes, dims) {
        (_, Some(dims)) => {
            ensure!(ndim > 0 || dims.is_empty(), "{}: a number has no dimension", args.op.name());
            wrap_dims(&dims, ndim)?
        }
        (Some(sizes), None) => {
            ensure!(sizes.len() <= ndim, "{}: {} sizes for {ndim} dimensions", args.op.name(), sizes.len());
            (ndim - sizes.len()..ndim).collect()
        }
        (None, None) => (0..ndim).collect(),
    };
    let sizes = match sizes {
        Some(sizes) => {
            ensure!(
                sizes.len() == dims.len(),
                "{}: {} sizes for {} dimensions",
                args.op.name(),
                sizes.len(),
                dims.len()
            );
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

fn fft_meta(args: &MetaArgs<'_>) -> Metas {
    let x: &Fake = args.at(0)?;
    let cx = args.cx;
    let f = form(args.op.short_name());
    normalization(args.at(3)?, f.inverse)?;
    let (dims, wanted) = request::<_, Expr>(args, x.dim(), |s| s.as_int() == Some(-1))?;
    let real_input = matches!(f.kind, Kind::R2c | Kind::InverseHermitian);
    ensure!(!(real_input && x.dtype.is_complex()), "{}: expected a real input", args.op.name());
    let plain = f.kind == Kind::C2c && !f.several && !x.dtype.is_complex();
    let dtype = promoted(x.dtype, !real_input && !plain)?;
    let mut y = x.with_dtype(dtype);
    if x.dtype != dtype {
        y.strides = crate::support::meta::preserved_strides(cx, x);
    }
    let Some((&last, rest)) = dims.split_last() else {
        ensure!(f.kind == Kind::C2c, "{}: expected at least one dimension", args.op.name());
        return one(Fake { strides: crate::support::meta::preserved_strides(cx, &y), ..y });
    };
    let half = matches!(f.kind, Kind::C2r | Kind::Hermitian);
    let out_last = match (half, wanted.last().cloned().flatten()) {
        (true, None) => (&y.sizes[last] - 1) * 2,
        (_, Some(n)) => n,
        (false, None) => y.sizes[last].clone(),
    };
    ensure!(out_last.as_int().is_none_or(|n| n > 0), "{}: invalid number of data points {out_last}", args.op.name());
    let mut grows = false;
    for (&d, wanted) in dims.iter().zip(&wanted) {
        let target = match wanted {
            _ if half && d == last => out_last.floor_div(&Expr::from(2i64)) + 1,
            Some(n) => n.clone(),
            None => continue,
        };
        ensure!(target.as_int().is_none_or(|n| n > 0), "{}: invalid number of data points {target}", args.op.name());
        grows |= cx.decide(&y.sizes[d].lt(&target), false);
        y.sizes[d] = target;
    }
    if grows {
        y.strides = contiguous_strides(&y.sizes);
    }
    ensure!(!dims.iter().any(|&d| cx.is(&y.sizes[d], 0)), "{}: a dimension has no data points", args.op.name());
    let mut sizes = y.sizes.to_vec();
    let out = match f.kind {
        Kind::C2c => transformed(cx, &y, &dims, plain, dtype.to_complex(), &sizes),
        Kind::R2c | Kind::InverseHermitian => {
            sizes[last] = sizes[last].floor_div(&Expr::from(2i64)) + 1;
            if f.kind == Kind::InverseHermitian && !rest.is_empty() {
                let first = transformed(cx, &y, &[last], true, dtype.to_complex(), &sizes);
                transformed(cx, &first, rest, false, dtype.to_complex(), &sizes)
            } else {
                transformed(cx, &y, &dims, true, dtype.to_complex(), &sizes)
            }
        }
        Kind::C2r | Kind::Hermitian => {
            let first = if rest.is_empty() { y } else { transformed(cx, &y, rest, false, dtype, &sizes) };
            sizes[last] = out_last;
            transformed(cx, &first, &[last], true, dtype.to_real(), &sizes)
        }
    };
    one(out)
}

fn fft_decomp(b: &mut Builder<'_>, args: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let f = form(args.op.short_name());
    let mut x: NodeId = args.at(0)?;
    let fake = b.fake(x)?.clone();
    let norm = normalization(args.at(3)?, f.inverse)?;
    let (dims, wanted) = request::<_, Argument>(args, fake.dim(), |s| *s == Argument::Int(-1))?;
    let real_input = matches!(f.kind, Kind::R2c | Kind::InverseHermitian);
    let plain = f.kind == Kind::C2c && !f.several && !fake.dtype.is_complex();
    let dtype = promoted(fake.dtype, !real_input && !plain)?;
    if fake.dtype != dtype {
        x = b.call_kw("_to_copy", (x,), &[("dtype", dtype.into())])?;
    }
    let Some((&last, rest)) = dims.split_last() else {
        return Ok(vec![b.call("clone", (x,))?.into()]);
    };
    let half = matches!(f.kind, Kind::C2r | Kind::Hermitian);
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
    let y = match f.kind {
        Kind::C2c if plain => {
            let y = b.call("_fft_r2c", (x, list(&dims), norm_of(norm), false))?;
            if f.inverse { b.call("conj_physical", (y,))? } else { y }
        }
        Kind::C2c => b.call("_fft_c2c", (x, list(&dims), norm, !f.inverse))?,
        Kind::R2c => b.call("_fft_r2c", (x, list(&dims), norm, true))?,
        Kind::InverseHermitian => {
            let y = b.call("_fft_r2c", (x, ints(&[last as i64]), norm, true))?;
            let y = b.call("conj_physical", (y,))?;
            if rest.is_empty() { y } else { b.call("_fft_c2c", (y, list(rest), norm, false))? }
        }
        Kind::C2r => b.call("_fft_c2r", (x, list(&dims), norm, out_last))?,
        Kind::Hermitian => {
            let x = if rest.is_empty() { x } else { b.call("_fft_c2c", (x, list(rest), norm, true))? };
            let x = b.call("conj_physical", (x,))?;
            b.call("_fft_c2r", (x, ints(&[last as i64]), norm, out_last))?
        }
    };
    Ok(vec![y.into()])
}

/// A normalisation as an argument.
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
        (_, m) => b.call("slice.Tensor", (x, dim, 0i64, m)),
    }
}

fn shift_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, dims): (&Fake, Option<Vec<i64>>) = args.unpack()?;
    wrap_dims(&dims.unwrap_or_default(), x.dim())?;
    one(crate::support::checks::fresh(x, x.dtype, x.sizes.clone()))
}

fn shift_decomp(b: &mut Builder<'_>, args: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (x, dims): (NodeId, Option<Vec<i64>>) = args.unpack()?;
    let ndim = b.fake(x)?.dim();
    let dims = wrap_dims(&dims.unwrap_or_else(|| (0..ndim as i64).collect()), ndim)?;
    let back = args.op.short_name().contains("ifftshift");
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

/// The number of frequencies.
fn count(name: &str, n: i64) -> i64 {
    if name.contains("rfft") { n / 2 + 1 } else { n }
}

fn frequencies_meta(args: &MetaArgs<'_>) -> Metas {
    let (n, _d, dtype): (i64, f64, Option<DType>) = args.unpack()?;
    ensure!(n >= 0, "{}: a negative number of samples", args.op.name());
    let dtype = dtype.unwrap_or(DType::F32);
    ensure!(dtype.is_float() || dtype.is_complex(), "{} is not implemented for {}", args.op.name(), dtype.name());
    one(Fake::new(dtype, [Expr::from(count(args.op.short_name(), n))]))
}

fn frequencies_kernel(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (n, d): (i64, f64) = args.unpack()?;
    let step = 1.0 / (n as f64 * d);
    let half = args.op.short_name().contains("rfft");
    fill(&mut outs[0], |out: &mut [f64]| {
        for (i, y) in (0..).zip(out.iter_mut()) {
            let k = if half || i < (n + 1) / 2 { i } else { i - n };
            *y = k as f64 * step;
        }
    })
}
