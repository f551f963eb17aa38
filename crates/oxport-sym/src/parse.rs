//! Expression text → [`Expr`]: sympy's `srepr`, sympy's `str` and Python guards are one grammar, Python's.
//!
//! Nothing is executed. Nesting is limited, so no text can overflow the stack; unknown functions are errors.

use std::fmt;

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::Zero;

use crate::expr::Expr;
use crate::func::Func;
use crate::lex::{Tok, Token, tokens};
use crate::number::Sign;
use crate::symbol::{Assumption, Assumptions, Symbol};

/// Why a text is not an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// The byte of the text at which it went wrong.
    pub offset: usize,
    /// What was expected or is not allowed.
    pub message: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.message, self.offset)
    }
}

impl std::error::Error for ParseError {}

/// Deepest nesting of parentheses, calls and unary operators.
const MAX_DEPTH: usize = 128;
/// Longest integer literal.
const MAX_DIGITS: usize = 4096;

impl Expr {
    /// Parses srepr text (`Add(Symbol('s0', positive=True, integer=True), Integer(1))`) or infix text (`s0 + 1`,
    /// `(s0//2)`).
    ///
    /// Bare names are symbols with the assumptions of PyTorch's naming convention, see [`Symbol::by_convention`].
    pub fn parse(text: &str) -> Result<Expr, ParseError> {
        Expr::parse_with(text, &|_| None)
    }

    /// As [`Expr::parse`], asking `names` first what a bare name means.
    ///
    /// A name may be a source path as guards use them, e.g. `L['x'].size()[0]`, given without white space.
    pub fn parse_with(text: &str, names: &dyn Fn(&str) -> Option<Expr>) -> Result<Expr, ParseError> {
        Expr::parse_as(text, names, false)
    }

    /// As [`Expr::parse_with`], of a text that PyTorch executes as Python: `/` gives the nearest float.
    pub fn parse_guard(text: &str, names: &dyn Fn(&str) -> Option<Expr>) -> Result<Expr, ParseError> {
        Expr::parse_as(text, names, true)
    }

    fn parse_as(text: &str, names: &dyn Fn(&str) -> Option<Expr>, is_python: bool) -> Result<Expr, ParseError> {
        let tokens = tokens(text).map_err(|(offset, message)| ParseError { offset, message })?;
        let mut parser = Parser { text, tokens, at: 0, depth: 0, names, is_python };
        let e = parser.expr(0)?;
        match parser.peek().kind {
            Tok::End => Ok(e),
            _ => Err(parser.error("expected end of text")),
        }
    }
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token<'a>>,
    at: usize,
    depth: usize,
    names: &'a dyn Fn(&str) -> Option<Expr>,
    is_python: bool,
}

/// Binding power of Python's binary operators; comparisons chain and are handled apart.
fn binary(op: &str) -> Option<u8> {
    Some(match op {
        "or" => 1,
        "and" => 2,
        "<" | "<=" | ">" | ">=" | "==" | "!=" => 4,
        "|" => 5,
        "^" => 6,
        "&" => 7,
        "<<" | ">>" => 8,
        "+" | "-" => 9,
        "*" | "/" | "//" | "%" => 10,
        "**" => 12,
        _ => return None,
    })
}
const NOT: u8 = 3;
const COMPARE: u8 = 4;
const UNARY: u8 = 11;
const POWER: u8 = 12;

impl<'a> Parser<'a> {
    fn peek(&self) -> &Token<'a> {
        // The last token is always `End` and is never passed.
        &self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    fn next(&mut self) -> Token<'a> {
        let token = self.peek().clone();
        self.at += 1;
        token
    }

    fn error(&self, message: impl Into<String>) -> ParseError {
        ParseError { offset: self.peek().start, message: message.into() }
    }

    fn eat(&mut self, op: &str) -> bool {
        let found = matches!(self.peek().kind, Tok::Op(o) if o == op);
        self.at += found as usize;
        found
    }

    fn expect(&mut self, op: &str) -> Result<(), ParseError> {
        if self.eat(op) { Ok(()) } else { Err(self.error(format!("expected `{op}`"))) }
    }

    fn operator(&self) -> Option<(&'a str, u8)> {
        let op = match &self.peek().kind {
            Tok::Op(op) => op,
            Tok::Name(n) => *n,
            _ => return None,
        };
        binary(op).map(|p| (op, p))
    }

    fn expr(&mut self, least: u8) -> Result<Expr, ParseError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.error("expression is nested too deeply"));
        }
        let mut left = self.prefix()?;
        while let Some((op, power)) = self.operator() {
            if power < least {
                break;
            }
            if power == COMPARE {
                left = self.comparison(left)?;
                continue;
            }
            self.at += 1;
            // `**` binds to the right, everything else to the left.
            let right = self.expr(if power == POWER { UNARY } else { power + 1 })?;
            left = self.combine(op, left, right)?;
        }
        self.depth -= 1;
        Ok(left)
    }

    fn prefix(&mut self) -> Result<Expr, ParseError> {
        let token = self.next();
        match token.kind {
            Tok::Op("-") => Ok(-self.expr(UNARY)?),
            Tok::Op("+") => self.expr(UNARY),
            Tok::Op("~") => Ok(self.expr(UNARY)?.not()),
            Tok::Op("(") => {
                let e = self.expr(0)?;
                self.expect(")")?;
                Ok(e)
            }
            Tok::Int(digits) => self.integer(digits, token.start).map(Expr::big),
            Tok::Float(text) => text.parse().map(Expr::float).map_err(|_| self.error("expected a number")),
            Tok::Name("not") => Ok(self.expr(NOT)?.not()),
            Tok::Name(name) => self.name(name, token.start),
            _ => Err(ParseError { offset: token.start, message: "expected an expression".into() }),
        }
    }

    fn integer(&self, digits: &str, offset: usize) -> Result<BigInt, ParseError> {
        let long = || ParseError { offset, message: "integer literal is too long".into() };
        if digits.len() > MAX_DIGITS {
            return Err(long());
        }
        digits.parse().map_err(|_| long())
    }

    /// `a < b <= c` means `a < b and b <= c`.
    fn comparison(&mut self, mut left: Expr) -> Result<Expr, ParseError> {
        let mut parts = Vec::new();
        while let Some((op, COMPARE)) = self.operator() {
            self.at += 1;
            let right = self.expr(COMPARE + 1)?;
            parts.push(self.combine(op, left, right.clone())?);
            left = right;
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Expr::call(Func::And, parts) })
    }

    fn combine(&self, op: &str, a: Expr, b: Expr) -> Result<Expr, ParseError> {
        let truths = |e: &Expr| e.as_bool().is_some() || e.as_call().is_some_and(|(f, _)| f.is_boolean());
        let logical = truths(&a) && truths(&b);
        let func = match op {
            "+" => Func::Add,
            "-" => return Ok(a - b),
            "*" => Func::Mul,
            "**" => Func::Pow,
            "//" => Func::FloorDiv,
            "%" => return Ok(a.modulo(&b)),
            "/" if self.is_python => Func::IntTrueDiv,
            "/" => {
                let inverse = Expr::call(Func::Pow, vec![b, Expr::int(-1)]);
                return Ok(a * inverse);
            }
            "<" => Func::Lt,
            "<=" => Func::Le,
            ">" => Func::Gt,
            ">=" => Func::Ge,
            "==" => Func::Eq,
            "!=" => Func::Ne,
            "<<" => Func::LShift,
            ">>" => Func::RShift,
            "and" => Func::And,
            "or" => Func::Or,
            "&" if logical => Func::And,
            "|" if logical => Func::Or,
            "&" => Func::BitAnd,
            "|" => Func::BitOr,
            "^" => Func::BitXor,
            _ => return Err(self.error("unknown operator")),
        };
        Ok(Expr::call(func, vec![a, b]))
    }

    /// A name, a call, or a source path such as `L['x'].size()[0]`.
    fn name(&mut self, name: &'a str, start: usize) -> Result<Expr, ParseError> {
        if matches!(self.peek().kind, Tok::Op("[" | ".")) {
            return self.path(start);
        }
        if self.eat("(") {
            return self.call(name, start);
        }
        match name {
            "true" | "True" => return Ok(Expr::boolean(true)),
            "false" | "False" => return Ok(Expr::boolean(false)),
            _ => {}
        }
        if let Some(e) = (self.names)(name) {
            return Ok(e);
        }
        Ok(match name {
            "oo" => Expr::float(f64::INFINITY),
            "int_oo" => Expr::int_oo(Sign::Plus),
            "nan" => Expr::float(f64::NAN),
            "zoo" => Expr::zoo(),
            _ => Expr::symbol(&Symbol::by_convention(name)),
        })
    }

    fn path(&mut self, start: usize) -> Result<Expr, ParseError> {
        let mut path: String = String::new();
        path.push_str(&self.text[start..self.tokens[self.at - 1].end]);
        loop {
            let from = self.peek().start;
            if self.eat(".") {
                let Tok::Name(field) = self.next().kind else {
                    return Err(ParseError { offset: from, message: "expected a name after `.`".into() });
                };
                // `math.floor(…)` is Python's function, not sympy's of the same name.
                let func = python_function(field).or(Func::from_name(field));
                if let Some(func) = func.filter(|_| self.eat("(")) {
                    return self.call(func.name(), from);
                }
                path.push('.');
                path.push_str(field);
            } else if self.eat("[") {
                let minus = self.eat("-");
                let key = self.next();
                if !matches!(key.kind, Tok::Int(_) | Tok::Str(_)) {
                    return Err(ParseError { offset: key.start, message: "expected an index or a key".into() });
                }
                self.expect("]")?;
                path.push('[');
                path.push_str(if minus { "-" } else { "" });
                path.push_str(&self.text[key.start..key.end]);
                path.push(']');
            } else if self.eat("(") {
                self.expect(")")?;
                path.push_str("()");
            } else {
                break;
            }
        }
        (self.names)(&path).ok_or_else(|| ParseError { offset: start, message: format!("unknown name `{path}`") })
    }

    /// The rest of a call, after the opening parenthesis.
    fn call(&mut self, name: &str, start: usize) -> Result<Expr, ParseError> {
        let failed = |message: String| ParseError { offset: start, message };
        match name {
            "Symbol" => return self.symbol(),
            "Integer" => {
                let negative = self.eat("-");
                let token = self.next();
                let Tok::Int(digits) = token.kind else { return Err(failed("expected Integer(digits)".into())) };
                let value = self.integer(digits, token.start)?;
                self.expect(")")?;
                return Ok(Expr::big(if negative { -value } else { value }));
            }
            "Float" => return self.float(),
            "Function" => {
                let Tok::Str(inner) = self.next().kind else { return Err(failed("expected Function('name')".into())) };
                self.expect(")")?;
                self.expect("(")?;
                return self.call(&inner, start);
            }
            _ => {}
        }
        let args = self.arguments(name == "Piecewise")?;
        if name == "Rational" {
            let whole = |e: &Expr| e.as_number().and_then(|n| if n.is_infinite() { None } else { n.to_rational() });
            return match args.as_slice() {
                [p, q] => match (whole(p), whole(q)) {
                    (Some(p), Some(q)) if !q.is_zero() => Ok(Expr::rational(BigRational::from(p / q))),
                    _ => Err(failed("expected Rational(integer, nonzero integer)".into())),
                },
                _ => Err(failed("Rational takes two arguments".into())),
            };
        }
        if name == "sqrt" && args.len() == 1 {
            let half = Expr::rational(BigRational::new(1.into(), 2.into()));
            return Ok(Expr::call(Func::Pow, [args, vec![half]].concat()));
        }
        let digits = (name == "round" && args.len() == 2).then_some(Func::RoundDecimal);
        let func = digits.or(Func::from_name(name)).or(python_function(name));
        let func = func.ok_or_else(|| failed(format!("unknown function `{name}`")))?;
        if !func.arity().allows(args.len()) {
            return Err(failed(format!("{name} does not take {} arguments", args.len())));
        }
        Ok(Expr::call(func, args))
    }

    /// The arguments of a call; `pairs` for those of an infix `Piecewise`, `(value, condition)`.
    fn arguments(&mut self, pairs: bool) -> Result<Vec<Expr>, ParseError> {
        let mut args = Vec::new();
        while !self.eat(")") {
            if !args.is_empty() {
                self.expect(",")?;
            }
            if pairs && self.eat("(") {
                let value = self.expr(0)?;
                self.expect(",")?;
                let condition = self.expr(0)?;
                self.expect(")")?;
                args.push(Expr::call(Func::ExprCondPair, vec![value, condition]));
            } else {
                args.push(self.expr(0)?);
            }
        }
        Ok(args)
    }

    fn symbol(&mut self) -> Result<Expr, ParseError> {
        let Tok::Str(name) = self.next().kind else {
            self.at -= 1;
            return Err(self.error("expected a quoted symbol name"));
        };
        let mut assumptions = Vec::new();
        while self.eat(",") {
            let Tok::Name(key) = self.next().kind else {
                self.at -= 1;
                return Err(self.error("expected an assumption"));
            };
            let Some(assumption) = Assumption::from_name(key) else {
                self.at -= 1;
                return Err(self.error(format!("unknown assumption `{key}`")));
            };
            self.expect("=")?;
            let value = match self.next().kind {
                Tok::Name("True" | "true") => true,
                Tok::Name("False" | "false") => false,
                _ => {
                    self.at -= 1;
                    return Err(self.error("expected True or False"));
                }
            };
            assumptions.push((assumption, value));
        }
        self.expect(")")?;
        Ok(Expr::symbol(&Symbol::new(&name, Assumptions::new(assumptions))))
    }

    fn float(&mut self) -> Result<Expr, ParseError> {
        let token = self.next();
        let text = match &token.kind {
            Tok::Str(s) => s.clone(),
            Tok::Int(s) | Tok::Float(s) => (*s).to_owned(),
            _ => String::new(),
        };
        let bad = || ParseError { offset: token.start, message: "expected the digits of a float".into() };
        let numeric = text.bytes().all(|b| b.is_ascii_digit() || b"+-.eE".contains(&b));
        let value: f64 = text.parse().ok().filter(|_| numeric).ok_or_else(bad)?;
        if self.eat(",") {
            let named = matches!(self.next().kind, Tok::Name("precision" | "dps"));
            self.expect("=")?;
            if !named || !matches!(self.next().kind, Tok::Int(_)) {
                return Err(bad());
            }
        }
        self.expect(")")?;
        Ok(Expr::float(value))
    }
}

/// Functions of Python and torch that guards call; given with or without their module.
fn python_function(name: &str) -> Option<Func> {
    Some(match name {
        "max" | "sym_max" => Func::Max,
        "min" | "sym_min" => Func::Min,
        "abs" => Func::Abs,
        "floor" => Func::FloorToInt,
        "ceil" => Func::CeilToInt,
        "trunc" | "sym_int" | "int" => Func::TruncToInt,
        "round" => Func::RoundToInt,
        "sym_float" | "float" => Func::ToFloat,
        "_sym_sqrt" | "sym_sqrt" => Func::Sqrt,
        "sym_not" => Func::Not,
        "sym_ite" => Func::Where,
        "sym_sum" => Func::Add,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guards() {
        let names = |path: &str| {
            let name = path.replace("L[", "").replace(['[', ']', '(', ')', '\'', '.'], "");
            Some(Expr::symbol(&Symbol::new(&name, Assumptions::integer())))
        };
        let table = "
            L['x'].size()[0] == ((-1) + L['y'].size()[0]) => Eq(xsize0, ysize0 - 1)
            (L['x'].size()[0] // 2) != 1                  => Ne((xsize0//2), 1)
            L['n'] >= 2                                   => n >= 2
            L['flat_args'][0].stride()[1] <= 4            => flat_args0stride1 <= 4
            2 <= L['n'] and L['n'] <= 10                  => (2 <= n) & (n <= 10)
            2 <= L['n'] < 10                              => (2 <= n) & (n < 10)
            not (L['n'] < 3)                              => n >= 3
            max(1, L['n']) % 2 == 0 or False              => Eq(Mod(Max(1, n), 2), 0)
            math.floor(torch.sym_float(L['n']))           => FloorToInt(ToFloat(n))
            torch._sym_sqrt(torch.sym_float(L['n']))      => OpaqueUnaryFn_sqrt(ToFloat(n))
            -2**2                                         => -4
            2**-1                                         => 1/2
            7 - 3 - 2                                     => 2
            -7 // 2                                       => -4
            round(L['n'] / 3) == 4                        => Eq(RoundToInt(IntTrueDiv(n, 3)), 4)
            round(L['n'] / 7, 2) < 1.5                    => RoundDecimal(IntTrueDiv(n, 7), 2) < 1.5
            11 / 10 == 1.1                                => True
            round(5 / 2)                                  => 2
        ";
        for (text, expected) in table.lines().filter_map(|l| l.split_once("=>")) {
            let e = Expr::parse_guard(text.trim(), &names).unwrap_or_else(|e| panic!("{text}: {e}"));
            assert_eq!(e.to_string(), expected.trim(), "{text}");
        }
    }

    #[test]
    fn errors_have_a_place() {
        let table = [
            ("", 0, "expected an expression"),
            ("s0 +", 4, "expected an expression"),
            ("s0 s1", 3, "expected end of text"),
            ("(s0", 3, "expected `)`"),
            ("foo(s0)", 0, "unknown function `foo`"),
            ("Mod(s0)", 0, "Mod does not take 1 arguments"),
            ("Symbol(s0)", 7, "expected a quoted symbol name"),
            ("Symbol('s0', shiny=True)", 13, "unknown assumption `shiny`"),
            ("Symbol('s0', integer=1)", 21, "expected True or False"),
            ("Rational(1, 0)", 0, "expected Rational(integer, nonzero integer)"),
            ("'s0", 0, "unterminated string"),
            ("s0 ? 1", 3, "unexpected character"),
            ("x.size()[0]", 0, "unknown name `x.size()[0]`"),
            ("__import__('os')", 11, "expected an expression"),
            ("[1, 2]", 0, "expected an expression"),
        ];
        for (text, offset, message) in table {
            let expected = ParseError { offset, message: message.to_owned() };
            assert_eq!(Expr::parse(text), Err(expected), "{text}");
        }
    }

    #[test]
    fn large_numbers_stay_unevaluated() {
        for text in ["10**10**10", "2**100000000", "(2**16000)**16000", "LShift(1, 100000)"] {
            assert!(Expr::parse(text).is_ok_and(|e| e.to_string().len() < 10_000), "{text}");
        }
        assert!(Expr::parse(&"9".repeat(100_000)).is_err());
    }
}
