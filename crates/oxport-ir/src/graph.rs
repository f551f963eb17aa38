//! The graph: an ordered list of nodes, its users, its edits.
//!
//! ```text
//!  slots   [ n0 | n1 | -- | n3 | n4 ]        ids index slots; an erased slot stays empty
//!  order    n0 → n3 → n1 → n4                a doubly linked list with order keys: is_before is one comparison
//!  users    n0: {n3: 2, n1: 1}               how often each user mentions it, kept exact by every edit
//! ```
//!
//! Laws: names are unique; ids are never reused, and those of other graphs are refused; users are exact; the output
//! node, if any, is the last. What returns a `Result` refuses a foreign id by an error, everything else by a panic.

use crate::node::GraphTag;
use crate::{Argument, Error, Kwargs, Node, NodeId, NodeKind, Op, Result, ensure};
use hashbrown::{HashMap, HashTable};
use indexmap::IndexMap;
use smallvec::SmallVec;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::Arc;

/// An FX graph with the subgraphs that its higher-order operators use.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    tag: GraphTag,
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
    /// By stem, the least number that may be free: `stem_1`, …, up to the one before it, are all taken.
    free: HashMap<Box<str>, u64, RandomState>,
}

/// `add_12` as `add` and 12: a name as [`Graph::unique_name`] makes it.
fn numbered(name: &str) -> Option<(&str, u64)> {
    if !name.ends_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let (stem, digits) = name.rsplit_once('_')?;
    let is_number = !digits.starts_with('0') && digits.bytes().all(|b| b.is_ascii_digit());
    Some((stem, digits.parse().ok().filter(|_| is_number)?))
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
        let Some((stem, mut number)) = numbered(name_of(slots, id)) else { return };
        if number != self.free.get(stem).copied().unwrap_or(1) {
            return;
        }
        while self.find(slots, &format!("{stem}_{number}")).is_some() {
            number += 1;
        }
        match self.free.get_mut(stem) {
            Some(free) => *free = number,
            None => drop(self.free.insert(stem.into(), number)),
        }
    }
    /// Forgets a node that still bears its name.
    fn remove(&mut self, slots: &[Slot], id: NodeId) {
        let found = self.ids.find_entry(self.hasher.hash_one(name_of(slots, id)), |&other| other == id);
        found.expect("law: a live node is found by its name").remove();
        if let Some((stem, number)) = numbered(name_of(slots, id))
            && let Some(free) = self.free.get_mut(stem)
        {
            *free = number.min(*free);
        }
    }
}

fn name_of(slots: &[Slot], id: NodeId) -> &str {
    &slots[id.index()].node.as_ref().expect("law: only live nodes have names").name
}

/// The users of a node, in the order in which they came, each with the number of its mentions.
///
/// Laws: a mention that is added belongs to the last user or to a new one; any number of users takes the same time.
#[derive(Clone, Debug, Default)]
pub struct Users {
    /// With gaps, of no mentions, where users were removed.
    list: SmallVec<[(NodeId, u32); 2]>,
    /// The places in the list, if it is long.
    #[expect(clippy::box_collection, reason = "every node has users, few have many: a pointer is all that most pay")]
    places: Option<Box<std::collections::HashMap<NodeId, u32>>>,
    gaps: usize,
}

impl Users {
    /// From so many on, places are kept.
    const MANY: usize = 16;

    /// The users in order.
    pub fn keys(&self) -> impl Iterator<Item = &NodeId> {
        self.list.iter().filter(|(_, count)| *count > 0).map(|(user, _)| user)
    }
    /// The number of users.
    pub fn len(&self) -> usize {
        self.list.len() - self.gaps
    }
    /// True if nobody uses the node.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// How often that node mentions this one.
    pub fn mentions(&self, user: NodeId) -> u32 {
        self.place(user).map_or(0, |i| self.list[i].1)
    }
    fn place(&self, user: NodeId) -> Option<usize> {
        match &self.places {
            Some(places) => places.get(&user).map(|&i| i as usize),
            None => self.list.iter().position(|(id, count)| *id == user && *count > 0),
        }
    }
    fn add(&mut self, user: NodeId) {
        match self.list.last_mut() {
            Some((last, count)) if *last == user && *count > 0 => *count += 1,
            _ => {
                let place = self.list.len() as u32;
                self.list.push((user, 1));
                match &mut self.places {
                    Some(places) => drop(places.insert(user, place)),
                    None if self.list.len() > Users::MANY => self.settle(),
                    None => {}
                }
            }
        }
    }
    fn remove(&mut self, user: NodeId) {
        let Some(i) = self.place(user) else { return };
        if let Some(places) = &mut self.places {
            places.remove(&user);
        }
        if i + 1 == self.list.len() {
            self.list.pop();
        } else {
            self.list[i].1 = 0;
            self.gaps += 1;
        }
        if self.gaps > self.list.len() / 2 {
            self.settle();
        }
    }
    /// Closes the gaps.
    fn settle(&mut self) {
        self.list.retain(|(_, count)| *count > 0);
        self.gaps = 0;
        let places = || self.list.iter().zip(0..).map(|((user, _), i)| (*user, i)).collect();
        self.places = (self.list.len() > Users::MANY).then(|| Box::new(places()));
    }
}

impl PartialEq for Users {
    fn eq(&self, other: &Users) -> bool {
        let live = |users: &Users| users.list.iter().filter(|(_, n)| *n > 0).copied().collect::<Vec<_>>();
        live(self) == live(other)
    }
}

const LIVE: &str = "law: a NodeId in use names a live node";
const OWN: &str = "law: a NodeId is used with the graph that made it, or a clone of it";
/// The distance between the order keys of neighbors after a renumbering.
const GAP: u64 = 1 << 32;
/// The largest distance from the node before, for nodes that come between two: many go before one, one after the other.
const STEP: u64 = 1 << 16;

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
    /// The node, unless it was erased or is of another graph.
    pub fn get(&self, id: NodeId) -> Option<&Node> {
        self.slots.get(id.index()).filter(|_| id.graph() == self.tag)?.node.as_ref()
    }
    /// The node.
    ///
    /// # Panics
    /// If it was erased, or is of another graph.
    pub fn node(&self, id: NodeId) -> &Node {
        self.slot(id).node.as_ref().expect(LIVE)
    }
    fn slot(&self, id: NodeId) -> &Slot {
        assert!(id.graph() == self.tag, "{OWN}");
        &self.slots[id.index()]
    }
    fn slot_mut(&mut self, id: NodeId) -> &mut Slot {
        assert!(id.graph() == self.tag, "{OWN}");
        &mut self.slots[id.index()]
    }
    /// A node of this graph.
    pub(crate) fn own(&self, id: NodeId) -> Result<()> {
        ensure!(self.get(id).is_some(), "{id:?} is not a node of this graph");
        Ok(())
    }
    /// The node's meta, to be changed in place. Arguments are changed by [`Graph::set_args`].
    pub fn meta_mut(&mut self, id: NodeId) -> &mut crate::NodeMeta {
        &mut self.slot_mut(id).node.as_mut().expect(LIVE).meta
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
        &self.slot(id).users
    }
    /// True if `a` stands before `b`.
    pub fn is_before(&self, a: NodeId, b: NodeId) -> bool {
        self.slot(a).order < self.slot(b).order
    }
    /// The node after this one.
    pub fn next(&self, id: NodeId) -> Option<NodeId> {
        self.slot(id).next
    }
    /// The node before this one.
    pub fn prev(&self, id: NodeId) -> Option<NodeId> {
        self.slot(id).prev
    }
    /// The subgraph that a `get_attr` node names.
    pub fn subgraph_of(&self, id: NodeId) -> Option<&Graph> {
        if let NodeKind::GetAttr(name) = &self.get(id)?.kind { self.subgraphs.get(name) } else { None }
    }

    /// A name that starts with `stem` and is not taken, numbered as FX does: `add`, `add_1`, `add_2`; `add_`, `add__1`.
    pub fn unique_name(&self, stem: &str) -> Arc<str> {
        if self.find(stem).is_none() {
            return stem.into();
        }
        let plain = stem.trim_end_matches(|c: char| c.is_ascii_digit());
        let base = plain.strip_suffix('_').filter(|base| plain != stem && !base.is_empty()).unwrap_or(stem);
        let first = self.names.free.get(base).copied().unwrap_or(1);
        let name = (first..).map(|i| format!("{base}_{i}")).find(|n| self.find(n).is_none());
        name.expect("law: there are more numbers than names").into()
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
    /// As [`Graph::append`]; or `at` is not a node of this graph.
    pub fn insert_before(&mut self, at: NodeId, node: Node) -> Result<NodeId> {
        self.own(at)?;
        self.insert(self.prev(at), node)
    }
    /// Adds a node after `at`.
    ///
    /// # Errors
    /// As [`Graph::append`]; or `at` is not a node of this graph.
    pub fn insert_after(&mut self, at: NodeId, node: Node) -> Result<NodeId> {
        self.own(at)?;
        self.insert(Some(at), node)
    }
    fn insert(&mut self, prev: Option<NodeId>, node: Node) -> Result<NodeId> {
        ensure!(self.find(&node.name).is_none(), "the name `{}` is taken", node.name);
        let mut unknown = false;
        node.for_each_input(&mut |n| unknown |= self.get(n).is_none());
        ensure!(!unknown, "`{}` uses a node that is not in this graph", node.name);
        let id = NodeId::new(self.slots.len(), self.tag).ok_or_else(|| Error::unsupported("more than 2^32 nodes"))?;
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
    /// An order key between two neighbors; renumbers the whole graph where there is no room left.
    fn order_between(&mut self, prev: Option<NodeId>, next: Option<NodeId>) -> u64 {
        let key = |g: &Graph, id: NodeId| g.slots[id.index()].order;
        for _ in 0..2 {
            let low = prev.map_or(0, |p| key(self, p));
            let Some(next) = next else { return low + GAP };
            let high = key(self, next);
            if high - low > 1 {
                return low + ((high - low) / 2).min(STEP);
            }
            let ids: Vec<NodeId> = self.ids().collect();
            for (i, id) in ids.into_iter().enumerate() {
                self.slots[id.index()].order = (i as u64 + 1) * GAP;
            }
        }
        unreachable!("law: renumbering leaves room between neighbors")
    }
    fn count_uses(&mut self, user: NodeId, add: bool) {
        let mut used = Vec::new();
        self.node(user).for_each_input(&mut |n| used.push(n));
        for n in used {
            let users = &mut self.slot_mut(n).users;
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
        f(self.slot_mut(id).node.as_mut().expect(LIVE));
        self.count_uses(id, true);
    }
    /// Gives a node another name.
    ///
    /// # Errors
    /// The name is taken by another node, or this is not a node of this graph.
    pub fn rename(&mut self, id: NodeId, name: &str) -> Result<()> {
        self.own(id)?;
        match self.find(name) {
            Some(other) if other != id => return Err(Error::invalid(format!("the name `{name}` is taken"))),
            _ => {}
        }
        self.names.remove(&self.slots, id);
        self.slot_mut(id).node.as_mut().expect(LIVE).name = name.into();
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
        users.iter().for_each(|&user| self.slot_mut(old).users.remove(user));
        for user in users {
            let mut swap = |n: NodeId| if n == old { new.clone() } else { Argument::Node(n) };
            let node = self.node(user);
            let args = node.args.iter().map(|a| a.map_nodes(&mut swap)).collect();
            let kwargs = node.kwargs.map_nodes(&mut swap);
            let mut others = Vec::new();
            node.for_each_input(&mut |n| others.extend((n != old).then_some(n)));
            others.into_iter().for_each(|n| self.slot_mut(n).users.remove(user));
            let node = self.slot_mut(user).node.as_mut().expect(LIVE);
            (node.args, node.kwargs) = (args, kwargs);
            self.count_uses(user, true);
        }
    }
    /// Removes a node.
    ///
    /// # Errors
    /// It still has users; the message names one. Or it is not a node of this graph.
    pub fn erase(&mut self, id: NodeId) -> Result<Node> {
        self.own(id)?;
        if let Some(&user) = self.users(id).keys().next() {
            let (node, user) = (&self.node(id).name, &self.node(user).name);
            return Err(Error::invalid(format!("`{node}` cannot be erased: `{user}` uses it")));
        }
        self.count_uses(id, false);
        self.names.remove(&self.slots, id);
        self.unlink(id);
        self.len -= 1;
        Ok(self.slot_mut(id).node.take().expect(LIVE))
    }
    /// Makes the nodes before and after it neighbors.
    fn unlink(&mut self, id: NodeId) {
        let (prev, next) = (self.prev(id), self.next(id));
        match prev {
            Some(p) => self.slots[p.index()].next = next,
            None => self.first = next,
        }
        match next {
            Some(n) => self.slots[n.index()].prev = prev,
            None => self.last = prev,
        }
    }
    /// Moves a node to stand before another.
    pub fn move_before(&mut self, id: NodeId, at: NodeId) {
        if id == at || self.next(id) == Some(at) {
            return;
        }
        self.unlink(id);
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
