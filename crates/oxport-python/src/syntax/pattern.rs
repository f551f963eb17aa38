//! The `match` statement and its patterns.

use super::expr::expr;
use super::tree::{Case, Expr, ExprKind, Pattern, StmtKind, UnaryOp};
use super::{Parse, Parser, Tok};
use crate::value::{Name, Value};

impl Parser<'_> {
    /// A `match` statement, or nothing if `match` is a name here.
    pub(super) fn match_statement(&mut self) -> Parse<Option<StmtKind>> {
        let start = self.at;
        self.at += 1;
        let is_name = matches!(self.tok(), Tok::Newline | Tok::Op("=" | "." | ")" | "," | ":" | ";"));
        let subject = if is_name { None } else { self.star_exprs().ok() };
        let opens = self.is_op(":") && *self.ahead(1) == Tok::Newline && *self.ahead(2) == Tok::Indent;
        let (Some(subject), true) = (subject, opens && matches!(self.ahead(3), Tok::Name(n) if n == "case")) else {
            self.at = start;
            return Ok(None);
        };
        self.at += 3;
        let mut cases = Vec::new();
        while self.eat_word("case") {
            let pattern = self.open_pattern()?;
            let guard = if self.eat_word("if") { Some(self.named()?) } else { None };
            cases.push(Case { pattern, guard, body: self.block()? });
        }
        if *self.tok() != Tok::Dedent {
            return self.error(format!("expected 'case', got {}", self.describe()));
        }
        self.at += 1;
        Ok(Some(StmtKind::Match { subject, cases }))
    }

    /// A pattern, or several with commas as a sequence.
    fn open_pattern(&mut self) -> Parse<Pattern> {
        let first = self.star_pattern()?;
        if !self.is_op(",") {
            return Ok(match first {
                Pattern::Star(_) => Pattern::Sequence(vec![first]),
                _ => first,
            });
        }
        let mut items = vec![first];
        while self.eat_op(",") {
            if self.is_op(":") || self.is_word("if") {
                break;
            }
            items.push(self.star_pattern()?);
        }
        Ok(Pattern::Sequence(items))
    }

    fn star_pattern(&mut self) -> Parse<Pattern> {
        if self.eat_op("*") {
            return Ok(Pattern::Star(self.capture()?));
        }
        self.nested(Self::as_pattern)
    }

    /// A captured name; `_` captures nothing.
    fn capture(&mut self) -> Parse<Option<Name>> {
        let name = self.name()?;
        if &*name == "_" {
            return Ok(None);
        }
        self.bind(&name, false);
        Ok(Some(name))
    }

    fn as_pattern(&mut self) -> Parse<Pattern> {
        let mut options = vec![self.closed_pattern()?];
        while self.eat_op("|") {
            options.push(self.closed_pattern()?);
        }
        let pattern = match options.len() {
            1 => options.swap_remove(0),
            _ => Pattern::Or(options),
        };
        if self.eat_word("as") {
            let name = self.capture()?;
            return Ok(Pattern::As(Some(Box::new(pattern)), name));
        }
        Ok(pattern)
    }

    fn closed_pattern(&mut self) -> Parse<Pattern> {
        let pos = self.pos();
        match self.tok().clone() {
            Tok::Op("(") => {
                self.at += 1;
                let mut items = Vec::new();
                let mut has_comma = false;
                while !self.is_op(")") {
                    items.push(self.star_pattern()?);
                    has_comma |= self.is_op(",");
                    if !self.eat_op(",") {
                        break;
                    }
                }
                self.expect_op(")")?;
                let is_group = items.len() == 1 && !has_comma && !matches!(items[0], Pattern::Star(_));
                Ok(if is_group { items.swap_remove(0) } else { Pattern::Sequence(items) })
            }
            Tok::Op("[") => {
                self.at += 1;
                let mut items = Vec::new();
                while !self.is_op("]") {
                    items.push(self.star_pattern()?);
                    if !self.eat_op(",") {
                        break;
                    }
                }
                self.expect_op("]")?;
                Ok(Pattern::Sequence(items))
            }
            Tok::Op("{") => self.mapping_pattern(),
            Tok::Name(word) if matches!(word.as_str(), "None" | "True" | "False") => {
                self.at += 1;
                Ok(Pattern::Singleton(match word.as_str() {
                    "None" => Value::None,
                    word => Value::Bool(word == "True"),
                }))
            }
            Tok::Name(_) => {
                if !matches!(self.ahead(1), Tok::Op("." | "(")) {
                    return Ok(Pattern::As(None, self.capture()?));
                }
                let mut value = expr(pos, ExprKind::Name(self.name()?));
                while self.eat_op(".") {
                    value = expr(pos, ExprKind::Attribute(Box::new(value), self.name()?));
                }
                if self.is_op("(") { self.class_pattern(value) } else { Ok(Pattern::Value(value)) }
            }
            _ => Ok(Pattern::Value(self.literal()?)),
        }
    }

    /// A number with its sign, or strings.
    fn literal(&mut self) -> Parse<Expr> {
        let pos = self.pos();
        let negative = self.eat_op("-");
        if !matches!(self.tok(), Tok::Int(_) | Tok::Float(_) | Tok::Imaginary(_) | Tok::Str { .. }) {
            return self.error(format!("expected a pattern, got {}", self.describe()));
        }
        // Above the precedence of `|`.
        let value = self.binary(1)?;
        Ok(if negative { expr(pos, ExprKind::Unary(UnaryOp::Neg, Box::new(value))) } else { value })
    }

    fn mapping_pattern(&mut self) -> Parse<Pattern> {
        self.expect_op("{")?;
        let (mut items, mut rest) = (Vec::new(), None);
        while !self.is_op("}") {
            if self.eat_op("**") {
                rest = self.capture()?;
            } else {
                let pos = self.pos();
                let key = match self.tok().clone() {
                    Tok::Name(word) if matches!(word.as_str(), "None" | "True" | "False") => self.expr()?,
                    Tok::Name(_) => {
                        let mut value = expr(pos, ExprKind::Name(self.name()?));
                        while self.eat_op(".") {
                            value = expr(pos, ExprKind::Attribute(Box::new(value), self.name()?));
                        }
                        value
                    }
                    _ => self.literal()?,
                };
                self.expect_op(":")?;
                items.push((key, self.nested(Self::as_pattern)?));
            }
            if !self.eat_op(",") {
                break;
            }
        }
        self.expect_op("}")?;
        Ok(Pattern::Mapping(items, rest))
    }

    fn class_pattern(&mut self, class: Expr) -> Parse<Pattern> {
        self.expect_op("(")?;
        let (mut positional, mut named) = (Vec::new(), Vec::new());
        while !self.is_op(")") {
            if let (Tok::Name(_), Tok::Op("=")) = (self.tok(), self.ahead(1)) {
                let name = self.name()?;
                self.at += 1;
                named.push((name, self.nested(Self::as_pattern)?));
            } else {
                positional.push(self.nested(Self::as_pattern)?);
            }
            if !self.eat_op(",") {
                break;
            }
        }
        self.expect_op(")")?;
        Ok(Pattern::Class(class, positional, named))
    }
}
