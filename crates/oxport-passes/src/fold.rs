//! Computing once what depends on constants only.
//!
//! The constant part of a program is a program itself: it is cut out, run once, and its results become lifted
//! constants.
//!
//! | what bounds it | from |
//! |---|---|
//! | one result, and every value on the way to it | [`Budget::bytes`], the sizes in the metas |
//! | the growth of the program | twice the constants that results are made of, one by one and in sum |
//! | work | [`Budget::work`], the costs in the operators' rows |
//! | time | [`Budget::deadline`], where a row's cost is wrong |
//!
//! What depends on nothing but known sizes (positions, masks, tables of rotary embeddings) is constant, too.
//!
//! Laws: nothing that a call could observe changes, so memory that the program writes to is no constant; what cannot be
//! computed is left to the run, alone; a result is not stored where it is cheaper made (`zeros`, `expand`, a table that
//! two vectors span).

use oxport_ir::infer::{cost_of, is_exact};
use oxport_ir::storage::{open_to_writes, seen_values};
use oxport_ir::work::is_worth_its_room;
use oxport_ir::{
    Aliasing, Argument, Constant, Decomp, Device, Effect, Exact, ExportedProgram, Fake, Graph, InputKind, Kernel, Node,
    NodeId, NodeKind, OpDef, OutputKind, Result, StateTensor, Value,
};
use oxport_sym::ShapeEnv;
use oxport_tensor::{Layout, Tensor};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

/// How much folding may take.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// The largest value that may be made, in bytes.
    pub bytes: usize,
    /// Operations and bytes moved, by the costs of the operators.
    pub work: f64,
    /// When it ends, finished or not.
    pub deadline: Instant,
    /// Whether parameters and buffers that no call writes are constants; lifted constants always are.
    pub frozen: bool,
    /// Whether only operators are computed whose results are the same bits everywhere, in PyTorch too.
    pub exact: bool,
}

/// Runs a program without user inputs and gives its outputs; `None` if that fails, for whatever reason.
pub type Evaluate<'a> = &'a dyn Fn(&ExportedProgram) -> Option<Vec<Value>>;

/// What all results together may add to the program beside what they are made of.
const SLACK: usize = 64 << 10;

/// Replaces pure nodes whose inputs are all constants by lifted tensor constants, within a budget. They are named by
/// what they are made of (`qkv_weight`), or `_folded_0`, …. Gives the names of the nodes, each with that of its
/// constant.
///
/// # Errors
/// A law of the graph is broken.
pub fn fold_constants(
    program: &mut ExportedProgram,
    budget: &Budget,
    evaluate: Evaluate<'_>,
) -> Result<Vec<(Arc<str>, Arc<str>)>> {
    let constant = constant_nodes(program, budget);
    let frontier = frontier(program, &constant, budget);
    let mut results = Vec::with_capacity(frontier.len());
    compute(program, &constant, &frontier, budget, evaluate, &mut results)?;
    let mut lifting = Lifting::new(program);
    let mut folded = Vec::with_capacity(results.len());
    for (id, tensor) in &results {
        let Some(tensor) = as_recorded(program, *id, tensor) else { continue };
        let stem = crate::names::made_of(&sources(program, *id));
        let node = program.graph.node(*id).name.clone();
        folded.push((node, lifting.lift(program, *id, stem.as_deref().unwrap_or("_folded"), tensor)?));
    }
    crate::eliminate_dead(program);
    Ok(folded)
}

/// Computes what it can of a list of nodes: all at once, or what is left when a half of them fails.
fn compute(
    program: &ExportedProgram,
    constant: &HashMap<NodeId, Made>,
    frontier: &[NodeId],
    budget: &Budget,
    evaluate: Evaluate<'_>,
    results: &mut Vec<(NodeId, Tensor)>,
) -> Result<()> {
    if frontier.is_empty() || Instant::now() >= budget.deadline {
        return Ok(());
    }
    if let Some(values) = evaluate(&cut_out(program, constant, frontier)?) {
        results.extend(frontier.iter().zip(values).filter_map(|(id, v)| match v {
            Value::Tensor(t) => Some((*id, t)),
            _ => None,
        }));
    } else if frontier.len() > 1 {
        let (a, b) = frontier.split_at(frontier.len() / 2);
        compute(program, constant, a, budget, evaluate, results)?;
        compute(program, constant, b, budget, evaluate, results)?;
    }
    Ok(())
}

/// What a constant node is made of.
#[derive(Clone, Copy)]
struct Made {
    /// The bytes of the constants.
    sources: usize,
    /// The work of its call.
    own: f64,
    /// That of all calls, where those of what is used twice count twice.
    all: f64,
}

/// Placeholders that are filled by constants, and pure calls of nothing else, among them those of no tensors at all.
fn constant_nodes(program: &ExportedProgram, budget: &Budget) -> HashMap<NodeId, Made> {
    let mutated: HashSet<&Arc<str>> = program
        .signature
        .outputs
        .iter()
        .filter_map(|s| match &s.kind {
            OutputKind::BufferMutation(n) | OutputKind::ParameterMutation(n) => Some(n),
            _ => None,
        })
        .collect();
    let inputs: Vec<_> = program.graph.placeholders().zip(&program.signature.inputs).collect();
    let state = |kind: &InputKind| Some((program.lifted(kind)?, mutated.contains(kind.lifted()?)));
    let written: HashSet<usize> = inputs
        .iter()
        .filter_map(|(_, s)| state(&s.kind).filter(|(_, is_mutated)| *is_mutated))
        .map(|(s, _)| s.tensor.storage().id())
        .collect();
    let mut constant = HashMap::new();
    for ((id, _), spec) in &inputs {
        let Some((state, _)) = state(&spec.kind) else { continue };
        let is_constant = budget.frozen || matches!(spec.kind, InputKind::TensorConstant(_));
        if is_constant && !written.contains(&state.tensor.storage().id()) {
            let sources = state.tensor.numel().saturating_mul(state.tensor.dtype().size());
            constant.insert(*id, Made { sources, own: 0.0, all: 0.0 });
        }
    }
    let all: usize = constant.values().fold(0, |sum: usize, made| sum.saturating_add(made.sources));
    // Who is given a result may write to it: a constant would keep that, and a view of a buffer must stay one.
    let (seen, open) = (seen_values(&program.graph), open_to_writes(&program.graph));
    for (id, node) in program.graph.nodes() {
        let Some(op) = node.op() else { continue };
        // One that is made of others may be made of any number of them, but not what may be its operand (`to`).
        let is_open = |d: &OpDef| {
            matches!((d.kernel, d.decomp), (Kernel::None, Decomp::Fn(_))) && !matches!(d.aliasing, Aliasing::If(_))
        };
        let is_bounded = op.def().is_some_and(|d| !is_open(d));
        // What is as large as the data say has no size to bound.
        let is_bounded = is_bounded && !op.has_tag("dynamic_output_shape") && !op.has_tag("data_dependent_output");
        let is_random = op.def().is_some_and(|d| d.exact == Exact::Random);
        let is_exact = if budget.exact { is_exact(&program.graph, node, &program.env) } else { !is_random };
        let is_plain = node.effect() == Effect::Pure && !op.is_mutable() && !op.is_higher_order() && is_bounded;
        if !is_plain || !is_exact || seen.contains(&id) || open.contains(&id) || size_of(node) > budget.bytes {
            continue;
        }
        let inputs = node.inputs();
        // What other devices make is theirs.
        let is_here = |t: &&Fake| t.device.kind == Device::cpu().kind;
        if inputs.is_empty() && !node.val().is_some_and(|v| v.tensors().iter().all(is_here)) {
            continue;
        }
        let of: Option<Vec<Made>> = inputs.iter().map(|i| constant.get(i).copied()).collect();
        if let Some(of) = of {
            let own = work(&program.graph, &program.env, node);
            let sources = of.iter().fold(0, |sum: usize, made| sum.saturating_add(made.sources)).min(all);
            constant.insert(id, Made { sources, own, all: of.iter().fold(own, |sum, made| sum + made.all) });
        }
    }
    constant
}

/// The constant nodes that become constants of the program: those that something reads which is computed at every run,
/// and that are worth their place.
fn frontier(program: &ExportedProgram, constant: &HashMap<NodeId, Made>, budget: &Budget) -> Vec<NodeId> {
    let graph = &program.graph;
    let is_source = |id: NodeId| graph.node(id).kind == NodeKind::Placeholder;
    let all = constant
        .iter()
        .filter(|(id, _)| is_source(**id))
        .fold(0, |sum: usize, (_, made)| sum.saturating_add(made.sources));
    let mut left = (all.saturating_mul(2).saturating_add(SLACK), budget.work);
    let mut chosen = Vec::new();
    let (mut is_left, mut counted) = (HashSet::new(), HashSet::new());
    let ids: Vec<NodeId> = graph.ids().collect();
    for id in ids.into_iter().rev() {
        let Some(made) = constant.get(&id).filter(|_| !is_source(id)) else { continue };
        if !graph.users(id).keys().any(|u| !constant.contains_key(u) || is_left.contains(u)) {
            continue;
        }
        let node = graph.node(id);
        let bytes = size_of(node);
        let is_tensor = node.val().is_some_and(|v| v.as_tensor().is_some());
        // A view of a constant is made faster than found, and a call of no tensors costs less than what it would add to
        // the program.
        let is_dear = made.all > 0.0 && !node.inputs().is_empty();
        let has_room = bytes <= left.0 && is_worth_its_room(bytes as f64, made.sources as f64, made.all);
        let is_worth = is_tensor && is_dear && has_room;
        match is_worth.then(|| work_of(graph, constant, id, &mut counted, left.1)).flatten() {
            Some(work) => {
                left = (left.0 - bytes, left.1 - work);
                chosen.push(id);
            }
            None => drop(is_left.insert(id)),
        }
    }
    chosen.reverse();
    chosen
}

/// The work to compute a node, without what is counted already; `None` beyond a limit.
fn work_of(
    graph: &Graph,
    constant: &HashMap<NodeId, Made>,
    id: NodeId,
    counted: &mut HashSet<NodeId>,
    limit: f64,
) -> Option<f64> {
    let (mut open, mut sum, mut seen) = (vec![id], 0.0, Vec::new());
    while let Some(id) = open.pop() {
        let Some(made) = constant.get(&id).filter(|_| counted.insert(id)) else { continue };
        seen.push(id);
        sum += made.own;
        // Not a number is no work that is known.
        if !(sum <= limit) {
            for id in &seen {
                counted.remove(id);
            }
            return None;
        }
        open.extend(graph.node(id).inputs());
    }
    Some(sum)
}

/// Operations and bytes of a call, by its row.
fn work(graph: &Graph, env: &ShapeEnv, node: &Node) -> f64 {
    node.op().map_or(0.0, |_| cost_of(graph, node, env).map_or(f64::INFINITY, |cost| cost.flops + cost.bytes))
}

/// The program that computes the `frontier` from constants.
fn cut_out(
    program: &ExportedProgram,
    constant: &HashMap<NodeId, Made>,
    frontier: &[NodeId],
) -> Result<ExportedProgram> {
    let mut part = ExportedProgram::new(Graph::new(), Default::default(), program.env.clone());
    (part.state, part.constants) = (program.state.clone(), program.constants.clone());
    let kinds: HashMap<NodeId, &InputKind> =
        program.graph.placeholders().zip(&program.signature.inputs).map(|((id, _), s)| (id, &s.kind)).collect();
    let mut map: HashMap<NodeId, NodeId> = HashMap::new();
    for (id, node) in program.graph.nodes().filter(|(id, _)| constant.contains_key(id)) {
        let mut swap = |n: NodeId| Argument::Node(map[&n]);
        let mut copy = node.clone();
        copy.args = node.args.iter().map(|a| a.map_nodes(&mut swap)).collect();
        copy.kwargs = node.kwargs.map_nodes(&mut swap);
        map.insert(id, part.graph.append(copy)?);
        if let Some(kind) = kinds.get(&id) {
            part.signature.inputs.push((*kind).clone().into());
        }
    }
    let outputs = frontier.iter().map(|id| map[id].into()).collect();
    part.graph.append(Node::new("output", NodeKind::Output, outputs))?;
    part.signature.outputs = frontier.iter().map(|_| OutputKind::UserOutput.into()).collect();
    crate::eliminate_dead(&mut part);
    Ok(part)
}

/// A result with the strides that its node's meta says, where they differ in dimensions of one element only; `None`
/// where it lies otherwise.
fn as_recorded(program: &ExportedProgram, id: NodeId, tensor: &Tensor) -> Option<Tensor> {
    let recorded = program.graph.node(id).val().and_then(|v| v.as_tensor()?.concrete_layout());
    let Some(recorded) = recorded else { return Some(tensor.clone()) };
    let mut strides = tensor.strides().iter().zip(&recorded.strides).zip(tensor.sizes());
    let is_same = *tensor.sizes() == recorded.sizes[..] && strides.all(|((a, b), size)| a == b || *size <= 1);
    let offset = tensor.layout().offset;
    is_same.then(|| tensor.with_layout(Layout { offset, ..recorded }).ok()).flatten()
}

/// The names of the parameters, buffers and constants that a constant node is made of, in the order of the inputs.
fn sources(program: &ExportedProgram, id: NodeId) -> Vec<Arc<str>> {
    let graph = &program.graph;
    let (mut open, mut seen) = (vec![id], HashSet::new());
    while let Some(id) = open.pop() {
        if seen.insert(id) {
            open.extend(graph.node(id).inputs());
        }
    }
    let inputs = graph.placeholders().zip(&program.signature.inputs);
    inputs.filter(|((id, _), _)| seen.contains(id)).filter_map(|(_, spec)| spec.kind.lifted().cloned()).collect()
}

/// Takes parameters and buffers that nothing reads or writes out of the program; gives their names.
pub fn drop_unread(program: &mut ExportedProgram) -> Vec<String> {
    let written: HashSet<Arc<str>> = program
        .signature
        .outputs
        .iter()
        .filter_map(|s| match &s.kind {
            OutputKind::BufferMutation(n) | OutputKind::ParameterMutation(n) => Some(n.clone()),
            _ => None,
        })
        .collect();
    let ids: Vec<NodeId> = program.graph.placeholders().map(|(id, _)| id).collect();
    let is_unread = |id: &NodeId, kind: &InputKind| {
        let name = kind.lifted().filter(|_| program.lifted(kind).is_some())?;
        (program.graph.users(*id).is_empty() && !written.contains(name)).then(|| name.clone())
    };
    let unread: Vec<Option<Arc<str>>> =
        ids.iter().zip(&program.signature.inputs).map(|(id, spec)| is_unread(id, &spec.kind)).collect();
    for (id, _) in ids.iter().zip(&unread).filter(|(_, name)| name.is_some()) {
        // Nothing uses it.
        if program.graph.erase(*id).is_err() {
            return Vec::new();
        }
    }
    let mut is_kept = unread.iter().map(Option::is_none);
    program.signature.inputs.retain(|_| is_kept.next().unwrap_or(true));
    let kept: HashSet<Arc<str>> = program.signature.inputs.iter().filter_map(|s| s.kind.lifted().cloned()).collect();
    let dropped: Vec<Arc<str>> = unread.into_iter().flatten().filter(|name| !kept.contains(name)).collect();
    for name in &dropped {
        program.state.shift_remove(name);
        program.constants.shift_remove(name);
    }
    dropped.iter().map(ToString::to_string).collect()
}

/// The bytes of all storages that the program owns, each once.
pub fn stored_bytes(program: &ExportedProgram) -> usize {
    let mut seen = HashSet::new();
    let tensors = program.tensors().filter(|(_, t)| seen.insert(t.tensor.storage().id()));
    tensors.map(|(_, t)| t.tensor.storage().len_bytes()).fold(0, usize::saturating_add)
}

/// The bytes of a node's result, as far as its meta tells; sizes of 0 count as 1, since tables along the others are
/// made.
fn size_of(node: &Node) -> usize {
    let tensors = node.val().map(|v| v.tensors()).unwrap_or_default();
    let bytes = |t: &&Fake| {
        let mut sizes = t.sizes.iter().map(|s| usize::try_from(s.as_int()?.max(1)).ok());
        let count = sizes.try_fold(t.dtype.size(), |n, s| n.checked_mul(s?));
        count.unwrap_or(usize::MAX)
    };
    tensors.iter().map(bytes).fold(0, usize::saturating_add)
}

/// Where lifted constants go: before the user's inputs.
pub(crate) struct Lifting {
    at: usize,
    follower: Option<NodeId>,
    next: usize,
}

impl Lifting {
    pub fn new(program: &ExportedProgram) -> Lifting {
        let at = program.signature.inputs.iter().take_while(|s| !s.kind.is_user()).count();
        let follower = program.graph.placeholders().nth(at).map(|(f, _)| f);
        let is_call = |id: &NodeId| program.graph.node(*id).kind != NodeKind::Placeholder;
        Lifting { at, follower: follower.or_else(|| program.graph.ids().find(is_call)), next: 0 }
    }

    /// A tensor as a lifted constant `STEM_0`, …, that is used instead of a node; gives its name.
    pub fn lift(&mut self, program: &mut ExportedProgram, id: NodeId, stem: &str, tensor: Tensor) -> Result<Arc<str>> {
        let is_taken = |n: &str| program.constants.contains_key(n) || program.state.contains_key(n);
        // A stem that says what it is needs no number, if it is the only one.
        let name: Arc<str> = if stem.starts_with('_') || is_taken(stem) {
            let found = (self.next..).map(|i| (i, format!("{stem}_{i}"))).find(|(_, n)| !is_taken(n));
            let (i, name) = found.expect("law: there are more numbers than constants");
            self.next = if stem.starts_with('_') { i } else { self.next };
            name.into()
        } else {
            stem.into()
        };
        let plain = name.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
        let mut node = Node::new(program.graph.unique_name(&format!("c_{plain}")), NodeKind::Placeholder, Vec::new());
        node.meta.val = program.graph.node(id).val().cloned();
        let new = match self.follower {
            Some(f) => program.graph.insert_before(f, node)?,
            None => program.graph.append(node)?,
        };
        program.graph.replace_all_uses(id, new);
        program.signature.inputs.insert(self.at, InputKind::TensorConstant(name.clone()).into());
        program.constants.insert(name.clone(), Constant::Tensor(StateTensor::new(tensor, false)));
        self.at += 1;
        Ok(name)
    }
}
