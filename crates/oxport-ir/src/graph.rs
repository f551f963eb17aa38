//! The graph: an ordered list of nodes, its users, its edits.
//!
//! ```text
//!  slots   [ n0 | n1 | -- | n3 | n4 ]        ids index slots; an erased slot stays empty
//!  order    n0 → n3 → n1 → n4                a doubly linked list with order keys: is_before is one comparison
//!  users    n0: {n3: 2, n1: 1}               how often each user mentions it, kept exact by every edit
//! ```
//!
//! Laws: names are unique; ids are never reused; users are exact; the output node, if any, is the last.

use crate::{Argument, Error, Kwargs, Node, NodeId, NodeKind, Op, Result, ensure};
use hashbrown::HashTable;
use indexmap::IndexMap;
use smallvec::SmallVec;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::Arc;

/// An FX graph with the subgraphs that its higher-order operators use.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    slots: Vec<Slot>,
    first: Option<NodeId>,
    last: Option<NodeId>,
    names: Names,
    len: usize,
    /// Subgraphs by the attribute name that `get_attr` nodes use.
    pub subgraphs: IndexMap<Arc<str>, Graph>,
    /// True if the graph returns its one output bare, not in a tuple (a `while_loop` condition).
    pub is_single_return: bool,
}

#[derive(Clone, Debug)]
struct Slot {
    node: Option<Node>,
    prev: Option<NodeId>,
    next: Option<NodeId>,
    order: u64,
    users: Users,
}

/// The nodes by name. The names themselves stand in the slots.
#[derive(Clone, Debug, Default)]
struct Names {
    ids: HashTable<NodeId>,
    hasher: RandomState,
}

impl Names {
    fn find(&self, slots: &[Slot], name: &str) -> Option<NodeId> {
        self.ids.find(self.hasher.hash_one(name), |&id| name_of(slots, id) == name).copied()
    }
    fn reserve(&mut self, slots: &[Slot], more: usize) {
        self.ids.reserve(more, |&id| self.hasher.hash_one(name_of(slots, id)));
    }
    /// Takes in a node that bears its name.
    fn insert(&mut self, slots: &[Slot], id: NodeId) {
        let hash = |&id: &NodeId| self.hasher.hash_one(name_of(slots, id));
        self.ids.insert_unique(hash(&id), id, hash);
    }
    /// Forgets a node that still bears its name.
    fn remove(&mut self, slots: &[Slot], id: NodeId) {
        let found = self.ids.find_entry(self.hasher.hash_one(name_of(slots, id)), |&other| other == id);
        found.expect("law: a live node is found by its name").remove();
    }
}

fn name_of(slots: &[Slot], id: NodeId) -> &str {
    &slots[id.index()].node.as_ref().expect("law: only live nodes have names").name
}

/// The users of a node, in the order in which they came, each with the number of its mentions.
///
/// Law: a node's mentions are counted one after the other, so one that is added belongs to the last user or to a new one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Users(SmallVec<[(NodeId, u32); 2]>);

impl Users {
    /// The users in order.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &NodeId> {
        self.0.iter().map(|(user, _)| user)
    }
    /// The number of users.
    pub fn len(&self) -> usize {
        self.0.len()
    }
    /// True if nobody uses the node.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    /// How often that node mentions this one.
    pub fn mentions(&self, user: NodeId) -> u32 {
        self.0.iter().find(|(id, _)| *id == user).map_or(0, |(_, count)| *count)
    }
    fn add(&mut self, user: NodeId) {
        match self.0.last_mut() {
            Some((last, count)) if *last == user => *count += 1,
            _ => self.0.push((user, 1)),
        }
    }
    fn remove(&mut self, user: NodeId) {
        self.0.retain(|(id, _)| *id != user);
    }
}

/// The distance between the order keys of neighbours after a renumbering.
const GAP: u64 = 1 << 20;

impl Graph {
    /// An empty graph.
    pub fn new() -> Graph {
        Graph::default()
    }

    /// Makes room for that many more nodes.
    pub fn reserve(&mut self, nodes: usize) {
        self.slots.reserve_exact(nodes);
        self.names.reserve(&self.slots, nodes);
    }
    /// The number of nodes.
    pub fn len(&self) -> usize {
        self.len
    }
    /// True if there is no node.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// One more than the largest index of any id: the length of a dense side table.
    pub fn capacity(&self) -> usize {
        self.slots.len()
    }
    /// The node, unless it was erased.
    pub fn get(&self, id: NodeId) -> Option<&Node> {
        self.slots.get(id.index())?.node.as_ref()
    }
    /// The node.
    ///
    /// # Panics
    /// If it was erased.
    pub fn node(&self, id: NodeId) -> &Node {
        self.get(id).expect("law: a NodeId in use names a live node")
    }
    /// The node's meta, to be changed in place. Arguments are changed by [`Graph::set_args`].
    pub fn meta_mut(&mut self, id: NodeId) -> &mut crate::NodeMeta {
        &mut self.slots[id.index()].node.as_mut().expect("law: a NodeId in use names a live node").meta
    }
    /// The node of that name.
    pub fn find(&self, name: &str) -> Option<NodeId> {
        self.names.find(&self.slots, name)
    }
    /// The nodes in order.
    pub fn ids(&self) -> Ids<'_> {
        Ids { graph: self, next: self.first }
    }
    /// The nodes in order, with their ids.
    pub fn nodes(&self) -> impl Iterator<Item = (NodeId, &Node)> {
        self.ids().map(|id| (id, self.node(id)))
    }
    /// The placeholders in order.
    pub fn placeholders(&self) -> impl Iterator<Item = (NodeId, &Node)> {
        self.nodes().filter(|(_, n)| n.kind == NodeKind::Placeholder)
    }
    /// The output node.
    pub fn output(&self) -> Option<NodeId> {
        self.last.filter(|&id| self.node(id).kind == NodeKind::Output)
    }
    /// What the graph returns; empty if it has no output node.
    pub fn outputs(&self) -> &[Argument] {
        self.output().map_or(&[], |id| &self.node(id).args)
    }
    /// The users of a node, each with the number of its mentions.
    pub fn users(&self, id: NodeId) -> &Users {
        &self.slots[id.index()].users
    }
    /// True if `a` stands before `b`.
    pub fn is_before(&self, a: NodeId, b: NodeId) -> bool {
        self.slots[a.index()].order < self.slots[b.index()].order
    }
    /// The node after this one.
    pub fn next(&self, id: NodeId) -> Option<NodeId> {
        self.slots[id.index()].next
    }
    /// The node before this one.
    pub fn prev(&self, id: NodeId) -> Option<NodeId> {
        self.slots[id.index()].prev
    }
    /// The subgraph that a `get_attr` node names.
    pub fn subgraph_of(&self, id: NodeId) -> Option<&Graph> {
        if let NodeKind::GetAttr(name) = &self.get(id)?.kind { self.subgraphs.get(name) } else { None }
    }

    /// A name that starts with `stem` and is not taken: `stem`, `stem_1`, ….
    pub fn unique_name(&self, stem: &str) -> Arc<str> {
        if self.find(stem).is_none() {
            return stem.into();
        }
        let base = stem.trim_end_matches(|c: char| c.is_ascii_digit()).strip_suffix('_').unwrap_or(stem);
        let base = if base.is_empty() { stem } else { base };
        // Names of one stem are numbered without gaps, mostly: the end of the run is found by doubling and halving.
        let is_taken = |i: u64| self.find(&format!("{base}_{i}")).is_some();
        let (mut taken, mut free) = (0, 1);
        while is_taken(free) {
            (taken, free) = (free, free * 2);
        }
        while free - taken > 1 {
            let middle = taken + (free - taken) / 2;
            if is_taken(middle) { taken = middle } else { free = middle }
        }
        format!("{base}_{free}").into()
    }

    /// Adds a node at the end; before the output node, if there is one and this is none.
    ///
    /// # Errors
    /// The name is taken, or an argument is not a node of this graph.
    pub fn append(&mut self, node: Node) -> Result<NodeId> {
        match self.output() {
            Some(out) if node.kind != NodeKind::Output => self.insert_before(out, node),
            _ => self.insert(self.last, node),
        }
    }
    /// Adds a node before `at`.
    ///
    /// # Errors
    /// As [`Graph::append`].
    pub fn insert_before(&mut self, at: NodeId, node: Node) -> Result<NodeId> {
        self.insert(self.prev(at), node)
    }
    /// Adds a node after `at`.
    ///
    /// # Errors
    /// As [`Graph::append`].
    pub fn insert_after(&mut self, at: NodeId, node: Node) -> Result<NodeId> {
        self.insert(Some(at), node)
    }
    fn insert(&mut self, prev: Option<NodeId>, node: Node) -> Result<NodeId> {
        ensure!(self.find(&node.name).is_none(), "the name `{}` is taken", node.name);
        let mut unknown = false;
        node.for_each_input(&mut |n| unknown |= self.get(n).is_none());
        ensure!(!unknown, "`{}` uses a node that is not in this graph", node.name);
        let id = NodeId::new(self.slots.len()).ok_or_else(|| Error::unsupported("more than 2^32 nodes"))?;
        let next = prev.map_or(self.first, |p| self.slots[p.index()].next);
        let order = self.order_between(prev, next);
        self.slots.push(Slot { node: Some(node), prev, next, order, users: Users::default() });
        self.names.insert(&self.slots, id);
        match prev {
            Some(p) => self.slots[p.index()].next = Some(id),
            None => self.first = Some(id),
        }
        match next {
            Some(n) => self.slots[n.index()].prev = Some(id),
            None => self.last = Some(id),
        }
        self.len += 1;
        self.count_uses(id, true);
        Ok(id)
    }
    /// An order key between two neighbours; renumbers the whole graph where there is no room left.
    fn order_between(&mut self, prev: Option<NodeId>, next: Option<NodeId>) -> u64 {
        let key = |g: &Graph, id: NodeId| g.slots[id.index()].order;
        for _ in 0..2 {
            let low = prev.map_or(0, |p| key(self, p));
            let Some(next) = next else { return low + GAP };
            let high = key(self, next);
            if high - low > 1 {
                return low + (high - low) / 2;
            }
            let ids: Vec<NodeId> = self.ids().collect();
            for (i, id) in ids.into_iter().enumerate() {
                self.slots[id.index()].order = (i as u64 + 1) * GAP;
            }
        }
        unreachable!("law: renumbering leaves room between neighbours")
    }
    fn count_uses(&mut self, user: NodeId, add: bool) {
        let mut used = Vec::new();
        self.node(user).for_each_input(&mut |n| used.push(n));
        for n in used {
            let users = &mut self.slots[n.index()].users;
            if add { users.add(user) } else { users.remove(user) }
        }
    }

    /// Replaces the arguments of a node.
    pub fn set_args(&mut self, id: NodeId, args: Vec<Argument>, kwargs: Kwargs) {
        self.edit(id, |node| (node.args, node.kwargs) = (args, kwargs));
    }
    /// Replaces the operator and the arguments of a call.
    pub fn set_call(&mut self, id: NodeId, op: Op, args: Vec<Argument>, kwargs: Kwargs) {
        self.edit(id, |node| (node.kind, node.args, node.kwargs) = (NodeKind::CallFunction(op), args, kwargs));
    }
    fn edit(&mut self, id: NodeId, f: impl FnOnce(&mut Node)) {
        self.count_uses(id, false);
        f(self.slots[id.index()].node.as_mut().expect("law: a NodeId in use names a live node"));
        self.count_uses(id, true);
    }
    /// Gives a node another name.
    ///
    /// # Errors
    /// The name is taken by another node.
    pub fn rename(&mut self, id: NodeId, name: &str) -> Result<()> {
        match self.find(name) {
            Some(other) if other != id => return Err(Error::invalid(format!("the name `{name}` is taken"))),
            _ => {}
        }
        self.names.remove(&self.slots, id);
        let node = self.slots[id.index()].node.as_mut().expect("law: a NodeId in use names a live node");
        node.name = name.into();
        self.names.insert(&self.slots, id);
        Ok(())
    }
    /// Makes every user of `old` use `new` instead.
    pub fn replace_all_uses(&mut self, old: NodeId, new: impl Into<Argument>) {
        self.replace_uses_where(old, new, |_, _| true);
    }
    /// Makes every user of `old` that stands after `after` use `new` instead.
    pub fn replace_uses_after(&mut self, old: NodeId, new: impl Into<Argument>, after: NodeId) {
        self.replace_uses_where(old, new, |g, user| g.is_before(after, user));
    }
    /// Makes the users of `old` that `which` chooses use `new` instead.
    pub fn replace_uses_where(
        &mut self,
        old: NodeId,
        new: impl Into<Argument>,
        which: impl Fn(&Graph, NodeId) -> bool,
    ) {
        let new = new.into();
        let users: Vec<NodeId> = self.users(old).keys().copied().filter(|&u| which(self, u)).collect();
        for user in users {
            let mut swap = |n: NodeId| if n == old { new.clone() } else { Argument::Node(n) };
            let node = self.node(user);
            let args = node.args.iter().map(|a| a.map_nodes(&mut swap)).collect();
            let kwargs = node.kwargs.map_nodes(&mut swap);
            self.set_args(user, args, kwargs);
        }
    }
    /// Removes a node.
    ///
    /// # Errors
    /// It still has users; the message names one.
    pub fn erase(&mut self, id: NodeId) -> Result<Node> {
        if let Some(&user) = self.users(id).keys().next() {
            let (node, user) = (&self.node(id).name, &self.node(user).name);
            return Err(Error::invalid(format!("`{node}` cannot be erased: `{user}` uses it")));
        }
        self.count_uses(id, false);
        self.names.remove(&self.slots, id);
        let slot = &mut self.slots[id.index()];
        let node = slot.node.take().expect("law: a NodeId in use names a live node");
        let (prev, next) = (slot.prev, slot.next);
        match prev {
            Some(p) => self.slots[p.index()].next = next,
            None => self.first = next,
        }
        match next {
            Some(n) => self.slots[n.index()].prev = prev,
            None => self.last = prev,
        }
        self.len -= 1;
        Ok(node)
    }
    /// Moves a node to stand before another.
    pub fn move_before(&mut self, id: NodeId, at: NodeId) {
        if id == at || self.next(id) == Some(at) {
            return;
        }
        let (prev, next) = (self.prev(id), self.next(id));
        match prev {
            Some(p) => self.slots[p.index()].next = next,
            None => self.first = next,
        }
        match next {
            Some(n) => self.slots[n.index()].prev = prev,
            None => self.last = prev,
        }
        let before = self.prev(at);
        let order = self.order_between(before, Some(at));
        let slot = &mut self.slots[id.index()];
        (slot.prev, slot.next, slot.order) = (before, Some(at), order);
        self.slots[at.index()].prev = Some(id);
        match before {
            Some(p) => self.slots[p.index()].next = Some(id),
            None => self.first = Some(id),
        }
    }
}

/// The ids of a graph in order.
pub struct Ids<'a> {
    graph: &'a Graph,
    next: Option<NodeId>,
}

impl Iterator for Ids<'_> {
    type Item = NodeId;
    fn next(&mut self) -> Option<NodeId> {
        let id = self.next?;
        self.next = self.graph.next(id);
        Some(id)
    }
}
