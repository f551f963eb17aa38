//! Descriptions of the records and unions of the program JSON: JSON Schemas are generated from them, and documents are
//! downgraded to older versions by them.

use super::Dict;

/// The shape of a JSON value.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// `true` or `false`.
    Bool,
    /// An integer.
    Int,
    /// A float: a number, or one of the strings `Infinity`, `-Infinity`, `NaN`.
    Real,
    /// A string.
    Text,
    /// Anything; `true` is written.
    Flag,
    /// A list.
    List(fn() -> Shape),
    /// An object with free keys.
    Dict(fn() -> Shape),
    /// `null`, or this.
    Optional(fn() -> Shape),
    /// An object with known keys.
    Record(&'static Record),
    /// An object with exactly one of these keys.
    Union(&'static Union),
}

/// An object with known keys.
#[derive(Debug)]
pub struct Record {
    /// Its name in the schema.
    pub name: &'static str,
    /// Its keys, in writing order.
    pub fields: &'static [Field],
}

/// A key of a record.
#[derive(Debug)]
pub struct Field {
    /// The key.
    pub key: &'static str,
    /// Its value.
    pub shape: fn() -> Shape,
    /// False if there is a default.
    pub required: bool,
}

/// An object with exactly one of these keys.
#[derive(Debug)]
pub struct Union {
    /// Its name in the schema.
    pub name: &'static str,
    /// The Rust names of its tags (see [`tag_key`]) with their values.
    pub tags: &'static [(&'static str, fn() -> Shape)],
}

/// The key of a tag: `AsSymInt` is `as_sym_int`.
pub fn tag_key(tag: &str) -> String {
    let mut key = String::with_capacity(tag.len() + 4);
    for (i, c) in tag.char_indices() {
        if c.is_ascii_uppercase() && i > 0 {
            key.push('_');
        }
        key.push(c.to_ascii_lowercase());
    }
    key
}

/// A type whose JSON has a known shape.
pub trait Described {
    /// The shape.
    fn shape() -> Shape;
}

macro_rules! described {
    ($($ty:ty => $shape:ident),* $(,)?) => {$(
        impl Described for $ty {
            fn shape() -> Shape {
                Shape::$shape
            }
        }
    )*};
}
described!(bool => Bool, i64 => Int, String => Text, super::Real => Real, super::Flag => Flag);

impl Described for super::Bound {
    fn shape() -> Shape {
        Shape::Optional(i64::shape)
    }
}

impl<T: Described> Described for Vec<T> {
    fn shape() -> Shape {
        Shape::List(T::shape)
    }
}

impl<T: Described> Described for Dict<T> {
    fn shape() -> Shape {
        Shape::Dict(T::shape)
    }
}

impl<T: Described> Described for Option<T> {
    fn shape() -> Shape {
        Shape::Optional(T::shape)
    }
}

impl<T: Described> Described for Box<T> {
    fn shape() -> Shape {
        T::shape()
    }
}
