//! Moves that make a whole choice cheaper.
//!
//! A move puts other terms in the place of some; only what it takes in and lets go is priced. Beside moves of one
//! class: all classes that have a term over one that is not needed yet take it *together* (each part of a merged
//! product alone looks dearer than it was), and all users of a class leave it together.
//!
//! Law: a move that does not make the choice cheaper, or makes it cyclic, is taken back.

use super::prune::users;
use super::{Pick, Space, greedy};

/// A choice with counts of who needs what.
struct State<'a> {
    space: &'a Space,
    pick: Vec<usize>,
    uses: Vec<u32>,
    total: u64,
    steps: u64,
    seen: Vec<u64>,
    turn: u64,
    /// What a walk has before it.
    open: Vec<usize>,
}

const NONE: usize = usize::MAX;

/// A choice that costs no more than `pick`.
pub(super) fn improve(space: &Space, pick: &Pick, steps: u64) -> Pick {
    let count = space.classes.len();
    let mut state = State {
        space,
        pick: pick.iter().map(|p| p.unwrap_or(NONE)).collect(),
        uses: vec![0; count],
        total: 0,
        steps,
        seen: vec![0; count],
        turn: 0,
        open: Vec::new(),
    };
    space.roots.iter().for_each(|&root| state.take(root));
    let users = users(space);
    for _ in 0..16 {
        let before = state.total;
        state.suppose(&users);
        for class in (0..count).rev() {
            if state.steps == 0 {
                break;
            }
            if state.uses[class] > 0 {
                state.single(class);
                state.leave(class, &users[class]);
            } else {
                state.share(class, &users[class]);
            }
        }
        if state.total >= before || state.steps == 0 {
            break;
        }
    }
    state.pick.iter().map(|&i| (i != NONE).then_some(i)).collect()
}

impl State<'_> {
    /// Gives the classes that are not needed the terms that would be best if they were: what is needed already is free.
    fn suppose(&mut self, users: &[Vec<usize>]) {
        let best = greedy::shared(self.space, users, |class| self.uses[class] > 0);
        for (class, best) in best.into_iter().enumerate() {
            if let Some(best) = best.filter(|_| self.uses[class] == 0) {
                self.pick[class] = best;
            }
        }
    }
    fn kids(&self, class: usize) -> &[usize] {
        let space: &Space = self.space;
        self.pick.get(class).filter(|&&i| i != NONE).map_or(&[], |&i| &space.classes[class][i].kids)
    }
    fn cost(&self, class: usize) -> u64 {
        self.space.classes[class].get(self.pick[class]).map_or(u64::MAX / 4, |n| n.cost)
    }

    /// One more needs the class.
    fn take(&mut self, class: usize) {
        let mut open = std::mem::take(&mut self.open);
        open.push(class);
        while let Some(class) = open.pop() {
            self.uses[class] += 1;
            if self.uses[class] == 1 {
                self.steps = self.steps.saturating_sub(1);
                self.total = self.total.saturating_add(self.cost(class));
                open.extend_from_slice(self.kids(class));
            }
        }
        self.open = open;
    }

    /// One less needs the class.
    fn release(&mut self, class: usize) {
        let mut open = std::mem::take(&mut self.open);
        open.push(class);
        while let Some(class) = open.pop() {
            self.uses[class] -= 1;
            if self.uses[class] == 0 {
                self.steps = self.steps.saturating_sub(1);
                self.total = self.total.saturating_sub(self.cost(class));
                open.extend_from_slice(self.kids(class));
            }
        }
        self.open = open;
    }

    /// Puts another term in the place of one.
    fn set(&mut self, class: usize, i: usize) {
        let space = self.space;
        if self.uses[class] == 0 {
            self.pick[class] = i;
            return;
        }
        let old = self.pick[class];
        space.classes[class][i].kids.iter().for_each(|&kid| self.take(kid));
        self.total = self.total.saturating_add(space.classes[class][i].cost).saturating_sub(self.cost(class));
        self.pick[class] = i;
        if old != NONE {
            space.classes[class][old].kids.iter().for_each(|&kid| self.release(kid));
        }
    }

    /// Puts other terms in the place of some, if that is cheaper.
    fn attempt(&mut self, changes: &[(usize, usize)]) -> bool {
        let before = self.total;
        // A term that reaches itself would count its own uses; the walk tells before anything is counted.
        let undo: Vec<(usize, usize)> = changes.iter().map(|&(class, _)| (class, self.pick[class])).collect();
        if self.is_cyclic(changes) {
            return false;
        }
        changes.iter().for_each(|&(class, i)| self.set(class, i));
        if self.total < before {
            return true;
        }
        undo.iter().rev().for_each(|&(class, i)| self.set(class, i));
        false
    }

    /// Whether a class of the changes would reach itself.
    fn is_cyclic(&mut self, changes: &[(usize, usize)]) -> bool {
        let old: Vec<usize> = changes.iter().map(|&(class, _)| self.pick[class]).collect();
        changes.iter().for_each(|&(class, i)| self.pick[class] = i);
        let found = changes.iter().any(|&(class, _)| self.reaches_itself(class));
        changes.iter().zip(&old).for_each(|(&(class, _), &i)| self.pick[class] = i);
        found
    }

    fn reaches_itself(&mut self, class: usize) -> bool {
        self.turn += 1;
        let mut open = std::mem::take(&mut self.open);
        open.extend_from_slice(self.kids(class));
        let mut is_found = false;
        while let Some(at) = open.pop() {
            is_found = at == class;
            if is_found {
                break;
            }
            if self.seen[at] != self.turn {
                self.seen[at] = self.turn;
                self.steps = self.steps.saturating_sub(1);
                open.extend_from_slice(self.kids(at));
            }
        }
        open.clear();
        self.open = open;
        is_found
    }

    /// Another term for one class.
    fn single(&mut self, class: usize) {
        for i in 0..self.space.classes[class].len() {
            if i != self.pick[class] && self.is_promising(class, i) {
                self.attempt(&[(class, i)]);
            }
        }
    }

    /// A term that takes in more than it saves at once is no better: a bound without a walk.
    fn is_promising(&self, class: usize, i: usize) -> bool {
        let node = &self.space.classes[class][i];
        let taken: u64 = node.kids.iter().filter(|&&k| self.uses[k] == 0).map(|&k| self.cost(k)).sum();
        let mut freed = self.cost(class);
        let mut open: Vec<usize> = self.kids(class).iter().copied().filter(|&k| self.uses[k] == 1).collect();
        while let Some(kid) = open.pop() {
            freed = freed.saturating_add(self.cost(kid));
            if freed > node.cost.saturating_add(taken) {
                return true;
            }
            open.extend(self.kids(kid).iter().filter(|&&k| self.uses[k] == 1));
        }
        freed > node.cost.saturating_add(taken)
    }

    /// All that have a term over a class which is not needed take it together.
    fn share(&mut self, class: usize, users: &[usize]) {
        if self.pick[class] == NONE {
            return;
        }
        let mut changes = Vec::new();
        for &user in users.iter().filter(|&&u| self.uses[u] > 0) {
            let nodes = &self.space.classes[user];
            let over = (0..nodes.len()).filter(|&i| nodes[i].kids.binary_search(&class).is_ok());
            changes.extend(over.min_by_key(|&i| (nodes[i].cost, i)).map(|i| (user, i)));
        }
        if changes.len() > 1 {
            self.attempt(&changes);
        }
    }

    /// All that need a class take a term without it.
    fn leave(&mut self, class: usize, users: &[usize]) {
        let mut changes = Vec::new();
        for &user in users.iter().filter(|&&u| self.uses[u] > 0 && self.kids(u).contains(&class)) {
            let nodes = &self.space.classes[user];
            let other = (0..nodes.len()).filter(|&i| nodes[i].kids.binary_search(&class).is_err());
            let taken = |i: usize| {
                let kids = nodes[i].kids.iter().filter(|&&k| self.uses[k] == 0);
                kids.map(|&k| self.cost(k)).fold(nodes[i].cost, u64::saturating_add)
            };
            match other.min_by_key(|&i| (taken(i), i)) {
                Some(i) => changes.push((user, i)),
                None => return,
            }
        }
        if changes.len() > 1 {
            self.attempt(&changes);
        }
    }
}
