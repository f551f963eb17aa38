//! What rules did to one block is done to its copies.
//!
//! Law: what is replayed is found before anything is added, as a search finds its matches.

use super::{Blocks, Class, Run};
use crate::applier::Typed;
use crate::matching::parts;
use crate::term::Term;
use crate::typing::{Data, Graph};
use egg::{Id, Language, PatternAst, Subst, Var};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// The left side of a rule at a copy: its class, and what the variables stand for. In a graph that is not clean it may
/// be missed.
fn found(
    graph: &Graph<'_>,
    pattern: &PatternAst<Term>,
    subst: &[(Var, Id)],
    run: &Run,
    copy: usize,
) -> Option<(Id, Subst)> {
    let mut at_copy = Subst::with_capacity(subst.len());
    for &(var, id) in subst {
        // As it was when it was matched: what is one class now may have been two.
        at_copy.insert(var, run.image(id, copy)?);
    }
    let class = parts(graph, pattern, &|v| at_copy.get(v).copied(), &[]).pop().flatten()?;
    Some((class, at_copy))
}

impl Run {
    /// Whether a class is of the block that stands for the others.
    fn is_own(&self, class: Id) -> bool {
        self.at.get(&class).is_some_and(|&i| self.classes[i].is_own)
    }

    /// What is in the place of a class in a copy: itself, if the blocks have it in common.
    pub(super) fn image(&self, class: Id, copy: usize) -> Option<Id> {
        match self.at.get(&class) {
            Some(&i) => self.classes[i].images[copy],
            None => Some(class),
        }
    }

    /// Adds classes that were made since, by the terms that they were made for.
    fn add(&mut self, graph: &Graph<'_>, made: impl Iterator<Item = Id>) {
        for id in made {
            let term = graph.id_to_node(id);
            let kids = || term.children().iter().map(|k| graph.find(*k));
            let places = || kids().filter_map(|k| self.at.get(&k));
            if places().next().is_none() || self.at.contains_key(&graph.find(id)) {
                continue;
            }
            let is_own = places().any(|&i| self.classes[i].is_own);
            let image = |copy: usize| {
                let kids: Vec<Id> = kids().map(|k| self.image(k, copy)).collect::<Option<_>>()?;
                let mut kids = kids.into_iter();
                graph.lookup(term.clone().map_children(|k| kids.next().unwrap_or(k)))
            };
            let images: Vec<Option<Id>> = (0..self.is_searched.len()).map(image).collect();
            let id = graph.find(id);
            if images.iter().flatten().any(|&image| image != id) {
                self.at.insert(id, self.classes.len());
                self.classes.push(Class { id, is_own, images });
            }
        }
    }

    /// Finds the classes again that were merged. Where two of a block are one now, those in their places must be.
    fn find_again(&mut self, graph: &Graph<'_>) {
        let mut at: FxHashMap<Id, usize> = FxHashMap::default();
        let mut classes: Vec<Class> = Vec::with_capacity(self.classes.len());
        for mut class in std::mem::take(&mut self.classes) {
            class.id = graph.find(class.id);
            class.images.iter_mut().flatten().for_each(|image| *image = graph.find(*image));
            let Some(&place) = at.get(&class.id) else {
                at.insert(class.id, classes.len());
                classes.push(class);
                continue;
            };
            let known = &mut classes[place];
            known.is_own &= class.is_own;
            for ((image, other), is_searched) in known.images.iter_mut().zip(class.images).zip(&mut self.is_searched) {
                *is_searched |= image.zip(other).is_some_and(|(a, b)| a != b);
                *image = image.or(other);
            }
        }
        (self.classes, self.at) = (classes, at);
    }

    /// Searches those copies, too, that have not become what the block has become. True if there are any.
    fn compare(&mut self, graph: &Graph<'_>) -> bool {
        let mut is_other = false;
        for (copy, is_searched) in self.is_searched.iter_mut().enumerate().filter(|(_, is_searched)| !**is_searched) {
            let is_alike = |class: &Class| {
                let Some(image) = class.images[copy] else { return false };
                let (a, b) = (&graph[class.id], &graph[image]);
                let flags = |data: &Data| (data.is_static, data.is_certain);
                a.nodes.len() == b.nodes.len() && flags(&a.data) == flags(&b.data)
            };
            *is_searched = !self.classes.iter().filter(|class| class.is_own).all(is_alike);
            is_other |= *is_searched;
        }
        is_other
    }
}

impl Blocks {
    /// Does to the copies of blocks what rules did to these in this round, as long as the graph has no more terms than
    /// a limit.
    pub fn replay(&mut self, graph: &mut Graph<'_>, limit: usize) {
        let noted = graph.analysis.noted.replace(Vec::new()).unwrap_or_default();
        let mut matches = Vec::new();
        for application in &noted {
            let rule = Arc::new(Typed::of(application.rule, graph.analysis.types.registry));
            let left = &rule.form(application.form).left;
            let subst: Vec<(Var, Id)> = left.vars().into_iter().map(|var| (var, application.subst[var])).collect();
            for (number, run) in self.runs.iter_mut().enumerate().filter(|(_, run)| run.is_own(application.class)) {
                for copy in (0..run.is_searched.len()).filter(|copy| !run.is_searched[*copy]).collect::<Vec<_>>() {
                    let mut at = found(graph, &left.ast, &subst, run, copy);
                    if at.is_none() && !graph.clean {
                        // The round may have merged classes that the copies read.
                        graph.rebuild();
                        at = found(graph, &left.ast, &subst, run, copy);
                    }
                    match at {
                        Some(at) => matches.push((number, copy, rule.clone(), application, at)),
                        None => run.is_searched[copy] = true,
                    }
                }
            }
        }
        for (run, copy, rule, application, (class, subst)) in matches {
            if graph.total_size() > limit {
                break;
            }
            let applied = rule.apply(graph, class, &subst, application.form);
            *self.replayed.entry(application.rule.name).or_insert(0) += usize::from(applied == Some(true));
            self.runs[run].is_searched[copy] |= applied.is_some() != application.holds;
        }
    }

    /// Follows what became of the graph, which is clean, and says what is searched of it.
    pub fn follow(&mut self, graph: &mut Graph<'_>) {
        graph.analysis.noted.get_or_insert_default();
        let (before, now) = (self.seen, (graph.nodes().len(), graph.number_of_classes()));
        if before != now {
            for run in &mut self.runs {
                run.find_again(graph);
                run.add(graph, (before.0..now.0).map(Id::from));
            }
            self.seen = now;
        }
        let searched = self.runs.iter().flat_map(|run| &run.is_searched).filter(|is_searched| **is_searched).count();
        if before != now || self.searched.replace(searched) != Some(searched) {
            graph.analysis.scope = Some(self.scope(graph));
        }
    }

    /// Searches those copies, too, that have not become what their blocks have become. True if there are any.
    pub fn compare(&mut self, graph: &mut Graph<'_>) -> bool {
        self.follow(graph);
        let mut is_other = false;
        for run in &mut self.runs {
            is_other |= run.compare(graph);
        }
        is_other
    }
}
