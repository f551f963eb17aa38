//! [`dispatch!`](crate::dispatch): from a dtype known at run time to a native type known at compile time.

/// Runs a body with `T` bound to the native type of a dtype, for the dtypes of one class.
///
/// The body gives a `Result`; a dtype outside the class gives `Err` of
/// [`Error::unsupported`](crate::Error::unsupported), converted by `.into()` to the body's error type. Call *generic
/// functions* in the body (`relu::<T>`), not `T::relu`:
/// `T` is an alias, so an inherent method of `f32` would win over a trait's.
///
/// | class | dtypes |
/// |---|---|
/// | `all` | every dtype |
/// | `plain` | every dtype that can be computed with: all but float8 and complex32 |
/// | `float` | f16 bf16 f32 f64 |
/// | `half` | f16 bf16 |
/// | `wide_float` | f32 f64 |
/// | `int` | all integers, signed and unsigned |
/// | `int_or_bool` | integers and bool |
/// | `number` | integers and floats |
/// | `real` | numbers and bool |
/// | `complex` | c64 c128 |
/// | `float_or_complex` | floats and complex |
/// | `arith` | numbers and complex |
/// | `size` | takes a number of bytes (1, 2, 4, 8, 16); `T` is `u8` … `u64` or `[u64; 2]`, for data movement |
///
/// ```
/// use oxport_tensor::{dispatch, DType, Element, Error};
/// fn digits<T: Element>() -> usize { size_of::<T>() }
/// let bytes: Result<usize, Error> = dispatch!(float DType::BF16, |T| Ok(digits::<T>()));
/// assert_eq!(bytes.unwrap(), 2);
/// let none: Result<usize, Error> = dispatch!(float DType::I64, |T| Ok(digits::<T>()));
/// assert!(none.unwrap_err().is_unsupported());
/// ```
#[macro_export]
macro_rules! dispatch {
    (@ $class:literal, $dtype:expr, [$($D:ident)*], $T:ident, $body:expr) => {
        match $dtype {
            $($crate::DType::$D => { type $T = $crate::native::$D; $body })*
            #[allow(unreachable_patterns)]
            dtype => Err($crate::Error::unsupported_dtype(dtype, $class).into()),
        }
    };
    (all $dtype:expr, |$T:ident| $body:expr) => {
        $crate::dispatch!(@ "any", $dtype, [U8 I8 I16 I32 I64 F16 F32 F64 C32 C64 C128 Bool BF16 U16 U32 U64
            F8E4M3FN F8E5M2 F8E4M3FNUZ F8E5M2FNUZ F8E8M0FNU], $T, $body)
    };
    (plain $dtype:expr, |$T:ident| $body:expr) => {
        $crate::dispatch!(@ "bool, integers, floats, complex", $dtype,
            [Bool U8 I8 I16 I32 I64 U16 U32 U64 F16 BF16 F32 F64 C64 C128], $T, $body)
    };
    (float $dtype:expr, |$T:ident| $body:expr) => {
        $crate::dispatch!(@ "floats", $dtype, [F16 BF16 F32 F64], $T, $body)
    };
    (half $dtype:expr, |$T:ident| $body:expr) => {
        $crate::dispatch!(@ "float16, bfloat16", $dtype, [F16 BF16], $T, $body)
    };
    (wide_float $dtype:expr, |$T:ident| $body:expr) => {
        $crate::dispatch!(@ "float32, float64", $dtype, [F32 F64], $T, $body)
    };
    (int $dtype:expr, |$T:ident| $body:expr) => {
        $crate::dispatch!(@ "integers", $dtype, [U8 I8 I16 I32 I64 U16 U32 U64], $T, $body)
    };
    (int_or_bool $dtype:expr, |$T:ident| $body:expr) => {
        $crate::dispatch!(@ "bool, integers", $dtype, [Bool U8 I8 I16 I32 I64 U16 U32 U64], $T, $body)
    };
    (number $dtype:expr, |$T:ident| $body:expr) => {
        $crate::dispatch!(@ "integers, floats", $dtype, [U8 I8 I16 I32 I64 U16 U32 U64 F16 BF16 F32 F64], $T, $body)
    };
    (real $dtype:expr, |$T:ident| $body:expr) => {
        $crate::dispatch!(@ "bool, integers, floats", $dtype,
            [Bool U8 I8 I16 I32 I64 U16 U32 U64 F16 BF16 F32 F64], $T, $body)
    };
    (complex $dtype:expr, |$T:ident| $body:expr) => {
        $crate::dispatch!(@ "complex", $dtype, [C64 C128], $T, $body)
    };
    (float_or_complex $dtype:expr, |$T:ident| $body:expr) => {
        $crate::dispatch!(@ "floats, complex", $dtype, [F16 BF16 F32 F64 C64 C128], $T, $body)
    };
    (arith $dtype:expr, |$T:ident| $body:expr) => {
        $crate::dispatch!(@ "integers, floats, complex", $dtype,
            [U8 I8 I16 I32 I64 U16 U32 U64 F16 BF16 F32 F64 C64 C128], $T, $body)
    };
    (size $bytes:expr, |$T:ident| $body:expr) => {
        match $bytes {
            1 => { type $T = u8; $body }
            2 => { type $T = u16; $body }
            4 => { type $T = u32; $body }
            8 => { type $T = u64; $body }
            16 => { type $T = [u64; 2]; $body }
            other => Err($crate::Error::unsupported(format!("elements of {other} bytes")).into()),
        }
    };
}

#[cfg(test)]
mod tests {
    use crate::{DType, Element, Error};

    #[test]
    fn binds_the_native_type() {
        for &dtype in DType::ALL {
            let got: Result<DType, Error> = dispatch!(all dtype, |T| Ok(<T as crate::HasDType>::DTYPE));
            assert_eq!(got.unwrap(), dtype);
            let size: Result<usize, Error> = dispatch!(size dtype.size(), |T| Ok(size_of::<T>()));
            assert_eq!(size.unwrap(), dtype.size());
        }
    }

    #[test]
    fn refuses_what_is_not_listed() {
        fn zero<T: Element>() -> bool {
            T::default() == T::default()
        }
        let got: Result<bool, Error> = dispatch!(number DType::Bool, |T| Ok(zero::<T>()));
        assert_eq!(got.unwrap_err().to_string(), "unsupported: expected a dtype of: integers, floats, got bool");
    }
}
