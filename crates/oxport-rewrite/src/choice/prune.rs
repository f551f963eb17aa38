//! The part of a space that a best choice may need.
//!
//! Laws: a term goes only if another one of its class costs no more and needs nothing else, so a best choice remains,
//! and no cycle comes by it; terms that need a class without a term, or their own class, go, and classes that no root
//! may need. The classes that stay are numbered in the order in which the cheapest trees are settled: a term of the
//! cheapest tree is over classes of smaller numbers.

use super::{Node, Pick, Space, greedy};

/// A space cut down, with what its classes and terms were.
pub(super) struct Reduced {
    pub space: Space,
    classes: Vec<usize>,
    terms: Vec<Vec<usize>>,
}

impl Reduced {
    /// What is left of a space; `None` if a root has no term that ends.
    pub fn new(space: &Space) -> Option<Reduced> {
        let options = options(space);
        let (_, classes) = greedy::trees(space, &options);
        let mut index = vec![usize::MAX; space.classes.len()];
        classes.iter().enumerate().for_each(|(i, &class)| index[class] = i);
        let renumbered = |class: usize, i: usize| space.classes[class][i].renumbered(|kid| index[kid]);
        let nodes = |&class: &usize| options[class].iter().map(|&i| renumbered(class, i)).collect();
        let is_possible = space.roots.iter().all(|&root| index[root] != usize::MAX);
        is_possible.then(|| Reduced {
            space: Space {
                classes: classes.iter().map(nodes).collect(),
                roots: space.roots.iter().map(|&root| index[root]).collect(),
            },
            terms: classes.iter().map(|&class| options[class].clone()).collect(),
            classes,
        })
    }

    /// A choice of the whole space as one of this part: what beats it is in the place of a term that went.
    pub fn narrow(&self, whole: &Space, pick: &Pick) -> Pick {
        let narrow = |(&class, terms): (&usize, &Vec<usize>)| {
            let nodes = &whole.classes[class];
            let old = pick[class]?;
            let beats = |&i: &usize| nodes[i].cost <= nodes[old].cost && nodes[i].needs_no_more_than(&nodes[old]);
            terms.iter().position(|&i| i == old).or_else(|| terms.iter().position(beats))
        };
        self.classes.iter().zip(&self.terms).map(narrow).collect()
    }

    /// A choice of this part as one of the whole space, the terms of other classes as they are.
    pub fn widen(&self, pick: &Pick, whole: &mut Pick) {
        for ((&class, terms), i) in self.classes.iter().zip(&self.terms).zip(pick) {
            whole[class] = i.map(|i| terms[i]).or(whole[class]);
        }
    }
}

impl Node {
    fn needs_no_more_than(&self, other: &Node) -> bool {
        self.kids.iter().all(|kid| other.kids.binary_search(kid).is_ok())
    }

    fn renumbered(&self, index: impl Fn(usize) -> usize) -> Node {
        Node::new(self.cost, self.kids.iter().map(|&kid| index(kid)).collect())
    }
}

/// The terms of each class that may be chosen, by their indices, in order; none for classes that no root may need.
fn options(space: &Space) -> Vec<Vec<usize>> {
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

fn undominated(space: &Space, class: usize, ends: &[bool]) -> Vec<usize> {
    let nodes = &space.classes[class];
    let is_possible = |i: &usize| nodes[*i].kids.iter().all(|&k| ends[k] && k != class);
    let possible: Vec<usize> = (0..nodes.len()).filter(is_possible).collect();
    let beats = |a: usize, b: usize| {
        let (x, y) = (&nodes[a], &nodes[b]);
        let is_less = x.cost < y.cost || x.kids.len() < y.kids.len() || a < b;
        is_less && x.cost <= y.cost && x.needs_no_more_than(y)
    };
    possible.iter().copied().filter(|&b| !possible.iter().any(|&a| a != b && beats(a, b))).collect()
}
