//! What a division of floats leaves, and the quotients and remainders that are made of it.
//!
//! Law: the rest is exact, as that of `%`. Where the quotient is no large number, it is one quotient and one fused
//! multiply-add, without a branch; both ways give the same bits.

/// Floats that are divided with a rest.
pub trait Rest: Copy {
    /// True if the quotient is less than the integers that the type holds, and the divisor is not 0.
    fn is_near(self, divisor: Self) -> bool;
    /// `self % divisor`, if they are [near](Rest::is_near).
    fn rest_near(self, divisor: Self) -> Self;
    /// `self % divisor`
    fn rest(self, divisor: Self) -> Self;
    /// The quotient by a divisor that is not 0, rounded down, given the rest.
    fn floored(self, divisor: Self, rest: Self) -> Self;
    /// The quotient rounded down; by 0, an infinity or NaN.
    fn floor_quotient(self, divisor: Self) -> Self;
    /// A rest as one of the sign of the divisor.
    fn by_sign_of(self, divisor: Self) -> Self;
}

macro_rules! rest { ($($F:ident $limit:expr;)*) => { $(
    impl Rest for $F {
        #[inline(always)]
        fn is_near(self, divisor: $F) -> bool {
            self.abs() < divisor.abs() * $limit
        }
        #[inline(always)]
        fn rest_near(self, divisor: $F) -> $F {
            let (a, b) = (self.abs(), divisor.abs());
            // Rounding may have made it greater by 1. What it leaves is a float, so the multiply-add is exact.
            let quotient = (a / b).trunc();
            let rest = (-quotient).mul_add(b, a);
            let rest = if rest < 0.0 { rest + b } else { rest };
            // Also by an infinite divisor.
            (if a < b { a } else { rest }).copysign(self)
        }
        #[inline(always)]
        fn rest(self, divisor: $F) -> $F {
            self % divisor
        }
        #[inline(always)]
        fn floored(self, divisor: $F, rest: $F) -> $F {
            let is_below = (rest != 0.0) & ((divisor < 0.0) != (rest < 0.0));
            let exact = (self - rest) / divisor - if is_below { 1.0 } else { 0.0 };
            let down = exact.floor();
            let nearest = if exact - down > 0.5 { down + 1.0 } else { down };
            let is_negative = self.is_sign_negative() != divisor.is_sign_negative();
            let zero = if is_negative { -0.0 } else { 0.0 };
            if exact == 0.0 { zero } else { nearest }
        }
        #[inline(always)]
        fn floor_quotient(self, divisor: $F) -> $F {
            if divisor == 0.0 { self / divisor } else { self.floored(divisor, self % divisor) }
        }
        #[inline(always)]
        fn by_sign_of(self, divisor: $F) -> $F {
            if (self != 0.0) & ((divisor < 0.0) != (self < 0.0)) { self + divisor } else { self }
        }
    }
)* } }
rest! {
    f32 4_194_304.0;
    f64 2_251_799_813_685_248.0;
}

#[cfg(test)]
mod tests {
    use super::Rest;

    #[test]
    fn the_near_way_gives_the_same_bits() {
        let mut state = 1u64;
        let mut draw = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 32) as u32
        };
        let specials = [0.0, -0.0, 1.0, -1.5, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 1e-45, -3e-45, f32::MAX];
        for i in 0..if cfg!(miri) { 300 } else { 2_000_000u32 } {
            let draw_one = |bits: u32| match bits % 64 {
                0 => specials[bits as usize / 64 % specials.len()],
                _ => f32::from_bits(bits),
            };
            let (a, mut b) = (draw_one(draw()), draw_one(draw()));
            if i % 4 > 0 && b.is_finite() {
                // Exponents that are not far from each other, and quotients that are nearly whole.
                b = f32::from_bits(b.to_bits() & 0x807f_ffff | (a.to_bits() & 0x7f80_0000));
                let few = f32::from((draw() % 4096) as u16);
                b = if i % 4 == 2 { a / few } else { b / few };
            }
            if a.is_near(b) {
                assert_eq!(a.rest_near(b).to_bits(), (a % b).to_bits(), "{a:e} % {b:e}");
            }
            let (a, b) = (f64::from(a), f64::from(b) / 3.0);
            if a.is_near(b) {
                assert_eq!(a.rest_near(b).to_bits(), (a % b).to_bits(), "{a:e} % {b:e}");
            }
        }
        assert!(!1f32.is_near(0.0) && !f32::NAN.is_near(1.0) && !f32::INFINITY.is_near(f32::INFINITY));
    }
}
