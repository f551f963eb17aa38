//! [`copy`]: moving elements between layouts, converting them where the dtypes differ.
//!
//! Equal dtypes move by element size. Conversions between the computing dtypes have a row function for every pair; float8
//! and complex32 go through float32 and complex64, which hold them exactly. float16 rows use the CPU's own conversion.

use half::f16;

use super::{Rows, zip_rows};
use crate::half_float::{f16_from_f32, f16_to_f32};
use crate::simd::{self, Kernel, Level};
use crate::{DType, Element, Error, Layout, Result, Tensor, TensorMut, cast, dispatch};

/// Fills `out` with the values of `x`, broadcast to its sizes and converted by PyTorch's cast rules to its dtype.
pub fn copy(x: &Tensor, out: &mut TensorMut) -> Result<()> {
    let (from, to) = (x.dtype(), out.dtype());
    if from == to {
        return dispatch!(all from, |T| zip_rows(&[x], &mut [out], &|rows| {
            rows.output::<T>(0).copy_from_slice(rows.input::<T>(0));
        }));
    }
    if let Some(between) = stop_over(from, to) {
        let mut middle = TensorMut::empty(between, Layout::contiguous(x.sizes())?)?;
        copy(x, &mut middle)?;
        return copy(&middle.freeze(), out);
    }
    zip_rows(&[x], &mut [out], &row_function(from, to)?)
}

/// The dtype between a dtype that is only stored and any other but the one that holds it.
fn stop_over(from: DType, to: DType) -> Option<DType> {
    let stored_only = |d: DType| d.is_float8() || d == DType::C32;
    [from, to].into_iter().find(|&d| stored_only(d)).map(DType::opmath).filter(|&d| d != from && d != to)
}

type RowFunction = fn(&mut Rows<'_>);

fn row_function(from: DType, to: DType) -> Result<RowFunction> {
    use DType::*;
    match (from, to) {
        (F16, F32) => Ok(|rows| widen_half(rows.input(0), rows.output(0))),
        (F32, F16) => Ok(|rows| narrow_half(rows.input(0), rows.output(0))),
        (_, F32) => dispatch!(all from, |T| Ok::<RowFunction, Error>(convert::<T, f32>)),
        (F32, _) => dispatch!(all to, |U| Ok::<RowFunction, Error>(convert::<f32, U>)),
        (C32, _) => Ok(convert::<crate::native::C32, crate::native::C64>),
        (_, C32) => Ok(convert::<crate::native::C64, crate::native::C32>),
        _ => dispatch!(plain from, |T| dispatch!(plain to, |U| Ok::<RowFunction, Error>(convert::<T, U>))),
    }
}

fn convert<T: Element, U: Element>(rows: &mut Rows<'_>) {
    simd::run(Convert { x: rows.input::<T>(0), out: rows.output::<U>(0) });
}

struct Convert<'a, T, U> {
    x: &'a [T],
    out: &'a mut [U],
}
impl<T: Element, U: Element> Kernel for Convert<'_, T, U> {
    type Output = ();
    const WIDE: bool = false;
    #[inline(always)]
    fn run(self) {
        for (out, &x) in self.out.iter_mut().zip(self.x) {
            *out = cast(x);
        }
    }
}

/// Half to single, by F16C where the CPU has it.
pub(crate) fn widen_half(x: &[f16], out: &mut [f32]) {
    let done = match simd::level() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: every level above the base has AVX and F16C.
        Level::Avx2 | Level::Avx512 => unsafe { widen_half_f16c(x, out) },
        _ => 0,
    };
    for (out, &x) in out.iter_mut().zip(x).skip(done) {
        *out = f16_to_f32(x);
    }
}

/// Single to half, by F16C where the CPU has it.
pub(crate) fn narrow_half(x: &[f32], out: &mut [f16]) {
    let done = match simd::level() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: every level above the base has AVX and F16C.
        Level::Avx2 | Level::Avx512 => unsafe { narrow_half_f16c(x, out) },
        _ => 0,
    };
    for (out, &x) in out.iter_mut().zip(x).skip(done) {
        *out = f16_from_f32(x);
    }
}

/// Converts whole groups of eight; gives the number of elements done.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx,f16c")]
fn widen_half_f16c(x: &[f16], out: &mut [f32]) -> usize {
    use std::arch::x86_64::{_mm_loadu_si128, _mm256_cvtph_ps, _mm256_storeu_ps};
    let (from, to) = (x.as_chunks::<8>().0, out.as_chunks_mut::<8>().0);
    for (from, to) in from.iter().zip(to) {
        // SAFETY: eight halves are 16 bytes, eight singles are 32; both accesses may be unaligned.
        unsafe { _mm256_storeu_ps(to.as_mut_ptr(), _mm256_cvtph_ps(_mm_loadu_si128(from.as_ptr().cast()))) };
    }
    x.len().min(out.len()) / 8 * 8
}

/// Converts whole groups of eight; gives the number of elements done.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx,f16c")]
fn narrow_half_f16c(x: &[f32], out: &mut [f16]) -> usize {
    use std::arch::x86_64::{_MM_FROUND_TO_NEAREST_INT, _mm_storeu_si128, _mm256_cvtps_ph, _mm256_loadu_ps};
    let (from, to) = (x.as_chunks::<8>().0, out.as_chunks_mut::<8>().0);
    for (from, to) in from.iter().zip(to) {
        // SAFETY: eight halves are 16 bytes, eight singles are 32; both accesses may be unaligned.
        unsafe {
            let halves = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(_mm256_loadu_ps(from.as_ptr()));
            _mm_storeu_si128(to.as_mut_ptr().cast(), halves);
        }
    }
    x.len().min(out.len()) / 8 * 8
}

#[cfg(test)]
mod tests {
    use super::*;

    fn through(values: &[f64], from: DType, to: DType) -> String {
        let x = Tensor::from_slice(&[values.len() as i64], values).unwrap().to_dtype(from).to_dtype(to);
        let shown: Result<Vec<String>> =
            dispatch!(all to, |T| Ok(x.to_vec::<T>().iter().map(|v| format!("{v:?}")).collect()));
        shown.unwrap().join(" ")
    }

    /// Of the values below, by torch on x86; where its vector and scalar code differ (u32), by the scalar code.
    #[test]
    fn floats_to_integers_by_torch() {
        use DType::*;
        let values = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e20, -1e20, 3e9, 300.7, -1.5, 70000.0];
        let least = i64::MIN.to_string();
        let table = [
            (F32, U8, "0 0 0 0 0 0 44 255 112".to_string()),
            (F64, I8, "0 0 0 0 0 0 44 -1 112".to_string()),
            (F32, I16, "0 0 0 0 0 0 300 -1 4464".to_string()),
            (F64, U16, "0 0 0 0 0 0 300 65535 4464".to_string()),
            (F32, I32, "-2147483648 ".repeat(6) + "300 -1 70000"),
            (F64, I64, format!("{least} {least} {least} {least} {least} 3000000000 300 -1 70000")),
            (F64, U32, "0 0 0 0 0 3000000000 300 4294967295 70000".to_string()),
            (F32, U64, "9223372036854775808 0 9223372036854775808 0 9223372036854775808 3000000000 300 18446744073709551615 70000".to_string()),
            (F32, Bool, "true ".repeat(8) + "true"),
            (BF16, I32, "-2147483648 ".repeat(6) + "300 -1 70144"),
            (F16, I64, format!("{least} {least} {least} {least} {least} {least} 300 -1 {least}")),
        ];
        for (from, to, want) in table {
            assert_eq!(through(&values, from, to), want, "{from} to {to}");
        }
    }

    #[test]
    fn other_casts() {
        use DType::*;
        let table: &[(&[f64], DType, DType, &str)] = &[
            (&[0.0, 2.0, -0.0], F32, Bool, "false true false"),
            (&[300.0, -1.0], I64, U8, "44 255"),
            (&[1.0, 0.0], Bool, BF16, "1.0 0.0"),
            (&[16_777_217.0], I32, F32, "16777216.0"),
            (&[65504.0, 65520.0, 1e-8, 6e-8], F64, F16, "65504.0 inf 0.0 5.9604645e-8"),
            (&[1.5, -2.0], F32, C64, "Complex { re: 1.5, im: 0.0 } Complex { re: -2.0, im: 0.0 }"),
            (&[1.5, -2.0], C128, I32, "1 -2"),
            (&[1.5, 1000.0], F64, F8E4M3FN, "1.5 448.0"),
            (&[1.5, 0.1], F8E5M2, BF16, "1.5 0.09375"),
            (&[1.5], F8E5M2, C32, "Complex { re: 1.5, im: 0.0 }"),
            (&[1.5], C32, I64, "1"),
        ];
        for &(values, from, to, want) in table {
            assert_eq!(through(values, from, to), want, "{from} to {to}");
        }
    }

    #[test]
    fn hardware_and_software_halves_agree() {
        let all: Vec<f16> = (0..=u16::MAX).map(f16::from_bits).collect();
        let mut wide = vec![0f32; all.len()];
        widen_half(&all, &mut wide);
        for (x, y) in all.iter().zip(&wide) {
            assert!(x.is_nan() && y.is_nan() || f16_to_f32(*x).to_bits() == y.to_bits());
        }
        let mut back = vec![f16::ZERO; all.len()];
        narrow_half(&wide, &mut back);
        for (x, y) in all.iter().zip(&back) {
            assert!(x.is_nan() && y.is_nan() || x.to_bits() == y.to_bits());
        }
    }
}
