//! The memory that a run will need, from the metas of a program, without running it.
//!
//! Invariant: for a program whose sizes are all known, [`Memory::arena`] is the size of the arena of a replayed run in
//! which every step is computed by itself. Those that are computed in one pass need no buffers between them.

use crate::lower::live_nodes;
use crate::memory::{Lifetime, assign_offsets};
use crate::step::ESCAPES;
use oxport_ir::{ExportedProgram, Graph, Kernel, MetaCx, Node, NodeId, Op, Registry, Val};
use oxport_tensor::Layout;
use std::collections::HashMap;

/// The memory of one run, in bytes. Weights and the buffers of subgraphs do not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Intermediate results, as the plan packs them into one arena: a buffer is reused after its last reader.
    pub arena: usize,
    /// Results that the caller gets.
    pub outputs: usize,
    /// The number of results of unknown size, which are in neither figure.
    pub unknown: usize,
}

/// The memory of one run of a prepared program, with symbols equal to their hints.
pub fn estimate_memory(program: &ExportedProgram, registry: &Registry) -> Memory {
    let graph = &program.graph;
    let mut estimate = Estimate {
        graph,
        cx: MetaCx::new(&program.env),
        last_use: last_uses(graph, registry),
        buffers: Vec::new(),
        held: HashMap::new(),
        unknown: 0,
    };
    let live = live_nodes(graph, registry);
    let calls = graph.nodes().filter(|(id, n)| live[id.index()] && n.op().is_some());
    for (step, (id, node)) in (0u32..).zip(calls) {
        estimate.call(step, id, node, registry);
    }
    let (escaping, inside): (Vec<Lifetime>, Vec<Lifetime>) =
        estimate.buffers.into_iter().filter(|b| b.bytes > 0).partition(|b| b.last == ESCAPES);
    let (_, arena) = assign_offsets(&inside);
    Memory { arena, outputs: escaping.iter().map(|b| b.bytes).sum(), unknown: estimate.unknown }
}

/// By node index, the last step that reads the node's value; [`ESCAPES`] for outputs.
fn last_uses(graph: &Graph, registry: &Registry) -> Vec<Option<u32>> {
    let live = live_nodes(graph, registry);
    let mut last = vec![None; graph.capacity()];
    let calls = graph.nodes().filter(|(id, n)| live[id.index()] && n.op().is_some());
    for (step, (_, node)) in (0u32..).zip(calls) {
        node.for_each_input(&mut |n| last[n.index()] = Some(step));
    }
    graph.outputs().iter().for_each(|a| a.for_each_node(&mut |n| last[n.index()] = Some(ESCAPES)));
    last
}

struct Estimate<'a> {
    graph: &'a Graph,
    cx: MetaCx<'a>,
    last_use: Vec<Option<u32>>,
    buffers: Vec<Lifetime>,
    /// Per node, the buffers in which its result lies, for each tensor of it.
    held: HashMap<NodeId, Vec<Vec<usize>>>,
    unknown: usize,
}

impl Estimate<'_> {
    fn call(&mut self, step: u32, id: NodeId, node: &Node, registry: &Registry) {
        let Some(op) = node.op() else { return };
        let known = registry.op(op.name());
        let op = if op.def().is_some() { op } else { &known };
        let until = self.last_use[id.index()].unwrap_or(step);
        let tensors: Vec<&oxport_ir::Fake> = node.val().map(Val::tensors).unwrap_or_default();
        let held = match op.def().map_or(Kernel::None, |d| d.kernel) {
            _ if op.is_getitem() => self.picked(node),
            Kernel::View(_) if !self.copies(op, node, &tensors) => {
                let source = node.inputs().first().and_then(|n| self.held.get(n)).cloned().unwrap_or_default();
                let all: Vec<usize> = source.into_iter().flatten().collect();
                vec![all; tensors.len().max(1)]
            }
            kernel => {
                if let (Kernel::Eval(_), false) = (kernel, tensors.is_empty()) {
                    // What it makes may lie in any argument's storage.
                    node.for_each_input(&mut |n| self.hold(&self.held.get(&n).cloned().unwrap_or_default(), until));
                }
                let fresh = tensors.iter().map(|t| self.buffer(step, t).into_iter().collect());
                fresh.collect::<Vec<Vec<usize>>>()
            }
        };
        self.hold(&held, until);
        self.held.insert(id, held);
    }

    /// The buffers of one element of a multiple result.
    fn picked(&self, node: &Node) -> Vec<Vec<usize>> {
        let Some((of, index)) = node.getitem() else { return Vec::new() };
        let held = self.held.get(&of).map_or(&[][..], Vec::as_slice);
        let is_plain = matches!(self.graph.node(of).val(), Some(Val::List(l)) if l.len() == held.len());
        match usize::try_from(index).ok().and_then(|i| held.get(i)) {
            Some(one) if is_plain => vec![one.clone()],
            _ => vec![held.iter().flatten().copied().collect()],
        }
    }

    /// True if a view has to copy, because the strides of its argument do not allow it.
    fn copies(&self, op: &Op, node: &Node, results: &[&oxport_ir::Fake]) -> bool {
        let may_copy = op.is_alias_at_times() || op.def().is_some_and(|d| d.or_copies.is_some());
        let from = node.inputs().first().and_then(|n| self.graph.node(*n).val()?.as_tensor());
        match (may_copy, from, results) {
            (true, Some(from), [to]) => !self.cx.can_view(from, to),
            _ => false,
        }
    }

    fn buffer(&mut self, step: u32, fake: &oxport_ir::Fake) -> Option<usize> {
        let layout = self.cx.captured_layout(fake).map(|l| match l.may_overlap() {
            true => Layout::contiguous(&l.sizes),
            false => Ok(l),
        });
        let elements = layout.and_then(|l| l.ok()?.extent().ok()).map(|e| e.map_or(0, |(_, last)| last + 1));
        let Some(bytes) = elements.and_then(|n| n.checked_mul(fake.dtype.size())) else {
            self.unknown += 1;
            return None;
        };
        self.buffers.push(Lifetime { bytes, first: step, last: step });
        Some(self.buffers.len() - 1)
    }

    fn hold(&mut self, held: &[Vec<usize>], until: u32) {
        for &buffer in held.iter().flatten() {
            let life = &mut self.buffers[buffer];
            life.last = life.last.max(until);
        }
    }
}
