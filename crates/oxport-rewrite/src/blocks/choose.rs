//! Of repeated blocks one is chosen for, and the copies take the terms in the places of what was chosen.
//!
//! Laws: what the copies cost counts, at the block that stands for them; a choice that is cyclic, or dearer than the
//! one given, or costs something else than it did at the blocks (they begin where one reads much of the one before it,
//! which stands for no others), is none.

use super::{Blocks, Class, Run};
use crate::choice::{Effort, Node, Pick, Space};
use crate::term::Term;
use crate::typing::Graph;
use egg::{Id, Language};
use rustc_hash::FxHashMap;

/// The classes and terms that a space is of.
pub(crate) struct Classes<'a, 'r> {
    pub graph: &'a Graph<'r>,
    pub ids: &'a [Id],
    pub index: &'a FxHashMap<Id, usize>,
    pub terms: &'a [Vec<Term>],
}

impl Run {
    /// The copies that are what the block is, up to the first that is not.
    fn copies(&self) -> usize {
        self.is_searched.iter().position(|is_searched| *is_searched).unwrap_or(self.is_searched.len())
    }
    /// The classes of the block, with those in their places in the copies.
    fn copied(&self) -> impl Iterator<Item = (&Class, &[Option<Id>])> {
        let copies = self.copies();
        self.classes.iter().filter(|class| class.is_own).map(move |class| (class, &class.images[..copies]))
    }
    /// Whether a class in the place of another is one of a copy alone.
    fn is_copy(&self, image: Id) -> bool {
        !self.at.contains_key(&image)
    }
}

impl Blocks {
    /// A choice for all of the space, made without the copies; `None` if these are not like their blocks.
    pub fn choose(&self, of: &Classes<'_, '_>, space: &Space, given: &Pick, effort: &Effort) -> Option<Pick> {
        let at = |id: Id| of.index.get(&of.graph.find(id)).copied();
        // For each class that in the block it stands for, and how many classes each stands for.
        let (mut stands_for, mut weight) = ((0..of.ids.len()).collect::<Vec<usize>>(), vec![1u64; of.ids.len()]);
        for run in &self.runs {
            for (class, images) in run.copied() {
                let one = at(class.id)?;
                for image in images.iter().flatten().filter(|image| run.is_copy(**image)) {
                    (stands_for[at(*image)?], weight[one]) = (one, weight[one] + 1);
                }
            }
        }
        let kept: Vec<usize> = (0..of.ids.len()).filter(|&i| stands_for[i] == i).collect();
        if kept.len() == of.ids.len() {
            return None;
        }
        let mut place = vec![usize::MAX; of.ids.len()];
        kept.iter().enumerate().for_each(|(new, &old)| place[old] = new);
        // A block that stands for another one is no copy itself, unless runs overlap.
        let to = |old: usize| Some(place[stands_for[old]]).filter(|&new| new != usize::MAX);
        let node = |(node, old): (&Node, usize)| {
            let kids = node.kids.iter().map(|&kid| to(kid)).collect::<Option<Vec<usize>>>()?;
            Some(Node::new(node.cost.saturating_mul(weight[old]), kids))
        };
        let nodes = |&old: &usize| space.classes[old].iter().map(|n| node((n, old))).collect::<Option<Vec<Node>>>();
        let mut roots = space.roots.iter().map(|&root| to(root)).collect::<Option<Vec<usize>>>()?;
        let mut is_root = vec![false; kept.len()];
        roots.retain(|&root| !std::mem::replace(&mut is_root[root], true));
        let small = Space { classes: kept.iter().map(nodes).collect::<Option<_>>()?, roots };
        let own: Pick = kept.iter().map(|&old| given[old]).collect();
        let chosen = small.choose(Some(&own), effort)?;
        let (mut pick, price) = (given.clone(), small.price(&chosen)?);
        kept.iter().zip(chosen).for_each(|(&old, chosen)| pick[old] = chosen);
        for run in &self.runs {
            run.choose(of, &at, &mut pick)?;
        }
        let is_good = space.price(&pick)? == price && space.price(given).is_none_or(|given| price <= given);
        is_good.then_some(pick)
    }
}

impl Run {
    /// The copies take the terms in the places of those of the block.
    fn choose(&self, of: &Classes<'_, '_>, at: &dyn Fn(Id) -> Option<usize>, pick: &mut Pick) -> Option<()> {
        for (class, images) in self.copied() {
            let one = at(class.id)?;
            let chosen = pick[one].map(|i| &of.terms[one][i]);
            for (copy, image) in images.iter().enumerate() {
                let Some(image) = image.filter(|image| self.is_copy(*image)) else { continue };
                let other = at(image)?;
                pick[other] = match chosen {
                    Some(term) => Some(self.position(of, term, copy, &of.terms[other])?),
                    None => None,
                };
            }
        }
        Some(())
    }

    /// Which of the terms of a copy's class is in the place of one.
    fn position(&self, of: &Classes<'_, '_>, term: &Term, copy: usize, terms: &[Term]) -> Option<usize> {
        let find = |kid: &Id| of.graph.find(*kid);
        let kids = term.children().iter().map(|kid| self.image(find(kid), copy));
        let kids = kids.collect::<Option<Vec<Id>>>()?;
        let is_it = |other: &Term| {
            other.discriminant() == term.discriminant() && other.children().iter().map(find).eq(kids.iter().map(find))
        };
        // A constant has no arguments that would tell it from another one.
        if matches!(term, Term::Const(_)) {
            return terms.iter().position(|other| other == term);
        }
        terms.iter().position(is_it)
    }
}
