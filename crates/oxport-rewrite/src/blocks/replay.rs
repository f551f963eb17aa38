//! What rules did to one block is done to its copies.
//!
//! Law: what is replayed is found before anything is added, as a search finds its matches.

use super::{Blocks, Class, Run};
use crate::applied::Application;
use crate::applier::Typed;
use crate::matching::class_of;
use crate::typing::{Data, Graph};
use egg::{Id, Language, Subst, Var};
use oxport_ir::Registry;
use rustc_hash::FxHashMap;

/// An application that is replayed.
struct Replay<'a> {
    application: &'a Application,
    rule: Typed,
    vars: Vec<Var>,
    /// What the variables stand for, at one copy after the other.
    subst: Subst,
}

impl<'a> Replay<'a> {
    fn of(application: &'a Application, registry: &Registry) -> Replay<'a> {
        let rule = Typed::of(application.rule, registry);
        let vars = rule.form(application.form).left.vars();
        Replay { application, rule, vars, subst: application.subst.clone() }
    }

    /// The left side at a copy, of which the variables stand for what is in these places. In a graph that is not clean
    /// it may be missed.
    fn find(&mut self, graph: &Graph<'_>, run: &Run, places: &[Place], copy: usize) -> Option<Id> {
        for (var, place) in self.vars.iter().zip(places) {
            self.subst.insert(*var, run.at_copy(*place, copy)?);
        }
        class_of(graph, &self.rule.form(self.application.form).left.ast, &self.subst)
    }
}

/// A left side at a copy.
struct Found {
    /// Which application is replayed.
    replay: usize,
    run: usize,
    copy: usize,
    class: Id,
}

/// Which classes are in the place of one in the copies.
#[derive(Clone, Copy)]
enum Place {
    /// The images of a class of the block, by its place.
    Images(usize),
    /// The class itself: the blocks have it in common.
    Itself(Id),
}

impl Run {
    /// Whether a class is of the block that stands for the others.
    fn is_own(&self, class: Id) -> bool {
        self.at.get(&class).is_some_and(|&i| self.classes[i].is_own)
    }

    /// What is in the place of a class in a copy: itself, if the blocks have it in common.
    pub(super) fn image(&self, class: Id, copy: usize) -> Option<Id> {
        self.at_copy(self.place(class), copy)
    }

    fn place(&self, class: Id) -> Place {
        self.at.get(&class).map_or(Place::Itself(class), |&i| Place::Images(i))
    }

    fn at_copy(&self, place: Place, copy: usize) -> Option<Id> {
        match place {
            Place::Images(i) => self.classes[i].images[copy],
            Place::Itself(class) => Some(class),
        }
    }

    /// Adds classes that were made since, by the terms that they were made for.
    fn add(&mut self, graph: &Graph<'_>, made: impl Iterator<Item = Id>) {
        for id in made {
            let term = graph.id_to_node(id);
            let kids = || term.children().iter().map(|k| graph.find(*k));
            let known = || kids().filter_map(|k| self.at.get(&k));
            if known().next().is_none() || self.at.contains_key(&graph.find(id)) {
                continue;
            }
            let is_own = known().any(|&i| self.classes[i].is_own);
            let places: Vec<Place> = kids().map(|k| self.place(k)).collect();
            let image = |copy: usize| {
                let mut image = term.clone();
                for (kid, place) in image.children_mut().iter_mut().zip(&places) {
                    *kid = self.at_copy(*place, copy)?;
                }
                graph.lookup(image)
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
        let registry = graph.analysis.types.registry;
        let mut replays: Vec<Replay<'_>> = noted.iter().map(|application| Replay::of(application, registry)).collect();
        let (mut all_found, mut stand_for) = (Vec::new(), Vec::new());
        for (number, replay) in replays.iter_mut().enumerate() {
            let application = replay.application;
            for (at, run) in self.runs.iter_mut().enumerate().filter(|(_, run)| run.is_own(application.class)) {
                // As it was when it was matched: what is one class now may have been two.
                let places: Vec<Place> = replay.vars.iter().map(|var| run.place(application.subst[*var])).collect();
                for copy in 0..run.is_searched.len() {
                    if run.is_searched[copy] {
                        continue;
                    }
                    let mut class = replay.find(graph, run, &places, copy);
                    if class.is_none() && !graph.clean {
                        // The round may have merged classes that the copies read.
                        graph.rebuild();
                        class = replay.find(graph, run, &places, copy);
                    }
                    let Some(class) = class else {
                        run.is_searched[copy] = true;
                        continue;
                    };
                    stand_for.extend(replay.vars.iter().map(|var| replay.subst[*var]));
                    all_found.push(Found { replay: number, run: at, copy, class });
                }
            }
        }
        let mut stand_for = stand_for.into_iter();
        for Found { replay, run, copy, class } in all_found {
            if graph.total_size() > limit {
                break;
            }
            let Replay { application, rule, vars, subst } = &mut replays[replay];
            for (var, id) in vars.iter().zip(&mut stand_for) {
                subst.insert(*var, id);
            }
            let applied = rule.apply(graph, class, subst, application.form);
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
            self.narrow(graph);
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
