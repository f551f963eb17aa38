//! Rules: one line each, data.
//!
//! A rule has a name, two patterns, an example of typed variables, conditions, and a soundness class: *bitwise* unless
//! it says `.rounding()`. In the right pattern, `(@f ?a …)` is a constant computed from constants, see `compute`.
//!
//! Laws: a rule fires only where all its conditions hold and both sides have the same type, for all sizes in range; the
//! rule table's test checks, for every rule, that it fires on its example and that both sides compute the same values
//! on what is derived from it: to the bit for bitwise rules, extreme values included.

use crate::condition::Condition;
use crate::term::{Constant, Term};
use crate::typing::{Graph, Kind, same_type, type_of};
use egg::{Applier, ENodeOrVar, Id, Pattern, PatternAst, Rewrite, Subst, Symbol, Var};

/// A rewrite rule.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// The name.
    pub name: &'static str,
    /// What is found.
    pub left: &'static str,
    /// What it is equal to.
    pub right: &'static str,
    /// Typed variables on which it must fire: `x: f32[2, 3], d: 1`.
    pub given: &'static str,
    /// When it holds.
    pub when: &'static [Condition],
    /// How equal both sides are.
    pub soundness: Soundness,
}

/// How equal the two sides of a rule are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Soundness {
    /// To the bit.
    Bitwise,
    /// Up to rounding: only where the user allows it.
    Rounding,
}

/// A bitwise rule without conditions.
pub const fn rule(name: &'static str, left: &'static str, right: &'static str) -> Rule {
    Rule { name, left, right, given: "", when: &[], soundness: Soundness::Bitwise }
}

impl Rule {
    /// Sets the example.
    pub const fn given(self, given: &'static str) -> Rule {
        Rule { given, ..self }
    }
    /// Sets the conditions.
    pub const fn when(self, when: &'static [Condition]) -> Rule {
        Rule { when, ..self }
    }
    /// Says that the sides may round differently.
    pub const fn rounding(self) -> Rule {
        Rule { soundness: Soundness::Rounding, ..self }
    }
    /// The rule for egg.
    ///
    /// # Panics
    /// A pattern is no term: the table's test would have failed.
    pub fn compile<'r>(&self) -> Rewrite<Term, Typing<'r>> {
        let law = "law: rule patterns parse, the table's test says so";
        let left: Pattern<Term> = self.left.parse().expect(law);
        let right: Pattern<Term> = self.right.parse().expect(law);
        Rewrite::new(self.name, left, Typed { right, when: self.when }).expect(law)
    }
}

use crate::typing::Typing;

/// Adds the right side where it is well-typed and the conditions hold.
struct Typed {
    right: Pattern<Term>,
    when: &'static [Condition],
}

impl<'r> Applier<Term, Typing<'r>> for Typed {
    fn apply_one(
        &self,
        graph: &mut Graph<'r>,
        class: Id,
        subst: &Subst,
        _: Option<&PatternAst<Term>>,
        rule: Symbol,
    ) -> Vec<Id> {
        if !self.when.iter().all(|c| c.holds(graph, subst)) {
            return vec![];
        }
        let Some(new) = instantiate(graph, &self.right, subst) else { return vec![] };
        let (left, right) = (&graph[class].data, &graph[new].data);
        if !left.is_certain || !right.is_certain || !same_type(&graph.analysis.env, &left.kind, &right.kind) {
            return vec![];
        }
        if graph.union_trusted(class, new, rule) { vec![new] } else { vec![] }
    }
    fn vars(&self) -> Vec<Var> {
        self.right.vars()
    }
}

/// Adds a pattern's term; `None` if a part of it is ill-typed.
fn instantiate(graph: &mut Graph<'_>, pattern: &Pattern<Term>, subst: &Subst) -> Option<Id> {
    let mut ids: Vec<Id> = Vec::new();
    for node in pattern.ast.as_ref() {
        let id = match node {
            ENodeOrVar::Var(v) => *subst.get(*v)?,
            ENodeOrVar::ENode(term) => {
                let term = egg::Language::map_children(term.clone(), |k| ids[usize::from(k)]);
                match &term {
                    Term::Op(name, kids) if name.as_str().starts_with('@') => {
                        let args: Vec<Kind> = kids.iter().map(|k| graph[*k].data.kind.clone()).collect();
                        compute(graph, name.as_str(), &args)?
                    }
                    _ => {
                        let data = type_of(graph, &term)?;
                        match graph.lookup(term.clone()) {
                            Some(id) => id,
                            None => {
                                graph.analysis.recorded = Some(data);
                                let id = graph.add(term);
                                graph.analysis.recorded = None;
                                id
                            }
                        }
                    }
                }
            }
        };
        ids.push(id);
    }
    ids.pop()
}

/// The constants that right sides compute from constants.
///
/// | function | is |
/// |---|---|
/// | `@compose(a, b)` | the order of dimensions that permuting by `a`, then by `b` gives |
/// | `@mul(a, b)`, `@add(a, b)` | product and sum of numbers |
/// | `@reciprocal(a)` | 1 / a |
fn compute(graph: &mut Graph<'_>, name: &str, args: &[Kind]) -> Option<Id> {
    let numbers: Vec<f64> = args.iter().filter_map(|k| k.constant()?.number()).collect();
    let float = |x: f64| Term::Const(Constant::Float(x.to_bits()));
    let term = match (name, &numbers[..]) {
        ("@compose", _) => {
            let [first, second] = args else { return None };
            let (first, second) = (first.ints()?, second.ints()?);
            let n = first.len() as i64;
            let wrap = |d: i64| if d < 0 { d + n } else { d };
            let dims = second.iter().map(|&d| first.get(wrap(d) as usize).map(|&e| wrap(e)));
            let dims: Vec<i64> = dims.collect::<Option<_>>()?;
            let ids = dims.into_iter().map(|d| graph.add(Term::Const(Constant::Int(d)))).collect();
            Term::List(ids)
        }
        ("@mul", [a, b]) => float(a * b),
        ("@add", [a, b]) => float(a + b),
        ("@reciprocal", [a]) => float(1.0 / a),
        _ => return None,
    };
    Some(graph.add(term))
}
