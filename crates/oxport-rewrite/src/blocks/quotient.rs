//! The e-graph of a program in which all blocks of a run but the first are one.
//!
//! Law: a class of the quotient has the term and the type of each class of the program that it stands for.

use super::find::find;
use super::{Class, Run};
use crate::ingest::Ingested;
use crate::rules::merge::shared_operand;
use crate::typing::Graph;
use egg::{Id, Language};
use oxport_ir::{ExportedProgram, NodeId};
use rustc_hash::FxHashMap;

/// What a class of the quotient is a part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Of no run, behind so many of them.
    Outside(usize),
    /// The first block of a run, or what is read there.
    First(usize),
    /// The block that stands for the others.
    Block(usize),
}

/// Where a part of the quotient is looked for in the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Place {
    /// Outside of all runs: the last blocks of those before it are in the places of what stands for them.
    Outside(usize),
    /// The first two blocks of a run.
    Blocks(usize),
    /// A copy of the second one, with the block before it.
    Copy(usize, usize),
}

/// The quotient of a program's e-graph, with where its classes are in the program.
pub(crate) struct Quotient<'r> {
    pub ingested: Ingested<'r>,
    pub(super) runs: Vec<Run>,
    /// For each class the one of the program that it was made of.
    pub(super) own: Vec<Id>,
    /// For each class what is in its place, seen from behind its run.
    pub(super) behind: Vec<Id>,
    /// For each class what it is a part of.
    pub(super) parts: Vec<Part>,
    /// For each class of the program the one that stands for it, and the place.
    pub(super) of: Vec<Option<(Id, Place)>>,
}

impl<'r> Quotient<'r> {
    /// The quotient of a program's e-graph as it was made; `None` if nothing repeats. `is_merged` says whether the
    /// search may merge products.
    pub fn of(program: &ExportedProgram, whole: &Ingested<'r>, is_merged: bool) -> Option<Quotient<'r>> {
        let mut runs = find(program, whole);
        while !runs.is_empty() {
            let mut making = Making::new(whole, &runs);
            match making.terms(program, is_merged) {
                Ok(()) => {
                    let quotient = making.ended(program);
                    return Some(Quotient { runs, ..quotient });
                }
                Err(run) => drop(runs.remove(run)),
            }
        }
        None
    }

    /// What is in the place of a class that a class of the quotient was made of.
    pub(super) fn image(&self, class: Id, place: Place) -> Id {
        let id = usize::from(class);
        let (Place::Outside(before) | Place::Blocks(before) | Place::Copy(before, _)) = place;
        let class = match self.parts[id] {
            Part::First(run) | Part::Block(run) if run < before => self.behind[id],
            _ => self.own[id],
        };
        let Place::Copy(run, copy) = place else { return class };
        let run = &self.runs[run];
        run.at.get(&class).and_then(|&at| run.classes[at].images[copy]).unwrap_or(class)
    }

    /// Whether a class was made of one of the program, and not by a step.
    pub(super) fn has(&self, class: Id) -> bool {
        usize::from(class) < self.own.len()
    }

    /// How many classes of the program a class of a part stands for.
    pub(super) fn weight(&self, part: Part) -> u64 {
        if let Part::Block(run) = part { self.runs[run].copies as u64 + 1 } else { 1 }
    }
}

/// A quotient while it is made.
struct Making<'a, 'r> {
    whole: &'a Ingested<'r>,
    runs: &'a [Run],
    /// For each class of a copy its run, the copy, and what stands for it.
    copied: Vec<Option<(usize, usize, Id)>>,
    /// For each class of the program the one of the quotient that was made of it.
    made: Vec<Option<Id>>,
    graph: Graph<'r>,
    own: Vec<Id>,
    behind: Vec<Option<Id>>,
    parts: Vec<Part>,
}

impl<'a, 'r> Making<'a, 'r> {
    fn new(whole: &'a Ingested<'r>, runs: &'a [Run]) -> Making<'a, 'r> {
        let count = whole.egraph.nodes().len();
        let mut copied = vec![None; count];
        for (number, run) in runs.iter().enumerate() {
            for Class { id, images, .. } in run.classes.iter().filter(|class| class.is_own) {
                let images = images.iter().take(run.copies).enumerate();
                for (copy, image) in images.filter_map(|(copy, image)| Some((copy, (*image)?))) {
                    if !run.at.contains_key(&image) {
                        copied[usize::from(image)].get_or_insert((number, copy, *id));
                    }
                }
            }
        }
        let graph = Graph::new(whole.egraph.analysis.of_another());
        let (made, own, behind, parts) = (vec![None; count], Vec::new(), Vec::new(), Vec::new());
        Making { whole, runs, copied, made, graph, own, behind, parts }
    }

    /// What a class of the program is a part of.
    fn part(&self, class: Id) -> Part {
        let place = |(number, run): (usize, &Run)| {
            let is_own = run.classes[*run.at.get(&class)?].is_own;
            Some(if is_own { Part::Block(number) } else { Part::First(number) })
        };
        let parts = self.runs.iter().enumerate().filter_map(place);
        parts
            .max_by_key(|part| matches!(part, Part::Block(_)))
            .unwrap_or_else(|| Part::Outside(self.runs.iter().filter(|run| run.end < class).count()))
    }

    /// The class of the quotient for one of the program, whichever stands for it.
    fn at(&self, class: Id) -> Option<Id> {
        let class = self.copied[usize::from(class)].map_or(class, |(.., id)| id);
        self.made[usize::from(class)]
    }

    /// Makes the terms of all nodes that are in no copy.
    ///
    /// # Errors
    /// The number of a run of which more than the last block is read from behind it, or whose blocks have products in
    /// common that may become one.
    fn terms(&mut self, program: &ExportedProgram, is_merged: bool) -> Result<(), usize> {
        let whole = &self.whole.egraph;
        let mut is_needed = vec![false; whole.nodes().len()];
        for node in program.graph.ids() {
            for class in [&self.whole.term_class_of, &self.whole.class_of].iter().filter_map(|of| of.get(&node)) {
                is_needed[usize::from(*class)] = true;
            }
        }
        for (id, copied) in self.copied.iter().enumerate().rev() {
            is_needed[id] &= copied.is_none();
            if is_needed[id] {
                let kids = whole.id_to_node(Id::from(id)).children();
                kids.iter().for_each(|kid| is_needed[usize::from(*kid)] = true);
            }
        }
        for id in (0..is_needed.len()).filter(|id| is_needed[*id]).map(Id::from) {
            let part = self.part(id);
            let mut term = whole.id_to_node(id).clone();
            for kid in term.children_mut() {
                *kid = self.read(*kid, part)?;
            }
            self.graph.analysis.recorded = Some(whole[id].data.clone());
            if let (Part::Block(run), Some(operand)) = (part, shared_operand(&term).filter(|_| is_merged))
                && ![Part::First(run), part].contains(&self.parts[usize::from(operand)])
                && !self.graph[operand].data.is_static
            {
                return Err(run);
            }
            let class = self.graph.add(term);
            self.made[usize::from(id)] = Some(class);
            if usize::from(class) == self.own.len() {
                self.own.push(id);
                self.behind.push(None);
                self.parts.push(part);
            }
        }
        self.graph.analysis.recorded = None;
        self.graph.rebuild();
        Ok(())
    }

    /// The class of the quotient that a term of a part reads for one of the program.
    fn read(&mut self, class: Id, reader: Part) -> Result<Id, usize> {
        let copied = self.copied[usize::from(class)];
        let Some(read) = self.at(class) else { return Err(copied.map_or(0, |(run, ..)| run)) };
        let part = self.parts[usize::from(read)];
        if let Part::First(run) | Part::Block(run) = part
            && self.is_behind(reader, run)
        {
            let is_last = copied.is_none_or(|(_, copy, _)| copy + 1 == self.runs[run].copies);
            let known = self.behind[usize::from(read)].get_or_insert(class);
            if !is_last || *known != class {
                return Err(run);
            }
        }
        Ok(read)
    }

    fn is_behind(&self, part: Part, run: usize) -> bool {
        let (Part::Outside(before) | Part::First(before) | Part::Block(before)) = part;
        run < before
    }

    fn ended(self, program: &ExportedProgram) -> Quotient<'r> {
        let place = |part: Part| match part {
            Part::Outside(before) => Place::Outside(before),
            Part::First(run) | Part::Block(run) => Place::Blocks(run),
        };
        let of = self.copied.iter().zip(&self.made).map(|(copied, made)| match copied {
            Some((run, copy, id)) => Some((self.made[usize::from(*id)]?, Place::Copy(*run, *copy))),
            None => made.map(|made| (made, place(self.parts[usize::from(made)]))),
        });
        let of = of.collect();
        let classes = |of: &FxHashMap<NodeId, Id>| {
            of.iter().filter_map(|(node, class)| Some((*node, self.at(*class)?))).collect::<FxHashMap<NodeId, Id>>()
        };
        let term_class_of = classes(&self.whole.term_class_of);
        let terms = program.graph.ids().filter(|node| self.whole.term_of.contains_key(node));
        let term_of = terms.map(|node| (node, self.graph.id_to_node(term_class_of[&node]).clone())).collect();
        let class_of = classes(&self.whole.class_of);
        // What is read through the last block is that of the last copy, too.
        let in_last = |(own, part): (&Id, &Part)| match part {
            Part::Outside(_) => None,
            Part::First(run) | Part::Block(run) => {
                let run = &self.runs[*run];
                run.classes[*run.at.get(own)?].images[run.copies - 1]
            }
        };
        let last = self.own.iter().zip(&self.parts).map(in_last);
        let behind = self.behind.iter().zip(last).zip(&self.own);
        let behind = behind.map(|((read, last), own)| read.or(last).unwrap_or(*own)).collect();
        let node_at = self.whole.node_at.clone();
        let ingested = Ingested { egraph: self.graph, class_of, term_class_of, term_of, node_at };
        Quotient { ingested, runs: Vec::new(), own: self.own, behind, parts: self.parts, of }
    }
}
