//! What a program is: its inputs and outputs, its tensors, what a call costs, and what cannot run.
//!
//! Costs are those of the operators' rows ([`oxport_ir::OpDef::cost_of`]), at the sizes of the capture, of the program
//! that would run without optimization: functionalized, and operators without a kernel decomposed. A multiplication and
//! an addition are two operations. Of `cond` both branches count; `map` and `scan` count once for each
//! slice, the body of a `while_loop` counts once.

use crate::names::{InputNames, output_paths};
use crate::{ExportedProgram, Opt, PlanOptions, Severity, Toolchain};
use oxport_ir::infer::{cost_of, val_of_argument};
use oxport_ir::{
    Argument, Cost, Dialect, Graph, InputKind, Intrinsic, MetaCx, Node, NodeKind, Op, OutputKind, StateTensor, Val,
};
use oxport_run::{Memory, estimate_memory};
use oxport_sym::{Expr, ShapeEnv, Symbol};
use std::collections::{BTreeMap, HashMap};

/// The description of a program.
#[derive(Clone, Debug)]
pub struct Info {
    /// The user's inputs, in order.
    pub inputs: Vec<Port>,
    /// The results: the user's outputs, then new values of buffers and inputs.
    pub outputs: Vec<Port>,
    /// The symbols of sizes and numbers of the inputs.
    pub symbols: Vec<SymbolInfo>,
    /// Parameters.
    pub parameters: Tensors,
    /// Buffers, persistent or not.
    pub buffers: Tensors,
    /// Lifted constants.
    pub constants: Tensors,
    /// Bytes of all tensors in memory: a storage that several share counts once.
    pub storage_bytes: usize,
    /// The number of nodes of the graph, and of its subgraphs.
    pub nodes: usize,
    /// The number of subgraphs.
    pub subgraphs: usize,
    /// How often every operator is called, subgraphs included, the most frequent first.
    pub operators: Vec<(String, usize)>,
    /// What a call takes, or why it cannot run.
    pub run: Result<RunInfo, CannotRun>,
}

/// An input or output.
#[derive(Clone, Debug)]
pub struct Port {
    /// The key in tensor files: `in.0`, `out.0`, `mut.<buffer>`, `inmut.<i>`.
    pub key: String,
    /// The path in the caller's code; may be empty for outputs.
    pub path: String,
    /// What it is: dtype and shape, or a number. A constant input is its value.
    pub val: Option<Val>,
    /// True for an input that must be this constant.
    pub is_constant: bool,
}

/// A symbol of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SymbolInfo {
    /// The symbol.
    pub symbol: Symbol,
    /// The name.
    pub name: String,
    /// The smallest value, if it has a bound.
    pub min: Option<i64>,
    /// The largest value, if it has a bound.
    pub max: Option<i64>,
    /// The value at the capture.
    pub captured: Option<i64>,
}

/// A number of tensors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tensors {
    /// How many.
    pub count: usize,
    /// Their elements.
    pub elements: usize,
    /// Their bytes, as if each had its own storage.
    pub bytes: usize,
}

/// The name that PyTorch's serialization has for the program's dialect.
pub fn dialect(program: &ExportedProgram) -> &'static str {
    match program.dialect {
        Dialect::Training => "TRAINING",
        Dialect::Aten => "ATEN",
    }
}

/// What a call takes.
#[derive(Clone, Debug)]
pub struct RunInfo {
    /// Operations, and bytes read and written.
    pub cost: Cost,
    /// The operators without a known cost, which are not counted.
    pub uncosted: Vec<String>,
    /// Memory beside the weights.
    pub memory: Memory,
}

/// Why a program cannot run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CannotRun {
    /// The reason, in one line.
    pub reason: String,
    /// The operators without a kernel, if they are the reason.
    pub operators: Vec<String>,
}

/// `s77 from 1 to 64`
impl std::fmt::Display for SymbolInfo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let bound = |n: Option<i64>, none: &str| n.map_or_else(|| none.to_string(), |n| n.to_string());
        write!(f, "{} from {} to {}", self.name, bound(self.min, "-∞"), bound(self.max, "∞"))
    }
}

impl Tensors {
    fn add(&mut self, t: &StateTensor) {
        self.count += 1;
        self.elements += t.tensor.numel();
        self.bytes += t.tensor.numel().saturating_mul(t.tensor.dtype().size());
    }
}

/// Describes a program, at these values of symbols instead of the captured ones. Nothing is run.
pub fn info(toolchain: &Toolchain, program: &ExportedProgram, sizes: &HashMap<Symbol, i64>) -> Info {
    let mut program = program.clone();
    sizes.iter().for_each(|(symbol, n)| program.env.set_hint(symbol, *n));
    let (mut parameters, mut buffers, mut constants) = (Tensors::default(), Tensors::default(), Tensors::default());
    for spec in &program.signature.inputs {
        let into = match &spec.kind {
            InputKind::Parameter(_) => &mut parameters,
            InputKind::Buffer { .. } => &mut buffers,
            InputKind::TensorConstant(_) => &mut constants,
            _ => continue,
        };
        program.lifted(&spec.kind).into_iter().for_each(|t| into.add(t));
    }
    let storages: HashMap<usize, usize> =
        program.tensors().map(|(_, t)| (t.tensor.storage().id(), t.tensor.storage().len_bytes())).collect();
    let (mut operators, mut nodes, mut subgraphs) = (BTreeMap::new(), 0, 0);
    count(&program.graph, &mut operators, &mut nodes, &mut subgraphs);
    let mut operators: Vec<(String, usize)> = operators.into_iter().collect();
    operators.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    let prepared = prepare(toolchain, &program);
    Info {
        inputs: inputs(&program),
        // A functional program says what it mutates.
        outputs: outputs(prepared.as_ref().unwrap_or(&program)),
        symbols: symbols(&program),
        parameters,
        buffers,
        constants,
        storage_bytes: storages.values().sum(),
        nodes,
        subgraphs,
        operators,
        run: prepared.map(|prepared| run_info(toolchain, &prepared)),
    }
}

/// The user's inputs, in order.
pub fn inputs(program: &ExportedProgram) -> Vec<Port> {
    let kinds = program.signature.inputs.iter().filter(|s| s.kind.is_user());
    let names = InputNames::of(program);
    let one = |(i, (name, spec)): (usize, (&crate::names::InputName, &oxport_ir::InputSpec))| {
        let constant = match &spec.kind {
            InputKind::ConstantInput(c) => val_of_argument(&program.graph, c),
            _ => None,
        };
        Port {
            key: format!("in.{i}"),
            path: name.path.clone(),
            is_constant: constant.is_some(),
            val: constant.or_else(|| program.graph.node(name.id).val().cloned()),
        }
    };
    names.iter().zip(kinds).enumerate().map(one).collect()
}

/// The results of a program, in order.
pub fn outputs(program: &ExportedProgram) -> Vec<Port> {
    let names = InputNames::of(program);
    let mut paths = output_paths(program).into_iter();
    let (mut user, mut rest) = (Vec::new(), Vec::new());
    for (argument, spec) in program.graph.outputs().iter().zip(&program.signature.outputs) {
        let val = val_of_argument(&program.graph, argument);
        let port = |key, path| Port { key, path, val, is_constant: false };
        match &spec.kind {
            OutputKind::Token => {}
            OutputKind::BufferMutation(name) | OutputKind::ParameterMutation(name) => {
                rest.push(port(format!("mut.{name}"), name.to_string()));
            }
            OutputKind::UserInputMutation(name) => {
                let at = names.iter().position(|n| n.placeholder == *name);
                let path = at.and_then(|i| names.get(i)).map_or_else(String::new, |n| n.path.clone());
                rest.push(port(format!("inmut.{}", at.unwrap_or_default()), path));
            }
            OutputKind::UserOutput | OutputKind::LossOutput => {
                user.push(port(format!("out.{}", user.len()), paths.next().unwrap_or_default()));
            }
            OutputKind::GradientToParameter(name) | OutputKind::GradientToUserInput(name) => {
                user.push(port(format!("out.{}", user.len()), format!("gradient of {name}")));
            }
        }
    }
    user.extend(rest);
    user
}

/// The symbols of a program's inputs, with their ranges.
pub fn symbols(program: &ExportedProgram) -> Vec<SymbolInfo> {
    let mut found: Vec<Symbol> = Vec::new();
    let mut note = |e: &Expr| {
        for s in e.free_symbols() {
            if !found.contains(&s) {
                found.push(s);
            }
        }
    };
    for name in InputNames::of(program).iter() {
        program.graph.node(name.id).val().into_iter().for_each(|v| v.for_each_expr(&mut note));
    }
    // Strides are products of sizes: they add no symbols of their own.
    let one = |s: &Symbol| {
        let declared = program.ranges.get(&Expr::symbol(s));
        let range = program.env.range(s);
        SymbolInfo {
            symbol: s.clone(),
            name: s.name().to_string(),
            min: declared.map_or_else(|| range.min_int(), |r| r.min),
            max: declared.map_or_else(|| range.max_int(), |r| r.max),
            captured: program.env.hint(s).and_then(|n| n.as_i64()),
        }
    };
    found.iter().map(one).collect()
}

fn count(graph: &Graph, operators: &mut BTreeMap<String, usize>, nodes: &mut usize, subgraphs: &mut usize) {
    *nodes += graph.len();
    *subgraphs += graph.subgraphs.len();
    for (_, node) in graph.nodes() {
        if let NodeKind::CallFunction(op) = &node.kind
            && !op.is_getitem()
        {
            *operators.entry(op.name().to_string()).or_default() += 1;
        }
    }
    graph.subgraphs.values().for_each(|sub| count(sub, operators, nodes, subgraphs));
}

/// The program that would run, without optimization, if it can.
fn prepare(toolchain: &Toolchain, program: &ExportedProgram) -> Result<ExportedProgram, CannotRun> {
    let errors = toolchain.verify(program).iter().filter(|d| d.severity == Severity::Error).count();
    if errors > 0 {
        let reason = format!("the program is not valid: `verify` finds {errors} errors");
        return Err(CannotRun { reason, operators: Vec::new() });
    }
    let failed = |e: crate::Error| CannotRun { reason: e.to_string(), operators: e.missing().to_vec() };
    let prepared = toolchain.prepare(program, Opt::None).map_err(failed)?;
    toolchain.plan(&prepared, &PlanOptions { threads: 1, prepare: false, ..PlanOptions::default() }).map_err(failed)?;
    Ok(prepared)
}

fn run_info(toolchain: &Toolchain, prepared: &ExportedProgram) -> RunInfo {
    let (mut cost, mut uncosted) = (Cost::default(), Vec::new());
    add_costs(&prepared.graph, &prepared.env, 1.0, &mut cost, &mut uncosted);
    let uncosted = uncosted.iter().map(|op| op.name().to_string()).collect();
    RunInfo { cost, uncosted, memory: estimate_memory(prepared, toolchain.registry()) }
}

fn add_costs(graph: &Graph, env: &ShapeEnv, times: f64, sum: &mut Cost, uncosted: &mut Vec<Op>) {
    for (_, node) in graph.nodes() {
        let Some(op) = node.op() else { continue };
        if op.is_higher_order() {
            // What it does, its subgraphs do.
            let times = times * trips(graph, node, env);
            let subgraphs = node.inputs().into_iter().filter_map(|id| graph.subgraph_of(id));
            subgraphs.for_each(|sub| add_costs(sub, env, times, sum, uncosted));
            continue;
        }
        match cost_of(graph, node, env) {
            Some(cost) => {
                sum.flops += times * cost.flops;
                sum.bytes += times * cost.bytes;
            }
            None if uncosted.contains(op) => {}
            None => uncosted.push(op.clone()),
        }
    }
}

/// How often a call runs its subgraph: `map` and `scan` once for each slice, at the sizes of the capture. How often the
/// body of a `while_loop` runs depends on data.
fn trips(graph: &Graph, node: &Node, env: &ShapeEnv) -> f64 {
    let is_by_slices = matches!(node.intrinsic(), Some(Intrinsic::MapImpl | Intrinsic::Scan));
    let slices = || {
        let Argument::List(xs) = node.argument("xs")? else { return None };
        let Val::Tensor(x) = graph.node(xs.first()?.as_node()?).val()? else { return None };
        MetaCx::new(env).hint(x.sizes.first()?)
    };
    if is_by_slices { slices().map_or(1.0, |n| n as f64) } else { 1.0 }
}
