//! A program made ready to run: [`Plan`], and one call of it.
//!
//! ```text
//! user inputs ─ checks ─┐
//! mutable state ────────┼─> body ─> outputs ─┬─> what the user gets
//! weights (in the body) ┘                    └─> new values of buffers and inputs, as `copy_` would leave them
//! ```
//!
//! Laws: a plan never changes (beside its caches), so any number of threads may call it; every call gives the same
//! bits, whatever the number of threads.

use crate::body::Body;
use crate::error::{Error, Result};
use crate::inputs::{Checks, InputChecks};
use crate::lower::lower;
use crate::profile::Profile;
use indexmap::IndexSet;
use oxport_ir::{Argument, ExportedProgram, InputKind, ModuleCallSignature, OutputKind, Registry, RunCx, Value};
use oxport_tensor::{Layout, Tensor, TensorMut, copy};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// How a plan is made.
#[derive(Clone, Debug, Default)]
pub struct PlanOptions {
    /// The number of threads; 0 is as many as the machine has.
    pub threads: usize,
    /// How strictly inputs are checked.
    pub checks: InputChecks,
    /// The seed of random operators.
    pub seed: u64,
}

/// A functional program made ready to run.
pub struct Plan {
    body: Body,
    checks: Checks,
    /// What fills each placeholder.
    feeds: Vec<Feed>,
    state: Vec<StateTensor>,
    outputs: Vec<Target>,
    signature: Option<ModuleCallSignature>,
    weights_bytes: usize,
    pool: rayon::ThreadPool,
    seed: u64,
}

#[derive(Clone, Copy, Debug)]
enum Feed {
    User(usize),
    State(usize),
    Token,
    /// Part of the body.
    Known,
}

/// A tensor of the program that its calls change: a mutated buffer or parameter.
#[derive(Clone, Debug)]
pub struct StateTensor {
    /// The name in the state dict, or in the constants.
    pub name: Arc<str>,
    /// The value before the first call.
    pub initial: Tensor,
    /// Whether it is part of the state dict.
    pub is_persistent: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Target {
    User,
    State(usize),
    Input(usize),
    /// The mutation that this user output is the same value as: the user gets the mutated tensor itself.
    SameAs(usize),
    Dropped,
}

/// What one call yields.
#[derive(Clone, Debug, Default)]
pub struct Outputs {
    /// The user's outputs, flat.
    pub user: Vec<Value>,
    /// New values of user inputs that the program writes to, by the input's number.
    pub mutated_inputs: Vec<(usize, Tensor)>,
    /// New values of buffers and parameters, by name.
    pub mutated_buffers: Vec<(Arc<str>, Tensor)>,
    /// The state after the call: what the next call takes.
    pub state: Vec<Tensor>,
}

impl Plan {
    /// Makes a program ready: functional, with an operator's kernel for every node.
    ///
    /// # Errors
    /// Unsupported, with [`Error::missing`], if operators have no kernel; otherwise if a call does not fit its schema or
    /// writes to its arguments, or if the program lacks a tensor that its signature names.
    pub fn new(program: &ExportedProgram, registry: &Registry, options: &PlanOptions) -> Result<Plan> {
        let signature = &program.signature;
        let placeholders: Vec<&Arc<str>> = program.graph.placeholders().map(|(_, n)| &n.name).collect();
        if placeholders.len() != signature.inputs.len() || program.graph.outputs().len() != signature.outputs.len() {
            return Err(oxport_ir::Error::invalid("the signature does not fit the graph's inputs and outputs").into());
        }
        let mutated: IndexSet<&Arc<str>> = signature
            .outputs
            .iter()
            .filter_map(|o| match &o.kind {
                OutputKind::BufferMutation(name) | OutputKind::ParameterMutation(name) => Some(name),
                _ => None,
            })
            .collect();
        let (mut feeds, mut state, mut known) = (Vec::new(), Vec::<StateTensor>::new(), Vec::new());
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
                    Feed::User(users.len() - 1)
                }
                InputKind::Token => Feed::Token,
                // Loaded but not interpreted; an operator that wants it has no kernel.
                InputKind::CustomObj { .. } => {
                    value = Some(Value::None);
                    Feed::Known
                }
                kind => {
                    let name = lifted.expect("law: every other kind is lifted");
                    let tensor = program.lifted(kind).ok_or_else(|| {
                        oxport_ir::Error::invalid(format!("the program has no tensor `{name}` for `{placeholder}`"))
                    })?;
                    if mutated.contains(name) {
                        let known = state.iter().position(|s| s.name == *name);
                        Feed::State(known.unwrap_or_else(|| {
                            let is_persistent = program.state.contains_key(name);
                            let initial = tensor.tensor.clone();
                            state.push(StateTensor { name: name.clone(), initial, is_persistent });
                            state.len() - 1
                        }))
                    } else {
                        value = Some(Value::Tensor(tensor.tensor.clone()));
                        Feed::Known
                    }
                }
            });
            known.push(value);
        }
        let outputs = targets(program, &state, &users)?;
        let body = lower(&program.graph, registry, &|i| known[i].clone())?;
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(options.threads)
            .thread_name(|i| format!("oxport-{i}"))
            .build()
            .map_err(|e| oxport_ir::Error::invalid(format!("cannot start threads: {e}")))?;
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

    /// Calls the program on flat user inputs, with its state as it was when loaded.
    ///
    /// # Errors
    /// As [`Plan::call`].
    pub fn run(&self, inputs: Vec<Value>) -> Result<Outputs> {
        self.call(inputs, self.initial_state(), None)
    }

    /// Calls the program on flat user inputs and a state: one tensor per [`Plan::state`]. Fills a profile if one is given
    /// ([`Plan::new_profile`]).
    ///
    /// # Errors
    /// The inputs are refused ([`Error::is_input`]); an assertion of the program fails ([`Error::is_assertion`]); or a
    /// kernel cannot serve its call.
    pub fn call(&self, inputs: Vec<Value>, state: Vec<Tensor>, profile: Option<&mut Profile>) -> Result<Outputs> {
        self.checks.check(&inputs)?;
        if state.len() != self.state.len() {
            let (want, got) = (self.state.len(), state.len());
            return Err(Error::input(format!("the program has {want} state tensors, but got {got}")));
        }
        let feed = |feed: &Feed| match *feed {
            Feed::User(i) => inputs[i].clone(),
            Feed::State(i) => Value::Tensor(state[i].clone()),
            Feed::Token => Value::Token,
            Feed::Known => Value::None,
        };
        let fed = self.feeds.iter().map(feed).collect();
        let cx = RunCx { seed: self.seed };
        let results = self.pool.install(|| self.body.run(&cx, fed, profile))?;
        self.finish(results, &inputs, state)
    }

    /// Sorts results by what they mean, and leaves mutated tensors as `copy_` would: with their own dtype, sizes and
    /// strides.
    fn finish(&self, results: Vec<Value>, inputs: &[Value], mut state: Vec<Tensor>) -> Result<Outputs> {
        let mut out = Outputs::default();
        let mut mutated: Vec<Option<Tensor>> = vec![None; results.len()];
        for (i, (target, value)) in self.outputs.iter().zip(&results).enumerate() {
            let old = match *target {
                Target::State(s) => Some(&state[s]),
                Target::Input(n) => inputs[n].as_tensor(),
                _ => continue,
            };
            let (Some(old), Value::Tensor(new)) = (old, value) else {
                return Err(oxport_ir::Error::invalid("a mutation of what is no tensor").into());
            };
            let new = copied(old, new)?;
            mutated[i] = Some(new.clone());
            match *target {
                Target::State(s) => {
                    out.mutated_buffers.push((self.state[s].name.clone(), new.clone()));
                    state[s] = new;
                }
                Target::Input(n) => out.mutated_inputs.push((n, new)),
                _ => unreachable!("law: only mutations get here"),
            }
        }
        for (target, value) in self.outputs.iter().zip(results) {
            match *target {
                Target::User => out.user.push(value),
                Target::SameAs(i) => out.user.push(mutated[i].clone().map_or(value, Value::Tensor)),
                _ => {}
            }
        }
        out.state = state;
        Ok(out)
    }

    /// The tensors that calls change.
    pub fn state(&self) -> &[StateTensor] {
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
    /// How the program is called: trees of inputs and outputs, where known.
    pub fn signature(&self) -> Option<&ModuleCallSignature> {
        self.signature.as_ref()
    }
    /// The number of threads.
    pub fn threads(&self) -> usize {
        self.pool.current_num_threads()
    }
    /// The number of calls in the plan, subgraphs not counted.
    pub fn num_steps(&self) -> usize {
        self.body.steps.len()
    }
    /// Bytes of the program's tensors, shared storages counted once.
    pub fn weights_bytes(&self) -> usize {
        self.weights_bytes
    }
    /// Bytes of the largest arena that a call has needed so far; 0 before a shape signature came back.
    pub fn arena_bytes(&self) -> usize {
        self.body.cache.arena_bytes()
    }
    /// How often a buffer could not get its place in the arena and was allocated by itself.
    pub fn refused_regions(&self) -> usize {
        self.body.refused.load(Ordering::Relaxed)
    }
    /// An empty profile of this plan's nodes.
    pub fn new_profile(&self) -> Profile {
        Profile::of(&self.body)
    }
}

impl std::fmt::Debug for Plan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Plan({} steps, {} weight bytes, {} threads)", self.num_steps(), self.weights_bytes, self.threads())
    }
}

fn targets(program: &ExportedProgram, state: &[StateTensor], users: &[&Arc<str>]) -> Result<Vec<Target>> {
    let unknown = |name: &str| oxport_ir::Error::invalid(format!("an output mutates `{name}`, which is no input"));
    let mut targets = Vec::new();
    for spec in &program.signature.outputs {
        targets.push(match &spec.kind {
            OutputKind::BufferMutation(name) | OutputKind::ParameterMutation(name) => {
                let at = state.iter().position(|s| s.name == *name);
                Target::State(at.ok_or_else(|| unknown(name))?)
            }
            OutputKind::UserInputMutation(name) => {
                Target::Input(users.iter().position(|u| *u == name).ok_or_else(|| unknown(name))?)
            }
            OutputKind::Token => Target::Dropped,
            _ => Target::User,
        });
    }
    let values = program.graph.outputs();
    for i in 0..targets.len() {
        if let (Target::User, Argument::Node(n)) = (targets[i], &values[i]) {
            let is_twin =
                |j: &usize| values[*j].as_node() == Some(*n) && program.signature.outputs[*j].kind.is_mutation();
            if let Some(j) = (0..values.len()).find(is_twin) {
                targets[i] = Target::SameAs(j);
            }
        }
    }
    Ok(targets)
}

/// `old.copy_(new)` as a value: the elements of `new`, cast and broadcast to the dtype, sizes and strides of `old`.
fn copied(old: &Tensor, new: &Tensor) -> Result<Tensor> {
    let is_dense_alike = new.dtype() == old.dtype() && new.sizes() == old.sizes() && new.strides() == old.strides();
    if is_dense_alike {
        return Ok(new.clone());
    }
    let layout = Layout { offset: 0, ..old.layout().clone() };
    let layout = if layout.may_overlap() { Layout::contiguous(old.sizes())? } else { layout };
    let mut out = TensorMut::empty(old.dtype(), layout)?;
    copy(&new.view(|l| l.expand(old.sizes()))?, &mut out)?;
    Ok(out.freeze())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toy_ops::{f32s, plan, program, registry, show};

    /// Runs thrice (recording, replaying, replaying again), which must agree, and shows the outputs.
    fn run(plan: &Plan, inputs: &[Value]) -> Vec<String> {
        let once = || plan.run(inputs.to_vec()).unwrap().user.iter().map(show).collect::<Vec<_>>();
        let first = once();
        assert_eq!(first, once(), "replayed");
        assert_eq!(first, once(), "replayed again");
        first
    }

    const CHAIN: &str = r#"
def forward(self, x: "f32[s0, 2]"):
    relu = torch.ops.aten.relu.default(x)
    add = torch.ops.aten.add.Tensor(relu, x)
    view = torch.ops.aten.view.default(add, [2, -1])
    relu_1 = torch.ops.aten.relu.default(add)
    add_1 = torch.ops.aten.add.Tensor(relu_1, add)
    return (add_1,)
"#;

    #[test]
    fn buffers_share_an_arena() {
        let plan = plan(CHAIN);
        assert_eq!(plan.num_steps(), 4, "the dead view is left out");
        let x: Vec<f32> = (0..512).map(|i| i as f32 - 256.0).collect();
        let want: Vec<f32> = x.iter().map(|x| x + 3.0 * x.max(0.0)).collect();
        for rows in [256, 1, 0, 256] {
            let n = rows as usize * 2;
            let x = f32s(&[rows, 2], x[..n].to_vec());
            assert_eq!(run(&plan, &[x]), [show(&f32s(&[rows, 2], want[..n].to_vec()))]);
        }
        // relu, add, relu_1 need two places; add_1 escapes.
        assert_eq!((plan.arena_bytes(), plan.refused_regions()), (2 * 2048, 0));
    }

    #[test]
    fn what_escapes_survives_the_next_call() {
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
        assert_eq!(plan.body.cache.len(), 2);
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
        // The plan is as good as before.
        assert_eq!(run(&plan, &[zeros(4), zeros(4)]), ["f32[4]: 0 0 0 0"]);
    }

    #[test]
    fn other_dtypes_are_computed_with() {
        let plan = plan(CHAIN);
        let x = Tensor::from_vec(&[1, 2], vec![1.5f64, -2.0]).unwrap();
        assert_eq!(run(&plan, &[x.into()]), ["f64[1, 2]: 6 -2"]);
        assert_eq!(run(&plan, &[f32s(&[1, 2], [1.5, -2.0])]), ["f32[1, 2]: 6 -2"]);
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
    fn profiles_count_calls_and_bytes() {
        let plan = plan(CHAIN);
        let mut profile = plan.new_profile();
        for _ in 0..3 {
            plan.call(vec![f32s(&[2, 2], [1.0; 4])], vec![], Some(&mut profile)).unwrap();
        }
        let counts: Vec<_> = profile.nodes.iter().map(|n| (&*n.name, n.calls, n.bytes)).collect();
        assert_eq!(counts, [("relu", 3, 48), ("add", 3, 48), ("relu_1", 3, 48), ("add_1", 3, 48)]);
        let by_op: Vec<_> = profile.by_op().iter().map(|n| n.calls).collect();
        assert_eq!(by_op, [6, 6]);
        assert!(profile.to_string().contains("aten::relu"));
    }
}
