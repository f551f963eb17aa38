//! The best choice within a window of classes, by branch and bound.
//!
//! All classes outside of the window keep their terms. Classes are taken in as they are needed, an open one with what
//! all of its terms need; a partial choice is dropped when what it needs already costs as much as the best one found,
//! every open class at its cheapest term.
//!
//! Laws: bounded by a number of steps; a window that ends within it is solved exactly; the result is acyclic.

use super::{Node, Pick, Space};
use std::collections::HashMap;

/// The most open classes of a window, and of a space that is one window.
const WINDOW: usize = 16;
const WHOLE: usize = 96;

/// A choice that costs no more than `pick`: each window in turn, the whole space if it is small.
pub(super) fn windows(space: &Space, pick: &Pick, steps: u64) -> Pick {
    let is_open = |c: &usize| space.classes[*c].len() > 1;
    let open: Vec<usize> = (0..space.classes.len()).filter(is_open).collect();
    let mut best = pick.clone();
    if open.len() <= WHOLE {
        let mut search = Search::new(space, &best, &open, 20 * steps);
        if search.run() {
            best = search.found;
        }
        if search.steps > 0 || open.len() <= WINDOW {
            return best;
        }
    }
    let used = space.needed(&best);
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
        let mut search = Search::new(space, &best, &window, steps);
        if search.run() {
            best = search.found;
        }
    }
    best
}

struct Search<'a> {
    space: &'a Space,
    is_open: Vec<bool>,
    /// What all terms of an open class need.
    common: HashMap<usize, Vec<usize>>,
    /// The terms taken, those of classes outside of the window from the start.
    pick: Pick,
    is_taken: Vec<bool>,
    /// What is taken, in order.
    trail: Vec<usize>,
    cost: u64,
    found: Pick,
    best: u64,
    steps: u64,
}

impl<'a> Search<'a> {
    fn new(space: &'a Space, pick: &Pick, window: &[usize], steps: u64) -> Search<'a> {
        let mut is_open = vec![false; space.classes.len()];
        window.iter().for_each(|&c| is_open[c] = true);
        Search {
            space,
            is_open,
            common: window.iter().map(|&c| (c, common(&space.classes[c]))).collect(),
            pick: pick.clone(),
            is_taken: vec![false; space.classes.len()],
            trail: Vec::new(),
            cost: 0,
            found: pick.clone(),
            best: space.price(pick).unwrap_or(u64::MAX),
            steps,
        }
    }

    /// True if something cheaper was found.
    fn run(&mut self) -> bool {
        let before = self.best;
        if let Some(open) = self.take(self.space.roots.clone(), Vec::new()) {
            self.branch(open);
        }
        self.best < before
    }

    /// Takes in what is needed; gives the open classes among it, `None` if one has no term.
    fn take(&mut self, mut pending: Vec<usize>, mut open: Vec<usize>) -> Option<Vec<usize>> {
        while let Some(class) = pending.pop() {
            if self.is_taken[class] {
                continue;
            }
            self.is_taken[class] = true;
            self.trail.push(class);
            self.steps = self.steps.saturating_sub(1);
            if self.is_open[class] {
                open.push(class);
                pending.extend(&self.common[&class]);
            } else {
                let node = &self.space.classes[class][self.pick[class]?];
                self.cost = self.cost.saturating_add(node.cost);
                pending.extend(&node.kids);
            }
        }
        Some(open)
    }

    fn branch(&mut self, mut open: Vec<usize>) {
        let cheapest = |class: usize| self.space.classes[class].iter().map(|n| n.cost).min().unwrap_or(u64::MAX);
        let bound = open.iter().fold(self.cost, |sum, &c| sum.saturating_add(cheapest(c)));
        if bound >= self.best || self.steps == 0 {
            return;
        }
        self.steps -= 1;
        let Some(class) = open.pop() else {
            // Only a walk over all that is needed tells whether the choice is acyclic.
            self.steps = self.steps.saturating_sub(self.trail.len() as u64);
            if self.space.price(&self.pick).is_some_and(|price| price < self.best) {
                (self.best, self.found) = (self.cost, self.pick.clone());
            }
            return;
        };
        let (mark, cost, before) = (self.trail.len(), self.cost, self.pick[class]);
        let mut order: Vec<usize> = (0..self.space.classes[class].len()).collect();
        order.sort_by_key(|&i| (Some(i) != before, self.space.classes[class][i].cost));
        for i in order {
            let node = &self.space.classes[class][i];
            self.pick[class] = Some(i);
            self.cost = cost.saturating_add(node.cost);
            if let Some(open) = self.take(node.kids.clone(), open.clone()) {
                self.branch(open);
            }
            self.trail.drain(mark..).for_each(|c| self.is_taken[c] = false);
        }
        (self.cost, self.pick[class]) = (cost, before);
    }
}

/// The classes that all of these terms need.
fn common(nodes: &[Node]) -> Vec<usize> {
    let needed_by_all = |kid: &usize| nodes.iter().all(|node| node.kids.binary_search(kid).is_ok());
    nodes.first().into_iter().flat_map(|node| &node.kids).copied().filter(needed_by_all).collect()
}
