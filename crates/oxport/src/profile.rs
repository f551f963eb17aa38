//! The profile of warm runs: by operator, by module, by node, and as the events of one run.
//!
//! Operations and bytes are those of the operators' rows ([`oxport_ir::OpDef::cost_of`]), at the sizes of the inputs;
//! what a joined pass keeps in its registers is neither read nor written. Sizes that data decide are those of the
//! capture, and calls of subgraphs count nothing.

use oxport_ir::infer::cost_of;
use oxport_ir::{Class, Cost, ExportedProgram, NodeId, Val, Value};
use oxport_run::{Profile, Seen};
use oxport_sym::ShapeEnv;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Collects runs of one plan.
#[derive(Debug)]
pub struct Profiler {
    nodes: HashMap<String, NodeWork>,
    /// The sums of all collected runs.
    pub profile: Profile,
    /// The steps of the latest run.
    pub events: Vec<Event>,
    /// How many runs were collected.
    pub runs: usize,
    start: Instant,
}

/// What is known of a node.
#[derive(Debug)]
struct NodeWork {
    /// The module around it.
    module: String,
    cost: Option<Cost>,
    /// Bytes of its result.
    bytes: f64,
    /// The nodes that read it, as often as each does.
    users: Vec<String>,
}

/// One step of a run.
#[derive(Clone, Debug)]
pub struct Event {
    /// The node's name; that of the first one of a joined pass.
    pub name: String,
    /// The operator, or those of a joined pass.
    pub op: String,
    /// The module around it.
    pub module: String,
    /// From the beginning of the run.
    pub start: Duration,
    /// How long it took.
    pub time: Duration,
    /// What it gave: `f32[2, 3]`.
    pub result: String,
}

/// The sum of some nodes, over all collected runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// The operator, or the path of the module.
    pub name: String,
    /// How many steps.
    pub calls: u64,
    /// Their time.
    pub time: Duration,
    /// Bytes of their results.
    pub bytes: u64,
    /// Arithmetic operations.
    pub flops: f64,
    /// Bytes that they read and write.
    pub traffic: f64,
    /// The class of its kernel, of a node that is a pass by itself.
    pub class: Option<Class>,
}

impl Profiler {
    /// A profiler of a plan's runs on these inputs; `program` is the one that was planned.
    pub fn new(program: &ExportedProgram, inputs: &[Value], profile: Profile) -> Profiler {
        let env = sized(program, inputs);
        let graph = &program.graph;
        let mut nodes = HashMap::<String, NodeWork>::new();
        for (id, n) in graph.nodes() {
            let frames = n.meta.modules().unwrap_or_default();
            // What PyTorch writes for nodes without a module.
            let path =
                frames.last().map_or("", |f| f.path).trim_start_matches("_empty_nn_module_stack_from_metadata_hook");
            let cost = cost_of(graph, n, &env);
            let bytes = n.val().map_or(0.0, |val| bytes_of(val, &env));
            let users = graph.users(id);
            let reads = |&user: &NodeId| vec![graph.node(user).name.to_string(); users.mentions(user) as usize];
            let users = users.keys().flat_map(reads).collect();
            nodes.insert(n.name.to_string(), NodeWork { module: path.into(), cost, bytes, users });
        }
        Profiler { nodes, profile, events: Vec::new(), runs: 0, start: Instant::now() }
    }

    /// Begins a run.
    pub fn begin(&mut self) {
        self.events.clear();
        self.runs += 1;
        self.start = Instant::now();
    }

    /// Adds a step of the run.
    pub fn add(&mut self, seen: &Seen<'_>) {
        let op = self.profile.add(seen).map_or(seen.op, |n| &n.op).to_string();
        self.events.push(Event {
            name: seen.name.to_string(),
            op,
            module: self.module(seen.name).to_string(),
            start: seen.start.saturating_duration_since(self.start),
            time: seen.time,
            result: match seen.value {
                Value::Tensor(t) => format!("{}{:?}", t.dtype().short(), t.sizes()),
                other => other.kind().to_string(),
            },
        });
    }

    /// The sums by operator, the most expensive first.
    pub fn by_operator(&self) -> Vec<Row> {
        self.rows(|n| n.op.to_string())
    }

    /// The sums by the innermost module, the most expensive first; the model itself has the empty path.
    pub fn by_module(&self) -> Vec<Row> {
        self.rows(|n| self.module(&n.name).to_string())
    }

    /// The nodes, the most expensive first.
    pub fn by_node(&self) -> Vec<Row> {
        self.rows(|n| n.name.to_string())
    }

    fn module(&self, node: &str) -> &str {
        self.nodes.get(node).map_or("", |n| &n.module)
    }

    fn rows(&self, key: impl Fn(&oxport_run::NodeProfile) -> String) -> Vec<Row> {
        let mut rows = indexmap::IndexMap::<String, Row>::new();
        for n in self.profile.nodes() {
            let name = key(n);
            let cost = self.work(&n.nodes);
            let class = (n.nodes.len() == 1).then_some(cost.class);
            let row = rows.entry(name.clone()).or_insert_with(|| Row { name, class, ..Row::default() });
            row.calls += u64::from(n.calls);
            row.time += n.time;
            row.bytes += n.bytes;
            row.flops += cost.flops * f64::from(n.calls);
            row.traffic += cost.bytes * f64::from(n.calls);
            row.class = row.class.filter(|_| row.class == class);
        }
        let mut rows: Vec<Row> = rows.into_values().collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.time));
        rows
    }

    /// The work of a pass that computes these nodes.
    fn work(&self, pass: &[Arc<str>]) -> Cost {
        let mut sum = Cost::default();
        let is_inside = |name: &String| pass.iter().any(|node| **node == **name);
        for (i, node) in pass.iter().enumerate() {
            let Some(NodeWork { cost: Some(cost), bytes, users, .. }) = self.nodes.get(&**node) else { continue };
            sum = Cost { class: cost.class, flops: sum.flops + cost.flops, bytes: sum.bytes + cost.bytes };
            // The last one's result is what the pass is for; another one's may be needed elsewhere, too.
            if i + 1 < pass.len() {
                let inside = users.iter().filter(|user| is_inside(user)).count();
                sum.bytes -= bytes * (inside + usize::from(inside == users.len())) as f64;
            }
        }
        Cost { bytes: sum.bytes.max(0.0), ..sum }
    }

    /// The latest run in the trace event format of Chrome, which Perfetto reads.
    pub fn chrome_trace(&self) -> serde_json::Value {
        let micros = |d: Duration| d.as_secs_f64() * 1e6;
        let one = |e: &Event| {
            serde_json::json!({
                "name": e.name, "cat": e.op, "ph": "X", "pid": 1, "tid": 1,
                "ts": micros(e.start), "dur": micros(e.time),
                "args": {"op": e.op, "module": e.module, "result": e.result},
            })
        };
        serde_json::json!({"traceEvents": self.events.iter().map(one).collect::<Vec<_>>(), "displayTimeUnit": "ms"})
    }
}

/// What is known of a program's symbols, and that they are the sizes and numbers of these inputs.
fn sized(program: &ExportedProgram, inputs: &[Value]) -> ShapeEnv {
    let mut env = program.env.clone();
    let mut set = |e: &oxport_sym::Expr, n: i64| e.as_symbol().into_iter().for_each(|symbol| env.set_hint(symbol, n));
    for (port, value) in crate::info::inputs(program).iter().zip(inputs) {
        match (&port.val, value) {
            (Some(Val::Tensor(fake)), Value::Tensor(t)) => {
                fake.sizes.iter().zip(t.sizes()).for_each(|(e, &n)| set(e, n));
            }
            (Some(Val::Int(e)), Value::Int(n)) => set(e, *n),
            _ => {}
        }
    }
    env
}

/// Bytes of the tensors of a value; nothing where sizes have no hint.
fn bytes_of(val: &Val, env: &ShapeEnv) -> f64 {
    let cx = oxport_ir::MetaCx::new(env);
    val.tensors().iter().map(|t| cx.hint(&t.numel()).unwrap_or(0) as f64 * t.dtype.size() as f64).sum()
}
