//! Profiles: wall time, calls and bytes per node.

use crate::step::Step;
use oxport_ir::Value;
use oxport_ir::terminal::Plain;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A step right after it ran.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// Its position in execution order.
    pub index: usize,
    /// The node's name.
    pub name: &'a Arc<str>,
    /// The operator, `aten::add.Tensor`.
    pub op: &'a str,
    /// When it began.
    pub start: Instant,
    /// How long it took.
    pub time: Duration,
    /// What it gave. A clone keeps the buffer, which the rest of the run then allocates elsewhere.
    pub value: &'a Value,
}

/// Is called after every step of the program itself; subgraphs count for the calling node.
pub type Watch<'a> = &'a mut (dyn FnMut(&Seen<'_>) + Send);

/// The time of every node, summed over profiled calls. Nodes of subgraphs count for the calling node.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    /// In execution order.
    pub nodes: Vec<NodeProfile>,
}

/// The time of one node.
#[derive(Clone, Debug)]
pub struct NodeProfile {
    /// The node's name.
    pub name: Arc<str>,
    /// The operator, `aten::add.Tensor`.
    pub op: Box<str>,
    /// How often it ran.
    pub calls: u32,
    /// Wall time, all calls together.
    pub time: Duration,
    /// Bytes of its results' elements, all calls together; of views too.
    pub bytes: u64,
}

impl Profile {
    pub(crate) fn of(steps: &[Step]) -> Profile {
        let node = |s: &Step| NodeProfile {
            name: s.name.clone(),
            op: s.op.name().into(),
            calls: 0,
            time: Duration::ZERO,
            bytes: 0,
        };
        Profile { nodes: steps.iter().map(node).collect() }
    }
    /// Adds a step. Those of another plan than this profile's are not counted.
    pub fn add(&mut self, seen: &Seen<'_>) {
        let Some(node) = self.nodes.get_mut(seen.index) else { return };
        node.calls += 1;
        node.time += seen.time;
        node.bytes += bytes_of(seen.value);
    }
    /// The time of all nodes together.
    pub fn total(&self) -> Duration {
        self.nodes.iter().map(|n| n.time).sum()
    }
    /// The time per operator, the most expensive first.
    pub fn by_op(&self) -> Vec<NodeProfile> {
        let mut ops = indexmap::IndexMap::<&str, NodeProfile>::new();
        for n in &self.nodes {
            let sum = ops.entry(&n.op).or_insert_with(|| NodeProfile {
                name: "".into(),
                calls: 0,
                time: Duration::ZERO,
                bytes: 0,
                op: n.op.clone(),
            });
            sum.calls += n.calls;
            sum.time += n.time;
            sum.bytes += n.bytes;
        }
        let mut ops: Vec<NodeProfile> = ops.into_values().collect();
        ops.sort_by_key(|n| std::cmp::Reverse(n.time));
        ops
    }
}

fn bytes_of(value: &Value) -> u64 {
    match value {
        Value::Tensor(t) => (t.numel() * t.dtype().size()) as u64,
        Value::List(l) => l.iter().map(bytes_of).sum(),
        _ => 0,
    }
}

/// A table by operator, then the twenty slowest nodes.
impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total = self.total().as_secs_f64().max(f64::MIN_POSITIVE);
        let row = |f: &mut fmt::Formatter<'_>, n: &NodeProfile| {
            let (ms, share) = (n.time.as_secs_f64() * 1e3, 100.0 * n.time.as_secs_f64() / total);
            let mb = n.bytes as f64 / 1e6;
            writeln!(f, "{ms:10.3} ms {share:5.1} % {:7} calls {mb:10.2} MB  {} {}", n.calls, n.op, Plain(&n.name))
        };
        for n in self.by_op() {
            row(f, &n)?;
        }
        let mut nodes: Vec<&NodeProfile> = self.nodes.iter().collect();
        nodes.sort_by_key(|n| std::cmp::Reverse(n.time));
        writeln!(f, "slowest nodes:")?;
        nodes.iter().take(20).try_for_each(|n| row(f, n))
    }
}
