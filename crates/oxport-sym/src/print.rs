//! The two texts of an expression: sympy's `srepr` (what programs store) and sympy's `str` (what people read, and what
//! the keys of `range_constraints` are).

use std::borrow::Cow;
use std::fmt::{self, Write};

use num_traits::Signed;

use crate::build::split_coeff;
use crate::expr::{Expr, Kind};
use crate::func::{Func, prec};
use crate::number::Sign;

impl Expr {
    /// The text that PyTorch stores as `expr_str`, e.g. `Add(Symbol('s0', positive=True, integer=True), Integer(1))`.
    pub fn srepr(&self) -> String {
        let mut out = String::new();
        srepr(self, &mut out);
        out
    }
}

/// sympy's `str`: `2*s77 + 1`, `(s0//2)`, `Eq(s0, 3)`.
impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind() {
            // Alone, sympy prints all its digits.
            Kind::Float(v) => f.write_str(&decimal(v, 15, false)),
            _ => f.write_str(&infix(self)),
        }
    }
}

fn srepr(e: &Expr, out: &mut String) {
    let text = match e.kind() {
        Kind::Int(v) => format!("Integer({v})"),
        Kind::Big(v) => format!("Integer({v})"),
        Kind::Rational(q) => format!("Rational({}, {})", q.numer(), q.denom()),
        Kind::Float(v) => format!("Float('{}', precision=53)", decimal(v, 17, true)),
        Kind::Bool(true) => "true".into(),
        Kind::Bool(false) => "false".into(),
        Kind::IntOo(_) | Kind::Oo(_) | Kind::Zoo | Kind::NaN => infix(e),
        Kind::Symbol(s) => {
            let _ = write!(out, "Symbol({}", quoted(s.name()));
            for (a, yes) in s.assumptions().iter() {
                let _ = write!(out, ", {}={}", a.name(), if yes { "True" } else { "False" });
            }
            ")".into()
        }
        Kind::Call(f, args) => {
            out.push_str(f.name());
            out.push('(');
            let (sign, args) = split_sign(f, args);
            for (i, a) in sign.iter().chain(args.iter()).enumerate() {
                if i > 0 {
                    out.push_str(", ");
                }
                srepr(a, out);
            }
            ")".into()
        }
    };
    out.push_str(&text);
}

/// sympy writes the coefficient of a product as two factors if it is below −1: `-1, 2`.
fn split_sign(f: Func, args: &[Expr]) -> (Option<Expr>, Cow<'_, [Expr]>) {
    match args {
        [c, rest @ ..] if f == Func::Mul && c.as_int() != Some(-1) && is_negative(c) => {
            let magnitude = Expr::number(c.as_number().map_or(1.into(), |n| n.abs()));
            let split = std::iter::once(magnitude).chain(rest.iter().cloned()).collect();
            (Some(Expr::int(-1)), Cow::Owned(split))
        }
        _ => (None, Cow::Borrowed(args)),
    }
}

fn is_negative(e: &Expr) -> bool {
    e.is_numeric() && e.as_number().is_some_and(|n| n.signum() < 0)
}

/// A Python string literal.
fn quoted(s: &str) -> String {
    let escaped = s.replace('\\', "\\\\").replace('\n', "\\n").replace('\r', "\\r").replace('\t', "\\t");
    if s.contains('\'') && !s.contains('"') {
        format!("\"{escaped}\"")
    } else {
        format!("'{}'", escaped.replace('\'', "\\'"))
    }
}

/// A double as sympy prints it with this many significant digits, trailing zeros stripped or not.
fn decimal(v: f64, digits: usize, strip: bool) -> String {
    if v == 0.0 {
        return if v.is_sign_negative() { "-0.0".into() } else { "0.0".into() };
    }
    let text = format!("{:.*e}", digits + 12, v.abs());
    let (mantissa, exp) = text.split_once('e').unwrap_or((&text, "0"));
    let mut exp: i64 = exp.parse().unwrap_or(0);
    let mut d: Vec<u8> = mantissa.bytes().filter(u8::is_ascii_digit).map(|b| b - b'0').collect();
    let up = d.get(digits).is_some_and(|x| *x >= 5);
    d.truncate(digits);
    if up {
        match d.iter().rposition(|x| *x < 9) {
            Some(i) => {
                d[i] += 1;
                d[i + 1..].fill(0);
            }
            None => {
                d = vec![1];
                exp += 1;
            }
        }
    }
    d.resize(digits, 0);
    while strip && d.len() > 1 && d.last() == Some(&0) {
        d.pop();
    }
    let digit_text: String = d.iter().map(|x| char::from(b'0' + x)).collect();
    let sign = if v < 0.0 { "-" } else { "" };
    let least = (-(digits as i64) / 3).min(-5);
    if exp > least && exp < digits as i64 {
        let body = match usize::try_from(exp) {
            Err(_) => format!("0.{}{digit_text}", "0".repeat((-exp - 1) as usize)),
            Ok(e) if e + 1 >= digit_text.len() => format!("{digit_text}{}.0", "0".repeat(e + 1 - digit_text.len())),
            Ok(e) => format!("{}.{}", &digit_text[..=e], &digit_text[e + 1..]),
        };
        return format!("{sign}{body}");
    }
    let fraction = if digit_text.len() > 1 { &digit_text[1..] } else { "0" };
    format!("{sign}{}.{fraction}e{}{}", &digit_text[..1], if exp < 0 { "-" } else { "+" }, exp.abs())
}

fn infix(e: &Expr) -> String {
    match e.kind() {
        Kind::Int(v) => v.to_string(),
        Kind::Big(v) => v.to_string(),
        Kind::Rational(q) => format!("{}/{}", q.numer(), q.denom()),
        Kind::Float(v) => decimal(v, 15, true),
        Kind::Bool(true) => "True".into(),
        Kind::Bool(false) => "False".into(),
        Kind::IntOo(Sign::Plus) => "int_oo".into(),
        Kind::IntOo(Sign::Minus) => "-int_oo".into(),
        Kind::Oo(Sign::Plus) => "oo".into(),
        Kind::Oo(Sign::Minus) => "-oo".into(),
        Kind::Zoo => "zoo".into(),
        Kind::NaN => "nan".into(),
        Kind::Symbol(s) => s.name().to_owned(),
        Kind::Call(f, args) => match f {
            Func::Add => sum(args),
            Func::Mul => product(e, args),
            Func::Pow => power(&args[0], &args[1]),
            Func::FloorDiv | Func::CleanDiv => {
                format!("({}//{})", paren(&args[0], prec::ATOM - 1, false), paren(&args[1], prec::ATOM - 1, false))
            }
            Func::Identity => format!("({})", infix(&args[0])),
            Func::Not => format!("~{}", paren(&args[0], prec::NOT, false)),
            Func::And => join(args, " & ", prec::BIT_AND),
            Func::Or => join(args, " | ", prec::BIT_OR),
            Func::Eq => format!("Eq({}, {})", infix(&args[0]), infix(&args[1])),
            Func::Ne => format!("Ne({}, {})", infix(&args[0]), infix(&args[1])),
            Func::Lt => relation(args, "<"),
            Func::Le => relation(args, "<="),
            Func::Gt => relation(args, ">"),
            Func::Ge => relation(args, ">="),
            Func::ExprCondPair => format!("({}, {})", infix(&args[0]), infix(&args[1])),
            Func::Max | Func::Min => {
                let mut sorted = args.to_vec();
                sorted.sort_by(Expr::order);
                format!("{}({})", f.name(), join(&sorted, ", ", 0))
            }
            _ => format!("{}({})", f.name(), join(args, ", ", 0)),
        },
    }
}

fn join(args: &[Expr], sep: &str, level: u32) -> String {
    args.iter().map(|a| paren(a, level, false)).collect::<Vec<_>>().join(sep)
}

fn relation(args: &[Expr], op: &str) -> String {
    let side = |e| paren(e, prec::RELATIONAL, false);
    format!("{} {op} {}", side(&args[0]), side(&args[1]))
}

fn paren(e: &Expr, level: u32, strict: bool) -> String {
    let p = precedence(e);
    if p < level || (!strict && p == level) { format!("({})", infix(e)) } else { infix(e) }
}

fn precedence(e: &Expr) -> u32 {
    match e.kind() {
        Kind::Rational(q) => {
            if q.is_negative() {
                prec::ADD
            } else {
                prec::MUL
            }
        }
        Kind::Int(_) | Kind::Big(_) | Kind::Float(_) | Kind::Oo(_) if is_negative(e) => prec::ADD,
        Kind::Call(Func::Mul, args) => {
            let low = args
                .iter()
                .any(|a| a.as_call().is_some_and(|(f, _)| f.class_key().0 == 4 && f.precedence() < prec::MUL));
            if !low && minus_sign(e) { prec::ADD } else { prec::MUL }
        }
        Kind::Call(f, _) => f.precedence(),
        _ => prec::ATOM,
    }
}

/// Whether sympy sees a minus sign to pull out of a product: a negative coefficient.
fn minus_sign(e: &Expr) -> bool {
    is_negative(&split_coeff(e).0)
}

fn sum(terms: &[Expr]) -> String {
    let mut out = String::new();
    for (i, term) in terms.iter().enumerate() {
        let text = infix(term);
        let (minus, text) = match text.strip_prefix('-') {
            Some(rest) if term.args_of(Func::Add).is_none() => (true, rest.to_owned()),
            _ => (false, text),
        };
        let text =
            if precedence(term) < prec::ADD || term.args_of(Func::Add).is_some() { format!("({text})") } else { text };
        match (i, minus) {
            (0, true) => out.push('-'),
            (0, false) => {}
            (_, true) => out.push_str(" - "),
            (_, false) => out.push_str(" + "),
        }
        out.push_str(&text);
    }
    out
}

fn product(whole: &Expr, factors: &[Expr]) -> String {
    let level = precedence(whole);
    let (coeff, _) = split_coeff(whole);
    let negative = is_negative(&coeff);
    // The sign is printed once in front, and the rest as the positive product, whose precedence is its own.
    let level = if negative { level.max(prec::ADD) } else { level };
    let mut above: Vec<String> = Vec::new();
    let mut below: Vec<(Expr, bool)> = Vec::new();
    for factor in factors {
        match factor.kind() {
            Kind::Rational(q) => {
                let p = q.numer().abs();
                if p != 1.into() {
                    above.push(p.to_string());
                }
                below.push((Expr::big(q.denom().clone()), false));
            }
            _ if factor.is_numeric() => {
                let magnitude = Expr::number(factor.as_number().map_or(1.into(), |n| n.abs()));
                if magnitude.as_int() != Some(1) {
                    above.push(paren(&magnitude, level, false));
                }
            }
            Kind::Call(Func::Pow, [base, exp]) if minus_sign(exp) => {
                let compound = matches!(base.as_call(), Some((Func::Mul | Func::Pow, _)));
                below.push((Expr::call(Func::Pow, vec![base.clone(), -exp]), compound));
            }
            _ => above.push(paren(factor, level, false)),
        }
    }
    if above.is_empty() {
        above.push("1".into());
    }
    let below: Vec<String> = below
        .iter()
        .map(|(e, force)| if *force { format!("({})", infix(e)) } else { paren(e, level, false) })
        .collect();
    let sign = if negative { "-" } else { "" };
    match below.as_slice() {
        [] => format!("{sign}{}", above.join("*")),
        [one] => format!("{sign}{}/{one}", above.join("*")),
        many => format!("{sign}{}/({})", above.join("*"), many.join("*")),
    }
}

fn power(base: &Expr, exp: &Expr) -> String {
    if let Kind::Rational(q) = exp.kind() {
        if *q.denom() == 2.into() && *q.numer() == 1.into() {
            return format!("sqrt({})", infix(base));
        }
        if *q.denom() == 2.into() && *q.numer() == (-1).into() {
            return format!("1/sqrt({})", infix(base));
        }
    }
    let b = paren(base, prec::POW, false);
    if exp.as_int() == Some(-1) { format!("1/{b}") } else { format!("{b}**{}", paren(exp, prec::POW, false)) }
}
