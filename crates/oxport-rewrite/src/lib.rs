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
//! | [`rule`], [`forms`], [`condition`], [`rules`] | rules as data |
//!
//! Laws: rules are bitwise unless the user allows rounding; only pure nodes are rewritten; names, stack traces, metas
//! and signature stay where a value stays; the same program gives the same result, whatever the machine.

mod compute;
pub mod condition;
mod emit;
mod extract;
pub mod forms;
mod ingest;
pub mod rule;
pub mod rules;
pub mod term;
pub mod typing;

use egg::{BackoffScheduler, Language, Rewrite, Runner, StopReason};
use oxport_ir::{ExportedProgram, Registry, Result};
use rule::Soundness;
use std::collections::{BTreeMap, HashSet};
use std::time::{Duration, Instant};
use term::Term;
use typing::Typing;

/// How far to go.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Which rules may be used.
    pub soundness: Soundness,
    /// Rounds of matching.
    pub iterations: usize,
    /// The most e-graph nodes.
    pub nodes: usize,
    /// The longest time of the search. A search that ends by time depends on the machine; the others do not.
    pub time: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { soundness: Soundness::Bitwise, iterations: 12, nodes: 200_000, time: Duration::from_secs(30) }
    }
}

/// What was done.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Nodes of the graph before.
    pub nodes_before: usize,
    /// Nodes of the graph after.
    pub nodes_after: usize,
    /// Estimated cost before.
    pub cost_before: f64,
    /// Estimated cost after.
    pub cost_after: f64,
    /// True if no rule had anything left to add.
    pub saturated: bool,
    /// Rounds of matching.
    pub iterations: usize,
    /// Nodes of the e-graph at the end.
    pub egraph_nodes: usize,
    /// Classes of the e-graph at the end.
    pub egraph_classes: usize,
    /// Time of the search, in milliseconds.
    pub search_ms: f64,
    /// Time of the choice, in milliseconds.
    pub extract_ms: f64,
    /// Time of everything, in milliseconds.
    pub total_ms: f64,
    /// How often each rule added something.
    pub rules: BTreeMap<String, usize>,
    /// Nodes that changed, by name: what they were, and what they are.
    pub changed: Vec<(String, String, String)>,
}

/// Improves a functional program.
///
/// # Errors
/// The chosen program cannot be built: a law is broken, and the program given is still good.
pub fn optimize(program: &ExportedProgram, registry: &Registry, limits: &Limits) -> Result<(ExportedProgram, Report)> {
    let start = Instant::now();
    let ms = |start: Instant| start.elapsed().as_secs_f64() * 1e3;
    let mut ingested = ingest::ingest(program, registry);
    let own: HashSet<Term> = ingested.term_of.values().cloned().collect();
    let cost_before = own_cost(&ingested);
    let rules: Vec<Rewrite<Term, Typing<'_>>> = rules::of(limits.soundness).map(|r| r.compile(registry)).collect();
    let egraph = std::mem::replace(&mut ingested.egraph, egg::EGraph::new(Typing::new(registry, program.env.clone())));
    let runner = Runner::<Term, Typing<'_>>::new(Typing::new(registry, program.env.clone()))
        .with_egraph(egraph)
        .with_iter_limit(limits.iterations)
        .with_node_limit(limits.nodes)
        .with_time_limit(limits.time)
        .with_scheduler(BackoffScheduler::default().with_initial_match_limit(50_000))
        .run(&rules);
    let search_ms = ms(start);
    let mut report = Report {
        nodes_before: program.graph.len(),
        cost_before,
        saturated: matches!(runner.stop_reason, Some(StopReason::Saturated)),
        iterations: runner.iterations.len(),
        egraph_nodes: runner.egraph.total_number_of_nodes(),
        egraph_classes: runner.egraph.number_of_classes(),
        search_ms,
        ..Report::default()
    };
    for iteration in &runner.iterations {
        for (rule, count) in &iteration.applied {
            *report.rules.entry(rule.to_string()).or_insert(0) += count;
        }
    }
    ingested.egraph = runner.egraph;
    let extraction = Instant::now();
    let canonical: HashSet<Term> = own.iter().map(|t| t.clone().map_children(|k| ingested.egraph.find(k))).collect();
    let choice = extract::extract(&ingested.egraph, &canonical);
    report.extract_ms = ms(extraction);
    let result = emit::emit(program, registry, &ingested, &choice)?;
    report.nodes_after = result.graph.len();
    report.cost_after = own_cost(&ingest::ingest(&result, registry));
    report.changed = changes(program, &result);
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
    let mut ingested = ingest::ingest(program, registry);
    let egraph = std::mem::replace(&mut ingested.egraph, egg::EGraph::new(Typing::new(registry, program.env.clone())));
    let runner = Runner::<Term, Typing<'_>>::new(Typing::new(registry, program.env.clone()))
        .with_egraph(egraph)
        .with_iter_limit(1)
        .run([rule]);
    if runner.iterations.iter().all(|i| i.applied.values().all(|n| *n == 0)) {
        return Ok(None);
    }
    ingested.egraph = runner.egraph;
    let own: HashSet<Term> =
        ingested.term_of.values().map(|t| t.clone().map_children(|k| ingested.egraph.find(k))).collect();
    let choice = extract::extract_preferring_new(&ingested.egraph, &own);
    emit::emit(program, registry, &ingested, &choice).map(Some)
}

/// The cost of the program's own terms.
fn own_cost(ingested: &ingest::Ingested<'_>) -> f64 {
    let mut seen = HashSet::new();
    let terms = ingested.term_of.iter().filter(|(id, _)| seen.insert(ingested.class_of[id]));
    let mut costs: Vec<f64> =
        terms.map(|(id, t)| extract::local_cost(&ingested.egraph, t, ingested.class_of[id])).collect();
    // Summed in a fixed order: the same program has the same cost.
    costs.sort_by(f64::total_cmp);
    costs.iter().sum()
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
