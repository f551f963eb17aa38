//! Persistent sets of classes with the sum of their prices: a union shares what both sides share.
//!
//! Law: equal parts of sets that came from one another are one allocation, so that a union of large sets that differ
//! little costs little.

use std::sync::Arc;

/// Classes of a leaf, and branches of a node.
const WIDTH: usize = 32;

/// A set; `None` is the empty one.
pub(super) type Set = Option<Arc<Tree>>;

/// A node of a radix tree of fixed depth.
pub(super) enum Tree {
    /// Which of the classes are in, and the sum of their prices.
    Leaf(u32, u64),
    /// Parts, and the sum of their sums.
    Branch(Box<[Set; WIDTH]>, u64),
}

/// Sets of classes below a number.
pub(super) struct Sets {
    depth: u32,
}

impl Sets {
    /// Sets of classes from 0 to `classes`.
    pub fn new(classes: usize) -> Sets {
        let mut depth = 0;
        while WIDTH.pow(depth + 1) < classes {
            depth += 1;
        }
        Sets { depth }
    }

    /// The sum of the prices.
    pub fn sum(set: &Set) -> u64 {
        match set.as_deref() {
            None => 0,
            Some(Tree::Leaf(_, sum) | Tree::Branch(_, sum)) => *sum,
        }
    }

    /// The set of one class.
    pub fn one(&self, class: usize, price: u64) -> Set {
        let mut tree = Tree::Leaf(1 << (class % WIDTH), price);
        for level in 1..=self.depth {
            let mut parts: Box<[Set; WIDTH]> = Box::default();
            parts[class / WIDTH.pow(level) % WIDTH] = Some(Arc::new(tree));
            tree = Tree::Branch(parts, price);
        }
        Some(Arc::new(tree))
    }

    /// Whether a class is in a set.
    pub fn contains(&self, set: &Set, class: usize) -> bool {
        let (mut set, mut level) = (set, self.depth);
        loop {
            match set.as_deref() {
                None => return false,
                Some(Tree::Leaf(mask, _)) => return mask >> (class % WIDTH) & 1 == 1,
                Some(Tree::Branch(parts, _)) => set = &parts[class / WIDTH.pow(level) % WIDTH],
            }
            level -= 1;
        }
    }

    /// What is in one or the other, at the prices given.
    pub fn union(&self, a: &Set, b: &Set, price: &[u64]) -> Set {
        join(a, b, 0, self.depth, price)
    }
}

fn join(a: &Set, b: &Set, first: usize, level: u32, price: &[u64]) -> Set {
    let (x, y) = match (a, b) {
        (None, other) | (other, None) => return other.clone(),
        (Some(x), Some(y)) if Arc::ptr_eq(x, y) => return a.clone(),
        (Some(x), Some(y)) => (x, y),
    };
    Some(match (&**x, &**y) {
        (Tree::Leaf(p, _), Tree::Leaf(q, _)) if p | q == *p => return Some(x.clone()),
        (Tree::Leaf(p, _), Tree::Leaf(q, _)) if p | q == *q => return Some(y.clone()),
        (Tree::Leaf(p, _), Tree::Leaf(q, _)) => {
            let mask = p | q;
            let is_in = |i: &usize| mask >> i & 1 == 1;
            let sum = (0..WIDTH).filter(is_in).map(|i| price[first + i]).fold(0, u64::saturating_add);
            Arc::new(Tree::Leaf(mask, sum))
        }
        (Tree::Branch(p, _), Tree::Branch(q, _)) => {
            let step = WIDTH.pow(level);
            let parts: Box<[Set; WIDTH]> =
                Box::new(std::array::from_fn(|i| join(&p[i], &q[i], first + i * step, level - 1, price)));
            let is_same = |old: &[Set; WIDTH]| {
                parts.iter().zip(old).all(|(new, old)| match (new, old) {
                    (Some(new), Some(old)) => Arc::ptr_eq(new, old),
                    (None, None) => true,
                    _ => false,
                })
            };
            if is_same(p) {
                return Some(x.clone());
            }
            if is_same(q) {
                return Some(y.clone());
            }
            let sum = parts.iter().map(Sets::sum).fold(0, u64::saturating_add);
            Arc::new(Tree::Branch(parts, sum))
        }
        _ => unreachable!("law: sets of one space have one depth"),
    })
}
