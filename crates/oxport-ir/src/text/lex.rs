//! Tokens of FX text: the little Python that `print(exported_program)` uses.

use super::values::{python_float, python_str};
use std::fmt;

/// A token.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// A possibly dotted name: `x`, `torch.ops.aten.add.Tensor`.
    Name(String),
    /// An integer literal: one more than fits an `i64` may be the least one without its sign.
    Int(i128),
    /// A float literal.
    Float(f64),
    /// An imaginary literal: `2j`.
    Imaginary(f64),
    /// A string literal, unescaped.
    Str(String),
    /// Anything else: `(`, `,`, `//`, `==`, ….
    Symbol(&'static str),
}

/// The symbols, longest first.
const SYMBOLS: &[&str] = &[
    "->", "==", "!=", "<=", ">=", "//", "**", "<<", ">>", "(", ")", "[", "]", "{", "}", ",", ":", ";", "=", "<", ">",
    "+", "-", "*", "/", "%", "&", "|", "^", "~", "@",
];

/// The tokens of one line, up to a comment.
///
/// # Errors
/// A character that begins no token, an unclosed string, a number out of range.
pub(super) fn tokens(line: &str) -> Result<Vec<Token>, String> {
    let mut out = Vec::new();
    let mut rest = line.trim_start();
    while let Some(c) = rest.chars().next() {
        let used = if c == '#' {
            break;
        } else if c.is_alphabetic() || c == '_' {
            let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.')).unwrap_or(rest.len());
            out.push(Token::Name(rest[..end].to_string()));
            end
        } else if c.is_ascii_digit() {
            let (token, used) = number(rest)?;
            out.push(token);
            used
        } else if c == '\'' || c == '"' {
            let (text, used) = string(rest, c)?;
            out.push(Token::Str(text));
            used
        } else {
            let symbol = SYMBOLS.iter().find(|s| rest.starts_with(**s)).ok_or_else(|| format!("unexpected `{c}`"))?;
            out.push(Token::Symbol(symbol));
            symbol.len()
        };
        rest = rest[used..].trim_start();
    }
    Ok(out)
}

fn number(text: &str) -> Result<(Token, usize), String> {
    let bytes = text.as_bytes();
    let mut end = 0;
    while end < bytes.len() {
        let sign_of_exponent = matches!(bytes[end], b'+' | b'-') && end > 0 && matches!(bytes[end - 1], b'e' | b'E');
        if !(bytes[end].is_ascii_alphanumeric() || bytes[end] == b'.' || sign_of_exponent) {
            break;
        }
        end += 1;
    }
    let word = &text[..end];
    let no_number = || format!("`{word}` is no number in range");
    if let Some(part) = word.strip_suffix('j') {
        return part.parse().map(|x| (Token::Imaginary(x), end)).map_err(|_| no_number());
    }
    let int = word.parse().map(Token::Int).ok();
    let token =
        int.or_else(|| word.parse().map(Token::Float).ok().filter(|_| !word.bytes().all(|b| b.is_ascii_digit())));
    token.map(|t| (t, end)).ok_or_else(no_number)
}

pub(super) fn string(text: &str, quote: char) -> Result<(String, usize), String> {
    let mut out = String::new();
    let mut chars = text.char_indices().skip(1);
    while let Some((i, c)) = chars.next() {
        match c {
            c if c == quote => return Ok((out, i + 1)),
            '\\' => match chars.next().map(|(_, c)| c) {
                Some('n') => out.push('\n'),
                Some('r') => out.push('\r'),
                Some('t') => out.push('\t'),
                Some(kind @ ('x' | 'u' | 'U')) => {
                    let digits = match kind {
                        'x' => 2,
                        'u' => 4,
                        _ => 8,
                    };
                    let hex: String = chars.by_ref().take(digits).map(|(_, c)| c).collect();
                    let code = Some(&hex).filter(|hex| hex.len() == digits && !hex.starts_with('+'));
                    let code = code.and_then(|hex| u32::from_str_radix(hex, 16).ok()).and_then(char::from_u32);
                    out.push(code.ok_or_else(|| format!("bad \\{kind} escape"))?);
                }
                Some(c) => out.push(c),
                None => break,
            },
            c => out.push(c),
        }
    }
    Err("unclosed string".to_string())
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Token::Name(name) => f.write_str(name),
            Token::Int(n) => write!(f, "{n}"),
            Token::Float(x) => f.write_str(&python_float(*x)),
            Token::Imaginary(x) => write!(f, "{}j", python_float(*x)),
            Token::Str(text) => f.write_str(&python_str(text)),
            Token::Symbol(symbol) => f.write_str(symbol),
        }
    }
}
