//! The program JSON, schema 8.20, one Rust type for every record of it.
//!
//! A *record* is an object: keys without default are required, unknown keys are kept in `extra`, and all keys are
//! written, in the order of their declaration, as PyTorch writes them. A *union* is an object with exactly one key, and
//! is a Rust enum. Nothing is interpreted here: names are not resolved, numbers of enums are not looked up.
//!
//! Invariant: reading a document of PyTorch and writing it again gives the same JSON value, and the same text if floats
//! are in their shortest form.

mod graph;
mod number;
mod payload;
mod program;
mod schema;
pub mod shape;
mod signature;
mod value;
pub mod versions;

pub use graph::*;
pub use number::{Bound, Flag, Real};
pub use payload::*;
pub use program::*;
pub use schema::json_schema;
pub use shape::Described;
pub use signature::*;
pub use value::*;

use serde::de::{DeserializeSeed, Visitor};
use serde_json::{Map, Value};

/// Unknown keys of a record with their values; nearly always `None`.
pub type Extra = Option<Box<Map<String, Value>>>;

/// A map that keeps the order of the file.
pub type Dict<T> = indexmap::IndexMap<String, T>;

/// Declares records: their keys in writing order, each with its type and, if it may be left out, its default. A record
/// may be generic in one part, which usually is the record of that kind.
macro_rules! records {
    ($($(#[$doc:meta])* $name:ident $(<$part:ident = $whole:ty>)? {
        $($(#[$field_doc:meta])* $field:ident $(as $key:literal)? : $ty:ty $(= $default:expr)?,)*
    })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name $(<$part = $whole>)? {
            $($(#[$field_doc])* pub $field: $ty,)*
            /// Unknown keys.
            pub extra: $crate::model::Extra,
        }

        impl<'de $(, $part: serde::Deserialize<'de>)?> serde::Deserialize<'de> for $name $(<$part>)? {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Record $(<$part>(std::marker::PhantomData<$part>))?;
                impl<'de $(, $part: serde::Deserialize<'de>)?> serde::de::Visitor<'de> for Record $(<$part>)? {
                    type Value = $name $(<$part>)?;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str(concat!("an object (", stringify!($name), ")"))
                    }
                    fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                        use serde::de::Error as _;
                        const KEYS: &[&str] = &[$($crate::model::records!(@key $field $($key)?),)*];
                        $(let mut $field: Option<$ty> = None;)*
                        let mut extra: $crate::model::Extra = None;
                        while let Some(key) = map.next_key_seed($crate::model::KeyOf(KEYS))? {
                            let key = match key {
                                Ok(key) => key,
                                Err(unknown) => {
                                    extra.get_or_insert_default().insert(unknown, map.next_value()?);
                                    continue;
                                }
                            };
                            $(if key == $crate::model::records!(@key $field $($key)?) {
                                if $field.is_some() {
                                    return Err(A::Error::duplicate_field(key));
                                }
                                $field = Some(map.next_value()?);
                                continue;
                            })*
                        }
                        Ok($name {
                            $($field: match $field {
                                Some(value) => value,
                                None => $crate::model::records!(@missing A, $field $($key)? $(= $default)?),
                            },)*
                            extra,
                        })
                    }
                }
                deserializer.deserialize_map(Record $((std::marker::PhantomData::<$part>))?)
            }
        }

        impl $(<$part: serde::Serialize>)? serde::Serialize for $name $(<$part>)? {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeMap;
                let mut map = serializer.serialize_map(None)?;
                $(map.serialize_entry($crate::model::records!(@key $field $($key)?), &self.$field)?;)*
                for (key, value) in self.extra.iter().flat_map(|extra| extra.iter()) {
                    map.serialize_entry(key, value)?;
                }
                map.end()
            }
        }

        impl $crate::model::Described for $name {
            fn shape() -> $crate::model::shape::Shape {
                use $crate::model::shape::{Field, Record, Shape};
                $(type $part = $whole;)?
                const RECORD: &Record = &Record {
                    name: stringify!($name),
                    fields: &[$(Field {
                        key: $crate::model::records!(@key $field $($key)?),
                        shape: <$ty as $crate::model::Described>::shape,
                        required: $crate::model::records!(@required $($default)?),
                    },)*],
                };
                Shape::Record(RECORD)
            }
        }
    )*};
    (@required) => { true };
    (@required $default:expr) => { false };
    (@key $field:ident) => { stringify!($field) };
    (@key $field:ident $key:literal) => { $key };
    (@missing $access:ident, $field:ident $($key:literal)?) => {
        return Err($access::Error::missing_field($crate::model::records!(@key $field $($key)?)))
    };
    (@missing $access:ident, $field:ident $($key:literal)? = $default:expr) => { $default };
}
pub(crate) use records;

/// Declares unions: their tags in snake case, each with the type of its value.
macro_rules! unions {
    ($($(#[$doc:meta])* $name:ident { $($(#[$tag_doc:meta])* $tag:ident($ty:ty),)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize)]
        #[serde(rename_all = "snake_case")]
        pub enum $name {
            $($(#[$tag_doc])* $tag($ty),)*
        }

        impl $crate::model::Described for $name {
            fn shape() -> $crate::model::shape::Shape {
                use $crate::model::shape::{Shape, Union};
                const UNION: &Union = &Union {
                    name: stringify!($name),
                    tags: &[$((stringify!($tag), <$ty as $crate::model::Described>::shape),)*],
                };
                Shape::Union(UNION)
            }
        }
    )*};
}
use unions;

/// Reads a key: one of these, or else the unknown key.
pub(crate) struct KeyOf(pub(crate) &'static [&'static str]);

impl<'de> DeserializeSeed<'de> for KeyOf {
    type Value = Result<&'static str, String>;
    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for KeyOf {
    type Value = Result<&'static str, String>;
    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a key")
    }
    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        Ok(self.0.iter().copied().find(|known| *known == key).ok_or_else(|| key.to_string()))
    }
}

#[cfg(test)]
mod tests;
