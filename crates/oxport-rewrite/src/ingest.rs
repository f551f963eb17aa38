//! From the program's graph into the e-graph.
//!
//! Pure calls that inference can type become terms; everything else (placeholders, random and asserting nodes,
//! higher-order operators, calls whose recorded meta is not what their operator gives, values that an operator which is
//! not known may write to) becomes a leaf, and stays as it is.
//!
//! Law: a value in a storage that somebody sees is a class of its own, around the class of its term. Rules rewrite the
//! term; they cannot make two storages one, nor one that was made here an input's.

use crate::cost::Model;
use crate::kind::{binds_symbols, follows, same_sizes};
use crate::term::{Constant, Term};
use crate::typing::{Data, Graph, Kind, Typing, type_as};
use egg::Id;
use oxport_ir::infer::{assertion, bind_with};
use oxport_ir::storage::{Sharing, made_by, open_to_writes, seen_places, sees_storage, sharing};
use oxport_ir::{
    Arg, Argument, Assertion, Build, Effect, ExportedProgram, InputKind, Node, NodeId, NodeKind, Op, Registry, Sym, Val,
};
use rustc_hash::FxHashMap;

/// The e-graph of a program, and which class each node is in.
pub(crate) struct Ingested<'r> {
    pub egraph: Graph<'r>,
    /// What users of the node refer to.
    pub class_of: FxHashMap<NodeId, Id>,
    /// The class of its term: the same, unless its storage is its own.
    pub term_class_of: FxHashMap<NodeId, Id>,
    /// The term of each rewritten node, as it was added.
    pub term_of: FxHashMap<NodeId, Term>,
    /// The nodes by their indices, which leaves name.
    pub node_at: FxHashMap<u32, NodeId>,
}

impl Ingested<'_> {
    /// The class of what a node reads: who computes from a value sees no storage; who hands it on, or sees it, is given
    /// the one that is its own.
    pub fn read_by(&self, node: &Node, input: NodeId) -> Option<Id> {
        let classes = if computes(node) { &self.term_class_of } else { &self.class_of };
        classes.get(&input).copied()
    }

    /// The classes that the node of an index reads.
    pub fn reads(&self, program: &ExportedProgram, index: u32) -> Vec<Id> {
        let node = self.node_at.get(&index).map(|id| program.graph.node(*id));
        node.map_or_else(Vec::new, |node| node.inputs().into_iter().filter_map(|n| self.read_by(node, n)).collect())
    }

    /// The classes that the call reads which made the storage of the node of an index, and the views of it.
    pub fn reads_apart(&self, program: &ExportedProgram, index: u32) -> Vec<Id> {
        let graph = &program.graph;
        let Some((maker, views)) = self.node_at.get(&index).map(|id| made_by(graph, *id)) else { return Vec::new() };
        let mut read = self.reads(program, maker.index() as u32);
        for (view, of) in views {
            let node = graph.node(view);
            read.extend(node.inputs().into_iter().filter(|n| *n != of).filter_map(|n| self.read_by(node, n)));
        }
        read
    }

    /// The first node in each class, by the class as it is now.
    pub fn first_nodes(&self, program: &ExportedProgram) -> FxHashMap<Id, NodeId> {
        let mut first = FxHashMap::default();
        for id in program.graph.ids() {
            for classes in [&self.class_of, &self.term_class_of] {
                if let Some(class) = classes.get(&id) {
                    first.entry(self.egraph.find(*class)).or_insert(id);
                }
            }
        }
        first
    }
}

/// True for a call whose result is memory of its own, and that reads the elements of its arguments only.
fn computes(node: &Node) -> bool {
    sharing(node) == Sharing::Own && !sees_storage(node)
}

pub(crate) fn ingest<'r>(program: &ExportedProgram, registry: &'r Registry, model: &Model) -> Ingested<'r> {
    let graph = &program.graph;
    let egraph = Graph::new(Typing::new(registry, program.env.clone(), model.exact_folds));
    let mut into = Ingested {
        egraph,
        class_of: FxHashMap::default(),
        term_class_of: FxHashMap::default(),
        term_of: FxHashMap::default(),
        node_at: graph.ids().map(|id| (id.index() as u32, id)).collect(),
    };
    let (seen, open) = (seen_places(graph), open_to_writes(graph));
    let statics: Vec<NodeId> = graph
        .placeholders()
        .zip(&program.signature.inputs)
        .filter(|(_, s)| model.frozen || matches!(s.kind, InputKind::TensorConstant(_)))
        .filter(|(_, s)| program.lifted(&s.kind).is_some() && !is_mutated(program, &s.kind))
        .map(|((id, _), _)| id)
        .collect();
    for (id, node) in graph.nodes() {
        if node.kind == NodeKind::Output {
            continue;
        }
        let index = id.index() as u32;
        let values = if computes(node) { &into.term_class_of } else { &into.class_of };
        let called = call(program, registry, &mut into.egraph, node, values);
        let class = match called {
            Some((Some(term), data))
                if node.effect() == Effect::Pure && !binds_symbols(graph, node) && !open.contains(&id) =>
            {
                // The first node of a term gives the class its recorded value.
                let class = add(&mut into.egraph, term.clone(), data);
                into.term_of.insert(id, term);
                class
            }
            called => {
                let kind = node.val().map_or(Kind::Unknown, Kind::recorded);
                let kind = into.egraph.analysis.kinds.intern(kind);
                let is_static = statics.contains(&id);
                let data = match called {
                    Some((_, data)) => Data { kind, is_static, ..data },
                    None => Data::new(kind, is_static, node.op().is_none()),
                };
                add(&mut into.egraph, Term::Leaf(index), data)
            }
        };
        into.term_class_of.insert(id, class);
        let is_own = seen.contains(&id) && into.term_of.contains_key(&id);
        let data = into.egraph[class].data.clone();
        into.class_of.insert(id, if is_own { add(&mut into.egraph, Term::Own(index, [class]), data) } else { class });
    }
    into.egraph.rebuild();
    into
}

fn add(egraph: &mut Graph<'_>, term: Term, data: Data) -> Id {
    egraph.lookup(term.clone()).unwrap_or_else(|| {
        egraph.analysis.recorded = Some(data);
        let class = egraph.add(term);
        egraph.analysis.recorded = None;
        class
    })
}

fn is_mutated(program: &ExportedProgram, kind: &InputKind) -> bool {
    use oxport_ir::OutputKind::{BufferMutation, ParameterMutation};
    let mutates = |o: &oxport_ir::OutputSpec| match &o.kind {
        BufferMutation(n) | ParameterMutation(n) => kind.lifted() == Some(n),
        _ => false,
    };
    program.signature.outputs.iter().any(mutates)
}

/// What a node yields, if inference can follow it, strides aside; and its term, if not even these differ.
fn call(
    program: &ExportedProgram,
    registry: &Registry,
    egraph: &mut Graph<'_>,
    node: &Node,
    class_of: &FxHashMap<NodeId, Id>,
) -> Option<(Option<Term>, Data)> {
    let graph = &program.graph;
    let op: &Op = node.op()?;
    if op.is_mutable() || op.is_higher_order() {
        return None;
    }
    let term = if op.is_getitem() {
        let (of, index) = node.getitem()?;
        let index = egraph.add(Term::Const(Constant::Int(index)));
        Term::Op(registry.op("_operator::getitem").name().into(), [*class_of.get(&of)?, index].into())
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
        let kids = arguments.iter().map(|a| class(egraph, a, class_of)).collect::<Option<Vec<Id>>>()?;
        Term::Op(op.name().into(), kids.into())
    };
    // Trust, but only what inference can follow: rules build on it. Equal terms have equal values, so one recorded
    // value does for all of them.
    let recorded = egraph.analysis.kinds.intern(Kind::recorded(node.val()?));
    let inferred = type_as(egraph, &term, &recorded)?;
    let known = egraph.lookup(term.clone());
    let is_followed = |kind: &Kind| follows(&program.env, kind, &recorded);
    let is_known = known.is_none_or(|class| is_followed(&egraph[class].data.kind));
    if is_followed(&inferred.kind) && is_known {
        let laid = if inferred.laid == inferred.kind { recorded.clone() } else { inferred.laid };
        return Some((Some(term), Data { kind: recorded, laid, ..inferred }));
    }
    // Kernels lay it otherwise than it was recorded.
    same_sizes(&program.env, &recorded, &inferred.kind).then_some((None, Data { kind: recorded, ..inferred }))
}

fn class(egraph: &mut Graph<'_>, a: &Argument, class_of: &FxHashMap<NodeId, Id>) -> Option<Id> {
    match a {
        Argument::Node(n) => class_of.get(n).copied(),
        Argument::List(l) => {
            let kids = l.iter().map(|a| class(egraph, a, class_of)).collect::<Option<Vec<Id>>>()?;
            Some(egraph.add(Term::List(kids.into())))
        }
        constant => Some(egraph.add(Term::Const(Constant::of(constant)?))),
    }
}

/// The classes that outputs and effects read.
pub(crate) fn observed(program: &ExportedProgram, ingested: &Ingested<'_>) -> Vec<Id> {
    let mut read = Vec::new();
    for (id, node) in program.graph.nodes() {
        if node.kind == NodeKind::Output || !ingested.term_of.contains_key(&id) && !is_droppable(program, node) {
            read.extend(ingested.reads(program, id.index() as u32));
        }
    }
    read
}

/// Leaves that may go when nobody reads them, and assertions that the metas prove. What the symbols' ranges say does
/// not prove any: it may be known from that very assertion.
pub(crate) fn is_droppable(program: &ExportedProgram, node: &Node) -> bool {
    let is_proven =
        || matches!(assertion(&program.graph, node, &program.env), Assertion::Holds(c) if c.as_bool() == Some(true));
    match &node.kind {
        NodeKind::GetAttr(_) => true,
        NodeKind::CallFunction(op) => op.is_getitem() || op.effect() == Effect::Assert && is_proven(),
        _ => false,
    }
}
