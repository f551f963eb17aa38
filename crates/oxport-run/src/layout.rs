//! Layouts of a plan: images and sequences whose channels are neighbors in memory, between convolutions that are faster
//! so; and sequences whose rows are, where their rows are read.
//!
//! ```text
//! x ─ conv ─ relu ─ conv ─ view ─ linear        the program
//!   └ clone(weight) by channels                 … of the first convolution; metas carry the strides on
//!
//! x ─ permute ─ add ─ layer_norm                a sum takes the strides of its first operand
//!             └ clone by rows                   … which would be copied for every norm of the network
//! ```
//!
//! It works on a copy of the graph, which the plan lowers: programs and files stay as they are.
//!
//! Laws: all elements are the same bits; what leaves the graph, and what an operator sees that may look at strides
//! ([`OperandStrides::Recorded`]), has the strides that the program records. Where they cannot be restored, the graph
//! stays as it is.

use crate::lower::resolve;
use oxport_ir::fake::contiguous_strides;
use oxport_ir::infer::{bind_meta, infer_call};
use oxport_ir::{
    Args, Argument, Builder, Class, Effect, Fake, Graph, Kwargs, MemoryFormat, MetaCx, NodeId, NodeKind, Op,
    OperandStrides, Registry, Val,
};
use oxport_sym::{Expr, ShapeEnv};
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

/// The graph with other layouts where that is faster, and its nodes that are constants in theirs; `None` if it is as it
/// is.
pub(crate) fn lay_out(graph: &Graph, env: &ShapeEnv, registry: &Registry) -> Option<(Graph, HashSet<NodeId>)> {
    let gains = |id, op: &Op| prefers(graph, env, id, op) || !by_columns(graph, registry, id, op).is_empty();
    if !graph.nodes().any(|(id, node)| node.op().is_some_and(|op| gains(id, &resolve(op, registry)))) {
        return None;
    }
    let (graph, env) = (&mut graph.clone(), &mut env.clone());
    let (recorded, restored, copies, constants) = Default::default();
    let mut pass = Pass { graph, env, registry, recorded, restored, copies, constants };
    let ids: Vec<NodeId> = pass.graph.ids().collect();
    ids.into_iter().try_for_each(|id| pass.node(id))?;
    Some((std::mem::take(pass.graph), pass.constants))
}

struct Pass<'a> {
    graph: &'a mut Graph,
    env: &'a mut ShapeEnv,
    registry: &'a Registry,
    /// What the program records of nodes that have other strides now.
    recorded: HashMap<NodeId, Val>,
    /// Nodes by what has their elements in the recorded strides.
    restored: HashMap<NodeId, NodeId>,
    /// What has the elements of an operand with its dimensions in another order in memory.
    copies: HashMap<(NodeId, Vec<usize>), NodeId>,
    /// The copies, which are made once if they are of constants.
    constants: HashSet<NodeId>,
}

impl Pass<'_> {
    /// `None` if the strides that the program records cannot be restored.
    fn node(&mut self, id: NodeId) -> Option<()> {
        let node = self.graph.node(id);
        let op = match &node.kind {
            NodeKind::CallFunction(op) => resolve(op, self.registry),
            NodeKind::Output => return self.restore_inputs(id),
            _ => return Some(()),
        };
        let mut is_changed = false;
        node.for_each_input(&mut |n| is_changed |= self.recorded.contains_key(&n));
        let takes_any = op.is_getitem()
            || op.effect_of(node) == Effect::Pure
                && op.def().is_some_and(|def| !matches!(def.operand_strides, OperandStrides::Recorded));
        if is_changed && !takes_any {
            return self.restore_inputs(id);
        }
        if prefers(self.graph, self.env, id, &op) {
            self.turn_operand(id)?;
            is_changed = true;
        }
        if is_changed {
            for operand in self.left_behind(id, &op) {
                self.copy_operand(id, operand, by_channels(self.graph.node(operand).val()?.as_tensor()?.dim()))?;
            }
        }
        for operand in by_columns(self.graph, self.registry, id, &op) {
            self.copy_operand(id, operand, (0..3).collect())?;
            is_changed = true;
        }
        if is_changed {
            self.infer(id, &op)?;
        }
        Some(())
    }

    /// Gives a convolution whose channels are no neighbors one operand in which they are, the smaller one; of sequences
    /// the weight, which alone decides.
    fn turn_operand(&mut self, id: NodeId) -> Option<()> {
        let node = self.graph.node(id);
        let (x, weight) = (node.first_input()?, node.argument("weight")?.as_node()?);
        let fake = |id: NodeId| self.graph.node(id).val()?.as_tensor();
        let count = |t: &Fake| MetaCx::new(self.env).hint(&t.numel());
        let (x_fake, weight_fake) = (fake(x)?, fake(weight)?);
        // Of a 1×1 kernel both orders are the same, so that it says nothing.
        let is_1x1 = weight_fake.sizes[2..].iter().all(|size| size.as_int() == Some(1));
        let is_constant = matches!(self.graph.node(weight).kind, NodeKind::Placeholder);
        let is_smaller = count(weight_fake).zip(count(x_fake)).is_none_or(|(weight, x)| weight < x);
        let is_sequence = weight_fake.dim() == 3;
        let turn = if is_sequence || is_constant && !is_1x1 && is_smaller { weight } else { x };
        let order = by_channels(weight_fake.dim());
        self.copy_operand(id, turn, order)
    }

    /// Gives a call an operand with its dimensions in this order in memory, which is made once.
    fn copy_operand(&mut self, id: NodeId, operand: NodeId, order: Vec<usize>) -> Option<()> {
        let copy = match self.copies.entry((operand, order)) {
            Entry::Occupied(made) => *made.get(),
            Entry::Vacant(entry) => {
                let b = Builder::new(self.graph, self.env, self.registry).before(id);
                let (copy, operand) = copy_in_order(b, operand, &entry.key().1)?;
                self.constants.insert(copy);
                *entry.insert(operand)
            }
        };
        self.replace_inputs(id, &|n| if n == operand { copy } else { n });
        Some(())
    }

    /// The operands of an elementwise call that lie as recorded where the pass has laid out others by channels: the
    /// result would have the strides of the first one, and the next convolution copy it.
    fn left_behind(&self, id: NodeId, op: &Op) -> Vec<NodeId> {
        let fake = |id: NodeId| self.graph.node(id).val().and_then(Val::as_tensor);
        let (Some(result), Some(Class::Pointwise)) = (fake(id), op.def().map(|def| def.work.class())) else {
            return Vec::new();
        };
        let mut operands = Vec::new();
        self.graph.node(id).for_each_input(&mut |n| operands.push(n));
        let is_whole = |&n: &NodeId| result.dim() > 2 && fake(n).is_some_and(|t| t.sizes == result.sizes);
        operands.retain(is_whole);
        let is_turned = |t: &Fake| t.strides[1].as_int() == Some(1) && contiguous_strides(&t.sizes) != t.strides;
        if !operands.iter().any(|n| self.recorded.contains_key(n) && fake(*n).is_some_and(is_turned)) {
            return Vec::new();
        }
        operands.retain(|&n| fake(n).is_some_and(|t| contiguous_strides(&t.sizes) == t.strides));
        operands
    }

    /// Infers the strides of a call's result anew.
    fn infer(&mut self, id: NodeId, op: &Op) -> Option<()> {
        let node = self.graph.node(id);
        let recorded = node.val()?.clone();
        let val = if op.is_getitem() {
            let (of, index) = node.getitem()?;
            let Val::List(list) = self.graph.node(of).val()? else { return None };
            list.get(usize::try_from(index).ok()?)?.clone()
        } else {
            infer_call(self.graph, op, &node.args, &node.kwargs, &MetaCx::new(self.env)).ok()?
        };
        let mut relaid = recorded.clone();
        relaid.take_layout(&val);
        if relaid != recorded {
            self.graph.meta_mut(id).val = Some(relaid);
            self.recorded.insert(id, recorded);
        }
        Some(())
    }

    /// Gives a node operands with the recorded strides.
    fn restore_inputs(&mut self, id: NodeId) -> Option<()> {
        let mut inputs = Vec::new();
        self.graph.node(id).for_each_input(&mut |n| inputs.push(n));
        let mut instead = HashMap::new();
        for input in inputs {
            if self.recorded.contains_key(&input) {
                instead.insert(input, self.restore(input, id)?);
            }
        }
        if !instead.is_empty() {
            self.replace_inputs(id, &|n| *instead.get(&n).unwrap_or(&n));
        }
        Some(())
    }

    fn restore(&mut self, id: NodeId, before: NodeId) -> Option<NodeId> {
        if let Some(&restored) = self.restored.get(&id) {
            return Some(restored);
        }
        let recorded = self.recorded.get(&id)?.as_tensor()?;
        let order = dense_order(recorded)?;
        let wanted = recorded.clone();
        let b = Builder::new(self.graph, self.env, self.registry).before(before);
        let (_, restored) = copy_in_order(b, id, &order)?;
        let strides = &self.graph.node(restored).val()?.as_tensor()?.strides;
        let mut steps = strides.iter().zip(&wanted.strides).zip(&wanted.sizes);
        if steps.any(|((is, should), size)| is != should && size.as_int() != Some(1)) {
            return None;
        }
        self.restored.insert(id, restored);
        Some(restored)
    }

    fn replace_inputs(&mut self, id: NodeId, with: &dyn Fn(NodeId) -> NodeId) {
        let node = self.graph.node(id);
        let mut map = |n| Argument::Node(with(n));
        let args = node.args.iter().map(|a| a.map_nodes(&mut map)).collect();
        let kwargs: Kwargs = node.kwargs.map_nodes(&mut map);
        self.graph.set_args(id, args, kwargs);
    }
}

/// The order of so many dimensions, batch and channels first, in which channels are neighbors.
fn by_channels(dims: usize) -> Vec<usize> {
    [0].into_iter().chain(2..dims).chain([1]).collect()
}

/// Copies a tensor with its dimensions in this order in memory: the copy, and what has the tensor's sizes.
fn copy_in_order(mut b: Builder<'_>, x: NodeId, order: &[usize]) -> Option<(NodeId, NodeId)> {
    let is_turned = order.iter().enumerate().any(|(i, &d)| d != i);
    let axes: Vec<i64> = order.iter().map(|&d| d as i64).collect();
    let turned = if is_turned { b.call("permute", (x, axes)).ok()? } else { x };
    let kwargs = [("memory_format", Argument::MemoryFormat(MemoryFormat::Contiguous))];
    let copy = b.call_kw("clone", (turned,), &kwargs).ok()?;
    let mut inverse = vec![0i64; order.len()];
    order.iter().enumerate().for_each(|(i, &d)| inverse[d] = i as i64);
    let back = if is_turned { b.call("permute", (copy, inverse)).ok()? } else { copy };
    Some((copy, back))
}

/// The dimensions of a dense tensor from the outermost to the innermost.
fn dense_order(t: &Fake) -> Option<Vec<usize>> {
    let mut rest: Vec<usize> = (0..t.dim()).collect();
    let mut expected = Expr::from(1i64);
    let mut order = Vec::new();
    while !rest.is_empty() {
        // The last one that fits, so that contiguous tensors keep their order; steps along one element do not count.
        let fits = |&d: &usize| t.strides[d] == expected || t.sizes[d].as_int() == Some(1);
        let next = rest.iter().rposition(fits)?;
        let d = rest.remove(next);
        expected = &expected * &t.sizes[d];
        order.push(d);
    }
    order.reverse();
    Some(order)
}

/// Whether a call is faster where channels are neighbors in memory, and they are not.
fn prefers(graph: &Graph, env: &ShapeEnv, id: NodeId, op: &Op) -> bool {
    let Some(OperandStrides::ChannelsLast(is_faster)) = op.def().map(|def| def.operand_strides) else { return false };
    let (node, cx) = (graph.node(id), MetaCx::new(env));
    let Ok(args) = bind_meta(graph, op, &node.args, &node.kwargs) else { return false };
    let Ok(Val::Tensor(result)) = infer_call(graph, op, &node.args, &node.kwargs, &cx) else { return false };
    let is_turned = result.strides.get(1).is_some_and(|s: &Expr| s.as_int() == Some(1));
    !is_turned && is_faster(&Args::new(&args, op, &cx)).unwrap_or(false)
}

/// The operands of an elementwise call over sequences `[N, L, C]` that lie column by column, if others lie row by row
/// and the rows of the result are read: by a reduction or a product.
fn by_columns(graph: &Graph, registry: &Registry, id: NodeId, op: &Op) -> Vec<NodeId> {
    let class = |op: &Op| op.def().map(|def| def.work.class());
    let Some(Val::Tensor(result)) = graph.node(id).val() else { return Vec::new() };
    let is_by_rows = |t: &Fake| contiguous_strides(&t.sizes) == t.strides;
    if class(op) != Some(Class::Pointwise) || result.dim() != 3 || is_by_rows(result) {
        return Vec::new();
    }
    let reads_rows = |user: &NodeId| {
        let class = graph.node(*user).op().and_then(|op| class(&resolve(op, registry)));
        matches!(class, Some(Class::Reduction | Class::Product))
    };
    let fake = |id: &NodeId| graph.node(*id).val().and_then(Val::as_tensor).filter(|t| t.sizes == result.sizes);
    let mut operands = Vec::new();
    graph.node(id).for_each_input(&mut |n| operands.push(n));
    let is_mixed = operands.iter().filter_map(fake).any(is_by_rows);
    if !is_mixed || !graph.users(id).keys().any(reads_rows) {
        return Vec::new();
    }
    operands.retain(|n| fake(n).is_some_and(|t| !is_by_rows(t) && dense_order(t).is_some()));
    operands
}
