//! The syntax tree of a module, with what the interpreter needs to know of scopes.
//!
//! Invariants: annotations are kept as text, they are not evaluated; a `yield` stands only where [`Stmt`] says, deeper
//! ones were moved to statements of their own by the parser; the height of a tree is bounded by the parser's limits.

use crate::value::{Name, Value};
use std::collections::HashSet;
use std::rc::Rc;

/// A place in a source: line and column, both from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pos {
    /// The line.
    pub line: u32,
    /// The column, in characters.
    pub col: u32,
}

/// A source file: its name, as errors show it, and its text.
#[derive(Debug)]
pub struct Source {
    /// The name.
    pub name: String,
    /// The text.
    pub text: String,
}

impl Source {
    /// The text of a line, without the ends' blanks.
    pub fn line(&self, line: u32) -> &str {
        self.text.lines().nth(line.saturating_sub(1) as usize).unwrap_or("").trim()
    }
}

/// What a scope belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScopeKind {
    /// A module.
    Module,
    /// The body of a class.
    Class,
    /// A function or lambda.
    Function,
    /// A comprehension or generator expression.
    Comprehension,
}

/// How a parameter takes arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamKind {
    /// Before `/`.
    PositionalOnly,
    /// By position or by name.
    Normal,
    /// `*args`.
    Star,
    /// After `*`.
    KeywordOnly,
    /// `**kwargs`.
    DoubleStar,
}

/// A parameter.
pub struct Param {
    /// The name.
    pub name: Name,
    /// How it takes arguments.
    pub kind: ParamKind,
    /// The default value, evaluated where the function is defined.
    pub default: Option<Expr>,
    /// The text of the annotation.
    pub annotation: Option<Name>,
}

/// A body of code with a scope of its own.
pub struct Code {
    /// The name, `<lambda>`, `<listcomp>`, `<module>`.
    pub name: Name,
    /// The dotted name within the module.
    pub qualname: Name,
    /// The parameters.
    pub params: Vec<Param>,
    /// The statements.
    pub body: Block,
    /// Names that the body binds.
    pub bound: HashSet<Name>,
    /// Names declared `global`.
    pub globals: HashSet<Name>,
    /// Names declared `nonlocal`.
    pub nonlocals: HashSet<Name>,
    /// What the scope belongs to.
    pub kind: ScopeKind,
    /// Whether a call gives a generator.
    pub is_generator: bool,
    /// Whether it is `async`, and cannot be called.
    pub is_coroutine: bool,
    /// The text of the return annotation.
    pub returns: Option<Name>,
    /// Where it stands.
    pub source: Rc<Source>,
    /// The first line.
    pub pos: Pos,
}

impl Code {
    /// The docstring.
    pub fn doc(&self) -> Value {
        match self.body.first().map(|s| &s.kind) {
            Some(StmtKind::Expr(Expr { kind: ExprKind::Constant(v @ Value::Str(_)), .. })) => v.clone(),
            _ => Value::None,
        }
    }
}

/// Statements in sequence, shared with the generators that stopped within.
pub type Block = Rc<[Stmt]>;

/// A statement.
pub struct Stmt {
    /// Where it begins.
    pub pos: Pos,
    /// Whether a `yield` is in it (not in a function within).
    pub has_yield: bool,
    /// Which statement.
    pub kind: StmtKind,
}

/// The statements. A `yield` is the whole value of `Expr`, `Assign` with one value, or `Return`.
#[allow(missing_docs)]
pub enum StmtKind {
    /// An expression.
    Expr(Expr),
    /// `targets = value`.
    Assign { targets: Vec<Expr>, value: Expr },
    /// `target op= value`.
    AugAssign { target: Expr, op: BinOp, value: Expr },
    /// `target: annotation = value`.
    AnnAssign { target: Expr, annotation: Name, value: Option<Expr> },
    /// `return value`.
    Return(Option<Expr>),
    /// `del targets`.
    Delete(Vec<Expr>),
    /// `if`, `elif`s nested in `orelse`.
    If { test: Expr, body: Block, orelse: Block },
    /// `for`.
    For { target: Expr, iter: Expr, body: Block, orelse: Block },
    /// `while`.
    While { test: Expr, body: Block, orelse: Block },
    /// `with` of one item.
    With { context: Expr, target: Option<Expr>, body: Block },
    /// `try`.
    Try { body: Block, handlers: Rc<[Handler]>, orelse: Block, finally: Block },
    /// `raise exc from cause`.
    Raise { exc: Option<Expr>, cause: Option<Expr> },
    /// `assert test, message`.
    Assert { test: Expr, message: Option<Expr> },
    /// `import a.b as c`.
    Import(Vec<(Name, Option<Name>)>),
    /// `from ..a import b as c`; an empty list is `*`.
    ImportFrom { module: Name, level: usize, names: Vec<(Name, Option<Name>)> },
    /// A function.
    Function { decorators: Vec<Expr>, code: Rc<Code> },
    /// A class.
    Class { decorators: Vec<Expr>, arguments: Vec<Argument>, code: Rc<Code> },
    /// `match`.
    Match { subject: Expr, cases: Vec<Case> },
    /// `break`.
    Break,
    /// `continue`.
    Continue,
    /// `pass`, `global`, `nonlocal`, type aliases.
    Pass,
}

/// An `except` clause.
pub struct Handler {
    /// The exception types; none catches all.
    pub types: Option<Expr>,
    /// The name that it is bound to.
    pub name: Option<Name>,
    /// The statements.
    pub body: Block,
}

/// A `case` clause.
pub struct Case {
    /// The pattern.
    pub pattern: Pattern,
    /// The condition after `if`.
    pub guard: Option<Expr>,
    /// The statements.
    pub body: Block,
}

/// A pattern of `match`.
pub enum Pattern {
    /// Equal to a value.
    Value(Expr),
    /// The same as `None`, `True`, `False`.
    Singleton(Value),
    /// A sequence; a star at most once.
    Sequence(Vec<Pattern>),
    /// `*name` in a sequence.
    Star(Option<Name>),
    /// A mapping with these keys, and a name for the rest.
    Mapping(Vec<(Expr, Pattern)>, Option<Name>),
    /// An instance of a class.
    Class(Expr, Vec<Pattern>, Vec<(Name, Pattern)>),
    /// Any of these.
    Or(Vec<Pattern>),
    /// `pattern as name`; a bare name; `_`.
    As(Option<Box<Pattern>>, Option<Name>),
}

/// An argument of a call.
pub enum Argument {
    /// By position.
    Positional(Expr),
    /// `*value`.
    Star(Expr),
    /// `name=value`.
    Keyword(Name, Expr),
    /// `**value`.
    DoubleStar(Expr),
}

/// An expression.
pub struct Expr {
    /// Where it stands; of an operator or call, where that begins.
    pub pos: Pos,
    /// Which expression.
    pub kind: ExprKind,
}

/// The expressions.
pub enum ExprKind {
    /// A literal.
    Constant(Value),
    /// A name.
    Name(Name),
    /// `and` (true) or `or` (false) of several.
    Bool(bool, Vec<Expr>),
    /// A binary operator.
    Binary(Box<Expr>, BinOp, Box<Expr>),
    /// A unary operator.
    Unary(UnaryOp, Box<Expr>),
    /// A chain of comparisons.
    Compare(Box<Expr>, Vec<(CmpOp, Expr)>),
    /// A call.
    Call(Box<Expr>, Vec<Argument>),
    /// `value.name`.
    Attribute(Box<Expr>, Name),
    /// `value[index]`.
    Subscript(Box<Expr>, Box<Expr>),
    /// `start:stop:step` in an index.
    Slice(Option<Box<Expr>>, Option<Box<Expr>>, Option<Box<Expr>>),
    /// `body if test else orelse`.
    If(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `lambda`.
    Lambda(Rc<Code>),
    /// `(a, *b)`.
    Tuple(Vec<Expr>),
    /// `[a, *b]`.
    List(Vec<Expr>),
    /// `{a, *b}`.
    Set(Vec<Expr>),
    /// `{a: b, **c}`; no key is `**`.
    Dict(Vec<(Option<Expr>, Expr)>),
    /// `*value` in a display or target.
    Starred(Box<Expr>),
    /// `name := value`.
    Named(Name, Box<Expr>),
    /// A comprehension.
    Comprehension(Box<Comprehension>),
    /// A generator expression: its code takes the first iterator as its argument `.0`.
    Generator(Rc<Code>, Box<Expr>),
    /// An f-string.
    Format(Vec<FormatPart>),
    /// `yield value`.
    Yield(Option<Box<Expr>>),
    /// `yield from value`.
    YieldFrom(Box<Expr>),
}

/// A list, set or dict comprehension.
pub struct Comprehension {
    /// The scope (its body is empty).
    pub code: Rc<Code>,
    /// What is made.
    pub kind: ComprehensionKind,
    /// The element, or the key.
    pub element: Expr,
    /// The value of a dict.
    pub value: Option<Expr>,
    /// The `for` clauses with their conditions.
    pub clauses: Vec<Clause>,
}

/// `for target in iter if conditions`.
pub struct Clause {
    /// What is bound.
    pub target: Expr,
    /// What is iterated.
    pub iter: Expr,
    /// The conditions.
    pub conditions: Vec<Expr>,
}

/// What a comprehension makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComprehensionKind {
    /// A list.
    List,
    /// A set.
    Set,
    /// A dict.
    Dict,
}

/// A part of an f-string.
#[allow(missing_docs)]
pub enum FormatPart {
    /// Text as it is.
    Text(Name),
    /// `{value!conversion:spec}`.
    Value { value: Expr, conversion: Option<char>, spec: Vec<FormatPart> },
}

/// The binary operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum BinOp {
    Add,
    Sub,
    Mul,
    Div,
    FloorDiv,
    Mod,
    Pow,
    MatMul,
    And,
    Or,
    Xor,
    Shl,
    Shr,
}

impl BinOp {
    /// The sign, and the name between the underscores of the method.
    pub const fn names(self) -> (&'static str, &'static str) {
        match self {
            BinOp::Add => ("+", "add"),
            BinOp::Sub => ("-", "sub"),
            BinOp::Mul => ("*", "mul"),
            BinOp::Div => ("/", "truediv"),
            BinOp::FloorDiv => ("//", "floordiv"),
            BinOp::Mod => ("%", "mod"),
            BinOp::Pow => ("**", "pow"),
            BinOp::MatMul => ("@", "matmul"),
            BinOp::And => ("&", "and"),
            BinOp::Or => ("|", "or"),
            BinOp::Xor => ("^", "xor"),
            BinOp::Shl => ("<<", "lshift"),
            BinOp::Shr => (">>", "rshift"),
        }
    }
}

/// The unary operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum UnaryOp {
    Not,
    Neg,
    Pos,
    Invert,
}

/// The comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum CmpOp {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    In,
    NotIn,
    Is,
    IsNot,
}

impl CmpOp {
    /// The sign, and the name between the underscores of the method.
    pub const fn names(self) -> (&'static str, &'static str) {
        match self {
            CmpOp::Eq => ("==", "eq"),
            CmpOp::Ne => ("!=", "ne"),
            CmpOp::Lt => ("<", "lt"),
            CmpOp::Le => ("<=", "le"),
            CmpOp::Gt => (">", "gt"),
            CmpOp::Ge => (">=", "ge"),
            CmpOp::In => ("in", "contains"),
            CmpOp::NotIn => ("not in", "contains"),
            CmpOp::Is => ("is", ""),
            CmpOp::IsNot => ("is not", ""),
        }
    }

    /// The comparison with the sides exchanged.
    pub const fn swapped(self) -> CmpOp {
        match self {
            CmpOp::Lt => CmpOp::Gt,
            CmpOp::Le => CmpOp::Ge,
            CmpOp::Gt => CmpOp::Lt,
            CmpOp::Ge => CmpOp::Le,
            other => other,
        }
    }
}
