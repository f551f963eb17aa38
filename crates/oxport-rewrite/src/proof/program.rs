//! A program's nodes as terms.
//!
//! | node | term |
//! |---|---|
//! | a pure call that its operator's meta function types as recorded | the call, every argument of its schema |
//! | any other pure call | a call of a name that no rule knows, over its arguments, and of its recorded type |
//! | a random, asserting, writing or unknown call | likewise, with its place among these |
//! | an operand that is read past its elements | the storage that it lies in, by the views that lead there |
//! | a subgraph | what it gives over its inputs, its effects and the storages of its results |
//! | a state tensor of the second program | that of the first, if its elements are the same, else a constant |
//!
//! Law: equal terms are equal values, whatever the inputs and the state of the generator at the call.

use super::Refusal;
use super::alias;
use super::closure::TermId;
use super::store::{Head, Store};
use crate::constant::Constant;
use crate::kind::{Kind, binds_symbols, follows, same_sizes, same_type};
use oxport_ir::infer::{assertion, bind_with};
use oxport_ir::storage::{Sharing, open_to_writes, sharing};
use oxport_ir::{
    Arg, Argument, Assertion, Build, Effect, ExportedProgram, Graph, InputKind, Node, NodeId, NodeKind, Op, Sym, Val,
};
use oxport_tensor::Tensor;
use std::collections::{HashMap, HashSet};
use std::fmt::Write;
use std::sync::Arc;

/// How deep subgraphs may be.
const MAX_DEPTH: u32 = 64;

/// The terms of a graph.
#[derive(Default)]
pub(crate) struct Terms {
    /// The value of each node.
    pub values: HashMap<NodeId, TermId>,
    /// The storage of each node whose storage an operator reads.
    storages: HashMap<NodeId, TermId>,
    /// What is asserted, drawn and done, in order.
    pub effects: Vec<TermId>,
    /// The nodes that do it.
    pub effect_nodes: Vec<NodeId>,
    /// The nodes that an operator which is not known may change: each is a call of its own, in order.
    open: HashSet<NodeId>,
    /// What the graph gives.
    pub outputs: Vec<TermId>,
    /// Whether it is the graph of a program.
    pub is_top: bool,
}

impl Terms {
    /// The first node that has a term as its value.
    pub fn node_of(&self, term: TermId) -> Option<NodeId> {
        self.values.iter().filter(|(_, t)| **t == term).map(|(id, _)| *id).min()
    }
}

/// The first program, of which the second one's inputs are.
pub(crate) struct First<'a> {
    pub program: &'a ExportedProgram,
    /// The nodes by what fills them: the places of the user's inputs, and the names of state tensors.
    lifted: HashMap<&'a str, (Arc<str>, &'a InputKind)>,
    users: Vec<Arc<str>>,
}

impl<'a> First<'a> {
    pub fn of(program: &'a ExportedProgram) -> First<'a> {
        let (mut lifted, mut users) = (HashMap::new(), Vec::new());
        for ((_, node), spec) in program.graph.placeholders().zip(&program.signature.inputs) {
            match spec.kind.lifted() {
                Some(name) => drop(lifted.insert(&**name, (node.name.clone(), &spec.kind))),
                None => users.push(node.name.clone()),
            }
        }
        First { program, lifted, users }
    }
}

/// The terms of the first program.
///
/// # Errors
/// It is too large.
pub(crate) fn first(store: &mut Store<'_>, program: &ExportedProgram) -> Result<Terms, Refusal> {
    let heads = program.graph.placeholders().map(|(_, n)| Head::Input(n.name.clone())).collect();
    graph(store, &program.graph, heads, 0)
}

/// The terms of the second program.
///
/// # Errors
/// It is too large, or takes other inputs than the first.
pub(crate) fn second(store: &mut Store<'_>, first: &First<'_>, program: &ExportedProgram) -> Result<Terms, Refusal> {
    let mut heads = Vec::new();
    let mut users = first.users.iter();
    for ((_, node), spec) in program.graph.placeholders().zip(&program.signature.inputs) {
        heads.push(match spec.kind.lifted() {
            None => match users.next() {
                Some(name) if *name == node.name => Head::Input(name.clone()),
                _ => return Err(format!("the input `{}` is not where it was", node.name)),
            },
            Some(name) => match first.lifted.get(&**name) {
                Some((node, kind)) if is_same_state(first.program, program, kind, &spec.kind) => {
                    Head::Input(node.clone())
                }
                _ => Head::Constant(name.clone()),
            },
        });
    }
    match users.next() {
        Some(name) => Err(format!("the input `{name}` is missing")),
        None => graph(store, &program.graph, heads, 0),
    }
}

/// True if both programs have the same tensor under a name, to the bit, or the same object.
fn is_same_state(a: &ExportedProgram, b: &ExportedProgram, kind: &InputKind, other: &InputKind) -> bool {
    if kind != other {
        return false;
    }
    match (a.lifted(kind), b.lifted(other)) {
        (Some(x), Some(y)) => {
            let is_plain = x.subclass.is_none() && y.subclass.is_none();
            let (mut face, mut other) = (x.face().clone(), y.face().clone());
            (face.offset, other.offset) = (0, 0);
            is_plain && x.device == y.device && face == other && same_bits(&x.tensor, &y.tensor)
        }
        (None, None) => match kind.lifted().map(|name| (a.constants.get(name), b.constants.get(name))) {
            Some((Some(x), Some(y))) => match (x, y) {
                (oxport_ir::Constant::Opaque { bytes: x, .. }, oxport_ir::Constant::Opaque { bytes: y, .. }) => x == y,
                _ => false,
            },
            // Nothing fills it in either program.
            Some((None, None)) => true,
            _ => false,
        },
        _ => false,
    }
}

/// True if two tensors have the same dtype, sizes and elements, to the bit.
pub(crate) fn same_bits(a: &Tensor, b: &Tensor) -> bool {
    if a.dtype() != b.dtype() || a.sizes() != b.sizes() {
        return false;
    }
    if a.storage().same_storage(b.storage()) && a.layout() == b.layout() {
        return true;
    }
    let (Ok(a), Ok(b)) = (a.contiguous(), b.contiguous()) else { return false };
    a.bytes().is_some() && a.bytes() == b.bytes()
}

fn graph(store: &mut Store<'_>, graph: &Graph, heads: Vec<Head>, depth: u32) -> Result<Terms, Refusal> {
    if depth > MAX_DEPTH {
        return Err("subgraphs are too deep".to_string());
    }
    let mut terms = Terms { is_top: depth == 0, open: open_to_writes(graph), ..Terms::default() };
    let mut heads = heads.into_iter();
    let reads_storage = graph.nodes().any(|(_, n)| n.op().is_some_and(reads_storage));
    for (id, node) in graph.nodes() {
        let value = match &node.kind {
            NodeKind::Placeholder => {
                let head = heads.next().ok_or("an input without a meaning")?;
                let kind = kind_of(node);
                let before = store.closure.find_term(&head, &[]);
                let term = store.known(head, &[], kind.clone(), true);
                if before.is_some() && !alike(store, store.kind(term), &kind) {
                    return Err(format!("the input `{}` is of another type", node.name));
                }
                term
            }
            NodeKind::Output => {
                let outputs: Result<Vec<TermId>, Refusal> =
                    node.args.iter().map(|a| argument(store, &terms.values, a)).collect();
                terms.outputs = outputs?;
                continue;
            }
            NodeKind::GetAttr(_) => match graph.subgraph_of(id) {
                Some(sub) => subgraph(store, sub, depth + 1)?,
                None => return Err(format!("`{}` names no subgraph", node.name)),
            },
            NodeKind::CallFunction(op) => match followed(store, graph, &terms, node, op) {
                // The recorded value is of the same type, and may say it in the program's own words.
                Some(Followed { term: Some((head, args)), laid, is_certain })
                    if node.effect() == Effect::Pure && !binds_symbols(graph, node) && !terms.open.contains(&id) =>
                {
                    store.known_laid(head, &args, (kind_of(node), laid), is_certain)
                }
                called => {
                    let (laid, is_certain) = called.map_or((None, false), |called| (called.laid, called.is_certain));
                    other_call(store, graph, &mut terms, (id, node, op), (laid, is_certain))?
                }
            },
        };
        terms.values.insert(id, value);
        if reads_storage {
            let storage = storage(store, &terms, graph, id, value)?;
            terms.storages.insert(id, storage);
        }
    }
    Ok(terms)
}

/// True for operators that read what lies behind the elements of a tensor.
fn reads_storage(op: &Op) -> bool {
    op.def().is_some_and(|d| d.reads_storage)
}

/// The recorded type of a node.
fn kind_of(node: &Node) -> Kind {
    node.val().map_or(Kind::Unknown, Kind::recorded)
}

fn alike(store: &Store<'_>, a: &Kind, b: &Kind) -> bool {
    matches!((a, b), (Kind::Unknown, Kind::Unknown)) || same_type(&store.types.env, a, b)
}

/// What inference makes of a call that it follows, strides aside.
struct Followed {
    /// Head and arguments, if the strides are those that were recorded, too.
    term: Option<(Head, Vec<TermId>)>,
    /// The type in the strides that kernels give, if these are others.
    laid: Option<Kind>,
    /// Whether its sizes are certain.
    is_certain: bool,
}

fn followed(store: &mut Store<'_>, graph: &Graph, terms: &Terms, node: &Node, op: &Op) -> Option<Followed> {
    if op.is_mutable() || op.is_higher_order() {
        return None;
    }
    let args: Vec<TermId> = if op.is_getitem() {
        let (of, index) = node.getitem()?;
        vec![*terms.values.get(&of)?, store.constant(Constant::Int(index))]
    } else {
        op.schema().filter(|s| !s.is_vararg)?;
        let bound = bind_with::<Build>(op, &node.args, &node.kwargs, &mut |id| {
            Ok(match graph.node(id).val() {
                Some(Val::Int(_)) => Arg::Int(Sym::Sym(id)),
                Some(Val::Float(_)) => Arg::Float(Sym::Sym(id)),
                Some(Val::Bool(_)) => Arg::Bool(Sym::Sym(id)),
                _ => Arg::Tensor(id),
            })
        });
        let arguments: Vec<Argument> =
            bound.ok()?.iter().map(<Argument as oxport_ir::FromArg<'_, Build>>::from_arg).collect::<Option<_>>()?;
        let values = if reads_storage(op) { &terms.storages } else { &terms.values };
        arguments.iter().map(|a| argument(store, values, a).ok()).collect::<Option<_>>()?
    };
    let kinds: Vec<&Kind> = args.iter().map(|&a| store.kind(a)).collect();
    let head = Head::Call(op.name().into());
    let recorded = kind_of(node);
    let known = store.closure.find_term(&head, &args);
    let is_followed = |kind: &Kind| follows(&store.types.env, kind, &recorded);
    if known.is_some_and(|term| is_followed(store.kind(term))) {
        return Some(Followed { term: Some((head, args)), laid: None, is_certain: false });
    }
    let inferred = store.types.call_as(op.name(), &kinds, &recorded)?;
    let (laid, stays) = store.laid_call(op.name(), &args, &inferred.kind, &recorded);
    let is_certain = inferred.is_certain && stays;
    if known.is_none() && is_followed(&inferred.kind) {
        return Some(Followed { term: Some((head, args)), laid, is_certain });
    }
    // Kernels lay it otherwise than it was recorded.
    let is_like = same_sizes(&store.types.env, &recorded, &inferred.kind);
    is_like.then(|| Followed { term: None, laid: laid.or(Some(inferred.kind)), is_certain })
}

/// A call that no rule knows: equal to those of the same arguments and type, and of the same place if it is not pure.
fn other_call(
    store: &mut Store<'_>,
    graph: &Graph,
    terms: &mut Terms,
    (id, node, op): (NodeId, &Node, &Op),
    (laid, is_certain): (Option<Kind>, bool),
) -> Result<TermId, Refusal> {
    let is_pure = node.effect() == Effect::Pure && !op.is_mutable() && !terms.open.contains(&id);
    let is_proven = || {
        let asserted = assertion(graph, node, &store.types.env);
        matches!(asserted, Assertion::Holds(c) if c.as_bool() == Some(true))
    };
    let is_effect = !is_pure && !(node.effect() == Effect::Assert && is_proven());
    let mut name = format!("!{}:{}", op.name(), type_text(node.val()));
    if is_effect {
        let _ = write!(name, " #{}", terms.effects.len());
    }
    for keyword in node.kwargs.keys() {
        let _ = write!(name, " {keyword}=");
    }
    let mut args = Vec::new();
    for a in node.args.iter().chain(node.kwargs.values()) {
        args.push(any_argument(store, terms, a, 0)?);
    }
    let term = store.known_laid(Head::Call(name.into()), &args, (kind_of(node), laid), is_certain);
    if is_effect {
        terms.effects.push(term);
        terms.effect_nodes.push(id);
    }
    Ok(term)
}

/// An argument of an operator with a schema.
fn argument(store: &mut Store<'_>, values: &HashMap<NodeId, TermId>, a: &Argument) -> Result<TermId, Refusal> {
    match a {
        Argument::Node(n) => values.get(n).copied().ok_or_else(|| "a value is used before it is computed".to_string()),
        Argument::List(l) => {
            let items = l.iter().map(|a| argument(store, values, a)).collect::<Result<Vec<TermId>, Refusal>>()?;
            store.list(&items)
        }
        constant => {
            let constant = Constant::of(constant).ok_or("an argument that is no constant")?;
            Ok(store.constant(constant))
        }
    }
}

/// An argument of any call: lists of lists and dictionaries are calls of their own.
fn any_argument(store: &mut Store<'_>, terms: &Terms, a: &Argument, depth: u32) -> Result<TermId, Refusal> {
    if depth > MAX_DEPTH {
        return Err("arguments are too deep".to_string());
    }
    let (name, items): (String, Vec<&Argument>) = match a {
        Argument::List(l) => ("![]".to_string(), l.iter().collect()),
        Argument::Dict(d) => {
            let keys: Vec<&str> = d.keys().map(|k| &**k).collect();
            (format!("!{keys:?}"), d.values().collect())
        }
        Argument::Node(_) => return argument(store, &terms.values, a),
        other => match Constant::of(other) {
            Some(constant) => return Ok(store.constant(constant)),
            None => (format!("!{}", oxport_ir::print::argument(&Graph::new(), other)), Vec::new()),
        },
    };
    let items = items
        .into_iter()
        .map(|a| any_argument(store, terms, a, depth + 1))
        .collect::<Result<Vec<TermId>, Refusal>>()?;
    // It has no sizes but those of its items.
    Ok(store.known(Head::Call(name.into()), &items, Kind::Unknown, true))
}

/// The storage of a node's value: that of an input, one that a call made, or a view of another.
fn storage(store: &mut Store<'_>, terms: &Terms, graph: &Graph, id: NodeId, value: TermId) -> Result<TermId, Refusal> {
    let node = graph.node(id);
    let Some(op) = node.op().filter(|_| node.val().is_some_and(Val::has_tensors)) else { return Ok(value) };
    let prefix = match sharing(node) {
        Sharing::Own => return Ok(store.storage(value)),
        Sharing::View => "!view",
        Sharing::Unclear => "!storage",
    };
    let mut name = format!("{prefix} {}:{}", op.name(), type_text(node.val()));
    let mut items = Vec::new();
    let first = node.first_input();
    let by_name = node.kwargs.iter().map(|(k, a)| (&**k, a));
    for (keyword, a) in node.args.iter().map(|a| ("", a)).chain(by_name) {
        let _ = write!(name, " {keyword}");
        items.push(match a {
            Argument::Node(n) if Some(*n) == first || prefix == "!storage" => {
                terms.storages.get(n).copied().ok_or("a value is used before it is computed")?
            }
            other => any_argument(store, terms, other, 0)?,
        });
    }
    let kind = store.kind(value).clone();
    Ok(store.known(Head::Call(name.into()), &items, kind, false))
}

/// A subgraph: what it gives, does and hands on, over its inputs.
fn subgraph(store: &mut Store<'_>, sub: &Graph, depth: u32) -> Result<TermId, Refusal> {
    let mut name = "!graph".to_string();
    let mut heads = Vec::new();
    for (i, (_, node)) in (0u32..).zip(sub.placeholders()) {
        let ty: Arc<str> = type_text(node.val()).into();
        let _ = write!(name, " {ty}");
        heads.push(Head::Bound(depth, i, ty));
    }
    let terms = graph(store, sub, heads, depth)?;
    let shared = alias::of(store, sub, &terms);
    let _ = write!(name, " {} {}", terms.effects.len(), shared.join(" "));
    let kids: Vec<TermId> = terms.effects.iter().chain(&terms.outputs).copied().collect();
    Ok(store.known(Head::Call(name.into()), &kids, Kind::Unknown, false))
}

/// The type of a value as text.
pub(crate) fn type_text(val: Option<&Val>) -> String {
    match val {
        None => "?".to_string(),
        Some(Val::Tensor(t)) => format!("{}{:?}{:?}{}", t.dtype.name(), texts(&t.sizes), texts(&t.strides), t.device),
        Some(Val::List(l)) => {
            let items: Vec<String> = l.iter().map(|v| type_text(Some(v))).collect();
            format!("[{}]", items.join(","))
        }
        Some(other) => format!("{other:?}"),
    }
}

fn texts(sizes: &[oxport_sym::Expr]) -> Vec<String> {
    sizes.iter().map(ToString::to_string).collect()
}
