//! The arithmetic that reads like arithmetic: operators and named methods on [`Expr`].

use std::ops::{Add, AddAssign, Mul, MulAssign, Neg, Sub, SubAssign};

use crate::assume::signs;
use crate::build::{add, mul};
use crate::expr::Expr;
use crate::func::Func;

impl Expr {
    fn with(&self, func: Func, other: &Expr) -> Expr {
        Expr::call(func, vec![self.clone(), other.clone()])
    }

    fn apply(&self, func: Func) -> Expr {
        Expr::call(func, vec![self.clone()])
    }

    /// `self // other`, rounding to −∞. A zero divisor gives an expression that fails to evaluate.
    pub fn floor_div(&self, other: &Expr) -> Expr {
        self.with(Func::FloorDiv, other)
    }

    /// `self % other` with the sign of the divisor, whatever the signs.
    pub fn python_mod(&self, other: &Expr) -> Expr {
        self.with(Func::PythonMod, other)
    }

    /// `self % other` as PyTorch records it: `Mod` if both sides are known to be non-negative, else `PythonMod`.
    pub fn modulo(&self, other: &Expr) -> Expr {
        let plain = signs(self).nonnegative && signs(other).nonnegative;
        self.with(if plain { Func::Mod } else { Func::PythonMod }, other)
    }

    /// `(self + other - 1) // other`, which is the quotient rounded up for a positive divisor.
    pub fn ceil_div(&self, other: &Expr) -> Expr {
        self.with(Func::CeilDiv, other)
    }

    /// `self ** other`: a plain power for an integer constant, else `PowByNatural`.
    pub fn pow(&self, other: &Expr) -> Expr {
        self.with(if other.is_const() { Func::Pow } else { Func::PowByNatural }, other)
    }

    /// The greater.
    pub fn max(&self, other: &Expr) -> Expr {
        self.with(Func::Max, other)
    }

    /// The lesser.
    pub fn min(&self, other: &Expr) -> Expr {
        self.with(Func::Min, other)
    }

    /// The magnitude.
    pub fn abs(&self) -> Expr {
        self.apply(Func::Abs)
    }

    /// The opposite; also `-expr`.
    #[allow(clippy::should_implement_trait, reason = "the operator exists too; this is its method spelling")]
    pub fn neg(&self) -> Expr {
        mul(vec![Expr::int(-1), self.clone()])
    }

    /// `self == other` as an expression; a constant when decidable from constants and assumptions.
    pub fn eq_(&self, other: &Expr) -> Expr {
        self.with(Func::Eq, other)
    }

    /// `self != other`.
    pub fn ne_(&self, other: &Expr) -> Expr {
        self.with(Func::Ne, other)
    }

    /// `self < other`.
    pub fn lt(&self, other: &Expr) -> Expr {
        self.with(Func::Lt, other)
    }

    /// `self <= other`.
    pub fn le(&self, other: &Expr) -> Expr {
        self.with(Func::Le, other)
    }

    /// `self > other`.
    pub fn gt(&self, other: &Expr) -> Expr {
        self.with(Func::Gt, other)
    }

    /// `self >= other`.
    pub fn ge(&self, other: &Expr) -> Expr {
        self.with(Func::Ge, other)
    }

    /// Both hold.
    pub fn and(&self, other: &Expr) -> Expr {
        self.with(Func::And, other)
    }

    /// At least one holds.
    pub fn or(&self, other: &Expr) -> Expr {
        self.with(Func::Or, other)
    }

    /// It does not hold.
    #[allow(clippy::should_implement_trait, reason = "named as sympy names it")]
    pub fn not(&self) -> Expr {
        self.apply(Func::Not)
    }

    /// The float quotient of integers.
    pub fn true_div(&self, other: &Expr) -> Expr {
        self.with(Func::IntTrueDiv, other)
    }

    /// An integer as float.
    pub fn to_float(&self) -> Expr {
        self.apply(Func::ToFloat)
    }

    /// A float as integer, towards zero.
    pub fn trunc_to_int(&self) -> Expr {
        self.apply(Func::TruncToInt)
    }

    /// The sum of any number of expressions, built at once.
    pub fn sum<'a>(terms: impl IntoIterator<Item = &'a Expr>) -> Expr {
        add(terms.into_iter().cloned().collect())
    }

    /// The product of any number of expressions, built at once; 1 for none. `numel` of a shape.
    pub fn product<'a>(factors: impl IntoIterator<Item = &'a Expr>) -> Expr {
        mul(factors.into_iter().cloned().collect())
    }
}

macro_rules! operators {
    ($(
        $trait:ident $method:ident, $assign:ident $assign_method:ident, $small:path: |$a:ident, $b:ident| $body:expr;
    )*) => {$(
        impl $trait<&Expr> for &Expr {
            type Output = Expr;
            fn $method(self, rhs: &Expr) -> Expr {
                if let (Some(a), Some(b)) = (self.as_int(), rhs.as_int())
                    && let Some(value) = $small(a, b)
                {
                    return Expr::int(value);
                }
                let ($a, $b) = (self, rhs);
                $body
            }
        }
        impl $trait<Expr> for &Expr {
            type Output = Expr;
            fn $method(self, rhs: Expr) -> Expr { $trait::$method(self, &rhs) }
        }
        impl $trait<i64> for &Expr {
            type Output = Expr;
            fn $method(self, rhs: i64) -> Expr { $trait::$method(self, &Expr::int(rhs)) }
        }
        impl $trait<&Expr> for Expr {
            type Output = Expr;
            fn $method(self, rhs: &Expr) -> Expr { $trait::$method(&self, rhs) }
        }
        impl $trait<Expr> for Expr {
            type Output = Expr;
            fn $method(self, rhs: Expr) -> Expr { $trait::$method(&self, &rhs) }
        }
        impl $trait<i64> for Expr {
            type Output = Expr;
            fn $method(self, rhs: i64) -> Expr { $trait::$method(&self, &Expr::int(rhs)) }
        }
        impl $trait<&Expr> for i64 {
            type Output = Expr;
            fn $method(self, rhs: &Expr) -> Expr { $trait::$method(&Expr::int(self), rhs) }
        }
        impl $trait<Expr> for i64 {
            type Output = Expr;
            fn $method(self, rhs: Expr) -> Expr { $trait::$method(&Expr::int(self), &rhs) }
        }
        impl $assign<&Expr> for Expr {
            fn $assign_method(&mut self, rhs: &Expr) { *self = $trait::$method(&*self, rhs); }
        }
        impl $assign<Expr> for Expr {
            fn $assign_method(&mut self, rhs: Expr) { *self = $trait::$method(&*self, &rhs); }
        }
    )*};
}
operators! {
    Add add, AddAssign add_assign, i64::checked_add: |a, b| crate::build::add(vec![a.clone(), b.clone()]);
    Sub sub, SubAssign sub_assign, i64::checked_sub: |a, b| crate::build::add(vec![a.clone(), Expr::neg(b)]);
    Mul mul, MulAssign mul_assign, i64::checked_mul: |a, b| crate::build::mul(vec![a.clone(), b.clone()]);
}

impl Neg for &Expr {
    type Output = Expr;
    fn neg(self) -> Expr {
        Expr::neg(self)
    }
}

impl Neg for Expr {
    type Output = Expr;
    fn neg(self) -> Expr {
        Expr::neg(&self)
    }
}
