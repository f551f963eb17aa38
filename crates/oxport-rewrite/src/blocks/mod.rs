//! Repeated blocks: one of them is searched, and what the choice needs of that is done to the others.
//!
//! ```text
//! program ─find→ runs of blocks ─quotient→ e-graph with one of them ─search, choice→ terms ─replay→ e-graph, choice
//! ```
//!
//! | step | module |
//! |---|---|
//! | stretches of nodes that repeat, and which class of one block corresponds to which of another | `find` |
//! | the e-graph in which all blocks but the first are one | `quotient` |
//! | which steps of its search the choice needs | `steps` |
//! | these steps and the choice in the e-graph of the program | `replay` |
//!
//! Of a run of equal blocks the first is searched because what stands before it is different, and the second, with the
//! first before it, stands for all others: the *copies*. What stands behind a run reads the second block in the place
//! of the last.
//!
//! Laws: correspondence is a hint and no fact: a replayed step is an application of its rule to terms of the program,
//! whose conditions were asked there and whose sides have the same type; a term is chosen for a class only if it is in
//! it then. Where that fails, or the choice is dearer than it was in the quotient, all of the program is searched.

mod find;
mod quotient;
mod replay;
mod steps;

use crate::extract::{Choice, Prefer, extract};
use crate::ingest::Ingested;
use crate::rule::Rule;
use crate::search::search;
use crate::{Limits, Report};
use egg::Id;
use oxport_ir::ExportedProgram;
use quotient::Quotient;
use rustc_hash::FxHashMap;
use std::time::Instant;
use steps::Found;

/// A run of equal blocks in a program's e-graph.
#[derive(Default)]
struct Run {
    /// The classes that have others in their places in the copies.
    classes: Vec<Class>,
    /// The places of classes.
    at: FxHashMap<Id, usize>,
    /// How many copies there are.
    copies: usize,
    /// The last class of the first two blocks.
    end: Id,
}

/// A class of the block that stands for the others, or of the one before it.
struct Class {
    id: Id,
    /// Whether it is of the block itself.
    is_own: bool,
    /// What is in its place in each copy.
    images: Vec<Option<Id>>,
}

/// How often is chosen: how many classes of the program take the term of one is known for certain when they have it.
const ATTEMPTS: usize = 3;

/// The blocks of a program are not alike in what the choice needs.
pub(crate) struct Unlike;

/// Searches a program of which blocks repeat, and chooses; `None` if none do.
///
/// # Errors
/// Blocks turn out to be different. The e-graph of the program may not be searched then.
pub(crate) fn optimize(
    program: &ExportedProgram,
    whole: &mut Ingested<'_>,
    further: &[Rule],
    limits: &Limits,
    report: &mut Report,
    start: Instant,
) -> Result<Option<Choice>, Unlike> {
    let ms = |start: Instant| start.elapsed().as_secs_f64() * 1e3;
    let searching = Instant::now();
    let Some(mut quotient) = Quotient::of(program, whole, limits.model.frozen) else { return Ok(None) };
    let graph = &mut quotient.ingested.egraph;
    graph.analysis.log = Some(Vec::new());
    let mut done = Report { egraph_nodes_before: graph.total_number_of_nodes(), ..report.clone() };
    search(graph, further, limits, &mut done, start);
    let log = graph.analysis.log.take().unwrap_or_default();
    report.search_ms += ms(searching);
    let found = Found::new(&quotient, &log);
    let mut counts = FxHashMap::default();
    for _ in 0..ATTEMPTS {
        let choosing = Instant::now();
        let weight = |class| counts.get(&found.first(class)).copied().unwrap_or_else(|| found.weight(class));
        let choice = extract(program, &quotient.ingested, weight, &limits.model, Prefer::Cheap).ok_or(Unlike)?;
        report.extract_ms += ms(choosing);
        let replaying = Instant::now();
        let replayed = found.replay(&choice, program, whole, &limits.model);
        report.search_ms += ms(replaying);
        let replayed = replayed.ok_or(Unlike)?;
        let Some(choice) = replayed.choice else {
            counts = replayed.counts;
            continue;
        };
        let (search_ms, extract_ms) = (report.search_ms, report.extract_ms);
        *report = Report { search_ms, extract_ms, ..done };
        report.add_replay(replayed.rules, &whole.egraph, replaying);
        return Ok(Some(choice));
    }
    Err(Unlike)
}
