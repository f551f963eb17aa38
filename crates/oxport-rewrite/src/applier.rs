//! Rules as egg applies them.
//!
//! Law: the right side is added only where the conditions hold and both sides have the same type, for all sizes in
//! range.

use crate::applied::Applied;
use crate::compute::{self, compute};
use crate::condition::Condition;
use crate::forms::{Forms, Search};
use crate::kind::same_type;
use crate::rule::Rule;
use crate::term::Term;
use crate::typing::{Graph, Typing, add};
use egg::{Applier, ENodeOrVar, Id, Pattern, PatternAst, Rewrite, SearchMatches, Subst, Symbol, Var};
use oxport_ir::Registry;
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
        let made = registry.derived(|_| Made::default());
        let key = (self.left, self.right);
        let found = made.0.lock().expect("law: no panic while the lock is held").get(&key).cloned();
        let forms = found.unwrap_or_else(|| {
            let forms = Forms::of(self, registry).expect("law: rule patterns parse, the table's test says so");
            let mut made = made.0.lock().expect("law: no panic while the lock is held");
            made.entry(key).or_insert(Arc::new(forms)).clone()
        });
        self.rewrite(forms)
    }
    /// The rule for egg, of its forms.
    ///
    /// # Panics
    /// The right side has a variable that the left side has not.
    pub fn rewrite<'r>(&self, forms: Arc<Forms>) -> Rewrite<Term, Typing<'r>> {
        let applier = Typed { forms: forms.clone(), when: self.when };
        Rewrite::new(self.name, Search(forms), applier).expect("law: right sides have the variables of left sides")
    }
}

/// The forms of the rules that were compiled for a registry, by both sides of the rule.
#[derive(Default)]
struct Made(Mutex<HashMap<(&'static str, &'static str), Arc<Forms>>>);

/// Adds the right side where it is well-typed and the conditions hold.
struct Typed {
    forms: Arc<Forms>,
    when: &'static [Condition],
}

impl Typed {
    fn apply(&self, graph: &mut Graph<'_>, class: Id, subst: &Subst, form: usize, rule: Symbol) -> bool {
        if graph.analysis.fuel.is_out() {
            return false;
        }
        let at = |name: &str| subst.get(format!("?{name}").parse().ok()?).copied();
        if !self.when.iter().all(|c| c.holds(graph, &at)) {
            return false;
        }
        let mut computed = Vec::new();
        let right = &self.forms.0[form].right;
        let Some(new) = instantiate(graph, right, subst, class, &mut computed) else { return false };
        let (left, right) = (&graph[class].data, &graph[new].data);
        if !left.is_certain || !right.is_certain || !same_type(&graph.analysis.types.env, &left.kind, &right.kind) {
            return false;
        }
        if graph.find(class) == graph.find(new) || !graph.analysis.fuel.allows_one() {
            return false;
        }
        graph.union_trusted(class, new, rule);
        graph.analysis.fuel.count(rule);
        if let Some(log) = &mut graph.analysis.log {
            let form = &self.forms.0[form];
            log.push(Applied::rule(rule, (&form.left.ast, &form.right.ast), subst, computed));
        }
        true
    }
}

impl<'r> Applier<Term, Typing<'r>> for Typed {
    fn apply_matches(&self, graph: &mut Graph<'r>, matches: &[SearchMatches<'_, Term>], rule: Symbol) -> Vec<Id> {
        let mut united = Vec::new();
        for found in matches {
            let Some(form) = found.ast.as_deref().and_then(|left| self.forms.position(left)) else { continue };
            let applied = found.substs.iter().filter(|subst| self.apply(graph, found.eclass, subst, form, rule));
            united.extend(applied.map(|_| found.eclass));
        }
        united
    }
    fn apply_one(&self, _: &mut Graph<'r>, _: Id, _: &Subst, _: Option<&PatternAst<Term>>, _: Symbol) -> Vec<Id> {
        unreachable!("law: matches are applied together, since a form's right side is found by its left side")
    }
    fn vars(&self) -> Vec<Var> {
        self.forms.right_vars()
    }
}

/// Adds a pattern's term; `None` if a part of it is ill-typed. `whole` is the class that it is to be equal to; what
/// functions gave is appended to `computed`.
fn instantiate(
    graph: &mut Graph<'_>,
    pattern: &Pattern<Term>,
    subst: &Subst,
    whole: Id,
    computed: &mut Vec<Id>,
) -> Option<Id> {
    let mut ids: Vec<Id> = Vec::new();
    for node in pattern.ast.as_ref() {
        let id = match node {
            ENodeOrVar::Var(v) => *subst.get(*v)?,
            ENodeOrVar::ENode(term) => {
                let term = egg::Language::map_children(term.clone(), |k| ids[usize::from(k)]);
                match &term {
                    Term::Op(name, kids) if name.as_str().starts_with('@') => {
                        let value = compute(graph, name.as_str(), kids, whole)?;
                        computed.push(value);
                        value
                    }
                    _ => add(graph, term)?,
                }
            }
        };
        ids.push(id);
    }
    ids.pop()
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
