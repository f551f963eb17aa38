//! Equality saturation over the ATen graph.
//!
//! ```text
//! program ─ingest→ e-graph ─rules→ e-graph ─extract→ choice ─emit→ program
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`term`] | the language: one term type for every operator |
//! | [`typing`] | the class analysis: the operators' own meta functions |
//! | [`rule`], [`forms`], `pattern`, [`condition`], [`rules`] | rules as data |
//! | [`rules::merge`] | rules over several terms at once: products over a shared input |
//! | `search`, `memory` | the phases, and what rules matched before |
//! | `blocks` | repeated blocks, of which one is searched |
//! | [`cost`] | what a term costs |
//! | [`choice`] | which terms are taken |
//! | [`proof`] | what shows that the result is equal, and its checker |
//! | `why_not` | why a rule did nothing at a value |
//! | `dump` | the e-graph for other tools |
//!
//! Laws: rules are bitwise unless the user allows rounding; only pure nodes are rewritten; names, stack traces, metas
//! and signature stay where a value stays; the result is never dearer than what was given, by the model; the same
//! program gives the same result, whatever the machine, unless a time limit is asked for.

mod applied;
mod applier;
mod blocks;
mod children;
pub mod choice;
mod compute;
pub mod condition;
mod constant;
pub mod cost;
mod dump;
mod emit;
mod extract;
mod family;
pub mod forms;
pub mod fuel;
mod ingest;
mod interned;
pub mod kind;
mod log;
mod matching;
mod memory;
mod name;
mod pattern;
pub mod proof;
pub mod rule;
pub mod rule_text;
pub mod rules;
mod search;
pub mod term;
pub mod terms;
pub mod typing;
mod why_not;

pub use dump::{ClassData, SerializedGraph, SerializedNode};
pub use search::{Phase, Stop};
pub use why_not::{Answer, Question, Reason};

use cost::Model;
use egg::{Rewrite, Runner};
use extract::{Prefer, extract};
use fuel::Fuel;
use oxport_ir::{ExportedProgram, Registry, Result};
use rule::{Rule, Soundness};
use search::search;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};
use term::Term;
use typing::Typing;

/// How far to go.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Which rules may be used.
    pub soundness: Soundness,
    /// The names of rules that are not used although they may be: see [`rules::names`].
    pub without: BTreeSet<String>,
    /// The most applications of rules, in the order of the search, if there is such a limit.
    pub fuel: Option<usize>,
    /// What is cheap.
    pub model: Model,
    /// Rounds of matching, in each phase.
    pub iterations: usize,
    /// The most e-graph nodes.
    pub nodes: usize,
    /// How much larger the tensors of the program may become, as a part of what they are.
    pub grow: f64,
    /// Whether of equal blocks one is searched, and what the choice needs of that is done to the others; not where
    /// there is fuel, or the e-graph is asked for.
    pub replay: bool,
    /// The longest time of the search, if one is asked for: the result then depends on the machine.
    pub time: Option<Duration>,
    /// What is called in front of each round, with the numbers of e-graph nodes and classes.
    pub progress: Option<fn(usize, usize)>,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            soundness: Soundness::Bitwise,
            without: BTreeSet::new(),
            fuel: None,
            model: Model::default(),
            iterations: 12,
            nodes: 200_000,
            grow: 0.05,
            replay: true,
            time: None,
            progress: None,
        }
    }
}

/// What was done.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Nodes of the graph before.
    pub nodes_before: usize,
    /// Nodes of the graph after.
    pub nodes_after: usize,
    /// The time of a call before, by the cost model, in nanoseconds.
    pub cost_before: f64,
    /// The time of a call after, by the cost model, in nanoseconds.
    pub cost_after: f64,
    /// Parameters and buffers that are no more in the program.
    pub dropped: Vec<String>,
    /// True if weights were to be frozen, and were not, because the program would have grown too much.
    pub is_too_large: bool,
    /// True if folding ran out of time, so that constants are left that another run may compute.
    pub is_folding_cut: bool,
    /// True if no rule had anything left to add.
    pub saturated: bool,
    /// Rounds of matching.
    pub iterations: usize,
    /// Nodes of the same e-graph before the search.
    pub egraph_nodes_before: usize,
    /// Applications of rules that added something, in the search and to copies of blocks; a merge of several products
    /// is one.
    pub applications: usize,
    /// The rule that was applied last.
    pub last_rule: Option<String>,
    /// True if [`Limits::fuel`] kept a rule from adding something.
    pub is_out_of_fuel: bool,
    /// Nodes of the e-graph at the end; where blocks repeat, of the one in which they are one.
    pub egraph_nodes: usize,
    /// Classes of the e-graph at the end.
    pub egraph_classes: usize,
    /// Matches of rules that the search looked at.
    pub searched: usize,
    /// Applications of rules that were replayed in copies of blocks, since the choice needs them, and added something.
    pub replayed: usize,
    /// Time of the search, in milliseconds.
    pub search_ms: f64,
    /// Time of the choice, in milliseconds.
    pub extract_ms: f64,
    /// Time of everything, in milliseconds.
    pub total_ms: f64,
    /// How often each rule added something.
    pub rules: BTreeMap<String, usize>,
    /// The phases of the search, in order.
    pub phases: Vec<Phase>,
    /// Nodes that changed, by name: what they were, and what they are.
    pub changed: Vec<(String, String, String)>,
}

/// What is recorded of a search beside its result.
#[derive(Clone, Debug)]
pub struct Record {
    /// Its terms and steps, in order. They are no proof yet: see [`proof::prove`].
    pub log: proof::Proof,
    /// What is asked when it has ended,
    pub question: Option<Question>,
    /// and the answer, if the question is about a rule and a node that there are.
    pub answer: Option<Answer>,
    /// Whether the e-graph at its end is recorded.
    pub wants_egraph: bool,
    /// The e-graph.
    pub egraph: Option<SerializedGraph>,
}

impl Record {
    /// Of a search of which nothing is asked; the log has no steps yet.
    pub fn new(log: proof::Proof) -> Record {
        Record { log, question: None, answer: None, wants_egraph: false, egraph: None }
    }
}

/// Improves a functional program by [`rules::all`] and further rules, which pass [`Rule::check`].
///
/// # Errors
/// The chosen program cannot be built: a law is broken, and the program given is still good.
pub fn optimize(
    program: &ExportedProgram,
    registry: &Registry,
    further: &[Rule],
    limits: &Limits,
) -> Result<(ExportedProgram, Report)> {
    optimize_logged(program, registry, further, limits, None)
}

/// As [`optimize`]; what was done is recorded.
///
/// # Errors
/// As [`optimize`].
pub fn optimize_logged(
    program: &ExportedProgram,
    registry: &Registry,
    further: &[Rule],
    limits: &Limits,
    record: Option<&mut Record>,
) -> Result<(ExportedProgram, Report)> {
    let start = Instant::now();
    let ms = |start: Instant| start.elapsed().as_secs_f64() * 1e3;
    let mut ingested = ingest::ingest(program, registry, &limits.model);
    let before = extract(program, &ingested, extract::once, &limits.model, Prefer::Own);
    let egraph_nodes_before = ingested.egraph.total_number_of_nodes();
    let mut report = Report { nodes_before: program.graph.len(), egraph_nodes_before, ..Report::default() };
    // Who asks for the e-graph, or counts applications, is answered from a search of all of the program.
    let is_asked = record.as_ref().is_some_and(|record| record.wants_egraph || record.question.is_some());
    let is_once = limits.replay && limits.fuel.is_none() && !is_asked;
    let log = || record.is_some().then(Vec::new);
    ingested.egraph.analysis.log = log();
    let once = is_once.then(|| blocks::optimize(program, &mut ingested, further, limits, &mut report, start));
    let choice = match once {
        Some(Ok(Some(choice))) => Some(choice),
        of_all => {
            if let Some(Err(blocks::Unlike)) = of_all {
                ingested = ingest::ingest(program, registry, &limits.model);
                ingested.egraph.analysis.log = log();
            }
            ingested.egraph.analysis.fuel = Fuel::new(limits.fuel);
            let searching = Instant::now();
            search(&mut ingested.egraph, further, limits, &mut report, start);
            report.search_ms += ms(searching);
            let extraction = Instant::now();
            let choice = extract(program, &ingested, extract::once, &limits.model, Prefer::Cheap);
            report.extract_ms += ms(extraction);
            choice
        }
    };
    let price = |program: &ExportedProgram| {
        let own = extract(
            program,
            &ingest::ingest(program, registry, &limits.model),
            extract::once,
            &limits.model,
            Prefer::Own,
        );
        own.map_or(f64::INFINITY, |own| own.price as f64 / 1e3)
    };
    report.cost_before = before.map_or(f64::INFINITY, |own| own.price as f64 / 1e3);
    let result = choice.as_ref().map(|choice| emit::emit(program, registry, &ingested, choice)).transpose()?;
    let result = result.map(|result| (price(&result), result));
    // What is dearer than it was is not taken.
    let (cost, result, refused) = match result {
        Some((price, result)) if price <= report.cost_before => (price, result, None),
        dearer => (report.cost_before, program.clone(), dearer.map(|(price, _)| (report.cost_before, price))),
    };
    report.cost_after = cost;
    report.nodes_after = result.graph.len();
    report.changed = changes(program, &result);
    if let (Some(record), Some(applied)) = (record, ingested.egraph.analysis.log.take()) {
        log::steps(program, &ingested, &applied, &mut record.log);
        if record.wants_egraph {
            record.egraph = Some(dump::dump(program, &ingested, &limits.model));
        }
        if let (Some(question), Some(choice)) = (&record.question, &choice) {
            let rules = rules::all().copied().chain(further.iter().copied());
            let (phases, applied) = (&report.phases[..], &applied[..]);
            let searched = why_not::Search { program, limits, phases, choice, applied, refused };
            record.answer = why_not::why_not(&searched, &mut ingested, question, rules);
        }
    }
    report.total_ms = ms(start);
    Ok((result, report))
}

/// The program after one rule was applied wherever it fires, preferring what the rule made; `None` if it fires nowhere.
///
/// # Errors
/// As [`optimize`].
pub fn apply<'r>(
    program: &ExportedProgram,
    registry: &'r Registry,
    rule: &Rewrite<Term, Typing<'r>>,
) -> Result<Option<ExportedProgram>> {
    // As rules are tried: what is constant may be anything.
    let model = Model { frozen: true, ..Model::default() };
    let mut ingested = ingest::ingest(program, registry, &model);
    let egraph = std::mem::replace(
        &mut ingested.egraph,
        egg::EGraph::new(Typing::new(registry, program.env.clone(), model.exact_folds)),
    );
    let runner = Runner::<Term, Typing<'_>>::new(Typing::new(registry, program.env.clone(), model.exact_folds))
        .with_egraph(egraph)
        .with_iter_limit(1)
        .run([rule]);
    if runner.iterations.iter().all(|i| i.applied.values().all(|n| *n == 0)) {
        return Ok(None);
    }
    ingested.egraph = runner.egraph;
    match extract(program, &ingested, extract::once, &model, Prefer::New) {
        Some(choice) => emit::emit(program, registry, &ingested, &choice).map(Some),
        None => Ok(None),
    }
}

/// What became of every node of the program.
fn changes(before: &ExportedProgram, after: &ExportedProgram) -> Vec<(String, String, String)> {
    let line = |p: &ExportedProgram, n: &oxport_ir::Node| {
        let args: Vec<String> = n.args.iter().map(|a| oxport_ir::print::argument(&p.graph, a)).collect();
        format!("{}({})", n.op().map_or(String::new(), |op| op.target()), args.join(", "))
    };
    let mut changed = Vec::new();
    for (_, node) in before.graph.nodes().filter(|(_, n)| n.op().is_some()) {
        let now = after.graph.find(&node.name).map(|id| after.graph.node(id));
        let (old, new) = (line(before, node), now.map_or("-".to_string(), |n| line(after, n)));
        if old != new {
            changed.push((node.name.to_string(), old, new));
        }
    }
    for (_, node) in after.graph.nodes().filter(|(_, n)| n.op().is_some()) {
        if before.graph.find(&node.name).is_none() {
            changed.push((node.name.to_string(), "-".to_string(), line(after, node)));
        }
    }
    changed
}
