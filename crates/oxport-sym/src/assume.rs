//! What is known of an expression from the assumptions on its symbols alone: integrality, sign, parity.
//!
//! Deliberately no stronger than sympy's own deductions, because constructors rewrite by it and torch's text must
//! survive. Ranges know more; see [`crate::Range`].

use crate::expr::{Expr, Kind};
use crate::func::Func;
use crate::number::Number;

/// What is known of the sign.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Signs {
    pub(crate) positive: bool,
    pub(crate) nonnegative: bool,
    pub(crate) negative: bool,
    pub(crate) nonpositive: bool,
}

impl Signs {
    fn of_number(sign: i64) -> Signs {
        Signs { positive: sign > 0, nonnegative: sign >= 0, negative: sign < 0, nonpositive: sign <= 0 }
    }

    fn nonneg() -> Signs {
        Signs { nonnegative: true, ..Signs::default() }
    }

    fn opposite(self) -> Signs {
        Signs {
            positive: self.negative,
            nonnegative: self.nonpositive,
            negative: self.positive,
            nonpositive: self.nonnegative,
        }
    }

    fn known(self) -> bool {
        self.nonnegative || self.nonpositive
    }

    fn times(self, other: Signs) -> Signs {
        let strict = (self.positive || self.negative) && (other.positive || other.negative);
        if !self.known() || !other.known() {
            return Signs::default();
        }
        let same = self.nonnegative == other.nonnegative;
        Signs { positive: same && strict, nonnegative: same, negative: !same && strict, nonpositive: !same }
    }
}

/// The sign of an expression.
pub(crate) fn signs(e: &Expr) -> Signs {
    match e.kind() {
        Kind::Symbol(s) => {
            let a = s.assumptions();
            Signs {
                positive: a.is_positive(),
                nonnegative: a.is_nonnegative(),
                negative: a.is_negative(),
                nonpositive: a.is_nonpositive(),
            }
        }
        Kind::Call(..) => e.shape().signs,
        Kind::NaN | Kind::Zoo | Kind::Bool(_) => Signs::default(),
        _ => e.as_number().map_or(Signs::default(), |n| Signs::of_number(n.signum())),
    }
}

/// The same of a call, from its arguments.
pub(crate) fn signs_of_call(f: Func, args: &[Expr]) -> Signs {
    let nonneg = Signs::nonneg();
    let at = |i: usize| args.get(i).map_or(Signs::default(), signs);
    match f {
        Func::Add => sum(args),
        Func::Mul => args.iter().fold(Signs::of_number(1), |s, a| s.times(signs(a))),
        Func::Pow => match (at(0), args.get(1).and_then(Expr::as_int)) {
            (b, _) if b.positive && args.get(1).is_some_and(is_real) => Signs::of_number(1),
            (b, Some(e)) if e > 0 && b.nonnegative => nonneg,
            (_, Some(e)) if e > 0 && e % 2 == 0 && is_real(&args[0]) => nonneg,
            _ => Signs::default(),
        },
        Func::FloorDiv | Func::CleanDiv | Func::ModularIndexing => {
            let ok = args.iter().take(2).all(|a| signs(a).nonnegative && is_integer(a));
            if ok { nonneg } else { Signs::default() }
        }
        Func::Mod => nonneg,
        Func::PythonMod => {
            let q = at(1);
            Signs { nonnegative: q.positive, nonpositive: q.negative, ..Signs::default() }
        }
        Func::Max => {
            let (all, any) = shared(args.iter().map(signs));
            Signs { negative: all.negative, nonpositive: all.nonpositive, ..any }
        }
        Func::Min => {
            let (all, any) = shared(args.iter().map(signs));
            Signs { negative: any.negative, nonpositive: any.nonpositive, ..all }
        }
        Func::Abs => nonneg,
        Func::Piecewise => shared(args.iter().map(|p| p.args().first().map_or(Signs::default(), signs))).0,
        Func::Where => {
            let (p, q) = (at(1), at(2));
            Signs {
                positive: p.positive && q.positive,
                nonnegative: p.nonnegative && q.nonnegative,
                ..Signs::default()
            }
        }
        _ => Signs::default(),
    }
}

/// What all of some values are, and what any is.
fn shared(each: impl Iterator<Item = Signs>) -> (Signs, Signs) {
    let all = Signs { positive: true, nonnegative: true, negative: true, nonpositive: true };
    each.fold((all, Signs::default()), |(all, any), s| {
        let both = |f: fn(&Signs) -> bool| (f(&all) && f(&s), f(&any) || f(&s));
        let (positive, nonnegative) = (both(|s| s.positive), both(|s| s.nonnegative));
        let (negative, nonpositive) = (both(|s| s.negative), both(|s| s.nonpositive));
        (
            Signs {
                positive: positive.0,
                nonnegative: nonnegative.0,
                negative: negative.0,
                nonpositive: nonpositive.0,
            },
            Signs {
                positive: positive.1,
                nonnegative: nonnegative.1,
                negative: negative.1,
                nonpositive: nonpositive.1,
            },
        )
    })
}

/// Whether no value is below zero: more than the signs that sympy knows, for rewrites whose soundness hangs on it.
pub(crate) fn never_negative(e: &Expr) -> bool {
    signs(e).nonnegative
        || match e.as_call() {
            Some((Func::Add | Func::Mul | Func::Min, args)) => args.iter().all(never_negative),
            Some((Func::Max, args)) => args.iter().any(never_negative),
            Some((Func::PowByNatural | Func::Pow, args)) => never_negative(&args[0]),
            Some((Func::FloorDiv | Func::CleanDiv | Func::ModularIndexing, args)) => args.iter().all(never_negative),
            Some((Func::PythonMod, args)) => never_negative(&args[1]),
            Some((Func::Mod | Func::IsNonOverlappingAndDense, _)) => true,
            Some((Func::Identity, args)) => never_negative(&args[0]),
            Some((Func::Where, args)) => args[1..].iter().all(never_negative),
            _ => false,
        }
}

fn sum(args: &[Expr]) -> Signs {
    let parts: Vec<Signs> = args.iter().map(signs).collect();
    let up = |parts: &[Signs]| {
        let nonnegative = parts.iter().all(|s| s.nonnegative);
        (nonnegative, nonnegative && parts.iter().any(|s| s.positive))
    };
    let opposite: Vec<Signs> = parts.iter().map(|s| s.opposite()).collect();
    let ((nonnegative, positive), (nonpositive, negative)) = (up(&parts), up(&opposite));
    let direct = Signs { positive, nonnegative, negative, nonpositive };
    if direct.known() {
        return direct;
    }
    // `2*s - 1`: a multiple of a positive integer symbol is at least the multiplier.
    let [term, c] = args else { return direct };
    let (term, c) = if c.is_rational() { (term, c) } else { (c, term) };
    if let (Some(least), Some(c)) = (least_magnitude(term), c.as_number()) {
        let bound = Number::from(least).add(&c).signum();
        return match () {
            _ if least > 0 && bound >= 0 => Signs { positive: bound > 0, nonnegative: true, ..Signs::default() },
            _ if least < 0 && bound <= 0 => Signs { negative: bound < 0, nonpositive: true, ..Signs::default() },
            _ => Signs::default(),
        };
    }
    direct
}

/// `k` if the term is `k` times a positive integer symbol.
fn least_magnitude(term: &Expr) -> Option<i64> {
    let (k, s) = match term.args_of(Func::Mul) {
        Some([k, s]) => (k.as_int()?, s),
        Some(_) => return None,
        None => (1, term),
    };
    s.as_symbol().filter(|s| s.assumptions().is_positive() && s.assumptions().is_integer()).map(|_| k)
}

/// True if every value is an integer. Known for every expression without a walk.
pub(crate) fn is_integer(e: &Expr) -> bool {
    e.shape().integer
}

/// The same of a call, from its arguments.
pub(crate) fn is_integer_call(f: Func, args: &[Expr]) -> bool {
    use Func::*;
    match f {
        Add | Mul | Max | Min | Abs | Identity => args.iter().all(is_integer),
        Pow => matches!(args, [b, e] if is_integer(b) && is_integer(e) && signs(e).nonnegative),
        Where => matches!(args, [_, a, b] if is_integer(a) && is_integer(b)),
        Piecewise => args.iter().all(|p| p.args().first().is_some_and(is_integer)),
        FloorDiv
        | CleanDiv
        | CeilDiv
        | Mod
        | PythonMod
        | ModularIndexing
        | PowByNatural
        | TruncToInt
        | FloorToInt
        | CeilToInt
        | RoundToInt
        | LShift
        | RShift
        | IsNonOverlappingAndDense
        | Floor
        | Ceiling => true,
        _ => false,
    }
}

/// True if every value is a real number, and finite unless it is an infinity literal.
pub(crate) fn is_real(e: &Expr) -> bool {
    match e.kind() {
        Kind::Symbol(s) => {
            let a = s.assumptions();
            let real = |(k, yes)| yes && matches!(k, crate::Assumption::Real | crate::Assumption::Rational);
            a.is_integer() || a.is_nonnegative() || a.is_nonpositive() || a.iter().any(real)
        }
        Kind::Call(..) => e.shape().real,
        Kind::Bool(_) | Kind::Zoo | Kind::NaN => false,
        _ => true,
    }
}

/// The same of a call, from its arguments.
pub(crate) fn is_real_call(f: Func, args: &[Expr]) -> bool {
    use Func::*;
    match f {
        Add | Mul | Max | Min | Abs | Identity => args.iter().all(is_real),
        Pow => matches!(args, [b, e] if is_real(b) && is_integer(e) && signs(e).nonnegative),
        FloatPow | FloatTrueDiv | IntTrueDiv | ToFloat | TruncToFloat | RoundDecimal => true,
        _ => is_integer_call(f, args),
    }
}

/// `Some(true)` if every value is even, `Some(false)` if every value is odd.
pub(crate) fn parity(e: &Expr) -> Option<bool> {
    match e.kind() {
        Kind::Int(v) => Some(v % 2 == 0),
        Kind::Symbol(s) => s.assumptions().parity(),
        Kind::Call(Func::Add, args) => args.iter().map(parity).try_fold(true, |even, p| p.map(|p| even == p)),
        // Each argument is asked once: to ask twice doubles the cost at every level.
        Kind::Call(Func::Mul, args) if args.iter().all(is_integer) => {
            let parities: Vec<Option<bool>> = args.iter().map(parity).collect();
            match () {
                _ if parities.contains(&Some(true)) => Some(true),
                _ if parities.iter().all(|p| *p == Some(false)) => Some(false),
                _ => None,
            }
        }
        Kind::Call(Func::Pow, args) if signs(&args[1]).positive && is_integer(&args[1]) => parity(&args[0]),
        _ => None,
    }
}
