//! The expression: a small number, or a pointer to an interned node.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::ToPrimitive;

use crate::func::Func;
use crate::intern::{Data, Node, Shape, intern};
use crate::number::{Number, Sign};
use crate::symbol::Symbol;

/// Deeper expressions than this become `nan`: every walk over an expression is recursive, and no program may overflow
/// the stack.
const MAX_DEPTH: u32 = 256;
/// Likewise for the number of nodes, counted as a tree.
const MAX_NODES: u32 = 1 << 17;

/// A canonical symbolic expression: integer, float, truth value, symbol, or a function of expressions.
///
/// Cloning is cheap, integers of 64 bits and other plain numbers need no allocation, and `==` compares pointers. Equal
/// expressions are equal values; for the converse ask [`ShapeEnv::equal`](crate::ShapeEnv::equal). An expression that
/// would be deeper than 256 calls or larger than 131072 nodes is `nan`, which equals no size.
#[derive(Clone)]
pub struct Expr(Repr);

#[derive(Clone)]
enum Repr {
    Int(i64),
    Float(u64),
    Bool(bool),
    IntOo(Sign),
    Oo(Sign),
    Zoo,
    NaN,
    Node(Arc<Node>),
}

/// The kind of an expression, for pattern matching.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind<'a> {
    /// An integer that fits 64 bits.
    Int(i64),
    /// An integer that does not.
    Big(&'a BigInt),
    /// A fraction that is not an integer.
    Rational(&'a BigRational),
    /// A finite double.
    Float(f64),
    /// A truth value.
    Bool(bool),
    /// `±int_oo`.
    IntOo(Sign),
    /// `±oo`, the float infinities.
    Oo(Sign),
    /// Complex infinity, sympy's 1/0.
    Zoo,
    /// Not a number.
    NaN,
    /// An unknown.
    Symbol(&'a Symbol),
    /// A function of its arguments, sums and products included.
    Call(Func, &'a [Expr]),
}

impl Expr {
    /// An integer.
    pub fn int(value: i64) -> Expr {
        Expr(Repr::Int(value))
    }

    /// An integer of any size.
    pub fn big(value: BigInt) -> Expr {
        match value.to_i64() {
            Some(v) => Expr::int(v),
            None => Expr::leaf(Data::Big(value)),
        }
    }

    /// A fraction; an integer if the denominator cancels.
    pub fn rational(value: BigRational) -> Expr {
        if value.is_integer() { Expr::big(value.to_integer()) } else { Expr::leaf(Data::Rational(value)) }
    }

    /// A symbol.
    pub fn symbol(symbol: &Symbol) -> Expr {
        Expr::leaf(Data::Symbol(symbol.clone()))
    }

    /// A double. Infinities become `±oo`, NaN becomes `nan`, and there is only one zero, as in sympy.
    pub fn float(value: f64) -> Expr {
        Expr(match value {
            v if v.is_nan() => Repr::NaN,
            v if v.is_infinite() => Repr::Oo(Sign::of(v < 0.0)),
            v => Repr::Float((v + 0.0).to_bits()),
        })
    }

    /// A truth value.
    pub fn boolean(value: bool) -> Expr {
        Expr(Repr::Bool(value))
    }

    /// `int_oo` or `-int_oo`.
    pub fn int_oo(sign: Sign) -> Expr {
        Expr(Repr::IntOo(sign))
    }

    /// sympy's complex infinity.
    pub fn zoo() -> Expr {
        Expr(Repr::Zoo)
    }

    /// A constant.
    pub fn number(value: Number) -> Expr {
        match value {
            Number::Int(v) => Expr::big(v),
            Number::Rational(v) => Expr::rational(v),
            Number::Float(v) => Expr::float(v),
            Number::Bool(v) => Expr::boolean(v),
            Number::IntOo(s) => Expr::int_oo(s),
        }
    }

    fn leaf(data: Data) -> Expr {
        let integer = match &data {
            Data::Big(_) => true,
            Data::Symbol(s) => s.assumptions().is_integer(),
            Data::Rational(_) | Data::Call(..) => false,
        };
        Expr(Repr::Node(intern(data, Shape::leaf(integer))))
    }

    /// A call that is already canonical; `nan` if it would be too large to work with.
    pub(crate) fn raw(func: Func, args: impl Into<Box<[Expr]>>) -> Expr {
        let args = args.into();
        let shape = Shape::of_call(func, &args);
        if shape.depth > MAX_DEPTH || shape.halves / 2 > MAX_NODES {
            return Expr::float(f64::NAN);
        }
        Expr(Repr::Node(intern(Data::Call(func, args), shape)))
    }

    pub(crate) fn shape(&self) -> Shape {
        match &self.0 {
            Repr::Node(n) => n.shape,
            Repr::Float(_) => Shape { halves: 1, ..Shape::leaf(false) },
            Repr::Int(_) | Repr::IntOo(_) => Shape::leaf(true),
            _ => Shape::leaf(false),
        }
    }

    /// True for `nan` and for complex infinity: not equal to anything, itself included.
    pub(crate) fn is_undefined(&self) -> bool {
        matches!(self.0, Repr::NaN | Repr::Zoo)
    }

    /// What this is.
    pub fn kind(&self) -> Kind<'_> {
        match &self.0 {
            Repr::Int(v) => Kind::Int(*v),
            Repr::Float(v) => Kind::Float(f64::from_bits(*v)),
            Repr::Bool(v) => Kind::Bool(*v),
            Repr::IntOo(s) => Kind::IntOo(*s),
            Repr::Oo(s) => Kind::Oo(*s),
            Repr::Zoo => Kind::Zoo,
            Repr::NaN => Kind::NaN,
            Repr::Node(n) => match &n.data {
                Data::Big(v) => Kind::Big(v),
                Data::Rational(v) => Kind::Rational(v),
                Data::Symbol(s) => Kind::Symbol(s),
                Data::Call(f, args) => Kind::Call(*f, args),
            },
        }
    }

    /// The value if this is an integer of 64 bits.
    pub fn as_int(&self) -> Option<i64> {
        if let Repr::Int(v) = self.0 { Some(v) } else { None }
    }

    /// The value if this is a truth value.
    pub fn as_bool(&self) -> Option<bool> {
        if let Repr::Bool(v) = self.0 { Some(v) } else { None }
    }

    /// The value if this is a float (infinities and NaN included).
    pub fn as_float(&self) -> Option<f64> {
        match self.as_number() {
            Some(Number::Float(v)) => Some(v),
            _ => None,
        }
    }

    /// The symbol if this is one.
    pub fn as_symbol(&self) -> Option<&Symbol> {
        if let Kind::Symbol(s) = self.kind() { Some(s) } else { None }
    }

    /// Head and arguments if this is compound.
    pub fn as_call(&self) -> Option<(Func, &[Expr])> {
        if let Kind::Call(f, args) = self.kind() { Some((f, args)) } else { None }
    }

    /// The arguments if the head is this one.
    pub fn args_of(&self, func: Func) -> Option<&[Expr]> {
        self.as_call().filter(|(f, _)| *f == func).map(|(_, args)| args)
    }

    /// The arguments; empty for numbers and symbols.
    pub fn args(&self) -> &[Expr] {
        self.as_call().map_or(&[], |(_, args)| args)
    }

    /// The constant value, if this is a number or truth value (complex infinity has none).
    pub fn as_number(&self) -> Option<Number> {
        Some(match self.kind() {
            Kind::Int(v) => v.into(),
            Kind::Big(v) => v.clone().into(),
            Kind::Rational(v) => Number::Rational(v.clone()),
            Kind::Float(v) => v.into(),
            Kind::Bool(v) => v.into(),
            Kind::IntOo(s) => Number::IntOo(s),
            Kind::Oo(s) => Number::Float(f64::INFINITY * s.unit() as f64),
            Kind::NaN => Number::Float(f64::NAN),
            Kind::Zoo | Kind::Symbol(_) | Kind::Call(..) => return None,
        })
    }

    /// True for numbers and truth values.
    pub fn is_const(&self) -> bool {
        !matches!(self.kind(), Kind::Symbol(_) | Kind::Call(..))
    }

    /// True for integers and fractions.
    pub(crate) fn is_rational(&self) -> bool {
        matches!(self.kind(), Kind::Int(_) | Kind::Big(_) | Kind::Rational(_))
    }

    /// True for constants that are not truth values.
    pub(crate) fn is_numeric(&self) -> bool {
        self.is_const() && self.as_bool().is_none()
    }

    /// The symbols in this expression, sorted, each once.
    pub fn free_symbols(&self) -> Vec<Symbol> {
        let mut found = Vec::new();
        self.visit(&mut |e| {
            if let Kind::Symbol(s) = e.kind() {
                found.push(s.clone());
            }
        });
        found.sort();
        found.dedup();
        found
    }

    /// Calls `f` on this expression and every expression inside, parents first.
    pub fn visit(&self, f: &mut dyn FnMut(&Expr)) {
        f(self);
        for arg in self.args() {
            arg.visit(f);
        }
    }

    /// This expression with symbols replaced, rebuilt canonically. `None` keeps a symbol.
    pub fn subs(&self, with: &dyn Fn(&Symbol) -> Option<Expr>) -> Expr {
        match self.kind() {
            Kind::Symbol(s) => with(s).unwrap_or_else(|| self.clone()),
            Kind::Call(f, args) => {
                let new: Vec<Expr> = args.iter().map(|a| a.subs(with)).collect();
                if new == args {
                    return self.clone();
                }
                let made = Expr::call(f, new);
                // PyTorch leaves a factored `Min(3, Max(-1, 2))` as it is.
                let is_lattice = matches!(made.as_call(), Some((Func::Max | Func::Min, _)));
                let value = if is_lattice { made.eval(&|_| None).ok() } else { None };
                value.map_or(made, Expr::number)
            }
            _ => self.clone(),
        }
    }
}

impl PartialEq for Expr {
    fn eq(&self, other: &Expr) -> bool {
        match (&self.0, &other.0) {
            (Repr::Node(a), Repr::Node(b)) => Arc::ptr_eq(a, b),
            (Repr::Int(a), Repr::Int(b)) => a == b,
            (Repr::Float(a), Repr::Float(b)) => a == b,
            (Repr::Bool(a), Repr::Bool(b)) => a == b,
            (Repr::IntOo(a), Repr::IntOo(b)) | (Repr::Oo(a), Repr::Oo(b)) => a == b,
            (Repr::Zoo, Repr::Zoo) | (Repr::NaN, Repr::NaN) => true,
            _ => false,
        }
    }
}

impl Eq for Expr {}

impl Hash for Expr {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match &self.0 {
            Repr::Int(v) => v.hash(state),
            Repr::Float(v) => (1u8, v).hash(state),
            Repr::Bool(v) => (2u8, v).hash(state),
            Repr::IntOo(s) => (3u8, s).hash(state),
            Repr::Oo(s) => (4u8, s).hash(state),
            Repr::Zoo => 5u8.hash(state),
            Repr::NaN => 6u8.hash(state),
            Repr::Node(n) => n.hash.hash(state),
        }
    }
}

impl fmt::Debug for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<i64> for Expr {
    fn from(v: i64) -> Expr {
        Expr::int(v)
    }
}
impl From<i32> for Expr {
    fn from(v: i32) -> Expr {
        Expr::int(v.into())
    }
}
impl From<usize> for Expr {
    fn from(v: usize) -> Expr {
        i64::try_from(v).map_or_else(|_| Expr::big(v.into()), Expr::int)
    }
}
impl From<bool> for Expr {
    fn from(v: bool) -> Expr {
        Expr::boolean(v)
    }
}
impl From<&Symbol> for Expr {
    fn from(v: &Symbol) -> Expr {
        Expr::symbol(v)
    }
}
impl Default for Expr {
    fn default() -> Expr {
        Expr::int(0)
    }
}
