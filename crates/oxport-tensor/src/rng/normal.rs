//! Normal numbers in groups of sixteen: eight pairs of uniform numbers become eight pairs of normal ones.
//!
//! Invariant: single precision uses the classic Cephes polynomials for logarithm, sine and cosine with fused
//! multiply-adds, as PyTorch's vector code does; so the bits are PyTorch's, on every machine.

use super::Generator;
use crate::{Element, cast};

/// Fills at least sixteen elements; the last sixteen are drawn again if sixteen does not divide the length.
pub(super) fn fill<T: Element>(g: &mut Generator, out: &mut [T], mean: f64, std: f64) {
    let single = !matches!(T::default().to_wide(), crate::Wide::Double(_));
    let (last, size) = (out.len().saturating_sub(16), out.len());
    let group = |g: &mut Generator, out: &mut [T]| {
        if single {
            let mut x = [0f32; 16];
            g.fill_uniform(&mut x, 0.0, 1.0);
            pairs_f32(&mut x, mean as f32, std as f32);
            out.iter_mut().zip(x).for_each(|(y, x)| *y = cast(x));
        } else {
            let mut x = [0f64; 16];
            g.fill_uniform(&mut x, 0.0, 1.0);
            pairs_f64(&mut x, mean, std);
            out.iter_mut().zip(x).for_each(|(y, x)| *y = cast(x));
        }
    };
    if size % 16 != 0 && matches!(T::DTYPE, crate::DType::F32 | crate::DType::F64) {
        // All elements are drawn before the last sixteen are drawn again, so a few words go unused.
        for chunk in out[..size - size % 16].chunks_exact_mut(16) {
            group(g, chunk);
        }
        g.fill_uniform(&mut out[size - size % 16..], 0.0, 1.0);
    } else {
        for chunk in out.chunks_exact_mut(16) {
            group(g, chunk);
        }
    }
    if size % 16 != 0 {
        group(g, &mut out[last..]);
    }
}

fn pairs_f64(x: &mut [f64; 16], mean: f64, std: f64) {
    for j in 0..8 {
        let radius = (-2.0 * (1.0 - x[j]).ln()).sqrt();
        let theta = 2.0 * std::f64::consts::PI * x[j + 8];
        x[j] = (radius * theta.cos()).mul_add(std, mean);
        x[j + 8] = (radius * theta.sin()).mul_add(std, mean);
    }
}

fn pairs_f32(x: &mut [f32; 16], mean: f32, std: f32) {
    #[cfg(target_arch = "x86_64")]
    if crate::simd::level() >= crate::simd::Level::Avx2 {
        // SAFETY: the CPU has the features.
        unsafe { pairs_avx2(x, mean, std) };
        return;
    }
    pairs(x, mean, std);
}

/// [`pairs`] with eight lanes at a time.
///
/// # Safety
/// The CPU has AVX2 and FMA.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn pairs_avx2(x: &mut [f32; 16], mean: f32, std: f32) {
    pairs(x, mean, std);
}

#[inline(always)]
fn pairs(x: &mut [f32; 16], mean: f32, std: f32) {
    let mut out = [0.0; 16];
    for j in 0..8 {
        let radius = (-2.0 * log(1.0 - x[j])).sqrt();
        let (sin, cos) = sin_cos(std::f32::consts::TAU * x[j + 8]);
        out[j] = (radius * cos).mul_add(std, mean);
        out[j + 8] = (radius * sin).mul_add(std, mean);
    }
    *x = out;
}

/// The natural logarithm of a positive normal number.
#[inline(always)]
fn log(x: f32) -> f32 {
    const ROOT_HALF: f32 = std::f32::consts::FRAC_1_SQRT_2;
    const LN2: (f32, f32) = (0.693_359_375, -2.121_944_4e-4);
    const P: [f32; 9] = [
        7.037_683_6e-2,
        -1.151_461e-1,
        1.167_699_84e-1,
        -1.242_014_1e-1,
        1.424_932_3e-1,
        -1.666_805_8e-1,
        2.000_071_4e-1,
        -2.499_999_4e-1,
        3.333_333e-1,
    ];
    let bits = x.to_bits() as i32;
    let mantissa = f32::from_bits(bits as u32 & 0x007f_ffff | 0.5f32.to_bits());
    let exponent = ((bits >> 23) - 126) as f32;
    let is_low = mantissa < ROOT_HALF;
    let x = mantissa - 1.0 + if is_low { mantissa } else { 0.0 };
    let e = exponent - if is_low { 1.0 } else { 0.0 };
    let z = x * x;
    let p = P[1..].iter().fold(P[0], |p, &c| p.mul_add(x, c)) * x;
    let y = (-z).mul_add(0.5, p.mul_add(z, e * LN2.1));
    e.mul_add(LN2.0, x + y)
}

/// Sine and cosine of a number of `[0, 2π]`.
#[inline(always)]
fn sin_cos(x: f32) -> (f32, f32) {
    const QUARTER: [f32; 3] = [-0.785_156_25, -2.418_756_5e-4, -3.774_895e-8];
    let octant = ((x * std::f32::consts::FRAC_2_PI * 2.0) as i32 + 1) & !1;
    let x = QUARTER.iter().fold(x, |x, &q| (octant as f32).mul_add(q, x));
    let z = x * x;
    let c = 2.443_315_7e-5f32.mul_add(z, -1.388_731_6e-3).mul_add(z, 4.166_664_6e-2) * z;
    let c = c.mul_add(z, -(z * 0.5)) + 1.0;
    let s = (-1.951_529_6e-4f32).mul_add(z, 8.332_161e-3).mul_add(z, -1.666_665_5e-1) * z;
    let s = s.mul_add(x, x);
    let (sin, cos) = if octant & 2 == 0 { (s, c) } else { (c, s) };
    let negate = |x: f32, is: bool| f32::from_bits(x.to_bits() ^ u32::from(is) << 31);
    (negate(sin, octant & 4 != 0), negate(cos, (octant - 2) & 4 == 0))
}
