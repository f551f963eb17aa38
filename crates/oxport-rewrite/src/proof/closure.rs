//! Congruence closure: terms, which of them are equal, and why.
//!
//! Terms are hash-consed: a head over arguments that exist already, so that there are no cycles. Equal arguments make
//! equal terms. Each union is an edge of a *proof forest*, whose paths say which equations an equality needs.
//!
//! Laws: two terms are equal only if the equations that were given make them so, by reflexivity, symmetry, transitivity
//! and congruence; an explanation of an equality has equations that suffice for it.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::Hash;

/// A term.
pub type TermId = u32;

/// Why two terms are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    /// An equation that was given, by its number.
    Given(u32),
    /// Both have the same head, and equal arguments.
    Congruence,
}

/// Terms over heads of a type, and which of them are equal.
pub struct Closure<H> {
    heads: Vec<H>,
    head_ids: HashMap<H, u32>,
    /// The head and the arguments of each term, as it was made.
    terms: Vec<(u32, Box<[TermId]>)>,
    made: HashMap<(u32, Box<[TermId]>), TermId>,
    /// The terms by head and classes of arguments.
    classes: HashMap<(u32, Box<[TermId]>), TermId>,
    /// Union-find: a term of the same class.
    parents: Vec<TermId>,
    /// Of a class: its terms.
    members: Vec<Vec<TermId>>,
    /// Of a class: the terms that have one of its terms as an argument.
    users: Vec<Vec<TermId>>,
    /// The proof forest: an equal term on the way to the root, and why it is equal.
    edges: Vec<Option<(TermId, Reason)>>,
    /// Unions that are yet to be made.
    open: Vec<(TermId, TermId, Reason)>,
    /// What unions changed, where they may be taken back.
    trail: Option<Vec<Change>>,
}

/// What a union changed.
enum Change {
    /// A class was taken into another one, which had so many members and users.
    Joined { to: TermId, from: TermId, members: usize, users: usize },
    /// A term stands for those of the same head and equal arguments.
    Named(u32, Box<[TermId]>),
}

/// A class that was taken into another one: the one that stays, and the one that is no more.
pub type Merged = (TermId, TermId);

impl<H: Clone + Eq + Hash> Default for Closure<H> {
    fn default() -> Closure<H> {
        Closure::new()
    }
}

impl<H: Clone + Eq + Hash> Closure<H> {
    /// No terms.
    pub fn new() -> Closure<H> {
        Closure {
            heads: Vec::new(),
            head_ids: HashMap::new(),
            terms: Vec::new(),
            made: HashMap::new(),
            classes: HashMap::new(),
            parents: Vec::new(),
            members: Vec::new(),
            users: Vec::new(),
            edges: Vec::new(),
            open: Vec::new(),
            trail: None,
        }
    }

    /// From now on unions can be taken back; then there is no explanation of what is equal.
    pub fn keep_trail(&mut self) {
        self.trail = Some(Vec::new());
    }

    /// How many changes were made, for [`undo`](Closure::undo).
    pub fn changes(&self) -> usize {
        self.trail.as_ref().map_or(0, Vec::len)
    }

    /// Takes back all unions since there were so many changes; terms must not have been added since.
    pub fn undo(&mut self, changes: usize) {
        for change in self.trail.iter_mut().flat_map(|trail| trail.drain(changes..).rev()) {
            match change {
                Change::Joined { to, from, members, users } => {
                    let members = self.members[to as usize].split_off(members);
                    members.iter().for_each(|&member| self.parents[member as usize] = from);
                    self.members[from as usize] = members;
                    self.users[from as usize] = self.users[to as usize].split_off(users);
                }
                Change::Named(head, args) => drop(self.classes.remove(&(head, args))),
            }
        }
    }

    /// True if there are no terms.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// How many terms there are.
    pub fn len(&self) -> usize {
        self.terms.len()
    }

    /// The head and the arguments of a term.
    pub fn term(&self, id: TermId) -> (&H, &[TermId]) {
        let (head, args) = &self.terms[id as usize];
        (&self.heads[*head as usize], args)
    }

    /// The term that was made of a head and arguments.
    pub fn find_term(&self, head: &H, args: &[TermId]) -> Option<TermId> {
        let head = *self.head_ids.get(head)?;
        self.made.get(&(head, args.into())).copied()
    }

    /// A term; a new one is equal to those of the same head and equal arguments.
    ///
    /// # Panics
    /// An argument is no term.
    pub fn add(&mut self, head: H, args: &[TermId]) -> TermId {
        let next = self.heads.len() as u32;
        let head = *self.head_ids.entry(head.clone()).or_insert_with(|| {
            self.heads.push(head);
            next
        });
        let key = (head, Box::from(args));
        if let Some(&made) = self.made.get(&key) {
            return made;
        }
        let id = self.terms.len() as TermId;
        let canonical = self.canonical(&key);
        self.terms.push(key.clone());
        self.made.insert(key, id);
        self.parents.push(id);
        self.members.push(vec![id]);
        self.users.push(Vec::new());
        self.edges.push(None);
        let distinct: BTreeSet<TermId> = canonical.1.iter().copied().collect();
        for class in distinct {
            self.users[class as usize].push(id);
        }
        match self.classes.entry(canonical) {
            // A new term has no users, so nothing follows from this but itself.
            Entry::Occupied(equal) => self.open.push((*equal.get(), id, Reason::Congruence)),
            Entry::Vacant(vacant) => drop(vacant.insert(id)),
        }
        self.close();
        id
    }

    /// The class of a term, named by one of its terms.
    pub fn find(&self, mut id: TermId) -> TermId {
        while self.parents[id as usize] != id {
            id = self.parents[id as usize];
        }
        id
    }

    /// True if two terms are equal.
    pub fn equal(&self, a: TermId, b: TermId) -> bool {
        self.find(a) == self.find(b)
    }

    /// The terms that are equal to a term.
    pub fn members(&self, id: TermId) -> &[TermId] {
        &self.members[self.find(id) as usize]
    }

    /// The terms with an argument that is equal to a term.
    pub fn users(&self, id: TermId) -> &[TermId] {
        &self.users[self.find(id) as usize]
    }

    /// Makes two terms equal, for a reason of this number, and all that is equal by congruence then. Gives the classes
    /// that became one.
    pub fn unite(&mut self, a: TermId, b: TermId, reason: u32) -> Vec<Merged> {
        self.open.push((a, b, Reason::Given(reason)));
        self.close()
    }

    fn canonical(&self, key: &(u32, Box<[TermId]>)) -> (u32, Box<[TermId]>) {
        (key.0, key.1.iter().map(|&a| self.find(a)).collect())
    }

    fn close(&mut self) -> Vec<Merged> {
        let mut merged = Vec::new();
        while let Some((a, b, reason)) = self.open.pop() {
            let (mut from, mut to) = (self.find(a), self.find(b));
            if from == to {
                continue;
            }
            // The smaller class joins the larger one: a term changes its class seldom.
            let weight = |class: TermId| self.members[class as usize].len() + self.users[class as usize].len();
            let (mut a, mut b) = (a, b);
            if weight(from) > weight(to) {
                (from, to, a, b) = (to, from, b, a);
            }
            match &mut self.trail {
                Some(trail) => {
                    let (members, users) = (self.members[to as usize].len(), self.users[to as usize].len());
                    trail.push(Change::Joined { to, from, members, users });
                }
                None => {
                    self.turn(a);
                    self.edges[a as usize] = Some((b, reason));
                }
            }
            let members = std::mem::take(&mut self.members[from as usize]);
            for &member in &members {
                self.parents[member as usize] = to;
            }
            self.members[to as usize].extend(members);
            for user in std::mem::take(&mut self.users[from as usize]) {
                let key = self.canonical(&self.terms[user as usize]);
                match self.classes.entry(key) {
                    Entry::Occupied(equal) => self.open.push((*equal.get(), user, Reason::Congruence)),
                    Entry::Vacant(vacant) => {
                        if let Some(trail) = &mut self.trail {
                            let (head, args) = vacant.key().clone();
                            trail.push(Change::Named(head, args));
                        }
                        vacant.insert(user);
                    }
                }
                self.users[to as usize].push(user);
            }
            merged.push((to, from));
        }
        merged
    }

    /// Turns the edges from a term to the root of its tree, so that it is the root.
    fn turn(&mut self, id: TermId) {
        let (mut at, mut edge) = (id, None);
        loop {
            let next = std::mem::replace(&mut self.edges[at as usize], edge);
            let Some((up, reason)) = next else { return };
            (at, edge) = (up, Some((at, reason)));
        }
    }

    /// The numbers of the equations that make each of some pairs equal; those of pairs that are not equal are not among
    /// them.
    pub fn explain(&self, pairs: impl IntoIterator<Item = (TermId, TermId)>) -> BTreeSet<u32> {
        self.explain_until(pairs, &|_| false)
    }

    /// As [`explain`](Closure::explain), without what makes arguments equal that are in a class for which `ends` holds.
    pub fn explain_until(
        &self,
        pairs: impl IntoIterator<Item = (TermId, TermId)>,
        ends: &dyn Fn(TermId) -> bool,
    ) -> BTreeSet<u32> {
        let mut given = BTreeSet::new();
        let (mut open, mut seen): (Vec<_>, HashSet<TermId>) = (pairs.into_iter().collect(), HashSet::new());
        while let Some((a, b)) = open.pop() {
            let Some((left, right)) = self.paths(a, b) else { continue };
            for id in left.into_iter().chain(right).filter(|id| seen.insert(*id)) {
                let Some((up, reason)) = self.edges[id as usize] else { continue };
                match reason {
                    Reason::Given(number) => drop(given.insert(number)),
                    Reason::Congruence => {
                        let (x, y) = (&self.terms[id as usize].1, &self.terms[up as usize].1);
                        let pairs = x.iter().copied().zip(y.iter().copied());
                        open.extend(pairs.filter(|(x, y)| x != y && !ends(self.find(*x))));
                    }
                }
            }
        }
        given
    }

    /// The terms on the ways from two terms to the first that is on both, without it.
    fn paths(&self, a: TermId, b: TermId) -> Option<(Vec<TermId>, Vec<TermId>)> {
        let way = |mut id: TermId| {
            let mut way = vec![id];
            while let Some((up, _)) = self.edges[id as usize] {
                way.push(up);
                id = up;
            }
            way
        };
        let (mut left, mut right) = (way(a), way(b));
        if left.last() != right.last() {
            return None;
        }
        while left.len() > 1 && right.len() > 1 && left[left.len() - 2] == right[right.len() - 2] {
            left.pop();
            right.pop();
        }
        // What is left of each ends at the first common term.
        left.pop();
        right.pop();
        Some((left, right))
    }
}
