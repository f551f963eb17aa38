//! Blocks: neighboring steps that are computed in one pass over their elements ([`oxport_tensor::join`]).
//!
//! ```text
//! conv ─ batch_norm ─ add ─ relu ─ conv        a block: the first four steps; each finished part of the convolution is
//!          ↑ scale, shift ↑ residual           normalized, added to and clipped by the task that has made it
//! ```
//!
//! A block that begins with a kernel per channel may read the rows of the block in front of it as they are made, over a
//! sliding window ([`oxport_tensor::conv::Sliding`]): the tensor between them is never whole.
//!
//! Which steps make a block follows from the operators' rows and the sizes that a run has recorded.
//!
//! Laws: a block gives the same bits as its steps one by one; one that fails is run step by step, which says what is
//! wrong and where, and is not tried again, nor is a window that two blocks do not have.

use crate::buffers::Buffers;
use crate::frame::Frame;
use crate::locate::locate;
use crate::memory::Placement;
use crate::output_alloc::{OutPlan, Packing, make_owned};
use crate::step::{Action, Replay, Step};
use oxport_ir::opdef::CallFn;
use oxport_ir::work::Work;
use oxport_ir::{Arg, Args, Class, OpDef, Real, Result, RunCx, Value};
use oxport_tensor::conv::{RowReader, RowSource, Sliding};
use oxport_tensor::gemm::After;
use oxport_tensor::join::{Call, Produced, Producer, join};
use oxport_tensor::{Tensor, TensorMut};
use smallvec::SmallVec;
use std::cell::RefCell;
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
    /// Whether the next block is to read the rows of the result as they are made.
    lends: AtomicBool,
    /// Whether a run has seen that it does.
    has_lent: AtomicBool,
    /// How many steps before this one the block begins that lends its rows to this one.
    lender: usize,
}

impl Block {
    /// Whether it is worth trying.
    pub fn is_open(&self) -> bool {
        !self.is_refused.load(Relaxed)
    }
    /// Whether the next block is computed in the same pass.
    pub fn lends(&self) -> bool {
        self.lends.load(Relaxed)
    }
    /// The step whose result is never whole, as a run has seen.
    pub fn lent(&self) -> Option<usize> {
        (self.lends() && self.has_lent.load(Relaxed)).then(|| self.steps.end - 1)
    }
    /// The first step of the pass that it was to be computed in.
    pub fn pass(&self) -> usize {
        self.steps.start - self.lender
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
    /// The window that it lent to the next block is none: each is by itself from now on.
    fn part(&self, reader: &Block) {
        self.lends.store(false, Relaxed);
        for block in [self, reader].into_iter().filter(|block| block.steps.len() == 1) {
            block.is_refused.store(true, Relaxed);
        }
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
        let last = &steps[end - 1];
        let is_read_later = |step: &Step| step.last_use as usize >= end;
        let has_last_place = plan(end - 1).is_some_and(|p| p.dtype == first.dtype && p.layout == first.layout);
        let has_two = end - i > 1;
        let is_shared = has_two && has_producer && has_last_place && is_read_later(last) && !is_read_later(&steps[i]);
        let (is_refused, lends, has_lent) = (AtomicBool::new(!has_two), AtomicBool::default(), AtomicBool::default());
        found.push(Block { steps: i..end, has_producer, is_shared, is_refused, lends, has_lent, lender: 0 });
        i = end;
    }
    pair_up(&mut found, steps, templates);
    found.retain(Block::is_open);
    found
}

/// Finds blocks that may lend their rows to the next one. One that is a single step is open only then.
fn pair_up(found: &mut [Block], steps: &[Step], templates: &[Box<[Arg<Real>]>]) {
    for i in 1..found.len() {
        let [lender, reader] = &mut found[i - 1..=i] else { continue };
        let (first, last) = (reader.steps.start, &steps[lender.steps.end - 1]);
        let reads_rows = holds(&steps[first], &templates[first], |def| def.reads_rows);
        let mut reads = steps[first].patches.iter().filter(|patch| Some(patch.from.slot) == last.out);
        let is_input = reads.next().is_some_and(|patch| patch.path[..] == [0] && patch.from.element.is_none());
        let is_read_once = is_input && reads.next().is_none() && last.last_use as usize == first;
        let is_whole = lender.is_shared || lender.has_producer && lender.steps.len() == 1;
        if lender.steps.end == first && reads_rows && is_read_once && is_whole && !lender.lends() {
            reader.lender = lender.steps.len();
            *lender.lends.get_mut() = true;
            *lender.is_refused.get_mut() = false;
            *reader.is_refused.get_mut() = false;
        }
    }
}

/// Whether a step is one elementwise loop over its operands: see [`oxport_ir::OpDef::one_loop`].
pub(crate) fn is_loop(step: &Step, template: &[Arg<Real>]) -> bool {
    holds(step, template, |def| def.one_loop)
}

/// Whether what an operator's row says of some calls holds for this one.
fn holds(step: &Step, template: &[Arg<Real>], said: fn(&OpDef) -> Option<CallFn>) -> bool {
    let f = step.op.def().and_then(said);
    f.is_some_and(|f| f(&Args::new(template, &step.op, &RunCx::default())))
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

/// The results of the steps of a block.
type Results = SmallVec<[Option<Tensor>; MOST_STEPS]>;

/// What the steps of a block are run with.
struct Run<'a, 'b> {
    cx: &'a RunCx,
    steps: &'a [Step],
    recorded: &'a [Replay],
    buffers: &'a mut Buffers<'b>,
    placement: &'a Placement,
}

/// Runs a block, and the one that it lends its rows to.
///
/// # Errors
/// A step fails; the error says which.
pub(crate) fn run_block(
    cx: &RunCx,
    steps: &[Step],
    recorded: &[Replay],
    (block, reader): (&Block, Option<&Block>),
    frame: &mut Frame,
    (buffers, placement): (&mut Buffers<'_>, &Placement),
) -> Result<()> {
    let mut run = Run { cx, steps, recorded, buffers, placement };
    let mut parts = run.begin(block, frame)?;
    let Some(reader) = reader else {
        let is_done = join_parts(cx, block, &mut parts, &frame.args[block.steps.clone()], Sliding::None);
        return run.end(block, parts, is_done, frame).map(drop);
    };
    let reading = RefCell::new(run.begin(reader, frame)?);
    let (own, others) = frame.args[block.steps.start..reader.steps.end].split_at(block.steps.len());
    let read =
        |source: &RowSource<'_>| join_parts(cx, reader, &mut reading.borrow_mut(), others, Sliding::From(source));
    let rows = RowReader::new(&read);
    let is_done = join_parts(cx, block, &mut parts, own, Sliding::ReadBy(&rows));
    let is_read = rows.has_read();
    let mut reading = reading.into_inner();
    if is_read {
        block.has_lent.store(true, Relaxed);
        run.leave(block, frame);
        return run.end(reader, reading, true, frame).map(drop);
    }
    block.part(reader);
    let slot = parts.last().and_then(|part| part.step.out);
    let result = run.end(block, parts, is_done, frame)?;
    let args = &mut frame.args[reader.steps.clone()];
    for patch in steps[reader.steps.start].patches.iter().filter(|patch| Some(patch.from.slot) == slot) {
        patch.put(&mut args[0], result.clone().map_or(Arg::None, Arg::Tensor));
    }
    let is_done = join_parts(cx, reader, &mut reading, args, Sliding::None);
    run.end(reader, reading, is_done, frame).map(drop)
}

impl<'a> Run<'a, '_> {
    /// Gives the steps of a block their arguments, and memory for what is seen of their results.
    fn begin(&mut self, block: &Block, frame: &mut Frame) -> Result<SmallVec<[Part<'a>; MOST_STEPS]>> {
        let mut parts = SmallVec::new();
        let plan =
            |i: usize| filled(&self.steps[i], &self.recorded[i]).expect("law: the steps of a block fill one output");
        let last = plan(block.steps.end - 1);
        for i in block.steps.clone() {
            let step = &self.steps[i];
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
            let out = if block.keeps(i, step) { Some(self.buffers.make(plan, self.placement)?) } else { None };
            parts.push(Part { step, plan, value, out });
        }
        Ok(parts)
    }

    /// Puts the results of a block where later steps find them, after it has been run step by step if it is not done:
    /// the last one.
    fn end(
        &mut self,
        block: &Block,
        mut parts: SmallVec<[Part<'_>; MOST_STEPS]>,
        is_done: bool,
        frame: &mut Frame,
    ) -> Result<Option<Tensor>> {
        let results: Results = if is_done {
            let filled =
                |part: &mut Part<'_>| part.out.take().map(|out| self.buffers.filled(part.plan, out)).transpose();
            parts.iter_mut().map(filled).collect::<Result<_>>()?
        } else {
            block.is_refused.store(true, Relaxed);
            one_by_one(self.cx, &mut parts, &mut frame.args[block.steps.clone()], self.buffers)?
        };
        self.leave(block, frame);
        let last = results.last().cloned().flatten();
        for (part, result) in parts.into_iter().zip(results) {
            if let (Some(slot), Some(result)) = (part.step.out, result)
                && part.step.last_use as usize >= block.steps.end
            {
                frame.slots[slot as usize] = Value::Tensor(result);
            }
        }
        Ok(last)
    }

    /// Takes the arguments of a block's steps out again.
    fn leave(&self, block: &Block, frame: &mut Frame) {
        for i in block.steps.clone() {
            for patch in &self.steps[i].patches {
                patch.clear(&mut frame.args[i]);
            }
        }
    }
}

/// Calls the kernel of a step.
fn call(
    cx: &RunCx,
    step: &Step,
    args: &[Arg<Real>],
    with: (Option<After<'_>>, Sliding<'_>),
    outs: &mut [TensorMut],
) -> Result<()> {
    let Action::Fill(f) = step.action else { unreachable!("law: the steps of a block fill one output") };
    let args = Args::new(args, &step.op, cx).with_prepared(step.prepared.as_ref());
    f(&args.with_after(with.0).with_sliding(with.1), outs)
}

/// Computes the steps of a block in one pass; false where they cannot be.
fn join_parts(
    cx: &RunCx,
    block: &Block,
    parts: &mut [Part<'_>],
    args: &[Box<[Arg<Real>]>],
    sliding: Sliding<'_>,
) -> bool {
    let steps: SmallVec<[&Step; MOST_STEPS]> = parts.iter().map(|part| part.step).collect();
    let kernels: SmallVec<[_; MOST_STEPS]> = steps
        .into_iter()
        .zip(args)
        .map(|(step, args)| move |outs: &mut [TensorMut]| call(cx, step, args, (None, Sliding::None), outs).is_ok())
        .collect();
    let (first, rest) = parts.split_at_mut(usize::from(block.has_producer));
    let calls = rest.iter_mut().zip(&kernels[first.len()..]);
    let mut calls: SmallVec<[Call<'_>; MOST_STEPS]> =
        calls.map(|(part, kernel)| Call { value: &part.value, out: part.out.as_mut(), kernel }).collect();
    let [part] = first else { return join(&mut calls, None) };
    let kernel = |out: &mut TensorMut, after: Option<After<'_>>| {
        let done = call(cx, part.step, &args[0], (after, sliding), std::slice::from_mut(out));
        match (done, sliding) {
            (Err(_), _) => Produced::Nothing,
            (_, Sliding::ReadBy(reader)) if reader.has_read() => Produced::Rows,
            _ => Produced::Whole,
        }
    };
    match (&calls[..], &mut part.out) {
        ([], Some(out)) => kernel(out, None) != Produced::Nothing,
        _ => join(&mut calls, Some(Producer { value: &part.value, out: part.out.as_mut(), kernel: &kernel })),
    }
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
) -> Result<Results> {
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
        call(cx, step, args, (None, Sliding::None), std::slice::from_mut(&mut out))
            .map_err(|e| locate(e, step, args))?;
        done.push((step.out, if is_kept { buffers.filled(plan, out)? } else { plan.filled(out)? }));
    }
    Ok(done.into_iter().map(|(_, value)| Some(value)).collect())
}
