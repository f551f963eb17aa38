//! A graph made ready to run: [`Body`], its steps, and the loop that runs them.
//!
//! A run is in one of three modes. It *records* the first time that inputs of a shape signature are seen: every meta
//! function is asked with the sizes at hand, buffers are owned. It *replays* a recording from then on: layouts are known,
//! buffers are regions of the frame's arena. It goes on *free*, asking metas again, from the step at which a value
//! turned out otherwise than recorded: a size that depends on data.
//!
//! Laws: what a run yields does not depend on its mode; a slot is empty after its last use; values that leave the body
//! do not lie in an arena.

use crate::frame::{Frame, Frames};
use crate::locate::locate;
use crate::outs::{OutPlan, Packing, infer, make_owned};
use crate::profile::Profile;
use crate::recording::{Cache, Placement, Recorder, Recording, Replay, shape_key};
use crate::slots::{Patch, Ref, arg_of, fetch};
use oxport_ir::{Arg, Args, Callable, Error, Op, Real, Result, RunCx, Value};
use oxport_tensor::{Arena, Tensor, TensorMut};
use smallvec::SmallVec;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// A graph made ready to run.
pub(crate) struct Body {
    pub steps: Box<[Step]>,
    /// What every call's arguments share, per step.
    pub templates: Box<[Box<[Arg<Real>]>]>,
    /// The number of slots.
    pub slots: usize,
    /// One per placeholder; `None` where nobody reads it.
    pub inputs: Box<[Option<Input>]>,
    pub outputs: Box<[Output]>,
    /// Recordings by shape signature.
    pub cache: Cache,
    pub frames: Frames,
    /// How often the arena refused a region, because its last tenant was still alive.
    pub refused: AtomicUsize,
}

/// Where an input goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Input {
    pub slot: u32,
    /// True if numbers in it can decide sizes, so that they belong to the shape signature.
    pub is_watched: bool,
}

/// What a body returns.
#[derive(Debug)]
pub(crate) enum Output {
    Ref { from: Ref, take: bool },
    Known(Value),
    List(Vec<Output>),
}

/// One call.
pub(crate) struct Step {
    pub name: Arc<str>,
    pub op: Op,
    pub action: Action,
    /// What is put into the template, and taken out afterwards.
    pub patches: Box<[Patch]>,
    /// Where the result goes; `None` if nobody reads it.
    pub out: Option<u32>,
    /// The last step that reads the result or a view of it by this slot; [`ESCAPES`] if it leaves the body.
    pub last_use: u32,
    /// True if numbers in the result can decide sizes.
    pub is_watched: bool,
    pub stack_trace: Option<Arc<str>>,
}

/// The last use of values that leave the body.
pub(crate) const ESCAPES: u32 = u32::MAX;

/// How a step is computed.
#[derive(Clone, Copy)]
pub(crate) enum Action {
    /// Element `index` of a list.
    Pick {
        slot: u32,
        take: bool,
        index: i64,
    },
    View(fn(&Args<'_, Real>) -> Result<Option<Vec<Tensor>>>),
    Fill(fn(&Args<'_, Real>, &mut [TensorMut]) -> Result<()>),
    Eval(fn(&Args<'_, Real>) -> Result<Vec<Value>>),
}

enum Mode<'a> {
    Record(Recorder),
    Replay(&'a Recording, &'a Placement),
    Free,
}

impl Body {
    /// Runs the steps on values for the placeholders.
    ///
    /// # Errors
    /// A step fails: the error says which, on what arguments, and where in the Python source.
    pub fn run(&self, cx: &RunCx, inputs: Vec<Value>, mut profile: Option<&mut Profile>) -> Result<Vec<Value>> {
        if inputs.len() != self.inputs.len() {
            let (want, got) = (self.inputs.len(), inputs.len());
            return Err(Error::invalid(format!("the graph takes {want} inputs, not {got}")));
        }
        let key = shape_key(&inputs, &self.inputs);
        let recording = self.cache.get(&key);
        let mut frame = self.frames.take(self);
        let mut mode = match &recording {
            None => Mode::Record(Recorder::new(self.steps.len())),
            Some(r) => {
                let placement = r.placement();
                frame.reserve(placement.bytes)?;
                Mode::Replay(r, placement)
            }
        };
        for (input, value) in self.inputs.iter().zip(inputs) {
            if let Some(input) = input {
                frame.slots[input.slot as usize] = value;
            }
        }
        for (i, step) in self.steps.iter().enumerate() {
            let start = profile.is_some().then(Instant::now);
            let done = self.step(cx, i, step, &mut frame, &mut mode);
            let value = done.map_err(|e| locate(e, step, &frame.args[i]))?;
            if let (Some(profile), Some(start)) = (profile.as_deref_mut(), start) {
                profile.add(i, start.elapsed(), &value);
            }
            for patch in &step.patches {
                patch.put(&mut frame.args[i], Arg::None);
            }
            if let Some(out) = step.out {
                frame.slots[out as usize] = value;
            }
        }
        let outputs = self.outputs.iter().map(|o| o.collect(&mut frame.slots)).collect::<Result<_>>()?;
        self.frames.give_back(frame);
        if let Mode::Record(recorder) = mode {
            self.cache.insert(key, recorder.finish());
        }
        Ok(outputs)
    }

    fn step(&self, cx: &RunCx, i: usize, step: &Step, frame: &mut Frame, mode: &mut Mode<'_>) -> Result<Value> {
        for patch in &step.patches {
            let value = fetch(&mut frame.slots, patch.from, patch.take)?;
            patch.put(&mut frame.args[i], arg_of(value));
        }
        let args = Args { values: &frame.args[i], op: &step.op, cx };
        let arena = frame.arena.as_ref();
        match step.action {
            Action::Pick { slot, take, index } => {
                let value = pick(&mut frame.slots[slot as usize], take, index)?;
                if let Mode::Record(r) = mode {
                    r.holds(step, &value);
                }
                Ok(value)
            }
            Action::Fill(f) => self.fill(f, i, step, &args, arena, mode),
            Action::View(f) => {
                let value = match f(&args)? {
                    Some(views) => pack_tensors(step, views),
                    None => self.copy(i, step, &args, arena, mode)?,
                };
                if let Mode::Record(r) = mode {
                    r.holds(step, &value);
                }
                Ok(value)
            }
            Action::Eval(f) => {
                let value = pack_values(step, f(&args)?);
                match mode {
                    Mode::Record(r) => r.eval(i, step, args.values, &value),
                    Mode::Replay(r, _) if !r.is_as_recorded(i, step, &value) => *mode = Mode::Free,
                    _ => {}
                }
                Ok(value)
            }
        }
    }

    fn fill(
        &self,
        f: fn(&Args<'_, Real>, &mut [TensorMut]) -> Result<()>,
        i: usize,
        step: &Step,
        args: &Args<'_, Real>,
        arena: Option<&Arc<Arena>>,
        mode: &mut Mode<'_>,
    ) -> Result<Value> {
        if let Mode::Replay(recording, placement) = mode
            && let Replay::Fill(outs, packing) = &recording.steps[i]
        {
            let made = outs.iter().map(|o| self.make(o, placement, arena));
            let mut outs = made.collect::<Result<SmallVec<[TensorMut; 2]>>>()?;
            f(args, &mut outs)?;
            return Ok(packing.pack(&mut outs.into_iter().map(TensorMut::freeze)));
        }
        let (plans, packing) = infer(step, args.values)?;
        let mut outs = plans.iter().map(make_owned).collect::<Result<SmallVec<[TensorMut; 2]>>>()?;
        f(args, &mut outs)?;
        let value = packing.pack(&mut outs.into_iter().map(TensorMut::freeze));
        if let Mode::Record(r) = mode {
            r.fill(i, step, plans, packing, &value);
        }
        Ok(value)
    }

    /// The first tensor argument's elements in row-major order, in a fresh tensor of the sizes that the meta says: what
    /// a view yields where strides forbid one.
    fn copy(
        &self,
        i: usize,
        step: &Step,
        args: &Args<'_, Real>,
        arena: Option<&Arc<Arena>>,
        mode: &mut Mode<'_>,
    ) -> Result<Value> {
        let mut first = None;
        args.values.iter().for_each(|a| {
            crate::slots::for_each_tensor(a, &mut |t| {
                first.get_or_insert_with(|| t.clone());
            });
        });
        let x = first.ok_or_else(|| Error::invalid("a view of no tensor"))?;
        if let Mode::Replay(recording, placement) = mode
            && let Replay::Copy(plan) = &recording.steps[i]
        {
            return Ok(Value::Tensor(plan.copy(self.make(plan, placement, arena)?, &x)?));
        }
        let (plans, _) = infer(step, args.values)?;
        let [plan] = <[OutPlan; 1]>::try_from(plans).map_err(|_| Error::unsupported("several views that must copy"))?;
        let plan = plan.row_major()?;
        let value = Value::Tensor(plan.copy(make_owned(&plan)?, &x)?);
        if let Mode::Record(r) = mode {
            r.copy(i, step, plan, &value);
        }
        Ok(value)
    }

    /// A buffer at its place in the arena; an owned one where it has none, or where its place is still taken.
    fn make(&self, plan: &OutPlan, placement: &Placement, arena: Option<&Arc<Arena>>) -> Result<TensorMut> {
        if let (Some(offset), Some(arena)) = (placement.offsets[plan.buffer as usize], arena) {
            match arena.region(offset, plan.bytes) {
                Ok(region) => return Ok(TensorMut::in_region(region, plan.dtype, plan.layout.clone())?),
                Err(_) => self.refused.fetch_add(1, Ordering::Relaxed),
            };
        }
        make_owned(plan)
    }
}

impl Output {
    fn collect(&self, slots: &mut [Value]) -> Result<Value> {
        match self {
            Output::Ref { from, take } => fetch(slots, *from, *take),
            Output::Known(value) => Ok(value.clone()),
            Output::List(l) => l.iter().map(|o| o.collect(slots)).collect::<Result<_>>().map(Value::List),
        }
    }
}

/// Element `index` of the list in a slot, which is emptied if nobody reads it afterwards.
fn pick(slot: &mut Value, take: bool, index: i64) -> Result<Value> {
    let Value::List(l) = slot else {
        return Err(Error::invalid(format!("getitem of a {}", slot.kind())));
    };
    let at = if index < 0 { index + l.len() as i64 } else { index };
    let found = usize::try_from(at).ok().filter(|&at| at < l.len());
    let at = found.ok_or_else(|| Error::invalid(format!("getitem {index} of {} results", l.len())))?;
    if !take {
        return Ok(l[at].clone());
    }
    let value = l.swap_remove(at);
    *slot = Value::None;
    Ok(value)
}

/// Results as one value, by the rules of [`oxport_ir::infer::pack`].
fn pack_values(step: &Step, mut outs: Vec<Value>) -> Value {
    match outs.len() {
        _ if step.op.is_higher_order() => Value::List(outs),
        0 => Value::None,
        1 if Packing::is_single(&step.op) => outs.remove(0),
        _ => Value::List(outs),
    }
}

fn pack_tensors(step: &Step, mut views: Vec<Tensor>) -> Value {
    if views.len() == 1 && Packing::is_single_tensor(&step.op) {
        return Value::Tensor(views.remove(0));
    }
    Value::List(views.into_iter().map(Value::Tensor).collect())
}

/// A body that a higher-order operator's kernel can call.
pub(crate) struct Subgraph {
    pub name: Arc<str>,
    pub body: Body,
}

impl Callable for Subgraph {
    fn call(&self, cx: &RunCx, inputs: Vec<Value>) -> Result<Vec<Value>> {
        self.body.run(cx, inputs, None)
    }
}

impl std::fmt::Debug for Subgraph {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Subgraph({}, {} steps)", self.name, self.body.steps.len())
    }
}
