//! Lowers a graph to a [`Body`]: dead code elimination, calls bound to their schemas once, slots, last uses.
//!
//! Invariant: lowering succeeds for the whole graph, or the error lists every missing operator.

use crate::call::{admit, fill};
use crate::error::{Error, Result};
use crate::executor::{Body, Subgraph};
use crate::operand_binding::{Ref, Slots, TensorRef, template};
use crate::output_alloc::pack_tensors;
use crate::plan_cache::Joining;
use crate::step::{Action, ESCAPES, Input, Output, Step};
use oxport_ir::infer::bind_with;
use oxport_ir::{
    Arg, Args, Argument, Callable, Effect, Error as IrError, Graph, Kernel, Node, NodeId, NodeKind, Op, Registry,
    RunCx, Sym, Val, Value,
};
use std::collections::HashSet;
use std::sync::Arc;

/// Where the value of a node is.
#[derive(Clone, Debug)]
enum Source {
    /// Nowhere: the node is dead.
    Dead,
    Slot(u32),
    Known(Value),
    Graph(Arc<dyn Callable>),
}

/// Lowers a graph; `known` gives the values of placeholders that are part of the plan, and `copies` the nodes that copy
/// them once, now.
///
/// # Errors
/// All operators without kernel; operators that write to their arguments; calls that do not match their schema.
pub(crate) fn lower(
    graph: &Graph,
    registry: &Registry,
    known: &dyn Fn(usize) -> Option<Value>,
    copies: HashSet<NodeId>,
    joining: Joining,
) -> Result<Body> {
    let mut missing = Vec::new();
    find_missing(graph, registry, &mut missing);
    if !missing.is_empty() {
        return Err(Error::missing_ops(missing));
    }
    Ok(Lowering { copies, ..Lowering::new(graph, registry, joining) }.lower(known)?)
}

/// The operator as this registry defines it.
pub(crate) fn resolve(op: &Op, registry: &Registry) -> Op {
    if op.def().is_some() { op.clone() } else { registry.op(op.name()) }
}

fn kernel(op: &Op) -> Kernel {
    op.def().map_or(Kernel::None, |d| d.kernel)
}

fn find_missing(graph: &Graph, registry: &Registry, missing: &mut Vec<String>) {
    let live = live_nodes(graph, registry);
    for (id, node) in graph.nodes().filter(|(id, _)| live[id.index()]) {
        match &node.kind {
            NodeKind::CallFunction(op) if !op.is_getitem() => {
                if let Kernel::None = kernel(&resolve(op, registry)) {
                    missing.push(op.name().to_string());
                }
            }
            NodeKind::GetAttr(_) => {
                if let Some(sub) = graph.subgraph_of(id) {
                    find_missing(sub, registry, missing);
                }
            }
            _ => {}
        }
    }
}

/// By node index, whether a node is needed: for an output, or for its effect.
pub(crate) fn live_nodes(graph: &Graph, registry: &Registry) -> Vec<bool> {
    let mut live = vec![false; graph.capacity()];
    let ids: Vec<NodeId> = graph.ids().collect();
    for id in ids.into_iter().rev() {
        let node = graph.node(id);
        let acts = match &node.kind {
            NodeKind::Output => true,
            NodeKind::CallFunction(op) => {
                // An unused random operator still advances the generator.
                resolve(op, registry).effect_of(node) != Effect::Pure
            }
            _ => false,
        };
        if acts || live[id.index()] {
            live[id.index()] = true;
            node.for_each_input(&mut |n| live[n.index()] = true);
        }
    }
    live
}

struct Lowering<'a> {
    graph: &'a Graph,
    registry: &'a Registry,
    live: Vec<bool>,
    /// By node index.
    sources: Vec<Source>,
    slots: u32,
    copies: HashSet<NodeId>,
    joining: Joining,
}

impl<'a> Lowering<'a> {
    fn new(graph: &'a Graph, registry: &'a Registry, joining: Joining) -> Lowering<'a> {
        let live = live_nodes(graph, registry);
        let sources = vec![Source::Dead; graph.capacity()];
        Lowering { graph, registry, live, sources, slots: 0, copies: HashSet::new(), joining }
    }

    fn lower(mut self, known: &dyn Fn(usize) -> Option<Value>) -> oxport_ir::Result<Body> {
        let size_deciding = self.size_deciding();
        let (mut inputs, mut steps, mut templates, mut outputs) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let graph = self.graph;
        for (id, node) in graph.nodes() {
            let decides_sizes = size_deciding[id.index()];
            let is_live = self.live[id.index()];
            match &node.kind {
                NodeKind::Placeholder => {
                    let value = known(inputs.len());
                    inputs.push(match value {
                        Some(value) => {
                            self.sources[id.index()] = Source::Known(value);
                            None
                        }
                        None => is_live.then(|| Input { slot: self.slot(id), decides_sizes }),
                    });
                }
                NodeKind::GetAttr(name) if is_live => {
                    let sub = graph.subgraphs.get(name);
                    let sub = sub.ok_or_else(|| IrError::invalid(format!("the graph has no subgraph `{name}`")))?;
                    let body =
                        Lowering::new(sub, self.registry, self.joining).lower(&|_| None).map_err(|e| e.at(name))?;
                    self.sources[id.index()] = Source::Graph(Arc::new(Subgraph { name: name.clone(), body }));
                }
                NodeKind::CallFunction(op) if is_live => {
                    let bound = self.call(node, op).map_err(|e| e.at(format!("%{}", node.name)))?;
                    let (mut step, template) = bound;
                    let copies = self.copies.contains(&id);
                    if let Some(value) = constant_step(&step, &template, copies) {
                        self.sources[id.index()] = Source::Known(value);
                        continue;
                    }
                    step.decides_sizes = decides_sizes;
                    let is_read = graph.users(id).keys().any(|u| self.live[u.index()]);
                    step.out = is_read.then(|| self.slot(id));
                    steps.push(step);
                    templates.push(template);
                }
                NodeKind::Output => {
                    outputs = node.args.iter().map(|a| self.output(a)).collect::<oxport_ir::Result<Vec<_>>>()?;
                }
                _ => {}
            }
        }
        find_last_uses(&mut inputs, &mut steps, &mut outputs, self.slots as usize);
        Ok(Body {
            steps: steps.into(),
            templates: templates.into(),
            slots: self.slots as usize,
            inputs: inputs.into(),
            outputs: outputs.into(),
            cache: Default::default(),
            frames: Default::default(),
            results: Default::default(),
            temporaries: Default::default(),
            refused: Default::default(),
            joining: self.joining,
        })
    }

    fn slot(&mut self, id: NodeId) -> u32 {
        let slot = self.slots;
        self.slots += 1;
        self.sources[id.index()] = Source::Slot(slot);
        slot
    }

    /// By node index, whether a number in the node's value can decide a size. Pointwise operators do not turn numbers
    /// into sizes; the results of other evaluated steps are checked themselves.
    fn size_deciding(&self) -> Vec<bool> {
        let mut size_deciding = vec![false; self.graph.capacity()];
        let ids: Vec<NodeId> = self.graph.ids().collect();
        for id in ids.into_iter().rev().filter(|id| self.live[id.index()]) {
            let node = self.graph.node(id);
            let NodeKind::CallFunction(op) = &node.kind else { continue };
            let decides = match kernel(&resolve(op, self.registry)) {
                _ if op.is_getitem() => size_deciding[id.index()],
                Kernel::Fill(_) | Kernel::View(_) => !op.has_tag("pointwise"),
                _ => false,
            };
            if decides {
                node.for_each_input(&mut |n| size_deciding[n.index()] = true);
            }
        }
        size_deciding
    }

    fn call(&self, node: &Node, op: &Op) -> oxport_ir::Result<(Step, Box<[Arg<oxport_ir::Real>]>)> {
        let op = resolve(op, self.registry);
        let step = |op: Op, action, patches: Vec<_>| Step {
            name: node.name.clone(),
            result: op.def().and_then(|def| def.prepare).and_then(|_| node.val().cloned()),
            op,
            action,
            prepared: None,
            patches: patches.into(),
            out: None,
            last_use: 0,
            decides_sizes: false,
            stack_trace: node.meta.stack_trace.clone(),
        };
        if op.is_getitem() {
            let Some((of, index)) = node.getitem() else {
                return Err(IrError::unsupported("getitem: expected a node and a constant index"));
            };
            let Source::Slot(slot) = self.sources[of.index()] else {
                return Err(IrError::unsupported("getitem: expected the results of a call, got a constant"));
            };
            return Ok((step(op, Action::Pick { slot, take: false, index }, Vec::new()), Box::default()));
        }
        let action = match kernel(&op) {
            _ if op.schema().is_some_and(|s| s.is_mutable()) => {
                return Err(IrError::invalid(format!(
                    "{} writes to its arguments: expected a functionalized program",
                    op.name()
                )));
            }
            Kernel::View(f) => Action::View(f),
            Kernel::Fill(f) => Action::Fill(f),
            Kernel::Eval(f) => Action::Eval(f),
            Kernel::None => return Err(IrError::unsupported(format!("{} has no kernel", op.name()))),
        };
        let bound = bind_with::<Slots>(&op, &node.args, &node.kwargs, &mut |id| self.argument(id))?;
        let (args, patches) = template(bound);
        Ok((step(op, action, patches), args))
    }

    fn argument(&self, id: NodeId) -> oxport_ir::Result<Arg<Slots>> {
        let node = self.graph.node(id);
        match &self.sources[id.index()] {
            Source::Slot(slot) => arg_in(Ref { slot: *slot, element: None }, node.val()),
            Source::Known(value) => known_arg(value),
            Source::Graph(g) => Ok(Arg::Graph(g.clone())),
            Source::Dead => Err(IrError::invalid(format!("`{}` is used before it is computed", node.name))),
        }
    }

    fn output(&self, a: &Argument) -> oxport_ir::Result<Output> {
        Ok(match a {
            Argument::Node(id) => match &self.sources[id.index()] {
                Source::Slot(slot) => Output::Ref { from: Ref { slot: *slot, element: None }, take: false },
                Source::Known(value) => Output::Known(value.clone()),
                Source::Graph(_) | Source::Dead => {
                    let name = &self.graph.node(*id).name;
                    return Err(IrError::unsupported(format!("output `{name}`: expected a value, got a subgraph")));
                }
            },
            Argument::List(l) => Output::List(l.iter().map(|a| self.output(a)).collect::<oxport_ir::Result<_>>()?),
            other => Output::Known(constant(other)?),
        })
    }
}

/// The result of a step that views constants, or copies them if `copies`: a constant, too. One that fails is left to
/// the run, which says where it is.
fn constant_step(step: &Step, template: &[Arg<oxport_ir::Real>], copies: bool) -> Option<Value> {
    let is_known = step.patches.is_empty() && template.iter().any(|a| matches!(a, Arg::Tensor(_)));
    if !is_known {
        return None;
    }
    let cx = RunCx::default();
    let args = Args::new(template, &step.op, &cx);
    let value = match step.action {
        Action::View(f) => pack_tensors(&step.op, admit(&args).and_then(|()| f(&args)).ok()??),
        Action::Fill(f) if copies => fill(f, &args).ok()?.2,
        _ => return None,
    };
    matches!(value, Value::Tensor(_)).then_some(value)
}

/// A constant of the graph as a value.
///
/// # Errors
/// Unsupported, for dtypes, devices and the like, which do not exist at run time.
pub(crate) fn constant(a: &Argument) -> oxport_ir::Result<Value> {
    Ok(match a {
        Argument::None => Value::None,
        Argument::Int(n) => Value::Int(*n),
        Argument::Float(x) => Value::Float(*x),
        Argument::Bool(b) => Value::Bool(*b),
        Argument::Complex(c) => Value::Complex(*c),
        Argument::Str(s) => Value::Str(s.clone()),
        Argument::List(l) => Value::List(l.iter().map(constant).collect::<oxport_ir::Result<_>>()?),
        other => return Err(IrError::unsupported(format!("expected a run-time value, got {other:?}"))),
    })
}

/// The argument for a value that a run will provide, of the kind in the node's meta.
fn arg_in(at: Ref, val: Option<&Val>) -> oxport_ir::Result<Arg<Slots>> {
    Ok(match val {
        None | Some(Val::Tensor(_) | Val::Token) => Arg::Tensor(TensorRef::Ref(at)),
        Some(Val::Int(_)) => Arg::Int(Sym::Sym(at)),
        Some(Val::Float(_)) => Arg::Float(Sym::Sym(at)),
        Some(Val::Bool(_)) => Arg::Bool(Sym::Sym(at)),
        Some(Val::List(l)) if at.element.is_none() => {
            let element = |(i, v)| arg_in(Ref { element: Some(i as u32), ..at }, Some(v));
            Arg::List(l.iter().enumerate().map(element).collect::<oxport_ir::Result<_>>()?)
        }
        Some(Val::List(_)) => {
            return Err(IrError::unsupported(
                "expected a list of tensors or numbers as an argument, got a list of lists",
            ));
        }
        Some(Val::None | Val::Object(_)) => Arg::None,
        Some(Val::Str(s)) => Arg::Str(Arc::from(&**s)),
    })
}

fn known_arg(value: &Value) -> oxport_ir::Result<Arg<Slots>> {
    Ok(match value {
        Value::None => Arg::None,
        Value::Tensor(t) => Arg::Tensor(TensorRef::Known(t.clone())),
        Value::Int(n) => Arg::Int(Sym::Const(*n)),
        Value::Float(x) => Arg::Float(Sym::Const(*x)),
        Value::Bool(b) => Arg::Bool(Sym::Const(*b)),
        Value::Complex(c) => Arg::Complex(*c),
        Value::Str(s) => Arg::Str(s.clone()),
        Value::List(l) => Arg::List(l.iter().map(known_arg).collect::<oxport_ir::Result<_>>()?),
        Value::Token => Arg::Token,
    })
}

/// Marks the last use of every slot, from the end of the graph backwards. Values without use get no slot.
fn find_last_uses(inputs: &mut [Option<Input>], steps: &mut [Step], outputs: &mut [Output], slots: usize) {
    const UNUSED: u32 = u32::MAX - 1;
    let mut last = vec![UNUSED; slots];
    let mut mention = |slot: u32, at: u32| {
        let is_last = last[slot as usize] == UNUSED;
        if is_last {
            last[slot as usize] = at;
        }
        is_last
    };
    fn leaves(outputs: &mut [Output], mention: &mut dyn FnMut(u32, u32) -> bool) {
        for o in outputs.iter_mut().rev() {
            match o {
                Output::Ref { from, take } => *take = mention(from.slot, ESCAPES),
                Output::List(l) => leaves(l, mention),
                Output::Known(_) => {}
            }
        }
    }
    leaves(outputs, &mut mention);
    for (i, step) in steps.iter_mut().enumerate().rev() {
        let i = i as u32;
        for patch in step.patches.iter_mut().rev() {
            patch.take = mention(patch.from.slot, i);
        }
        if let Action::Pick { slot, take, .. } = &mut step.action {
            *take = mention(*slot, i);
        }
    }
    for (i, step) in steps.iter_mut().enumerate() {
        step.out = step.out.filter(|&out| last[out as usize] != UNUSED);
        step.last_use = step.out.map_or(i as u32, |out| last[out as usize]);
    }
    for input in inputs {
        *input = input.filter(|input| last[input.slot as usize] != UNUSED);
    }
}
