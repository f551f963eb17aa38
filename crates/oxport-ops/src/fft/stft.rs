//! Short-time Fourier transforms and their inverse.
//!
//! ```text
//! signal [.., L] → frames [.., T, n_fft], hop apart → times the window → spectra [.., F, T]
//! ```

use crate::support::checks::{fresh, of_dim};
use crate::support::dense::{Dense, computed, fill};
use crate::support::meta::{MetaArgs, Metas, one};
use oxport_ir::{Args, Argument, Build, Builder, Class, Error, Fake, NodeId, OpDef, Real, Result, World, ensure};
use oxport_sym::Expr;
use oxport_tensor::fft::{Direction, c2c, c2r};
use oxport_tensor::{Complex, DType, Layout, Tensor, TensorMut, filled};

/// The operators of this family.
pub static OPS: &[OpDef] = &[
    forward(
        "aten::stft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? \
        window=None, bool normalized=False, bool? onesided=None, bool? return_complex=None, bool? \
        align_to_window=None) -> Tensor",
    )
    .samples(&["f32[2, 32], 8, 2, 6, f32[6], return_complex=True", "!f32[4], 8, return_complex=True"]),
    forward(
        "aten::stft.center(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? \
        window=None, bool center=True, str pad_mode=\"reflect\", bool normalized=False, bool? \
        onesided=None, bool? return_complex=None, bool? align_to_window=None) -> Tensor",
    ),
    OpDef::new(
        "aten::istft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? \
        window=None, bool center=True, bool normalized=False, bool? onesided=None, int? length=None, \
        bool return_complex=False) -> Tensor",
        istft_meta,
    )
    .doc("The signal whose short-time spectra these are, by overlapping and adding.")
    .fill(istft)
    .work(Class::Transform),
];

const fn forward(schema: &'static str) -> OpDef {
    OpDef::new(schema, stft_meta).doc("The spectra of a signal's overlapping frames.").decomp(stft)
}

/// What the forms have in common.
struct Spec<T> {
    n: i64,
    hop: i64,
    width: i64,
    window: Option<T>,
    normalized: bool,
    onesided: Option<bool>,
}

fn spec<'a, W: World, T: oxport_ir::FromArg<'a, W>>(args: &Args<'a, W>) -> Result<Spec<T>> {
    let (n, hop, width): (i64, Option<i64>, Option<i64>) = (args.at(1)?, args.at(2)?, args.at(3)?);
    let s = Spec {
        n,
        hop: hop.unwrap_or(n / 4),
        width: width.unwrap_or(n),
        window: args.at(4)?,
        normalized: args.named("normalized")?,
        onesided: args.named("onesided")?,
    };
    let name = args.name();
    ensure!(s.n > 0 && s.hop > 0, "{name}: n_fft {} and hop_length {} must be positive", s.n, s.hop);
    ensure!((1..=s.n).contains(&s.width), "{name}: win_length {} of n_fft {}", s.width, s.n);
    Ok(s)
}

fn check_window(args: &MetaArgs<'_>, s: &Spec<&Fake>) -> Result<()> {
    if let Some(w) = s.window {
        ensure!(w.dim() == 1, "{}: window {w}", args.name());
        crate::support::checks::agree(args.cx, &w.sizes[0], &Expr::from(s.width), "sizes of window and win_length")?;
    }
    Ok(())
}

/// True if the signal is padded so that frames are centered.
fn centered<W: World>(args: &Args<'_, W>) -> Result<bool> {
    let has = args.has("center");
    if has { args.named("center") } else { Ok(false) }
}

fn stft_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, s): (&Fake, Spec<&Fake>) = (args.at(0)?, spec(args)?);
    let name = args.name();
    of_dim(args, x, 1..=2, "the signal")?;
    ensure!(x.dtype.is_float() || x.dtype.is_complex(), "{name} is not implemented for {}", x.dtype.name());
    check_window(args, &s)?;
    let complex = x.dtype.is_complex() || s.window.is_some_and(|w| w.dtype.is_complex());
    let onesided = s.onesided.unwrap_or(!complex);
    ensure!(!(onesided && complex), "{name}: onesided spectra want real signals and windows");
    let as_complex: Option<bool> = args.named("return_complex")?;
    ensure!(as_complex.is_some() || complex, "{name}: expected return_complex for a real signal");
    let padded = if centered(args)? { s.n / 2 } else { 0 };
    let length = &x.sizes[x.dim() - 1] + 2 * padded;
    ensure!(length.as_int().is_none_or(|l| l >= s.n), "{name}: a signal of {length} for frames of {}", s.n);
    let frames = (&length - s.n).floor_div(&Expr::from(s.hop)) + 1;
    let bins = Expr::from(if onesided { s.n / 2 + 1 } else { s.n });
    let dtype = s.window.map_or(Some(x.dtype), |w| DType::promote(x.dtype, w.dtype));
    let dtype = dtype.ok_or_else(|| Error::invalid("stft: no common dtype"))?.to_complex();
    // Made as [.., T, F] and transposed.
    let lead = x.sizes[..x.dim() - 1].to_vec();
    let plain = fresh(x, dtype, lead.iter().cloned().chain([frames, bins]));
    let d = plain.dim();
    let mut out = plain;
    out.sizes.swap(d - 2, d - 1);
    out.strides.swap(d - 2, d - 1);
    if as_complex == Some(false) {
        let double = |s: &Expr| s * 2;
        out.strides = out.strides.iter().map(double).chain([Expr::from(1i64)]).collect();
        out.sizes.push(Expr::from(2i64));
        out.dtype = dtype.to_real();
    }
    one(out)
}

fn stft(b: &mut Builder<'_>, args: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let s: Spec<NodeId> = spec(args)?;
    let mut x: NodeId = args.at(0)?;
    let single = b.fake(x)?.dim() == 1;
    if centered(args)? {
        let mode: &str = args.named("pad_mode")?;
        // Padding needs a dimension of channels.
        let y = b.call("unsqueeze", (x, 0i64))?;
        let y = b.call("pad", (y, vec![s.n / 2, s.n / 2], mode))?;
        x = b.call("squeeze.dim", (y, 0i64))?;
    }
    let mut frames = b.call("unfold", (x, -1i64, s.n, s.hop))?;
    let fake = b.fake(x)?.clone();
    let mut window = s.window;
    if window.is_none() && s.width < s.n {
        window = Some(b.call_kw("ones", (vec![s.width],), &[("dtype", fake.dtype.into())])?);
    }
    if let Some(w) = window {
        let left = (s.n - s.width) / 2;
        let w = if s.width < s.n { b.call("constant_pad_nd", (w, vec![left, s.n - s.width - left]))? } else { w };
        frames = b.call("mul.Tensor", (frames, w))?;
    }
    let norm = i64::from(s.normalized);
    let complex = b.fake(frames)?.dtype.is_complex();
    let dim = if single { 1i64 } else { 2 };
    let spectra = match complex {
        true => b.call("_fft_c2c", (frames, vec![dim], norm, true))?,
        false => b.call("_fft_r2c", (frames, vec![dim], norm, s.onesided.unwrap_or(true)))?,
    };
    let out = b.call("transpose.int", (spectra, dim - 1, dim))?;
    let as_complex: Option<bool> = args.named("return_complex")?;
    Ok(vec![if as_complex == Some(false) { b.call("view_as_real", (out,))?.into() } else { out.into() }])
}

fn istft_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, s): (&Fake, Spec<&Fake>) = (args.at(0)?, spec(args)?);
    let (name, n) = (args.name(), x.dim());
    ensure!(x.dtype.is_complex() && (2..=3).contains(&n), "{name}: expected complex spectra [.., F, T], got {x}");
    check_window(args, &s)?;
    let complex: bool = args.named("return_complex")?;
    let onesided = s.onesided.unwrap_or(x.sizes[n - 2].as_int() != Some(s.n));
    let bins = if onesided { s.n / 2 + 1 } else { s.n };
    ensure!(x.sizes[n - 2].as_int().is_none_or(|f| f == bins), "{name}: {} bins of n_fft {}", x.sizes[n - 2], s.n);
    ensure!(!(complex && onesided), "{name}: onesided spectra are those of real signals");
    ensure!(s.hop <= s.width, "{name}: hop_length {} of win_length {}", s.hop, s.width);
    let length: Option<i64> = args.named("length")?;
    let whole = (&x.sizes[n - 1] - 1) * s.hop + s.n;
    let length = match length {
        Some(l) => Expr::from(l),
        None if centered(args)? => whole - 2 * (s.n / 2),
        None => whole,
    };
    let dtype = if complex { x.dtype } else { x.dtype.to_real() };
    one(fresh(x, dtype, x.sizes[..n - 2].iter().cloned().chain([length]).collect::<Vec<_>>()))
}

fn istft(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, s): (&Tensor, Spec<&Tensor>) = (args.at(0)?, spec(args)?);
    let complex = outs[0].dtype().is_complex();
    let wide = x.dtype().to_real();
    computed!(wide, |T| {
        let window = window::<T>(&s, complex)?;
        let frames = frames(x, &s, complex)?;
        let start = if centered(args)? { s.n / 2 } else { 0 };
        let count = x.sizes()[x.rank() - 1];
        let envelope = envelope(&window, s.hop, count)?;
        let place = start as usize..;
        let used = envelope.get(place).unwrap_or(&[]);
        let length = *outs[0].sizes().last().unwrap_or(&0) as usize;
        ensure!(used.iter().take(length).all(|e| e.norm() > 1e-11), "istft: the window leaves gaps");
        let frames = Dense::<Complex<T>>::of(&frames)?;
        let per = (count * s.n) as usize;
        fill(&mut outs[0], |out: &mut [Complex<T>]| {
            for (out, frames) in out.chunks_exact_mut(length.max(1)).zip(frames.chunks_exact(per.max(1))) {
                let mut sum = vec![Complex::new(0.0, 0.0); envelope.len()];
                for (t, frame) in frames.chunks_exact(s.n as usize).enumerate() {
                    let to = &mut sum[t * s.hop as usize..];
                    to.iter_mut().zip(frame.iter().zip(&window)).for_each(|(y, (x, w))| *y += x * w);
                }
                for (i, y) in out.iter_mut().enumerate() {
                    let i = i + start as usize;
                    *y = if i < sum.len() { sum[i] / envelope[i] } else { Complex::new(0.0, 0.0) };
                }
            }
        })
    })
}

/// The window, in the middle of a frame.
fn window<T: crate::support::dense::Compute>(s: &Spec<&Tensor>, complex: bool) -> Result<Vec<Complex<T>>>
where
    Complex<T>: oxport_tensor::Element,
{
    let left = ((s.n - s.width) / 2) as usize;
    let mut all = filled(Complex::new(T::zero(), T::zero()), s.n as usize)?;
    let given = s.window.map(|w| w.to_vec::<Complex<T>>()).transpose()?;
    for i in 0..s.width as usize {
        let w = given.as_ref().map_or(Complex::new(T::one(), T::zero()), |w| w[i]);
        all[left + i] = if complex { w } else { Complex::new(w.re, T::zero()) };
    }
    Ok(all)
}

/// The sum of the squared windows of all frames.
fn envelope<T: crate::support::dense::Compute>(window: &[Complex<T>], hop: i64, count: i64) -> Result<Vec<Complex<T>>> {
    let zero = Complex::new(T::zero(), T::zero());
    let mut sum = filled(zero, window.len().saturating_add(hop.saturating_mul((count - 1).max(0)) as usize))?;
    for t in 0..count as usize {
        let to = &mut sum[t * hop as usize..];
        to.iter_mut().zip(window).for_each(|(y, w)| *y += w * w);
    }
    Ok(sum)
}

/// The frames `[.., T, n_fft]` of spectra `[.., F, T]`.
fn frames(x: &Tensor, s: &Spec<&Tensor>, complex: bool) -> Result<Tensor> {
    let rank = x.rank() as i64;
    let bins = x.sizes()[x.rank() - 2];
    let turned = x.view(|l| l.transpose(rank - 2, rank - 1))?;
    let scale = if s.normalized { 1.0 / (s.n as f64).sqrt() } else { 1.0 / s.n as f64 };
    let mut sizes = turned.sizes().to_vec();
    sizes[rank as usize - 1] = s.n;
    let dtype = if complex { x.dtype() } else { x.dtype().to_real() };
    let mut out = TensorMut::empty(dtype, Layout::contiguous(&sizes)?)?;
    if !complex {
        // Of a real signal the first half of the bins says all.
        let half = turned.view(|l| l.narrow(rank - 1, 0, bins.min(s.n / 2 + 1)))?;
        c2r(&half, &[rank - 1], scale, &mut out)?;
    } else {
        c2c(&turned, &[rank - 1], Direction::Inverse, scale, &mut out)?;
    }
    Ok(out.freeze())
}
