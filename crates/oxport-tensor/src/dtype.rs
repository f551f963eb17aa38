//! The dtypes: one list from which names, codes, sizes, native types and categories are made, and the promotion rule.

use half::{bf16, f16};
use num_complex::Complex;

use crate::float8::{E4M3FN, E4M3FNUZ, E5M2, E5M2FNUZ, E8M0FNU};

/// Makes [`DType`], its tables and the module [`native`] from one list. It lists; it does not think.
macro_rules! dtypes { ($(
    $(#[$doc:meta])* $D:ident($T:ty) = $code:literal, $name:literal, $short:literal, $category:ident;
)*) => {
    /// The type of a tensor's elements.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum DType { $($(#[$doc])* $D),* }

    /// The native Rust type of each dtype, under the dtype's own name; [`dispatch!`](crate::dispatch) binds `T` to
    /// these.
    pub mod native { use super::*; $($(#[$doc])* pub type $D = $T;)* }

    impl DType {
        /// Every dtype, in the order of the list.
        pub const ALL: &'static [DType] = &[$(DType::$D),*];
        /// PyTorch's name without the prefix `torch.`, such as `float32`.
        pub const fn name(self) -> &'static str { match self { $(DType::$D => $name),* } }
        /// The abbreviation in FX annotations, such as `f32`, `i64`, `b8`, `f8e4m3fn`.
        pub const fn short(self) -> &'static str { match self { $(DType::$D => $short),* } }
        /// The `ScalarType` number in exported program JSON (not the C++ enum's number).
        pub const fn code(self) -> u8 { match self { $(DType::$D => $code),* } }
        /// Bytes per element.
        pub const fn size(self) -> usize { match self { $(DType::$D => size_of::<$T>()),* } }
        /// Bool, integer, float or complex.
        pub const fn category(self) -> Category { match self { $(DType::$D => Category::$category),* } }
    }
    $(impl crate::element::sealed::Sealed for $T {})*
    $(impl crate::element::HasDType for $T { const DTYPE: DType = DType::$D; })*
}}

dtypes! {
    /// 8-bit unsigned integer.
    U8(u8) = 1, "uint8", "u8", Int;
    /// 8-bit signed integer.
    I8(i8) = 2, "int8", "i8", Int;
    /// 16-bit signed integer.
    I16(i16) = 3, "int16", "i16", Int;
    /// 32-bit signed integer.
    I32(i32) = 4, "int32", "i32", Int;
    /// 64-bit signed integer.
    I64(i64) = 5, "int64", "i64", Int;
    /// IEEE half precision.
    F16(f16) = 6, "float16", "f16", Float;
    /// IEEE single precision.
    F32(f32) = 7, "float32", "f32", Float;
    /// IEEE double precision.
    F64(f64) = 8, "float64", "f64", Float;
    /// Complex of two half floats; storage and data movement only.
    C32(Complex<f16>) = 9, "complex32", "c32", Complex;
    /// Complex of two single floats.
    C64(Complex<f32>) = 10, "complex64", "c64", Complex;
    /// Complex of two double floats.
    C128(Complex<f64>) = 11, "complex128", "c128", Complex;
    /// A byte that is 0 or 1.
    Bool(bool) = 12, "bool", "b8", Bool;
    /// The upper half of a single float.
    BF16(bf16) = 13, "bfloat16", "bf16", Float;
    /// 16-bit unsigned integer.
    U16(u16) = 28, "uint16", "u16", Int;
    /// 8-bit float, 4 exponent bits, finite and NaN only.
    F8E4M3FN(E4M3FN) = 29, "float8_e4m3fn", "f8e4m3fn", Float;
    /// 8-bit float, 5 exponent bits, with infinities.
    F8E5M2(E5M2) = 30, "float8_e5m2", "f8e5m2", Float;
    /// 8-bit float, 4 exponent bits, one zero, one NaN.
    F8E4M3FNUZ(E4M3FNUZ) = 31, "float8_e4m3fnuz", "f8e4m3fnuz", Float;
    /// 8-bit float, 5 exponent bits, one zero, one NaN.
    F8E5M2FNUZ(E5M2FNUZ) = 32, "float8_e5m2fnuz", "f8e5m2fnuz", Float;
    /// 8-bit power of two, no sign.
    F8E8M0FNU(E8M0FNU) = 33, "float8_e8m0fnu", "f8e8m0fnu", Float;
    /// 32-bit unsigned integer.
    U32(u32) = 34, "uint32", "u32", Int;
    /// 64-bit unsigned integer.
    U64(u64) = 35, "uint64", "u64", Int;
}

/// The kinds of numbers, in the order in which promotion prefers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Category {
    /// Truth values.
    Bool,
    /// Signed and unsigned integers.
    Int,
    /// Real floating point numbers, including the 8-bit ones.
    Float,
    /// Complex numbers.
    Complex,
}

impl DType {
    /// The dtype with this [`name`](DType::name); a leading `torch.` is accepted.
    pub fn from_name(name: &str) -> Option<DType> {
        let name = name.strip_prefix("torch.").unwrap_or(name);
        DType::ALL.iter().copied().find(|d| d.name() == name)
    }
    /// The dtype with this [`short`](DType::short) name.
    pub fn from_short(short: &str) -> Option<DType> {
        DType::ALL.iter().copied().find(|d| d.short() == short)
    }
    /// The dtype with this [`code`](DType::code).
    pub fn from_code(code: u8) -> Option<DType> {
        DType::ALL.iter().copied().find(|d| d.code() == code)
    }
    /// The alignment in bytes that a tensor's storage must have: the size, at most 8, so that elements may also be
    /// moved as unsigned integers of their size.
    pub const fn align(self) -> usize {
        if self.size() < 8 { self.size() } else { 8 }
    }
    /// True for all real floats, including the 8-bit ones.
    pub const fn is_float(self) -> bool {
        matches!(self.category(), Category::Float)
    }
    /// True for the 8-bit floats, which are only stored and converted.
    pub const fn is_float8(self) -> bool {
        self.is_float() && self.size() == 1
    }
    /// True for complex dtypes.
    pub const fn is_complex(self) -> bool {
        matches!(self.category(), Category::Complex)
    }
    /// True for integers, not for bool.
    pub const fn is_integer(self) -> bool {
        matches!(self.category(), Category::Int)
    }
    /// True for bool.
    pub const fn is_bool(self) -> bool {
        matches!(self.category(), Category::Bool)
    }
    /// True for what PyTorch calls signed: signed integers, floats and complex numbers, except `float8_e8m0fnu`.
    pub const fn is_signed(self) -> bool {
        use DType::*;
        !matches!(self, Bool | U8 | U16 | U32 | U64 | F8E8M0FNU)
    }
    /// The real dtype of a complex one's parts; any other dtype itself.
    pub const fn to_real(self) -> DType {
        use DType::*;
        match self {
            C32 => F16,
            C64 => F32,
            C128 => F64,
            other => other,
        }
    }
    /// The complex dtype that holds this one's values as `1j * x` gives it: f16 → c32, f64 → c128, everything else c64.
    pub const fn to_complex(self) -> DType {
        use DType::*;
        match self {
            F16 | C32 => C32,
            F64 | C128 => C128,
            _ => C64,
        }
    }
    /// The dtype in which PyTorch's CPU kernels compute: f16 and bf16 (and float8) → f32, c32 → c64, others themselves.
    pub const fn opmath(self) -> DType {
        match self {
            DType::F16 | DType::BF16 => DType::F32,
            DType::C32 => DType::C64,
            d if d.is_float8() => DType::F32,
            d => d,
        }
    }

    /// `torch.promote_types`: the dtype that holds both, or `None` where PyTorch raises (float8 with anything else;
    /// the wide unsigned integers with anything but floats).
    pub fn promote(a: DType, b: DType) -> Option<DType> {
        use DType::*;
        if a == b {
            return Some(a);
        }
        let (low, high) = if a.category() <= b.category() { (a, b) } else { (b, a) };
        let wide_unsigned = |d| matches!(d, U16 | U32 | U64);
        if low.is_float8() || high.is_float8() {
            return None;
        }
        if wide_unsigned(low) || wide_unsigned(high) {
            return high.is_float().then_some(high);
        }
        Some(match (low.category(), high.category()) {
            (Category::Bool, _) | (Category::Int, Category::Float | Category::Complex) => high,
            (Category::Int, _) => match (low, high) {
                (U8, I8) | (I8, U8) => I16,
                (U8, signed) | (signed, U8) => signed,
                _ => wider(low, high),
            },
            (Category::Float, Category::Float) if low.size() == high.size() => F32,
            (Category::Float, Category::Float) => wider(low, high),
            (Category::Float, _) => wider(if low == BF16 { C64 } else { low.to_complex() }, high),
            (Category::Complex, _) => wider(low, high),
        })
    }
}

fn wider(a: DType, b: DType) -> DType {
    if a.size() >= b.size() { a } else { b }
}

impl std::fmt::Display for DType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn promotion_agrees_with_torch() {
        // Generated once by torch.promote_types over the short names below; `-` where torch raises.
        let names = "u8 i8 i16 i32 i64 f16 f32 f64 c32 c64 c128 b8 bf16 u16 u32 f8e5m2";
        let table = "
            u8 i16 i16 i32 i64 f16 f32 f64 c32 c64 c128 u8 bf16 - - -
            i16 i8 i16 i32 i64 f16 f32 f64 c32 c64 c128 i8 bf16 - - -
            i16 i16 i16 i32 i64 f16 f32 f64 c32 c64 c128 i16 bf16 - - -
            i32 i32 i32 i32 i64 f16 f32 f64 c32 c64 c128 i32 bf16 - - -
            i64 i64 i64 i64 i64 f16 f32 f64 c32 c64 c128 i64 bf16 - - -
            f16 f16 f16 f16 f16 f16 f32 f64 c32 c64 c128 f16 f32 f16 f16 -
            f32 f32 f32 f32 f32 f32 f32 f64 c64 c64 c128 f32 f32 f32 f32 -
            f64 f64 f64 f64 f64 f64 f64 f64 c128 c128 c128 f64 f64 f64 f64 -
            c32 c32 c32 c32 c32 c32 c64 c128 c32 c64 c128 c32 c64 - - -
            c64 c64 c64 c64 c64 c64 c64 c128 c64 c64 c128 c64 c64 - - -
            c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 - - -
            u8 i8 i16 i32 i64 f16 f32 f64 c32 c64 c128 b8 bf16 - - -
            bf16 bf16 bf16 bf16 bf16 f32 f32 f64 c64 c64 c128 bf16 bf16 bf16 bf16 -
            - - - - - f16 f32 f64 - - - - bf16 u16 - -
            - - - - - f16 f32 f64 - - - - bf16 - u32 -
            - - - - - - - - - - - - - - - f8e5m2";
        let mut cells = table.split_whitespace();
        for a in names.split(' ') {
            for b in names.split(' ') {
                let (x, y) = (DType::from_short(a).unwrap(), DType::from_short(b).unwrap());
                let got = DType::promote(x, y).map_or("-", DType::short);
                assert_eq!(Some(got), cells.next(), "{a} with {b}");
            }
        }
    }

    #[test]
    fn names_and_codes_come_back() {
        for &d in DType::ALL {
            assert_eq!(DType::from_name(d.name()), Some(d));
            assert_eq!(DType::from_short(d.short()), Some(d));
            assert_eq!(DType::from_code(d.code()), Some(d));
        }
        assert_eq!(DType::from_name("torch.float32"), Some(DType::F32));
        assert_eq!(DType::from_code(0), None);
    }
}
