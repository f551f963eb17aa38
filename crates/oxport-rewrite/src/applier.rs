//! Rules as egg applies them.
//!
//! Law: the right side is added only where the conditions hold and both sides have the same type, for all sizes in
//! range.

use crate::applied::{Applied, Step};
use crate::compute::{self, compute};
use crate::forms::{Form, Forms, Lazy, Search};
use crate::kind::Differs;
use crate::matching::PARTS;
use crate::rule::Rule;
use crate::term::Term;
use crate::typing::{Graph, Typing, add, first};
use egg::{Applier, ENodeOrVar, Id, PatternAst, Rewrite, SearchMatches, Subst, Symbol, Var};
use oxport_ir::Registry;
use smallvec::SmallVec;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

impl Rule {
    /// What is wrong with the patterns, for these operators.
    ///
    /// # Errors
    /// A pattern is no term, names an operator or a function that is not known, or has another number of arguments than
    /// the operator's schema; the right side has a variable that the left side has not; the left side computes.
    pub fn check(&self, registry: &Registry) -> Result<(), String> {
        let forms = Forms::of(self, registry)?.0;
        if forms.is_empty() {
            return Err(format!("`{}`: no operator is of this family", self.left));
        }
        for form in &forms {
            for side in [&form.left, &form.right] {
                for node in side.ast.as_ref() {
                    let ENodeOrVar::ENode(Term::Op(name, kids)) = node else { continue };
                    let is_computed = name.as_str().starts_with('@');
                    match is_computed && std::ptr::eq(side, &form.right) {
                        true => compute::callable(name.as_str(), kids.len())?,
                        false => callable(name.as_str(), kids.len(), registry)?,
                    }
                }
            }
            let bound = form.left.vars();
            if let Some(var) = form.right.vars().into_iter().find(|v| !bound.contains(v)) {
                return Err(format!("`{}`: the left side has no {var}", self.right));
            }
        }
        Ok(())
    }
    /// The rule for egg.
    ///
    /// # Panics
    /// A pattern is no term: the table's test would have failed.
    pub fn compile<'r>(&self, registry: &Registry) -> Rewrite<Term, Typing<'r>> {
        self.rewrite(self.forms(registry))
    }
    /// The rule for egg, as one of a search that remembers what it matched, by its number among the rules of the
    /// search; [`forms::begin_round`](crate::forms::begin_round) begins each round. Its forms are made when they are
    /// needed.
    pub fn remembered<'r>(&self, number: usize) -> Rewrite<Term, Typing<'r>> {
        self.of_forms(Arc::new(Lazy::new(*self)), Some(number))
    }
    /// The forms, made once for a registry.
    pub(crate) fn forms(&self, registry: &Registry) -> Arc<Forms> {
        let made = registry.derived(|_| Made::default());
        let key = (self.left, self.right);
        let found = made.0.lock().expect("law: no panic while the lock is held").get(&key).cloned();
        found.unwrap_or_else(|| {
            let forms = Forms::of(self, registry).expect("law: rule patterns parse, the table's test says so");
            let mut made = made.0.lock().expect("law: no panic while the lock is held");
            made.entry(key).or_insert(Arc::new(forms)).clone()
        })
    }
    /// The rule for egg, of its forms.
    ///
    /// # Panics
    /// The right side has a variable that the left side has not.
    pub fn rewrite<'r>(&self, forms: Arc<Forms>) -> Rewrite<Term, Typing<'r>> {
        self.of_forms(Arc::new(Lazy::made(*self, forms)), None)
    }
    fn of_forms<'r>(&self, forms: Arc<Lazy>, number: Option<usize>) -> Rewrite<Term, Typing<'r>> {
        let applier = Typed::of_forms(forms.clone());
        let search = Search::new(forms, number);
        Rewrite::new(self.name, search, applier).expect("law: right sides have the variables of left sides")
    }
}

/// The forms of the rules that were compiled for a registry, by both sides of the rule.
#[derive(Default)]
struct Made(Mutex<HashMap<(&'static str, &'static str), Arc<Forms>>>);

/// What keeps a rule from what it matched.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Obstacle {
    /// Operands of a complex tensor in another order.
    Swapped,
    /// A condition, by its number.
    Condition(usize),
    /// A part of the right side, by its place in the pattern, is ill-typed, or a function has no value.
    Part(Id),
    /// The sizes of one side depend on open questions.
    Uncertain,
    /// Both sides, of which this is the right one, are of other types.
    Type(Id, Differs),
}

/// Adds the right side where it is well-typed and the conditions hold.
pub(crate) struct Typed {
    forms: Arc<Lazy>,
    name: Symbol,
}

impl Typed {
    /// The rule, as it is applied for a registry.
    pub fn of(rule: Rule, registry: &Registry) -> Typed {
        Typed::of_forms(Arc::new(Lazy::made(rule, rule.forms(registry))))
    }

    /// The rule that has these forms.
    fn of_forms(forms: Arc<Lazy>) -> Typed {
        Typed { name: forms.rule().name.into(), forms }
    }

    /// The rule itself.
    pub fn rule(&self) -> &Rule {
        self.forms.rule()
    }

    /// A form of the rule.
    pub fn form(&self, form: usize) -> &Form {
        self.forms.form(form)
    }

    /// All forms of the rule.
    pub fn forms(&self) -> &[Form] {
        &self.forms.get().expect("law: forms were made where something was matched").0
    }

    /// The class of the right side for what a form matched, and what its functions gave.
    ///
    /// # Errors
    /// The first thing that keeps the rule from it.
    pub fn right_side(
        &self,
        graph: &mut Graph<'_>,
        class: Id,
        subst: &Subst,
        form: usize,
    ) -> Result<(Id, Vec<Id>), Obstacle> {
        let form = self.form(form);
        if form.swaps_complex(graph, subst) {
            return Err(Obstacle::Swapped);
        }
        let at = |name: &str| form.at(subst, name);
        if let Some(number) = self.rule().when.iter().position(|c| !c.holds(graph, &at)) {
            return Err(Obstacle::Condition(number));
        }
        let mut computed = Vec::new();
        let new = instantiate(graph, form, subst, class, &mut computed).map_err(Obstacle::Part)?;
        let (left, right) = (&graph[class].data, &graph[new].data);
        if !left.is_certain || !right.is_certain {
            return Err(Obstacle::Uncertain);
        }
        match left.difference(&graph.analysis.types.env, right) {
            Some(differs) => Err(Obstacle::Type(new, differs)),
            None => Ok((new, computed)),
        }
    }

    /// Applies a form of the rule to what was matched. True if something is equal now that was not; `None` if the rule
    /// does not hold there.
    pub fn apply(&self, graph: &mut Graph<'_>, class: Id, subst: &Subst, form: usize) -> Option<bool> {
        if graph.analysis.fuel.is_out() {
            return Some(false);
        }
        let before = graph.nodes().len();
        let (new, computed) = self.right_side(graph, class, subst, form).ok()?;
        if graph.find(class) == graph.find(new) || !graph.analysis.fuel.allows_one() {
            return Some(false);
        }
        let made = before..graph.nodes().len();
        let is_logged = graph.analysis.log.is_some();
        let step = is_logged.then(|| {
            let mut subst = subst.clone();
            for var in self.form(form).left.vars() {
                subst.insert(var, first(graph, subst[var]));
            }
            let computed = computed.into_iter().map(|id| first(graph, id)).collect();
            {
                let (rule, class) = (*self.rule(), first(graph, class));
                let sides = [self.form(form).left.clone(), self.form(form).right.clone()];
                Step::Rule { rule, form, sides, class, subst, computed }
            }
        });
        graph.union_trusted(class, new, self.name);
        graph.analysis.fuel.count(self.name);
        let log = graph.analysis.log.iter_mut().zip(step);
        log.for_each(|(log, step)| log.push(Applied { name: self.name, step, made: made.clone() }));
        Some(true)
    }
}

impl<'r> Applier<Term, Typing<'r>> for Typed {
    fn apply_matches(&self, graph: &mut Graph<'r>, matches: &[SearchMatches<'_, Term>], _: Symbol) -> Vec<Id> {
        let mut united = Vec::new();
        for found in matches {
            let form = found.ast.as_deref().zip(self.forms.get()).and_then(|(left, forms)| forms.position(left));
            let Some(form) = form else { continue };
            graph.analysis.searched += found.substs.len();
            let applied =
                found.substs.iter().filter(|subst| self.apply(graph, found.eclass, subst, form) == Some(true));
            united.extend(applied.map(|_| found.eclass));
        }
        united
    }
    fn apply_one(&self, _: &mut Graph<'r>, _: Id, _: &Subst, _: Option<&PatternAst<Term>>, _: Symbol) -> Vec<Id> {
        unreachable!("law: matches are applied together, since a form's right side is found by its left side")
    }
    fn vars(&self) -> Vec<Var> {
        self.forms.get().map(Forms::right_vars).unwrap_or_default()
    }
}

/// Adds the term of a form's right side; an error is the place of a part that is ill-typed. `whole` is the class that
/// it is to be equal to; what functions gave is appended to `computed`.
fn instantiate(graph: &mut Graph<'_>, form: &Form, subst: &Subst, whole: Id, computed: &mut Vec<Id>) -> Result<Id, Id> {
    let mut ids: SmallVec<[Id; PARTS]> = SmallVec::new();
    for (place, (node, &is_function)) in form.right.ast.as_ref().iter().zip(&form.is_function).enumerate() {
        let id = match node {
            ENodeOrVar::Var(v) => subst.get(*v).copied(),
            ENodeOrVar::ENode(term) => {
                let term = egg::Language::map_children(term.clone(), |k| ids[usize::from(k)]);
                match &term {
                    Term::Op(name, kids) if is_function => {
                        let value = compute(graph, name.as_str(), kids, whole);
                        computed.extend(value);
                        value
                    }
                    _ => add(graph, term),
                }
            }
        };
        ids.push(id.ok_or(Id::from(place))?);
    }
    Ok(ids.pop().expect("law: a pattern is not empty"))
}

/// An error unless the operator is called with as many arguments.
fn callable(name: &str, args: usize, registry: &Registry) -> Result<(), String> {
    let op = registry.op(name);
    let expected = match op.schema() {
        Some(schema) => schema.args.len(),
        None if op.is_getitem() => 2,
        None => return Err(format!("there is no operator {name}")),
    };
    if args == expected { Ok(()) } else { Err(format!("{name}: expected {expected} arguments, got {args}")) }
}
