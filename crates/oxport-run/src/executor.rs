//! A graph made ready to run: [`Body`], and the loop that runs its steps.
//!
//! A run is in one of three modes. It *records* when it sees inputs of a shape signature for the first time: every meta
//! function is called with the actual sizes, and buffers are allocated one by one. It *replays* the recording from then
//! on: layouts are known, and buffers are regions of the frame's arena. It falls back to *free* mode, which calls the
//! meta functions again, at the step whose value differs from the recorded one (a data-dependent size).
//!
//! Invariants: the result of a run does not depend on its mode; a slot is empty after its last use; values that escape
//! the body are not allocated in an arena.

use crate::buffers::Buffers;
use crate::call;
use crate::frame::{Frame, Frames};
use crate::fuse::run_block;
use crate::locate::locate;
use crate::memory::Placement;
use crate::output_alloc::{Packing, pack_tensors, pack_values, pick};
use crate::plan_cache::{Cache, Joining, Recorder, Recording, shape_key};
use crate::profile::{Seen, Watcher};
use crate::step::{Action, Input, Output, Replay, Step};
use oxport_ir::{Arg, Args, Callable, Error, Real, Result, RunCx, Value};
use oxport_tensor::{FreeList, TensorMut, recycling};
use smallvec::SmallVec;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Instant;

/// A graph made ready to run.
pub(crate) struct Body {
    pub steps: Box<[Step]>,
    /// Per step, the arguments that all calls share.
    pub templates: Box<[Box<[Arg<Real>]>]>,
    /// The number of slots.
    pub slots: usize,
    /// One per placeholder; `None` if it is unused.
    pub inputs: Box<[Option<Input>]>,
    pub outputs: Box<[Output]>,
    /// Recordings by shape signature.
    pub cache: Cache,
    pub frames: Frames,
    /// Memory of what leaves the body.
    pub results: Arc<FreeList>,
    /// Memory of what kernels make for themselves.
    pub temporaries: FreeList,
    /// How often a region of the arena could not be used because the previous buffer there was still alive.
    pub refused: AtomicUsize,
    /// Which steps are computed together.
    pub joining: Joining,
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
    pub fn run(&self, cx: &RunCx, inputs: Vec<Value>, watch: Option<Watcher<'_>>) -> Result<Vec<Value>> {
        if inputs.len() != self.inputs.len() {
            let (want, got) = (self.inputs.len(), inputs.len());
            return Err(Error::invalid(format!("expected {want} graph inputs, got {got}")));
        }
        let key = shape_key(&inputs, &self.inputs);
        let recording = self.cache.get(&key);
        // What a recording makes has other sizes than what kernels make in later calls.
        let temporaries = recording.as_ref().map(|_| &self.temporaries);
        let (outputs, recorder) = recycling(temporaries, || self.run_steps(cx, inputs, watch, recording.as_deref()))?;
        if let Some(recorder) = recorder {
            self.cache.insert(key, recorder.finish(&self.steps, &self.templates, self.joining));
        }
        Ok(outputs)
    }

    fn run_steps(
        &self,
        cx: &RunCx,
        inputs: Vec<Value>,
        mut watch: Option<Watcher<'_>>,
        recording: Option<&Recording>,
    ) -> Result<(Vec<Value>, Option<Recorder>)> {
        let mut frame = self.frames.take(self.slots, &self.templates);
        let mut mode = match recording {
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
        let sees_all = watch.as_ref().is_some_and(Watcher::is_of_steps);
        let mut buffers = Buffers {
            arena: frame.arena.take(),
            results: &self.results,
            refused: &self.refused,
            in_place: !sees_all,
            begun: SmallVec::new(),
        };
        let blocks = recording.filter(|_| !sees_all).map_or(&[][..], |r| &r.blocks);
        let mut blocks = blocks.iter().filter(|block| block.is_open()).peekable();
        let mut next = 0;
        while let Some(step) = self.steps.get(next) {
            let i = next;
            let start = watch.is_some().then(Instant::now);
            let mut joined = 0;
            if let Mode::Replay(recording, placement) = &mode
                && let Some(block) = blocks.next_if(|block| block.steps.start == i)
            {
                let reader = if block.lends() { blocks.next() } else { None };
                let pass = (block, reader);
                run_block(cx, &self.steps, &recording.steps, pass, &mut frame, (&mut buffers, placement))?;
                joined = reader.unwrap_or(block).steps.end - 1 - i;
            } else {
                let done = self.step(cx, i, step, &mut frame, &mut buffers, &mut mode);
                done.map_err(|e| locate(e, step, &frame.args[i]))?;
            }
            next += joined + 1;
            if let (Some(watch), Some(start)) = (&mut watch, start) {
                let (name, op, time) = (&step.name, step.op.name(), start.elapsed());
                let value = self.steps[next - 1].out.map_or(&Value::None, |out| &frame.slots[out as usize]);
                watch.see(&Seen { index: i, name, op, start, time, value, joined });
            }
        }
        let outputs = self.outputs.iter().map(|o| o.collect(&mut frame.slots)).collect::<Result<_>>()?;
        frame.arena = buffers.arena;
        self.frames.recycle(frame);
        let recorder = if let Mode::Record(recorder) = mode { Some(recorder) } else { None };
        Ok((outputs, recorder))
    }

    #[inline]
    fn step(
        &self,
        cx: &RunCx,
        i: usize,
        step: &Step,
        frame: &mut Frame,
        buffers: &mut Buffers<'_>,
        mode: &mut Mode<'_>,
    ) -> Result<()> {
        for patch in &step.patches {
            patch.apply(&mut frame.slots, &mut frame.args[i])?;
        }
        let args = Args::new(&frame.args[i], &step.op, cx).with_prepared(step.prepared.as_ref());
        let value = match step.action {
            Action::Pick { slot, take, index } => {
                let value = pick(&mut frame.slots[slot as usize], take, index)?;
                if let Mode::Record(r) = mode {
                    r.holds(step, &value);
                }
                value
            }
            Action::Fill(f) => self.fill(f, i, step, &args, buffers, mode)?,
            Action::View(f) => {
                let known = match mode {
                    Mode::Replay(r, _) => r.steps[i].view(args.values).transpose()?,
                    _ => call::admit(&args).map(|()| None)?,
                };
                match known {
                    Some(value) => value,
                    None => match f(&args)? {
                        Some(views) => {
                            let value = pack_tensors(&step.op, views);
                            if let Mode::Record(r) = mode {
                                r.view(i, step, args.values, &value);
                            }
                            value
                        }
                        None => self.copy(i, step, &args, buffers, mode)?,
                    },
                }
            }
            Action::Eval(f) => {
                if !matches!(mode, Mode::Replay(..)) {
                    call::admit(&args)?;
                }
                let value = pack_values(&step.op, f(&args)?);
                match mode {
                    Mode::Record(r) => r.eval(i, step, args.values, &value),
                    Mode::Replay(r, _) if !r.matches_recording(i, step, &value) => *mode = Mode::Free,
                    _ => {}
                }
                value
            }
        };
        if let Some(out) = step.out {
            frame.slots[out as usize] = value;
        }
        for patch in &step.patches {
            patch.clear(&mut frame.args[i]);
        }
        Ok(())
    }

    #[inline(always)]
    fn fill(
        &self,
        f: fn(&Args<'_, Real>, &mut [TensorMut]) -> Result<()>,
        i: usize,
        step: &Step,
        args: &Args<'_, Real>,
        buffers: &mut Buffers<'_>,
        mode: &mut Mode<'_>,
    ) -> Result<Value> {
        if let Mode::Replay(recording, placement) = mode
            && let Replay::Fill(plans, packing) = &recording.steps[i]
        {
            if let ([plan], Packing::Tensor) = (&plans[..], packing) {
                let mut out = [buffers.make(plan, placement)?];
                f(args, &mut out)?;
                let [out] = out;
                return Ok(Value::Tensor(buffers.filled(plan, out)?));
            }
            let made = plans.iter().map(|plan| buffers.make(plan, placement));
            let mut outs = made.collect::<Result<SmallVec<[TensorMut; 2]>>>()?;
            f(args, &mut outs)?;
            return packing.pack_filled(plans, outs);
        }
        let (plans, packing, value) = call::fill(f, args)?;
        if let Mode::Record(r) = mode {
            r.fill(i, args, step, (plans, packing), &value);
        }
        Ok(value)
    }

    /// The result of a view that the strides do not allow: see [`call::copy`].
    fn copy(
        &self,
        i: usize,
        step: &Step,
        args: &Args<'_, Real>,
        buffers: &mut Buffers<'_>,
        mode: &mut Mode<'_>,
    ) -> Result<Value> {
        if let Mode::Replay(recording, placement) = mode
            && let Replay::Copy(plan) = &recording.steps[i]
        {
            let x = call::first_tensor(args.values)?;
            return Ok(Value::Tensor(plan.copy(buffers.make(plan, placement)?, &x)?));
        }
        let (plan, value) = call::copy(args)?;
        if let Mode::Record(r) = mode {
            r.copy(i, step, plan, &value);
        }
        Ok(value)
    }
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

#[cfg(test)]
mod tests {
    use crate::plan::{Plan, PlanOptions};
    use crate::test_ops::{CHAIN, f32s, plan, program, random_program, registry, run_three_times as run, show};
    use oxport_ir::Value;
    use oxport_tensor::Tensor;

    #[test]
    fn buffers_share_an_arena() {
        // relu, add, relu_1 need two regions; add_1 escapes. In one pass, the first three need none.
        for (fuse_from, arena, blocks) in [(usize::MAX, 2 * 2048, 0), (1, 0, 2), (3, 128, 1)] {
            share_an_arena(fuse_from, arena, blocks);
        }
    }

    fn share_an_arena(fuse_from: usize, arena: usize, blocks: usize) {
        let options = PlanOptions { fuse_from, ..PlanOptions::default() };
        let plan = Plan::new(&program(CHAIN), &registry(), &options).unwrap();
        assert_eq!(plan.num_steps(), 4, "the unused view is eliminated");
        let x: Vec<f32> = (0..512).map(|i| i as f32 - 256.0).collect();
        let want: Vec<f32> = x.iter().map(|x| x + 3.0 * x.max(0.0)).collect();
        for rows in [256, 1, 0, 256] {
            let n = rows as usize * 2;
            let x = f32s(&[rows, 2], x[..n].to_vec());
            assert_eq!(run(&plan, &[x]), [show(&f32s(&[rows, 2], want[..n].to_vec()))]);
        }
        assert_eq!((plan.arena_bytes(), plan.refused_regions()), (arena, 0));
        assert_eq!(plan.fused_blocks(), (blocks, 0), "of two sizes with elements");
    }

    #[test]
    fn escaping_values_survive_the_next_call() {
        let plan = plan(
            r#"
def forward(self, x: "f32[4]"):
    relu = torch.ops.aten.relu.default(x)
    split = torch.ops.aten.split.Tensor(relu, 2)
    getitem = split[0]
    getitem_1 = split[1]
    add = torch.ops.aten.add.Tensor(getitem_1, getitem)
    relu_1 = torch.ops.aten.relu.default(add)
    return (getitem, relu_1, relu_1, x, 7, None)
"#,
        );
        let call = |n: f32| plan.run(vec![f32s(&[4], [n, n + 1.0, n + 2.0, n + 3.0])]).unwrap().user;
        let all: Vec<Vec<Value>> = (0..4).map(|i| call(i as f32)).collect();
        let shown: Vec<String> = all.iter().map(|o| o.iter().map(show).collect::<Vec<_>>().join("; ")).collect();
        assert_eq!(shown[3], "f32[2]: 3 4; f32[2]: 8 10; f32[2]: 8 10; f32[4]: 3 4 5 6; 7; None");
        assert_eq!(shown[1], "f32[2]: 1 2; f32[2]: 4 6; f32[2]: 4 6; f32[4]: 1 2 3 4; 7; None");
        assert_eq!(plan.refused_regions(), 0);
    }

    #[test]
    fn a_view_that_strides_forbid_is_a_copy() {
        let plan = plan(
            r#"
def forward(self, x: "f32[2, 3]"):
    relu = torch.ops.aten.relu.default(x)
    t = torch.ops.aten.t.default(relu)
    view = torch.ops.aten.view.default(t, [6])
    view_1 = torch.ops.aten.view.default(relu, [6])
    add = torch.ops.aten.add.Tensor(view, view_1)
    return (add,)
"#,
        );
        let x = f32s(&[2, 3], [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
        assert_eq!(run(&plan, std::slice::from_ref(&x)), ["f32[6]: 0 4 3 7 6 10"]);
        // Other strides are another signature: now the first view is free and the second copies.
        let Value::Tensor(x) = x else { unreachable!() };
        let turned = x.reshape(&[3, 2]).unwrap().view(|l| l.transpose(0, 1)).unwrap();
        assert_eq!(run(&plan, &[turned.into()]), ["f32[6]: 0 3 6 4 7 10"].map(String::from));
    }

    #[test]
    fn sizes_that_depend_on_data_are_followed() {
        let plan = plan(
            r#"
def forward(self, x: "f32[5]", y: "f32[5]"):
    relu: "f32[5]" = torch.ops.aten.relu.default(x)
    nonzero: "i64[u0]" = torch.ops.aten.nonzero.default(relu)
    sym_size: "Sym(u0)" = torch.ops.aten.sym_size.int(nonzero, 0)
    mul: "Sym(2*u0)" = sym_size * 2
    full: "f32[2*u0]" = torch.ops.aten.full.default([mul], 0.5)
    cat: "f32[2*u0 + 5]" = torch.ops.aten.cat.default([full, y])
    relu_1: "f32[2*u0 + 5]" = torch.ops.aten.relu.default(cat)
    return (nonzero, relu_1, mul)
"#,
        );
        let y = f32s(&[5], [-1.0, 1.0, 2.0, 3.0, 4.0]);
        for (x, want) in [
            ([1.0, 0.0, 0.0, -1.0, 5.0], ["i64[2]: 0 4", "f32[9]: 0.5 0.5 0.5 0.5 0 1 2 3 4", "4"]),
            ([0.0, 0.0, 0.0, -1.0, 5.0], ["i64[1]: 4", "f32[7]: 0.5 0.5 0 1 2 3 4", "2"]),
            ([0.0; 5], ["i64[0]: ", "f32[5]: 0 1 2 3 4", "0"]),
            ([1.0, 1.0, 0.0, 0.0, 0.0], ["i64[2]: 0 1", "f32[9]: 0.5 0.5 0.5 0.5 0 1 2 3 4", "4"]),
        ] {
            assert_eq!(run(&plan, &[f32s(&[5], x), y.clone()]), want);
        }
    }

    #[test]
    fn numbers_decide_sizes_or_not() {
        // n is a size: another signature. k and item only scale: the same recording serves all values.
        let plan = plan(
            r#"
def forward(self, n: "Sym(s0)", k: "Sym(s1)", x: "f32[1]"):
    item: "Sym(u0)" = torch.ops.aten._local_scalar_dense.default(x)
    full = torch.ops.aten.full.default([n], 1.0)
    mul = torch.ops.aten.mul.Scalar(full, k)
    mul_1 = torch.ops.aten.mul.Scalar(mul, item)
    relu = torch.ops.aten.relu.default(mul_1)
    return (relu,)
"#,
        );
        for (n, k, x, want) in
            [(2, 3, 0.5, "f32[2]: 1.5 1.5"), (2, 5, 1.0, "f32[2]: 5 5"), (3, 5, 2.0, "f32[3]: 10 10 10")]
        {
            assert_eq!(run(&plan, &[Value::Int(n), Value::Int(k), f32s(&[1], [x])]), [want]);
        }
        assert_eq!(plan.num_recordings(), 2);
    }

    #[test]
    fn subgraphs_are_called() {
        let plan = plan(
            r#"
class GraphModule(torch.nn.Module):
    def forward(self, p: "b8[]", x: "f32[3]"):
        true_graph_0 = self.true_graph_0
        false_graph_0 = self.false_graph_0
        relu: "f32[3]" = torch.ops.aten.relu.default(x)
        cond = torch.ops.higher_order.cond(p, true_graph_0, false_graph_0, [relu, x])
        getitem: "f32[3]" = cond[0]
        add: "f32[3]" = torch.ops.aten.add.Tensor(getitem, x)
        return (add,)

    class true_graph_0(torch.nn.Module):
        def forward(self, a: "f32[3]", b: "f32[3]"):
            add: "f32[3]" = torch.ops.aten.add.Tensor(a, b)
            relu: "f32[3]" = torch.ops.aten.relu.default(add)
            return (relu,)

    class false_graph_0(torch.nn.Module):
        def forward(self, a: "f32[3]", b: "f32[3]"):
            return (a,)
"#,
        );
        let x = f32s(&[3], [-1.0, 2.0, 3.0]);
        for (p, want) in [(true, "f32[3]: -1 6 9"), (false, "f32[3]: -1 4 6"), (true, "f32[3]: -1 6 9")] {
            assert_eq!(run(&plan, &[Value::Tensor(Tensor::scalar(p)), x.clone()]), [want]);
        }
        assert_eq!(plan.refused_regions(), 0);
    }

    /// A result may be an argument of several calls, also inside a list: its region of the arena stays reserved until
    /// the last.
    #[test]
    fn lists_are_arguments() {
        let plan = plan(
            r#"
def forward(self, x: "f32[4]", at: "f32[s0]"):
    relu = torch.ops.aten.relu.default(x)
    pick = torch.ops.my.pick.default([x, relu], at)
    mul = torch.ops.aten.mul.Scalar(x, 2)
    add = torch.ops.aten.add.Tensor(pick, mul)
    split = torch.ops.aten.split.Tensor(add, 2)
    last = split[-1]
    cat = torch.ops.aten.cat.default(split)
    cat_1 = torch.ops.aten.cat.default([last, cat])
    return (cat_1,)
"#,
        );
        for (at, want) in [(0.0, "f32[6]: 9 -12 3 -6 9 -12"), (1.0, "f32[6]: 9 -8 3 -4 9 -8")] {
            assert_eq!(run(&plan, &[f32s(&[4], [1.0, -2.0, 3.0, -4.0]), f32s(&[1], [at])]), [want]);
        }
        // No kernel runs on arguments that its meta function rejects.
        let e = plan.run(vec![f32s(&[4], [0.0; 4]), f32s(&[2], [0.0; 2])]).unwrap_err().to_string();
        assert!(e.contains("expected one number in `at`"), "{e}");
        assert_eq!(plan.refused_regions(), 0);
    }

    #[test]
    fn other_dtypes_are_computed_with() {
        let plan = plan(CHAIN);
        let x = Tensor::from_vec(&[1, 2], vec![1.5f64, -2.0]).unwrap();
        assert_eq!(run(&plan, &[x.into()]), ["f64[1, 2]: 6 -2"]);
        assert_eq!(run(&plan, &[f32s(&[1, 2], [1.5, -2.0])]), ["f32[1, 2]: 6 -2"]);
    }

    #[test]
    fn random_programs_replay_as_recorded() {
        let mut seed = 3u64;
        let mut draw = move |n: usize| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) as usize % n
        };
        let mut fused = 0;
        for _ in 0..150 {
            let text = random_program(&mut draw);
            let veteran = plan(&text);
            let mut kept = Vec::new();
            for _ in 0..4 {
                let mut four = |sizes: &[i64]| f32s(sizes, [0; 4].map(|_| draw(9) as f32 - 4.0));
                let inputs = vec![four(&[4]), four(&[2, 2])];
                let shown = |v: &[Value]| v.iter().map(show).collect::<Vec<_>>();
                let fresh = shown(&plan(&text).run(inputs.clone()).unwrap().user);
                let out = veteran.run(inputs).unwrap().user;
                assert_eq!(shown(&out), fresh, "{text}");
                kept.push((out, fresh));
            }
            for (out, fresh) in kept {
                assert_eq!(out.iter().map(show).collect::<Vec<_>>(), fresh, "a later call changed this:\n{text}");
            }
            assert_eq!((veteran.refused_regions(), veteran.fused_blocks().1), (0, 0), "{text}");
            fused += veteran.fused_blocks().0;
        }
        assert!(fused > 50, "{fused}");
    }
}
