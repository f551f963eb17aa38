//! The windows of signal processing.
//!
//! Law: they are computed in double precision and rounded once.

use crate::create::constants::{fill_by, made, option};
use crate::pointwise::bessel::i0;
use crate::support::class::{Fill, RealArgs};
use crate::support::meta::{MetaArgs, Metas};
use oxport_ir::{Class, OpDef, Result, ensure};
use oxport_tensor::{DType, TensorMut, cast, dispatch};
use std::f64::consts::PI;

/// The table.
pub static OPS: &[OpDef] = &[
    window(
        "aten::hann_window(int window_length, *, ScalarType? dtype=None, Layout? layout=None, Device? \
        device=None, bool? pin_memory=None) -> Tensor",
        |a, o| cosine_window(a, o, [0.5, 0.5, 0.0]),
    )
    .samples(&["5"]),
    window(
        "aten::hann_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, Layout? \
        layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
        |a, o| cosine_window(a, o, [0.5, 0.5, 0.0]),
    )
    .samples(&["5, False"]),
    window(
        "aten::hamming_window(int window_length, *, ScalarType? dtype=None, Layout? layout=None, Device? \
        device=None, bool? pin_memory=None) -> Tensor",
        |a, o| cosine_window(a, o, [0.54, 0.46, 0.0]),
    )
    .samples(&["5"]),
    window(
        "aten::hamming_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, \
        Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
        |a, o| cosine_window(a, o, [0.54, 0.46, 0.0]),
    )
    .samples(&["5, False"]),
    window(
        "aten::hamming_window.periodic_alpha(int window_length, bool periodic, float alpha, *, \
        ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> \
        Tensor",
        |a, o| cosine_window(a, o, [a.at(2)?, 0.46, 0.0]),
    )
    .samples(&["5, False, 0.5"]),
    window(
        "aten::hamming_window.periodic_alpha_beta(int window_length, bool periodic, float alpha, float \
        beta, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? \
        pin_memory=None) -> Tensor",
        |a, o| cosine_window(a, o, [a.at(2)?, a.at(3)?, 0.0]),
    )
    .samples(&["5, False, 0.5, 0.5"]),
    window(
        "aten::blackman_window(int window_length, *, ScalarType? dtype=None, Layout? layout=None, \
        Device? device=None, bool? pin_memory=None) -> Tensor",
        |a, o| cosine_window(a, o, [0.42, 0.5, 0.08]),
    )
    .samples(&["5"]),
    window(
        "aten::blackman_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, \
        Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
        |a, o| cosine_window(a, o, [0.42, 0.5, 0.08]),
    )
    .samples(&["5, False"]),
    window(
        "aten::bartlett_window(int window_length, *, ScalarType? dtype=None, Layout? layout=None, \
        Device? device=None, bool? pin_memory=None) -> Tensor",
        |a, o| windowed(a, o, |i, n| 1.0 - (2.0 * i / n - 1.0).abs()),
    )
    .samples(&["5"]),
    window(
        "aten::bartlett_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, \
        Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
        |a, o| windowed(a, o, |i, n| 1.0 - (2.0 * i / n - 1.0).abs()),
    )
    .samples(&["5, False"]),
    window(
        "aten::kaiser_window(int window_length, *, ScalarType? dtype=None, Layout? layout=None, Device? \
        device=None, bool? pin_memory=None) -> Tensor",
        |a, o| kaiser(a, o, 12.0),
    )
    .samples(&["5"]),
    window(
        "aten::kaiser_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, \
        Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
        |a, o| kaiser(a, o, 12.0),
    )
    .samples(&["5, False"]),
    window(
        "aten::kaiser_window.beta(int window_length, bool periodic, float beta, *, ScalarType? \
        dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
        |a, o| kaiser(a, o, a.at(2)?),
    )
    .samples(&["5, False, 8.0"]),
];

const fn window(schema: &'static str, kernel: Fill) -> OpDef {
    OpDef::new(schema, window_meta)
        .fill(kernel)
        .work(Class::Pointwise)
        .any_strides()
        .doc("The window function of the name; periodic unless told otherwise.")
}

fn window_meta(a: &MetaArgs<'_>) -> Metas {
    let n: i64 = a.at(0)?;
    ensure!(n >= 0, "window_length must be non-negative, got {n}");
    let dtype: Option<DType> = option(a, "dtype")?;
    ensure!(dtype.is_none_or(DType::is_float), "window functions want a floating point dtype");
    made(a, vec![n.into()], DType::F32)
}

/// A window by position and period.
fn windowed(a: &RealArgs<'_>, o: &mut [TensorMut], f: impl Fn(f64, f64) -> f64) -> Result<()> {
    let n = o[0].numel();
    let is_periodic: bool = option(a, "periodic")?.unwrap_or(true);
    let period = if is_periodic { n } else { n.saturating_sub(1) } as f64;
    dispatch!(float o[0].dtype(), |T| fill_by::<T>(&mut o[0], |i| cast(if n == 1 { 1.0 } else { f(i as f64, period) })))
}

/// `a − b cos(2πi/n) + c cos(4πi/n)`
fn cosine_window(a: &RealArgs<'_>, o: &mut [TensorMut], [k0, k1, k2]: [f64; 3]) -> Result<()> {
    windowed(a, o, |i, n| k0 - k1 * (2.0 * PI * i / n).cos() + k2 * (4.0 * PI * i / n).cos())
}

fn kaiser(a: &RealArgs<'_>, o: &mut [TensorMut], beta: f64) -> Result<()> {
    windowed(a, o, |i, n| {
        let x = 2.0 * i / n - 1.0;
        i0(beta * (1.0 - x * x).max(0.0).sqrt()) / i0(beta)
    })
}
