//! The phases of the search: what holds to the bit; what rounds; products merged, once, and what comes of that.

use crate::forms;
use crate::rule::{Rule, Soundness};
use crate::rules;
use crate::term::Term;
use crate::typing::{Graph, Typing};
use crate::{Limits, Report};
use egg::{BackoffScheduler, Rewrite, RewriteScheduler};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

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
struct Search<'a, 'r> {
    rules: Vec<(Rule, Rewrite<Term, Typing<'r>>)>,
    limits: &'a Limits,
    start: Instant,
}

impl<'r> Search<'_, 'r> {
    /// Applies the rules of a level until nothing is left to add, or a limit is met.
    fn phase(&self, name: &'static str, graph: &mut Graph<'r>, soundness: Soundness, phases: &mut Vec<Phase>) {
        let begin = Instant::now();
        let mut phase = Phase::new(name);
        phase.stop = self.rounds(graph, soundness, &mut phase);
        // Where the fuel ends, a round adds nothing.
        if graph.analysis.fuel.is_out() {
            phase.stop = Stop::Fuel;
        }
        phases.push(phase.ended(graph, begin));
    }

    /// A searcher of rules over several terms, and the rules of terms if it did something.
    fn once(
        &self,
        name: &'static str,
        graph: &mut Graph<'r>,
        searcher: fn(&mut Graph<'r>, &BTreeSet<String>) -> BTreeMap<String, usize>,
        phases: &mut Vec<Phase>,
    ) {
        let begin = Instant::now();
        let rules = searcher(graph, &self.limits.without);
        if !rules.is_empty() {
            let phase = Phase { rounds: 1, rules, ..Phase::new(name) };
            phases.push(phase.ended(graph, begin));
            self.phase("clean", graph, Soundness::Rounding, phases);
        }
    }

    /// Rounds of matching and applying. The e-graph is clean before and after; where nothing changes, nothing is
    /// rebuilt, which takes time in proportion to it.
    fn rounds(&self, graph: &mut Graph<'r>, soundness: Soundness, phase: &mut Phase) -> Stop {
        let rules = self.rules.iter().filter(|(rule, _)| rule.allowed(soundness)).map(|(_, rewrite)| rewrite);
        let rules: Vec<&Rewrite<Term, Typing<'_>>> = rules.collect();
        let mut scheduler = BackoffScheduler::default().with_initial_match_limit(50_000);
        let size = |graph: &Graph<'_>| (graph.total_size(), graph.number_of_classes());
        for round in 0..self.limits.iterations {
            phase.rounds += 1;
            let before = size(graph);
            forms::begin_round(graph);
            if let Some(progress) = self.limits.progress {
                progress(graph.total_number_of_nodes(), graph.number_of_classes());
            }
            let (mut applied, mut stop) = (0, self.limit(graph));
            let mut found = Vec::with_capacity(rules.len());
            for rule in &rules {
                if stop.is_none() {
                    found.push(scheduler.search_rewrite(round, graph, rule));
                    stop = self.limit(graph);
                }
            }
            for (rule, found) in rules.iter().zip(found) {
                if stop.is_none() {
                    let count = scheduler.apply_rewrite(round, graph, rule, found);
                    phase.count(rule.name.as_str(), count);
                    applied += count;
                    stop = self.limit(graph);
                }
            }
            if !graph.clean {
                graph.rebuild();
            }
            if stop.is_none() && applied == 0 && size(graph) == before {
                // Unless rules are left out for some rounds that matched too often.
                let is_saturated = RewriteScheduler::<Term, Typing<'_>>::can_stop(&mut scheduler, round);
                stop = is_saturated.then_some(Stop::Saturated);
            }
            if let Some(stop) = stop.or_else(|| self.limit(graph)) {
                return stop;
            }
        }
        Stop::Rounds
    }

    /// The limit of time or nodes that is met.
    fn limit(&self, graph: &Graph<'_>) -> Option<Stop> {
        match self.limits.time {
            Some(time) if self.start.elapsed() > time => Some(Stop::Time),
            _ if graph.total_size() > self.limits.nodes => Some(Stop::Nodes),
            _ => None,
        }
    }
}

impl Report {
    /// Adds what rules did to the copies of blocks, as a phase.
    pub(crate) fn add_replay(&mut self, rules: BTreeMap<String, usize>, egraph: &Graph<'_>, begin: Instant) {
        rules.iter().for_each(|(rule, count)| *self.rules.entry(rule.clone()).or_insert(0) += count);
        let stop = self.phases.last().map_or(Stop::Saturated, |phase| phase.stop);
        self.replayed = rules.values().sum();
        self.applications += self.replayed;
        let phase = Phase { rules, replayed: self.replayed, stop, ..Phase::new("replay") };
        self.phases.push(phase.ended(egraph, begin));
    }
}

/// Searches; the report gets what was done.
pub(crate) fn search<'r>(
    graph: &mut Graph<'r>,
    further: &[Rule],
    limits: &Limits,
    report: &mut Report,
    start: Instant,
) {
    let used = rules::all().copied().chain(further.iter().copied()).filter(|rule| !limits.without.contains(rule.name));
    let rules = used.enumerate().map(|(number, rule)| (rule, rule.remembered(number))).collect();
    let search = Search { rules, limits, start };
    let phases = &mut report.phases;
    search.phase("clean", graph, Soundness::Bitwise, phases);
    if limits.soundness == Soundness::Rounding {
        search.phase("recognize", graph, Soundness::Rounding, phases);
        search.once("roll", graph, rules::roll::roll, phases);
        search.once("stack", graph, rules::stack::stack, phases);
        if limits.model.frozen && graph.total_number_of_nodes() < limits.nodes {
            search.once("merge", graph, rules::merge::merge, phases);
        }
    }
    report.searched = graph.analysis.searched;
    report.iterations = report.phases.iter().map(|phase| phase.rounds).sum();
    let rules = report.phases.iter().flat_map(|phase| &phase.rules);
    rules.for_each(|(rule, count)| *report.rules.entry(rule.clone()).or_insert(0) += count);
    let fuel = &graph.analysis.fuel;
    (report.applications, report.is_out_of_fuel) = (fuel.used(), fuel.is_out());
    report.last_rule = fuel.last().map(|rule| rule.to_string());
    report.saturated = report.phases.last().is_some_and(|phase| phase.stop == Stop::Saturated);
    report.egraph_nodes = graph.total_number_of_nodes();
    report.egraph_classes = graph.number_of_classes();
}
