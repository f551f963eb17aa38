//! Values as text: `3`, `-1.5e3`, `true`, `None`, `[[1, 2], [3, 4]]`, `1,2,3`, and rows of numbers.
//!
//! Invariant: a list is a rectangular array; its dtype is that of the input, or else what `torch.tensor` would make of
//! it.

use crate::compare::show;
use crate::{DType, Error, Result, Scalar, Tensor, Value};

/// A value as text: a number, `None`, or an array of numbers.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    /// `None`
    None,
    /// One number.
    Scalar(Scalar),
    /// An array: sizes, and the numbers in row-major order.
    Array(Vec<i64>, Vec<Scalar>),
}

impl Literal {
    /// Parses a text; `None` if it is not a literal.
    pub fn parse(text: &str) -> Option<Literal> {
        let text = text.trim();
        let mut parser = Parser { rest: text, depth: 0 };
        let whole = parser.item()?;
        if parser.rest.is_empty() {
            return Some(whole);
        }
        // `1,2,3` is a list without its brackets.
        let listed = format!("[{text}]");
        let mut parser = Parser { rest: &listed, depth: 0 };
        let whole = parser.item()?;
        parser.rest.is_empty().then_some(whole)
    }

    /// Parses a file of numbers: a literal, or rows of numbers that commas or white space separate.
    pub fn parse_file(text: &str) -> Option<Literal> {
        Literal::parse(text).or_else(|| {
            let row = |line: &str| {
                let words = line.split(|c: char| c == ',' || c == ';' || c.is_whitespace()).filter(|w| !w.is_empty());
                words.map(scalar).collect::<Option<Vec<Scalar>>>()
            };
            let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
            let rows: Vec<Vec<Scalar>> = lines.map(row).collect::<Option<_>>()?;
            let width = rows.first()?.len();
            if rows.iter().any(|row| row.len() != width) {
                return None;
            }
            let sizes = if rows.len() == 1 { vec![width as i64] } else { vec![rows.len() as i64, width as i64] };
            Some(Literal::Array(sizes, rows.concat()))
        })
    }

    /// The value as one of that dtype; by default as `torch.tensor` chooses it. One number stays a number without a
    /// dtype.
    ///
    /// # Errors
    /// The dtype cannot represent a number exactly enough: a fraction or a number out of range for integers.
    pub fn value(&self, dtype: Option<DType>) -> Result<Value> {
        match (self, dtype) {
            (Literal::None, _) => Ok(Value::None),
            (Literal::Scalar(s), None) => Ok((*s).into()),
            (Literal::Scalar(s), Some(dtype)) => array(&[], std::slice::from_ref(s), dtype).map(Value::Tensor),
            (Literal::Array(sizes, list), dtype) => {
                let usual = || match list {
                    _ if list.iter().any(|s| matches!(s, Scalar::Float(_))) || list.is_empty() => DType::F32,
                    _ if list.iter().all(|s| matches!(s, Scalar::Bool(_))) => DType::Bool,
                    _ => DType::I64,
                };
                array(sizes, list, dtype.unwrap_or_else(usual)).map(Value::Tensor)
            }
        }
    }
}

/// A tensor of these numbers.
fn array(sizes: &[i64], list: &[Scalar], dtype: DType) -> Result<Tensor> {
    let wrong = |s: &Scalar| Error::usage(format!("expected numbers of {}, got {}", dtype.name(), show(&(*s).into())));
    if dtype.is_float() || dtype.is_complex() {
        let number = |s: &Scalar| match s {
            Scalar::Int(n) => Ok(*n as f64),
            Scalar::Float(x) => Ok(*x),
            Scalar::Bool(b) => Ok(f64::from(u8::from(*b))),
            Scalar::Complex(_) => Err(wrong(s)),
        };
        return Ok(Tensor::from_vec(sizes, list.iter().map(number).collect::<Result<Vec<f64>>>()?)?.to_dtype(dtype)?);
    }
    let number = |s: &Scalar| match s {
        Scalar::Int(n) => Ok(*n),
        Scalar::Bool(b) => Ok(i64::from(*b)),
        Scalar::Float(x) if x.fract() == 0.0 && x.abs() < 9e15 => Ok(*x as i64),
        _ => Err(wrong(s)),
    };
    let numbers = list.iter().map(number).collect::<Result<Vec<i64>>>()?;
    let tensor = Tensor::from_slice(sizes, &numbers)?.to_dtype(dtype)?;
    match tensor.to_vec::<i64>()?.iter().zip(&numbers).find(|(made, given)| made != given) {
        Some((_, given)) if dtype != DType::Bool => Err(wrong(&Scalar::Int(*given))),
        _ => Ok(tensor),
    }
}

fn scalar(word: &str) -> Option<Scalar> {
    match word {
        "true" | "True" => Some(Scalar::Bool(true)),
        "false" | "False" => Some(Scalar::Bool(false)),
        "nan" | "NaN" | "inf" | "-inf" | "+inf" | "Infinity" | "-Infinity" => word.parse().ok().map(Scalar::Float),
        // Words such as `infinity` parse as floats, too.
        _ if !word.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.')) => None,
        _ => word.parse().map(Scalar::Int).or_else(|_| word.parse().map(Scalar::Float)).ok(),
    }
}

struct Parser<'a> {
    rest: &'a str,
    depth: usize,
}

impl Parser<'_> {
    fn skip(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn item(&mut self) -> Option<Literal> {
        self.skip();
        let close = match self.rest.chars().next()? {
            '[' => ']',
            '(' => ')',
            _ => {
                let end = self.rest.find([',', ']', ')']).unwrap_or(self.rest.len());
                let word = self.rest[..end].trim();
                self.rest = &self.rest[end..];
                return if matches!(word, "None" | "none" | "null") {
                    Some(Literal::None)
                } else {
                    scalar(word).map(Literal::Scalar)
                };
            }
        };
        if self.depth == 64 {
            return None;
        }
        self.depth += 1;
        self.rest = &self.rest[1..];
        let (mut inner, mut list, mut count) = (None::<Vec<i64>>, Vec::new(), 0i64);
        loop {
            self.skip();
            if let Some(rest) = self.rest.strip_prefix(close) {
                self.rest = rest;
                break;
            }
            let (sizes, numbers) = match self.item()? {
                Literal::Scalar(s) => (Vec::new(), vec![s]),
                Literal::Array(sizes, numbers) => (sizes, numbers),
                Literal::None => return None,
            };
            if inner.get_or_insert_with(|| sizes.clone()) != &sizes {
                return None;
            }
            list.extend(numbers);
            count += 1;
            self.skip();
            self.rest = self.rest.strip_prefix(',').unwrap_or(self.rest);
        }
        self.depth -= 1;
        self.skip();
        let sizes = std::iter::once(count).chain(inner.unwrap_or_default()).collect();
        Some(Literal::Array(sizes, list))
    }
}
