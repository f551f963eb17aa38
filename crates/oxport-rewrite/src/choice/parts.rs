//! Parts of a window that say nothing about each other, so that each is searched by itself: together they would be
//! tried in all combinations.
//!
//! What is needed whatever is chosen costs the same in every choice, and what costs nothing does, too. Two classes are
//! of one part if they may need the same class beside these, or if a cycle may go through both.
//!
//! Law: the best choices of all parts are together a best choice, and it has no cycle.

use super::{Pick, Space};

/// The most classes of a space that is divided: the sets of what is needed take memory in proportion to its square.
const CLASSES: usize = 4096;

const NONE: usize = usize::MAX;

/// A window in a space: the classes that have a choice, while the others have the terms that are picked.
struct Window<'a> {
    space: &'a Space,
    pick: &'a Pick,
    /// Which class of the window each class is.
    place: Vec<usize>,
}

/// The parts of a window, the classes of each in their order.
pub(super) fn parts(space: &Space, pick: &Pick, window: &[usize]) -> Vec<Vec<usize>> {
    let count = space.classes.len();
    if count > CLASSES {
        return vec![window.to_vec()];
    }
    let mut place = vec![NONE; count];
    window.iter().enumerate().for_each(|(at, &class)| place[class] = at);
    let of = Window { space, pick, place };
    let is_sure = of.needed_or_free();
    let mut forest = Forest((0..window.len()).collect());
    let mut owner = vec![NONE; count];
    for (at, &class) in window.iter().enumerate() {
        let mut open: Vec<usize> = of.kids(class).collect();
        while let Some(class) = open.pop() {
            match (of.place[class], owner[class]) {
                _ if is_sure[class] => {}
                (NONE, NONE) => {
                    owner[class] = at;
                    open.extend(of.kids(class));
                }
                (NONE, other) | (other, _) => forest.unite(at, other),
            }
        }
    }
    // A cycle has a term that needs a class of a larger number. What it goes through lies between the two, or between
    // those of another such term, as far as these overlap.
    let (mut end, mut last) = (0, NONE);
    for class in (0..count).filter(|&c| is_sure[c] || owner[c] != NONE || of.place[c] != NONE) {
        if class > end {
            (end, last) = (class, NONE);
        }
        end = of.kids(class).fold(end, usize::max);
        if of.place[class] != NONE {
            if last != NONE {
                forest.unite(last, of.place[class]);
            }
            last = of.place[class];
        }
    }
    let mut parts: Vec<Vec<usize>> = vec![Vec::new(); window.len()];
    window.iter().enumerate().for_each(|(at, &class)| parts[forest.root(at)].push(class));
    parts.retain(|part| !part.is_empty());
    parts
}

impl Window<'_> {
    /// What a class needs by any term that it may take.
    fn kids(&self, class: usize) -> impl Iterator<Item = usize> {
        self.terms(class).flat_map(|kids| kids.iter().copied())
    }

    /// The classes that each of the terms which a class may take needs.
    fn terms(&self, class: usize) -> impl Iterator<Item = &[usize]> {
        let terms = match self.place[class] {
            NONE => self.pick[class].map_or(0..0, |i| i..i + 1),
            _ => 0..self.space.classes[class].len(),
        };
        self.space.classes[class][terms].iter().map(|node| &node.kids[..])
    }

    /// Whether each class is needed whatever is chosen, or costs nothing with all that it needs.
    fn needed_or_free(&self) -> Vec<bool> {
        let mut is_sure = self.needed();
        for class in 0..is_sure.len() {
            let cost = |i: usize| self.space.classes[class][i].cost;
            let is_free = self.place[class] == NONE && self.pick[class].is_some_and(|i| cost(i) == 0);
            is_sure[class] |= is_free && self.kids(class).all(|kid| kid < class && is_sure[kid]);
        }
        is_sure
    }

    /// Whether each class is needed whatever is chosen.
    fn needed(&self) -> Vec<bool> {
        let count = self.place.len();
        let words = count.div_ceil(64);
        // From everything on, what a class needs grows less until nothing changes.
        let mut needs = vec![u64::MAX; count * words];
        let mut is_settled = false;
        while !std::mem::replace(&mut is_settled, true) {
            for class in 0..count {
                let mut by_all = vec![u64::MAX; words];
                for kids in self.terms(class) {
                    let mut by_one = vec![0; words];
                    for kid in kids {
                        let of_kid = &needs[kid * words..][..words];
                        by_one.iter_mut().zip(of_kid).for_each(|(word, more)| *word |= more);
                    }
                    by_all.iter_mut().zip(by_one).for_each(|(word, other)| *word &= other);
                }
                by_all[class / 64] |= 1 << (class % 64);
                let known = &mut needs[class * words..][..words];
                is_settled &= *known == by_all[..];
                known.copy_from_slice(&by_all);
            }
        }
        let is_needed = |class: usize, root: &usize| needs[root * words + class / 64] >> (class % 64) & 1 == 1;
        (0..count).map(|class| self.space.roots.iter().any(|root| is_needed(class, root))).collect()
    }
}

/// Which classes of a window belong together.
struct Forest(Vec<usize>);

impl Forest {
    fn root(&self, mut at: usize) -> usize {
        while self.0[at] != at {
            at = self.0[at];
        }
        at
    }
    fn unite(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        self.0[a.max(b)] = a.min(b);
    }
}
