//! A proof as it is written: terms in a table, each over earlier ones, and steps over terms.

use crate::constant::Constant;
use oxport_ir::{Device, MemoryFormat, MemoryLayout};
use oxport_tensor::{DType, Tensor};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use xxhash_rust::xxh3::Xxh3;

/// The format that this version writes and reads.
pub(crate) const FORMAT: &str = "oxport-proof/1";

/// A proof that one program is the other, optimized.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proof {
    /// The format: `oxport-proof/1`.
    pub format: String,
    /// How equal the programs are.
    pub rules: Rules,
    /// What the first program is made into before the first step.
    pub start: Start,
    /// Whether parameters and buffers were computed with: the programs are equal for these weights only.
    pub frozen: bool,
    /// The terms that steps are about. Arguments are indices of earlier ones.
    pub terms: Vec<Entry>,
    /// The steps.
    pub steps: Vec<Step>,
}

impl Proof {
    /// A proof without steps.
    pub fn new(rules: Rules, start: Start, frozen: bool) -> Proof {
        Proof { format: FORMAT.to_string(), rules, start, frozen, terms: Vec::new(), steps: Vec::new() }
    }
}

/// How equal the programs are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rules {
    /// To the bit.
    Exact,
    /// Up to rounding.
    Fast,
}

/// What the first program is made into before the first step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Start {
    /// It is functionalized.
    Aten,
    /// It is functionalized, and operators without a kernel are decomposed.
    Cpu,
}

/// A term.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// A call of an operator: every argument of its schema, in order.
    Call(String, Vec<u32>),
    /// A list of arguments.
    List(Vec<u32>),
    /// A node of the first program.
    Node(String),
    /// A tensor constant of the second program.
    Constant(String),
    /// A constant argument.
    Value(Value),
    /// What lies in the storage of a value, for operators that read past its elements.
    Storage(u32),
}

/// A constant argument.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Value {
    /// `None`
    None,
    /// An int.
    Int(i64),
    /// A finite float.
    Float(f64),
    /// The bits of a float that is not finite.
    Bits(u64),
    /// A bool.
    Bool(bool),
    /// The bits of real and imaginary part.
    Complex(u64, u64),
    /// A string.
    Str(String),
    /// A dtype.
    Dtype(String),
    /// A layout.
    Layout(String),
    /// A memory format.
    MemoryFormat(String),
    /// A device: its kind, and its index.
    Device(String, Option<i64>),
}

/// A step: it makes terms equal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Step {
    /// A rule.
    Rule {
        /// Its name.
        name: String,
        /// A term of its left side.
        before: u32,
        /// That of its right side.
        after: u32,
        /// What its variables stand for.
        with: BTreeMap<String, u32>,
    },
    /// Products over a shared input, merged.
    Merge {
        /// The rule's name.
        name: String,
        /// Each product, and the part of the merged one that it is.
        pairs: Vec<(u32, u32)>,
    },
    /// A term that was computed.
    Fold {
        /// The term.
        term: u32,
        /// The constant of the second program that it is.
        constant: String,
        /// What that is like.
        tensor: Digest,
    },
}

/// What a tensor is like.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Digest {
    /// Its dtype.
    pub dtype: String,
    /// Its sizes.
    pub sizes: Vec<i64>,
    /// A hash (XXH3) of its elements in row-major order.
    pub hash: String,
}

impl Digest {
    /// That of a tensor; `None` if it is too large to be copied.
    pub fn of(tensor: &Tensor) -> Option<Digest> {
        let dense = tensor.contiguous().ok()?;
        let mut hash = Xxh3::new();
        hash.update(dense.bytes()?);
        let hash = format!("{:032x}", hash.digest128());
        Some(Digest { dtype: tensor.dtype().name().to_string(), sizes: tensor.sizes().to_vec(), hash })
    }
}

impl Value {
    /// A constant as it is written.
    pub(crate) fn of(c: &Constant) -> Value {
        match c {
            Constant::None => Value::None,
            Constant::Int(n) => Value::Int(*n),
            Constant::Float(x) if f64::from_bits(*x).is_finite() => Value::Float(f64::from_bits(*x)),
            Constant::Float(x) => Value::Bits(*x),
            Constant::Bool(b) => Value::Bool(*b),
            Constant::Complex(re, im) => Value::Complex(*re, *im),
            Constant::Str(s) => Value::Str(s.to_string()),
            Constant::DType(d) => Value::Dtype(DType::from_code(*d).map_or("", DType::name).to_string()),
            Constant::Layout(l) => Value::Layout(l.name().to_string()),
            Constant::MemoryFormat(m) => Value::MemoryFormat(m.name().to_string()),
            Constant::Device(d) => Value::Device(d.kind.to_string(), d.index),
        }
    }
    /// The constant; `None` if there is none of that name.
    pub(crate) fn constant(&self) -> Option<Constant> {
        Some(match self {
            Value::None => Constant::None,
            Value::Int(n) => Constant::Int(*n),
            Value::Float(x) => Constant::Float(x.to_bits()),
            Value::Bits(x) => Constant::Float(*x),
            Value::Bool(b) => Constant::Bool(*b),
            Value::Complex(re, im) => Constant::Complex(*re, *im),
            Value::Str(s) => Constant::Str(s.as_str().into()),
            Value::Dtype(name) => Constant::DType(DType::from_name(name)?.code()),
            Value::Layout(name) => Constant::Layout(MemoryLayout::ALL.into_iter().find(|l| l.name() == name)?),
            Value::MemoryFormat(name) => {
                Constant::MemoryFormat(MemoryFormat::ALL.into_iter().find(|m| m.name() == name)?)
            }
            Value::Device(kind, index) => Constant::Device(Device { kind: kind.as_str().into(), index: *index }),
        })
    }
}
