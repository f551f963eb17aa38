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
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
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
    /// What a side has beside what its variables stand for.
    fn parts(&self, store: &Store<'_>, is_before: bool) -> impl Iterator<Item = TermId> {
        let sides = self.equations().into_iter().map(move |(a, b)| if is_before { a } else { b });
        let variables: HashSet<TermId> = match self {
            Made::Rule { with, .. } => with.values().copied().collect(),
            Made::Merge { .. } | Made::Fold { .. } => HashSet::new(),
        };
        let parts = reachable(store, sides, &|id| variables.contains(&id));
        parts.into_iter().filter(move |part| !variables.contains(part))
    }
    fn terms(&self) -> Vec<TermId> {
        let mut terms: Vec<TermId> = self.equations().into_iter().flat_map(|(a, b)| [a, b]).collect();
        if let Made::Rule { with, .. } = self {
            terms.extend(with.values());
        }
        terms
    }
}

/// An optimization whose steps are asked for.
#[derive(Clone, Copy)]
pub struct Optimization<'a> {
    /// The program before.
    pub start: &'a ExportedProgram,
    /// The result before its constants were computed.
    pub unfolded: &'a ExportedProgram,
    /// The result.
    pub result: &'a ExportedProgram,
    /// All steps of the search, in order.
    pub log: &'a Proof,
    /// The nodes of `unfolded` that were computed.
    pub folds: &'a [Fold],
}

/// The proof that the result is the program before, optimized.
///
/// # Errors
/// The checker does not accept it: the program has something that proofs do not cover.
pub fn prove(context: Context<'_>, done: Optimization<'_>) -> Result<Proof, Refused> {
    let closed = Closed::new(context, done)?;
    let (store, made) = (&closed.store, &closed.made);
    let needed = leave_out(store, made, &closed.goals, store.closure.explain(closed.goals.iter().copied()));
    let writer = closed.writer();
    let cut = writer.proof(made, &needed)?;
    match check(context, done.start, done.result, &cut) {
        Ok(_) => Ok(cut),
        // A condition may ask for more than equality: what is certain or finite by another step.
        Err(refused) if refused.step.is_some() => {
            let all = writer.proof(made, &(0..made.len() as u32).collect())?;
            check(context, done.start, done.result, &all).map(|_| all).map_err(|_| refused)
        }
        Err(refused) => Err(refused),
    }
}

/// The steps of one value, of the result or of the program before, as those of a proof: from what it was to what it is.
/// What its operands went through is theirs, where they are values of the result. If it is in one of the programs only,
/// the steps whose right side made it, or whose left side it is in. `None` if no program has such a node.
///
/// # Errors
/// The program has something that proofs do not cover.
pub fn steps_of(context: Context<'_>, done: Optimization<'_>, node: &str) -> Result<Option<Proof>, Refused> {
    let closed = Closed::new(context, done)?;
    let value = |p: &ExportedProgram, terms: &Terms| p.graph.find(node).and_then(|id| terms.values.get(&id).copied());
    let (old, new) = (value(done.start, &closed.before), value(done.result, &closed.after));
    let Some(term) = new.or(old) else { return Ok(None) };
    let closure = &closed.store.closure;
    let equal = |terms: &Terms| terms.values.values().copied().filter(|&other| closure.equal(term, other)).min();
    let is_there = |side: Option<TermId>| side.filter(|&side| closure.equal(side, term));
    let (was, is) = (is_there(old).or_else(|| equal(&closed.before)), is_there(new).or_else(|| equal(&closed.after)));
    let steps = match was.zip(is) {
        Some(pair) => {
            let values: HashSet<TermId> = closed.after.values.values().map(|&value| closure.find(value)).collect();
            closure.explain_until([pair], &|class| values.contains(&class))
        }
        None => {
            let is_about = |number: &u32| {
                let step = closed.made.get(*number as usize);
                step.is_some_and(|step| step.parts(&closed.store, was.is_some()).any(|part| closure.equal(part, term)))
            };
            closure.explain(closed.goals.iter().copied()).into_iter().filter(is_about).collect()
        }
    };
    Ok(Some(closed.writer().proof(&closed.made, &steps)?))
}

/// All equations of an optimization, united, over terms of both programs.
struct Closed<'a> {
    store: Store<'a>,
    done: Optimization<'a>,
    names: HashMap<TermId, Arc<str>>,
    made: Vec<Made>,
    before: Terms,
    after: Terms,
    /// Outputs and effects of both programs.
    goals: Vec<(TermId, TermId)>,
}

impl<'a> Closed<'a> {
    fn new(context: Context<'a>, done: Optimization<'a>) -> Result<Closed<'a>, Refused> {
        let Optimization { start, unfolded, result, log, folds } = done;
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
        let pairs = before.outputs.iter().zip(&after.outputs).chain(before.effects.iter().zip(&after.effects));
        let goals = pairs.map(|(a, b)| (*a, *b)).collect();
        Ok(Closed { store, done, names, made, before, after, goals })
    }

    fn writer(&self) -> Writer<'_, 'a> {
        let Optimization { start, result, log, .. } = self.done;
        Writer { store: &self.store, names: &self.names, start, result, log }
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

/// The steps of a set that suffice for all goals, such that none of them can be left out; earlier ones are left out
/// first.
fn leave_out(store: &Store<'_>, made: &[Made], goals: &[(TermId, TermId)], needed: BTreeSet<u32>) -> BTreeSet<u32> {
    let steps: Vec<Numbered> = needed.iter().filter_map(|&n| Some((n, made.get(n as usize)?.equations()))).collect();
    let pairs = steps.iter().flat_map(|(_, equations)| equations).chain(goals);
    let terms = reachable(store, pairs.flat_map(|&(a, b)| [a, b]), &|_| false);
    let mut closure: Closure<&Head> = Closure::new();
    let mut ids: HashMap<TermId, TermId> = HashMap::with_capacity(terms.len());
    for &term in &terms {
        let (head, args) = store.closure.term(term);
        let args: Vec<TermId> = args.iter().map(|a| ids[a]).collect();
        ids.insert(term, closure.add(head, &args));
    }
    closure.keep_trail();
    let renamed = |pairs: &[(TermId, TermId)]| pairs.iter().map(|(a, b)| (ids[a], ids[b])).collect::<Vec<_>>();
    let steps: Vec<Numbered> = steps.iter().map(|(n, pairs)| (*n, renamed(pairs))).collect();
    let mut cut = Cut { closure, goals: renamed(goals), kept: BTreeSet::new(), work: 0 };
    let start = cut.closure.changes();
    cut.add(&steps);
    if !cut.suffices() {
        return needed;
    }
    cut.closure.undo(start);
    cut.keep(&steps);
    cut.kept
}

/// A step by its number, and what it makes equal.
type Numbered = (u32, Vec<(TermId, TermId)>);

/// A set of steps while it is cut down: what is in the closure counts as there.
struct Cut<'a> {
    closure: Closure<&'a Head>,
    goals: Vec<(TermId, TermId)>,
    kept: BTreeSet<u32>,
    /// How much was changed in the closure.
    work: usize,
}

/// How much may be changed in a closure to find what can be left out: each step that is added to those before it may
/// make all behind it equal once more.
const MOST_WORK: usize = 1_000_000;

impl Cut<'_> {
    fn suffices(&self) -> bool {
        self.goals.iter().all(|&(a, b)| self.closure.equal(a, b))
    }

    fn add(&mut self, steps: &[Numbered]) {
        let before = self.closure.changes();
        steps.iter().flat_map(|(_, pairs)| pairs).for_each(|&(a, b)| drop(self.closure.unite(a, b, 0)));
        self.work += self.closure.changes() - before;
    }

    /// Keeps of some steps, which suffice with what is there, those that are needed beside it; these are there then.
    /// (QuickXplain: halves are left out as a whole where they can be, and each step is added as often as there are
    /// halvings, not once for each other step.) Where that is too much work, all are kept.
    fn keep(&mut self, steps: &[Numbered]) {
        if self.suffices() {
            return;
        }
        if steps.len() == 1 || self.work > MOST_WORK {
            self.kept.extend(steps.iter().map(|(number, _)| number));
            return self.add(steps);
        }
        let (first, second) = steps.split_at(steps.len() / 2);
        let start = self.closure.changes();
        self.add(second);
        self.keep(first);
        self.closure.undo(start);
        let is_kept = |(number, _): &&Numbered| self.kept.contains(number);
        let kept: Vec<Numbered> = first.iter().filter(is_kept).cloned().collect();
        self.add(&kept);
        self.keep(second);
    }
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
