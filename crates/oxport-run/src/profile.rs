//! Profiles: wall time, calls and bytes per node.

use crate::step::Step;
use oxport_ir::Value;
use oxport_ir::terminal::Plain;
use std::collections::BTreeMap;
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
    /// What it gave. A clone keeps the buffer, which the rest of the run then allocates elsewhere. Where passes are
    /// seen ([`Plan::time`](crate::Plan::time)), a tensor that was written into its place in the result of a later
    /// `cat` is [absent](oxport_tensor::Tensor::is_absent): it has sizes, and no elements to read.
    pub value: &'a Value,
    /// How many of the following steps were computed in the same pass: `time` and `value` are those of all of them, and
    /// they are not seen by themselves.
    pub joined: usize,
}

/// Is called after every step of the program itself; subgraphs count for the calling node.
pub type Watch<'a> = &'a mut (dyn FnMut(&Seen<'_>) + Send);

/// Who looks on, and at what.
pub(crate) enum Watcher<'a> {
    /// At every step, each run by itself.
    Steps(Watch<'a>),
    /// At what a call without watcher does: joined passes are seen as one.
    Passes(Watch<'a>),
}

impl Watcher<'_> {
    pub fn is_of_steps(&self) -> bool {
        matches!(self, Watcher::Steps(_))
    }
    pub fn see(&mut self, seen: &Seen<'_>) {
        match self {
            Watcher::Steps(watch) | Watcher::Passes(watch) => watch(seen),
        }
    }
}

/// The time of every node, summed over profiled calls. Nodes of subgraphs count for the calling node, nodes that are
/// computed in one pass for the first of them.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    /// Name and operator of every step of the plan.
    steps: Vec<(Arc<str>, Box<str>)>,
    /// By the first step, and how many others are computed with it.
    nodes: BTreeMap<(usize, usize), NodeProfile>,
}

/// The time of one node, or of several that are computed in one pass.
#[derive(Clone, Debug, Default)]
pub struct NodeProfile {
    /// The node's name; the first one's.
    pub name: Arc<str>,
    /// The names of all nodes that are computed in the pass; none where several passes are summed.
    pub nodes: Box<[Arc<str>]>,
    /// The operator, `aten::add.Tensor`, or operators, `aten::convolution + aten::relu`.
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
        let steps = steps.iter().map(|s| (s.name.clone(), s.op.name().into())).collect();
        Profile { steps, nodes: BTreeMap::new() }
    }
    /// Adds a step, and gives what is known of its node. Steps of another plan than this profile's are not counted.
    pub fn add(&mut self, seen: &Seen<'_>) -> Option<&NodeProfile> {
        let steps = self.steps.get(seen.index..=seen.index + seen.joined)?;
        let node = self.nodes.entry((seen.index, seen.joined)).or_insert_with(|| {
            let ops: Vec<&str> = steps.iter().map(|(_, op)| &**op).collect();
            let nodes = steps.iter().map(|(name, _)| name.clone()).collect();
            NodeProfile { name: steps[0].0.clone(), nodes, op: ops.join(" + ").into(), ..NodeProfile::default() }
        });
        node.calls += 1;
        node.time += seen.time;
        node.bytes += bytes_of(seen.value);
        Some(node)
    }
    /// Those that have run, in execution order.
    pub fn nodes(&self) -> impl Iterator<Item = &NodeProfile> {
        self.nodes.values()
    }
    /// The time of all nodes together.
    pub fn total(&self) -> Duration {
        self.nodes().map(|n| n.time).sum()
    }
    /// The time per operator, the most expensive first.
    pub fn by_op(&self) -> Vec<NodeProfile> {
        let mut ops = indexmap::IndexMap::<&str, NodeProfile>::new();
        for n in self.nodes() {
            let sum = ops.entry(&n.op).or_insert_with(|| NodeProfile { op: n.op.clone(), ..NodeProfile::default() });
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
        let mut nodes: Vec<&NodeProfile> = self.nodes().collect();
        nodes.sort_by_key(|n| std::cmp::Reverse(n.time));
        writeln!(f, "slowest nodes:")?;
        nodes.iter().take(20).try_for_each(|n| row(f, n))
    }
}
