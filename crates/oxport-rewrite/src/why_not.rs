//! Why a rule did nothing at a value, and what it did: an answer for people, from the e-graph at the end of a search.
//!
//! Law: a condition, a right side and a type are asked as the search asks them, by [`Typed::right_side`].

use crate::applied::Applied;
use crate::applier::{Obstacle, Typed};
use crate::cost::Model;
use crate::emit::{needed, needed_for};
use crate::extract::{Candidates, Choice, Prefer, Taken, once};
use crate::ingest::Ingested;
use crate::kind::{Differs, Kind, same_type};
use crate::matching::{self, Match, Miss, is_function, matches, over, parts, short};
use crate::rule::{Rule, Soundness};
use crate::rules;
use crate::term::{Name, Term};
use crate::typing::Graph;
use crate::{Limits, Phase, Stop};
use egg::{ENodeOrVar, Id, Language, PatternAst, Var};
use oxport_ir::{ExportedProgram, NodeId};
use oxport_sym::Expr;
use rustc_hash::FxHashMap;
use std::collections::HashSet;

/// What is asked of a search: about a rule, and the value of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The name of the rule.
    pub rule: String,
    /// The name of the node, in the program that is searched.
    pub node: String,
}

/// Why a rule did nothing at a value.
#[derive(Clone, Debug)]
pub struct Answer {
    /// What was asked.
    pub question: Question,
    /// The reason.
    pub reason: Reason,
    /// The same in words.
    pub lines: Vec<String>,
}

/// The first reason for which a rule did nothing at a value, or what it did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reason {
    /// It fired, and its result was chosen.
    Chosen,
    /// It fired, and what is chosen was made of its result by other rules.
    Rewritten,
    /// It fired, and the value is not computed any more: what read it was rewritten.
    Unused,
    /// It fired, and something else was chosen.
    Dearer {
        /// What the choice costs, in nanoseconds.
        chosen: f64,
        /// The least that was found with the rule's result; `None` if there is no such choice.
        with: Option<f64>,
    },
    /// Both sides were equal before it was applied.
    Equal,
    /// It holds, and was not applied: the search does not use it, or ended before.
    KeptOut,
    /// No term is of its left side.
    Pattern,
    /// A condition does not hold.
    Condition,
    /// The right side is ill-typed, or something in it cannot be computed.
    RightSide,
    /// Both sides are of other types.
    Type,
    /// A rule over several terms has no group of them.
    Group,
}

impl Reason {
    /// A word for it.
    pub fn name(&self) -> &'static str {
        match self {
            Reason::Chosen => "chosen",
            Reason::Rewritten => "rewritten",
            Reason::Unused => "unused",
            Reason::Dearer { .. } => "dearer",
            Reason::Equal => "equal",
            Reason::KeptOut => "kept-out",
            Reason::Pattern => "pattern",
            Reason::Condition => "condition",
            Reason::RightSide => "right-side",
            Reason::Type => "type",
            Reason::Group => "group",
        }
    }
}

/// What a search did, of which something is asked.
pub(crate) struct Search<'a> {
    pub program: &'a ExportedProgram,
    pub limits: &'a Limits,
    pub phases: &'a [Phase],
    pub choice: &'a Choice,
    pub applied: &'a [Applied],
    /// What the program costs and what was chosen, in nanoseconds, if that came out dearer and was not taken.
    pub refused: Option<(f64, f64)>,
}

/// The answer to a question; `None` if there is no such node. `rules` are all of one term.
pub(crate) fn why_not(
    search: &Search<'_>,
    ingested: &mut Ingested<'_>,
    question: &Question,
    rules: impl Iterator<Item = Rule>,
) -> Option<Answer> {
    let node = search.program.graph.find(&question.node)?;
    let class = ingested.egraph.find(*ingested.term_class_of.get(&node)?);
    let named: Vec<Rule> = rules.filter(|rule| rule.name == question.rule).collect();
    let kept_out = search.kept_out(&question.rule, &named);
    let nodes = ingested.first_nodes(search.program);
    let found = match named.is_empty() {
        true => search.of_merge(ingested, class, &question.rule, kept_out.is_some()),
        false => {
            let of_rule = |&rule: &Rule| search.of_rule(ingested, &nodes, class, rule);
            named.iter().map(of_rule).min_by_key(|found| found.rank)?
        }
    };
    let mut lines = found.lines;
    // What fired was not kept out.
    if found.rank >= Found::HOLDS {
        lines.extend(kept_out);
    }
    Some(Answer { question: question.clone(), reason: found.reason, lines })
}

/// What a rule comes to at a value.
struct Found {
    /// The lower, the nearer it came to being applied.
    rank: usize,
    reason: Reason,
    lines: Vec<String>,
}

impl Found {
    /// The rank of what holds, and was not applied.
    const HOLDS: usize = 4;
    /// The rank from which on it does not hold.
    const REFUSED: usize = 5;

    fn new(rank: usize, reason: Reason, lines: impl IntoIterator<Item = String>) -> Found {
        Found { rank, reason, lines: lines.into_iter().collect() }
    }

    fn chosen(what: &str) -> Found {
        Found::new(0, Reason::Chosen, [format!("it fired, and {what} was chosen")])
    }
}

impl Search<'_> {
    /// What keeps a rule from being applied, whatever there is in the e-graph.
    fn kept_out(&self, name: &str, named: &[Rule]) -> Option<String> {
        let rounds = named.iter().all(|rule| !rule.allowed(Soundness::Bitwise));
        let merges = named.is_empty();
        let stop = self.phases.last().map_or(Stop::Saturated, |phase| phase.stop);
        match () {
            () if self.limits.without.contains(name) => Some("the search leaves the rule out".to_string()),
            () if rounds && self.limits.soundness == Soundness::Bitwise => {
                Some("the rule rounds, and the search uses those that are exact to the bit".to_string())
            }
            () if merges && !self.limits.model.frozen => {
                Some("the rule is for constant weights: frozen ones".to_string())
            }
            () if stop != Stop::Saturated => Some(format!("the search ended {}", stop.name())),
            () => None,
        }
    }

    /// What a rule over several terms comes to.
    fn of_merge(&self, ingested: &Ingested<'_>, class: Id, name: &str, is_kept_out: bool) -> Found {
        let graph = &ingested.egraph;
        for applied in self.applied.iter().filter(|applied| applied.is_merge() && applied.name.as_str() == name) {
            let at = |v: Var| applied.variable(v);
            let is_it = |left: &PatternAst<Term>| {
                parts(graph, left, &at, &[]).pop().flatten().is_some_and(|product| graph.find(product) == class)
            };
            // A part that has no strides wanted is itself.
            let pair = applied.pairs().into_iter().find(|(left, right)| left != right && is_it(left));
            let Some((left, right)) = pair else { continue };
            // The merged product is the call of the same operator; how its parts are taken is for other rules.
            let is_merged = |node: &ENodeOrVar<Term>| left.as_ref().last().map(operator) == Some(operator(node));
            // Of steps that are written out it is what their result is: the call's.
            let place = right.as_ref().iter().position(is_merged).unwrap_or(right.as_ref().len() - 1);
            let merged = parts(graph, right, &at, &[])[place];
            let is_made = |_: &HashSet<Id>| {
                let made_of = needed_for(self.program, ingested, self.choice, vec![class]);
                let is_made = merged.is_some_and(|id| made_of.contains(&graph.find(id)));
                is_made.then(|| Found::chosen("its part of the merged product"))
            };
            let made = written(graph, right, &at, &[]);
            let taken: Vec<Taken<'_>> = made.into_iter().map(|one| only(graph, one)).collect();
            return self.of_fired(ingested, class, "its part of the merged product", &is_made, &taken);
        }
        if let Some(expected) = rules::recurrent::LAYERS.iter().find_map(|layer| layer.expected(name)) {
            let line = format!("expected {expected}, got another value");
            return Found::new(Found::REFUSED, Reason::Group, [line]);
        }
        match rules::merge::group(graph, name, class) {
            Ok(count) if is_kept_out => {
                let line = format!("{count} products could be one, and the rule was not applied");
                Found::new(Found::HOLDS, Reason::KeptOut, [line])
            }
            Ok(count) => {
                let line = format!("the parts of {count} products do not fit");
                let expected =
                    "expected one dtype, a bias for each output, and strides of a view or a copy, got others";
                Found::new(Found::REFUSED, Reason::Group, [line, expected.to_string()])
            }
            Err(what) => Found::new(Found::REFUSED, Reason::Group, [what]),
        }
    }

    /// What a rule of one term comes to.
    fn of_rule(&self, ingested: &mut Ingested<'_>, nodes: &FxHashMap<Id, NodeId>, class: Id, rule: Rule) -> Found {
        let typed = Typed::of(rule, ingested.egraph.analysis.types.registry);
        let mut best: Option<Found> = None;
        let mut misses: Vec<(usize, Miss)> = Vec::new();
        for (number, form) in typed.forms().iter().enumerate() {
            match matches(&ingested.egraph, &form.left.ast, class) {
                Ok(found) => {
                    for matched in found {
                        let found = self.of_match(ingested, &rule, &typed, number, class, &matched);
                        let is_nearer = best.as_ref().is_none_or(|best| found.rank < best.rank);
                        best = if is_nearer { Some(found) } else { best };
                    }
                }
                Err(miss) => misses.push((number, miss)),
            }
        }
        best.unwrap_or_else(|| self.of_misses(ingested, nodes, &typed, &misses))
    }

    /// Where a pattern fails in all its forms: where it came farthest.
    fn of_misses(
        &self,
        ingested: &Ingested<'_>,
        nodes: &FxHashMap<Id, NodeId>,
        typed: &Typed,
        misses: &[(usize, Miss)],
    ) -> Found {
        let far = misses.iter().map(|(_, miss)| miss.matched).max().unwrap_or(0);
        let mut farthest = misses.iter().filter(|(_, miss)| miss.matched == far);
        let Some((number, miss)) = farthest.clone().next() else { return Found::new(usize::MAX, Reason::Pattern, []) };
        let pattern = |number: usize| &typed.form(number).left.ast;
        let got = terms_of(self.program, ingested, miss.class);
        let at = |class: Id| nodes.get(&class).map(|&id| format!("`{}`", self.program.graph.node(id).name));
        let place = at(miss.class).map_or(String::new(), |name| format!("{name}: "));
        let mut wanted: Vec<String> = Vec::new();
        farthest.by_ref().filter(|(_, other)| other.class == miss.class).for_each(|(number, miss)| {
            let head = head(pattern(*number), miss.part);
            if !wanted.contains(&head) {
                wanted.push(head);
            }
        });
        // A family of operators is many of them.
        let wanted = if wanted.len() > MOST_NAMES { typed.rule().left.to_string() } else { wanted.join(" or ") };
        let expected = match miss.bound {
            Some(bound) => {
                let same = at(bound).unwrap_or_else(|| terms_of(self.program, ingested, bound));
                format!("{place}expected {same} again, got {got}")
            }
            None => format!("{place}expected {wanted}, got {got}"),
        };
        let part = match far {
            0 => format!("for {}", typed.rule().left),
            _ => format!("for {} of {}", matching::text(pattern(*number), miss.part), typed.rule().left),
        };
        Found::new(usize::MAX - far, Reason::Pattern, [expected, part])
    }

    /// What a rule comes to at something that its left side matched.
    fn of_match(
        &self,
        ingested: &mut Ingested<'_>,
        rule: &Rule,
        typed: &Typed,
        form: usize,
        class: Id,
        matched: &Match,
    ) -> Found {
        let subst = &matched.subst;
        let at = |name: &str| typed.form(form).at(subst, name);
        let kind = |graph: &Graph<'_>, v: &str| Some(graph[at(v)?].data.kind.clone());
        let behind = Found::REFUSED + rule.when.len();
        let graph = &mut ingested.egraph;
        let (new, computed) = match typed.right_side(graph, class, subst, form) {
            Ok(made) => made,
            Err(Obstacle::Condition(number)) => {
                let condition = &rule.when[number];
                let mut lines = vec![format!("the condition {condition} does not hold")];
                let variables = condition.variables();
                let given = variables.iter().filter_map(|v| Some(format!("{v} is {}", kind(graph, v)?)));
                lines.extend(given);
                lines.extend(condition.unequal(&*graph, &at).map(|(a, b)| unequal(&a, &b)));
                return Found::new(behind - number, Reason::Condition, lines);
            }
            Err(Obstacle::Swapped) => {
                let line = "of complex numbers the operands stand in the order of the rule only".to_string();
                return Found::new(behind, Reason::Condition, [line]);
            }
            Err(Obstacle::Part(part)) => {
                let right = &typed.form(form).right.ast;
                let what = match &right[part] {
                    ENodeOrVar::ENode(term) if is_function(term) => "cannot be computed",
                    _ => "is ill-typed",
                };
                let variables = typed.form(form).left.vars().into_iter().map(|v| v.to_string()[1..].to_string());
                let given = variables.filter_map(|v| Some(format!("{v} is {}", kind(graph, &v)?)));
                let lines = std::iter::once(format!("{} of the right side {what}", matching::text(right, part)));
                return Found::new(Found::REFUSED, Reason::RightSide, lines.chain(given));
            }
            Err(Obstacle::Uncertain) => {
                let line = "its sizes depend on questions that the ranges of symbols leave open".to_string();
                return Found::new(Found::REFUSED, Reason::Type, [line]);
            }
            Err(Obstacle::Type(new, differs)) => {
                let (left, right) = (&graph[class].data, &graph[new].data);
                let (left, right) = match same_type(&graph.analysis.types.env, &left.kind, &right.kind) {
                    true => (&left.laid, &right.laid),
                    false => (&left.kind, &right.kind),
                };
                let lines = [format!("expected a right side of the type {left}, got {right}")];
                return Found::new(Found::REFUSED, Reason::Type, lines.into_iter().chain(unlike(left, right, differs)));
            }
        };
        if graph.find(new) != graph.find(class) {
            let line = "the pattern, the conditions and the types hold, and it was not applied".to_string();
            return Found::new(Found::HOLDS, Reason::KeptOut, [line]);
        }
        let graph = &ingested.egraph;
        let is_it = |applied: &&Applied| {
            let same = |(v, id): (Var, Id)| subst.get(v).is_some_and(|mine| graph.find(*mine) == graph.find(id));
            !applied.is_merge() && applied.name.as_str() == rule.name && applied.variables().into_iter().all(same)
        };
        if !self.applied.iter().any(|applied| is_it(&applied)) {
            let line = "both sides were equal before it could be applied".to_string();
            return Found::new(3, Reason::Equal, [line]);
        }
        let right = &typed.form(form).right.ast;
        let at = |v: Var| subst.get(v).copied();
        let made = written(graph, right, &at, &computed);
        let taken: Vec<Taken<'_>> = match right.as_ref() {
            // The value is that of an operand: any term of the class will do but the one that was matched.
            [ENodeOrVar::Var(_)] => vec![(class, Box::new(|term| *term != matched.root))],
            _ => made.iter().cloned().map(|one| only(graph, one)).collect(),
        };
        let left = written(graph, &typed.form(form).left.ast, &at, &[]);
        let calls: Vec<&(Id, Term)> = made.iter().filter(|one| !left.contains(one)).collect();
        let chosen = |needed: &HashSet<Id>| {
            // A class that is not needed has a term as well.
            let is_chosen = |needed: &HashSet<Id>, (class, is_taken): &Taken<'_>| {
                needed.contains(&graph.find(*class)) && self.choice.term(graph, *class).is_some_and(is_taken)
            };
            if taken.iter().all(|one| is_chosen(needed, one)) {
                return Some(Found::chosen("its result"));
            }
            let made_of = needed_for(self.program, ingested, self.choice, vec![class]);
            let is_kept = |one: &&(Id, Term)| is_chosen(&made_of, &only(graph, (*one).clone()));
            let of_calls = calls.iter().copied().filter(|one| name(one).is_some());
            let (kept, gone): (Vec<&(Id, Term)>, Vec<&(Id, Term)>) = of_calls.partition(is_kept);
            let names = |of: &[&(Id, Term)]| of.iter().filter_map(|one| name(one)).collect::<Vec<String>>().join(", ");
            let (kept_names, gone_names) = (names(&kept), names(&gone));
            let line =
                format!("it fired, and other rules rewrote its result: {kept_names} of it chosen, {gone_names} not");
            (!kept.is_empty() && !gone.is_empty()).then(|| Found::new(1, Reason::Rewritten, [line]))
        };
        self.of_fired(ingested, class, "its result", &chosen, &taken)
    }

    /// Whether what a rule made was chosen.
    fn of_fired(
        &self,
        ingested: &Ingested<'_>,
        class: Id,
        what: &str,
        chosen: &dyn Fn(&HashSet<Id>) -> Option<Found>,
        taken: &[Taken<'_>],
    ) -> Found {
        let needed = needed(self.program, ingested, self.choice);
        if !needed.contains(&class) {
            let line = "it fired, and the value is not computed any more: what read it was rewritten".to_string();
            return Found::new(2, Reason::Unused, [line]);
        }
        if let Some(found) = chosen(&needed) {
            let Some((own, with)) = self.refused else { return found };
            let kept = "the program was kept as it was".to_string();
            let price = format!("it costs {:.3} µs, and {:.3} µs as it was chosen", own / 1e3, with / 1e3);
            let lines = found.lines.into_iter().chain([kept, price]);
            return Found::new(2, Reason::Dearer { chosen: own, with: Some(with) }, lines);
        }
        let model: &Model = &self.limits.model;
        let candidates = Candidates::of(self.program, ingested, once, model, Prefer::Cheap);
        let nanoseconds = |price: u64| price as f64 / 1e3;
        let chosen = nanoseconds(self.choice.price);
        let with = candidates.price_where(&ingested.egraph, taken).map(nanoseconds);
        let price = match with {
            Some(with) if with == chosen => format!("the program costs {:.3} µs either way", chosen / 1e3),
            Some(with) => format!("the program costs {:.3} µs with it, {:.3} µs without", with / 1e3, chosen / 1e3),
            None => "no choice has it: it would need itself".to_string(),
        };
        let lines = [format!("it fired, and {what} was not chosen"), price];
        Found::new(2, Reason::Dearer { chosen, with }, lines)
    }
}

/// The most operators that a message names.
const MOST_NAMES: usize = 4;

/// The operator of a part of a pattern.
fn operator(node: &ENodeOrVar<Term>) -> Option<Name> {
    match node {
        ENodeOrVar::ENode(Term::Op(name, _)) => Some(*name),
        _ => None,
    }
}

/// The terms of a pattern, with the class of each; what functions gave is made by no term.
fn written(
    graph: &Graph<'_>,
    pattern: &PatternAst<Term>,
    at: &dyn Fn(Var) -> Option<Id>,
    computed: &[Id],
) -> Vec<(Id, Term)> {
    let parts = parts(graph, pattern, at, computed);
    let canonical = |term: Term| term.map_children(|kid| graph.find(kid));
    let term = |(node, id): (&ENodeOrVar<Term>, &Option<Id>)| -> Option<(Id, Term)> {
        let ENodeOrVar::ENode(term) = node else { return None };
        Some((graph.find((*id)?), canonical(over(term, &parts).filter(|_| !is_function(term))?)))
    };
    pattern.as_ref().iter().zip(&parts).filter_map(term).collect()
}

/// A class that takes this term.
fn only<'a>(graph: &'a Graph<'_>, (class, term): (Id, Term)) -> Taken<'a> {
    (class, Box::new(move |other| other.clone().map_children(|kid| graph.find(kid)) == term))
}

/// The operator of a term, for a message.
fn name((_, term): &(Id, Term)) -> Option<String> {
    match term {
        Term::Op(name, _) => Some(format!("`{}`", short(name.as_str()))),
        _ => None,
    }
}

/// What the part of a pattern begins with, for a message.
fn head(pattern: &PatternAst<Term>, part: Id) -> String {
    match &pattern[part] {
        ENodeOrVar::ENode(Term::Op(name, _)) => format!("`{}`", short(name.as_str())),
        ENodeOrVar::ENode(Term::List(kids)) => format!("a list of {}", kids.len()),
        _ => format!("`{}`", matching::text(pattern, part)),
    }
}

/// What there is in a class, for a message.
fn terms_of(program: &ExportedProgram, ingested: &Ingested<'_>, class: Id) -> String {
    let name = |index: &u32| ingested.node_at.get(index).map_or("", |&id| &program.graph.node(id).name);
    let text = |term: &Term| match term {
        Term::Op(op, _) => format!("`{}`", short(op.as_str())),
        Term::List(kids) => format!("a list of {}", kids.len()),
        Term::Const(c) => format!("`{c}`"),
        Term::Leaf(_) => "a value that is not rewritten".to_string(),
        Term::Own(index, _) => format!("the storage of `{}`, which is observed", name(index)),
    };
    let mut texts: Vec<String> = ingested.egraph[class].nodes.iter().map(text).collect();
    texts.sort();
    texts.dedup();
    let more = texts.len().saturating_sub(MOST_NAMES);
    texts.truncate(MOST_NAMES);
    let more = if more > 0 { format!(" and {more} others") } else { String::new() };
    format!("{}{more}", texts.join(", "))
}

/// That two sizes are not equal, or not known to be.
fn unequal(a: &Expr, b: &Expr) -> String {
    match a.is_const() && b.is_const() {
        true => format!("{a} is not {b}"),
        false => format!("cannot show {a} == {b} for all sizes in range"),
    }
}

/// In what two types differ.
fn unlike(left: &Kind, right: &Kind, differs: Differs) -> Option<String> {
    let (left, right) = (left.tensor()?, right.tensor()?);
    Some(match differs {
        Differs::Kind | Differs::Rank => return None,
        Differs::DType => format!("dtype: {} is not {}", left.dtype.name(), right.dtype.name()),
        Differs::Device => format!("device: {} is not {}", left.device, right.device),
        Differs::Size(i) => format!("size {i}: {}", unequal(&left.sizes[i], &right.sizes[i])),
        Differs::Stride(i) => format!("stride {i}: {}", unequal(&left.strides[i], &right.strides[i])),
    })
}
