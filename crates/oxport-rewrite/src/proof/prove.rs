//! From the log of a search to a proof: what the log says is cut down to what the result needs.
//!
//! 1. all equations of the log are united, and what was computed with its constants;
//! 2. what copies and views were added behind the search is shown by the rules of such calls;
//! 3. an explanation of all outputs and effects names the equations that suffice;
//! 4. of these, what can be left out is, one by one;
//! 5. the checker decides whether the result is a proof.
//!
//! Law: what is handed out was accepted by the checker.

use super::check::{Refused, check, constants, entry, same_terms};
use super::closure::{Closure, TermId};
use super::pattern::{Pattern, Substitution};
use super::program::{self, First, Terms};
use super::step::Table;
use super::store::{Head, Store};
use super::text::{Digest, Entry, Proof, Rules, Step, Value};
use super::{Context, Refusal};
use oxport_ir::{ExportedProgram, InputKind};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// A node that became a constant.
#[derive(Clone, Debug)]
pub struct Fold {
    /// The node, in the program before.
    pub node: Arc<str>,
    /// The name of the constant.
    pub constant: Arc<str>,
}

/// A step over terms of a store.
enum Made {
    Rule { name: String, before: TermId, after: TermId, with: Substitution },
    Merge { name: String, pairs: Vec<(TermId, TermId)> },
    Fold { term: TermId, constant: Arc<str>, to: TermId },
}

impl Made {
    fn equations(&self) -> Vec<(TermId, TermId)> {
        match self {
            Made::Rule { before, after, .. } => vec![(*before, *after)],
            Made::Merge { pairs, .. } => pairs.clone(),
            Made::Fold { term, to, .. } => vec![(*term, *to)],
        }
    }
    fn terms(&self) -> Vec<TermId> {
        let mut terms: Vec<TermId> = self.equations().into_iter().flat_map(|(a, b)| [a, b]).collect();
        if let Made::Rule { with, .. } = self {
            terms.extend(with.values());
        }
        terms
    }
}

/// The most steps times terms for which steps are left out one by one.
const MOST_TRIED: usize = 30_000_000;

/// The proof that `result` is `start`, optimized. `log` has all steps of the search in order, and of `unfolded` the
/// nodes `folds` were computed.
///
/// # Errors
/// The checker does not accept it: the program has something that proofs do not cover.
pub fn prove(
    context: Context<'_>,
    start: &ExportedProgram,
    unfolded: &ExportedProgram,
    result: &ExportedProgram,
    log: &Proof,
    folds: &[Fold],
) -> Result<Proof, Refused> {
    let mut store = Store::new(context.registry, start.env.clone());
    let before = program::first(&mut store, start)?;
    constants(&mut store, result);
    let mut made = steps(&mut store, start, &before, log);
    for (number, step) in (0..).zip(&made) {
        step.equations().into_iter().for_each(|(a, b)| store.unite(a, b, number));
    }
    let first = First::of(start);
    let names = names(start, &before);
    if !folds.is_empty() {
        let middle = program::second(&mut store, &first, unfolded)?;
        for fold in folds {
            let node = unfolded.graph.find(&fold.node).and_then(|id| middle.values.get(&id).copied());
            let constant = store.closure.find_term(&Head::Constant(fold.constant.clone()), &[]);
            if let (Some(term), Some(to)) = (node.map(|term| named(&mut store, &names, term)), constant) {
                store.unite(term, to, made.len() as u32);
                made.push(Made::Fold { term, constant: fold.constant.clone(), to });
            }
        }
    }
    let after = program::second(&mut store, &first, result)?;
    if same_terms(&store, (start, &before), (result, &after)).is_err() {
        identities(&mut store, &context, log.rules, &after, &mut made)?;
    }
    let goals = |before: &Terms, after: &Terms| -> Vec<(TermId, TermId)> {
        let pairs = before.outputs.iter().zip(&after.outputs).chain(before.effects.iter().zip(&after.effects));
        pairs.map(|(a, b)| (*a, *b)).collect()
    };
    let goals = goals(&before, &after);
    let needed = leave_out(&store, &made, &goals, store.closure.explain(goals.iter().copied()));
    let writer = Writer { store: &store, names: &names, start, result, log };
    let cut = writer.proof(&made, &needed)?;
    match check(context, start, result, &cut) {
        Ok(_) => Ok(cut),
        // A condition may ask for more than equality: what is certain or finite by another step.
        Err(refused) if refused.step.is_some() => {
            let all = writer.proof(&made, &(0..made.len() as u32).collect())?;
            check(context, start, result, &all).map(|_| all).map_err(|_| refused)
        }
        Err(refused) => Err(refused),
    }
}

/// The steps of a log, over terms; those over what cannot be typed are left out.
fn steps(store: &mut Store<'_>, start: &ExportedProgram, before: &Terms, log: &Proof) -> Vec<Made> {
    let mut terms: Vec<Option<TermId>> = Vec::with_capacity(log.terms.len());
    for e in &log.terms {
        let at = |i: u32| terms.get(i as usize).copied().flatten();
        let id = entry(store, start, before, &at, e).ok();
        terms.push(id);
    }
    let at = |i: &u32| terms.get(*i as usize).copied().flatten();
    let made = |step: &Step| {
        Some(match step {
            Step::Rule { name, before, after, with } => {
                let with = with.iter().map(|(v, i)| Some((v.clone(), at(i)?))).collect::<Option<_>>()?;
                Made::Rule { name: name.clone(), before: at(before)?, after: at(after)?, with }
            }
            Step::Merge { name, pairs } => {
                let pairs = pairs.iter().map(|(a, b)| Some((at(a)?, at(b)?))).collect::<Option<_>>()?;
                Made::Merge { name: name.clone(), pairs }
            }
            Step::Fold { .. } => return None,
        })
    };
    log.steps.iter().filter_map(made).collect()
}

/// Shows of calls of the second program that they give back an operand, by the rules that say so.
fn identities(
    store: &mut Store<'_>,
    context: &Context<'_>,
    rules: Rules,
    after: &Terms,
    made: &mut Vec<Made>,
) -> Result<(), Refusal> {
    let table = Table::new(context.further)?;
    let mut calls: Vec<TermId> = after.values.values().copied().collect();
    calls.sort_unstable();
    calls.dedup();
    for call in calls {
        let mut found: Vec<(&str, Substitution, TermId)> = Vec::new();
        for (rule, left, name) in table.identities() {
            let Some(with) = bind(store, left, call) else { continue };
            if let Some(&operand) = with.get(name) {
                found.push((rule.name, with, operand));
            }
        }
        found.sort_by_key(|(name, ..)| *name);
        for (name, with, operand) in found {
            let is_new = !store.closure.equal(call, operand);
            if is_new && table.check(store, rules, name, (call, operand), &with).is_ok() {
                store.unite(call, operand, made.len() as u32);
                made.push(Made::Rule { name: name.to_string(), before: call, after: operand, with });
            }
        }
    }
    Ok(())
}

/// What the variables of a pattern of one call stand for in a term.
fn bind(store: &Store<'_>, left: &Pattern, term: TermId) -> Option<Substitution> {
    let Pattern::Call(_, operands) = left else { return None };
    let args = store.closure.term(term).1;
    let mut with = Substitution::new();
    for (operand, &arg) in operands.iter().zip(args) {
        if let Pattern::Var(name) = operand {
            with.insert(name.clone(), arg);
        }
    }
    left.is_instance(store, term, &with, &mut None).then_some(with)
}

/// The steps of a set that suffice for all goals, such that none of them can be left out.
fn leave_out(store: &Store<'_>, made: &[Made], goals: &[(TermId, TermId)], mut needed: BTreeSet<u32>) -> BTreeSet<u32> {
    let roots = needed.iter().filter_map(|&n| made.get(n as usize)).flat_map(Made::terms);
    let roots = roots.chain(goals.iter().flat_map(|&(a, b)| [a, b]));
    let terms = reachable(store, roots, &|_| false);
    if needed.len().saturating_mul(terms.len()) > MOST_TRIED {
        return needed;
    }
    let suffice = |steps: &BTreeSet<u32>| {
        let mut closure: Closure<u32> = Closure::new();
        let mut ids: HashMap<TermId, TermId> = HashMap::with_capacity(terms.len());
        let mut heads: HashMap<&Head, u32> = HashMap::new();
        for &term in &terms {
            let (head, args) = store.closure.term(term);
            let next = heads.len() as u32;
            let head = *heads.entry(head).or_insert(next);
            let args: Vec<TermId> = args.iter().map(|a| ids[a]).collect();
            ids.insert(term, closure.add(head, &args));
        }
        for (a, b) in steps.iter().filter_map(|&n| made.get(n as usize)).flat_map(Made::equations) {
            closure.unite(ids[&a], ids[&b], 0);
        }
        goals.iter().all(|(a, b)| closure.equal(ids[a], ids[b]))
    };
    if !suffice(&needed) {
        return needed;
    }
    for step in needed.clone() {
        needed.remove(&step);
        if !suffice(&needed) {
            needed.insert(step);
        }
    }
    needed
}

/// Terms and those that they are made of, each after its arguments; what `is_leaf` says is not looked into.
fn reachable(
    store: &Store<'_>,
    roots: impl Iterator<Item = TermId>,
    is_leaf: &dyn Fn(TermId) -> bool,
) -> BTreeSet<TermId> {
    let (mut open, mut reached): (Vec<TermId>, BTreeSet<TermId>) = (roots.collect(), BTreeSet::new());
    while let Some(id) = open.pop() {
        if reached.insert(id) && !is_leaf(id) {
            open.extend(store.closure.term(id).1);
        }
    }
    reached
}

/// The first node of the first program that has a term as its value.
fn names(start: &ExportedProgram, before: &Terms) -> HashMap<TermId, Arc<str>> {
    let mut names = HashMap::new();
    for (id, node) in start.graph.nodes() {
        if let Some(&term) = before.values.get(&id) {
            names.entry(term).or_insert_with(|| node.name.clone());
        }
    }
    names
}

/// An equal term, in which calls that no rule knows are nodes of the first program, where they are equal to such.
fn named(store: &mut Store<'_>, names: &HashMap<TermId, Arc<str>>, term: TermId) -> TermId {
    let mut equal: HashMap<TermId, TermId> = HashMap::new();
    let is_leaf = |id: TermId| names.contains_key(&id);
    for id in reachable(store, std::iter::once(term), &is_leaf) {
        let (head, args) = store.closure.term(id);
        let (head, old) = (head.clone(), args.to_vec());
        let args: Vec<TermId> = old.iter().map(|a| equal.get(a).copied().unwrap_or(*a)).collect();
        let new = match &head {
            _ if is_leaf(id) => id,
            Head::Call(op) if op.starts_with('!') => {
                store.closure.members(id).iter().copied().filter(|&m| is_leaf(m)).min().unwrap_or(id)
            }
            _ if args == old => id,
            Head::Call(op) => store.call(op, &args).unwrap_or(id),
            Head::List => store.list(&args).unwrap_or(id),
            _ => id,
        };
        equal.insert(id, new);
    }
    equal.get(&term).copied().unwrap_or(term)
}

/// Writes steps as a proof.
struct Writer<'a, 'r> {
    store: &'a Store<'r>,
    names: &'a HashMap<TermId, Arc<str>>,
    start: &'a ExportedProgram,
    result: &'a ExportedProgram,
    log: &'a Proof,
}

impl Writer<'_, '_> {
    fn proof(&self, made: &[Made], steps: &BTreeSet<u32>) -> Result<Proof, Refusal> {
        let chosen: Vec<&Made> = steps.iter().filter_map(|&n| made.get(n as usize)).collect();
        let is_leaf = |id: TermId| self.names.contains_key(&id);
        let terms = reachable(self.store, chosen.iter().flat_map(|m| m.terms()), &is_leaf);
        let index: HashMap<TermId, u32> = terms.iter().copied().zip(0..).collect();
        let at = |id: &TermId| index[id];
        let entries = terms.iter().map(|&id| self.entry(id, &at)).collect::<Result<_, _>>()?;
        let steps = chosen.iter().map(|m| self.step(m, &at)).collect::<Result<_, _>>()?;
        let computed = chosen.iter().filter_map(|m| if let Made::Fold { term, .. } = m { Some(*term) } else { None });
        let read = reachable(self.store, computed, &|_| false);
        let frozen = read.into_iter().any(|id| self.is_weight(id));
        Ok(Proof { frozen, terms: entries, steps, ..self.log.clone() })
    }

    /// True for a parameter or a buffer.
    fn is_weight(&self, id: TermId) -> bool {
        let (Head::Input(name), _) = self.store.closure.term(id) else { return false };
        let mut inputs = self.start.graph.placeholders().zip(&self.start.signature.inputs);
        let found = inputs.find(|((_, node), _)| node.name == *name);
        found.is_some_and(|(_, spec)| !matches!(spec.kind, InputKind::TensorConstant(_)))
    }

    fn entry(&self, id: TermId, at: &dyn Fn(&TermId) -> u32) -> Result<Entry, Refusal> {
        if let Some(name) = self.names.get(&id) {
            return Ok(Entry::Node(name.to_string()));
        }
        let (head, args) = self.store.closure.term(id);
        let args = || args.iter().map(at).collect::<Vec<u32>>();
        match head {
            Head::Call(op) if !op.starts_with('!') => Ok(Entry::Call(op.to_string(), args())),
            Head::List => Ok(Entry::List(args())),
            Head::Const(c) => Ok(Entry::Value(Value::of(c))),
            Head::Storage => Ok(Entry::Storage(args()[0])),
            Head::Constant(name) => Ok(Entry::Constant(name.to_string())),
            Head::Call(_) | Head::Input(_) | Head::Bound(..) => Err("a step is about a part of a call".to_string()),
        }
    }

    fn step(&self, made: &Made, at: &dyn Fn(&TermId) -> u32) -> Result<Step, Refusal> {
        Ok(match made {
            Made::Rule { name, before, after, with } => {
                let with: BTreeMap<String, u32> = with.iter().map(|(v, id)| (v.clone(), at(id))).collect();
                Step::Rule { name: name.clone(), before: at(before), after: at(after), with }
            }
            Made::Merge { name, pairs } => {
                let pairs = pairs.iter().map(|(a, b)| (at(a), at(b))).collect();
                Step::Merge { name: name.clone(), pairs }
            }
            Made::Fold { term, constant, .. } => {
                let state = self.result.lifted(&InputKind::TensorConstant(constant.clone()));
                let tensor = state.and_then(|s| Digest::of(&s.tensor));
                let tensor = tensor.ok_or_else(|| format!("the constant `{constant}` cannot be read"))?;
                Step::Fold { term: at(term), constant: constant.to_string(), tensor }
            }
        })
    }
}
