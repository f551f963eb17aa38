//! [`Description`]: how a plan computes its program for inputs of certain shapes, to be looked at.

use crate::error::Result;
use crate::executor::Body;
use crate::fuse::Block;
use crate::memory::Placement;
use crate::output_alloc::OutPlan;
use crate::plan::Plan;
use crate::plan_cache::{Recording, shape_key};
use crate::step::{Action, ESCAPES, Replay, Step};
use oxport_ir::{Op, Value};
use oxport_tensor::{DType, SharedLayout};
use std::sync::Arc;

/// The steps of a plan, and where their results lie.
#[derive(Clone, Debug)]
pub struct Description {
    /// In the order in which they run; those of subgraphs are not among them.
    pub steps: Vec<PlannedStep>,
    /// The size of the arena in bytes.
    pub arena_bytes: usize,
}

/// One step.
#[derive(Clone, Debug)]
pub struct PlannedStep {
    /// The name of its node.
    pub name: Arc<str>,
    /// What it calls.
    pub op: Op,
    /// The first step of the pass in which it is computed; its own number, unless it is joined with steps before it.
    pub pass: usize,
    /// Whether it views or picks from a value, and computes nothing.
    pub is_view: bool,
    /// Whether its operator has made something of its constant arguments once: weights are packed.
    pub is_prepared: bool,
    /// What it fills.
    pub results: Vec<PlannedResult>,
}

/// A tensor that a step fills.
#[derive(Clone, Debug)]
pub struct PlannedResult {
    /// The element type.
    pub dtype: DType,
    /// Sizes and strides.
    pub layout: SharedLayout,
    /// Its size in bytes.
    pub bytes: usize,
    /// Where it lies.
    pub place: Place,
    /// The last step that reads it or a view of it; `None` if it leaves the program.
    pub last: Option<usize>,
}

/// Where a result lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Place {
    /// In the arena, from this byte on.
    Arena(usize),
    /// In memory of its own.
    Own,
    /// In no memory: it is seen only within its pass.
    Pass,
    /// In that of the result of this later step, which puts it beside others.
    Part(usize),
}

impl Description {
    pub(crate) fn of(body: &Body, recording: &Recording) -> Description {
        let placement = recording.placement();
        let mut steps: Vec<PlannedStep> = Vec::with_capacity(body.steps.len());
        for (i, (step, replay)) in body.steps.iter().zip(&recording.steps).enumerate() {
            let at = recording.blocks.iter().position(|block| block.is_open() && block.steps.contains(&i));
            let block = at.map(|at| &recording.blocks[at]);
            let lender = at.and_then(|at| recording.blocks[..at].last()).filter(|block| block.lends());
            let is_lent = |block: &Block| block.lends() && i + 1 == block.steps.end;
            let is_unseen = block.is_some_and(|block| !block.keeps(i, step) || is_lent(block));
            let plans: &[OutPlan] = match replay {
                Replay::Fill(plans, _) => plans,
                Replay::Copy(plan) => std::slice::from_ref(plan),
                _ => &[],
            };
            let results = plans.iter().map(|plan| result(plan, recording, placement, is_unseen)).collect();
            steps.push(PlannedStep {
                name: step.name.clone(),
                op: step.op.clone(),
                pass: lender.or(block).map_or(i, |block| block.steps.start),
                is_view: is_view(step) && !matches!(replay, Replay::Copy(_)),
                is_prepared: step.prepared.is_some(),
                results,
            });
        }
        Description { steps, arena_bytes: placement.bytes }
    }
}

fn is_view(step: &Step) -> bool {
    matches!(step.action, Action::View(_) | Action::Pick { .. })
}

fn result(plan: &OutPlan, recording: &Recording, placement: &Placement, is_unseen: bool) -> PlannedResult {
    let place = match (&plan.place, placement.offsets.get(plan.buffer as usize)) {
        _ if is_unseen => Place::Pass,
        (Some(place), _) => Place::Part(place.join),
        (_, Some(Some(offset))) => Place::Arena(*offset),
        _ => Place::Own,
    };
    let last = recording.last_use(plan.buffer).filter(|&last| last != ESCAPES);
    let (dtype, layout, bytes) = (plan.dtype, plan.layout.clone(), plan.bytes);
    PlannedResult { dtype, layout, bytes, place, last: last.map(|last| last as usize) }
}

impl Plan {
    /// How the program is computed for inputs of these shapes, from the second call on: it is called twice.
    ///
    /// # Errors
    /// As [`Plan::run`].
    pub fn describe(&self, inputs: Vec<Value>) -> Result<Description> {
        self.run(inputs.clone())?;
        self.run(inputs.clone())?;
        let fed = self.fed(&self.checks().completed(inputs), &self.initial_state());
        let recording = self.body().cache.get(&shape_key(&fed, &self.body().inputs));
        let recording = recording.ok_or_else(|| oxport_ir::Error::unsupported("the call was not recorded"))?;
        Ok(Description::of(self.body(), &recording))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::PlanOptions;
    use crate::test_ops::{CHAIN, f32s, program, registry};

    #[test]
    fn steps_passes_and_places_are_said() {
        let x = f32s(&[256, 2], vec![1.0; 512]);
        let said = |fuse_from| {
            let options = PlanOptions { fuse_from, ..PlanOptions::default() };
            let plan = Plan::new(&program(CHAIN), &registry(), &options).unwrap();
            let description = plan.describe(vec![x.clone()]).unwrap();
            let line = |step: &PlannedStep| {
                let result = &step.results[0];
                format!("{} {} {:?} {:?}", step.name, step.pass, result.place, result.last)
            };
            (description.arena_bytes, description.steps.iter().map(line).collect::<Vec<_>>())
        };
        let (bytes, lines) = said(usize::MAX);
        assert_eq!(bytes, 2 * 2048);
        let one_by_one =
            ["relu 0 Arena(0) Some(1)", "add 1 Arena(2048) Some(3)", "relu_1 2 Arena(0) Some(3)", "add_1 3 Own None"];
        assert_eq!(lines, one_by_one);
        let (bytes, lines) = said(1);
        assert_eq!(bytes, 0);
        assert!(lines[1].starts_with("add 0 Pass") && lines[3] == "add_1 0 Own None", "{lines:?}");
    }
}
