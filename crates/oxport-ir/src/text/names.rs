//! Names as FX gives them: [`Namespace`] is `torch.fx.graph._Namespace`, [`PythonNames`] the names that a graph's nodes
//! have in its Python code, where none shadows a builtin.

use crate::{Graph, NodeId, NodeKind, Op};
use std::collections::{HashMap, HashSet};

/// Gives every candidate a name that is free and no Python builtin.
#[derive(Debug, Default)]
pub struct Namespace {
    used: HashSet<String>,
    /// By stem, the last number given out.
    counts: HashMap<String, u64>,
}

impl Namespace {
    /// A name for a value.
    pub fn create(&mut self, candidate: &str) -> String {
        self.create_with(candidate, is_builtin(candidate))
    }

    fn create_with(&mut self, candidate: &str, is_illegal: bool) -> String {
        let candidate = identifier(candidate);
        let (stem, number) = numbered(&candidate);
        let stem = stem.to_string();
        let mut name = candidate.to_string();
        let mut count = match number {
            Some(number) if !self.used.contains(&name) => number,
            _ => {
                let count = self.counts.get(&stem).copied().unwrap_or(0);
                if is_illegal {
                    name = format!("{stem}_{}", count + 1);
                }
                count + u64::from(is_illegal)
            }
        };
        while self.used.contains(&name) {
            count = count.saturating_add(1);
            name = format!("{stem}_{count}");
        }
        self.used.insert(name.clone());
        self.counts.insert(stem, count);
        name
    }
}

/// The candidate, its characters that Python allows in no name replaced.
fn identifier(candidate: &str) -> String {
    let is_legal = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if candidate.chars().all(is_legal) && candidate.starts_with(|c: char| !c.is_ascii_digit()) {
        return candidate.to_string();
    }
    let mut name = String::new();
    for c in candidate.chars() {
        if is_legal(c) {
            name.push(c);
        } else if !name.ends_with('\u{0}') {
            // A run of illegal characters is one `_`.
            name.push('\u{0}');
        }
    }
    let name = name.replace('\u{0}', "_");
    match name.chars().next() {
        None => "_unnamed".to_string(),
        Some(c) if c.is_ascii_digit() => format!("_{name}"),
        Some(_) => name,
    }
}

/// `add_12` as `add` and 12.
fn numbered(name: &str) -> (&str, Option<u64>) {
    let split = name
        .rsplit_once('_')
        .filter(|(stem, digits)| !stem.is_empty() && !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()));
    match split.and_then(|(stem, digits)| Some((stem, digits.parse().ok()?))) {
        Some((stem, number)) => (stem, Some(number)),
        None => (name, None),
    }
}

/// The names of a graph's nodes, and of the Python functions that they call, in its Python code.
pub(super) struct PythonNames<'g> {
    graph: &'g Graph,
    /// Where they are not the nodes' own.
    nodes: HashMap<NodeId, String>,
    functions: HashMap<&'g str, String>,
}

impl<'g> PythonNames<'g> {
    /// The names of a graph.
    pub(super) fn of(graph: &'g Graph) -> PythonNames<'g> {
        let mut namespace = Namespace::default();
        for global in GLOBALS {
            namespace.create_with(global, false);
        }
        let (mut nodes, mut functions) = (HashMap::new(), HashMap::new());
        for (id, node) in graph.nodes() {
            match &node.kind {
                NodeKind::CallFunction(op) if is_global(op) && !functions.contains_key(op.name()) => {
                    let name = namespace.create_with(&qualified(op), false);
                    functions.insert(op.name(), name);
                }
                NodeKind::Output => continue,
                _ => {}
            }
            let name = namespace.create(&node.name);
            if name != *node.name {
                nodes.insert(id, name);
            }
        }
        PythonNames { graph, nodes, functions }
    }
    /// The name of a node.
    pub(super) fn node(&self, id: NodeId) -> &str {
        match self.nodes.get(&id) {
            Some(name) => name,
            None => self.graph.get(id).map_or("<erased>", |node| &node.name),
        }
    }
    /// The name of what a call calls.
    pub(super) fn function(&self, op: &Op) -> String {
        self.functions.get(op.name()).cloned().unwrap_or_else(|| op.target())
    }
}

/// Python functions outside of `torch` are globals of the code, under names of their own; those with a symbol need
/// none.
fn is_global(op: &Op) -> bool {
    let namespace = op.namespace();
    op.is_python()
        && namespace != "torch"
        && (!namespace.starts_with("torch.")
            || ["torch._dynamo.", "torch._inductor."].iter().any(|p| namespace.starts_with(p)))
        && !(namespace == "_operator" && super::print::symbol(op).is_some())
}

fn qualified(op: &Op) -> String {
    if op.namespace() == "builtins" { op.short_name().to_string() } else { op.target() }
}

/// The Python function of a global's name, the reverse of [`PythonNames::function`]: `math_trunc` is `math.trunc`.
pub(super) fn global_target(name: &str) -> String {
    for module in ["math", "_operator"] {
        if let Some(function) = name.strip_prefix(module).and_then(|rest| rest.strip_prefix('_')) {
            return format!("{module}.{function}");
        }
    }
    format!("builtins.{name}")
}

/// What FX calls a node of this operator that has no name yet: its Python name in snake case, `_assert_scalar_default`.
pub fn fx_name(op: &Op) -> String {
    let target = op.target();
    let name = match target.strip_prefix("torch.ops.") {
        Some(rest) if !op.is_higher_order() => rest.split_once('.').map_or(rest, |(_, name)| name),
        _ => op.short_name(),
    };
    let name = name.strip_prefix("__").and_then(|name| name.strip_suffix("__")).unwrap_or(name);
    let mut snake = String::with_capacity(name.len());
    for c in name.chars() {
        if c.is_ascii_uppercase() && snake.ends_with(|last: char| last.is_ascii_lowercase()) {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
    }
    identifier(&snake)
}

/// What every graph's code has among its globals.
const GLOBALS: [&str; 7] = ["inf", "nan", "NoneType", "torch", "device", "fx_pytree", "pytree"];

/// True for Python's keywords, its builtins (those of Python 3.11) and the globals of every graph's code.
pub(super) fn is_builtin(name: &str) -> bool {
    GLOBALS.contains(&name) || BUILTINS.split_ascii_whitespace().any(|builtin| builtin == name)
}

const BUILTINS: &str = "\
    ArithmeticError AssertionError AttributeError BaseException BaseExceptionGroup BlockingIOError BrokenPipeError \
    BufferError BytesWarning ChildProcessError ConnectionAbortedError ConnectionError ConnectionRefusedError \
    ConnectionResetError DeprecationWarning EOFError Ellipsis EncodingWarning EnvironmentError Exception \
    ExceptionGroup False FileExistsError FileNotFoundError FloatingPointError FutureWarning GeneratorExit IOError \
    ImportError ImportWarning IndentationError IndexError InterruptedError IsADirectoryError KeyError \
    KeyboardInterrupt LookupError MemoryError ModuleNotFoundError NameError None NotADirectoryError NotImplemented \
    NotImplementedError OSError OverflowError PendingDeprecationWarning PermissionError ProcessLookupError \
    RecursionError ReferenceError ResourceWarning RuntimeError RuntimeWarning StopAsyncIteration StopIteration \
    SyntaxError SyntaxWarning SystemError SystemExit TabError TimeoutError True TypeError UnboundLocalError \
    UnicodeDecodeError UnicodeEncodeError UnicodeError UnicodeTranslateError UnicodeWarning UserWarning ValueError \
    Warning ZeroDivisionError __build_class__ __debug__ __doc__ __import__ __loader__ __name__ __package__ __spec__ \
    abs aiter all anext any ascii bin bool breakpoint bytearray bytes callable chr classmethod compile complex \
    copyright credits delattr dict dir divmod enumerate eval exec exit filter float format frozenset getattr globals \
    hasattr hash help hex id input int isinstance issubclass iter len license list locals map max memoryview min \
    next object oct open ord pow print property quit range repr reversed round set setattr slice sorted staticmethod \
    str sum super tuple type vars zip and as assert async await break class continue def del elif else except \
    finally for from global if import in is lambda nonlocal not or pass raise return try while with yield";
