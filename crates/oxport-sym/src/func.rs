//! The table of function heads: every function that a program's expressions can contain, once.

/// How many arguments a head takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arity {
    Exactly(usize),
    AtLeast(usize),
    Even,
}

impl Arity {
    pub(crate) fn allows(self, n: usize) -> bool {
        match self {
            Arity::Exactly(k) => n == k,
            Arity::AtLeast(k) => n >= k,
            Arity::Even => n.is_multiple_of(2) && n > 0,
        }
    }
}

/// sympy's printing precedences (`Atom - 0.5` is written 999, everything doubled is not needed).
pub(crate) mod prec {
    pub(crate) const IDENTITY: u32 = 10;
    pub(crate) const OR: u32 = 20;
    pub(crate) const AND: u32 = 30;
    pub(crate) const RELATIONAL: u32 = 35;
    pub(crate) const BIT_OR: u32 = 36;
    pub(crate) const BIT_XOR: u32 = 37;
    pub(crate) const BIT_AND: u32 = 38;
    pub(crate) const ADD: u32 = 40;
    pub(crate) const MUL: u32 = 50;
    pub(crate) const POW: u32 = 60;
    pub(crate) const FUNC: u32 = 70;
    pub(crate) const NOT: u32 = 100;
    pub(crate) const ATOM: u32 = 1000;
}

macro_rules! heads {
    ($($(#[$doc:meta])* $variant:ident $name:literal $arity:expr, $class:expr, $prec:expr;)*) => {
        /// The head of a compound expression, named as sympy or `torch.utils._sympy.functions` name it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Func { $($(#[$doc])* $variant,)* }
        impl Func {
            /// Every head, in table order.
            pub const ALL: &'static [Func] = &[$(Func::$variant,)*];
            /// The class name that srepr prints, e.g. `StrictLessThan`.
            pub fn name(self) -> &'static str {
                match self { $(Func::$variant => $name,)* }
            }
            /// The head of this class name (`Eq`, `Ne`, `Lt`, `Le`, `Gt`, `Ge` included).
            pub fn from_name(name: &str) -> Option<Func> {
                match name {
                    $($name => Some(Func::$variant),)*
                    "Eq" => Some(Func::Eq), "Ne" => Some(Func::Ne),
                    "Lt" => Some(Func::Lt), "Le" => Some(Func::Le),
                    "Gt" => Some(Func::Gt), "Ge" => Some(Func::Ge),
                    _ => None,
                }
            }
            pub(crate) fn arity(self) -> Arity {
                match self { $(Func::$variant => $arity,)* }
            }
            /// The first two parts of sympy's `class_key`, by which unlike expressions are sorted.
            pub(crate) fn class_key(self) -> (u8, u32) {
                match self { $(Func::$variant => $class,)* }
            }
            pub(crate) fn precedence(self) -> u32 {
                match self { $(Func::$variant => $prec,)* }
            }
        }
    };
}

use Arity::{AtLeast, Even, Exactly};
const FN: (u8, u32) = (4, 10000);
const VARIADIC: (u8, u32) = (4, 0);
const OTHER: (u8, u32) = (5, 0);

heads! {
    /// A sum.
    Add "Add" AtLeast(0), (3, 1), prec::ADD;
    /// A product.
    Mul "Mul" AtLeast(0), (3, 0), prec::MUL;
    /// A power; integer exponents in practice.
    Pow "Pow" Exactly(2), (3, 2), prec::POW;
    /// `a // b`, rounding to −∞.
    FloorDiv "FloorDiv" Exactly(2), FN, 35;
    /// A floor division known to be exact.
    CleanDiv "CleanDiv" Exactly(2), FN, 35;
    /// `(a + b - 1) // b`.
    CeilDiv "CeilDiv" Exactly(2), VARIADIC, prec::FUNC;
    /// `a % b` of non-negative operands.
    Mod "Mod" Exactly(2), FN, 35;
    /// `a % b` with the sign of the divisor.
    PythonMod "PythonMod" Exactly(2), FN, 35;
    /// `(a // b) % m`.
    ModularIndexing "ModularIndexing" Exactly(3), FN, 35;
    /// `if c then a else b`.
    Where "Where" Exactly(3), FN, 35;
    /// The value of the first pair whose condition holds.
    Piecewise "Piecewise" AtLeast(1), VARIADIC, prec::FUNC;
    /// A value and its condition, inside [`Func::Piecewise`].
    ExprCondPair "ExprCondPair" Exactly(2), OTHER, prec::ATOM;
    /// The greatest.
    Max "Max" AtLeast(1), OTHER, prec::ATOM;
    /// The least.
    Min "Min" AtLeast(1), OTHER, prec::ATOM;
    /// The magnitude.
    Abs "Abs" Exactly(1), FN, prec::FUNC;
    /// sympy's floor.
    Floor "floor" Exactly(1), FN, prec::FUNC;
    /// sympy's ceiling.
    Ceiling "ceiling" Exactly(1), FN, prec::FUNC;
    /// Conjunction.
    And "And" AtLeast(0), OTHER, prec::AND;
    /// Disjunction.
    Or "Or" AtLeast(0), OTHER, prec::OR;
    /// Negation.
    Not "Not" Exactly(1), OTHER, prec::NOT;
    /// `a == b`.
    Eq "Equality" Exactly(2), OTHER, prec::MUL;
    /// `a != b`.
    Ne "Unequality" Exactly(2), OTHER, prec::MUL;
    /// `a <= b`.
    Le "LessThan" Exactly(2), OTHER, prec::RELATIONAL;
    /// `a < b`.
    Lt "StrictLessThan" Exactly(2), OTHER, prec::RELATIONAL;
    /// `a >= b`.
    Ge "GreaterThan" Exactly(2), OTHER, prec::RELATIONAL;
    /// `a > b`.
    Gt "StrictGreaterThan" Exactly(2), OTHER, prec::RELATIONAL;
    /// Integer / integer → correctly rounded float.
    IntTrueDiv "IntTrueDiv" Exactly(2), FN, 35;
    /// Float / float.
    FloatTrueDiv "FloatTrueDiv" Exactly(2), FN, 35;
    /// Integer → float.
    ToFloat "ToFloat" Exactly(1), FN, prec::FUNC;
    /// Float ** float.
    FloatPow "FloatPow" Exactly(2), FN, 60;
    /// Integer ** non-negative integer.
    PowByNatural "PowByNatural" Exactly(2), FN, 50;
    /// Float → integer, towards zero.
    TruncToInt "TruncToInt" Exactly(1), FN, prec::FUNC;
    /// Float → float, towards zero.
    TruncToFloat "TruncToFloat" Exactly(1), FN, prec::FUNC;
    /// Float → integer, down.
    FloorToInt "FloorToInt" Exactly(1), FN, prec::FUNC;
    /// Float → integer, up.
    CeilToInt "CeilToInt" Exactly(1), FN, prec::FUNC;
    /// Float → integer, half to even.
    RoundToInt "RoundToInt" Exactly(1), FN, prec::FUNC;
    /// Python's `round(x, n)`.
    RoundDecimal "RoundDecimal" Exactly(2), FN, prec::FUNC;
    /// `a << b`.
    LShift "LShift" Exactly(2), FN, prec::FUNC;
    /// `a >> b`.
    RShift "RShift" Exactly(2), FN, prec::FUNC;
    /// The argument, opaque to rewriting.
    Identity "Identity" Exactly(1), VARIADIC, prec::IDENTITY;
    /// 1 if the sizes (first half) and strides (second half) describe a dense layout without overlap, else 0.
    IsNonOverlappingAndDense "IsNonOverlappingAndDenseIndicator" Even, VARIADIC, prec::FUNC;
    /// `a & b` of integers or truth values.
    BitAnd "BitwiseFn_bitwise_and" Exactly(2), FN, prec::BIT_AND;
    /// `a | b` of integers or truth values.
    BitOr "BitwiseFn_bitwise_or" Exactly(2), FN, prec::BIT_OR;
    /// `a ^ b` of integers or truth values.
    BitXor "BitwiseFn_bitwise_xor" Exactly(2), FN, prec::BIT_XOR;
    /// `math.sqrt`.
    Sqrt "OpaqueUnaryFn_sqrt" Exactly(1), FN, prec::FUNC;
    /// `math.cos`.
    Cos "OpaqueUnaryFn_cos" Exactly(1), FN, prec::FUNC;
    /// `math.cosh`.
    Cosh "OpaqueUnaryFn_cosh" Exactly(1), FN, prec::FUNC;
    /// `math.sin`.
    Sin "OpaqueUnaryFn_sin" Exactly(1), FN, prec::FUNC;
    /// `math.sinh`.
    Sinh "OpaqueUnaryFn_sinh" Exactly(1), FN, prec::FUNC;
    /// `math.tan`.
    Tan "OpaqueUnaryFn_tan" Exactly(1), FN, prec::FUNC;
    /// `math.tanh`.
    Tanh "OpaqueUnaryFn_tanh" Exactly(1), FN, prec::FUNC;
    /// `math.asin`.
    Asin "OpaqueUnaryFn_asin" Exactly(1), FN, prec::FUNC;
    /// `math.acos`.
    Acos "OpaqueUnaryFn_acos" Exactly(1), FN, prec::FUNC;
    /// `math.atan`.
    Atan "OpaqueUnaryFn_atan" Exactly(1), FN, prec::FUNC;
    /// `math.exp`.
    Exp "OpaqueUnaryFn_exp" Exactly(1), FN, prec::FUNC;
    /// `math.log`.
    Log "OpaqueUnaryFn_log" Exactly(1), FN, prec::FUNC;
    /// `math.asinh`.
    Asinh "OpaqueUnaryFn_asinh" Exactly(1), FN, prec::FUNC;
    /// `math.log2`.
    Log2 "OpaqueUnaryFn_log2" Exactly(1), FN, prec::FUNC;
}

impl Func {
    /// True for the six relations.
    pub fn is_relation(self) -> bool {
        use Func::*;
        matches!(self, Eq | Ne | Lt | Le | Gt | Ge)
    }

    /// True if values of this head are truth values.
    pub fn is_boolean(self) -> bool {
        self.is_relation() || matches!(self, Func::And | Func::Or | Func::Not)
    }

    /// The relation that holds with its sides exchanged; other heads are their own.
    pub(crate) fn mirrored(self) -> Func {
        match self {
            Func::Lt => Func::Gt,
            Func::Gt => Func::Lt,
            Func::Le => Func::Ge,
            Func::Ge => Func::Le,
            same => same,
        }
    }

    /// The relation that holds exactly when this one does not.
    pub(crate) fn negated(self) -> Option<Func> {
        use Func::*;
        Some(match self {
            Eq => Ne,
            Ne => Eq,
            Lt => Ge,
            Ge => Lt,
            Le => Gt,
            Gt => Le,
            _ => return None,
        })
    }
}
