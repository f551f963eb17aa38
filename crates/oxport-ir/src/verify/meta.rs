//! Recorded metas are what the operators yield.
//!
//! A stale meta is reported once, where it stands: what uses it is judged by the recorded value and by the right one,
//! and blamed only if it fits neither.

use super::compare::{Compare, FRESH};
use super::symbols::Bindings;
use super::{Check, arguments, layout, python, subgraphs};
use crate::diagnostic::Diagnostic;
use crate::infer::{arg_of, arg_of_node, bind_with, infer_bound};
use crate::variants::{arguments_of_variant, functional_variant};
use crate::{Arg, Error, Meta, MetaCx, Node, NodeId, NodeKind, Op, Result, Val};
use oxport_tensor::DType;
use std::collections::HashMap;

pub(super) fn check(c: &mut Check<'_>, is_cast: bool, bindings: &mut Bindings) {
    let graph = c.graph;
    let mut right: HashMap<NodeId, Val> = HashMap::new();
    let mut nesting = 0;
    for (id, node) in graph.nodes() {
        let NodeKind::CallFunction(op) = &node.kind else { continue };
        nesting += python::nesting(op);
        let (mut ordered, mut known) = (true, true);
        node.for_each_input(&mut |i| {
            ordered &= graph.is_before(i, id);
            // A missing meta is reported at its own place.
            known &= graph.node(i).val().is_some() || graph.subgraph_of(i).is_some();
        });
        if !ordered {
            continue;
        }
        if op.is_getitem() {
            getitem(c, node, &mut right, id);
        } else if known && !python::check(c, node, id, &mut right) {
            let mut call = Call { node, op, id, is_cast, is_mapped: nesting > 0 };
            call.check(c, bindings, &mut right);
        }
    }
}

fn getitem(c: &mut Check<'_>, node: &Node, right: &mut HashMap<NodeId, Val>, id: NodeId) {
    let Some((of, i)) = node.getitem() else {
        return c.node_error("getitem", &node.name, "getitem: expected a node and an index");
    };
    let graph = c.graph;
    let Some(source) = graph.node(of).val() else { return };
    let pick = |v: &Val| match v {
        Val::List(l) => usize::try_from(i).ok().and_then(|i| l.get(i)).cloned(),
        _ => None,
    };
    match (pick(source), node.val()) {
        (None, _) => {
            let of = &graph.node(of).name;
            let message = match source {
                Val::List(l) => format!("`{of}` has {} elements, there is no element {i}", l.len()),
                _ => format!("`{of}` is no tuple or list, it has no element {i}"),
            };
            c.node_error("getitem", &node.name, message);
        }
        (Some(element), Some(own)) => {
            if let Some(difference) = Compare::new(c.env).values(own, &element) {
                let message = format!("the recorded meta is not that of the element: {difference}");
                c.node_error("meta", &node.name, message);
            }
        }
        _ => {}
    }
    if let Some(element) = right.get(&of).and_then(pick) {
        right.insert(id, element);
    }
}

/// One call of an operator.
struct Call<'a> {
    node: &'a Node,
    op: &'a Op,
    id: NodeId,
    is_cast: bool,
    /// Whether it stands for a call on every slice at once: then the strides are those of the whole.
    is_mapped: bool,
}

impl Call<'_> {
    fn check(&mut self, c: &mut Check<'_>, bindings: &mut Bindings, right: &mut HashMap<NodeId, Val>) {
        let node = self.node;
        if self.op.is_higher_order() && !subgraphs::check(c, node, self.op) {
            return;
        }
        let bound = match self.bind(c, &HashMap::new()) {
            Ok(bound) => bound,
            Err(e) => return arguments::explain(c, node, self.op, &e),
        };
        if !self.is_cast {
            layout::asserted(c, node, self.op, &bound);
        }
        let cx = MetaCx::with_fresh(c.env, FRESH);
        let inferred = match self.infer(c, &bound, &cx) {
            Ok(inferred) => inferred,
            Err(e) if e.is_unsupported() => return,
            Err(e) => {
                if !self.fits_otherwise(c, right) {
                    c.node_error("refused", &node.name, e.message());
                }
                return;
            }
        };
        let Some(recorded) = node.val() else { return };
        let is_number = matches!(inferred, Val::Int(_) | Val::Float(_) | Val::Bool(_));
        if *recorded == Val::None && is_number && c.graph.users(self.id).is_empty() {
            let message = "the number is not recorded, and nothing reads it";
            return c.report(Diagnostic::warning("unrecorded", c.at(&node.name), message));
        }
        let mut compare = Compare::new(c.env).floats_alike(self.is_cast);
        match compare.result(c, node, recorded, &inferred) {
            None => {
                // What an offset or a merge of branches depends on does not show in the inferred value.
                let is_offset = matches!(recorded, Val::Int(_)) && self.op.def().is_some_and(|d| d.reads_storage);
                if !self.op.is_higher_order() && !is_offset {
                    bindings.note(c.path, self.id, recorded, compare.bound_symbols());
                }
                layout::of_call(c, node, self.op, &bound, (recorded, &inferred), self.is_mapped);
            }
            Some(difference) => {
                bindings.anything(c.path, self.id);
                if !self.fits_otherwise(c, right) {
                    c.node_error("meta", &node.name, difference);
                    right.insert(self.id, inferred);
                }
            }
        }
    }

    /// What the call yields; an in-place operator is refused where its functional form would be.
    fn infer(&self, c: &Check<'_>, bound: &[Arg<Meta>], cx: &MetaCx<'_>) -> Result<Val> {
        let schema = self.op.schema().filter(|s| s.is_mutable());
        let mut written = schema.into_iter().flat_map(|s| s.args.iter().zip(bound)).filter(|(p, _)| p.is_written());
        if let Some((param, _)) = written.find(|(_, a)| !matches!(a, Arg::Tensor(_) | Arg::List(_) | Arg::None)) {
            return Err(Error::invalid(format!("{} writes to `{}`, which is no tensor", self.op.name(), param.name)));
        }
        if self.op.def().is_none()
            && self.op.is_mutable()
            && let Ok(functional) = functional_variant(c.registry, self.op)
            && functional.def().is_some()
            && let (placed, named) = arguments_of_variant(self.op, &functional, bound.to_vec())
            && named.is_empty()
            && let Err(e) = infer_bound(&functional, &placed, cx)
            && !e.is_unsupported()
        {
            return Err(e);
        }
        infer_bound(self.op, bound, cx)
    }

    /// True if the recorded meta is right once stale metas of arguments are corrected.
    fn fits_otherwise(&self, c: &Check<'_>, right: &HashMap<NodeId, Val>) -> bool {
        let mut concerned = false;
        self.node.for_each_input(&mut |i| concerned |= right.contains_key(&i));
        let cx = MetaCx::with_fresh(c.env, FRESH);
        concerned
            && self.bind(c, right).and_then(|bound| infer_bound(self.op, &bound, &cx)).is_ok_and(|inferred| {
                let recorded = self.node.val().unwrap_or(&Val::None);
                Compare::new(c.env).floats_alike(self.is_cast).values(recorded, &inferred).is_none()
            })
    }

    fn bind(&self, c: &Check<'_>, instead: &HashMap<NodeId, Val>) -> Result<Vec<Arg<Meta>>> {
        let graph = c.graph;
        bind_with(self.op, &self.node.args, &self.node.kwargs, &mut |id| {
            let arg = match instead.get(&id) {
                Some(val) => arg_of(val),
                None => arg_of_node(graph, id)?,
            };
            Ok(if self.is_cast { one_float(arg) } else { arg })
        })
    }
}

/// Floating tensors as `float32`: what autocast does to them is not shown, but it never makes two dtypes of them.
fn one_float(arg: Arg<Meta>) -> Arg<Meta> {
    match arg {
        Arg::Tensor(t) if t.dtype.is_float() => Arg::Tensor(t.with_dtype(DType::F32)),
        Arg::List(l) => Arg::List(l.into_iter().map(one_float).collect()),
        other => other,
    }
}
