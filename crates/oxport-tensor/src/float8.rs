//! The 8-bit floats: stored as a byte, converted to and from `f32`, and nothing else.
//!
//! One pair of functions serves all formats; a format is four numbers and two codes.
//! Invariant: `from_f32(to_f32(x))` is `x` for every code that is not a NaN.

/// What tells one format from another. Codes are without the sign bit.
struct Format {
    mantissa: u32,
    bias: i32,
    /// The largest finite code.
    max: u32,
    /// What a finite value above `max` becomes, and what an infinity becomes: saturation, infinity or NaN.
    overflow: u32,
    nan: u32,
    /// One zero and one NaN: code 0x80 is the NaN, and −0 is 0.
    unsigned_zero: bool,
}

const E4M3FN_FORMAT: Format =
    Format { mantissa: 3, bias: 7, max: 0x7e, overflow: 0x7e, nan: 0x7f, unsigned_zero: false };
const E5M2_FORMAT: Format =
    Format { mantissa: 2, bias: 15, max: 0x7b, overflow: 0x7c, nan: 0x7f, unsigned_zero: false };
const E4M3FNUZ_FORMAT: Format =
    Format { mantissa: 3, bias: 8, max: 0x7f, overflow: 0x80, nan: 0x80, unsigned_zero: true };
const E5M2FNUZ_FORMAT: Format =
    Format { mantissa: 2, bias: 16, max: 0x7f, overflow: 0x80, nan: 0x80, unsigned_zero: true };

impl Format {
    /// Rounds to nearest, ties to even; values beyond the largest finite value become `overflow`, as in PyTorch.
    fn encode(&self, x: f32) -> u8 {
        let sign = x.to_bits() >> 24 & 0x80;
        let magnitude = f64::from(x.abs());
        let code = if x.is_nan() {
            self.nan
        } else if x.is_infinite() {
            self.overflow
        } else {
            let exponent = ((x.to_bits() >> 23 & 0xff) as i32 - 127).max(1 - self.bias);
            let steps = (magnitude * f64::exp2(f64::from(self.mantissa as i32 - exponent))).round_ties_even() as u32;
            // A carry out of the mantissa runs into the exponent, which is the wanted code.
            let code = (((exponent + self.bias - 1) as u32) << self.mantissa) + steps;
            if code > self.max { self.overflow } else { code }
        };
        if self.unsigned_zero && (code == 0 || code == 0x80) { code as u8 } else { (code | sign) as u8 }
    }

    fn decode(&self, bits: u8) -> f32 {
        let (sign, code) = (if bits & 0x80 != 0 { -1.0 } else { 1.0 }, u32::from(bits & 0x7f));
        if self.unsigned_zero && bits == 0x80 || !self.unsigned_zero && code > self.max {
            let infinite = !self.unsigned_zero && code == self.overflow && code != self.nan;
            return if infinite { sign * f32::INFINITY } else { f32::NAN };
        }
        let (exponent, fraction) = ((code >> self.mantissa) as i32, code & ((1 << self.mantissa) - 1));
        let significand = if exponent > 0 { fraction | 1 << self.mantissa } else { fraction };
        sign * significand as f32 * f32::exp2((exponent.max(1) - self.bias - self.mantissa as i32) as f32)
    }
}

macro_rules! float8 { ($($(#[$doc:meta])* $T:ident, $format:ident;)*) => { $(
    $(#[$doc])*
    #[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
    #[repr(transparent)]
    pub struct $T(pub u8);

    impl $T {
        /// The exact value.
        pub fn to_f32(self) -> f32 { $format.decode(self.0) }
        /// The nearest value, ties to even; overflow as PyTorch converts: e4m3fn saturates, e5m2 gives infinity, the
        /// others NaN.
        pub fn from_f32(x: f32) -> $T { $T($format.encode(x)) }
    }
    impl std::fmt::Debug for $T {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { self.to_f32().fmt(f) }
    }
)*}}

/// A power of two between 2^-127 and 2^127, or NaN; there is no zero and no sign.
struct PowerOfTwo;
const E8M0FNU_FORMAT: PowerOfTwo = PowerOfTwo;

impl PowerOfTwo {
    /// Nearest power of two by the bits below the exponent; a tie goes up, as in PyTorch; infinities become NaN.
    fn encode(&self, x: f32) -> u8 {
        let (exponent, fraction) = (x.to_bits() >> 23 & 0xff, x.to_bits() & 0x7f_ffff);
        let half = 0x40_0000;
        let up = fraction > half || fraction == half && exponent > 0;
        if exponent == 255 { 255 } else { (exponent + u32::from(up)) as u8 }
    }
    fn decode(&self, bits: u8) -> f32 {
        match bits {
            255 => f32::NAN,
            bits => f32::exp2(f32::from(bits) - 127.0),
        }
    }
}

float8! {
    /// `torch.float8_e4m3fn`: ±448, NaN, no infinities.
    E4M3FN, E4M3FN_FORMAT;
    /// `torch.float8_e5m2`: ±57344, infinities, NaN.
    E5M2, E5M2_FORMAT;
    /// `torch.float8_e4m3fnuz`: ±240, one zero, one NaN.
    E4M3FNUZ, E4M3FNUZ_FORMAT;
    /// `torch.float8_e5m2fnuz`: ±57344, one zero, one NaN.
    E5M2FNUZ, E5M2FNUZ_FORMAT;
    /// `torch.float8_e8m0fnu`: a scale factor, power of two or NaN.
    E8M0FNU, E8M0FNU_FORMAT;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_comes_back() {
        for bits in 0..=255u8 {
            let back = [
                (E4M3FN(bits).to_f32(), E4M3FN::from_f32(E4M3FN(bits).to_f32()).0),
                (E5M2(bits).to_f32(), E5M2::from_f32(E5M2(bits).to_f32()).0),
                (E4M3FNUZ(bits).to_f32(), E4M3FNUZ::from_f32(E4M3FNUZ(bits).to_f32()).0),
                (E5M2FNUZ(bits).to_f32(), E5M2FNUZ::from_f32(E5M2FNUZ(bits).to_f32()).0),
                (E8M0FNU(bits).to_f32(), E8M0FNU::from_f32(E8M0FNU(bits).to_f32()).0),
            ];
            for (format, (value, code)) in back.into_iter().enumerate() {
                assert!(value.is_nan() || code == bits, "format {format}, code {bits:#x}, value {value}");
            }
        }
    }

    #[test]
    fn codes_agree_with_torch() {
        // Rows: value, then codes of e4m3fn, e5m2, e4m3fnuz, e5m2fnuz, e8m0fnu as torch converts them.
        for &(x, codes) in TORCH {
            let got = [
                E4M3FN::from_f32(x).0,
                E5M2::from_f32(x).0,
                E4M3FNUZ::from_f32(x).0,
                E5M2FNUZ::from_f32(x).0,
                E8M0FNU::from_f32(x).0,
            ];
            assert_eq!(got, codes, "of {x}");
        }
    }

    const TORCH: &[(f32, [u8; 5])] = &[
        (0.0, [0x0, 0x0, 0x0, 0x0, 0x0]),
        (-0.0, [0x80, 0x80, 0x0, 0x0, 0x0]),
        (1.0, [0x38, 0x3c, 0x40, 0x40, 0x7f]),
        (-1.0, [0xb8, 0xbc, 0xc0, 0xc0, 0x7f]),
        (0.3, [0x2a, 0x35, 0x32, 0x39, 0x7d]),
        (448.0, [0x7e, 0x5f, 0x80, 0x63, 0x88]),
        (464.0, [0x7e, 0x5f, 0x80, 0x63, 0x88]),
        (464.1, [0x7e, 0x5f, 0x80, 0x63, 0x88]),
        (-1e9, [0xfe, 0xfc, 0x80, 0x80, 0x9d]),
        (57344.0, [0x7e, 0x7b, 0x80, 0x7f, 0x8f]),
        (61440.0, [0x7e, 0x7c, 0x80, 0x80, 0x8f]),
        (240.0, [0x77, 0x5c, 0x7f, 0x60, 0x87]),
        (248.0, [0x78, 0x5c, 0x80, 0x60, 0x87]),
        (1e-3, [0x1, 0x14, 0x1, 0x18, 0x75]),
        (-1e-3, [0x81, 0x94, 0x81, 0x98, 0x75]),
        (9e-5, [0x0, 0x6, 0x0, 0xa, 0x71]),
        (1.5, [0x3c, 0x3e, 0x44, 0x42, 0x80]),
        (3.0, [0x44, 0x42, 0x4c, 0x46, 0x81]),
        (6.1, [0x4c, 0x46, 0x54, 0x4a, 0x82]),
        (1e-40, [0x0, 0x0, 0x0, 0x0, 0x0]),
        (f32::INFINITY, [0x7e, 0x7c, 0x80, 0x80, 0xff]),
        (f32::NAN, [0x7f, 0x7f, 0x80, 0x80, 0xff]),
    ];
}
