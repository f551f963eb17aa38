//! The checker: whether a proof shows that two programs are equal.

use super::closure::TermId;
use super::fold::Folding;
use super::program::{self, First, Terms};
use super::step::Table;
use super::store::{Head, MAX_TERMS, Store};
use super::text::{Entry, FORMAT, Proof, Rules, Step};
use super::{Context, Refusal, alias, merge, recurrent};
use crate::kind::Kind;
use crate::rules::recurrent::LAYERS;
use oxport_ir::{ExportedProgram, InputKind, OutputKind};
use std::fmt;

/// What a proof that was accepted shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// How equal the programs are.
    pub rules: Rules,
    /// Whether they are equal for these weights only.
    pub frozen: bool,
    /// Steps that apply a rule, merged products included.
    pub rewrites: usize,
    /// Terms that were computed.
    pub folds: usize,
    /// Terms that the steps are about.
    pub terms: usize,
    /// Outputs that are equal.
    pub outputs: usize,
    /// Calls with effects that are equal.
    pub effects: usize,
}

/// Why a proof is not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The step that is not right, if one is.
    pub step: Option<usize>,
    /// What is wrong.
    pub reason: String,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.step {
            Some(step) => write!(f, "step {step}: {}", self.reason),
            None => f.write_str(&self.reason),
        }
    }
}

impl std::error::Error for Refused {}

impl From<Refusal> for Refused {
    fn from(reason: Refusal) -> Refused {
        Refused { step: None, reason }
    }
}

/// Checks that a proof shows that two programs are equal: outputs, mutations and effects in order, and which results
/// share a storage. `start` is what [`Proof::start`] makes of the first program; both are valid.
///
/// # Errors
/// It does not, or it is too large to check.
pub fn check(
    context: Context<'_>,
    start: &ExportedProgram,
    result: &ExportedProgram,
    proof: &Proof,
) -> Result<Checked, Refused> {
    if proof.format != FORMAT {
        return Err(Refusal::from("not a proof of this version").into());
    }
    same_interface(start, result)?;
    alias::same_writes(start, result)?;
    let mut store = Store::new(context.registry, start.env.clone());
    let before = program::first(&mut store, start)?;
    let terms = entries(&mut store, start, &before, result, &proof.terms)?;
    let table = Table::new(context.further)?;
    let (rules, frozen) = (proof.rules, proof.frozen);
    let folding = Folding { start, before: &before, result, evaluate: context.evaluate, rules, frozen };
    let (mut rewrites, mut folds) = (0, 0);
    for (number, step) in proof.steps.iter().enumerate() {
        let at = |reason| Refused { step: Some(number), reason };
        let pairs = equations(&mut store, &table, &folding, &terms, step).map_err(at)?;
        for (a, b) in pairs {
            store.unite(a, b, number as u32);
        }
        match step {
            Step::Fold { .. } => folds += 1,
            _ => rewrites += 1,
        }
    }
    let after = program::second(&mut store, &First::of(start), result)?;
    same_terms(&store, (start, &before), (result, &after))?;
    Ok(Checked {
        rules: proof.rules,
        frozen: proof.frozen,
        rewrites,
        folds,
        terms: proof.terms.len(),
        outputs: before.outputs.len(),
        effects: before.effects.len(),
    })
}

/// What a step makes equal, if it is right.
fn equations(
    store: &mut Store<'_>,
    table: &Table<'_>,
    folding: &Folding<'_>,
    terms: &[TermId],
    step: &Step,
) -> Result<Vec<(TermId, TermId)>, Refusal> {
    let term = |i: &u32| terms.get(*i as usize).copied().ok_or_else(|| format!("there is no term {i}"));
    match step {
        Step::Rule { name, before, after, with } => {
            let (before, after) = (term(before)?, term(after)?);
            let with = with.iter().map(|(v, i)| Ok((v.clone(), term(i)?))).collect::<Result<_, Refusal>>()?;
            table.check(store, folding.rules, name, (before, after), &with).map_err(|e| format!("{name}: {e}"))?;
            Ok(vec![(before, after)])
        }
        Step::Merge { name, pairs } => {
            if folding.rules == Rules::Exact {
                return Err(format!("{name}: it rounds, and the proof is of equal bits"));
            }
            let pairs: Vec<(TermId, TermId)> =
                pairs.iter().map(|(a, b)| Ok((term(a)?, term(b)?))).collect::<Result<_, Refusal>>()?;
            let of_layer = LAYERS.iter().find(|layer| layer.rules().any(|rule| rule == name));
            let checked = match of_layer {
                Some(layer) => recurrent::check(store, layer, name, &pairs),
                None => merge::check(store, name, &pairs),
            };
            checked.map_err(|e| format!("{name}: {e}"))?;
            Ok(pairs)
        }
        Step::Fold { term: of, constant, tensor } => {
            let of = term(of)?;
            folding.check(store, of, constant, tensor)?;
            let constant = store.closure.find_term(&Head::Constant(constant.as_str().into()), &[]);
            Ok(constant.map(|c| vec![(of, c)]).unwrap_or_default())
        }
    }
}

/// The terms of a table.
fn entries(
    store: &mut Store<'_>,
    start: &ExportedProgram,
    before: &Terms,
    result: &ExportedProgram,
    entries: &[Entry],
) -> Result<Vec<TermId>, Refusal> {
    constants(store, result);
    if entries.len() > MAX_TERMS {
        return Err("the proof is too large to check".to_string());
    }
    let mut terms: Vec<TermId> = Vec::with_capacity(entries.len());
    for (number, entry) in entries.iter().enumerate() {
        let at = |i: u32| terms.get(i as usize).copied();
        let id = self::entry(store, start, before, &at, entry).map_err(|e| format!("term {number}: {e}"))?;
        terms.push(id);
    }
    Ok(terms)
}

/// Adds the tensor constants of the second program.
pub(crate) fn constants(store: &mut Store<'_>, result: &ExportedProgram) {
    for ((_, node), spec) in result.graph.placeholders().zip(&result.signature.inputs) {
        if let InputKind::TensorConstant(name) = &spec.kind {
            let kind = node.val().map_or(Kind::Unknown, Kind::recorded);
            store.known(Head::Constant(name.clone()), &[], kind, true);
        }
    }
}

/// The term of an entry; `at` gives those of earlier ones.
///
/// # Errors
/// It is ill-typed, is over later ones, or names what there is not.
pub(crate) fn entry(
    store: &mut Store<'_>,
    start: &ExportedProgram,
    before: &Terms,
    at: &dyn Fn(u32) -> Option<TermId>,
    entry: &Entry,
) -> Result<TermId, Refusal> {
    let term = |i: &u32| at(*i).ok_or_else(|| format!("there is no term {i} before it"));
    let all = |of: &[u32]| of.iter().map(term).collect::<Result<Vec<TermId>, Refusal>>();
    match entry {
        Entry::Call(op, args) => {
            let args = all(args)?;
            store.call(op, &args)
        }
        Entry::List(items) => {
            let items = all(items)?;
            store.list(&items)
        }
        Entry::Storage(of) => {
            let of = term(of)?;
            Ok(store.storage(of))
        }
        Entry::Value(value) => {
            let constant = value.constant().ok_or("there is no such constant")?;
            Ok(store.constant(constant))
        }
        Entry::Node(name) => {
            let found = start.graph.find(name).and_then(|id| before.values.get(&id).copied());
            found.ok_or_else(|| format!("the first program has no value `{name}`"))
        }
        Entry::Constant(name) => {
            let found = store.closure.find_term(&Head::Constant(name.as_str().into()), &[]);
            found.ok_or_else(|| format!("the second program has no constant `{name}`"))
        }
    }
}

/// An error unless outputs, effects and storages of two programs are equal.
pub(crate) fn same_terms(
    store: &Store<'_>,
    (start, before): (&ExportedProgram, &Terms),
    (result, after): (&ExportedProgram, &Terms),
) -> Result<(), Refusal> {
    let equal = |(a, b): (&TermId, &TermId)| store.closure.equal(*a, *b);
    if before.effects.len() != after.effects.len() {
        return Err("the programs draw, assert or write another number of times".to_string());
    }
    if let Some(i) = before.effects.iter().zip(&after.effects).position(|pair| !equal(pair)) {
        let name = before.effect_nodes.get(i).map_or("", |&id| &start.graph.node(id).name);
        return Err(format!("the call `{name}` with an effect is another one"));
    }
    if before.outputs.len() != after.outputs.len() {
        return Err("the programs have another number of outputs".to_string());
    }
    if let Some(i) = before.outputs.iter().zip(&after.outputs).position(|pair| !equal(pair)) {
        return Err(format!("output {i} is not shown to be equal"));
    }
    let (a, b) = (alias::of(store, &start.graph, before), alias::of(store, &result.graph, after));
    match a.iter().zip(&b).position(|(a, b)| a != b) {
        None if a.len() == b.len() => Ok(()),
        None => Err("other results share storages".to_string()),
        Some(i) => Err(format!("result {i} may share its storage with others than before")),
    }
}

/// An error unless callers see the same inputs, outputs and requirements.
fn same_interface(start: &ExportedProgram, result: &ExportedProgram) -> Result<(), Refusal> {
    let outputs = |p: &ExportedProgram| p.signature.outputs.iter().map(|s| s.kind.clone()).collect::<Vec<OutputKind>>();
    if outputs(start) != outputs(result) {
        return Err("the outputs mean other things".to_string());
    }
    let users = |p: &ExportedProgram| {
        let user = p.signature.inputs.iter().filter(|s| s.kind.lifted().is_none());
        user.map(|s| s.kind.clone()).collect::<Vec<InputKind>>()
    };
    if users(start) != users(result) {
        return Err("the inputs mean other things".to_string());
    }
    // A text does not say how it is called, and the archive of its program does.
    let specs = |p: &ExportedProgram| {
        let call = p.call_signature().cloned().unwrap_or_else(|| p.flat_call());
        (call.in_spec, call.out_spec)
    };
    if specs(start) != specs(result) {
        return Err("the programs are called in another way".to_string());
    }
    // A program with narrower ranges or more guards refuses calls that the other one takes.
    let ranges = |p: &ExportedProgram| {
        let mut ranges: Vec<String> = p.ranges.iter().map(|(e, r)| format!("{e}: {:?} {:?}", r.min, r.max)).collect();
        ranges.sort();
        ranges
    };
    if ranges(start) != ranges(result) || start.guards != result.guards {
        return Err("the programs take other sizes".to_string());
    }
    Ok(())
}
