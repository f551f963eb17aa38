//! String, bytes and f-string literals.

use super::expr::expr;
use super::tree::{Expr, ExprKind, FormatPart, Pos};
use super::{Parse, Parser, SyntaxError, Tok, lexer};
use crate::value::Value;

impl Parser<'_> {
    /// Adjacent literals, which are one.
    pub(super) fn strings(&mut self) -> Parse<Expr> {
        let pos = self.pos();
        let mut parts: Vec<FormatPart> = Vec::new();
        let mut bytes: Option<Vec<u8>> = None;
        let (mut text, mut is_format) = (String::new(), false);
        let mut count = 0;
        while let Tok::Str { prefix, body, body_pos } = self.tok().clone() {
            let is_raw = prefix.contains('r');
            if prefix.contains('b') != (bytes.is_some() || (count == 0 && prefix.contains('b'))) {
                return self.error("cannot mix bytes and nonbytes literals");
            }
            self.at += 1;
            count += 1;
            if prefix.contains('b') {
                let decoded = if is_raw { body.clone() } else { unescape(&body, true) };
                bytes.get_or_insert_default().extend(decoded.chars().map(|c| c as u32 as u8));
            } else if prefix.contains('f') {
                is_format = true;
                if !text.is_empty() {
                    parts.push(FormatPart::Text(std::mem::take(&mut text).into()));
                }
                let chars: Vec<char> = body.chars().collect();
                let mut scanner = Scanner { chars: &chars, at: 0, pos: body_pos, is_raw };
                parts.extend(self.nested(|p| p.format_parts(&mut scanner, false))?);
            } else {
                text.push_str(&if is_raw { body } else { unescape(&body, false) });
            }
        }
        if let Some(bytes) = bytes {
            return Ok(expr(pos, ExprKind::Constant(Value::Bytes(bytes.into()))));
        }
        if !is_format {
            return Ok(expr(pos, ExprKind::Constant(Value::str(&text))));
        }
        if !text.is_empty() {
            parts.push(FormatPart::Text(text.into()));
        }
        Ok(expr(pos, ExprKind::Format(parts)))
    }

    /// The parts of an f-string, or of a format specification, which ends at `}`.
    fn format_parts(&mut self, scanner: &mut Scanner<'_>, is_spec: bool) -> Parse<Vec<FormatPart>> {
        let mut parts = Vec::new();
        let mut text = String::new();
        while let Some(c) = scanner.peek() {
            if c == '{' && scanner.peek_at(1) == Some('{') && !is_spec
                || c == '}' && scanner.peek_at(1) == Some('}') && !is_spec
            {
                text.push(c);
                scanner.next();
                scanner.next();
            } else if c == '}' {
                if is_spec {
                    break;
                }
                return Err(scanner.error("f-string: single '}' is not allowed"));
            } else if c == '{' {
                if !text.is_empty() {
                    parts.push(FormatPart::Text(scanner.decode(&std::mem::take(&mut text)).into()));
                }
                scanner.next();
                self.replacement(scanner, &mut parts)?;
            } else {
                // An escaped brace, as in `\N{DASH}`, is not a field.
                if c == '\\' && !scanner.is_raw && scanner.peek_at(1) == Some('N') && scanner.peek_at(2) == Some('{') {
                    while let Some(c) = scanner.next() {
                        text.push(c);
                        if c == '}' {
                            break;
                        }
                    }
                    continue;
                }
                text.push(c);
                scanner.next();
            }
        }
        if !text.is_empty() {
            parts.push(FormatPart::Text(scanner.decode(&text).into()));
        }
        Ok(parts)
    }

    /// `value=!conversion:spec}` after the brace.
    fn replacement(&mut self, scanner: &mut Scanner<'_>, parts: &mut Vec<FormatPart>) -> Parse<()> {
        let pos = scanner.pos;
        let mut source = String::new();
        let mut brackets = 0usize;
        let mut quote: Option<char> = None;
        loop {
            let Some(c) = scanner.peek() else { return Err(scanner.error("f-string: expecting '}'")) };
            let next = scanner.peek_at(1);
            match quote {
                Some(open) if c == open => quote = None,
                Some(_) => {}
                None => match c {
                    '\'' | '"' => quote = Some(c),
                    '(' | '[' | '{' => brackets += 1,
                    '}' | ':' if brackets == 0 => break,
                    ')' | ']' | '}' => brackets = brackets.saturating_sub(1),
                    '!' if brackets == 0 && next != Some('=') => break,
                    _ => {}
                },
            }
            source.push(c);
            scanner.next();
        }
        let trimmed = source.trim_end();
        let shows_text = trimmed.ends_with('=') && !["==", "!=", "<=", ">="].iter().any(|op| trimmed.ends_with(op));
        let expression = if shows_text { &trimmed[..trimmed.len() - 1] } else { trimmed };
        if expression.trim().is_empty() {
            return Err(SyntaxError { message: "f-string: empty expression not allowed".into(), pos });
        }
        if shows_text {
            parts.push(FormatPart::Text(source.as_str().into()));
        }
        let value = self.fragment(expression, pos)?;
        let mut conversion = None;
        if scanner.peek() == Some('!') {
            scanner.next();
            conversion = scanner.next();
            if !matches!(conversion, Some('r' | 's' | 'a')) {
                return Err(scanner.error("f-string: invalid conversion character: expected 's', 'r', or 'a'"));
            }
        }
        let mut spec = Vec::new();
        if scanner.peek() == Some(':') {
            scanner.next();
            spec = self.nested(|p| p.format_parts(scanner, true))?;
        } else if shows_text && conversion.is_none() {
            conversion = Some('r');
        }
        if scanner.next() != Some('}') {
            return Err(scanner.error("f-string: expecting '}'"));
        }
        parts.push(FormatPart::Value { value, conversion, spec });
        Ok(())
    }

    /// An expression inside a string, parsed in the scopes around it.
    fn fragment(&mut self, text: &str, pos: Pos) -> Parse<Expr> {
        let tokens = lexer::tokenize(text, pos, true)?;
        let outer = std::mem::replace(&mut self.tokens, tokens);
        let (at, was_fragment) = (std::mem::take(&mut self.at), std::mem::replace(&mut self.is_fragment, true));
        let value = self.nested(Self::star_exprs);
        let end = self.tok().clone();
        self.tokens = outer;
        (self.at, self.is_fragment) = (at, was_fragment);
        let value = value?;
        match end {
            Tok::End => Ok(value),
            _ => Err(SyntaxError { message: "f-string: invalid syntax".into(), pos }),
        }
    }
}

/// The characters of an f-string with their places.
struct Scanner<'a> {
    chars: &'a [char],
    at: usize,
    pos: Pos,
    is_raw: bool,
}

impl Scanner<'_> {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn peek_at(&self, n: usize) -> Option<char> {
        self.chars.get(self.at + n).copied()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += 1;
        if c == '\n' {
            self.pos = Pos { line: self.pos.line + 1, col: 1 };
        } else {
            self.pos.col += 1;
        }
        Some(c)
    }

    fn decode(&self, text: &str) -> String {
        if self.is_raw { text.to_string() } else { unescape(text, false) }
    }

    fn error(&self, message: &str) -> SyntaxError {
        SyntaxError { message: message.into(), pos: self.pos }
    }
}

/// Replaces the escapes of a literal. Unknown ones stay, as in Python; lone surrogates become U+FFFD.
fn unescape(text: &str, is_bytes: bool) -> String {
    if !text.contains('\\') {
        return text.to_string();
    }
    let mut out = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        let Some(c) = chars.next() else {
            out.push('\\');
            break;
        };
        let hex = |chars: &mut std::iter::Peekable<std::str::Chars<'_>>, n: usize| {
            let digits: String = (0..n).map_while(|_| chars.next_if(char::is_ascii_hexdigit)).collect();
            u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32).unwrap_or('\u{fffd}')
        };
        match c {
            '\n' => {}
            'n' => out.push('\n'),
            't' => out.push('\t'),
            'r' => out.push('\r'),
            'a' => out.push('\x07'),
            'b' => out.push('\x08'),
            'f' => out.push('\x0c'),
            'v' => out.push('\x0b'),
            '\\' | '\'' | '"' => out.push(c),
            'x' => out.push(hex(&mut chars, 2)),
            'u' if !is_bytes => out.push(hex(&mut chars, 4)),
            'U' if !is_bytes => out.push(hex(&mut chars, 8)),
            'N' if !is_bytes && chars.peek() == Some(&'{') => {
                while chars.next().is_some_and(|c| c != '}') {}
                out.push('\u{fffd}');
            }
            '0'..='7' => {
                let mut value = c.to_digit(8).unwrap_or(0);
                for _ in 0..2 {
                    let Some(digit) = chars.peek().and_then(|c| c.to_digit(8)) else { break };
                    value = value * 8 + digit;
                    chars.next();
                }
                out.push(char::from_u32(value).unwrap_or('\u{fffd}'));
            }
            _ => {
                out.push('\\');
                out.push(c);
            }
        }
    }
    out
}
