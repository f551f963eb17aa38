//! Mending without a guess: stale metas are inferred again, entries that nothing uses are dropped.
//!
//! Law: what the program computes stays the same; every change is said.

use super::compare::{Compare, FRESH};
use super::symbols::assumed;
use super::walk;
use crate::infer::infer_node;
use crate::program::ModuleCallArgument;
use crate::{ExportedProgram, Graph, Loc, MetaCx, NodeId, Registry, Val};
use std::collections::HashSet;

/// One change.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Where.
    pub at: Loc,
    /// What was changed, in one sentence.
    pub message: String,
}

/// Mends what can be mended, and says what was changed.
pub fn fix(program: &mut ExportedProgram, registry: &Registry) -> Vec<Change> {
    let mut changes = Vec::new();
    metas(program, registry, &mut changes);
    dangling(program, &mut changes);
    changes
}

/// The nodes whose strides or device the verifier blames: path of the graph, and name.
type Blamed = HashSet<(String, String)>;

/// Infers metas anew where the recorded ones are wrong or missing, in the order of the nodes.
fn metas(program: &mut ExportedProgram, registry: &Registry, changes: &mut Vec<Change>) {
    let env = assumed(program).unwrap_or_else(|| program.env.clone());
    let mut blamed = Blamed::new();
    for d in super::verify(program, registry) {
        if let (Loc::Node { graph, node }, "stride" | "device") = (d.at, d.code) {
            blamed.insert((graph, node));
        }
    }
    let mut graph = std::mem::take(&mut program.graph);
    graph_metas(&mut graph, "", &env, false, &blamed, changes);
    program.graph = graph;
}

fn graph_metas(
    graph: &mut Graph,
    path: &str,
    env: &oxport_sym::ShapeEnv,
    is_cast: bool,
    blamed: &Blamed,
    changes: &mut Vec<Change>,
) {
    // Inner graphs first: what they return is what the operators around them yield.
    let cast = super::autocast_blocks(graph);
    let mut subgraphs = std::mem::take(&mut graph.subgraphs);
    for (name, sub) in &mut subgraphs {
        graph_metas(sub, &super::below(path, name), env, is_cast || cast.contains(name), blamed, changes);
    }
    graph.subgraphs = subgraphs;
    if is_cast {
        return;
    }
    let ids: Vec<NodeId> = graph.ids().collect();
    for id in ids {
        let node = graph.node(id);
        let Some(inferred) = inferred(graph, id, env) else { continue };
        let had = node.val();
        let stale = match had {
            Some(had) => {
                let name = graph.node(id).name.to_string();
                Compare::new(env).values(had, &inferred).is_some()
                    || blamed.contains(&(path.to_string(), name)) && is_elsewhere(env, had, &inferred)
            }
            None => inferred != Val::None,
        };
        // A fresh size stands for a symbol of the program, which only its author knows.
        if !stale || has_fresh(&inferred) {
            continue;
        }
        let text = |v: Option<&Val>| v.map_or("nothing".to_string(), super::compare::article);
        let message = format!("recorded {} instead of {}", text(Some(&inferred)), text(had));
        changes.push(Change { at: Loc::Node { graph: path.into(), node: node.name.to_string() }, message });
        graph.meta_mut(id).val = Some(inferred);
    }
}

/// A value whose strides or device are not the inferred ones where nothing says that they may differ.
fn is_elsewhere(env: &oxport_sym::ShapeEnv, had: &Val, inferred: &Val) -> bool {
    match (had, inferred) {
        (Val::Tensor(a), Val::Tensor(b)) => {
            let agree = |(x, y): (&oxport_sym::Expr, &oxport_sym::Expr)| Compare::new(env).agree(x, y);
            a.device != b.device || a.strides.len() != b.strides.len() || !a.strides.iter().zip(&b.strides).all(agree)
        }
        (Val::List(a), Val::List(b)) => a.iter().zip(b).any(|(a, b)| is_elsewhere(env, a, b)),
        _ => false,
    }
}

fn inferred(graph: &Graph, id: NodeId, env: &oxport_sym::ShapeEnv) -> Option<Val> {
    let node = graph.node(id);
    if let Some((of, i)) = node.getitem() {
        let Some(Val::List(list)) = graph.node(of).val() else { return None };
        return list.get(usize::try_from(i).ok()?).cloned();
    }
    infer_node(graph, node, &MetaCx::with_fresh(env, FRESH)).ok().flatten()
}

fn has_fresh(val: &Val) -> bool {
    let mut fresh = false;
    val.for_each_expr(&mut |e| fresh |= e.free_symbols().iter().any(super::compare::is_fresh));
    fresh
}

/// Drops stored tensors that nothing is lifted from, ranges of symbols that nothing has, and module signatures that
/// name values which are gone.
fn dangling(program: &mut ExportedProgram, changes: &mut Vec<Change>) {
    let lifted: HashSet<_> = program.signature.inputs.iter().filter_map(|s| s.kind.lifted().cloned()).collect();
    let complete = program.graph.placeholders().count() == program.signature.inputs.len();
    if complete {
        let mut drop = |name: &std::sync::Arc<str>, what: &str| {
            let keep = lifted.contains(name);
            if !keep {
                let message = format!("dropped the {what}, from which no input is lifted");
                changes.push(Change { at: Loc::State(name.to_string()), message });
            }
            keep
        };
        program.state.retain(|name, _| drop(name, "stored tensor"));
        program.constants.retain(|name, _| drop(name, "constant"));
    }
    let mut used = HashSet::new();
    walk(&program.graph, "", &mut |graph, _| {
        for val in graph.nodes().filter_map(|(_, n)| n.val()) {
            val.for_each_expr(&mut |e| used.extend(e.free_symbols()));
        }
    });
    program.ranges.retain(|expr, _| {
        let keep = expr.free_symbols().iter().any(|s| used.contains(s));
        if !keep {
            let message = "dropped the range, which is of nothing in the program".to_string();
            changes.push(Change { at: Loc::Range(expr.to_string()), message });
        }
        keep
    });
    let graph = &program.graph;
    for call in program.module_calls.iter_mut().filter(|m| !m.fqn.is_empty()) {
        let gone = call.signature.as_ref().and_then(|s| {
            s.inputs.iter().chain(&s.outputs).find_map(|a| match a {
                ModuleCallArgument::Tensor(n)
                | ModuleCallArgument::SymInt(n)
                | ModuleCallArgument::SymFloat(n)
                | ModuleCallArgument::SymBool(n) => graph.find(n).is_none().then(|| n.clone()),
                _ => None,
            })
        });
        if let Some(gone) = gone {
            let message = format!("dropped the signature of module `{}`: `{gone}` is not in the graph", call.fqn);
            changes.push(Change { at: Loc::Program, message });
            call.signature = None;
        }
    }
    subgraphs(&mut program.graph, "", changes);
}

/// Drops subgraphs that no node names.
fn subgraphs(graph: &mut Graph, path: &str, changes: &mut Vec<Change>) {
    let named: HashSet<_> = graph
        .nodes()
        .filter_map(|(_, n)| if let crate::NodeKind::GetAttr(name) = &n.kind { Some(name.clone()) } else { None })
        .collect();
    graph.subgraphs.retain(|name, _| {
        let keep = named.contains(name);
        if !keep {
            let at = Loc::Node { graph: path.to_string(), node: name.to_string() };
            changes.push(Change { at, message: "dropped the subgraph, which no node names".to_string() });
        }
        keep
    });
    for (name, sub) in &mut graph.subgraphs {
        subgraphs(sub, &super::below(path, name), changes);
    }
}
