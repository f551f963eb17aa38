//! Patterns of terms, as they are searched.

use crate::term::Term;
use egg::{Analysis, EGraph, ENodeOrVar, Id, Language, Pattern, PatternAst, SearchMatches, Searcher, Var};
use indexmap::IndexSet;
use rustc_hash::FxHasher;
use std::borrow::Cow;
use std::hash::{Hash, Hasher};
use std::sync::OnceLock;

/// The mark of a term, one of 64 bits.
pub(crate) fn mark(term: &Term) -> u64 {
    let mut hasher = FxHasher::default();
    match term {
        Term::Const(constant) => constant.hash(&mut hasher),
        term => term.discriminant().hash(&mut hasher),
    }
    1 << (hasher.finish() % 61)
}

/// A side of a form. egg's program for it is made where it is searched first: few are, of operators that commute or
/// stand for a family.
#[derive(Clone, Debug)]
pub struct Side {
    /// The pattern, each part once.
    pub ast: PatternAst<Term>,
    /// How many levels of terms there are below its root.
    pub(crate) depth: usize,
    /// For each part the [`mark`] of its term, and 0 of a variable.
    pub(crate) marks: Vec<u64>,
    program: OnceLock<Pattern<Term>>,
}

impl Side {
    pub(crate) fn new(ast: &PatternAst<Term>) -> Side {
        let (mut parts, mut places) = (IndexSet::new(), Vec::with_capacity(ast.as_ref().len()));
        for node in ast.as_ref() {
            let node = node.clone().map_children(|kid| places[usize::from(kid)]);
            places.push(Id::from(parts.insert_full(node).0));
        }
        let ast: PatternAst<Term> = parts.into_iter().collect::<Vec<_>>().into();
        let (depth, marks) = (depth(&ast), ast.as_ref().iter().map(marked).collect());
        Side { ast, depth, marks, program: OnceLock::new() }
    }
    fn program(&self) -> &Pattern<Term> {
        self.program.get_or_init(|| Pattern::new(self.ast.clone()))
    }
    /// The variables, each once.
    pub fn vars(&self) -> Vec<Var> {
        let var = |node: &ENodeOrVar<Term>| if let ENodeOrVar::Var(var) = node { Some(*var) } else { None };
        self.ast.as_ref().iter().filter_map(var).collect()
    }
    /// What it matches in a class, `limit` matches at most.
    pub(crate) fn search_class<N: Analysis<Term>>(
        &self,
        graph: &EGraph<Term, N>,
        class: Id,
        limit: usize,
    ) -> Option<SearchMatches<'_, Term>> {
        self.program().search_eclass_with_limit(graph, class, limit).map(|found| self.found(found))
    }
    /// What it matches in all classes, `limit` matches at most.
    pub(crate) fn search<N: Analysis<Term>>(
        &self,
        graph: &EGraph<Term, N>,
        limit: usize,
    ) -> Vec<SearchMatches<'_, Term>> {
        let found = self.program().search_with_limit(graph, limit);
        found.into_iter().map(|found| self.found(found)).collect()
    }
    fn found<'a>(&'a self, found: SearchMatches<'_, Term>) -> SearchMatches<'a, Term> {
        SearchMatches { eclass: found.eclass, substs: found.substs, ast: Some(Cow::Borrowed(&self.ast)) }
    }
}

fn marked(node: &ENodeOrVar<Term>) -> u64 {
    if let ENodeOrVar::ENode(term) = node { mark(term) } else { 0 }
}

/// How many levels of terms there are below the last one.
fn depth(ast: &PatternAst<Term>) -> usize {
    let mut depths: Vec<Option<usize>> = Vec::with_capacity(ast.as_ref().len());
    for node in ast.as_ref() {
        let of_term = |term: &Term| {
            let below = term.children().iter().filter_map(|kid| depths[usize::from(*kid)]).max();
            below.map_or(0, |below| below + 1)
        };
        depths.push(if let ENodeOrVar::ENode(term) = node { Some(of_term(term)) } else { None });
    }
    depths.last().copied().flatten().unwrap_or(0)
}
