//! Comprehensions and generator expressions; the targets of `for`.

use super::expr::expr;
use super::tree::{
    Clause, Code, Comprehension, ComprehensionKind, Expr, ExprKind, Param, ParamKind, Pos, ScopeKind, Stmt, StmtKind,
};
use super::{Parse, Parser, Tok};
use crate::value::Name;
use std::rc::Rc;

impl Parser<'_> {
    /// Whether a comprehension goes on.
    pub(super) fn is_clause(&self) -> bool {
        self.is_word("for") || self.is_word("async")
    }

    /// The clauses of a comprehension, in a scope of its own that is closed.
    fn clauses(&mut self, pos: Pos, name: &str) -> Parse<(Rc<Code>, Vec<Clause>)> {
        self.open_scope(ScopeKind::Comprehension, name);
        let mut clauses = Vec::new();
        loop {
            if !self.is_clause() {
                break;
            }
            self.eat_coroutine_word("async")?;
            self.expect_word("for")?;
            let target = self.targets()?;
            self.bind_target(&target)?;
            self.expect_word("in")?;
            let iter = self.or_test_or_ternary()?;
            let mut conditions = Vec::new();
            while self.eat_word("if") {
                conditions.push(self.condition()?);
            }
            clauses.push(Clause { target, iter, conditions });
        }
        Ok((self.close_scope(Vec::new(), Vec::new(), pos), clauses))
    }

    fn condition(&mut self) -> Parse<Expr> {
        if let (Tok::Name(_), Tok::Op(":=")) = (self.tok(), self.ahead(1)) {
            return self.named();
        }
        self.or_test()
    }

    fn or_test_or_ternary(&mut self) -> Parse<Expr> {
        if self.is_word("lambda") { self.expr() } else { self.or_test() }
    }

    /// Targets of `for`: without comparisons, so that `in` ends them.
    pub(super) fn targets(&mut self) -> Parse<Expr> {
        let pos = self.pos();
        let target = |p: &mut Self| {
            let pos = p.pos();
            if p.eat_op("*") {
                return Ok(expr(pos, ExprKind::Starred(Box::new(p.binary(0)?))));
            }
            p.binary(0)
        };
        let first = target(self)?;
        if !self.is_op(",") {
            return Ok(first);
        }
        let mut items = vec![first];
        while self.eat_op(",") && !self.is_word("in") {
            items.push(target(self)?);
        }
        Ok(expr(pos, ExprKind::Tuple(items)))
    }

    pub(super) fn comprehension(
        &mut self,
        pos: Pos,
        kind: ComprehensionKind,
        element: Expr,
        value: Option<Expr>,
    ) -> Parse<ExprKind> {
        let name = match kind {
            ComprehensionKind::List => "<listcomp>",
            ComprehensionKind::Set => "<setcomp>",
            ComprehensionKind::Dict => "<dictcomp>",
        };
        let (code, clauses) = self.clauses(pos, name)?;
        Ok(ExprKind::Comprehension(Box::new(Comprehension { code, kind, element, value, clauses })))
    }

    /// A generator expression: a generator function of its first iterator.
    pub(super) fn generator(&mut self, pos: Pos, element: Expr) -> Parse<Expr> {
        let (code, mut clauses) = self.clauses(pos, "<genexpr>")?;
        let argument: Name = ".0".into();
        let first = expr(pos, ExprKind::Name(argument.clone()));
        let outer = std::mem::replace(&mut clauses[0].iter, first);
        let yielded = expr(element.pos, ExprKind::Yield(Some(Box::new(element))));
        let mut body = Stmt { pos, has_yield: true, kind: StmtKind::Expr(yielded) };
        for clause in clauses.into_iter().rev() {
            for test in clause.conditions.into_iter().rev() {
                let kind = StmtKind::If { test, body: Rc::new([body]), orelse: Rc::new([]) };
                body = Stmt { pos, has_yield: true, kind };
            }
            let (target, iter) = (clause.target, clause.iter);
            let kind = StmtKind::For { target, iter, body: Rc::new([body]), orelse: Rc::new([]) };
            body = Stmt { pos, has_yield: true, kind };
        }
        let param = Param { name: argument, kind: ParamKind::PositionalOnly, default: None, annotation: None };
        let Some(mut code) = Rc::into_inner(code) else { return self.error("invalid syntax") };
        code.bound.insert(param.name.clone());
        (code.params, code.body, code.is_generator) = (vec![param], Rc::new([body]), true);
        Ok(expr(pos, ExprKind::Generator(Rc::new(code), Box::new(outer))))
    }
}
