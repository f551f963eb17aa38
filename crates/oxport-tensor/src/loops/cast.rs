//! Conversion of rows from one dtype to another, and [`copy`].
//!
//! Between the computing dtypes there is a row function for every pair; float8 and complex32 go through float32 and
//! complex64, which hold them exactly. float16 rows use the CPU's own conversion.

use half::f16;

use super::{Access, Known, run_known, zip_rows};
use crate::half_float::{f16_from_f32, f16_to_f32};
use crate::simd::{self, Kernel};
use crate::{DType, Element, Error, Layout, Result, Tensor, TensorMut, cast, dispatch};

/// Fills `out` with the values of `x`, broadcast to its sizes and converted by PyTorch's cast rules to its dtype.
pub fn copy(x: &Tensor, out: &mut TensorMut) -> Result<()> {
    let (from, to) = (x.dtype(), out.dtype());
    if from == to {
        let size = from.size();
        return run_known(&[x], &mut [out], Access::Write, None, Some(Known::Copy), &|rows| {
            let (to, from) = (rows.pointers[0], rows.pointers[1].cast_const());
            // SAFETY: the rows have `len` elements of this dtype each, and do not overlap.
            unsafe { to.copy_from_nonoverlapping(from, rows.len() * size) };
        });
    }
    if let Some(between) = stop_over(from, to) {
        let mut middle = TensorMut::empty(between, Layout::contiguous(x.sizes())?)?;
        copy(x, &mut middle)?;
        return copy(&middle.freeze(), out);
    }
    let convert = row_function(from, to)?;
    zip_rows(&[x], &mut [out], &|rows| {
        let (to, from) = (rows.pointers[0], rows.pointers[1].cast_const());
        // SAFETY: the rows have `len` elements of these dtypes each, and do not overlap.
        unsafe { convert(from, to, rows.len()) };
    })
}

/// The dtype between a dtype that is only stored and any other but the one that holds it.
pub(super) fn stop_over(from: DType, to: DType) -> Option<DType> {
    let stored_only = |d: DType| d.is_float8() || d == DType::C32;
    [from, to].into_iter().find(|&d| stored_only(d)).map(DType::opmath).filter(|&d| d != from && d != to)
}

/// Converts a number of contiguous elements.
///
/// # Safety
/// Source and target hold that many elements of the dtypes that the function is for, and do not overlap. The target
/// need not be initialized.
pub(super) type ConvertRow = unsafe fn(*const u8, *mut u8, usize);

/// The function for a pair of dtypes that needs no [`stop_over`].
pub(super) fn row_function(from: DType, to: DType) -> Result<ConvertRow> {
    use DType::*;
    match (from, to) {
        (F16, F32) => Ok(widen_half_row),
        (F32, F16) => Ok(narrow_half_row),
        (_, F32) => dispatch!(all from, |T| Ok::<ConvertRow, Error>(convert::<T, f32>)),
        (F32, _) => dispatch!(all to, |U| Ok::<ConvertRow, Error>(convert::<f32, U>)),
        (C32, _) => Ok(convert::<crate::native::C32, crate::native::C64>),
        (_, C32) => Ok(convert::<crate::native::C64, crate::native::C32>),
        _ => dispatch!(plain from, |T| dispatch!(plain to, |U| Ok::<ConvertRow, Error>(convert::<T, U>))),
    }
}

/// # Safety
/// As for [`ConvertRow`].
unsafe fn convert<T: Element, U: Element>(from: *const u8, to: *mut u8, n: usize) {
    simd::run(Convert { from: from.cast::<T>(), to: to.cast::<U>(), n });
}

/// Made by [`convert`] only, whose contract it has.
struct Convert<T, U> {
    from: *const T,
    to: *mut U,
    n: usize,
}
impl<T: Element, U: Element> Kernel for Convert<T, U> {
    type Output = ();
    const WIDE: bool = false;
    #[inline(always)]
    fn run(self) {
        for i in 0..self.n {
            // SAFETY: there are `n` elements on both sides.
            unsafe { self.to.add(i).write(cast(self.from.add(i).read())) }
        }
    }
}

/// # Safety
/// As for [`ConvertRow`].
unsafe fn widen_half_row(from: *const u8, to: *mut u8, n: usize) {
    let (from, to) = (from.cast::<f16>(), to.cast::<f32>());
    let mut done = 0;
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if simd::level() > simd::Level::Base {
        // SAFETY: every level above the base has AVX and F16C; the rest is passed on.
        done = unsafe { widen_half_f16c(from, to, n) };
    }
    for i in done..n {
        // SAFETY: there are `n` elements on both sides.
        unsafe { to.add(i).write(f16_to_f32(from.add(i).read())) }
    }
}

/// # Safety
/// As for [`ConvertRow`].
unsafe fn narrow_half_row(from: *const u8, to: *mut u8, n: usize) {
    let (from, to) = (from.cast::<f32>(), to.cast::<f16>());
    let mut done = 0;
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if simd::level() > simd::Level::Base {
        // SAFETY: every level above the base has AVX and F16C; the rest is passed on.
        done = unsafe { narrow_half_f16c(from, to, n) };
    }
    for i in done..n {
        // SAFETY: there are `n` elements on both sides.
        unsafe { to.add(i).write(f16_from_f32(from.add(i).read())) }
    }
}

/// Converts whole groups of eight; gives the number of elements done.
///
/// # Safety
/// There are `n` elements on both sides, and the CPU has F16C.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[target_feature(enable = "avx,f16c")]
unsafe fn widen_half_f16c(from: *const f16, to: *mut f32, n: usize) -> usize {
    use std::arch::x86_64::{_mm_loadu_si128, _mm256_cvtph_ps, _mm256_storeu_ps};
    let whole = n / 8 * 8;
    for i in (0..whole).step_by(8) {
        // SAFETY: eight elements from `i` on exist on both sides; both accesses may be unaligned.
        unsafe { _mm256_storeu_ps(to.add(i), _mm256_cvtph_ps(_mm_loadu_si128(from.add(i).cast()))) };
    }
    whole
}

/// Converts whole groups of eight; gives the number of elements done.
///
/// # Safety
/// There are `n` elements on both sides, and the CPU has F16C.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[target_feature(enable = "avx,f16c")]
unsafe fn narrow_half_f16c(from: *const f32, to: *mut f16, n: usize) -> usize {
    use std::arch::x86_64::{_MM_FROUND_TO_NEAREST_INT, _mm_storeu_si128, _mm256_cvtps_ph, _mm256_loadu_ps};
    let whole = n / 8 * 8;
    for i in (0..whole).step_by(8) {
        // SAFETY: eight elements from `i` on exist on both sides; both accesses may be unaligned.
        unsafe {
            let halves = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(_mm256_loadu_ps(from.add(i)));
            _mm_storeu_si128(to.add(i).cast(), halves);
        }
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    fn through(values: &[f64], from: DType, to: DType) -> String {
        let x =
            Tensor::from_slice(&[values.len() as i64], values).unwrap().to_dtype(from).unwrap().to_dtype(to).unwrap();
        let shown: Result<Vec<String>> =
            dispatch!(all to, |T| Ok(x.to_vec::<T>().unwrap().iter().map(|v| format!("{v:?}")).collect()));
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
            (
                F32,
                U64,
                "9223372036854775808 0 9223372036854775808 0 9223372036854775808 3000000000 300 \
                18446744073709551615 70000"
                    .to_string(),
            ),
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
        let step = if cfg!(miri) { 1021 } else { 1 };
        let all: Vec<f16> = (0..=u16::MAX).step_by(step).map(f16::from_bits).collect();
        let x = Tensor::from_vec(&[all.len() as i64], all.clone()).unwrap();
        let wide = x.to_dtype(DType::F32).unwrap();
        let back = wide.to_dtype(DType::F16).unwrap();
        let (wide, back) = (wide.as_slice::<f32>().unwrap(), back.as_slice::<f16>().unwrap());
        for (i, &h) in all.iter().enumerate() {
            assert!(h.is_nan() && wide[i].is_nan() || f16_to_f32(h).to_bits() == wide[i].to_bits());
            assert!(h.is_nan() && back[i].is_nan() || h.to_bits() == back[i].to_bits());
        }
    }
}
