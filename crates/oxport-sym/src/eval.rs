//! Exact evaluation: the value of an expression, given the values of its symbols.

use num_bigint::BigInt;
use num_traits::{One, ToPrimitive};

use crate::expr::{Expr, Kind};
use crate::func::Func;
use crate::logic::decide;
use crate::number::Number;
use crate::symbol::Symbol;

/// Why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EvalError {
    /// A symbol has no value.
    #[error("symbol {0} has no value")]
    Unbound(Symbol),
    /// Division or remainder by zero.
    #[error("division by zero in {0}")]
    DivisionByZero(&'static str),
    /// The arguments are outside the domain of the function.
    #[error("{0} is not defined for these arguments")]
    Domain(&'static str),
    /// Wrong number of arguments.
    #[error("{0} does not take {1} arguments")]
    Arity(&'static str, usize),
    /// The result is too large to compute.
    #[error("the result of {0} is too large")]
    TooLarge(&'static str),
}

impl Expr {
    /// The exact value, given the values of the symbols.
    pub fn eval(&self, of: &dyn Fn(&Symbol) -> Option<Number>) -> Result<Number, EvalError> {
        match self.kind() {
            Kind::Symbol(s) => of(s).ok_or_else(|| EvalError::Unbound(s.clone())),
            Kind::Call(Func::Where, [c, a, b]) => {
                if truth(&c.eval(of)?) {
                    a.eval(of)
                } else {
                    b.eval(of)
                }
            }
            Kind::Call(Func::Piecewise, pairs) => {
                for pair in pairs {
                    if let [value, condition] = pair.args()
                        && truth(&condition.eval(of)?)
                    {
                        return value.eval(of);
                    }
                }
                Ok(Number::Float(f64::NAN))
            }
            Kind::Call(f, args) => apply(f, &args.iter().map(|a| a.eval(of)).collect::<Result<Vec<_>, _>>()?),
            _ => self.as_number().ok_or(EvalError::Domain("zoo")),
        }
    }

    /// The value as `i64`, given `i64` values of the symbols: the fast path for sizes. `None` if any part has no such
    /// value.
    pub fn eval_int(&self, of: &dyn Fn(&Symbol) -> Option<i64>) -> Option<i64> {
        match self.kind() {
            Kind::Int(v) => Some(v),
            Kind::Symbol(s) => of(s),
            Kind::Call(f, args) => {
                let small = match (f, args) {
                    (Func::Add, _) => args.iter().try_fold(0i64, |n, a| n.checked_add(a.eval_int(of)?)),
                    (Func::Mul, _) => args.iter().try_fold(1i64, |n, a| n.checked_mul(a.eval_int(of)?)),
                    (Func::FloorDiv | Func::CleanDiv, [a, b]) => floor(a.eval_int(of), b.eval_int(of)),
                    (Func::Max, _) => args.iter().map(|a| a.eval_int(of)).try_fold(i64::MIN, |n, a| Some(n.max(a?))),
                    (Func::Min, _) => args.iter().map(|a| a.eval_int(of)).try_fold(i64::MAX, |n, a| Some(n.min(a?))),
                    _ => None,
                };
                small.or_else(|| self.eval(&|s| of(s).map(Number::from)).ok()?.as_i64())
            }
            _ => None,
        }
    }
}

fn floor(a: Option<i64>, b: Option<i64>) -> Option<i64> {
    let (a, b) = (a?, b?);
    let q = a.checked_div(b)?;
    Some(if a % b != 0 && (a < 0) != (b < 0) { q - 1 } else { q })
}

fn truth(n: &Number) -> bool {
    n.as_bool().unwrap_or(!n.is_zero())
}

/// The value of a function of numbers.
pub(crate) fn apply(f: Func, x: &[Number]) -> Result<Number, EvalError> {
    if !f.arity().allows(x.len()) {
        return Err(EvalError::Arity(f.name(), x.len()));
    }
    let zero = EvalError::DivisionByZero(f.name());
    let domain = EvalError::Domain(f.name());
    let float = |v: f64| Ok(Number::Float(v));
    match f {
        Func::Add => Ok(x.iter().fold(Number::from(0), |n, a| n.add(a))),
        Func::Mul => Ok(x.iter().fold(Number::from(1), |n, a| n.mul(a))),
        Func::Pow => power(&x[0], &x[1]),
        Func::FloorDiv | Func::CleanDiv => x[0].floor_div(&x[1]).ok_or(zero),
        Func::CeilDiv => x[0].add(&x[1]).sub(&Number::from(1)).floor_div(&x[1]).ok_or(zero),
        Func::Mod if x[1].is_zero() => Err(zero),
        Func::Mod if x[0].signum() < 0 || x[1].signum() <= 0 => Err(domain),
        Func::Mod | Func::PythonMod => x[0].modulo(&x[1]).ok_or(zero),
        Func::ModularIndexing => x[0].floor_div(&x[1]).and_then(|q| q.modulo(&x[2])).ok_or(zero),
        Func::Where => Ok(x[if truth(&x[0]) { 1 } else { 2 }].clone()),
        Func::Piecewise | Func::ExprCondPair => Err(domain),
        Func::Max => Ok(x.iter().skip(1).fold(x[0].clone(), |n, a| n.max(a.clone()))),
        Func::Min => Ok(x.iter().skip(1).fold(x[0].clone(), |n, a| n.min(a.clone()))),
        Func::Abs => Ok(x[0].abs()),
        Func::And => Ok(Number::Bool(x.iter().all(truth))),
        Func::Or => Ok(Number::Bool(x.iter().any(truth))),
        Func::Not => Ok(Number::Bool(!truth(&x[0]))),
        Func::Eq | Func::Ne | Func::Lt | Func::Le | Func::Gt | Func::Ge => match x[0].compare(&x[1]) {
            Some(order) => decide(f, order).map(Number::Bool).ok_or(domain),
            None => Ok(Number::Bool(f == Func::Ne)),
        },
        Func::IntTrueDiv | Func::FloatTrueDiv if x[1].is_zero() => Err(zero),
        Func::IntTrueDiv => x[0].div(&x[1]).map(|q| Number::Float(q.to_f64())).ok_or(zero),
        Func::FloatTrueDiv => float(x[0].to_f64() / x[1].to_f64()),
        Func::ToFloat => float(x[0].to_f64()),
        Func::FloatPow => python_pow(x[0].to_f64(), x[1].to_f64()).map(Number::Float).ok_or(domain),
        Func::PowByNatural => x[0].pow_by_natural(&x[1]).ok_or(domain),
        Func::TruncToInt => x[0].trunc().ok_or(domain),
        Func::TruncToFloat => float(x[0].to_f64().trunc()),
        Func::FloorToInt | Func::Floor => x[0].floor().ok_or(domain),
        Func::CeilToInt | Func::Ceiling => x[0].ceil().ok_or(domain),
        Func::RoundToInt => x[0].round().ok_or(domain),
        Func::RoundDecimal => float(round_decimal(x[0].to_f64(), x[1].as_i64().ok_or(domain)?)),
        Func::LShift | Func::RShift => shift(f, &x[0], &x[1]).ok_or(domain),
        Func::Identity => Ok(x[0].clone()),
        Func::IsNonOverlappingAndDense => {
            let ints: Vec<i64> = x.iter().map(Number::as_i64).collect::<Option<_>>().ok_or(domain)?;
            let (sizes, strides) = ints.split_at(ints.len() / 2);
            let dims: Vec<(i64, i64)> = sizes.iter().copied().zip(strides.iter().copied()).collect();
            Ok(Number::from(is_dense(&dims) as i64))
        }
        Func::BitAnd | Func::BitOr | Func::BitXor => bitwise(f, &x[0], &x[1]).ok_or(domain),
        _ => {
            let v = unary(f).ok_or_else(|| domain.clone())?(x[0].to_f64());
            let pole = matches!(f, Func::Log | Func::Log2) && x[0].is_zero();
            if pole || v.is_nan() && !x[0].is_nan() { Err(domain) } else { float(v) }
        }
    }
}

fn power(base: &Number, exp: &Number) -> Result<Number, EvalError> {
    let name = Func::Pow.name();
    match exp {
        _ if base.is_float() || exp.is_float() => Ok(Number::Float(base.to_f64().powf(exp.to_f64()))),
        Number::Int(e) => {
            let small = e.to_i64().ok_or(EvalError::TooLarge(name))?;
            let failure = if base.is_zero() { EvalError::DivisionByZero(name) } else { EvalError::TooLarge(name) };
            base.pow(small).ok_or(failure)
        }
        _ => {
            let v = base.to_f64().powf(exp.to_f64());
            if v.is_nan() { Err(EvalError::Domain(name)) } else { Ok(Number::Float(v)) }
        }
    }
}

/// Python's `round(x, digits)`: the exact value rounded half to even in decimal, then to the nearest double.
fn round_decimal(x: f64, digits: i64) -> f64 {
    const ENOUGH: i64 = 330;
    if !x.is_finite() || digits > ENOUGH {
        return x;
    }
    if digits < -ENOUGH {
        return 0.0 * x;
    }
    if digits >= 0 {
        return format!("{x:.*}", digits as usize).parse().unwrap_or(x);
    }
    let unit = Number::from(num_traits::pow(BigInt::from(10), digits.unsigned_abs() as usize));
    let exact = Number::Float(x).to_rational().map(Number::from);
    let rounded = exact.and_then(|e| e.div(&unit)?.round()).map(|n| n.mul(&unit).to_f64());
    rounded.map_or(x, |v| v.copysign(x))
}

/// Python's `x ** y` of floats: no complex numbers, no overflow, no pole.
fn python_pow(x: f64, y: f64) -> Option<f64> {
    let v = x.powf(y);
    let fine = !x.is_finite() || !y.is_finite() || v.is_finite();
    fine.then_some(v)
}

/// Rounded as the C library rounds it; Rust's own differs in the last bit and overflows.
fn asinh(x: f64) -> f64 {
    /// Beyond 2^28 the one under the root is lost, below its inverse the function is the identity.
    const LARGE: f64 = (1u64 << 28) as f64;
    let a = x.abs();
    let v = match () {
        _ if !x.is_finite() || a < 1.0 / LARGE => return x,
        _ if a > LARGE => a.ln() + std::f64::consts::LN_2,
        _ if a > 2.0 => (2.0 * a + 1.0 / ((a * a + 1.0).sqrt() + a)).ln(),
        _ => (a + a * a / (1.0 + (1.0 + a * a).sqrt())).ln_1p(),
    };
    v.copysign(x)
}

fn shift(f: Func, base: &Number, by: &Number) -> Option<Number> {
    let Number::Int(by) = by else { return None };
    let by = by.to_u64().filter(|b| *b <= crate::number::MAX_BITS)?;
    let power = Number::Int(BigInt::one() << by);
    if f == Func::LShift { Some(base.mul(&power)) } else { base.floor_div(&power) }
}

fn bitwise(f: Func, a: &Number, b: &Number) -> Option<Number> {
    if let (Number::Bool(x), Number::Bool(y)) = (a, b) {
        return Some(Number::Bool(match f {
            Func::BitAnd => x & y,
            Func::BitOr => x | y,
            _ => x ^ y,
        }));
    }
    let (Number::Int(x), Number::Int(y)) = (a.clone().unbool(), b.clone().unbool()) else { return None };
    Some(Number::Int(match f {
        Func::BitAnd => x & y,
        Func::BitOr => x | y,
        _ => x ^ y,
    }))
}

/// The C function of an opaque unary function.
pub(crate) fn unary(f: Func) -> Option<fn(f64) -> f64> {
    Some(match f {
        Func::Sqrt => f64::sqrt,
        Func::Cos => f64::cos,
        Func::Cosh => f64::cosh,
        Func::Sin => f64::sin,
        Func::Sinh => f64::sinh,
        Func::Tan => f64::tan,
        Func::Tanh => f64::tanh,
        Func::Asin => f64::asin,
        Func::Acos => f64::acos,
        Func::Atan => f64::atan,
        Func::Exp => f64::exp,
        Func::Log => f64::ln,
        Func::Asinh => asinh,
        Func::Log2 => f64::log2,
        _ => return None,
    })
}

/// Whether dims `(size, stride)` tile memory without holes or overlap, in any order.
pub(crate) fn is_dense(dims: &[(i64, i64)]) -> bool {
    if let [(size, stride)] = dims {
        return *stride == 1 || *size < 2;
    }
    let mut dims = dims.to_vec();
    dims.sort_by_key(|d| d.1);
    let mut expected = 1i64;
    dims.iter().filter(|(size, _)| *size != 1).all(|(size, stride)| {
        let ok = *stride == expected;
        expected = expected.saturating_mul(*size);
        ok
    })
}
