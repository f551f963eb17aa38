//! Repeated blocks: one is searched, and what the search did there is done to the others.
//!
//! | step | module |
//! |---|---|
//! | stretches of nodes that repeat, and which class of one block corresponds to which of another | `find` |
//! | what rules did to one block is done to its copies | `replay` |
//! | what is chosen for one block is chosen for its copies | `choose` |
//!
//! Of a run of equal blocks the first is searched because what stands before it is different, and the second, with the
//! first before it, stands for all others: the *copies*. Rules are not matched at the classes of copies. At the end of
//! each round, what was done to the second block in it is done to each copy, with the corresponding classes in the
//! place of those that were matched.
//!
//! Laws: correspondence is a hint and no fact: a replayed application is one of the rule, whose left side was found in
//! the e-graph, whose conditions were asked and whose sides have the same type. A copy for which that fails, or that
//! has other terms in the end, is searched as everything else is.

mod choose;
mod find;
mod replay;

pub(crate) use choose::Classes;
pub(crate) use find::find;

use crate::forms;
use crate::typing::Graph;
use egg::Id;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// The repeated blocks of an e-graph.
#[derive(Default)]
pub(crate) struct Blocks {
    runs: Vec<Run>,
    /// How many terms the e-graph had been given, and how many classes it had, when it was looked at last.
    seen: (usize, usize),
    /// How many copies were searched then.
    searched: Option<usize>,
    /// How often each rule was replayed, and added something.
    pub replayed: BTreeMap<&'static str, usize>,
}

/// A stretch of equal blocks.
#[derive(Default)]
struct Run {
    /// The classes that have others in their places in the copies.
    classes: Vec<Class>,
    /// The places of classes.
    at: FxHashMap<Id, usize>,
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

impl Blocks {
    /// Narrows the search to all classes but those of copies.
    fn narrow(&self, graph: &mut Graph<'_>) {
        let mut is_copy = vec![false; graph.nodes().len()];
        for run in &self.runs {
            let mut is_known = vec![false; graph.nodes().len()];
            run.at.keys().for_each(|&id| is_known[usize::from(id)] = true);
            for class in run.classes.iter().filter(|class| class.is_own) {
                let copies = class.images.iter().zip(&run.is_searched).filter(|(_, is_searched)| !**is_searched);
                for id in copies.filter_map(|(image, _)| image.map(usize::from)) {
                    is_copy[id] |= !is_known[id];
                }
            }
        }
        forms::narrow(graph, |class| !is_copy[usize::from(class)]);
    }
}
