//! Symbols: a name with the assumptions that sympy would print.
//!
//! `s77` (a size) is positive and integer, `u0` (data dependent) only integer, `zf3` (a float) has none. Assumptions
//! are kept in the order they were written, because the order is part of the text of a program.

use std::fmt;
use std::sync::Arc;

use smallvec::SmallVec;

/// A named unknown. Cheap to clone; two symbols are equal when name and assumptions are.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Symbol(Arc<(Box<str>, Assumptions)>);

impl Symbol {
    /// A symbol of this name and these assumptions.
    pub fn new(name: &str, assumptions: Assumptions) -> Symbol {
        Symbol(Arc::new((name.into(), assumptions)))
    }

    /// The symbol that PyTorch's naming convention gives this name: `s…` a size, `u…` an integer, everything else
    /// unassumed.
    pub fn by_convention(name: &str) -> Symbol {
        let numbered = |prefix: &str| {
            name.strip_prefix(prefix).is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
        };
        let assumptions = match () {
            _ if numbered("s") => Assumptions::size(),
            _ if numbered("u") => Assumptions::integer(),
            _ => Assumptions::none(),
        };
        Symbol::new(name, assumptions)
    }

    /// The name, e.g. `s77`.
    pub fn name(&self) -> &str {
        &self.0.0
    }

    /// What is assumed of every value of this symbol.
    pub fn assumptions(&self) -> &Assumptions {
        &self.0.1
    }
}

impl fmt::Display for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Debug for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

macro_rules! assumptions {
    ($($variant:ident $text:literal,)*) => {
        /// A property that sympy can assume of a symbol.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(missing_docs, reason = "the names are sympy's and say it all")]
        pub enum Assumption { $($variant,)* }
        impl Assumption {
            /// The keyword in `Symbol('s0', positive=True)`.
            pub fn name(self) -> &'static str {
                match self { $(Assumption::$variant => $text,)* }
            }
            /// The assumption of this keyword.
            pub fn from_name(name: &str) -> Option<Assumption> {
                match name { $($text => Some(Assumption::$variant),)* _ => None }
            }
        }
    };
}
assumptions! {
    Positive "positive",
    Negative "negative",
    NonNegative "nonnegative",
    NonPositive "nonpositive",
    Zero "zero",
    NonZero "nonzero",
    Integer "integer",
    NonInteger "noninteger",
    Even "even",
    Odd "odd",
    Prime "prime",
    Composite "composite",
    Rational "rational",
    Irrational "irrational",
    Algebraic "algebraic",
    Transcendental "transcendental",
    Real "real",
    ExtendedReal "extended_real",
    ExtendedPositive "extended_positive",
    ExtendedNegative "extended_negative",
    ExtendedNonNegative "extended_nonnegative",
    ExtendedNonPositive "extended_nonpositive",
    ExtendedNonZero "extended_nonzero",
    Imaginary "imaginary",
    Complex "complex",
    Hermitian "hermitian",
    AntiHermitian "antihermitian",
    Finite "finite",
    Infinite "infinite",
    Commutative "commutative",
}

/// The assumptions of a symbol, in the order in which they are printed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Assumptions(SmallVec<[(Assumption, bool); 2]>);

impl Assumptions {
    /// Of a size of a dynamic dimension: positive and integer.
    pub fn size() -> Assumptions {
        Assumptions::new([(Assumption::Positive, true), (Assumption::Integer, true)])
    }

    /// Of an integer input or a data-dependent integer: integer, sign unknown.
    pub fn integer() -> Assumptions {
        Assumptions::new([(Assumption::Integer, true)])
    }

    /// Nothing is assumed, as of PyTorch's float symbols.
    pub fn none() -> Assumptions {
        Assumptions::default()
    }

    /// These assumptions, printed in this order.
    pub fn new(list: impl IntoIterator<Item = (Assumption, bool)>) -> Assumptions {
        Assumptions(list.into_iter().collect())
    }

    /// The assumptions as they were written.
    pub fn iter(&self) -> impl Iterator<Item = (Assumption, bool)> + '_ {
        self.0.iter().copied()
    }

    fn any(&self, of: &[Assumption]) -> bool {
        self.0.iter().any(|(a, yes)| *yes && of.contains(a))
    }

    /// Every value is an integer.
    pub fn is_integer(&self) -> bool {
        use Assumption::*;
        self.any(&[Integer, Even, Odd, Prime, Composite, Zero])
    }

    /// Every value is greater than zero.
    pub fn is_positive(&self) -> bool {
        use Assumption::*;
        self.any(&[Positive, Prime, Composite]) || self.any(&[NonNegative]) && self.any(&[NonZero])
    }

    /// Every value is at least zero.
    pub fn is_nonnegative(&self) -> bool {
        self.is_positive() || self.any(&[Assumption::NonNegative, Assumption::Zero])
    }

    /// Every value is less than zero.
    pub fn is_negative(&self) -> bool {
        self.any(&[Assumption::Negative])
    }

    /// Every value is at most zero.
    pub fn is_nonpositive(&self) -> bool {
        self.any(&[Assumption::Negative, Assumption::NonPositive, Assumption::Zero])
    }

    /// Whether every value is even (`Some(true)`), odd (`Some(false)`), or neither is known.
    pub fn parity(&self) -> Option<bool> {
        match () {
            _ if self.any(&[Assumption::Even, Assumption::Zero]) => Some(true),
            _ if self.any(&[Assumption::Odd]) => Some(false),
            _ => None,
        }
    }
}
