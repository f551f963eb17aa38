//! The phases of the search: what holds to the bit; what rounds; products merged, once, and what comes of that.

use crate::blocks::Blocks;
use crate::rule::{Rule, Soundness};
use crate::rules;
use crate::term::Term;
use crate::typing::{Graph, Typing};
use crate::{Limits, Report};
use egg::{BackoffScheduler, Rewrite, Runner, StopReason};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// A phase of a search.
#[derive(Clone, Debug)]
pub struct Phase {
    /// What it is for: `clean`, `recognize` or `merge`.
    pub name: &'static str,
    /// Rounds of matching.
    pub rounds: usize,
    /// How often each rule added something.
    pub rules: BTreeMap<String, usize>,
    /// How often rules were replayed in repeated blocks, and added something.
    pub replayed: usize,
    /// Nodes of the e-graph at its end.
    pub nodes: usize,
    /// Classes of the e-graph at its end.
    pub classes: usize,
    /// Why it ended.
    pub stop: Stop,
    /// Its time, in milliseconds.
    pub ms: f64,
}

/// Why a phase ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// No rule had anything left to add.
    Saturated,
    /// [`Limits::fuel`] was used up.
    Fuel,
    /// [`Limits::iterations`] were over.
    Rounds,
    /// The e-graph had more than [`Limits::nodes`].
    Nodes,
    /// [`Limits::time`] was over.
    Time,
}

impl Stop {
    /// What ended: `saturated`, `out of fuel`, ….
    pub fn name(self) -> &'static str {
        match self {
            Stop::Saturated => "saturated",
            Stop::Fuel => "out of fuel",
            Stop::Rounds => "at the limit of rounds",
            Stop::Nodes => "at the limit of nodes",
            Stop::Time => "at the limit of time",
        }
    }

    fn of(reason: Option<&StopReason>) -> Stop {
        match reason {
            Some(StopReason::Saturated) => Stop::Saturated,
            Some(StopReason::NodeLimit(_)) => Stop::Nodes,
            Some(StopReason::TimeLimit(_)) => Stop::Time,
            Some(StopReason::IterationLimit(_) | StopReason::Other(_)) | None => Stop::Rounds,
        }
    }
}

impl Phase {
    fn new(name: &'static str) -> Phase {
        let (rules, stop) = (BTreeMap::new(), Stop::Rounds);
        Phase { name, rounds: 0, rules, replayed: 0, nodes: 0, classes: 0, stop, ms: 0.0 }
    }

    fn count(&mut self, rule: &str, count: usize) {
        if count > 0 {
            *self.rules.entry(rule.to_string()).or_insert(0) += count;
        }
    }

    fn ended(self, egraph: &Graph<'_>, begin: Instant) -> Phase {
        let (nodes, classes) = (egraph.total_number_of_nodes(), egraph.number_of_classes());
        Phase { nodes, classes, ms: begin.elapsed().as_secs_f64() * 1e3, ..self }
    }
}

/// What all phases of a search have in common.
struct Search<'a> {
    blocks: &'a Rc<RefCell<Option<Blocks>>>,
    further: &'a [Rule],
    limits: &'a Limits,
    start: Instant,
}

/// No limit of time.
const FOREVER: Duration = Duration::from_secs(1 << 32);

impl Search<'_> {
    /// Applies the rules of a level until nothing is left to add, or a limit is met.
    fn phase<'r>(
        &self,
        name: &'static str,
        mut egraph: Graph<'r>,
        soundness: Soundness,
        phases: &mut Vec<Phase>,
    ) -> Graph<'r> {
        let (limits, begin) = (self.limits, Instant::now());
        let registry = egraph.analysis.types.registry;
        let is_used = |rule: &Rule| rule.allowed(soundness) && !limits.without.contains(rule.name);
        let rules: Vec<Rewrite<Term, Typing<'_>>> = rules::all()
            .copied()
            .chain(self.further.iter().copied())
            .filter(is_used)
            .map(|rule| rule.compile(registry))
            .collect();
        let mut phase = Phase::new(name);
        loop {
            let (shared, nodes, progress) = (self.blocks.clone(), limits.nodes, limits.progress);
            let time = limits.time.map_or(FOREVER, |time| time.saturating_sub(self.start.elapsed()));
            let typing = Typing::new(registry, egraph.analysis.types.env.clone(), limits.model.exact_folds);
            let runner = Runner::<Term, Typing<'_>>::new(typing)
                .with_egraph(egraph)
                .with_hook(move |runner| {
                    shared.borrow_mut().iter_mut().for_each(|blocks| blocks.replay(&mut runner.egraph, nodes));
                    if let Some(progress) = progress {
                        progress(runner.egraph.total_number_of_nodes(), runner.egraph.number_of_classes());
                    }
                    Ok(())
                })
                .with_iter_limit(limits.iterations)
                .with_node_limit(nodes)
                .with_time_limit(time)
                .with_scheduler(BackoffScheduler::default().with_initial_match_limit(50_000))
                .run(&rules);
            phase.stop = Stop::of(runner.stop_reason.as_ref());
            phase.rounds += runner.iterations.len();
            for (rule, count) in runner.iterations.iter().flat_map(|i| &i.applied) {
                phase.count(rule.as_str(), *count);
            }
            egraph = runner.egraph;
            let mut blocks = self.blocks.borrow_mut();
            let Some(blocks) = blocks.as_mut() else { break };
            blocks.replay(&mut egraph, nodes);
            for (rule, count) in std::mem::take(&mut blocks.replayed) {
                phase.count(rule, count);
                phase.replayed += count;
            }
            // Copies that have not become what the block has become are searched now.
            if !blocks.compare(&mut egraph) || phase.stop != Stop::Saturated {
                break;
            }
        }
        // Where the fuel ends, a round adds nothing.
        if egraph.analysis.fuel.is_out() {
            phase.stop = Stop::Fuel;
        }
        phases.push(phase.ended(&egraph, begin));
        egraph
    }
}

/// Searches; the report gets what was done.
pub(crate) fn search<'r>(
    mut egraph: Graph<'r>,
    blocks: &Rc<RefCell<Option<Blocks>>>,
    further: &[Rule],
    limits: &Limits,
    report: &mut Report,
    start: Instant,
) -> Graph<'r> {
    let search = Search { blocks, further, limits, start };
    let phases = &mut report.phases;
    egraph = search.phase("clean", egraph, Soundness::Bitwise, phases);
    if limits.soundness == Soundness::Rounding {
        egraph = search.phase("recognize", egraph, Soundness::Rounding, phases);
        if limits.model.frozen && egraph.total_number_of_nodes() < limits.nodes {
            let begin = Instant::now();
            let rules = rules::merge::merge(&mut egraph, &limits.without);
            if !rules.is_empty() {
                let merge = Phase { rounds: 1, rules, ..Phase::new("merge") };
                phases.push(merge.ended(&egraph, begin));
                egraph = search.phase("clean", egraph, Soundness::Rounding, phases);
            }
        }
    }
    report.searched = egraph.analysis.searched;
    for phase in &report.phases {
        report.iterations += phase.rounds;
        report.replayed += phase.replayed;
        phase.rules.iter().for_each(|(rule, count)| *report.rules.entry(rule.clone()).or_insert(0) += count);
    }
    let fuel = &egraph.analysis.fuel;
    (report.applications, report.is_out_of_fuel) = (fuel.used(), fuel.is_out());
    report.last_rule = fuel.last().map(|rule| rule.to_string());
    report.saturated = report.phases.last().is_some_and(|phase| phase.stop == Stop::Saturated);
    report.egraph_nodes = egraph.total_number_of_nodes();
    report.egraph_classes = egraph.number_of_classes();
    egraph
}
