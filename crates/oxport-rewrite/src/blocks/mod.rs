//! Repeated blocks: one is searched, and what the search did there is done to the others.
//!
//! | step | module |
//! |---|---|
//! | stretches of nodes that repeat, and which class of one block corresponds to which of another | `find` |
//! | what rules did to one block is done to its copies | `replay` |
//! | what is chosen for one block is chosen for its copies | `choose` |
//!
//! Of a run of equal blocks the first is searched because what stands before it is different, and the second, with the
//! first before it, stands for all others: the *copies*. Rules are not matched at the classes of copies. In front of
//! each round, what was done to the second block in the round before is done to each copy, with the corresponding
//! classes in the place of those that were matched.
//!
//! Laws: correspondence is a hint and no fact: a replayed application is one of the rule, whose left side was found in
//! the e-graph, whose conditions were asked and whose sides have the same type. A copy for which that fails, or that has
//! other terms in the end, is searched as everything else is.

mod choose;
mod find;
mod replay;

pub(crate) use choose::Classes;
pub(crate) use find::find;
pub(crate) use replay::replay;

use crate::applier::Typed;
use crate::term::Term;
use crate::typing::Graph;
use egg::{Id, Language, Subst, Symbol};
use std::collections::{BTreeMap, HashMap, HashSet};

/// The repeated blocks of an e-graph.
#[derive(Default)]
pub(crate) struct Blocks {
    runs: Vec<Run>,
    /// What was done to the blocks of runs, and not to the copies yet.
    pending: Vec<(usize, Application)>,
    /// The classes that are searched, by the operators of their terms; those of copies are not.
    searched: HashMap<<Term as Language>::Discriminant, Vec<Id>>,
    /// How many terms the e-graph had been given, and how many classes it had, when it was looked at last.
    seen: (usize, usize),
    /// How often each rule was replayed, and added something.
    pub replayed: BTreeMap<Symbol, usize>,
}

/// A stretch of equal blocks.
#[derive(Default)]
struct Run {
    /// The classes that have others in their places in the copies.
    classes: Vec<Class>,
    /// The places of classes.
    at: HashMap<Id, usize>,
    /// Whether each copy is searched as everything else is.
    is_searched: Vec<bool>,
}

/// A class of the block that stands for the others, or of the one before it.
struct Class {
    id: Id,
    /// Whether it is of the block itself, so that what rules do here is replayed.
    is_own: bool,
    /// What is in its place in each copy.
    images: Vec<Option<Id>>,
}

/// What a rule did, and to what.
#[derive(Clone)]
pub(crate) struct Application {
    pub rule: (Typed, Symbol),
    pub form: usize,
    pub subst: Subst,
    /// Whether both sides were united: else something was added, and found to be of another type.
    pub holds: bool,
}

impl Blocks {
    /// The classes that rules with such a term at the root are matched at.
    pub fn searched(&self, root: &Term) -> &[Id] {
        self.searched.get(&root.discriminant()).map_or(&[], Vec::as_slice)
    }

    /// Notes what a rule did, where that is to be replayed.
    pub fn note(&mut self, class: Id, application: &Application) {
        let is_own = |run: &Run| run.at.get(&class).is_some_and(|&i| run.classes[i].is_own);
        for run in (0..self.runs.len()).filter(|&i| is_own(&self.runs[i])) {
            self.pending.push((run, application.clone()));
        }
    }

    /// Lists the classes that are searched: all but those of copies.
    fn list(&mut self, graph: &Graph<'_>) {
        let mut covered: HashSet<Id> = HashSet::new();
        for run in &self.runs {
            for class in run.classes.iter().filter(|class| class.is_own) {
                let copies = class.images.iter().zip(&run.is_searched).filter(|(_, is_searched)| !**is_searched);
                covered.extend(copies.filter_map(|(image, _)| *image).filter(|id| !run.at.contains_key(id)));
            }
        }
        self.searched.clear();
        for class in graph.classes().filter(|class| !covered.contains(&class.id)) {
            for term in &class.nodes {
                let classes = self.searched.entry(term.discriminant()).or_default();
                if classes.last() != Some(&class.id) {
                    classes.push(class.id);
                }
            }
        }
    }
}
