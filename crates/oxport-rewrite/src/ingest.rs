//! From the program's graph into the e-graph.
//!
//! Pure calls that inference can type become terms; everything else (placeholders, random and asserting nodes,
//! higher-order operators, what observes strides and all that it observes) becomes a leaf, and stays as it is.

use crate::term::{Constant, Term};
use crate::typing::{Data, Graph, Kind, Typing};
use egg::Id;
use oxport_ir::infer::{MetaCx, bind_with, infer_node};
use oxport_ir::{Arg, Argument, Build, Effect, ExportedProgram, Node, NodeId, NodeKind, Op, Registry, Sym, Val};
use std::collections::HashMap;

/// The e-graph of a program, and which class each node is in.
pub(crate) struct Ingested<'r> {
    pub egraph: Graph<'r>,
    pub class_of: HashMap<NodeId, Id>,
    /// The term of each rewritten node, as it was added.
    pub term_of: HashMap<NodeId, Term>,
}

pub(crate) fn ingest<'r>(program: &ExportedProgram, registry: &'r Registry) -> Ingested<'r> {
    let graph = &program.graph;
    let mut egraph = Graph::new(Typing::new(registry, program.env.clone()));
    let (mut class_of, mut term_of) = (HashMap::new(), HashMap::new());
    let pinned = observed(graph);
    let statics: Vec<NodeId> = graph
        .placeholders()
        .zip(&program.signature.inputs)
        .filter(|(_, s)| program.lifted(&s.kind).is_some() && !is_mutated(program, &s.kind))
        .map(|((id, _), _)| id)
        .collect();
    for (id, node) in graph.nodes() {
        if node.kind == NodeKind::Output {
            continue;
        }
        let kind = node.val().map_or(Kind::Unknown, |v| Kind::Value(v.clone()));
        let term = if pinned[id.index()] { None } else { term(program, registry, &mut egraph, node, &class_of) };
        let is_static = match &term {
            Some(t) => egg::Language::children(t).iter().all(|k| egraph[*k].data.is_static),
            None => statics.contains(&id),
        };
        let added = term.clone().unwrap_or(Term::Leaf(id.index() as u32));
        // The first node of a term gives the class its recorded value.
        let known = egraph.lookup(added.clone());
        let class = known.unwrap_or_else(|| {
            egraph.analysis.recorded = Some(Data { kind, is_static });
            egraph.add(added)
        });
        egraph.analysis.recorded = None;
        class_of.insert(id, class);
        if let Some(term) = term {
            term_of.insert(id, term);
        }
    }
    egraph.rebuild();
    Ingested { egraph, class_of, term_of }
}

fn is_mutated(program: &ExportedProgram, kind: &oxport_ir::InputKind) -> bool {
    use oxport_ir::OutputKind::{BufferMutation, ParameterMutation};
    let mutates = |o: &oxport_ir::OutputSpec| match &o.kind {
        BufferMutation(n) | ParameterMutation(n) => kind.lifted() == Some(n),
        _ => false,
    };
    program.signature.outputs.iter().any(mutates)
}

/// Nodes whose strides somebody sees: the inputs, at any distance, of `as_strided`, `view.dtype` and stride queries.
fn observed(graph: &oxport_ir::Graph) -> Vec<bool> {
    let mut seen = vec![false; graph.capacity()];
    let ids: Vec<NodeId> = graph.ids().collect();
    for &id in ids.iter().rev() {
        let node = graph.node(id);
        let sees = node.op().is_some_and(|op| {
            let short = op.short_name();
            short.starts_with("as_strided")
                || matches!(short, "view.dtype" | "sym_stride.int" | "sym_storage_offset" | "_reshape_alias")
        });
        if sees || seen[id.index()] {
            seen[id.index()] = true;
            node.inputs().into_iter().for_each(|i| seen[i.index()] = true);
        }
    }
    seen
}

/// The term of a node, if it can be rewritten.
fn term(
    program: &ExportedProgram,
    registry: &Registry,
    egraph: &mut Graph<'_>,
    node: &Node,
    class_of: &HashMap<NodeId, Id>,
) -> Option<Term> {
    let graph = &program.graph;
    let op: &Op = node.op()?;
    if node.effect() != Effect::Pure || op.is_mutable() || op.is_higher_order() || binds_symbols(node) {
        return None;
    }
    if op.is_getitem() {
        let (of, index) = (node.args.first()?.as_node()?, node.args.get(1)?.as_int()?);
        let index = egraph.add(Term::Const(Constant::Int(index)));
        return Some(Term::Op(registry.op("_operator::getitem").name().into(), Box::new([*class_of.get(&of)?, index])));
    }
    op.schema().filter(|s| !s.is_vararg)?;
    // Trust, but only what inference can follow: other rules would build on it.
    infer_node(graph, node, &MetaCx::new(&program.env)).ok()??;
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
    Some(Term::Op(op.name().into(), kids.into()))
}

fn class(egraph: &mut Graph<'_>, a: &Argument, class_of: &HashMap<NodeId, Id>) -> Option<Id> {
    match a {
        Argument::Node(n) => class_of.get(n).copied(),
        Argument::List(l) => {
            let kids = l.iter().map(|a| class(egraph, a, class_of)).collect::<Option<Vec<Id>>>()?;
            Some(egraph.add(Term::List(kids.into())))
        }
        constant => Some(egraph.add(Term::Const(Constant::of(constant)?))),
    }
}

/// True for nodes that may give an unbacked symbol its value.
fn binds_symbols(node: &Node) -> bool {
    let mut unbacked = false;
    if let Some(val) = node.val() {
        val.for_each_expr(&mut |e| unbacked |= e.free_symbols().iter().any(|s| s.is_unbacked()));
    }
    unbacked
}
