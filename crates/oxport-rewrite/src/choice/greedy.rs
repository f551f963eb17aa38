//! First choices: by sets of needed classes, and by trees.
//!
//! Laws: classes are priced again only when a class below them became cheaper; a choice by trees is acyclic, whatever
//! the space; one by sets nearly always (`Space::price` tells).

use super::components::components;
use super::prune::users;
use super::set::{Set, Sets};
use super::{Node, Pick, Space};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The most times that a class is made cheaper.
const TURNS: u32 = 24;

/// The most classes that are priced in the order in which they became open. In larger spaces a component that may need
/// another one waits for it: each layer of a deep network would be priced again for every change in all layers below.
/// In smaller ones that gains no time, and by what terms of equal price it takes the moves end dearer at times.
const IN_TURN: usize = 4096;

/// Every class with the term whose needed classes cost least, what is needed twice counted once; some classes are free,
/// and need nothing.
pub(super) fn shared(space: &Space, users: &[Vec<usize>], is_free: impl Fn(usize) -> bool) -> Pick {
    let count = space.classes.len();
    let (sets, free) = (Sets::new(count), [Node::new(0, Vec::new())]);
    let nodes = |class: usize| if is_free(class) { &free[..] } else { &space.classes[class] };
    let mut best: Vec<Option<(usize, u64, Set)>> = vec![None; count];
    let (mut price, mut turns) = (vec![0u64; count], vec![0u32; count]);
    let starts = |c: &usize| nodes(*c).iter().any(|node| node.kids.is_empty());
    let component = if count > IN_TURN { components(space) } else { vec![0; count] };
    let mut number = 0;
    let mut entry = |class: usize| {
        number += 1;
        Reverse((component[class], number, class))
    };
    let mut queue: BinaryHeap<_> = (0..count).filter(starts).map(&mut entry).collect();
    let mut is_queued = vec![false; count];
    queue.iter().for_each(|&Reverse((.., class))| is_queued[class] = true);
    while let Some(Reverse((.., class))) = queue.pop() {
        is_queued[class] = false;
        let mut is_better = false;
        for (i, node) in nodes(class).iter().enumerate() {
            let mut needed: Set = None;
            let is_known = node.kids.iter().all(|&kid| match &best[kid] {
                Some((.., set)) => {
                    needed = sets.union(&needed, set, &price);
                    true
                }
                None => false,
            });
            if !is_known || sets.contains(&needed, class) {
                continue;
            }
            let total = Sets::sum(&needed).saturating_add(node.cost);
            if best[class].as_ref().is_none_or(|(_, old, _)| total < *old) {
                price[class] = node.cost;
                let set = sets.union(&needed, &sets.one(class, node.cost), &price);
                best[class] = Some((i, total, set));
                is_better = true;
            }
        }
        if is_better && turns[class] < TURNS {
            turns[class] += 1;
            for &user in &users[class] {
                if !std::mem::replace(&mut is_queued[user], true) {
                    queue.push(entry(user));
                }
            }
        }
    }
    best.into_iter().map(|b| b.map(|(i, ..)| i)).collect()
}

/// Every class with the term of the cheapest tree: classes are settled in the order of their costs (Knuth's
/// generalization of Dijkstra's algorithm), so terms are over settled ones. Gives that order, too.
pub(super) fn trees(space: &Space, options: &[Vec<usize>]) -> (Pick, Vec<usize>) {
    let count = space.classes.len();
    let users = users(space);
    let mut settled: Vec<Option<u64>> = vec![None; count];
    let mut pick: Pick = vec![None; count];
    let mut order = Vec::new();
    let mut heap = BinaryHeap::new();
    let offer = |class: usize, settled: &[Option<u64>], heap: &mut BinaryHeap<_>| {
        for &i in &options[class] {
            let node = &space.classes[class][i];
            let sum = node.kids.iter().try_fold(node.cost, |sum, &k| Some(sum.saturating_add(settled[k]?)));
            heap.extend(sum.map(|sum| Reverse((sum, class, i))));
        }
    };
    (0..count).for_each(|class| offer(class, &settled, &mut heap));
    while let Some(Reverse((cost, class, i))) = heap.pop() {
        if settled[class].is_none() {
            (settled[class], pick[class]) = (Some(cost), Some(i));
            order.push(class);
            users[class].iter().filter(|&&u| settled[u].is_none()).for_each(|&u| offer(u, &settled, &mut heap));
        }
    }
    (pick, order)
}
