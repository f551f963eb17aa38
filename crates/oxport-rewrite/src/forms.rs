//! The forms of a rule: the patterns that its left side stands for, each with its right side.
//!
//! * Operands of operators that commute stand in either order, unless a tensor is complex; which ones do say rules of
//!   their own (`rules::commuting`).
//! * `(~unary ?x)` is any pure pointwise operator of one tensor, `(~exact ?x)` one of them that is exact to the bit,
//!   `(~binary ?x ?y)` one of two tensors; what other arguments it has are the same on both sides. `(exp|sin ?x)` is
//!   one of the operators named, the same on both sides.
//!
//! Law: all forms of a rule have the variables of the rule as it is written, so a substitution says all that the right
//! side needs; forms are listed in a fixed order.

use crate::family::{self, is_family};
use crate::matching::is_function;
use crate::memory::Memory;
use crate::pattern::Side;
use crate::rule::Rule;
use crate::rules;
use crate::term::{Constant, Name, Term};
use crate::typing::Graph;
use egg::{ENodeOrVar, Id, Language, PatternAst, SearchMatches, Searcher, Subst, Var};
use oxport_ir::Registry;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// A pattern, and what it is equal to.
#[derive(Clone, Debug)]
pub struct Form {
    /// What is found.
    pub left: Arc<Side>,
    /// What it is equal to.
    pub right: Arc<Side>,
    /// Whether each part of the right side is computed by a function.
    pub(crate) is_function: Vec<bool>,
    /// Whether operands stand in another order than in the rule as it is written.
    is_swapped: bool,
    /// The variables, with their names in conditions.
    names: Vec<(String, Var)>,
}

impl Form {
    fn of(left: &PatternAst<Term>, right: &PatternAst<Term>, is_swapped: bool) -> Form {
        let (left, right) = (Arc::new(Side::new(left)), Arc::new(Side::new(right)));
        let name = |var: Var| (var.to_string().trim_start_matches('?').to_string(), var);
        let is_function = |node: &ENodeOrVar<Term>| matches!(node, ENodeOrVar::ENode(term) if is_function(term));
        let is_function = right.ast.as_ref().iter().map(is_function).collect();
        let names = left.vars().into_iter().map(name).collect();
        Form { left, right, is_function, is_swapped, names }
    }
    /// Whether operands of a complex tensor would stand in another order.
    pub(crate) fn swaps_complex(&self, graph: &Graph<'_>, subst: &Subst) -> bool {
        let is_complex = |(_, var): &(String, Var)| {
            let tensor = subst.get(*var).and_then(|id| graph[*id].data.kind.tensor());
            tensor.is_some_and(|tensor| tensor.dtype.is_complex())
        };
        self.is_swapped && self.names.iter().any(is_complex)
    }
    /// What a variable stands for, by its name in conditions.
    pub(crate) fn at(&self, subst: &Subst, name: &str) -> Option<Id> {
        let (_, var) = self.names.iter().find(|(known, _)| known == name)?;
        subst.get(*var).copied()
    }
}

/// The forms of a rule.
#[derive(Clone, Debug)]
pub struct Forms(pub Vec<Form>);

impl Forms {
    /// The forms of a rule.
    ///
    /// # Errors
    /// A pattern is no term.
    pub fn of(rule: &Rule, registry: &Registry) -> Result<Forms, String> {
        forms(rule, registry).map(Forms)
    }
    /// Which form has this very left side.
    pub(crate) fn position(&self, left: &PatternAst<Term>) -> Option<usize> {
        self.0.iter().position(|form| std::ptr::eq(&form.left.ast, left))
    }
    /// The variables of the right side as it is written.
    pub(crate) fn right_vars(&self) -> Vec<Var> {
        self.0.first().map(|form| form.right.vars()).unwrap_or_default()
    }
}

/// The most orders of operands that a left side may stand for.
const MAX_ORDERS: usize = 256;

fn forms(rule: &Rule, registry: &Registry) -> Result<Vec<Form>, String> {
    let read = |text: &str| match text.parse::<PatternAst<Term>>() {
        Ok(ast) => Ok(Side::new(&ast)),
        Err(e) => Err(format!("`{text}`: {e:?}")),
    };
    let (left, right) = (read(rule.left)?, read(rule.right)?);
    let mut forms = Vec::new();
    for (member, more) in members(&left.ast, registry)? {
        let of = |side: &Side| with_operator(&side.ast, member, more);
        let (left, right) = (of(&left), of(&right));
        let mut orders = vec![left];
        for at in 0..orders[0].as_ref().len() {
            let swapped: Vec<_> = orders.iter().filter_map(|ast| with_operands_swapped(ast, at)).collect();
            if orders.len() + swapped.len() > MAX_ORDERS {
                return Err(format!("`{}`: its operands have more than {MAX_ORDERS} orders", rule.left));
            }
            orders.extend(swapped.into_iter().filter(|ast| !orders.contains(ast)).collect::<Vec<_>>());
        }
        forms.extend((0..).zip(&orders).map(|(order, left)| Form::of(left, &right, order > 0)));
    }
    Ok(forms)
}

/// The operators that the pattern's family operator stands for, each with the number of its further arguments; one of
/// nothing, where the pattern has no such operator.
fn members(ast: &PatternAst<Term>, registry: &Registry) -> Result<Vec<(Name, usize)>, String> {
    let family = ast.as_ref().iter().find_map(|node| match node {
        ENodeOrVar::ENode(Term::Op(name, kids)) if is_family(name.as_str()) => Some((name.as_str(), kids.len())),
        _ => None,
    });
    let Some((family, tensors)) = family else { return Ok(vec![(Name::from(""), 0)]) };
    let members = family::members(family, tensors, registry)?;
    Ok(members.into_iter().map(|(name, further)| (Name::from(name), further)).collect())
}

/// The pattern with an operator in the place of the family's, and variables for its further arguments.
fn with_operator(ast: &PatternAst<Term>, member: Name, more: usize) -> PatternAst<Term> {
    let mut new = PatternAst::default();
    let mut ids: Vec<Id> = Vec::new();
    for node in ast.as_ref() {
        let node = node.clone().map_children(|k| ids[usize::from(k)]);
        let node = match node {
            ENodeOrVar::ENode(Term::Op(name, kids)) if is_family(name.as_str()) => {
                let further = |i: usize| format!("?~{i}").parse::<Var>().expect("law: it is a variable's name");
                let further: Vec<Id> = (0..more).map(|i| new.add(ENodeOrVar::Var(further(i)))).collect();
                ENodeOrVar::ENode(Term::Op(member, kids.iter().copied().chain(further).collect()))
            }
            node => node,
        };
        ids.push(new.add(node));
    }
    new
}

/// The pattern with the operands of the node at a place swapped, where they commute and differ.
fn with_operands_swapped(ast: &PatternAst<Term>, at: usize) -> Option<PatternAst<Term>> {
    let ENodeOrVar::ENode(Term::Op(name, kids)) = &ast.as_ref()[at] else { return None };
    let is_number = |id: &Id| matches!(&ast[*id], ENodeOrVar::ENode(Term::Const(_)));
    let [a, b, rest @ ..] = &**kids else { return None };
    let is_one = |id: &Id| matches!(&ast[*id], ENodeOrVar::ENode(Term::Const(Constant::Int(1))));
    if is_number(a) || is_number(b) || !rules::commutes(name.as_str(), rest.iter().map(is_one)) {
        return None;
    }
    let swapped = [*b, *a].into_iter().chain(rest.iter().copied()).collect();
    let mut nodes: Vec<ENodeOrVar<Term>> = ast.as_ref().to_vec();
    nodes[at] = ENodeOrVar::ENode(Term::Op(*name, swapped));
    Some(nodes.into())
}

/// The forms of a rule, made where the e-graph has the operators of its left side.
pub(crate) struct Lazy {
    rule: Rule,
    forms: OnceLock<Arc<Forms>>,
    /// For each operator of the left side the names of which one is enough.
    operators: Vec<Vec<Name>>,
    /// How many operators the e-graph had when one of the left side was missing.
    seen: AtomicUsize,
}

impl Lazy {
    /// Of a rule whose forms are not made yet.
    pub fn new(rule: Rule) -> Lazy {
        Lazy { rule, forms: OnceLock::new(), operators: operators(rule.left), seen: AtomicUsize::new(0) }
    }
    /// Of a rule that has these forms.
    pub fn made(rule: Rule, forms: Arc<Forms>) -> Lazy {
        Lazy { forms: forms.into(), ..Lazy::new(rule) }
    }
    /// The rule.
    pub fn rule(&self) -> &Rule {
        &self.rule
    }
    /// A form that something was matched with.
    pub fn form(&self, form: usize) -> &Form {
        &self.get().expect("law: forms were made where something was matched").0[form]
    }
    /// The forms, if they were needed.
    pub fn get(&self) -> Option<&Forms> {
        self.forms.get().map(|forms| &**forms)
    }
    /// The forms, if the e-graph has the operators of the left side.
    fn needed(&self, graph: &Graph<'_>, memory: &Memory) -> Option<&Forms> {
        if self.get().is_none() {
            let known = memory.operators();
            let is_there = |names: &Vec<Name>| names.iter().any(|name| memory.has_operator(*name));
            if self.seen.swap(known, Ordering::Relaxed) == known || !self.operators.iter().all(is_there) {
                return None;
            }
        }
        Some(self.forms.get_or_init(|| self.rule.forms(graph.analysis.types.registry)))
    }
}

/// The names of the operators of a pattern, those of families aside that are no list of names.
fn operators(pattern: &str) -> Vec<Vec<Name>> {
    let heads = pattern.split('(').skip(1).filter_map(|part| part.split([' ', ')']).next());
    let heads = heads.filter(|head| *head != "list" && !head.contains('~'));
    let name = |name: &str| Name::from(if name.contains("::") { name.to_string() } else { format!("aten::{name}") });
    heads.map(|head| head.split('|').map(name).collect()).collect()
}

/// Begins a round of searches in an e-graph, which is clean and stays as it is during them.
pub fn begin_round(graph: &Graph<'_>) {
    graph.analysis.memory.borrow_mut().follow(graph);
}

/// A rule, as egg searches it.
pub(crate) struct Search {
    forms: Arc<Lazy>,
    /// Which rule it is of those of a search that remembers.
    number: Option<usize>,
}

impl Search {
    /// Of a rule, which is one of a search that remembers, or none of it.
    pub fn new(forms: Arc<Lazy>, number: Option<usize>) -> Search {
        Search { forms, number }
    }

    /// The matches of a form, `limit` of them at most.
    fn form<'a>(
        &self,
        graph: &Graph<'_>,
        memory: &mut Memory,
        (number, form): (usize, &'a Form),
        limit: usize,
    ) -> Vec<SearchMatches<'a, Term>> {
        let Some(ENodeOrVar::ENode(root)) = form.left.ast.as_ref().last() else {
            return form.left.search(graph, limit);
        };
        match self.number {
            Some(rule) => {
                let classes = graph.classes_for_op(&root.discriminant());
                memory.search(graph, (rule, number), &form.left, classes.into_iter().flatten(), limit)
            }
            None => form.left.search(graph, limit),
        }
    }
}

impl<'r> Searcher<Term, crate::typing::Typing<'r>> for Search {
    fn search_eclass_with_limit(&self, graph: &Graph<'r>, class: Id, limit: usize) -> Option<SearchMatches<'_, Term>> {
        let forms = self.forms.get()?;
        forms.0.iter().find_map(|form| form.left.search_class(graph, class, limit))
    }
    fn search_with_limit(&self, graph: &Graph<'r>, limit: usize) -> Vec<SearchMatches<'_, Term>> {
        let memory = &mut *graph.analysis.memory.borrow_mut();
        let Some(forms) = self.forms.needed(graph, memory) else { return Vec::new() };
        let (mut found, mut left) = (Vec::new(), limit);
        for form in forms.0.iter().enumerate() {
            if left == 0 {
                break;
            }
            let matches = self.form(graph, memory, form, left);
            left = left.saturating_sub(matches.iter().map(|m| m.substs.len()).sum());
            found.extend(matches);
        }
        found
    }
    fn vars(&self) -> Vec<Var> {
        self.forms.get().and_then(|forms| forms.0.first()).map(|form| form.left.vars()).unwrap_or_default()
    }
}
