//! Patterns in the e-graph, beside the search: what of a pattern there is, what it matches in a class, and where it
//! fails.

use crate::term::Term;
use crate::typing::{Graph, add};
use egg::{ENodeOrVar, Id, Language, PatternAst, Subst, Var};
use smallvec::SmallVec;

/// What a pattern matched.
pub(crate) struct Match {
    /// What the variables stand for.
    pub subst: Subst,
    /// The term in the place of the pattern's root.
    pub root: Term,
}

/// Where a pattern fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Miss {
    /// How many parts of the pattern were matched before.
    pub matched: usize,
    /// The part of the pattern.
    pub part: Id,
    /// The class in its place.
    pub class: Id,
    /// The class that the variable stands for already, if the part is a variable.
    pub bound: Option<Id>,
}

/// The most steps of a match.
const MOST_STEPS: usize = 100_000;

/// The matches of a pattern in a class; if there are none, where it fails behind most of its parts.
///
/// # Errors
/// There are none.
pub(crate) fn matches(graph: &Graph<'_>, pattern: &PatternAst<Term>, class: Id) -> Result<Vec<Match>, Miss> {
    let root = Id::from(pattern.as_ref().len() - 1);
    let miss = Miss { matched: 0, part: root, class, bound: None };
    let mut matcher = Matcher { graph, pattern, found: Vec::new(), miss, steps: 0 };
    matcher.go(&[(root, class)], &Subst::default(), 0, None);
    if matcher.found.is_empty() { Err(matcher.miss) } else { Ok(matcher.found) }
}

struct Matcher<'a, 'r> {
    graph: &'a Graph<'r>,
    pattern: &'a PatternAst<Term>,
    found: Vec<Match>,
    miss: Miss,
    steps: usize,
}

impl Matcher<'_, '_> {
    /// Matches parts of the pattern with classes, the last first.
    fn go(&mut self, open: &[(Id, Id)], subst: &Subst, matched: usize, root: Option<&Term>) {
        self.steps += 1;
        if self.steps > MOST_STEPS {
            return;
        }
        let Some((&(part, class), rest)) = open.split_last() else {
            let root = root.expect("law: a pattern has a root").clone();
            return self.found.push(Match { subst: subst.clone(), root });
        };
        let class = self.graph.find(class);
        match &self.pattern[part] {
            ENodeOrVar::Var(v) => match subst.get(*v) {
                Some(&bound) if self.graph.find(bound) != class => self.fail(part, class, Some(bound), matched),
                Some(_) => self.go(rest, subst, matched + 1, root),
                None => {
                    let mut subst = subst.clone();
                    subst.insert(*v, class);
                    self.go(rest, &subst, matched + 1, root);
                }
            },
            ENodeOrVar::ENode(wanted) => {
                let graph = self.graph;
                let mut terms = graph[class].nodes.iter().filter(|term| wanted.matches(term)).peekable();
                if terms.peek().is_none() {
                    self.fail(part, class, None, matched);
                }
                for term in terms {
                    let kids = wanted.children().iter().copied().zip(term.children().iter().copied());
                    let open: Vec<(Id, Id)> = rest.iter().copied().chain(kids.rev()).collect();
                    self.go(&open, subst, matched + 1, root.or(Some(term)));
                }
            }
        }
    }

    fn fail(&mut self, part: Id, class: Id, bound: Option<Id>, matched: usize) {
        if matched > self.miss.matched {
            self.miss = Miss { matched, part, class, bound };
        }
    }
}

/// How many parts nearly all patterns have at most.
pub(crate) const PARTS: usize = 16;

/// The class of a pattern's term, which is added where it is not there yet; of a pattern that computes nothing. `None`
/// if it is ill-typed.
pub(crate) fn class_of(graph: &mut Graph<'_>, pattern: &PatternAst<Term>, subst: &Subst) -> Option<Id> {
    let mut ids: SmallVec<[Id; PARTS]> = SmallVec::new();
    for node in pattern.as_ref() {
        ids.push(match node {
            ENodeOrVar::Var(v) => *subst.get(*v)?,
            ENodeOrVar::ENode(term) => add(graph, term.clone().map_children(|kid| ids[usize::from(kid)]))?,
        });
    }
    ids.pop()
}

/// The classes of all parts of a pattern, where there are such terms; `computed` is what its functions gave, in order.
pub(crate) fn parts(
    graph: &Graph<'_>,
    pattern: &PatternAst<Term>,
    at: &dyn Fn(Var) -> Option<Id>,
    computed: &[Id],
) -> Vec<Option<Id>> {
    let mut ids: Vec<Option<Id>> = Vec::with_capacity(pattern.as_ref().len());
    let mut computed = computed.iter().copied();
    for node in pattern.as_ref() {
        ids.push(match node {
            ENodeOrVar::Var(v) => at(*v),
            ENodeOrVar::ENode(term) if is_function(term) => computed.next(),
            ENodeOrVar::ENode(term) => over(term, &ids).and_then(|term| graph.lookup(term)),
        });
    }
    ids
}

/// True for what a right side computes: `@add`.
pub(crate) fn is_function(term: &Term) -> bool {
    matches!(term, Term::Op(name, _) if name.as_str().starts_with('@'))
}

/// A term of a pattern over the classes of its parts, if all are there.
pub(crate) fn over(term: &Term, parts: &[Option<Id>]) -> Option<Term> {
    let part = |kid: &Id| parts[usize::from(*kid)];
    let is_there = term.children().iter().all(|kid| part(kid).is_some());
    is_there.then(|| term.clone().map_children(|kid| part(&kid).unwrap_or(kid)))
}

/// A part of a pattern as it is written.
pub(crate) fn text(pattern: &PatternAst<Term>, part: Id) -> String {
    let term = match &pattern[part] {
        ENodeOrVar::Var(v) => return v.to_string(),
        ENodeOrVar::ENode(term) => term,
    };
    let head = match term {
        Term::Const(c) => return c.to_string(),
        Term::Op(name, _) => short(name.as_str()),
        Term::List(_) | Term::Leaf(_) | Term::Own(..) => "list",
    };
    let kids: String = term.children().iter().map(|&kid| format!(" {}", text(pattern, kid))).collect();
    format!("({head}{kids})")
}

/// The name of an operator as patterns write it.
pub(crate) fn short(name: &str) -> &str {
    name.strip_prefix("aten::").unwrap_or(name)
}
