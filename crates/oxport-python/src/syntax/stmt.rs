//! Statements.

use super::expr::expr;
use super::tree::{BinOp, Block, Expr, ExprKind, Handler, Pos, ScopeKind, Stmt, StmtKind};
use super::{Parse, Parser, Tok};
use crate::value::Name;
use std::rc::Rc;

impl Parser<'_> {
    /// Reads a statement, or several on a line, with the statements that its `yield`s became.
    pub(super) fn statement(&mut self, body: &mut Vec<Stmt>) -> Parse<()> {
        let yields = self.yields;
        let pos = self.pos();
        if *self.tok() == Tok::Newline {
            self.at += 1;
            return Ok(());
        }
        if let Some(kind) = self.nested(Self::compound)? {
            body.append(&mut self.hoisted);
            body.push(self.stmt(pos, yields, kind));
            return Ok(());
        }
        loop {
            let (yields, pos) = (self.yields, self.pos());
            let kind = self.simple()?;
            body.append(&mut self.hoisted);
            body.push(self.stmt(pos, yields, kind));
            if !self.eat_op(";") || *self.tok() == Tok::Newline {
                break;
            }
        }
        match self.tok() {
            Tok::Newline => self.at += 1,
            Tok::End => {}
            _ => return self.error(format!("invalid syntax: unexpected {}", self.describe())),
        }
        Ok(())
    }

    /// The statements after a colon.
    pub(super) fn block(&mut self) -> Parse<Block> {
        self.expect_op(":")?;
        let mut body = Vec::new();
        // The statements of a block do not mix with the header's.
        let header = std::mem::take(&mut self.hoisted);
        if *self.tok() == Tok::Newline {
            self.at += 1;
            if *self.tok() != Tok::Indent {
                return self.error("expected an indented block");
            }
            self.at += 1;
            while *self.tok() != Tok::Dedent {
                self.nested(|p| p.statement(&mut body))?;
            }
            self.at += 1;
        } else {
            self.statement(&mut body)?;
        }
        self.hoisted = header;
        Ok(body.into())
    }

    fn compound(&mut self) -> Parse<Option<StmtKind>> {
        let Tok::Name(word) = self.tok() else {
            return if self.is_op("@") { self.decorated().map(Some) } else { Ok(None) };
        };
        Ok(Some(match word.as_str() {
            "if" => self.if_statement()?,
            "for" => self.for_statement()?,
            "while" => self.while_statement()?,
            "with" => self.with_statement()?,
            "try" => self.try_statement()?,
            "def" => self.function(Vec::new(), false)?,
            "class" => self.class(Vec::new())?,
            "async" if matches!(self.ahead(1), Tok::Name(word) if word == "def") => {
                self.at += 1;
                self.function(Vec::new(), true)?
            }
            "async" => {
                self.eat_coroutine_word("async")?;
                return self.compound();
            }
            "match" => return self.match_statement(),
            _ => return Ok(None),
        }))
    }

    fn decorated(&mut self) -> Parse<StmtKind> {
        let mut decorators = Vec::new();
        while self.eat_op("@") {
            decorators.push(self.named()?);
            if *self.tok() == Tok::Newline {
                self.at += 1;
            }
        }
        match self.tok() {
            Tok::Name(word) if word == "def" => self.function(decorators, false),
            Tok::Name(word) if word == "async" => {
                self.at += 1;
                self.function(decorators, true)
            }
            Tok::Name(word) if word == "class" => self.class(decorators),
            _ => self.error(format!("expected a function or class, got {}", self.describe())),
        }
    }

    /// The text of a function's body and its scope. `yield`s within are its own.
    fn function(&mut self, decorators: Vec<Expr>, is_coroutine: bool) -> Parse<StmtKind> {
        let pos = self.pos();
        self.expect_word("def")?;
        let name = self.name()?;
        self.bind(&name, false);
        self.type_parameters()?;
        self.expect_op("(")?;
        let params = self.params(")", true)?;
        self.expect_op(")")?;
        let returns = if self.eat_op("->") { Some(self.annotation()?) } else { None };
        self.open_scope(ScopeKind::Function, &name);
        self.scope().is_coroutine = is_coroutine;
        let yields = self.yields;
        let body = self.block()?;
        self.yields = yields;
        let mut code = self.close_scope(params, body, pos);
        if let Some(code) = Rc::get_mut(&mut code) {
            code.returns = returns;
        }
        Ok(StmtKind::Function { decorators, code })
    }

    fn class(&mut self, decorators: Vec<Expr>) -> Parse<StmtKind> {
        let pos = self.pos();
        self.expect_word("class")?;
        let name = self.name()?;
        self.bind(&name, false);
        self.type_parameters()?;
        let mut arguments = Vec::new();
        if self.eat_op("(") {
            arguments = self.arguments()?;
            self.expect_op(")")?;
        }
        self.open_scope(ScopeKind::Class, &name);
        let body = self.block()?;
        let code = self.close_scope(Vec::new(), body, pos);
        Ok(StmtKind::Class { decorators, arguments, code })
    }

    /// `[T, *Ts]` after a name, which has no meaning at run time here.
    fn type_parameters(&mut self) -> Parse<()> {
        if !self.eat_op("[") {
            return Ok(());
        }
        while !self.is_op("]") {
            let _ = self.eat_op("*") || self.eat_op("**");
            let name = self.name()?;
            self.bind(&name, false);
            if self.eat_op(":") {
                self.annotation()?;
            }
            if self.eat_op("=") {
                self.annotation()?;
            }
            if !self.eat_op(",") {
                break;
            }
        }
        self.expect_op("]")
    }

    fn if_statement(&mut self) -> Parse<StmtKind> {
        self.at += 1;
        let test = self.named()?;
        let body = self.block()?;
        let (yields, pos) = (self.yields, self.pos());
        let orelse: Block = if self.is_word("elif") {
            let header = std::mem::take(&mut self.hoisted);
            let kind = self.nested(Self::if_statement)?;
            let mut orelse = std::mem::replace(&mut self.hoisted, header);
            orelse.push(self.stmt(pos, yields, kind));
            orelse.into()
        } else {
            self.else_block()?
        };
        Ok(StmtKind::If { test, body, orelse })
    }

    fn else_block(&mut self) -> Parse<Block> {
        if self.eat_word("else") { self.block() } else { Ok(Rc::new([])) }
    }

    fn loop_body(&mut self) -> Parse<Block> {
        self.scope().loops += 1;
        let body = self.block();
        self.scope().loops -= 1;
        body
    }

    fn for_statement(&mut self) -> Parse<StmtKind> {
        self.at += 1;
        let target = self.targets()?;
        self.bind_target(&target)?;
        self.expect_word("in")?;
        let iter = self.star_exprs()?;
        let body = self.loop_body()?;
        let orelse = self.else_block()?;
        Ok(StmtKind::For { target, iter, body, orelse })
    }

    fn while_statement(&mut self) -> Parse<StmtKind> {
        self.at += 1;
        let hoisted = self.hoisted.len();
        let test = self.named()?;
        if self.hoisted.len() != hoisted {
            return self.error("'yield' in the condition of a loop is not supported");
        }
        let body = self.loop_body()?;
        let orelse = self.else_block()?;
        Ok(StmtKind::While { test, body, orelse })
    }

    fn with_statement(&mut self) -> Parse<StmtKind> {
        self.at += 1;
        let start = self.at;
        let items = match self.with_items(true) {
            Ok(items) if self.is_op(":") => items,
            _ => {
                self.at = start;
                self.with_items(false)?
            }
        };
        let yields = self.yields;
        let mut body = self.block()?;
        let mut items = items.into_iter();
        let Some((pos, context, target)) = items.next() else { return self.error("invalid syntax") };
        for (pos, context, target) in items.rev() {
            body = Rc::new([self.stmt(pos, yields, StmtKind::With { context, target, body })]);
        }
        let _: Pos = pos;
        Ok(StmtKind::With { context, target, body })
    }

    /// The items of `with`, in parentheses or not.
    fn with_items(&mut self, in_parentheses: bool) -> Parse<Vec<(Pos, Expr, Option<Expr>)>> {
        if in_parentheses {
            self.expect_op("(")?;
        }
        let mut items = Vec::new();
        loop {
            let pos = self.pos();
            let context = self.expr()?;
            let mut target = None;
            if self.eat_word("as") {
                let bound = self.primary_target()?;
                self.bind_target(&bound)?;
                target = Some(bound);
            }
            items.push((pos, context, target));
            if !self.eat_op(",") || (in_parentheses && self.is_op(")")) {
                break;
            }
        }
        if in_parentheses {
            self.expect_op(")")?;
        }
        Ok(items)
    }

    fn primary_target(&mut self) -> Parse<Expr> {
        self.binary(6)
    }

    fn try_statement(&mut self) -> Parse<StmtKind> {
        self.at += 1;
        let body = self.block()?;
        let mut handlers = Vec::new();
        while self.eat_word("except") {
            if self.is_op("*") {
                return self.error("'except*' is not supported");
            }
            let types = if self.is_op(":") { None } else { Some(self.star_exprs()?) };
            let name = if self.eat_word("as") { Some(self.name()?) } else { None };
            if let Some(name) = &name {
                self.bind(name, false);
            }
            handlers.push(Handler { types, name, body: self.block()? });
        }
        let orelse = self.else_block()?;
        let finally: Block = if self.eat_word("finally") { self.block()? } else { Rc::new([]) };
        if handlers.is_empty() && finally.is_empty() {
            return self.error("expected 'except' or 'finally' block");
        }
        Ok(StmtKind::Try { body, handlers: handlers.into(), orelse, finally })
    }

    fn simple(&mut self) -> Parse<StmtKind> {
        let word = match self.tok() {
            Tok::Name(word) => word.clone(),
            _ => return self.expression_statement(),
        };
        match word.as_str() {
            "pass" => self.at += 1,
            "break" | "continue" => {
                if self.scope().loops == 0 {
                    return self.error(match word.as_str() {
                        "break" => "'break' outside loop",
                        _ => "'continue' not properly in loop",
                    });
                }
                self.at += 1;
                return Ok(if word == "break" { StmtKind::Break } else { StmtKind::Continue });
            }
            "return" => {
                if self.scope().kind != ScopeKind::Function {
                    return self.error("'return' outside function");
                }
                self.at += 1;
                let value = match self.tok() {
                    Tok::Newline | Tok::End | Tok::Op(";") => None,
                    Tok::Name(w) if w == "yield" => Some(self.yield_expr()?),
                    _ => Some(self.star_exprs()?),
                };
                return Ok(StmtKind::Return(value));
            }
            "raise" => {
                self.at += 1;
                let ends = matches!(self.tok(), Tok::Newline | Tok::End | Tok::Op(";"));
                let exc = if ends { None } else { Some(self.expr()?) };
                let cause = if self.eat_word("from") { Some(self.expr()?) } else { None };
                return Ok(StmtKind::Raise { exc, cause });
            }
            "assert" => {
                self.at += 1;
                let test = self.expr()?;
                let message = if self.eat_op(",") { Some(self.expr()?) } else { None };
                return Ok(StmtKind::Assert { test, message });
            }
            "del" => {
                self.at += 1;
                let targets = self.star_exprs()?;
                self.bind_target(&targets)?;
                return Ok(StmtKind::Delete(match targets.kind {
                    ExprKind::Tuple(items) => items,
                    _ => vec![targets],
                }));
            }
            "import" => return self.import(),
            "from" => return self.import_from(),
            "global" | "nonlocal" => {
                self.at += 1;
                loop {
                    let name = self.name()?;
                    let scope = self.scope();
                    scope.bound.remove(&name);
                    if word == "global" {
                        scope.globals.insert(name)
                    } else {
                        scope.nonlocals.insert(name)
                    };
                    if !self.eat_op(",") {
                        break;
                    }
                }
            }
            "type" if matches!((self.ahead(1), self.ahead(2)), (Tok::Name(_), Tok::Op("=" | "["))) => {
                self.at += 1;
                let (name, pos) = (self.name()?, self.pos());
                self.bind(&name, false);
                self.type_parameters()?;
                self.expect_op("=")?;
                let text = self.annotation()?;
                let value = expr(pos, ExprKind::Constant(crate::value::Value::str(&text)));
                return Ok(StmtKind::Assign { targets: vec![expr(pos, ExprKind::Name(name))], value });
            }
            _ => return self.expression_statement(),
        }
        Ok(StmtKind::Pass)
    }

    fn import(&mut self) -> Parse<StmtKind> {
        self.at += 1;
        let mut names = Vec::new();
        loop {
            let name = self.dotted_name()?;
            let alias = if self.eat_word("as") { Some(self.name()?) } else { None };
            let bound = match &alias {
                Some(alias) => alias.clone(),
                None => name.split('.').next().unwrap_or("").into(),
            };
            self.bind(&bound, false);
            names.push((name, alias));
            if !self.eat_op(",") {
                return Ok(StmtKind::Import(names));
            }
        }
    }

    fn import_from(&mut self) -> Parse<StmtKind> {
        self.at += 1;
        let mut level = 0;
        loop {
            match self.tok() {
                Tok::Op(".") => level += 1,
                Tok::Op("...") => level += 3,
                _ => break,
            }
            self.at += 1;
        }
        let module = if self.is_word("import") { Name::from("") } else { self.dotted_name()? };
        self.expect_word("import")?;
        if self.eat_op("*") {
            return Ok(StmtKind::ImportFrom { module, level, names: Vec::new() });
        }
        let in_parentheses = self.eat_op("(");
        let mut names = Vec::new();
        loop {
            let name = self.name()?;
            let alias = if self.eat_word("as") { Some(self.name()?) } else { None };
            self.bind(alias.as_ref().unwrap_or(&name), false);
            names.push((name, alias));
            if !self.eat_op(",") || (in_parentheses && self.is_op(")")) {
                break;
            }
        }
        if in_parentheses {
            self.expect_op(")")?;
        }
        Ok(StmtKind::ImportFrom { module, level, names })
    }

    fn value(&mut self) -> Parse<Expr> {
        if self.is_word("yield") { self.yield_expr() } else { self.star_exprs() }
    }

    fn expression_statement(&mut self) -> Parse<StmtKind> {
        let at = self.at;
        let first = self.value()?;
        if self.is_op(":") && !matches!(first.kind, ExprKind::Tuple(_)) {
            self.at += 1;
            self.bind_target(&first)?;
            let annotation = self.annotation()?;
            let value = if self.eat_op("=") { Some(self.value()?) } else { None };
            return Ok(StmtKind::AnnAssign { target: first, annotation, value });
        }
        if self.is_op("=") {
            let mut targets = vec![first];
            while self.eat_op("=") {
                targets.push(self.value()?);
            }
            let Some(value) = targets.pop() else { return self.error("invalid syntax") };
            targets.iter().try_for_each(|target| self.bind_target(target))?;
            return Ok(StmtKind::Assign { targets, value });
        }
        let op = match self.tok() {
            Tok::Op("+=") => BinOp::Add,
            Tok::Op("-=") => BinOp::Sub,
            Tok::Op("*=") => BinOp::Mul,
            Tok::Op("/=") => BinOp::Div,
            Tok::Op("//=") => BinOp::FloorDiv,
            Tok::Op("%=") => BinOp::Mod,
            Tok::Op("**=") => BinOp::Pow,
            Tok::Op("@=") => BinOp::MatMul,
            Tok::Op("&=") => BinOp::And,
            Tok::Op("|=") => BinOp::Or,
            Tok::Op("^=") => BinOp::Xor,
            Tok::Op("<<=") => BinOp::Shl,
            Tok::Op(">>=") => BinOp::Shr,
            _ => return Ok(StmtKind::Expr(first)),
        };
        if !matches!(first.kind, ExprKind::Name(_) | ExprKind::Attribute(..) | ExprKind::Subscript(..)) {
            let pos = self.tokens[at].pos;
            return Err(super::SyntaxError { message: "illegal expression for augmented assignment".into(), pos });
        }
        self.at += 1;
        self.bind_target(&first)?;
        let value = self.star_exprs()?;
        Ok(StmtKind::AugAssign { target: first, op, value })
    }
}
