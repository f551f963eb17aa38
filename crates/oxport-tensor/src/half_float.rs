//! Branch-free conversions between `f32` and the 16-bit floats, in integer arithmetic that LLVM can vectorize.
//!
//! The `half` crate asks the CPU for F16C at every element, which keeps a loop from being vectorized; these do not.
//! Invariant: bit-equal to IEEE conversion, round to nearest even; a NaN stays a (quiet) NaN.

use half::{bf16, f16};

/// The exact value of a half float.
#[inline(always)]
pub fn f16_to_f32(x: f16) -> f32 {
    let bits = u32::from(x.to_bits());
    let magnitude = (bits & 0x7fff) << 13;
    // Exponent and fraction sit where f32 has them, but for the bias; the product is exact, subnormals included.
    let scaled = f32::from_bits(magnitude) * f32::from_bits((254 - 15) << 23);
    let special = if magnitude >= 0x7c00 << 13 { 0x7f80_0000 } else { 0 };
    f32::from_bits(scaled.to_bits() | special | (bits & 0x8000) << 16)
}

/// The nearest half float, ties to even.
#[inline(always)]
pub fn f16_from_f32(x: f32) -> f16 {
    let sign = x.to_bits() >> 16 & 0x8000;
    let magnitude = x.to_bits() & 0x7fff_ffff;
    // Subnormal results: adding 0.5 lets the f32 adder round at the right bit.
    let small = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0x3f00_0000);
    // Normal results: move the bias, round half to even on the 13 bits that go.
    let odd = magnitude >> 13 & 1;
    let normal = magnitude.wrapping_sub((127 - 15) << 23).wrapping_add(0xfff + odd) >> 13;
    let finite = if magnitude < (127 - 14) << 23 { small } else { normal };
    let finite = if magnitude >= (127 + 16) << 23 { 0x7c00 } else { finite };
    let bits = if magnitude > 0x7f80_0000 { 0x7e00 | magnitude >> 13 & 0x1ff } else { finite };
    f16::from_bits((bits | sign) as u16)
}

/// The exact value of a bfloat16.
#[inline(always)]
pub fn bf16_to_f32(x: bf16) -> f32 {
    f32::from_bits(u32::from(x.to_bits()) << 16)
}

/// The nearest bfloat16, ties to even.
#[inline(always)]
pub fn bf16_from_f32(x: f32) -> bf16 {
    let bits = x.to_bits();
    let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
    let bits = if x.is_nan() { bits >> 16 | 0x40 } else { rounded };
    bf16::from_bits(bits as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Miri looks at a part of the codes.
    const STEP: usize = if cfg!(miri) { 1021 } else { 1 };

    #[test]
    fn widening_agrees_for_all_codes() {
        for bits in (0..=u16::MAX).step_by(STEP) {
            let (h, b) = (f16::from_bits(bits), bf16::from_bits(bits));
            assert!(h.is_nan() && f16_to_f32(h).is_nan() || f16_to_f32(h).to_bits() == h.to_f32_const().to_bits());
            assert!(b.is_nan() && bf16_to_f32(b).is_nan() || bf16_to_f32(b).to_bits() == b.to_f32_const().to_bits());
        }
    }

    #[test]
    fn narrowing_agrees_around_all_codes() {
        for bits in (0..=u16::MAX).step_by(STEP) {
            for low in [0u32, 1, 0xfff, 0x1000, 0x1001, 0x7fff, 0x8000, 0x8001, 0xffff] {
                let near_f16 = f32::from_bits(f16::from_bits(bits).to_f32_const().to_bits() ^ low);
                for x in [f32::from_bits(u32::from(bits) << 16 | low), near_f16] {
                    let (h, b) = (f16_from_f32(x), bf16_from_f32(x));
                    let (eh, eb) = (f16::from_f32_const(x), bf16::from_f32_const(x));
                    assert!(x.is_nan() && h.is_nan() || h.to_bits() == eh.to_bits(), "f16 of {x:e}");
                    assert!(x.is_nan() && b.is_nan() || b.to_bits() == eb.to_bits(), "bf16 of {x:e}");
                }
            }
        }
    }
}
