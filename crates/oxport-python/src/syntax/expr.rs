//! Expressions.

use super::tree::{
    Argument, BinOp, CmpOp, ComprehensionKind, Expr, ExprKind, Param, ParamKind, Pos, ScopeKind, Stmt, StmtKind,
    UnaryOp,
};
use super::{MAX_CHAIN, Parse, Parser, Tok, is_keyword};
use crate::value::{Name, Value};

pub(super) fn expr(pos: Pos, kind: ExprKind) -> Expr {
    Expr { pos, kind }
}

impl Parser<'_> {
    /// `a, *b` or one expression, to the end of a statement or bracket.
    pub(super) fn star_exprs(&mut self) -> Parse<Expr> {
        let pos = self.pos();
        let first = self.star_expr()?;
        if !self.is_op(",") {
            return Ok(first);
        }
        let mut items = vec![first];
        while self.eat_op(",") {
            if self.ends_list() {
                break;
            }
            items.push(self.star_expr()?);
        }
        Ok(expr(pos, ExprKind::Tuple(items)))
    }

    fn ends_list(&self) -> bool {
        match self.tok() {
            Tok::Op(o) => matches!(*o, ")" | "]" | "}" | "=" | ":" | ";") || (o.len() > 1 && o.ends_with('=')),
            Tok::Newline | Tok::End => true,
            Tok::Name(n) => n == "in" || n == "for",
            _ => false,
        }
    }

    pub(super) fn star_expr(&mut self) -> Parse<Expr> {
        let pos = self.pos();
        if self.eat_op("*") {
            let value = self.binary(0)?;
            return Ok(expr(pos, ExprKind::Starred(Box::new(value))));
        }
        self.named()
    }

    /// `name := value` or an expression.
    pub(super) fn named(&mut self) -> Parse<Expr> {
        if let (Tok::Name(_), Tok::Op(":=")) = (self.tok(), self.ahead(1)) {
            let pos = self.pos();
            let name = self.name()?;
            self.expect_op(":=")?;
            let value = self.expr()?;
            self.bind(&name, true);
            return Ok(expr(pos, ExprKind::Named(name, Box::new(value))));
        }
        self.expr()
    }

    /// A conditional expression or lambda.
    pub(super) fn expr(&mut self) -> Parse<Expr> {
        self.nested(|p| {
            let pos = p.pos();
            if p.is_word("lambda") {
                return p.lambda();
            }
            if p.is_word("yield") {
                let value = p.yield_expr()?;
                return Ok(p.hoist(pos, value));
            }
            let body = p.or_test()?;
            if !p.eat_word("if") {
                return Ok(body);
            }
            let test = p.or_test()?;
            p.expect_word("else")?;
            let orelse = p.expr()?;
            Ok(expr(pos, ExprKind::If(Box::new(body), Box::new(test), Box::new(orelse))))
        })
    }

    /// Moves a `yield` to a statement before this one, and gives the name of its value.
    fn hoist(&mut self, pos: Pos, value: Expr) -> Expr {
        self.temporaries += 1;
        let name: Name = format!(".yield{}", self.temporaries).into();
        self.bind(&name, true);
        let target = expr(pos, ExprKind::Name(name.clone()));
        let kind = StmtKind::Assign { targets: vec![target], value };
        self.hoisted.push(Stmt { pos, has_yield: true, kind });
        expr(pos, ExprKind::Name(name))
    }

    pub(super) fn yield_expr(&mut self) -> Parse<Expr> {
        let pos = self.pos();
        self.expect_word("yield")?;
        if self.scope().kind != ScopeKind::Function {
            return self.error("'yield' outside function");
        }
        self.scope().yields = true;
        self.yields += 1;
        if self.eat_word("from") {
            let value = self.expr()?;
            return Ok(expr(pos, ExprKind::YieldFrom(Box::new(value))));
        }
        let value = if self.ends_list() { None } else { Some(Box::new(self.star_exprs()?)) };
        Ok(expr(pos, ExprKind::Yield(value)))
    }

    fn lambda(&mut self) -> Parse<Expr> {
        let pos = self.pos();
        self.expect_word("lambda")?;
        let params = self.params(":", false)?;
        self.expect_op(":")?;
        self.open_scope(ScopeKind::Function, "<lambda>");
        let body = self.expr()?;
        let body = vec![Stmt { pos: body.pos, has_yield: false, kind: StmtKind::Return(Some(body)) }];
        let code = self.close_scope(params, body, pos);
        Ok(expr(pos, ExprKind::Lambda(code)))
    }

    /// Parameters up to a closing token, which is left.
    pub(super) fn params(&mut self, close: &str, annotated: bool) -> Parse<Vec<Param>> {
        let mut params: Vec<Param> = Vec::new();
        let mut kind = ParamKind::Normal;
        while !self.is_op(close) {
            if self.eat_op("/") {
                params.iter_mut().for_each(|p| p.kind = ParamKind::PositionalOnly);
            } else if self.is_op("*") && matches!(self.ahead(1), Tok::Op(",")) {
                self.at += 1;
                kind = ParamKind::KeywordOnly;
            } else {
                let this = match () {
                    () if self.eat_op("**") => ParamKind::DoubleStar,
                    () if self.eat_op("*") => ParamKind::Star,
                    () => kind,
                };
                if this == ParamKind::Star {
                    kind = ParamKind::KeywordOnly;
                }
                let name = self.name()?;
                if params.iter().any(|p| p.name == name) {
                    return self.error(format!("duplicate argument '{name}' in function definition"));
                }
                let annotation = if annotated && self.eat_op(":") { Some(self.annotation()?) } else { None };
                let default = if self.eat_op("=") { Some(self.expr()?) } else { None };
                let follows_default = params.last().is_some_and(|p| p.default.is_some());
                if this == ParamKind::Normal && default.is_none() && follows_default {
                    return self.error("non-default argument follows default argument");
                }
                params.push(Param { name, kind: this, default, annotation });
            }
            if !self.eat_op(",") {
                break;
            }
        }
        if !self.is_op(close) {
            return self.error(format!("expected '{close}', got {}", self.describe()));
        }
        Ok(params)
    }

    /// The text of an annotation, which is parsed, not evaluated; one that is a string is that string.
    pub(super) fn annotation(&mut self) -> Parse<Name> {
        let at = self.at;
        let kind = self.star_expr()?.kind;
        Ok(if let ExprKind::Constant(Value::Str(text)) = kind { text } else { self.text_since(at) })
    }

    pub(super) fn or_test(&mut self) -> Parse<Expr> {
        self.bool_chain("or", |p| p.bool_chain("and", Self::not_test))
    }

    fn bool_chain(&mut self, word: &str, operand: impl Fn(&mut Self) -> Parse<Expr>) -> Parse<Expr> {
        let pos = self.pos();
        let first = operand(self)?;
        if !self.is_word(word) {
            return Ok(first);
        }
        let mut items = vec![first];
        while self.eat_word(word) {
            items.push(operand(self)?);
        }
        Ok(expr(pos, ExprKind::Bool(word == "and", items)))
    }

    fn not_test(&mut self) -> Parse<Expr> {
        let pos = self.pos();
        if self.eat_word("not") {
            let value = self.nested(Self::not_test)?;
            return Ok(expr(pos, ExprKind::Unary(UnaryOp::Not, Box::new(value))));
        }
        self.comparison()
    }

    fn comparison(&mut self) -> Parse<Expr> {
        let pos = self.pos();
        let first = self.binary(0)?;
        let mut rest = Vec::new();
        loop {
            let op = match self.tok() {
                Tok::Op("==") => CmpOp::Eq,
                Tok::Op("!=") => CmpOp::Ne,
                Tok::Op("<") => CmpOp::Lt,
                Tok::Op("<=") => CmpOp::Le,
                Tok::Op(">") => CmpOp::Gt,
                Tok::Op(">=") => CmpOp::Ge,
                Tok::Name(n) if n == "in" => CmpOp::In,
                Tok::Name(n) if n == "is" => CmpOp::Is,
                Tok::Name(n) if n == "not" && matches!(self.ahead(1), Tok::Name(n) if n == "in") => CmpOp::NotIn,
                _ => break,
            };
            self.at += 1;
            let op = match op {
                CmpOp::NotIn => {
                    self.at += 1;
                    op
                }
                CmpOp::Is if self.eat_word("not") => CmpOp::IsNot,
                _ => op,
            };
            rest.push((op, self.binary(0)?));
        }
        Ok(if rest.is_empty() { first } else { expr(pos, ExprKind::Compare(Box::new(first), rest)) })
    }

    /// Binary operators of at least a precedence.
    pub(super) fn binary(&mut self, min: u8) -> Parse<Expr> {
        let mut left = self.unary()?;
        for _ in 0..MAX_CHAIN {
            let Tok::Op(sign) = self.tok() else { return Ok(left) };
            let (op, precedence) = match *sign {
                "|" => (BinOp::Or, 1),
                "^" => (BinOp::Xor, 2),
                "&" => (BinOp::And, 3),
                "<<" => (BinOp::Shl, 4),
                ">>" => (BinOp::Shr, 4),
                "+" => (BinOp::Add, 5),
                "-" => (BinOp::Sub, 5),
                "*" => (BinOp::Mul, 6),
                "/" => (BinOp::Div, 6),
                "//" => (BinOp::FloorDiv, 6),
                "%" => (BinOp::Mod, 6),
                "@" => (BinOp::MatMul, 6),
                _ => return Ok(left),
            };
            if precedence <= min {
                return Ok(left);
            }
            let pos = left.pos;
            self.at += 1;
            let right = self.binary(precedence)?;
            left = expr(pos, ExprKind::Binary(Box::new(left), op, Box::new(right)));
        }
        self.error(format!("more than {MAX_CHAIN} operators in sequence"))
    }

    fn unary(&mut self) -> Parse<Expr> {
        let pos = self.pos();
        let op = match self.tok() {
            Tok::Op("-") => UnaryOp::Neg,
            Tok::Op("+") => UnaryOp::Pos,
            Tok::Op("~") => UnaryOp::Invert,
            _ => return self.power(),
        };
        self.at += 1;
        let value = self.nested(Self::unary)?;
        Ok(expr(pos, ExprKind::Unary(op, Box::new(value))))
    }

    fn power(&mut self) -> Parse<Expr> {
        let base = self.primary()?;
        if !self.eat_op("**") {
            return Ok(base);
        }
        let exponent = self.nested(Self::unary)?;
        Ok(expr(base.pos, ExprKind::Binary(Box::new(base), BinOp::Pow, Box::new(exponent))))
    }

    fn primary(&mut self) -> Parse<Expr> {
        self.eat_coroutine_word("await")?;
        let mut value = self.atom()?;
        for _ in 0..MAX_CHAIN {
            let pos = value.pos;
            if self.eat_op(".") {
                let name = self.name()?;
                value = expr(pos, ExprKind::Attribute(Box::new(value), name));
            } else if self.eat_op("(") {
                let arguments = self.nested(Self::arguments)?;
                self.expect_op(")")?;
                value = expr(pos, ExprKind::Call(Box::new(value), arguments));
            } else if self.eat_op("[") {
                let index = self.nested(Self::index)?;
                self.expect_op("]")?;
                value = expr(pos, ExprKind::Subscript(Box::new(value), Box::new(index)));
            } else {
                return Ok(value);
            }
        }
        self.error(format!("more than {MAX_CHAIN} attributes, calls or indices in sequence"))
    }

    /// The arguments of a call, up to `)`, which is left.
    pub(super) fn arguments(&mut self) -> Parse<Vec<Argument>> {
        let mut arguments = Vec::new();
        while !self.is_op(")") {
            if self.eat_op("**") {
                arguments.push(Argument::DoubleStar(self.expr()?));
            } else if self.eat_op("*") {
                arguments.push(Argument::Star(self.expr()?));
            } else if let (Tok::Name(_), Tok::Op("=")) = (self.tok(), self.ahead(1)) {
                let name = self.name()?;
                self.at += 1;
                if arguments.iter().any(|a| matches!(a, Argument::Keyword(n, _) if *n == name)) {
                    return self.error(format!("keyword argument repeated: {name}"));
                }
                arguments.push(Argument::Keyword(name, self.expr()?));
            } else {
                if arguments.iter().any(|a| matches!(a, Argument::Keyword(..))) {
                    return self.error("positional argument follows keyword argument");
                }
                let pos = self.pos();
                let value = self.named()?;
                let value = if self.is_clause() { self.generator(pos, value)? } else { value };
                arguments.push(Argument::Positional(value));
            }
            if !self.eat_op(",") {
                break;
            }
        }
        Ok(arguments)
    }

    fn index(&mut self) -> Parse<Expr> {
        let pos = self.pos();
        let first = self.index_item()?;
        if !self.is_op(",") {
            return Ok(match first.kind {
                ExprKind::Starred(_) => expr(pos, ExprKind::Tuple(vec![first])),
                _ => first,
            });
        }
        let mut items = vec![first];
        while self.eat_op(",") {
            if self.is_op("]") {
                break;
            }
            items.push(self.index_item()?);
        }
        Ok(expr(pos, ExprKind::Tuple(items)))
    }

    fn index_item(&mut self) -> Parse<Expr> {
        let pos = self.pos();
        let ends = |p: &Self| p.is_op(":") || p.is_op(",") || p.is_op("]");
        let part = |p: &mut Self| if ends(p) { Ok(None) } else { p.star_expr().map(|e| Some(Box::new(e))) };
        let start = part(self)?;
        if !self.eat_op(":") {
            return match start {
                Some(value) => Ok(*value),
                None => self.error("invalid syntax"),
            };
        }
        let stop = part(self)?;
        let step = if self.eat_op(":") { part(self)? } else { None };
        Ok(expr(pos, ExprKind::Slice(start, stop, step)))
    }

    fn atom(&mut self) -> Parse<Expr> {
        let pos = self.pos();
        let kind = match self.tok().clone() {
            Tok::Name(word) => {
                let constant = match word.as_str() {
                    "None" => Value::None,
                    "True" => Value::Bool(true),
                    "False" => Value::Bool(false),
                    w if is_keyword(w) => return self.error(format!("invalid syntax: unexpected '{w}'")),
                    _ => {
                        self.at += 1;
                        return Ok(expr(pos, ExprKind::Name(word.into())));
                    }
                };
                self.at += 1;
                ExprKind::Constant(constant)
            }
            Tok::Int(n) => {
                self.at += 1;
                ExprKind::Constant(Value::from_big(n))
            }
            Tok::Float(f) => {
                self.at += 1;
                ExprKind::Constant(Value::Float(f))
            }
            Tok::Imaginary(f) => {
                self.at += 1;
                ExprKind::Constant(Value::Complex(0.0, f))
            }
            Tok::Str { .. } => return self.strings(),
            Tok::Op("...") => {
                self.at += 1;
                ExprKind::Constant(Value::Ellipsis)
            }
            Tok::Op("(") => return self.parenthesized(),
            Tok::Op("[") => {
                self.at += 1;
                let kind = self.nested(|p| p.elements(pos, "]"))?;
                self.expect_op("]")?;
                kind
            }
            Tok::Op("{") => {
                self.at += 1;
                let kind = self.nested(|p| p.braces(pos))?;
                self.expect_op("}")?;
                kind
            }
            _ => return self.error(format!("invalid syntax: unexpected {}", self.describe())),
        };
        Ok(expr(pos, kind))
    }

    fn parenthesized(&mut self) -> Parse<Expr> {
        let pos = self.pos();
        self.expect_op("(")?;
        if self.eat_op(")") {
            return Ok(expr(pos, ExprKind::Tuple(Vec::new())));
        }
        let value = self.nested(|p| {
            if p.is_word("yield") {
                let value = p.yield_expr()?;
                return Ok(p.hoist(pos, value));
            }
            let first = p.star_exprs()?;
            if p.is_clause() { p.generator(pos, first) } else { Ok(first) }
        })?;
        self.expect_op(")")?;
        match value.kind {
            ExprKind::Starred(_) => self.error("cannot use starred expression here"),
            _ => Ok(value),
        }
    }

    /// The elements of a list up to `close`, or a comprehension.
    fn elements(&mut self, pos: Pos, close: &str) -> Parse<ExprKind> {
        if self.is_op(close) {
            return Ok(ExprKind::List(Vec::new()));
        }
        let first = self.star_expr()?;
        if self.is_clause() {
            return self.comprehension(pos, ComprehensionKind::List, first, None);
        }
        Ok(ExprKind::List(self.more(first, close)?))
    }

    fn more(&mut self, first: Expr, close: &str) -> Parse<Vec<Expr>> {
        let mut items = vec![first];
        while self.eat_op(",") && !self.is_op(close) {
            items.push(self.star_expr()?);
        }
        Ok(items)
    }

    fn braces(&mut self, pos: Pos) -> Parse<ExprKind> {
        if self.is_op("}") {
            return Ok(ExprKind::Dict(Vec::new()));
        }
        let mut items = Vec::new();
        if !self.is_op("**") {
            let first = self.star_expr()?;
            if !self.eat_op(":") {
                if self.is_clause() {
                    return self.comprehension(pos, ComprehensionKind::Set, first, None);
                }
                return Ok(ExprKind::Set(self.more(first, "}")?));
            }
            let value = self.expr()?;
            if self.is_clause() {
                return self.comprehension(pos, ComprehensionKind::Dict, first, Some(value));
            }
            items.push((Some(first), value));
            if !self.eat_op(",") {
                return Ok(ExprKind::Dict(items));
            }
        }
        while !self.is_op("}") {
            if self.eat_op("**") {
                items.push((None, self.binary(0)?));
            } else {
                let key = self.expr()?;
                self.expect_op(":")?;
                items.push((Some(key), self.expr()?));
            }
            if !self.eat_op(",") {
                break;
            }
        }
        Ok(ExprKind::Dict(items))
    }
}
