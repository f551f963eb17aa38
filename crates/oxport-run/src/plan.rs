//! [`Plan`]: a program lowered for execution, and one call of it.
//!
//! ```text
//! user inputs ─ checks ─┐
//! mutable state ────────┼─> body ─> outputs ─┬─> user outputs
//! weights (in the body) ┘                    └─> new values of mutated buffers and inputs
//! ```
//!
//! Invariants: a plan is immutable (except for its caches), so any number of threads may call it; results are bitwise
//! equal for any number of threads.

use crate::error::{Error, Result};
use crate::executor::Body;
use crate::inputs::{Checks, InputChecks};
use crate::layout::lay_out;
use crate::lower::lower;
use crate::outputs::{MutableState, Outputs, Target, assign_outputs, targets};
use crate::plan_cache::Joining;
use crate::prepare::prepare;
use crate::profile::{Profile, Watch, Watcher};
use indexmap::IndexSet;
use oxport_ir::{ExportedProgram, InputKind, ModuleCallSignature, OutputKind, Registry, RunCx, Value};
use oxport_tensor::memory::DEFAULT_MAX_BUFFER_BYTES;
use oxport_tensor::{Pool, Tensor};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// How a plan is made.
#[derive(Clone, Debug)]
pub struct PlanOptions {
    /// The number of threads; 0 means all cores.
    pub threads: usize,
    /// How strictly inputs are checked.
    pub checks: InputChecks,
    /// The seed of random operators.
    pub seed: u64,
    /// The maximum size of one buffer of a run, in bytes: a result, a copy of an operand, a table of a kernel. A
    /// program of three nodes may ask for terabytes, and a system that overcommits memory notices too late.
    pub max_buffer_bytes: usize,
    /// Whether operators make what they need of their constant arguments once, when the plan is made: constant weights
    /// are packed. The results are the same without it; a plan that is called once may be cheaper without.
    pub prepare: bool,
    /// Whether operators may prepare what makes results that round otherwise: a convolution of 3×3 by Winograd's
    /// algorithm takes a quarter of the multiplications, and differs by a few millionths of the largest element. What
    /// [`prepare`](PlanOptions::prepare) turns off, this does not turn on.
    pub fast: bool,
    /// Whether images lie channel by channel within each pixel between convolutions that are faster so, and sequences
    /// row by row where rows are read. The results are the same without it, strides included.
    pub layout: bool,
    /// Neighboring elementwise operators, and those behind a product or convolution, are computed in one pass, from the
    /// second call of a shape on, where their results have at least so many elements. The results are the same without
    /// it (`usize::MAX`).
    pub fuse_from: usize,
    /// Results that only a later `cat` reads are written into their place in its result, from the second call of a
    /// shape on, instead of copied there. The results are the same without it.
    pub in_place: bool,
}

/// Fewer elements stay in the cache, whatever is done with them.
const FUSE_FROM: usize = 1 << 12;

impl Default for PlanOptions {
    /// All threads, PyTorch's checks, seed 0, buffers of at most 2 GiB, everything prepared but what rounds otherwise,
    /// layouts chosen, passes joined, results made in place.
    fn default() -> PlanOptions {
        let checks = InputChecks::default();
        let max_buffer_bytes = DEFAULT_MAX_BUFFER_BYTES;
        PlanOptions {
            threads: 0,
            checks,
            seed: 0,
            max_buffer_bytes,
            prepare: true,
            fast: false,
            layout: true,
            fuse_from: FUSE_FROM,
            in_place: true,
        }
    }
}

/// A functional program, lowered for execution.
pub struct Plan {
    body: Body,
    checks: Checks,
    /// Where the value of each placeholder comes from.
    feeds: Vec<PlaceholderSource>,
    state: Vec<MutableState>,
    outputs: Vec<Target>,
    signature: Option<ModuleCallSignature>,
    weights_bytes: usize,
    pool: Pool,
    seed: u64,
}

#[derive(Clone, Copy, Debug)]
enum PlaceholderSource {
    User(usize),
    State(usize),
    Token,
    /// Part of the body.
    Known,
}

impl Plan {
    /// Lowers a functional program whose operators all have kernels.
    ///
    /// # Errors
    /// Unsupported, with [`Error::missing`], if operators have no kernel; otherwise if a call does not match its schema
    /// or writes to its arguments, or if the program lacks a tensor that its signature names.
    pub fn new(program: &ExportedProgram, registry: &Registry, options: &PlanOptions) -> Result<Plan> {
        let signature = &program.signature;
        let placeholders: Vec<&Arc<str>> = program.graph.placeholders().map(|(_, n)| &n.name).collect();
        if placeholders.len() != signature.inputs.len() || program.graph.outputs().len() != signature.outputs.len() {
            return Err(oxport_ir::Error::invalid("the signature does not match the graph's inputs and outputs").into());
        }
        let mutated: IndexSet<&Arc<str>> = signature
            .outputs
            .iter()
            .filter_map(|o| match &o.kind {
                OutputKind::BufferMutation(name) | OutputKind::ParameterMutation(name) => Some(name),
                _ => None,
            })
            .collect();
        let (mut feeds, mut state, mut known) = (Vec::new(), Vec::<MutableState>::new(), Vec::new());
        let mut users = Vec::new();
        for (spec, placeholder) in signature.inputs.iter().zip(&placeholders) {
            let mut value = None;
            let lifted = spec.kind.lifted();
            feeds.push(match &spec.kind {
                InputKind::UserInput | InputKind::ConstantInput(_) => {
                    users.push(*placeholder);
                    if let InputKind::ConstantInput(c) = &spec.kind {
                        value = crate::lower::constant(c).ok().filter(|v| !matches!(v, Value::None));
                    }
                    PlaceholderSource::User(users.len() - 1)
                }
                InputKind::Token => PlaceholderSource::Token,
                // Loaded but not interpreted: operators that take one have no kernel.
                InputKind::CustomObj { .. } => {
                    value = Some(Value::None);
                    PlaceholderSource::Known
                }
                kind => {
                    let name = lifted.expect("law: every other kind is lifted");
                    let tensor = program.lifted(kind).ok_or_else(|| {
                        oxport_ir::Error::invalid(format!(
                            "placeholder `{placeholder}`: the program has no tensor `{name}`"
                        ))
                    })?;
                    if mutated.contains(name) {
                        let known = state.iter().position(|s| s.name == *name);
                        PlaceholderSource::State(known.unwrap_or_else(|| {
                            let is_persistent = program.state.contains_key(name);
                            let initial = tensor.tensor.clone();
                            state.push(MutableState { name: name.clone(), initial, is_persistent });
                            state.len() - 1
                        }))
                    } else {
                        value = Some(Value::Tensor(tensor.tensor.clone()));
                        PlaceholderSource::Known
                    }
                }
            });
            known.push(value);
        }
        let outputs = targets(program, &state, &users)?;
        let relaid = options.layout.then(|| lay_out(&program.graph, &program.env, registry)).flatten();
        let (relaid, copies) = relaid.unzip();
        let graph = relaid.as_ref().unwrap_or(&program.graph);
        let joining = Joining { fuse_from: options.fuse_from, in_place: options.in_place };
        let mut body = lower(graph, registry, &|i| known[i].clone(), copies.unwrap_or_default(), joining)?;
        let pool = Pool::new(options.threads, options.max_buffer_bytes)?;
        if options.prepare {
            pool.install(|| oxport_tensor::gemm::together(|| prepare(&mut body, options.fast)));
        }
        let mut storages = std::collections::HashMap::new();
        for (_, t) in program.tensors() {
            storages.insert(t.tensor.storage().id(), t.tensor.storage().len_bytes());
        }
        Ok(Plan {
            body,
            checks: Checks::of(program, options.checks),
            feeds,
            state,
            outputs,
            signature: program.call_signature().cloned(),
            weights_bytes: storages.values().sum(),
            pool,
            seed: options.seed,
        })
    }

    pub(crate) fn checks(&self) -> &Checks {
        &self.checks
    }
    /// Checks flat user inputs without running anything, as every call does first.
    ///
    /// # Errors
    /// [`Error::is_input`]: the first input that fails a check, with the reason and what to change.
    pub fn check_inputs(&self, inputs: &[Value]) -> Result<()> {
        self.checks.admit(inputs)
    }

    /// Calls the program on flat user inputs, with the state of the program.
    ///
    /// # Errors
    /// As [`Plan::call`].
    pub fn run(&self, inputs: Vec<Value>) -> Result<Outputs> {
        self.call(inputs, self.initial_state(), None)
    }

    /// Calls the program on flat user inputs (trailing ones with defaults may be omitted) and a state: one tensor per
    /// [`Plan::state`]. Adds to the profile ([`Plan::new_profile`]), if one is given.
    ///
    /// # Errors
    /// The inputs fail a check ([`Error::is_input`]); an assertion of the program fails ([`Error::is_assertion`]); or a
    /// kernel fails.
    pub fn call(&self, inputs: Vec<Value>, state: Vec<Tensor>, profile: Option<&mut Profile>) -> Result<Outputs> {
        match profile {
            Some(profile) => self.time(inputs, state, &mut |seen| {
                profile.add(seen);
            }),
            None => self.observed(inputs, state, None),
        }
    }

    /// As [`Plan::call`]; calls a function after every step, or every group of steps that is computed in one pass
    /// ([`Seen::joined`](crate::Seen)).
    ///
    /// # Errors
    /// As [`Plan::call`].
    pub fn time(&self, inputs: Vec<Value>, state: Vec<Tensor>, watch: Watch<'_>) -> Result<Outputs> {
        self.observed(inputs, state, Some(Watcher::Passes(watch)))
    }

    /// As [`Plan::call`]; calls a function after every step, each of which is run by itself.
    ///
    /// # Errors
    /// As [`Plan::call`].
    pub fn watch(&self, inputs: Vec<Value>, state: Vec<Tensor>, watch: Watch<'_>) -> Result<Outputs> {
        self.observed(inputs, state, Some(Watcher::Steps(watch)))
    }

    fn observed(&self, inputs: Vec<Value>, state: Vec<Tensor>, watch: Option<Watcher<'_>>) -> Result<Outputs> {
        let inputs = self.checks.completed(inputs);
        self.checks.admit(&inputs)?;
        if state.len() != self.state.len() {
            let (want, got) = (self.state.len(), state.len());
            return Err(Error::input(format!("expected {want} state tensors, got {got}")));
        }
        let fed = self.fed(&inputs, &state);
        let cx = RunCx::new(self.seed);
        let results = self.pool.install(|| self.body.run(&cx, fed, watch))?;
        assign_outputs(&self.outputs, results, &inputs, &self.state, state)
    }

    /// The values of the body's placeholders.
    pub(crate) fn fed(&self, inputs: &[Value], state: &[Tensor]) -> Vec<Value> {
        let feed = |feed: &PlaceholderSource| match *feed {
            PlaceholderSource::User(i) => inputs[i].clone(),
            PlaceholderSource::State(i) => Value::Tensor(state[i].clone()),
            PlaceholderSource::Token => Value::Token,
            PlaceholderSource::Known => Value::None,
        };
        self.feeds.iter().map(feed).collect()
    }
    pub(crate) fn body(&self) -> &Body {
        &self.body
    }

    /// The tensors that calls mutate.
    pub fn state(&self) -> &[MutableState] {
        &self.state
    }
    /// Their values when loaded.
    pub fn initial_state(&self) -> Vec<Tensor> {
        self.state.iter().map(|s| s.initial.clone()).collect()
    }
    /// The number of flat user inputs.
    pub fn num_inputs(&self) -> usize {
        self.checks.len()
    }
    /// The placeholder names of the flat user inputs.
    pub fn input_names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.checks.names()
    }
    /// The call signature: the pytrees of inputs and outputs, if known.
    pub fn signature(&self) -> Option<&ModuleCallSignature> {
        self.signature.as_ref()
    }
    /// The number of threads.
    pub fn threads(&self) -> usize {
        self.pool.threads()
    }
    /// The number of calls in the plan, subgraphs not counted.
    pub fn num_steps(&self) -> usize {
        self.body.steps.len()
    }
    /// Bytes of the program's tensors, shared storages counted once.
    pub fn weights_bytes(&self) -> usize {
        self.weights_bytes
    }
    /// Bytes of the largest arena so far; 0 before a shape signature is seen for the second time.
    pub fn arena_bytes(&self) -> usize {
        self.body.cache.arena_bytes()
    }
    #[cfg(test)]
    pub(crate) fn num_recordings(&self) -> usize {
        self.body.cache.len()
    }
    /// How often a buffer's region of the arena was still in use, so that it was allocated separately.
    pub fn refused_regions(&self) -> usize {
        self.body.refused.load(Ordering::Relaxed)
    }
    /// In the recordings so far: how many groups of steps are computed in one pass, and how many could not be: see
    /// [`PlanOptions::fuse_from`].
    pub fn fused_blocks(&self) -> (usize, usize) {
        self.body.cache.blocks()
    }
    /// An empty profile of this plan's nodes.
    pub fn new_profile(&self) -> Profile {
        Profile::of(&self.body.steps)
    }
}

impl std::fmt::Debug for Plan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Plan({} steps, {} weight bytes, {} threads)", self.num_steps(), self.weights_bytes, self.threads())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_ops::{CHAIN, f32s, plan, program, registry, run_three_times, show};
    use oxport_ir::{Args, Fake, Meta, Operator, Real, Val};
    use oxport_tensor::parallel;
    use std::sync::Mutex;

    #[test]
    fn missing_operators_are_listed_whole() {
        let text = r#"
class GraphModule(torch.nn.Module):
    def forward(self, x: "f32[3]"):
        sub_0 = self.sub_0
        b: "f32[3]" = torch.ops.my.odd.default(x)
        c: "f32[3]" = torch.ops.aten.relu.default(b)
        dead: "f32[3]" = torch.ops.aten.cosh.default(b)
        d = torch.ops.higher_order.cond(True, sub_0, sub_0, [b])
        e: "f32[3]" = d[0]
        f: "f32[3]" = torch.ops.my.odd.default(e)
        return (c, f)

    class sub_0(torch.nn.Module):
        def forward(self, a: "f32[3]"):
            s: "f32[3]" = torch.ops.aten.sinh.default(a)
            return (s,)
"#;
        let e = Plan::new(&program(text), &registry(), &PlanOptions::default()).unwrap_err();
        assert_eq!(e.missing(), ["aten::sinh", "my::odd"]);
        assert!(e.is_unsupported() && !e.is_input() && !e.is_assertion());
        assert_eq!(e.to_string(), "no kernel for aten::sinh, my::odd");
    }

    #[test]
    fn steps_run_on_the_callers_thread() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let log = seen.clone();
        let same = |args: &Args<'_, Meta>| Ok(vec![Val::Tensor(args.at::<&Fake>(0)?.clone())]);
        let op = Operator::new("my::seen(Tensor x) -> Tensor", same).eval(move |args: &Args<'_, Real>| {
            let x: &Tensor = args.at(0)?;
            log.lock().unwrap().push(std::thread::current().id());
            parallel::for_tasks(x.to_vec::<f32>()?[0] as usize, &|_| ());
            Ok(vec![Value::Tensor(x.clone())])
        });
        let registry = registry().with([op]).unwrap();
        let text = "def forward(self, x: \"f32[1]\"):\n    y = torch.ops.my.seen.default(x)\n    return (y,)\n";
        let program = oxport_ir::parse::parse(text, &registry).unwrap();
        let options = PlanOptions { threads: 2, ..PlanOptions::default() };
        let plan = Plan::new(&program, &registry, &options).unwrap();
        let here = std::thread::current().id();
        let stays = |tasks: f32| {
            plan.run(vec![f32s(&[1], [tasks])]).unwrap();
            seen.lock().unwrap().pop() == Some(here)
        };
        assert_eq!([1.0, 5.0, 1.0].map(stays), [true; 3]);
    }

    #[test]
    fn assertions_and_errors_say_where() {
        let text = r#"
def forward(self, x: "f32[s0]", y: "f32[s1]"):
    sym_size: "Sym(s0)" = torch.ops.aten.sym_size.int(x, 0)
    ge: "Sym(s0 >= 4)" = sym_size >= 4
    _assert = torch.ops.aten._assert_scalar.default(ge, 'Runtime assertion failed for s0 >= 4')
    add: "f32[s0]" = torch.ops.aten.add.Tensor(x, y)
    return (add,)
"#;
        let mut p = program(text);
        let add = p.graph.find("add").unwrap();
        p.graph.meta_mut(add).stack_trace = Some("File \"m.py\", line 3, in forward\n    return x + y".into());
        let plan = Plan::new(&p, &registry(), &PlanOptions::default()).unwrap();
        let zeros = |n: i64| f32s(&[n], vec![0.0; n as usize]);
        let e = plan.run(vec![zeros(3), zeros(3)]).unwrap_err();
        assert!(e.is_assertion() && !e.is_unsupported(), "{e}");
        assert!(
            e.to_string().starts_with("Runtime assertion failed for s0 >= 4\n  in %_assert = aten::_assert_scalar")
        );
        let e = plan.run(vec![zeros(4), zeros(5)]).unwrap_err();
        assert!(!e.is_assertion() && !e.is_unsupported() && !e.is_input(), "{e}");
        let place = "in %add = aten::add.Tensor(f32[4], f32[5], 1)\n  File \"m.py\", line 3, in forward: return x + y";
        assert!(e.to_string().ends_with(place), "{e}");
        // The plan can still be used.
        assert_eq!(run_three_times(&plan, &[zeros(4), zeros(4)]), ["f32[4]: 0 0 0 0"]);
    }

    #[test]
    fn plans_have_their_own_bounds() {
        let p = program(CHAIN);
        let plan = |max_buffer_bytes| {
            Plan::new(&p, &registry(), &PlanOptions { max_buffer_bytes, ..PlanOptions::default() }).unwrap()
        };
        let (small, usual) = (plan(39), plan(80));
        let inputs = || vec![f32s(&[5, 2], [1.0; 10])];
        for _ in 0..3 {
            let e = small.run(inputs()).unwrap_err();
            assert!(e.is_limit() && !e.is_unsupported() && !e.is_input(), "{e}");
            let message = "sizes [5, 2] of float32 take 40 bytes: the limit for one buffer is 39\n  in %relu";
            assert!(e.to_string().starts_with(message), "{e}");
            assert!(usual.run(inputs()).is_ok());
        }
    }

    #[test]
    fn many_threads_share_a_plan() {
        let plan = plan(CHAIN);
        std::thread::scope(|s| {
            for t in 0..8 {
                let plan = &plan;
                s.spawn(move || {
                    for i in 0..50 {
                        let rows = 1 + (t + i) % 3;
                        let x: Vec<f32> = (0..rows * 2).map(|n| (n + t) as f32 - 3.0).collect();
                        let want: Vec<f32> = x.iter().map(|x| x + 3.0 * x.max(0.0)).collect();
                        let got = plan.run(vec![f32s(&[rows as i64, 2], x)]).unwrap().user;
                        assert_eq!(show(&got[0]), show(&f32s(&[rows as i64, 2], want)));
                    }
                });
            }
        });
        assert_eq!(plan.refused_regions(), 0);
    }

    #[test]
    fn joined_passes_are_profiled_as_one() {
        let options = PlanOptions { fuse_from: 1, ..PlanOptions::default() };
        let plan = Plan::new(&program(CHAIN), &registry(), &options).unwrap();
        let mut profile = plan.new_profile();
        let x = || vec![f32s(&[2, 2], [1.0; 4])];
        for _ in 0..3 {
            plan.call(x(), vec![], Some(&mut profile)).unwrap();
        }
        // The first call runs step by step.
        let counts: Vec<_> = profile.nodes().map(|n| (&*n.name, &*n.op, n.calls, n.bytes)).collect();
        let all = "aten::relu + aten::add.Tensor + aten::relu + aten::add.Tensor";
        assert_eq!(counts[..2], [("relu", "aten::relu", 1, 16), ("relu", all, 2, 32)]);
        assert_eq!(counts.len(), 5);
        // Who watches steps sees each of them.
        let mut seen = Vec::new();
        plan.watch(x(), vec![], &mut |s| seen.push((s.name.to_string(), s.joined))).unwrap();
        assert_eq!(seen.len(), 4, "{seen:?}");
        assert!(seen.iter().all(|(_, joined)| *joined == 0));
    }

    #[test]
    fn profiles_count_calls_and_bytes() {
        let options = PlanOptions { fuse_from: usize::MAX, ..PlanOptions::default() };
        let plan = Plan::new(&program(CHAIN), &registry(), &options).unwrap();
        let mut profile = plan.new_profile();
        for _ in 0..3 {
            plan.call(vec![f32s(&[2, 2], [1.0; 4])], vec![], Some(&mut profile)).unwrap();
        }
        let counts: Vec<_> = profile.nodes().map(|n| (&*n.name, n.calls, n.bytes)).collect();
        assert_eq!(counts, [("relu", 3, 48), ("add", 3, 48), ("relu_1", 3, 48), ("add_1", 3, 48)]);
        let by_op: Vec<_> = profile.by_op().iter().map(|n| n.calls).collect();
        assert_eq!(by_op, [6, 6]);
        let text = profile.to_string();
        let shares = text.lines().take(2).map(|row| row.split_whitespace().nth(2).unwrap().parse::<f64>().unwrap());
        assert!(text.contains("aten::relu") && (shares.sum::<f64>() - 100.0).abs() < 0.3, "{text}");
        // Results of several tensors count, too: two floats and two indices a row.
        let plan = crate::test_ops::plan(
            "def forward(self, x: \"f32[2, 3]\"):\n    m = torch.ops.aten.max.dim(x, 1)\n    g = m[0]\n    \
            return (g,)\n",
        );
        let mut profile = plan.new_profile();
        plan.call(vec![f32s(&[2, 3], [1.0; 6])], vec![], Some(&mut profile)).unwrap();
        assert_eq!(profile.nodes().next().unwrap().bytes, 24);
    }
}
