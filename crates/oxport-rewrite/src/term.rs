//! The e-graph language: one term type for every operator.
//!
//! Every argument of the schema is a child, in schema order, defaults filled in; constants and what is not rewritten
//! are leaves; lists have a term of their own, so `cat`'s operands are `(list ?a ?b)`. In patterns the namespace
//! `aten::` is left out; numbers, `None`, `True`, `False`, `'text'`, names of dtypes and memory formats are constants.

pub use crate::children::Children;
pub use crate::constant::Constant;
pub(crate) use crate::constant::written;
pub use crate::name::Name;
use egg::{Id, Language};
use std::cmp::Ordering;

/// A term. Terms are ordered by what they say.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Term {
    /// A call, by the operator's name.
    Op(Name, Children),
    /// A list of arguments.
    List(Children),
    /// A constant.
    Const(Constant),
    /// The result of a node that is not rewritten, by its index in the graph.
    Leaf(u32),
    /// A value in a storage of its own, which somebody sees: that of the node of this index. It is equal to no other,
    /// whatever the value is equal to.
    Own(u32, [Id; 1]),
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
            (Term::Op(a, x), Term::Op(b, y)) => a.cmp(b).then_with(|| x.cmp(y)),
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
    /// In one word: it is hashed for every term of the e-graph whenever that is rebuilt.
    type Discriminant = u64;

    fn discriminant(&self) -> Self::Discriminant {
        match self {
            Term::Op(name, kids) => discriminant_of_op(*name, kids.len()),
            Term::List(kids) => 1 << LENGTH_BITS | length(kids.len()),
            Term::Const(_) => 2 << LENGTH_BITS,
            Term::Leaf(_) => 3 << LENGTH_BITS,
            Term::Own(..) => 4 << LENGTH_BITS,
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

/// The lower bits of a discriminant are the number of children; the upper ones say what it is.
const LENGTH_BITS: u32 = 30;
/// What is an operator has its number, and none of the kinds that are none.
const OP_BIT: u64 = 1 << 63;

fn length(children: usize) -> u64 {
    children.min((1 << LENGTH_BITS) - 1) as u64
}

/// The discriminant of calls of an operator with so many arguments.
pub(crate) fn discriminant_of_op(name: Name, arguments: usize) -> u64 {
    OP_BIT | u64::from(name.number()) << LENGTH_BITS | length(arguments)
}

impl egg::FromOp for Term {
    type Error = String;

    fn from_op(op: &str, kids: Vec<Id>) -> Result<Self, String> {
        if op == "list" {
            return Ok(Term::List(kids.into()));
        }
        if kids.is_empty() {
            return Constant::read(op).map(Term::Const).ok_or_else(|| format!("`{op}` is no constant"));
        }
        let is_computed = op.starts_with('@') || op.contains("::");
        let name = if is_computed { op.to_string() } else { format!("aten::{op}") };
        Ok(Term::Op(name.into(), kids.into()))
    }
}
