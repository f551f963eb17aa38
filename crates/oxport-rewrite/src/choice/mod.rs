//! Choosing one term for each value, for all outputs at once, what is shared counted once.
//!
//! | step | module |
//! |---|---|
//! | terms that another one of the class always beats go | `prune` |
//! | every class takes the term whose set of needed classes costs least | `greedy` |
//! | in the order of what classes may need | `components` |
//! | moves that price the whole choice: of one class, or of all that could share another one | `improve` |
//! | windows of classes exactly, by branch and bound | `exact` |
//! | a large window in parts that say nothing about each other | `parts` |
//!
//! Laws: a choice is acyclic; it is never dearer than the one that was given; it depends on the space alone: costs are
//! integers, ties go to the given choice, then to the earlier class and the earlier term; limits are counts of steps,
//! not times.

mod components;
mod exact;
mod greedy;
mod improve;
mod parts;
mod prune;
mod set;

/// A term that a class may take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// What it costs by itself, in picoseconds.
    pub cost: u64,
    /// The classes that it needs: distinct, in ascending order.
    pub kids: Vec<usize>,
}

impl Node {
    /// A term of this cost over these classes, in any order.
    pub fn new(cost: u64, mut kids: Vec<usize>) -> Node {
        kids.sort_unstable();
        kids.dedup();
        Node { cost, kids }
    }
}

/// What there is to choose from.
#[derive(Clone, Debug, Default)]
pub struct Space {
    /// The terms of each class, preferred ones first.
    pub classes: Vec<Vec<Node>>,
    /// The classes that are needed.
    pub roots: Vec<usize>,
}

/// The term of each class, by its index among the class's terms; `None` where there is none that ends.
pub type Pick = Vec<Option<usize>>;

/// How far a choice may go.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Steps of improvement: terms looked at, classes priced.
    pub moves: u64,
    /// Steps of branch and bound for each window: classes taken in, and terms tried.
    pub exact: u64,
}

impl Default for Effort {
    fn default() -> Effort {
        Effort { moves: 40_000_000, exact: 100_000 }
    }
}

impl Space {
    /// What a choice costs; `None` if it is cyclic, or a class that it needs has no term.
    pub fn price(&self, pick: &Pick) -> Option<u64> {
        self.price_of(&self.roots, pick)
    }

    /// What these classes cost by a choice, likewise.
    pub fn price_of(&self, roots: &[usize], pick: &Pick) -> Option<u64> {
        #[derive(Clone, Copy, PartialEq)]
        enum Mark {
            New,
            Open,
            Done,
        }
        let mut marks = vec![Mark::New; self.classes.len()];
        let mut total = 0u64;
        let mut stack: Vec<(usize, usize)> = Vec::new();
        for &root in roots {
            if marks[root] == Mark::New {
                stack.push((root, 0));
            }
            while let Some((class, at)) = stack.pop() {
                let node = &self.classes[class][pick[class]?];
                if at == 0 {
                    marks[class] = Mark::Open;
                    total = total.saturating_add(node.cost);
                }
                match node.kids.get(at) {
                    None => marks[class] = Mark::Done,
                    Some(&kid) => {
                        stack.push((class, at + 1));
                        match marks[kid] {
                            Mark::New => stack.push((kid, 0)),
                            Mark::Open => return None,
                            Mark::Done => {}
                        }
                    }
                }
            }
        }
        Some(total)
    }

    /// Which classes a choice needs.
    pub fn needed(&self, pick: &Pick) -> Vec<bool> {
        let mut needed = vec![false; self.classes.len()];
        let mut open = self.roots.clone();
        while let Some(class) = open.pop() {
            if let Some(i) = pick[class].filter(|_| !std::mem::replace(&mut needed[class], true)) {
                open.extend(&self.classes[class][i].kids);
            }
        }
        needed
    }

    /// The best choice found; `given` if none is cheaper. `None` if there is no choice at all.
    pub fn choose(&self, given: Option<&Pick>, effort: &Effort) -> Option<Pick> {
        let reduced = prune::Reduced::new(self)?;
        let mut whole = given.cloned().unwrap_or_else(|| vec![None; self.classes.len()]);
        let narrow = given.filter(|pick| self.price(pick).is_some()).map(|pick| reduced.narrow(self, pick));
        reduced.widen(&reduced.space.best(narrow, effort)?, &mut whole);
        Some(whole)
    }

    /// The same in a space that is cut down: every class has a term that ends.
    fn best(&self, given: Option<Pick>, effort: &Effort) -> Option<Pick> {
        let all: Vec<Vec<usize>> = self.classes.iter().map(|nodes| (0..nodes.len()).collect()).collect();
        let (trees, _) = greedy::trees(self, &all);
        let starts: Vec<Pick> =
            given.into_iter().chain([greedy::shared(self, &prune::users(self), |_| false), trees.clone()]).collect();
        // Among equals the first: the given one.
        let (.., mut pick) = starts.into_iter().enumerate().filter_map(|(i, p)| Some((self.price(&p)?, i, p))).min()?;
        // What the choice leaves out still needs terms: moves may take them in.
        for (mine, other) in pick.iter_mut().zip(&trees) {
            *mine = mine.or(*other);
        }
        for _ in 0..5 {
            pick = improve::improve(self, &pick, effort.moves);
            let moved = self.price(&pick);
            pick = exact::windows(self, &pick, effort.exact);
            if self.price(&pick) >= moved {
                break;
            }
        }
        Some(pick)
    }
}
