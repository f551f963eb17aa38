//! Tokens of expression text.

/// A token with the bytes where it starts and ends.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Token<'a> {
    pub(crate) kind: Tok<'a>,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Tok<'a> {
    Int(&'a str),
    Float(&'a str),
    Str(String),
    Name(&'a str),
    Op(&'static str),
    End,
}

/// Longest first, so that `**` is not two `*`.
const OPERATORS: [&str; 24] = [
    "**", "//", "<=", ">=", "==", "!=", "<<", ">>", "+", "-", "*", "/", "%", "<", ">", "(", ")", "[", "]", ",", "=",
    ".", "&", "|",
];
const MORE_OPERATORS: [&str; 2] = ["^", "~"];

/// All tokens, or the byte at which text stops being an expression.
pub(crate) fn tokens(text: &str) -> Result<Vec<Token<'_>>, (usize, String)> {
    let bytes = text.as_bytes();
    let mut out = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        let b = bytes[at];
        let run = |from: usize, p: fn(&u8) -> bool| from + bytes[from..].iter().take_while(|b| p(b)).count();
        let kind = match b {
            b' ' | b'\t' | b'\n' | b'\r' => {
                at += 1;
                continue;
            }
            b'0'..=b'9' => {
                at = run(at, u8::is_ascii_digit);
                let mut float = false;
                if bytes.get(at) == Some(&b'.') {
                    float = true;
                    at = run(at + 1, u8::is_ascii_digit);
                }
                if matches!(bytes.get(at), Some(b'e' | b'E')) {
                    let sign = matches!(bytes.get(at + 1), Some(b'+' | b'-')) as usize;
                    let end = run((at + 1 + sign).min(bytes.len()), u8::is_ascii_digit);
                    if end > at + 1 + sign {
                        float = true;
                        at = end;
                    }
                }
                if float { Tok::Float(&text[start..at]) } else { Tok::Int(&text[start..at]) }
            }
            b'\'' | b'"' => {
                let (value, end) = string(text, at)?;
                at = end;
                Tok::Str(value)
            }
            _ if b.is_ascii_alphabetic() || b == b'_' => {
                at = run(at, |b| b.is_ascii_alphanumeric() || *b == b'_');
                Tok::Name(&text[start..at])
            }
            _ => {
                let op = OPERATORS.iter().chain(&MORE_OPERATORS).find(|op| text[start..].starts_with(**op));
                let op = op.ok_or_else(|| (start, "unexpected character".to_owned()))?;
                at += op.len();
                Tok::Op(op)
            }
        };
        out.push(Token { kind, start, end: at });
    }
    out.push(Token { kind: Tok::End, start: text.len(), end: text.len() });
    Ok(out)
}

fn string(text: &str, start: usize) -> Result<(String, usize), (usize, String)> {
    let mut value = String::new();
    let mut chars = text[start..].char_indices();
    let quote = chars.next().map_or('\'', |(_, c)| c);
    while let Some((i, c)) = chars.next() {
        match c {
            _ if c == quote => return Ok((value, start + i + 1)),
            '\\' => match chars.next() {
                Some((_, 'n')) => value.push('\n'),
                Some((_, 't')) => value.push('\t'),
                Some((_, 'r')) => value.push('\r'),
                Some((_, c @ ('\\' | '\'' | '"'))) => value.push(c),
                _ => return Err((start + i, "unknown escape in string".to_owned())),
            },
            _ => value.push(c),
        }
    }
    Err((start, "unterminated string".to_owned()))
}
