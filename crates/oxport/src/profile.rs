//! The profile of warm runs: by operator, by module, by node, and as the events of one run.

use oxport_ir::{ExportedProgram, Value};
use oxport_run::{Profile, Seen};
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Collects runs of one plan.
#[derive(Debug)]
pub struct Profiler {
    modules: HashMap<String, String>,
    /// The sums of all collected runs.
    pub profile: Profile,
    /// The steps of the latest run.
    pub events: Vec<Event>,
    /// How many runs were collected.
    pub runs: usize,
    start: Instant,
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
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The operator, or the path of the module.
    pub name: String,
    /// How many steps.
    pub calls: u64,
    /// Their time.
    pub time: Duration,
    /// Bytes of their results.
    pub bytes: u64,
}

impl Profiler {
    /// A profiler of a plan's runs; `program` is the one that was planned.
    pub fn new(program: &ExportedProgram, profile: Profile) -> Profiler {
        let module = |n: &oxport_ir::Node| {
            let frames = n.meta.modules().unwrap_or_default();
            // What PyTorch writes for nodes without a module.
            let path =
                frames.last().map_or("", |f| f.path).trim_start_matches("_empty_nn_module_stack_from_metadata_hook");
            (n.name.to_string(), path.to_string())
        };
        let modules = program.graph.nodes().map(|(_, n)| module(n)).collect();
        Profiler { modules, profile, events: Vec::new(), runs: 0, start: Instant::now() }
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
            module: self.modules.get(&**seen.name).cloned().unwrap_or_default(),
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
        self.rows(|n| self.modules.get(&*n.name).cloned().unwrap_or_default())
    }

    /// The nodes, the most expensive first.
    pub fn by_node(&self) -> Vec<Row> {
        self.rows(|n| n.name.to_string())
    }

    fn rows(&self, key: impl Fn(&oxport_run::NodeProfile) -> String) -> Vec<Row> {
        let mut rows = indexmap::IndexMap::<String, Row>::new();
        for n in self.profile.nodes() {
            let name = key(n);
            let row = rows.entry(name.clone()).or_insert(Row { name, calls: 0, time: Duration::ZERO, bytes: 0 });
            row.calls += u64::from(n.calls);
            row.time += n.time;
            row.bytes += n.bytes;
        }
        let mut rows: Vec<Row> = rows.into_values().collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.time));
        rows
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
