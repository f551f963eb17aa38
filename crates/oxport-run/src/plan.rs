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
            let is_twin = |j: &usize| values[*j].as_node() == Some(*n) && program.signature.outputs[*j].kind.is_mutation();
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
