//! What stands in for cells that are not there, and which conversions are allowed.
//!
//! Invariant: without a word in [`Fill`], a conversion is exact for every value of the column's type.

use crate::error::{Error, Result};
use oxport_tensor::{DType, Element, Scalar, dispatch};

/// What stands in for cells that are not there, and which conversions are allowed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fill {
    /// The value of nulls; without it, a null is an error.
    pub null: Option<Scalar>,
    /// The value of what a list lacks; without it, lists of different lengths are an error.
    pub pad: Option<Scalar>,
    /// Whether columns are converted to the input's dtype with rounding. A value out of range, or a fraction for an
    /// integer, is still an error.
    pub cast: bool,
}

impl Fill {
    /// Checks that a dtype has the values.
    pub(crate) fn check(&self, dtype: DType) -> Result<()> {
        for value in [self.null, self.pad].into_iter().flatten() {
            if !holds(dtype, value) {
                let (value, dtype) = (shown(value), dtype.name());
                return Err(Error::request(format!("{value} is no value of {dtype}")));
            }
        }
        Ok(())
    }
}

fn shown(value: Scalar) -> String {
    match value {
        Scalar::Int(n) => n.to_string(),
        Scalar::Float(x) => format!("{x:?}"),
        Scalar::Bool(b) => b.to_string(),
        Scalar::Complex(z) => z.to_string(),
    }
}

fn holds(dtype: DType, value: Scalar) -> bool {
    if dtype.is_float() {
        return !matches!(value, Scalar::Complex(_));
    }
    fn back<T: Element>(value: Scalar) -> Scalar {
        Scalar::from_element(value.to::<T>())
    }
    let stored: Result<Scalar, oxport_tensor::Error> = dispatch!(int_or_bool dtype, |T| Ok(back::<T>(value)));
    let whole = |value: Scalar| match value {
        Scalar::Int(n) => Some(n),
        Scalar::Float(x) if x.fract() == 0.0 && x.abs() < 9e15 => Some(x as i64),
        Scalar::Bool(b) => Some(i64::from(b)),
        _ => None,
    };
    stored.is_ok_and(|stored| whole(value).is_some_and(|n| whole(stored) == Some(n)))
}

/// Whether every value of a dtype is one of another: `int16` of `float32`, but not `int32`.
pub(crate) fn is_exact(from: DType, to: DType) -> bool {
    use DType::*;
    // The integers of which all up to 2^n are values.
    let digits = |dtype: DType| match dtype {
        BF16 => 8,
        F16 => 11,
        F32 => 24,
        F64 => 53,
        _ => 0,
    };
    // The bits of the magnitude, and whether there is a sign.
    let integer = |dtype: DType| match dtype {
        Bool => Some((1, false)),
        U8 => Some((8, false)),
        U16 => Some((16, false)),
        U32 => Some((32, false)),
        U64 => Some((64, false)),
        I8 => Some((7, true)),
        I16 => Some((15, true)),
        I32 => Some((31, true)),
        I64 => Some((63, true)),
        _ => None,
    };
    match (integer(from), integer(to)) {
        _ if from == to => true,
        (Some(_), Some(_)) if to == Bool => false,
        (Some((bits, signed)), Some((room, has_sign))) => bits <= room && (has_sign || !signed),
        (Some((bits, _)), None) => bits <= digits(to),
        (None, None) => matches!((from, to), (F16 | BF16, F32 | F64) | (F32, F64)),
        (None, Some(_)) => false,
    }
}
