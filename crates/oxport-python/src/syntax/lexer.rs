//! The lexer: source text to tokens, with indentation.
//!
//! Invariants: the last token is `End`; every `Indent` has its `Dedent`; keywords are names, the parser knows them.

use super::SyntaxError;
use super::tree::Pos;
use num_bigint::BigInt;

/// A token.
#[derive(Clone, Debug, PartialEq)]
pub enum Tok {
    /// A name or keyword.
    Name(String),
    /// An int.
    Int(BigInt),
    /// A float.
    Float(f64),
    /// An imaginary number.
    Imaginary(f64),
    /// A string: its prefix in lower case, and the text between the quotes, escapes not yet replaced.
    Str { prefix: String, body: String, body_pos: Pos },
    /// An operator or delimiter.
    Op(&'static str),
    /// The end of a logical line.
    Newline,
    /// More indentation.
    Indent,
    /// Less indentation.
    Dedent,
    /// The end.
    End,
}

/// A token and where it begins.
#[derive(Clone, Debug)]
pub struct Token {
    /// The token.
    pub tok: Tok,
    /// Its first character.
    pub pos: Pos,
    /// The offset of its first byte, and of the byte after it, for annotations' texts.
    pub span: (usize, usize),
}

/// Operators, longest first.
const OPERATORS: &[&str] = &[
    "**=", "//=", ">>=", "<<=", "...", "!=", "->", ":=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "@=", "==",
    "<=", ">=", "<<", ">>", "**", "//", "+", "-", "*", "/", "%", "@", "&", "|", "^", "~", "<", ">", "(", ")", "[", "]",
    "{", "}", ",", ":", ".", ";", "=", "!",
];

/// The deepest indentation and bracket nesting.
const MAX_NESTING: usize = 100;

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    line: u32,
    /// The offset at which the line begins, and its first column.
    line_start: usize,
    first_col: u32,
    tokens: Vec<Token>,
    indents: Vec<usize>,
    brackets: Vec<char>,
}

/// The tokens of a text that begins at `start` (an expression of an f-string begins inside a file).
///
/// # Errors
/// If the text is not made of tokens, or is indented inconsistently.
pub fn tokenize(text: &str, start: Pos, is_expression: bool) -> Result<Vec<Token>, SyntaxError> {
    let mut lexer = Lexer {
        text,
        at: 0,
        line: start.line,
        line_start: 0,
        first_col: start.col,
        tokens: Vec::new(),
        indents: vec![0],
        brackets: Vec::new(),
    };
    if is_expression {
        // As inside parentheses: lines do not end.
        lexer.brackets.push('f');
    } else if text.starts_with('\u{feff}') {
        lexer.at = 3;
    }
    lexer.run(is_expression)?;
    Ok(lexer.tokens)
}

impl Lexer<'_> {
    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn starts(&self, text: &str) -> bool {
        self.text[self.at..].starts_with(text)
    }

    fn pos_at(&self, at: usize) -> Pos {
        let col = self.text[self.line_start.min(at)..at].chars().count() as u32 + self.first_col;
        Pos { line: self.line, col }
    }

    fn pos(&self) -> Pos {
        self.pos_at(self.at)
    }

    fn error<T>(&self, message: impl Into<String>) -> Result<T, SyntaxError> {
        Err(SyntaxError { message: message.into(), pos: self.pos() })
    }

    fn next_line(&mut self) {
        self.line += 1;
        self.line_start = self.at;
        self.first_col = 1;
    }

    fn push(&mut self, tok: Tok, from: usize) {
        let pos = self.pos_at(from);
        self.tokens.push(Token { tok, pos, span: (from, self.at) });
    }

    fn run(&mut self, is_expression: bool) -> Result<(), SyntaxError> {
        let mut at_line_start = !is_expression;
        loop {
            if at_line_start && self.brackets.is_empty() {
                if !self.indentation()? {
                    break;
                }
                at_line_start = false;
            }
            let Some(c) = self.peek() else { break };
            match c {
                ' ' | '\t' | '\x0c' => self.at += 1,
                '\r' => self.at += 1,
                '#' => self.at += self.text[self.at..].find('\n').unwrap_or(self.text.len() - self.at),
                '\n' => {
                    if self.brackets.is_empty() {
                        self.push(Tok::Newline, self.at);
                        at_line_start = true;
                    }
                    self.at += 1;
                    self.next_line();
                }
                '\\' => {
                    self.at += 1;
                    if self.starts("\r\n") {
                        self.at += 1;
                    }
                    if !self.starts("\n") {
                        return self.error("unexpected character after line continuation character");
                    }
                    self.at += 1;
                    self.next_line();
                }
                _ => self.token(c)?,
            }
        }
        if !is_expression {
            if let Some(open) = self.brackets.last() {
                return self.error(format!("'{open}' was never closed"));
            }
            if !matches!(self.tokens.last(), None | Some(Token { tok: Tok::Newline | Tok::Dedent, .. })) {
                self.push(Tok::Newline, self.at);
            }
            for _ in 1..self.indents.len() {
                self.push(Tok::Dedent, self.at);
            }
        }
        self.push(Tok::End, self.at);
        Ok(())
    }

    /// Reads the indentation of the next line with code; false at the end.
    fn indentation(&mut self) -> Result<bool, SyntaxError> {
        loop {
            let mut width = 0;
            while let Some(c) = self.peek() {
                match c {
                    ' ' => width += 1,
                    '\t' => width = (width / 8 + 1) * 8,
                    '\x0c' | '\r' => {}
                    _ => break,
                }
                self.at += 1;
            }
            match self.peek() {
                None => return Ok(false),
                Some('#') => self.at += self.text[self.at..].find('\n').unwrap_or(self.text.len() - self.at),
                Some('\n') => {}
                Some(_) => {
                    let current = *self.indents.last().unwrap_or(&0);
                    if width > current {
                        if self.indents.len() >= MAX_NESTING {
                            return self.error("too many levels of indentation");
                        }
                        self.indents.push(width);
                        self.push(Tok::Indent, self.at);
                    }
                    while width < *self.indents.last().unwrap_or(&0) {
                        self.indents.pop();
                        self.push(Tok::Dedent, self.at);
                    }
                    if width != *self.indents.last().unwrap_or(&0) {
                        return self.error("unindent does not match any outer indentation level");
                    }
                    return Ok(true);
                }
            }
            if self.peek().is_none() {
                return Ok(false);
            }
            self.at += 1;
            self.next_line();
        }
    }

    fn token(&mut self, c: char) -> Result<(), SyntaxError> {
        let from = self.at;
        if c.is_ascii_digit() || (c == '.' && self.text[from + 1..].starts_with(|c: char| c.is_ascii_digit())) {
            return self.number();
        }
        if c == '"' || c == '\'' {
            return self.string(String::new(), from);
        }
        if c == '_' || c.is_alphabetic() {
            let rest = &self.text[from..];
            let end = rest.find(|c: char| c != '_' && !c.is_alphanumeric()).unwrap_or(rest.len());
            let word = &rest[..end];
            self.at += end;
            let is_prefix = word.len() <= 2 && word.chars().all(|c| "rRbBuUfF".contains(c));
            if is_prefix && matches!(self.peek(), Some('"' | '\'')) {
                return self.string(word.to_ascii_lowercase(), from);
            }
            let word = word.to_string();
            self.push(Tok::Name(word), from);
            return Ok(());
        }
        let Some(op) = OPERATORS.iter().find(|op| self.starts(op)) else {
            return self.error(format!("invalid character '{c}' (U+{:04X})", c as u32));
        };
        self.at += op.len();
        match *op {
            "(" | "[" | "{" => {
                if self.brackets.len() >= MAX_NESTING {
                    return self.error("too many nested parentheses");
                }
                self.brackets.push(c);
            }
            ")" | "]" | "}" => match self.brackets.pop() {
                Some(open) if matches!((open, c), ('(', ')') | ('[', ']') | ('{', '}')) => {}
                Some(open) if open != 'f' => {
                    return self
                        .error(format!("closing parenthesis '{c}' does not match opening parenthesis '{open}'"));
                }
                _ => return self.error(format!("unmatched '{c}'")),
            },
            _ => {}
        }
        self.push(Tok::Op(op), from);
        Ok(())
    }

    fn number(&mut self) -> Result<(), SyntaxError> {
        let from = self.at;
        let rest = &self.text[from..];
        let radix = match rest.get(..2).map(str::to_ascii_lowercase).as_deref() {
            Some("0x") => 16,
            Some("0o") => 8,
            Some("0b") => 2,
            _ => 10,
        };
        if radix != 10 {
            let end = rest[2..].find(|c: char| !c.is_ascii_alphanumeric() && c != '_').map_or(rest.len(), |n| n + 2);
            let digits = rest[2..end].replace('_', "");
            self.at += end;
            return match BigInt::parse_bytes(digits.as_bytes(), radix) {
                Some(n) => {
                    self.push(Tok::Int(n), from);
                    Ok(())
                }
                None => self.error("invalid number"),
            };
        }
        let digits =
            |at: usize| rest[at..].find(|c: char| !c.is_ascii_digit() && c != '_').map_or(rest.len(), |n| at + n);
        let mut end = digits(0);
        let mut is_float = false;
        if rest[end..].starts_with('.') {
            is_float = true;
            end = digits(end + 1);
        }
        if rest[end..].starts_with(['e', 'E']) {
            let sign = usize::from(rest[end + 1..].starts_with(['+', '-']));
            let exponent = digits(end + 1 + sign);
            if exponent > end + 1 + sign {
                is_float = true;
                end = exponent;
            }
        }
        let text = rest[..end].replace('_', "");
        self.at += end;
        if self.starts("j") || self.starts("J") {
            self.at += 1;
            self.push(Tok::Imaginary(text.parse().unwrap_or(f64::NAN)), from);
        } else if is_float {
            self.push(Tok::Float(text.parse().unwrap_or(f64::NAN)), from);
        } else {
            // CPython's limit on the digits of an int in a text.
            if text.len() > 4300 {
                return self.error("Exceeds the limit (4300 digits) for integer string conversion");
            }
            let Some(n) = BigInt::parse_bytes(text.as_bytes(), 10) else { return self.error("invalid number") };
            self.push(Tok::Int(n), from);
        }
        if self.peek().is_some_and(|c| c.is_alphanumeric() && !self.text[self.at..].starts_with(is_keyword_start)) {
            return self.error("invalid decimal literal");
        }
        Ok(())
    }

    fn string(&mut self, prefix: String, from: usize) -> Result<(), SyntaxError> {
        let quote = if self.starts("\"\"\"") {
            "\"\"\""
        } else if self.starts("'''") {
            "'''"
        } else if self.starts("\"") {
            "\""
        } else {
            "'"
        };
        let pos = self.pos_at(from);
        self.at += quote.len();
        let body_pos = self.pos();
        let body_from = self.at;
        loop {
            if self.starts(quote) {
                break;
            }
            match self.peek() {
                None => {
                    return Err(SyntaxError { message: "unterminated string literal".into(), pos });
                }
                Some('\n') if quote.len() == 1 => {
                    return Err(SyntaxError { message: "unterminated string literal".into(), pos });
                }
                Some(c) => {
                    self.at += c.len_utf8();
                    if c == '\n' {
                        self.next_line();
                    }
                    if c == '\\'
                        && let Some(escaped) = self.peek()
                    {
                        self.at += escaped.len_utf8();
                        if escaped == '\n' {
                            self.next_line();
                        }
                    }
                }
            }
        }
        let body = self.text[body_from..self.at].replace("\r\n", "\n");
        self.at += quote.len();
        self.tokens.push(Token { tok: Tok::Str { prefix, body, body_pos }, pos, span: (from, self.at) });
        Ok(())
    }
}

/// `1if x else y` is a number and a keyword.
fn is_keyword_start(c: char) -> bool {
    matches!(c, 'i' | 'e' | 'a' | 'o' | 'f' | 'n')
}
