//! The best choice within a window of classes, by branch and bound.
//!
//! All classes outside of the window keep their terms. Classes are taken in as they are needed, an open one with what
//! all of its terms need; a partial choice is dropped when what it needs already costs as much as the best one found,
//! every open class at its cheapest term. Of a small space the parts that say nothing about each other (`parts`) are
//! searched one after the other.
//!
//! Laws: bounded by a number of steps; a window that ends within it is solved exactly; the result is acyclic.

use super::parts::parts;
use super::{Node, Pick, Space};

/// The most open classes of a window, and of a space that is one window.
const WINDOW: usize = 16;
const WHOLE: usize = 96;

/// A choice that costs no more than `pick`: each window in turn, the whole space if it is small.
pub(super) fn windows(space: &Space, pick: &Pick, steps: u64) -> Pick {
    let is_open = |c: &usize| space.classes[*c].len() > 1;
    let open: Vec<usize> = (0..space.classes.len()).filter(is_open).collect();
    let Some(mut search) = Search::new(space, pick) else { return pick.clone() };
    if open.len() <= WHOLE {
        search.steps = 20 * steps;
        for part in parts(space, &search.pick, &open) {
            let left = search.steps;
            search.run(&part, left);
        }
        if search.steps > 0 || open.len() <= WINDOW {
            return search.found;
        }
    }
    let used = space.needed(&search.found);
    let used: Vec<usize> = open.into_iter().filter(|&c| used[c]).collect();
    for start in (0..used.len()).step_by(WINDOW / 4) {
        let mut window: Vec<usize> = used[start..used.len().min(start + WINDOW / 2)].to_vec();
        // What their other terms need may have a choice, too.
        let mut at = 0;
        while at < window.len() && window.len() < WINDOW {
            let class = window[at];
            for &kid in space.classes[class].iter().flat_map(|node| &node.kids) {
                if is_open(&kid) && !window.contains(&kid) && window.len() < WINDOW {
                    window.push(kid);
                }
            }
            at += 1;
        }
        search.run(&window, steps);
    }
    search.found
}

/// An open class of a window.
struct Open {
    class: usize,
    /// What all of its terms need.
    common: Vec<usize>,
    /// Its terms, the cheapest first.
    order: Vec<usize>,
    /// What the cheapest one costs.
    least: u64,
}

impl Open {
    fn new(space: &Space, class: usize) -> Open {
        let nodes = &space.classes[class];
        let mut order: Vec<usize> = (0..nodes.len()).collect();
        order.sort_by_key(|&i| nodes[i].cost);
        let least = order.first().map_or(u64::MAX, |&i| nodes[i].cost);
        Open { class, common: common(nodes), order, least }
    }
}

const NONE: usize = usize::MAX;

/// A search of one window after the other.
struct Search<'a> {
    space: &'a Space,
    window: Vec<Open>,
    /// Which class of the window each class is.
    place: Vec<usize>,
    /// The terms taken, those of classes outside of the window from the start.
    pick: Pick,
    is_taken: Vec<bool>,
    /// What is taken, in order.
    trail: Vec<usize>,
    cost: u64,
    found: Pick,
    best: u64,
    steps: u64,
    cycles: Cycles,
    pending: Vec<usize>,
}

impl<'a> Search<'a> {
    /// From a choice; `None` if it is cyclic.
    fn new(space: &'a Space, pick: &Pick) -> Option<Search<'a>> {
        let count = space.classes.len();
        Some(Search {
            space,
            window: Vec::new(),
            place: vec![NONE; count],
            pick: pick.clone(),
            is_taken: vec![false; count],
            trail: Vec::new(),
            cost: 0,
            found: pick.clone(),
            best: space.price(pick)?,
            steps: 0,
            cycles: Cycles::new(count),
            pending: Vec::new(),
        })
    }

    /// Searches a window of classes.
    fn run(&mut self, window: &[usize], steps: u64) {
        self.window.iter().for_each(|open| self.place[open.class] = NONE);
        self.window = window.iter().map(|&class| Open::new(self.space, class)).collect();
        window.iter().enumerate().for_each(|(place, &class)| self.place[class] = place);
        (self.cost, self.steps) = (0, steps);
        self.cycles.window += 1;
        let (before, mut open) = (self.best, Vec::new());
        if self.take(&self.space.roots, &mut open).is_some() {
            self.branch(&open);
        }
        self.trail.drain(..).for_each(|c| self.is_taken[c] = false);
        if self.best < before {
            self.pick.clone_from(&self.found);
        }
    }

    /// Takes in what is needed, and appends the places of the open classes among it; `None` if one has no term.
    fn take(&mut self, needed: &[usize], open: &mut Vec<usize>) -> Option<()> {
        self.pending.clear();
        self.pending.extend_from_slice(needed);
        while let Some(class) = self.pending.pop() {
            if std::mem::replace(&mut self.is_taken[class], true) {
                continue;
            }
            self.trail.push(class);
            self.steps = self.steps.saturating_sub(1);
            match self.window.get(self.place[class]) {
                Some(one) => {
                    open.push(self.place[class]);
                    self.pending.extend_from_slice(&one.common);
                }
                None => {
                    let node = &self.space.classes[class][self.pick[class]?];
                    self.cost = self.cost.saturating_add(node.cost);
                    self.pending.extend_from_slice(&node.kids);
                }
            }
        }
        Some(())
    }

    /// Tries the terms of the last of the open classes.
    fn branch(&mut self, open: &[usize]) {
        let bound = open.iter().fold(self.cost, |sum, &place| sum.saturating_add(self.window[place].least));
        if bound >= self.best || self.steps == 0 {
            return;
        }
        self.steps -= 1;
        let Some((&place, rest)) = open.split_last() else {
            self.steps = self.steps.saturating_sub(self.trail.len() as u64);
            let open = self.window.iter().map(|open| open.class).filter(|&class| self.is_taken[class]);
            if !self.cycles.are_below(open, self.space, &self.pick, &self.place) {
                self.best = self.cost;
                self.found.clone_from(&self.pick);
            }
            return;
        };
        let (space, class) = (self.space, self.window[place].class);
        let (mark, cost, before) = (self.trail.len(), self.cost, self.pick[class]);
        let mut open = Vec::with_capacity(rest.len() + 8);
        // The term that was there is tried first.
        for at in 0..=self.window[place].order.len() {
            let other = at.checked_sub(1).map(|at| self.window[place].order[at]);
            let Some(i) = other.map_or(before, |i| Some(i).filter(|_| Some(i) != before)) else { continue };
            let node = &space.classes[class][i];
            self.pick[class] = Some(i);
            self.cost = cost.saturating_add(node.cost);
            open.clear();
            open.extend_from_slice(rest);
            if self.take(&node.kids, &mut open).is_some() {
                self.branch(&open);
            }
            self.trail.drain(mark..).for_each(|c| self.is_taken[c] = false);
        }
        (self.cost, self.pick[class]) = (cost, before);
    }
}

/// Finds cycles. Since the choice from which a window is searched has none, there are some only below classes of the
/// window. What does not lead back to the window is looked at once for all choices within it.
struct Cycles {
    turn: u64,
    window: u64,
    /// The last turn in which a class was entered, and in which it was left again.
    entered: Vec<u64>,
    left: Vec<u64>,
    /// The last window to which a class does not lead, nor to a cycle.
    is_apart: Vec<u64>,
    stack: Vec<(usize, usize)>,
}

impl Cycles {
    fn new(count: usize) -> Cycles {
        let none = || vec![0; count];
        Cycles { turn: 0, window: 0, entered: none(), left: none(), is_apart: none(), stack: Vec::new() }
    }

    /// Whether a choice has a cycle that some of the classes of the window need; `place` says which these are.
    fn are_below(&mut self, open: impl Iterator<Item = usize>, space: &Space, pick: &Pick, place: &[usize]) -> bool {
        self.turn += 1;
        self.stack.clear();
        for class in open {
            if self.entered[class] != self.turn {
                self.entered[class] = self.turn;
                self.stack.push((class, 0));
            }
            while let Some((class, at)) = self.stack.pop() {
                let kids = pick[class].map_or(&[][..], |i| &space.classes[class][i].kids);
                let Some(&kid) = kids.get(at) else {
                    self.left[class] = self.turn;
                    if place[class] == NONE && kids.iter().all(|&kid| self.is_apart[kid] == self.window) {
                        self.is_apart[class] = self.window;
                    }
                    continue;
                };
                self.stack.push((class, at + 1));
                if self.is_apart[kid] == self.window {
                    continue;
                }
                if self.entered[kid] != self.turn {
                    self.entered[kid] = self.turn;
                    self.stack.push((kid, 0));
                } else if self.left[kid] != self.turn {
                    return true;
                }
            }
        }
        false
    }
}

/// The classes that all of these terms need.
fn common(nodes: &[Node]) -> Vec<usize> {
    let needed_by_all = |kid: &usize| nodes.iter().all(|node| node.kids.binary_search(kid).is_ok());
    nodes.first().into_iter().flat_map(|node| &node.kids).copied().filter(needed_by_all).collect()
}
