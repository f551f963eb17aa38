//! Numbers and flags as the program JSON spells them.

use std::fmt;

use serde::de::{Error, IgnoredAny, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A float: a JSON number, or one of the strings `Infinity`, `-Infinity`, `NaN`.
///
/// Equal if the bits are, so that a NaN is equal to itself. As PyTorch does, reading also takes ints and numeric
/// strings.
#[derive(Clone, Copy, Debug)]
pub struct Real(pub f64);

impl PartialEq for Real {
    fn eq(&self, other: &Real) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}

impl<'de> Deserialize<'de> for Real {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Real, D::Error> {
        struct Float;
        impl Visitor<'_> for Float {
            type Value = Real;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a float, \"Infinity\", \"-Infinity\" or \"NaN\"")
            }
            fn visit_f64<E: Error>(self, x: f64) -> Result<Real, E> {
                Ok(Real(x))
            }
            fn visit_i64<E: Error>(self, n: i64) -> Result<Real, E> {
                Ok(Real(n as f64))
            }
            fn visit_u64<E: Error>(self, n: u64) -> Result<Real, E> {
                Ok(Real(n as f64))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Real, E> {
                text.trim().parse().map(Real).map_err(|_| E::invalid_value(serde::de::Unexpected::Str(text), &self))
            }
        }
        deserializer.deserialize_any(Float)
    }
}

impl Serialize for Real {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            x if x.is_nan() => serializer.serialize_str("NaN"),
            f64::INFINITY => serializer.serialize_str("Infinity"),
            f64::NEG_INFINITY => serializer.serialize_str("-Infinity"),
            x => serializer.serialize_f64(x),
        }
    }
}

/// A bound of a range: an int, or `null` for none. PyTorch 2.5 and 2.6 wrote infinities for none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound(pub Option<i64>);

impl<'de> Deserialize<'de> for Bound {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Bound, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Text {
            Int(i64),
            Word(String),
        }
        match Option::<Text>::deserialize(deserializer)? {
            None => Ok(Bound(None)),
            Some(Text::Int(n)) => Ok(Bound(Some(n))),
            Some(Text::Word(word)) if matches!(&*word, "Infinity" | "-Infinity") => Ok(Bound(None)),
            Some(Text::Word(word)) => Err(D::Error::custom(format!(
                "expected an int, null or an infinity as a bound of a range, got {word:?}"
            ))),
        }
    }
}

impl Serialize for Bound {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

/// The value of a tag without content: `true`. PyTorch ignores the value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flag;

impl<'de> Deserialize<'de> for Flag {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Flag, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Flag)
    }
}

impl Serialize for Flag {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bool(true)
    }
}
