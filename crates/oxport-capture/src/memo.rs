//! What PyTorch's fake tensors remember of themselves: the symbols of what was read from them.
//!
//! Law: a write to a storage, and whatever may be one, makes forget what was read from it.

use oxport_ir::storage::{Sharing, sharing};
use oxport_ir::{Argument, Graph, Memo, NodeId, Op};
use oxport_sym::Expr;
use oxport_tensor::DType;
use std::collections::HashMap;

/// By tensor, the symbols of how many elements are not zero, and of its one element.
#[derive(Debug, Default)]
pub(crate) struct Memos {
    counts: HashMap<NodeId, Expr>,
    items: HashMap<NodeId, Expr>,
}

impl Memos {
    fn of(&mut self, memo: Memo) -> &mut HashMap<NodeId, Expr> {
        match memo {
            Memo::Nonzero(_) | Memo::Masks(_) => &mut self.counts,
            Memo::Item(_) => &mut self.items,
        }
    }
    /// What is known of what a call reads.
    pub(crate) fn recall(&mut self, memo: Memo, read: &[NodeId]) -> Vec<Option<Expr>> {
        let known = self.of(memo);
        read.iter().map(|node| known.get(node).cloned()).collect()
    }
    /// Remembers the symbols that a call brought, of what was not known.
    pub(crate) fn remember(&mut self, memo: Memo, read: &[NodeId], fresh: &[Expr]) {
        let known = self.of(memo);
        let mut fresh = fresh.iter();
        for node in read {
            if !known.contains_key(node)
                && let Some(symbol) = fresh.next()
            {
                known.insert(*node, symbol.clone());
            }
        }
    }
    /// Forgets what a call may change.
    pub(crate) fn forget(&mut self, graph: &Graph, op: &Op, args: &[Argument]) {
        if !(op.is_mutable() || op.is_higher_order()) {
            return;
        }
        // The storage that is written, if it is one and known.
        let written = op.schema().filter(|s| s.args.iter().skip(1).all(|p| !p.is_written()));
        let written = written.and_then(|_| storage(graph, args.first()?.as_node()?));
        let keep = |node: NodeId| written.is_some_and(|w| storage(graph, node).is_some_and(|of| of != w));
        self.counts.retain(|node, _| keep(*node));
        self.items.retain(|node, _| keep(*node));
    }
}

/// The tensors of which a call reads what is remembered, and what that is.
pub(crate) fn read_by(graph: &Graph, op: &Op, args: &[Argument]) -> Option<(Memo, Vec<NodeId>)> {
    let memo = op.def()?.memo?;
    let (Memo::Nonzero(name) | Memo::Masks(name) | Memo::Item(name)) = memo;
    let (at, _) = op.schema()?.arg(name)?;
    let mut read = Vec::new();
    args.get(at)?.for_each_node(&mut |node| read.push(node));
    if let Memo::Masks(_) = memo {
        let dtype = |id: &NodeId| Some(graph.node(*id).val()?.as_tensor()?.dtype);
        read.retain(|id| matches!(dtype(id), Some(DType::Bool | DType::U8)));
    }
    Some((memo, read))
}

/// The node that made the storage in which a tensor lies, if that is known.
fn storage(graph: &Graph, mut node: NodeId) -> Option<NodeId> {
    loop {
        let made = graph.get(node)?;
        // What writes its argument gives it back.
        match sharing(made) {
            Sharing::Own if !made.op().is_some_and(Op::is_mutable) => return Some(node),
            Sharing::Unclear => return None,
            _ => node = made.first_input()?,
        }
    }
}
