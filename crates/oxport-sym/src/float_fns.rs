//! Conversions and float functions: what they rewrite besides folding constants.

use crate::assume::{is_integer, signs};
use crate::build::{add, mul, pow, split_coeff};
use crate::expr::{Expr, Kind};
use crate::func::Func;
use crate::number::Sign;

/// A rewrite of a call that is not a mere fold; `None` if there is none.
pub(crate) fn build(func: Func, args: &[Expr]) -> Option<Expr> {
    let x = &args[0];
    match func {
        Func::TruncToInt | Func::FloorToInt if is_integer(x) && (func == Func::TruncToInt || x.is_const()) => {
            Some(x.clone())
        }
        Func::TruncToInt => match x.args_of(Func::IntTrueDiv)? {
            [base, by] if by.as_int() == Some(1) => Some(base.clone()),
            [base, by] if by.as_int() == Some(-1) => Some(-base),
            _ => None,
        },
        Func::Abs => absolute(x),
        Func::Floor | Func::Ceiling if matches!(x.kind(), Kind::Oo(_)) => Some(x.clone()),
        Func::Floor | Func::Ceiling => split_whole(func, x),
        Func::PowByNatural => match args[1].kind() {
            Kind::Int(_) if !x.is_const() || matches!(x.kind(), Kind::IntOo(_)) => {
                Some(pow(x, &args[1]).unwrap_or_else(|| Expr::raw(Func::Pow, args)))
            }
            Kind::IntOo(Sign::Plus) | Kind::Oo(Sign::Plus) if signs(x).nonnegative => Some(Expr::int_oo(Sign::Plus)),
            Kind::IntOo(Sign::Plus) | Kind::Oo(Sign::Plus) if signs(x).negative => Some(Expr::zoo()),
            _ => None,
        },
        Func::IsNonOverlappingAndDense => dense(args),
        _ => None,
    }
}

fn absolute(x: &Expr) -> Option<Expr> {
    if matches!(x.kind(), Kind::Float(0.0)) {
        return Some(Expr::int(0));
    }
    let s = signs(x);
    match () {
        _ if s.nonnegative => Some(x.clone()),
        _ if s.nonpositive => Some(-x),
        _ => {
            let (c, rest) = split_coeff(x);
            let magnitude = Expr::number(c.as_number()?.abs());
            (c.as_int() != Some(1)).then(|| mul(vec![magnitude, Expr::call(Func::Abs, rest.into_iter().collect())]))
        }
    }
}

/// `floor(x + n)` is `floor(x) + n` for integer `n`.
fn split_whole(func: Func, x: &Expr) -> Option<Expr> {
    let terms = x.args_of(Func::Add).unwrap_or(std::slice::from_ref(x));
    let (whole, rest): (Vec<&Expr>, Vec<&Expr>) = terms.iter().partition(|t| is_integer(t));
    if whole.is_empty() {
        return None;
    }
    let rest = add(rest.into_iter().cloned().collect());
    let rounded = if rest.as_int() == Some(0) { rest } else { Expr::call(func, vec![rest]) };
    Some(add(whole.into_iter().cloned().chain([rounded]).collect()))
}

/// The cases that do not need every size: rank one, and known strides where only the outermost size is unknown.
fn dense(args: &[Expr]) -> Option<Expr> {
    let (sizes, strides) = args.split_at(args.len() / 2);
    if let ([size], [stride]) = (sizes, strides)
        && (stride.as_int() == Some(1) || size.as_int().is_some_and(|s| s < 2))
    {
        return Some(Expr::int(1));
    }
    let mut dims: Vec<(i64, &Expr)> =
        strides.iter().zip(sizes).map(|(st, sz)| Some((st.as_int()?, sz))).collect::<Option<_>>()?;
    dims.sort_by_key(|d| d.0);
    let (outer, inner) = dims.split_last()?;
    let known: Option<Vec<(i64, i64)>> = inner.iter().map(|(st, sz)| Some((sz.as_int()?, *st))).collect();
    let all: Vec<(i64, i64)> = known?.into_iter().chain([(outer.1.as_int().unwrap_or(42), outer.0)]).collect();
    Some(Expr::int(crate::eval::is_dense(&all) as i64))
}
