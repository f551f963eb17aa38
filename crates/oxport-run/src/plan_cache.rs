//! The plan cache: per shape signature, the layouts, buffer lifetimes and data-dependent results that a run recorded
//! for later runs.
//!
//! The signature of inputs is their dtypes, sizes and strides, and the numbers among them that can decide sizes.
//! Aliasing is observed at run time: a value that shares its storage with a buffer keeps that buffer alive.
//!
//! Invariant: a recording is only a hint. A buffer whose region is in use is allocated separately, and a result that
//! differs from the recorded one ends the replay.

use crate::fuse::{Block, blocks};
use crate::in_place::{self, Join};
use crate::memory::{Lifetime, Placement, assign_offsets};
use crate::operand_binding::for_each_tensor;
use crate::output_alloc::{OutPlan, Packing};
use crate::step::{ESCAPES, Input, Replay, Step, Views};
use indexmap::IndexMap;
use oxport_ir::{Arg, Args, Real, Value};
use oxport_tensor::Tensor;
use smallvec::SmallVec;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

/// The recording of one run.
#[derive(Debug)]
pub(crate) struct Recording {
    pub steps: Vec<Replay>,
    /// Steps that are computed in one pass.
    pub blocks: Vec<Block>,
    lives: Vec<Lifetime>,
    placement: OnceLock<Placement>,
    /// Without what is never whole.
    settled: OnceLock<Placement>,
    /// When it was used last, by the clock of the cache.
    used: AtomicU64,
}

impl Recording {
    /// The placement; computed on first use, so that shape signatures seen only once cost nothing, and again when a run
    /// has seen which results are never whole.
    pub fn placement(&self) -> &Placement {
        let mut lent = self.blocks.iter().filter_map(Block::lent).peekable();
        match lent.peek() {
            None => self.placement.get_or_init(|| place(&self.lives)),
            Some(_) => self.settled.get_or_init(|| {
                let mut lives = self.lives.clone();
                for i in lent {
                    let Replay::Fill(plans, _) = &self.steps[i] else { continue };
                    plans.iter().for_each(|plan| lives[plan.buffer as usize].bytes = 0);
                }
                place(&lives)
            }),
        }
    }
    /// The last step that reads a buffer, or [`ESCAPES`].
    pub fn last_use(&self, buffer: u32) -> Option<u32> {
        self.lives.get(buffer as usize).map(|life| life.last)
    }
    /// The size of the arena; 0 if the placement was not computed.
    pub fn arena_bytes(&self) -> usize {
        self.settled.get().or(self.placement.get()).map_or(0, |p| p.bytes)
    }
    /// True if the result of an evaluated step equals the recorded one, as far as sizes can depend on it.
    pub fn matches_recording(&self, i: usize, step: &Step, value: &Value) -> bool {
        let Replay::Watch(recorded) = &self.steps[i] else { return true };
        let mut now = SmallVec::<[i64; 32]>::new();
        print(value, step.decides_sizes, &mut now);
        now[..] == recorded[..]
    }
}

/// Where buffers lie that are in the arena.
fn place(lives: &[Lifetime]) -> Placement {
    let inside = |l: &Lifetime| l.last != ESCAPES && l.bytes > 0;
    let (offsets, bytes) = assign_offsets(&lives.iter().copied().filter(inside).collect::<Vec<_>>());
    let mut offsets = offsets.into_iter();
    let offsets = lives.iter().map(|l| if inside(l) { offsets.next() } else { None }).collect();
    Placement { offsets, bytes }
}

/// Which steps of a recording are computed together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Joining {
    /// Of how many elements on neighboring steps are computed in one pass.
    pub fuse_from: usize,
    /// Whether results are made in their place in a later one.
    pub in_place: bool,
}

/// What a step fills, and how that forms its value.
type Filled = (Vec<OutPlan>, Packing);

/// Makes a recording during a run.
pub(crate) struct Recorder {
    steps: Vec<Replay>,
    lives: Vec<Lifetime>,
    /// Steps that put their operands side by side.
    joins: Vec<Join>,
    /// The newest buffer of each storage id. Ids are reused after a storage is freed; a live storage is the newest.
    by_storage: HashMap<usize, u32>,
}

impl Recorder {
    pub fn new(steps: usize) -> Recorder {
        let steps = vec![Replay::Nothing; steps];
        Recorder { steps, lives: Vec::new(), joins: Vec::new(), by_storage: HashMap::new() }
    }
    /// Step `i` filled allocated buffers.
    pub fn fill(&mut self, i: usize, args: &Args<'_, Real>, step: &Step, (mut plans, packing): Filled, value: &Value) {
        if let (Some(parts), [whole]) = (args.op.def().and_then(|def| def.parts), &plans[..])
            && let Ok(places) = parts(args, &whole.layout)
        {
            self.joins.push(Join { step: i, places });
        }
        let mut tensors = Vec::new();
        collect(value, &mut tensors);
        for (plan, tensor) in plans.iter_mut().zip(tensors) {
            self.buffer(i, plan, tensor);
        }
        self.steps[i] = Replay::Fill(plans.into(), packing);
        self.holds(step, value);
    }
    /// Step `i` copied instead of viewing.
    pub fn copy(&mut self, i: usize, step: &Step, mut plan: OutPlan, value: &Value) {
        if let Value::Tensor(t) = value {
            self.buffer(i, &mut plan, t);
        }
        self.steps[i] = Replay::Copy(plan);
        self.holds(step, value);
    }
    /// Step `i` viewed.
    pub fn view(&mut self, i: usize, step: &Step, args: &[Arg<Real>], value: &Value) {
        if let Some(views) = Views::of(step, args, value) {
            self.steps[i] = Replay::View(views);
        }
        self.holds(step, value);
    }
    /// Step `i` allocated its own results. They may alias any argument, in another run if not in this one.
    pub fn eval(&mut self, i: usize, step: &Step, args: &[Arg<Real>], value: &Value) {
        let mut tensors = Vec::new();
        collect(value, &mut tensors);
        if !tensors.is_empty() {
            args.iter().for_each(|a| for_each_tensor(a, &mut |t| self.hold(t, step.last_use)));
        }
        let mut seen = SmallVec::<[i64; 32]>::new();
        print(value, step.decides_sizes, &mut seen);
        self.steps[i] = Replay::Watch(seen.into_vec().into());
        self.holds(step, value);
    }
    /// The value of a step is in a slot until its last use, and keeps buffers alive.
    pub fn holds(&mut self, step: &Step, value: &Value) {
        let mut tensors = Vec::new();
        collect(value, &mut tensors);
        for t in tensors {
            self.hold(t, step.last_use);
        }
    }
    fn hold(&mut self, tensor: &Tensor, until: u32) {
        if let Some(&buffer) = self.by_storage.get(&tensor.storage().id()) {
            let life = &mut self.lives[buffer as usize];
            life.last = life.last.max(until);
        }
    }
    fn buffer(&mut self, i: usize, plan: &mut OutPlan, tensor: &Tensor) {
        plan.buffer = self.lives.len() as u32;
        self.by_storage.insert(tensor.storage().id(), plan.buffer);
        self.lives.push(Lifetime { bytes: plan.bytes, first: i as u32, last: i as u32 });
    }
    /// The recording, with its blocks of steps: results within a block need no buffer, and the others get theirs when
    /// the pass begins.
    pub fn finish(mut self, steps: &[Step], templates: &[Box<[Arg<Real>]>], joining: Joining) -> Recording {
        let blocks = blocks(steps, templates, &self.steps, joining.fuse_from);
        for block in &blocks {
            for i in block.steps.clone() {
                let Replay::Fill(plans, _) = &self.steps[i] else { continue };
                for plan in plans {
                    let life = &mut self.lives[plan.buffer as usize];
                    life.first = block.pass() as u32;
                    if !block.keeps(i, &steps[i]) {
                        life.bytes = 0;
                    }
                }
            }
        }
        if joining.in_place {
            in_place::place(steps, templates, &blocks, &self.joins, &mut self.steps, &mut self.lives);
        }
        let (placement, settled) = (OnceLock::new(), OnceLock::new());
        Recording { steps: self.steps, blocks, lives: self.lives, placement, settled, used: AtomicU64::new(0) }
    }
}

fn collect<'a>(value: &'a Value, into: &mut Vec<&'a Tensor>) {
    match value {
        Value::Tensor(t) => into.push(t),
        Value::List(l) => l.iter().for_each(|v| collect(v, into)),
        _ => {}
    }
}

/// A shape signature.
pub(crate) type Key = SmallVec<[i64; 64]>;

/// The shape signature of inputs, without unused ones.
pub(crate) fn shape_key(values: &[Value], inputs: &[Option<Input>]) -> Key {
    let mut key = Key::new();
    for (value, input) in values.iter().zip(inputs) {
        if let Some(input) = input {
            print(value, input.decides_sizes, &mut key);
        }
    }
    key
}

/// Serializes everything that sizes can depend on: layouts of tensors, and numbers if `numbers`. Kinds have tags and
/// lists have lengths, so that different values give different keys.
fn print<A: smallvec::Array<Item = i64>>(value: &Value, numbers: bool, key: &mut SmallVec<A>) {
    let mut number = |mark: i64, parts: &[i64]| {
        key.push(mark);
        if numbers {
            key.extend_from_slice(parts);
        }
    };
    match value {
        Value::Tensor(t) => {
            key.push(i64::from(t.dtype().code()));
            key.push(t.rank() as i64);
            key.extend_from_slice(t.sizes());
            key.extend_from_slice(t.strides());
        }
        Value::None => key.push(-1),
        Value::Int(n) => number(-2, &[*n]),
        Value::Float(x) => number(-3, &[x.to_bits() as i64]),
        Value::Bool(b) => number(-4, &[i64::from(*b)]),
        Value::Complex(c) => number(-5, &[c.re.to_bits() as i64, c.im.to_bits() as i64]),
        Value::Str(_) => key.push(-6),
        Value::Token => key.push(-7),
        Value::List(l) => {
            key.push(-8);
            key.push(l.len() as i64);
            l.iter().for_each(|v| print(v, numbers, key));
        }
    }
}

/// Recordings by shape signature; the one that was not used for longest is evicted at [`MAX_RECORDINGS`].
#[derive(Debug, Default)]
pub(crate) struct Cache {
    recordings: RwLock<IndexMap<Box<[i64]>, Arc<Recording>>>,
    /// The number of calls.
    clock: AtomicU64,
}

/// How many recordings a body keeps.
const MAX_RECORDINGS: usize = 64;

impl Cache {
    pub fn get(&self, key: &Key) -> Option<Arc<Recording>> {
        let recording = self.recordings.read().unwrap_or_else(PoisonError::into_inner).get(&key[..]).cloned();
        if let Some(recording) = &recording {
            recording.used.store(self.now(), Relaxed);
        }
        recording
    }
    pub fn insert(&self, key: Key, recording: Recording) {
        let mut all = self.recordings.write().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MAX_RECORDINGS {
            let oldest = (0..all.len()).min_by_key(|&i| all[i].used.load(Relaxed));
            oldest.map(|i| all.swap_remove_index(i));
        }
        recording.used.store(self.now(), Relaxed);
        all.insert(key.into_vec().into(), Arc::new(recording));
    }
    fn now(&self) -> u64 {
        self.clock.fetch_add(1, Relaxed)
    }
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.recordings.read().unwrap_or_else(PoisonError::into_inner).len()
    }
    /// How many blocks all recordings have that are tried, and how many that are not any more.
    pub fn blocks(&self) -> (usize, usize) {
        let all = self.recordings.read().unwrap_or_else(PoisonError::into_inner);
        // A single step that lends or reads rows is a block for the other one's sake.
        let blocks = || all.values().flat_map(|r| &r.blocks).filter(|block| block.steps.len() > 1);
        let open = blocks().filter(|block| block.is_open()).count();
        (open, blocks().count() - open)
    }
    /// The size of the largest arena of all recordings.
    pub fn arena_bytes(&self) -> usize {
        let all = self.recordings.read().unwrap_or_else(PoisonError::into_inner);
        all.values().map(|r| r.arena_bytes()).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_used_for_longest_goes() {
        let key = |n: usize| Key::from_slice(&[n as i64]);
        let joining = Joining { fuse_from: 1, in_place: true };
        let recording = || Recorder::new(0).finish(&[], &[], joining);
        let cache = Cache::default();
        for n in 0..=MAX_RECORDINGS {
            cache.insert(key(n), recording());
            assert!(cache.get(&key(0)).is_some(), "the first one is used after each");
        }
        assert_eq!(cache.len(), MAX_RECORDINGS);
        assert!(cache.get(&key(1)).is_none() && cache.get(&key(2)).is_some());
    }

    #[test]
    fn signatures_differ_where_values_do() {
        let tensor = |dtype: oxport_tensor::DType, sizes: &[i64]| Value::Tensor(Tensor::zeros(dtype, sizes).unwrap());
        let complex = |im| Value::Complex(oxport_ir::Complex::new(1.0, im));
        let values = [
            Value::None,
            Value::Int(1),
            Value::Int(2),
            Value::Float(1.0),
            Value::Bool(true),
            complex(1.0),
            complex(2.0),
            Value::Str("1".into()),
            Value::Token,
            Value::List(vec![]),
            Value::List(vec![Value::Int(1)]),
            Value::List(vec![Value::List(vec![])]),
            tensor(oxport_tensor::DType::F32, &[1]),
            tensor(oxport_tensor::DType::F64, &[1]),
            tensor(oxport_tensor::DType::F32, &[1, 1]),
        ];
        let keys = values.each_ref().map(|value| {
            let mut key = Key::new();
            print(value, true, &mut key);
            // Tensors begin with the code of their dtype, which is none of the marks of other kinds.
            assert_eq!(key[0] < 0, !matches!(value, Value::Tensor(_)), "{value:?}");
            key
        });
        for (i, key) in keys.iter().enumerate() {
            assert!(
                keys[..i].iter().all(|other| !other.starts_with(key) && !key.starts_with(other)),
                "{:?}",
                values[i]
            );
        }
    }
}
