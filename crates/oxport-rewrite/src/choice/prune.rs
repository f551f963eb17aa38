//! Terms that no best choice needs.
//!
//! Laws: a term goes only if another one of its class costs no more and needs nothing else, so a best choice remains,
//! and no cycle comes by it; terms that need a class without a term, or their own class, go.

use super::{Pick, Space};

/// The terms of each class that may be chosen, by their indices, in order; none for classes that no root may need.
pub(super) fn options(space: &Space) -> Vec<Vec<usize>> {
    let ends = ending(space);
    let mut options: Vec<Vec<usize>> = vec![Vec::new(); space.classes.len()];
    let mut is_seen = vec![false; space.classes.len()];
    let mut open = space.roots.clone();
    while let Some(class) = open.pop() {
        if std::mem::replace(&mut is_seen[class], true) {
            continue;
        }
        options[class] = undominated(space, class, &ends);
        for &i in &options[class] {
            open.extend(&space.classes[class][i].kids);
        }
    }
    options
}

/// Whether each class has a term that ends.
fn ending(space: &Space) -> Vec<bool> {
    let users = users(space);
    let mut ends = vec![false; space.classes.len()];
    let mut open: Vec<usize> = (0..space.classes.len()).collect();
    while let Some(class) = open.pop() {
        if !ends[class] && space.classes[class].iter().any(|n| n.kids.iter().all(|&k| ends[k])) {
            ends[class] = true;
            open.extend(users[class].iter().filter(|&&u| !ends[u]));
        }
    }
    ends
}

/// The classes that have a term over each class.
pub(super) fn users(space: &Space) -> Vec<Vec<usize>> {
    let mut users: Vec<Vec<usize>> = vec![Vec::new(); space.classes.len()];
    for (class, nodes) in space.classes.iter().enumerate() {
        for &kid in nodes.iter().flat_map(|n| &n.kids) {
            if users[kid].last() != Some(&class) {
                users[kid].push(class);
            }
        }
    }
    users
}

/// Puts what beats it in the place of a term that may not be chosen.
pub(super) fn replace(space: &Space, options: &[Vec<usize>], pick: &mut Pick) {
    for ((nodes, options), pick) in space.classes.iter().zip(options).zip(pick) {
        let Some(old) = pick.filter(|i| !options.contains(i)).map(|i| &nodes[i]) else { continue };
        let beats =
            |i: &usize| nodes[*i].cost <= old.cost && nodes[*i].kids.iter().all(|k| old.kids.binary_search(k).is_ok());
        *pick = options.iter().copied().find(beats).or(*pick);
    }
}

fn undominated(space: &Space, class: usize, ends: &[bool]) -> Vec<usize> {
    let nodes = &space.classes[class];
    let is_possible = |i: &usize| nodes[*i].kids.iter().all(|&k| ends[k] && k != class);
    let possible: Vec<usize> = (0..nodes.len()).filter(is_possible).collect();
    let beats = |a: usize, b: usize| {
        let (x, y) = (&nodes[a], &nodes[b]);
        let is_less = x.cost < y.cost || x.kids.len() < y.kids.len() || a < b;
        is_less && x.cost <= y.cost && x.kids.iter().all(|k| y.kids.binary_search(k).is_ok())
    };
    possible.iter().copied().filter(|&b| !possible.iter().any(|&a| a != b && beats(a, b))).collect()
}
