//! Blocks: neighboring steps that are computed in one pass over their elements ([`oxport_tensor::join`]).
//!
//! ```text
//! conv ─ batch_norm ─ add ─ relu ─ conv        a block: the first four steps; each finished part of the convolution is
//!          ↑ scale, shift ↑ residual           normalized, added to and clipped by the task that has made it
//! ```
//!
//! Which steps make a block follows from the operators' rows and the sizes that a run has recorded.
//!
//! Laws: a block gives the same bits as its steps one by one; one that fails is run step by step, which says what is
//! wrong and where, and is not tried again.

use crate::buffers::Buffers;
use crate::frame::Frame;
use crate::locate::locate;
use crate::memory::Placement;
use crate::output_alloc::{OutPlan, Packing, make_owned};
use crate::step::{Action, Replay, Step};
use oxport_ir::work::Work;
use oxport_ir::{Arg, Args, Class, Real, Result, RunCx, Value};
use oxport_tensor::gemm::After;
use oxport_tensor::join::{Call, Producer, join};
use oxport_tensor::{Tensor, TensorMut};
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Steps in a block at most: their kernels are called within each other.
const MOST_STEPS: usize = 12;

/// Neighboring steps that are computed in one pass.
#[derive(Debug)]
pub(crate) struct Block {
    pub steps: Range<usize>,
    /// Whether the first step is a product or a convolution.
    has_producer: bool,
    /// Whether its result and that of the last step take the same memory.
    is_shared: bool,
    is_refused: AtomicBool,
}

impl Block {
    /// Whether it is worth trying.
    pub fn is_open(&self) -> bool {
        !self.is_refused.load(Relaxed)
    }
    /// Whether this is the last step, and the first one writes where it does.
    pub fn shares_result_of(&self, i: usize) -> bool {
        self.is_shared && i + 1 == self.steps.end
    }
    /// Whether the result of a step of it needs memory of its own.
    pub fn keeps(&self, i: usize, step: &Step) -> bool {
        let is_read_later = step.last_use as usize >= self.steps.end;
        let is_producer = self.has_producer && i == self.steps.start;
        is_read_later || is_producer && !self.is_shared
    }
}

/// The blocks of a recorded run whose results have at least so many elements, in order.
pub(crate) fn blocks(steps: &[Step], templates: &[Box<[Arg<Real>]>], recorded: &[Replay], least: usize) -> Vec<Block> {
    let is_loop = |i: usize| is_loop(&steps[i], &templates[i]);
    let plan = |i: usize| filled(steps.get(i)?, recorded.get(i)?);
    let mut found = Vec::new();
    let mut i = 0;
    while i < steps.len() {
        let is_worth = |plan: &&OutPlan| plan.layout.numel() >= least.max(1) && plan.layout.rank() > 0;
        let Some(first) = plan(i).filter(is_worth) else {
            i += 1;
            continue;
        };
        let work = steps[i].op.def().map(|def| def.work);
        let has_producer = matches!(work, Some(Work::Counted(Class::Product | Class::Convolution, _)));
        if !has_producer && !is_loop(i) {
            i += 1;
            continue;
        }
        let mut end = i + 1;
        let mut slots: SmallVec<[u32; MOST_STEPS]> = steps[i].out.into_iter().collect();
        while end - i < MOST_STEPS
            && plan(end).is_some_and(|plan| plan.layout.sizes == first.layout.sizes)
            && steps[end].patches.iter().any(|patch| slots.contains(&patch.from.slot))
            && is_loop(end)
        {
            slots.extend(steps[end].out);
            end += 1;
        }
        if end - i > 1 {
            let last = &steps[end - 1];
            let is_read_later = |step: &Step| step.last_use as usize >= end;
            let has_last_place = plan(end - 1).is_some_and(|p| p.dtype == first.dtype && p.layout == first.layout);
            let is_shared = has_producer && has_last_place && is_read_later(last) && !is_read_later(&steps[i]);
            found.push(Block { steps: i..end, has_producer, is_shared, is_refused: AtomicBool::new(false) });
        }
        i = end;
    }
    found
}

/// Whether a step is one elementwise loop over its operands: see [`oxport_ir::OpDef::one_loop`].
pub(crate) fn is_loop(step: &Step, template: &[Arg<Real>]) -> bool {
    let one_loop = step.op.def().and_then(|def| def.one_loop);
    one_loop.is_some_and(|f| f(&Args::new(template, &step.op, &RunCx::default())))
}

/// The one output that a step fills.
fn filled<'a>(step: &Step, recorded: &'a Replay) -> Option<&'a OutPlan> {
    match (&step.action, recorded) {
        (Action::Fill(_), Replay::Fill(plans, Packing::Tensor)) if step.out.is_some() => plans.first(),
        _ => None,
    }
}

/// A step of a block in a run.
struct Part<'a> {
    step: &'a Step,
    plan: &'a OutPlan,
    /// The result as the kernels of the block see it.
    value: Tensor,
    /// Where it goes, if anybody else sees it.
    out: Option<TensorMut>,
}

/// Runs a block.
///
/// # Errors
/// A step fails; the error says which.
pub(crate) fn run_block(
    cx: &RunCx,
    steps: &[Step],
    recorded: &[Replay],
    block: &Block,
    frame: &mut Frame,
    (buffers, placement): (&mut Buffers<'_>, &Placement),
) -> Result<()> {
    let mut parts = SmallVec::<[Part<'_>; MOST_STEPS]>::new();
    let plan = |i: usize| filled(&steps[i], &recorded[i]).expect("law: the steps of a block fill one output");
    let last = plan(block.steps.end - 1);
    for i in block.steps.clone() {
        let step = &steps[i];
        for patch in &step.patches {
            patch.apply(&mut frame.slots, &mut frame.args[i])?;
        }
        let plan = plan(i);
        // The first step writes where the last one does.
        let target = if block.is_shared && i == block.steps.start { last } else { plan };
        let layout = target.place.as_ref().map_or(&target.layout, |place| &place.layout);
        let value = Tensor::absent(plan.dtype, layout.clone())?;
        if let Some(slot) = step.out {
            frame.slots[slot as usize] = Value::Tensor(value.clone());
        }
        let out = if block.keeps(i, step) { Some(buffers.make(plan, placement)?) } else { None };
        parts.push(Part { step, plan, value, out });
    }
    let args = &mut frame.args[block.steps.clone()];
    let results = match join_parts(cx, block, &mut parts, args) {
        true => {
            let filled = |part: &mut Part<'_>| part.out.take().map(|out| buffers.filled(part.plan, out)).transpose();
            parts.iter_mut().map(filled).collect()
        }
        false => {
            block.is_refused.store(true, Relaxed);
            one_by_one(cx, &mut parts, args, buffers)
        }
    };
    let results: SmallVec<[Option<Tensor>; MOST_STEPS]> = results?;
    for ((part, args), result) in parts.into_iter().zip(args).zip(results) {
        for patch in &part.step.patches {
            patch.clear(args);
        }
        if let (Some(slot), Some(result)) = (part.step.out, result)
            && part.step.last_use as usize >= block.steps.end
        {
            frame.slots[slot as usize] = Value::Tensor(result);
        }
    }
    Ok(())
}

/// Calls the kernel of a step.
fn call(cx: &RunCx, step: &Step, args: &[Arg<Real>], after: Option<After<'_>>, outs: &mut [TensorMut]) -> Result<()> {
    let Action::Fill(f) = step.action else { unreachable!("law: the steps of a block fill one output") };
    f(&Args::new(args, &step.op, cx).with_prepared(step.prepared.as_ref()).with_after(after), outs)
}

/// Computes the steps of a block in one pass; false where they cannot be.
fn join_parts(cx: &RunCx, block: &Block, parts: &mut [Part<'_>], args: &[Box<[Arg<Real>]>]) -> bool {
    let steps: SmallVec<[&Step; MOST_STEPS]> = parts.iter().map(|part| part.step).collect();
    let kernels: SmallVec<[_; MOST_STEPS]> = steps
        .into_iter()
        .zip(args)
        .map(|(step, args)| move |outs: &mut [TensorMut]| call(cx, step, args, None, outs).is_ok())
        .collect();
    let (first, rest) = parts.split_at_mut(usize::from(block.has_producer));
    let calls = rest.iter_mut().zip(&kernels[first.len()..]);
    let mut calls: SmallVec<[Call<'_>; MOST_STEPS]> =
        calls.map(|(part, kernel)| Call { value: &part.value, out: part.out.as_mut(), kernel }).collect();
    let [part] = first else { return join(&mut calls, None) };
    let kernel = |out: &mut TensorMut, after: Option<After<'_>>| {
        call(cx, part.step, &args[0], after, std::slice::from_mut(out)).is_ok()
    };
    join(&mut calls, Some(Producer { value: &part.value, out: part.out.as_mut(), kernel: &kernel }))
}

/// Computes the steps of a block one after the other: their results.
///
/// # Errors
/// A step fails.
fn one_by_one(
    cx: &RunCx,
    parts: &mut [Part<'_>],
    args: &mut [Box<[Arg<Real>]>],
    buffers: &mut Buffers<'_>,
) -> Result<SmallVec<[Option<Tensor>; MOST_STEPS]>> {
    let mut done = SmallVec::<[(Option<u32>, Tensor); MOST_STEPS]>::new();
    for (Part { step, plan, out, .. }, args) in parts.iter_mut().zip(args) {
        for (slot, value) in &done {
            for patch in step.patches.iter().filter(|patch| Some(patch.from.slot) == *slot) {
                patch.put(args, Arg::Tensor(value.clone()));
            }
        }
        let (mut out, is_kept) = match out.take() {
            Some(out) => (out, true),
            None => (make_owned(plan)?, false),
        };
        call(cx, step, args, None, std::slice::from_mut(&mut out)).map_err(|e| locate(e, step, args))?;
        done.push((step.out, if is_kept { buffers.filled(plan, out)? } else { plan.filled(out)? }));
    }
    Ok(done.into_iter().map(|(_, value)| Some(value)).collect())
}
