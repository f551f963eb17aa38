//! From Python source to a syntax tree: lexer, parser, strings.
//!
//! The parser is our own: those on crates.io need a newer compiler and a C assembler, or bring an LGPL dependency, and
//! this one resolves scopes and moves `yield` to statements as it goes. Invariants: any text gives a tree or a
//! [`SyntaxError`]; nesting is bounded.

mod comprehension;
mod expr;
mod lexer;
mod pattern;
mod stmt;
mod strings;
pub mod tree;

use crate::value::Name;
use lexer::{Tok, Token};
use std::collections::HashSet;
use std::rc::Rc;
use tree::{Block, Code, Expr, ExprKind, Param, Pos, ScopeKind, Source, Stmt, StmtKind};

/// A text that is not Python.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// What is wrong.
    pub message: String,
    /// Where.
    pub pos: Pos,
}

type Parse<T> = Result<T, SyntaxError>;

/// The deepest nesting of expressions and statements, and the longest chain of operators or of trailers.
const MAX_DEPTH: usize = 150;
const MAX_CHAIN: usize = 1000;

/// Parses a module.
///
/// # Errors
/// If the text is not Python, or is nested more deeply than the limits.
pub fn parse_module(source: &Rc<Source>) -> Result<Rc<Code>, SyntaxError> {
    let tokens = lexer::tokenize(&source.text, Pos { line: 1, col: 1 }, false)?;
    let mut parser = Parser::new(source, tokens, false);
    parser.scopes.push(Scope::new(ScopeKind::Module, "<module>"));
    let mut body = Vec::new();
    while *parser.tok() != Tok::End {
        parser.statement(&mut body)?;
    }
    Ok(parser.close_scope(Vec::new(), body, Pos { line: 1, col: 1 }))
}

/// A scope that is being parsed.
struct Scope {
    kind: ScopeKind,
    name: Name,
    bound: HashSet<Name>,
    globals: HashSet<Name>,
    nonlocals: HashSet<Name>,
    yields: bool,
    is_coroutine: bool,
    loops: usize,
}

impl Scope {
    fn new(kind: ScopeKind, name: &str) -> Scope {
        Scope {
            kind,
            name: name.into(),
            bound: HashSet::new(),
            globals: HashSet::new(),
            nonlocals: HashSet::new(),
            yields: false,
            is_coroutine: false,
            loops: 0,
        }
    }
}

struct Parser<'a> {
    source: &'a Rc<Source>,
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
    scopes: Vec<Scope>,
    /// Statements with the `yield`s of the expression being parsed.
    hoisted: Vec<Stmt>,
    temporaries: usize,
    /// The count of `yield`s so far.
    yields: usize,
    /// Whether the text is an expression of an f-string.
    is_fragment: bool,
}

impl<'a> Parser<'a> {
    fn new(source: &'a Rc<Source>, tokens: Vec<Token>, is_fragment: bool) -> Parser<'a> {
        Parser {
            source,
            tokens,
            at: 0,
            depth: 0,
            scopes: Vec::new(),
            hoisted: Vec::new(),
            temporaries: 0,
            yields: 0,
            is_fragment,
        }
    }

    fn tok(&self) -> &Tok {
        &self.tokens[self.at.min(self.tokens.len() - 1)].tok
    }

    fn ahead(&self, n: usize) -> &Tok {
        &self.tokens[(self.at + n).min(self.tokens.len() - 1)].tok
    }

    fn pos(&self) -> Pos {
        self.tokens[self.at.min(self.tokens.len() - 1)].pos
    }

    fn error<T>(&self, message: impl Into<String>) -> Parse<T> {
        Err(SyntaxError { message: message.into(), pos: self.pos() })
    }

    fn is_op(&self, op: &str) -> bool {
        matches!(self.tok(), Tok::Op(o) if *o == op)
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.tok(), Tok::Name(n) if n == word)
    }

    fn eat_op(&mut self, op: &str) -> bool {
        let found = self.is_op(op);
        self.at += usize::from(found);
        found
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        self.at += usize::from(found);
        found
    }

    fn expect_op(&mut self, op: &str) -> Parse<()> {
        if self.eat_op(op) { Ok(()) } else { self.error(format!("expected '{op}', got {}", self.describe())) }
    }

    fn expect_word(&mut self, word: &str) -> Parse<()> {
        if self.eat_word(word) { Ok(()) } else { self.error(format!("expected '{word}', got {}", self.describe())) }
    }

    fn describe(&self) -> String {
        match self.tok() {
            Tok::Name(n) => format!("'{n}'"),
            Tok::Op(o) => format!("'{o}'"),
            Tok::Newline => "the end of the line".into(),
            Tok::Indent | Tok::Dedent => "another indentation".into(),
            Tok::End => "the end".into(),
            Tok::Str { .. } => "a string".into(),
            _ => "a number".into(),
        }
    }

    /// A name that is no keyword.
    fn name(&mut self) -> Parse<Name> {
        match self.tok() {
            Tok::Name(n) if !is_keyword(n) => {
                let name = Name::from(n.as_str());
                self.at += 1;
                Ok(name)
            }
            _ => self.error(format!("expected a name, got {}", self.describe())),
        }
    }

    fn dotted_name(&mut self) -> Parse<Name> {
        let mut name = self.name()?.to_string();
        while self.eat_op(".") {
            name.push('.');
            name.push_str(&self.name()?);
        }
        Ok(name.into())
    }

    fn nested<T>(&mut self, f: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        if self.depth >= MAX_DEPTH {
            return self.error(format!("nested more deeply than {MAX_DEPTH} levels"));
        }
        self.depth += 1;
        let result = f(self);
        self.depth -= 1;
        result
    }

    /// The text of the source from a token to the current one.
    fn text_since(&self, at: usize) -> Name {
        if self.is_fragment || self.at == at {
            return Name::from("");
        }
        let (from, to) = (self.tokens[at].span.0, self.tokens[self.at - 1].span.1);
        self.source.text.get(from..to).unwrap_or("").into()
    }

    fn scope(&mut self) -> &mut Scope {
        let last = self.scopes.len() - 1;
        &mut self.scopes[last]
    }

    /// Binds a name in the scope, a walrus in the scope around comprehensions.
    fn bind(&mut self, name: &Name, is_walrus: bool) {
        let at = match is_walrus {
            true => self.scopes.iter().rposition(|s| s.kind != ScopeKind::Comprehension).unwrap_or(0),
            false => self.scopes.len() - 1,
        };
        let scope = &mut self.scopes[at];
        if !scope.globals.contains(name) && !scope.nonlocals.contains(name) {
            scope.bound.insert(name.clone());
        }
    }

    /// Checks that an expression can be assigned to, and binds its names.
    fn bind_target(&mut self, target: &Expr) -> Parse<()> {
        let what = match &target.kind {
            ExprKind::Name(name) => {
                self.bind(name, false);
                return Ok(());
            }
            ExprKind::Attribute(..) | ExprKind::Subscript(..) => return Ok(()),
            ExprKind::Starred(inner) => return self.bind_target(inner),
            ExprKind::Tuple(items) | ExprKind::List(items) => {
                return items.iter().try_for_each(|item| self.bind_target(item));
            }
            ExprKind::Constant(_) => "literal",
            ExprKind::Call(..) => "function call",
            ExprKind::Compare(..) => "comparison",
            _ => "expression",
        };
        Err(SyntaxError { message: format!("cannot assign to {what}"), pos: target.pos })
    }

    fn open_scope(&mut self, kind: ScopeKind, name: &str) {
        self.scopes.push(Scope::new(kind, name));
    }

    fn close_scope(&mut self, params: Vec<Param>, body: impl Into<Block>, pos: Pos) -> Rc<Code> {
        let mut qualname = String::new();
        for scope in &self.scopes {
            if scope.kind != ScopeKind::Module {
                qualname.push_str(&scope.name);
                qualname.push_str(if scope.kind == ScopeKind::Class { "." } else { ".<locals>." });
            }
        }
        let qualname = qualname.trim_end_matches('.').trim_end_matches(".<locals>");
        let scope = self.scopes.pop().unwrap_or_else(|| Scope::new(ScopeKind::Module, ""));
        let mut bound = scope.bound;
        bound.extend(params.iter().map(|p| p.name.clone()));
        Rc::new(Code {
            name: scope.name,
            qualname: qualname.into(),
            params,
            body: body.into(),
            bound,
            globals: scope.globals,
            nonlocals: scope.nonlocals,
            kind: scope.kind,
            is_generator: scope.yields,
            is_coroutine: scope.is_coroutine,
            returns: None,
            source: self.source.clone(),
            pos,
        })
    }

    /// Skips `async` or `await` within a coroutine: no call runs its body, so that it is read as if it had none.
    fn eat_coroutine_word(&mut self, word: &str) -> Parse<bool> {
        if !self.is_word(word) {
            return Ok(false);
        }
        if !self.scopes.iter().any(|scope| scope.is_coroutine) {
            return self.error(format!("'{word}' outside async function"));
        }
        self.at += 1;
        Ok(true)
    }

    /// A statement of the kind with the `yield`s since a count.
    fn stmt(&self, pos: Pos, yields: usize, kind: StmtKind) -> Stmt {
        Stmt { pos, has_yield: self.yields != yields, kind }
    }
}

/// The words that are never names.
fn is_keyword(word: &str) -> bool {
    matches!(
        word,
        "False"
            | "None"
            | "True"
            | "and"
            | "as"
            | "assert"
            | "async"
            | "await"
            | "break"
            | "class"
            | "continue"
            | "def"
            | "del"
            | "elif"
            | "else"
            | "except"
            | "finally"
            | "for"
            | "from"
            | "global"
            | "if"
            | "import"
            | "in"
            | "is"
            | "lambda"
            | "nonlocal"
            | "not"
            | "or"
            | "pass"
            | "raise"
            | "return"
            | "try"
            | "while"
            | "with"
            | "yield"
    )
}
