//! Which results share a storage, as text: equal texts, equal sharing.
//!
//! ```text
//! y = relu(x); return y, y.view(-1), x.t(), x.reshape(-1)      f0 f0 i7 u…
//! ```
//!
//! A storage that nobody else sees is fresh, whether it was made by the call or by one that handed it on. Where an
//! operator decides by sizes that are not known whether it copies, the text has a hash of the operator and of
//! what it was given.
//!
//! Law: two programs with equal texts let their callers see the same storages behind the same results, up to offsets
//! within them.

use super::Refusal;
use super::closure::TermId;
use super::program::{Terms, type_text};
use super::store::Store;
use crate::kind::Kind;
use oxport_ir::infer::bind_with;
use oxport_ir::storage::{Sharing, sharing};
use oxport_ir::{
    Arg, Argument, Build, Effect, ExportedProgram, FromArg, Graph, InputKind, Node, NodeId, NodeKind, OutputKind, Sym,
    Val,
};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_128;

/// Whose storage a value lies in.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Key {
    /// That of an input.
    Input(TermId),
    /// One that a call made, for its result of this index.
    Made(usize, i64),
    /// That of an argument or another one, which the call decides.
    Unclear(String, Vec<usize>),
}

/// Interned keys.
#[derive(Default)]
struct Keys {
    all: Vec<Key>,
    ids: HashMap<Key, usize>,
}

impl Keys {
    fn add(&mut self, key: Key) -> usize {
        let next = self.all.len();
        *self.ids.entry(key.clone()).or_insert_with(|| {
            self.all.push(key);
            next
        })
    }
    /// A key and those that it is made of, each once, in the order in which they are met.
    fn parts(&self, key: usize) -> Vec<usize> {
        let (mut open, mut parts, mut seen) = (vec![key], Vec::new(), HashSet::new());
        while let Some(key) = open.pop() {
            if seen.insert(key) {
                parts.push(key);
                if let Key::Unclear(_, of) = &self.all[key] {
                    open.extend(of.iter().rev());
                }
            }
        }
        parts
    }
    /// The inputs and made storages that a key may be.
    fn bases(&self, key: usize) -> Vec<usize> {
        let is_base = |key: &usize| !matches!(&self.all[*key], Key::Unclear(_, of) if !of.is_empty());
        self.parts(key).into_iter().filter(is_base).collect()
    }
}

/// The sharing of a graph's outputs and of what calls with effects are given, in order.
pub(crate) fn of(store: &Store<'_>, graph: &Graph, terms: &Terms) -> Vec<String> {
    let mut keys = Keys::default();
    let mut of_node: HashMap<NodeId, usize> = HashMap::new();
    for (id, node) in graph.nodes() {
        let key = key(store, graph, terms, (id, node), &of_node, &mut keys);
        of_node.insert(id, key);
    }
    let mut seen: Vec<usize> = Vec::new();
    let mut see = |a: &Argument| {
        a.for_each_node(&mut |n| {
            if graph.node(n).val().is_some_and(Val::has_tensors) {
                seen.extend(of_node.get(&n));
            }
        });
    };
    graph.outputs().iter().for_each(&mut see);
    for id in &terms.effect_nodes {
        let node = graph.node(*id);
        if !matches!(node.effect(), Effect::Random | Effect::Assert) || node.op().is_some_and(|op| op.is_mutable()) {
            node.args.iter().chain(node.kwargs.values()).for_each(&mut see);
        }
    }
    texts(&keys, &seen)
}

/// Keys as text: what is made is numbered as it is met.
fn texts(keys: &Keys, seen: &[usize]) -> Vec<String> {
    let distinct: BTreeSet<usize> = seen.iter().copied().collect();
    let mut sharers: HashMap<usize, usize> = HashMap::new();
    for base in distinct.iter().flat_map(|&k| keys.bases(k)) {
        *sharers.entry(base).or_insert(0) += 1;
    }
    let is_own = |base: &usize| !matches!(keys.all[*base], Key::Input(_)) && sharers.get(base) == Some(&1);
    let is_private = |key: &usize| distinct.contains(key) && keys.bases(*key).iter().all(is_own);
    let private: HashSet<usize> = distinct.iter().copied().filter(is_private).collect();
    // What is met first has the lowest number.
    let mut labels: HashMap<usize, String> = HashMap::new();
    let mut made = 0;
    for key in seen.iter().flat_map(|&k| if private.contains(&k) { vec![k] } else { keys.parts(k) }) {
        let is_numbered = private.contains(&key) || matches!(keys.all[key], Key::Made(..));
        if is_numbered && !labels.contains_key(&key) {
            labels.insert(key, format!("f{made}"));
            made += 1;
        }
    }
    // What a key is made of comes before it.
    for (key, what) in keys.all.iter().enumerate() {
        let label = match what {
            _ if labels.contains_key(&key) => continue,
            Key::Input(term) => format!("i{term}"),
            Key::Made(..) => continue,
            Key::Unclear(name, of) => {
                let of: Vec<&str> = of.iter().filter_map(|k| labels.get(k)).map(String::as_str).collect();
                format!("u{:032x}", xxh3_128(format!("{name} {}", of.join(" ")).as_bytes()))
            }
        };
        labels.insert(key, label);
    }
    seen.iter().map(|key| labels.get(key).cloned().unwrap_or_default()).collect()
}

fn key(
    store: &Store<'_>,
    graph: &Graph,
    terms: &Terms,
    (id, node): (NodeId, &Node),
    of_node: &HashMap<NodeId, usize>,
    keys: &mut Keys,
) -> usize {
    let made = |keys: &mut Keys| keys.add(Key::Made(id.index(), 0));
    let Some(op) = node.op() else {
        let term = terms.values.get(&id).filter(|_| node.kind == NodeKind::Placeholder);
        return match term {
            Some(&term) => keys.add(Key::Input(term)),
            None => made(keys),
        };
    };
    let of_first = node.first_input().and_then(|n| of_node.get(&n).copied());
    if let Some((of, index)) = node.getitem() {
        return match of_node.get(&of).map(|&k| (k, keys.all[k].clone())) {
            // Each result of a call lies apart.
            Some((_, Key::Made(call, _))) if call == of.index() => keys.add(Key::Made(call, index + 1)),
            Some((k, Key::Unclear(..))) => keys.add(Key::Unclear(format!("[{index}]"), vec![k])),
            Some((k, _)) => k,
            None => made(keys),
        };
    }
    match sharing(node) {
        Sharing::Own => made(keys),
        Sharing::View => of_first.unwrap_or_else(|| made(keys)),
        Sharing::Unclear => match (decides(store, graph, terms, id, node), of_first) {
            (Some(true), Some(first)) => first,
            (Some(false), _) => made(keys),
            _ => {
                let tensors = |n: &NodeId| graph.node(*n).val().is_some_and(Val::has_tensors);
                let of = node.inputs().iter().filter(|n| tensors(n)).filter_map(|n| of_node.get(n).copied()).collect();
                // Calls of equal values decide alike. Classes change while subgraphs are read.
                let value = terms.values.get(&id).filter(|_| terms.is_top).map(|&t| store.closure.find(t));
                keys.add(Key::Unclear(format!("{}:{} {value:?}", op.name(), type_text(node.val())), of))
            }
        },
    }
}

/// Whether a call hands its first argument on, where that does not depend on the sizes of the call.
fn decides(store: &Store<'_>, graph: &Graph, terms: &Terms, id: NodeId, node: &Node) -> Option<bool> {
    let op = node.op()?;
    let values = bind_with::<Build>(op, &node.args, &node.kwargs, &mut |id| {
        Ok(match graph.node(id).val() {
            Some(Val::Int(_)) => Arg::Int(Sym::Sym(id)),
            Some(Val::Float(_)) => Arg::Float(Sym::Sym(id)),
            Some(Val::Bool(_)) => Arg::Bool(Sym::Sym(id)),
            _ => Arg::Tensor(id),
        })
    });
    let arguments: Vec<Argument> =
        values.ok()?.iter().map(<Argument as FromArg<'_, Build>>::from_arg).collect::<Option<_>>()?;
    let value = *terms.values.get(&id)?;
    let decides = |of: &dyn Fn(TermId) -> Kind| {
        let kinds: Vec<Kind> = arguments.iter().map(|a| kind_of(of, terms, a)).collect::<Option<_>>()?;
        store.types.is_alias(op, &kinds.iter().collect::<Vec<&Kind>>(), &of(value))
    };
    let recorded = decides(&|id| store.kind(id).clone())?;
    (decides(&|id| store.laid(id).clone())? == recorded).then_some(recorded)
}

fn kind_of(of: &dyn Fn(TermId) -> Kind, terms: &Terms, a: &Argument) -> Option<Kind> {
    Some(match a {
        Argument::Node(n) => of(*terms.values.get(n)?),
        Argument::List(l) => Kind::List(l.iter().map(|a| kind_of(of, terms, a)).collect::<Option<_>>()?),
        constant => Kind::Const(crate::constant::Constant::of(constant)?),
    })
}

/// An error unless writing to the state of both programs changes the same tensors: those that share a storage with what
/// is written.
pub(crate) fn same_writes(a: &ExportedProgram, b: &ExportedProgram) -> Result<(), Refusal> {
    let kinds = |p: &ExportedProgram| -> Vec<InputKind> {
        p.signature.inputs.iter().map(|s| s.kind.clone()).filter(|k| k.lifted().is_some()).collect()
    };
    let (in_a, in_b) = (kinds(a), kinds(b));
    for written in written(b) {
        let place = |p: &ExportedProgram, kinds: &[InputKind], of: &InputKind| {
            let target = kinds.iter().find(|k| k.lifted() == Some(written)).and_then(|k| p.lifted(k));
            let of = kinds.iter().find(|k| *k == of).and_then(|k| p.lifted(k));
            let (target, of) = (&target?.tensor, &of?.tensor);
            let shared = target.storage().same_storage(of.storage());
            shared.then(|| of.layout().offset.wrapping_sub(target.layout().offset))
        };
        if let Some(kind) = in_b.iter().find(|kind| place(a, &in_a, kind) != place(b, &in_b, kind)) {
            let name = kind.lifted().map_or("", |name| &**name);
            return Err(format!("writing to `{written}` changes `{name}` in one program only"));
        }
    }
    Ok(())
}

/// The names of the parameters and buffers that a program writes to when all is computed.
pub(crate) fn written(program: &ExportedProgram) -> impl Iterator<Item = &Arc<str>> {
    program.signature.outputs.iter().filter_map(|s| match &s.kind {
        OutputKind::BufferMutation(name) | OutputKind::ParameterMutation(name) => Some(name),
        _ => None,
    })
}
