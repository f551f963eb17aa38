//! The e-graph language: one term type for every operator.
//!
//! Every argument of the schema is a child, in schema order, defaults filled in; constants and what is not rewritten
//! are leaves; lists have a term of their own, so `cat`'s operands are `(list ?a ?b)`. In patterns the namespace
//! `aten::` is left out; numbers, `None`, `True`, `False`, `'text'`, names of dtypes and memory formats are constants.

use egg::{Id, Language, Symbol};
use oxport_ir::{Argument, Device, MemoryFormat, MemoryLayout};
use oxport_tensor::DType;
use std::cmp::Ordering;
use std::sync::Arc;

/// A term. Terms are ordered by what they say: a symbol's own order is that in which names came up in the process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Term {
    /// A call, by the operator's name.
    Op(Symbol, Box<[Id]>),
    /// A list of arguments.
    List(Box<[Id]>),
    /// A constant.
    Const(Constant),
    /// The result of a node that is not rewritten, by its index in the graph.
    Leaf(u32),
    /// A value in a storage of its own, which somebody sees: that of the node of this index. It is equal to no other,
    /// whatever the value is equal to.
    Own(u32, [Id; 1]),
}

/// A constant argument, with an order and a hash: floats by their bits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Constant {
    /// `None`
    None,
    /// An int.
    Int(i64),
    /// A float's bits.
    Float(u64),
    /// A bool.
    Bool(bool),
    /// The bits of real and imaginary part.
    Complex(u64, u64),
    /// A string.
    Str(Arc<str>),
    /// A dtype, by its code in the program JSON.
    DType(u8),
    /// A layout.
    Layout(MemoryLayout),
    /// A memory format.
    MemoryFormat(MemoryFormat),
    /// A device.
    Device(Device),
}

impl Constant {
    /// The constant of an argument, if it is one.
    pub fn of(a: &Argument) -> Option<Constant> {
        Some(match a {
            Argument::None => Constant::None,
            Argument::Int(n) => Constant::Int(*n),
            Argument::Float(x) => Constant::Float(x.to_bits()),
            Argument::Bool(b) => Constant::Bool(*b),
            Argument::Complex(c) => Constant::Complex(c.re.to_bits(), c.im.to_bits()),
            Argument::Str(s) => Constant::Str(s.clone()),
            Argument::DType(d) => Constant::DType(d.code()),
            Argument::Layout(l) => Constant::Layout(*l),
            Argument::MemoryFormat(m) => Constant::MemoryFormat(*m),
            Argument::Device(d) => Constant::Device(d.clone()),
            _ => return None,
        })
    }
    /// The argument that this constant is.
    pub fn argument(&self) -> Argument {
        match self {
            Constant::None => Argument::None,
            Constant::Int(n) => Argument::Int(*n),
            Constant::Float(x) => Argument::Float(f64::from_bits(*x)),
            Constant::Bool(b) => Argument::Bool(*b),
            Constant::Complex(re, im) => {
                Argument::Complex(oxport_ir::Complex::new(f64::from_bits(*re), f64::from_bits(*im)))
            }
            Constant::Str(s) => Argument::Str(s.clone()),
            Constant::DType(code) => Argument::DType(DType::from_code(*code).expect("law: the code came from a dtype")),
            Constant::Layout(l) => Argument::Layout(*l),
            Constant::MemoryFormat(m) => Argument::MemoryFormat(*m),
            Constant::Device(d) => Argument::Device(d.clone()),
        }
    }
    /// The number, if it is one.
    pub fn number(&self) -> Option<f64> {
        match self {
            Constant::Int(n) => Some(*n as f64),
            Constant::Float(x) => Some(f64::from_bits(*x)),
            _ => None,
        }
    }
}

impl Ord for Term {
    fn cmp(&self, other: &Term) -> Ordering {
        let rank = |t: &Term| match t {
            Term::Op(..) => 0,
            Term::List(_) => 1,
            Term::Const(_) => 2,
            Term::Leaf(_) => 3,
            Term::Own(..) => 4,
        };
        match (self, other) {
            (Term::Op(a, x), Term::Op(b, y)) if a == b => x.cmp(y),
            (Term::Op(a, _), Term::Op(b, _)) => a.as_str().cmp(b.as_str()),
            (Term::List(x), Term::List(y)) => x.cmp(y),
            (Term::Const(a), Term::Const(b)) => a.cmp(b),
            (Term::Leaf(a), Term::Leaf(b)) => a.cmp(b),
            (Term::Own(a, x), Term::Own(b, y)) => (a, x).cmp(&(b, y)),
            (a, b) => rank(a).cmp(&rank(b)),
        }
    }
}

impl PartialOrd for Term {
    fn partial_cmp(&self, other: &Term) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Language for Term {
    type Discriminant = (u8, Option<Symbol>, usize);

    fn discriminant(&self) -> Self::Discriminant {
        match self {
            Term::Op(name, kids) => (0, Some(*name), kids.len()),
            Term::List(kids) => (1, None, kids.len()),
            Term::Const(_) => (2, None, 0),
            Term::Leaf(_) => (3, None, 0),
            Term::Own(..) => (4, None, 1),
        }
    }
    fn matches(&self, other: &Self) -> bool {
        match (self, other) {
            (Term::Op(a, x), Term::Op(b, y)) => a == b && x.len() == y.len(),
            (Term::List(x), Term::List(y)) => x.len() == y.len(),
            (Term::Own(a, _), Term::Own(b, _)) => a == b,
            (a, b) => a == b,
        }
    }
    fn children(&self) -> &[Id] {
        match self {
            Term::Op(_, kids) | Term::List(kids) => kids,
            Term::Own(_, kid) => kid,
            Term::Const(_) | Term::Leaf(_) => &[],
        }
    }
    fn children_mut(&mut self) -> &mut [Id] {
        match self {
            Term::Op(_, kids) | Term::List(kids) => kids,
            Term::Own(_, kid) => kid,
            Term::Const(_) | Term::Leaf(_) => &mut [],
        }
    }
}

impl egg::FromOp for Term {
    type Error = String;

    fn from_op(op: &str, kids: Vec<Id>) -> Result<Self, String> {
        if op == "list" {
            return Ok(Term::List(kids.into()));
        }
        if kids.is_empty() {
            let constant = match op {
                "None" => Some(Constant::None),
                "True" => Some(Constant::Bool(true)),
                "False" => Some(Constant::Bool(false)),
                quoted if quoted.len() > 1 && quoted.starts_with('\'') && quoted.ends_with('\'') => {
                    Some(Constant::Str(quoted[1..quoted.len() - 1].into()))
                }
                name if DType::from_name(name).is_some() => DType::from_name(name).map(|d| Constant::DType(d.code())),
                name if MemoryFormat::ALL.iter().any(|m| m.name() == name) => {
                    MemoryFormat::ALL.into_iter().find(|m| m.name() == name).map(Constant::MemoryFormat)
                }
                _ => op
                    .parse()
                    .map(Constant::Int)
                    .or_else(|_| op.parse().map(|x: f64| Constant::Float(x.to_bits())))
                    .ok(),
            };
            return constant.map(Term::Const).ok_or_else(|| format!("`{op}` is no constant"));
        }
        let is_computed = op.starts_with('@') || op.contains("::");
        let name = if is_computed { op.to_string() } else { format!("aten::{op}") };
        Ok(Term::Op(name.into(), kids.into()))
    }
}
