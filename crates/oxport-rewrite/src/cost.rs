//! What a term costs: the counts of the operators' rows, made times by a table of coefficients.
//!
//! ```text
//! time = launch + max(flops · ns per flop, bytes · ns per byte)
//! ```
//!
//! | target | stands for |
//! |---|---|
//! | [`Target::Cpu`] | `oxport run`: each pointwise call is priced as a pass, and a part of a product as another one |
//! | [`Target::Aten`] | eager PyTorch: the dispatcher is paid for every call, views included |
//!
//! Laws: prices are integers (picoseconds), so sums do not depend on an order; an operator without a kernel costs what
//! it is made of; what is computed before the first call is free, but for the bytes that are stored.

use crate::interned::{CallRef, PerCall};
use crate::kind::bytes;
use crate::term::{Term, written};
use crate::typing::{Graph, Kind};
use egg::{Id, Language};
use oxport_ir::infer::bind_build;
use oxport_ir::work::Work;
use oxport_ir::{Args, Argument, Builder, Class, Cost, Decomp, Kernel, Node, NodeKind, Op, OpDef, infer};

/// What runs the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Target {
    /// Our engine.
    #[default]
    Cpu,
    /// Eager PyTorch on the CPU.
    Aten,
}

/// The coefficients of a class: nanoseconds for a call, operations and bytes in a nanosecond.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Nanoseconds of the call itself.
    pub launch: f64,
    /// Operations per nanosecond.
    pub flops: f64,
    /// Bytes per nanosecond.
    pub bytes: f64,
}

const fn rate(launch: f64, flops: f64, bytes: f64) -> Rate {
    Rate { launch, flops, bytes }
}

/// The coefficients, for our engine and for eager PyTorch: fitted by `fixtures/fit_costs.py`, on what
/// `docs/rewriter.md` says.
const RATES: [(Class, Rate, Rate); Class::ALL.len()] = [
    (Class::Call, rate(300.0, 1.0, 1.0), rate(3400.0, 1.0, 1.0)),
    (Class::Move, rate(520.0, 1.0, 49.0), rate(5100.0, 1.0, 52.0)),
    (Class::Copy, rate(1300.0, 1.0, 74.0), rate(1700.0, 1.0, 66.0)),
    (Class::Pointwise, rate(660.0, 6.0, 48.0), rate(3600.0, 9.0, 73.0)),
    (Class::Reduction, rate(1300.0, 39.0, 22.0), rate(8500.0, 1.7, 34.0)),
    (Class::Search, rate(1300.0, 30.0, 1.4), rate(4400.0, 12.0, 0.55)),
    (Class::Transform, rate(750.0, 41.0, 20.0), rate(37000.0, 91.0, 6.7)),
    (Class::Solve, rate(38000.0, 89.0, 12.0), rate(35000.0, 14.0, 3.9)),
    (Class::Product, rate(1200.0, 109.0, 32.0), rate(6700.0, 94.0, 16.0)),
    (Class::Convolution, rate(4000.0, 107.0, 30.0), rate(24000.0, 89.0, 15.0)),
    (Class::Attention, rate(2000.0, 82.0, 80.0), rate(15000.0, 75.0, 80.0)),
    (Class::Recurrence, rate(7500.0, 80.0, 45.0), rate(113000.0, 41.0, 30.0)),
];

/// What a call costs that nothing is known of, in nanoseconds.
const UNKNOWN: f64 = 1e6;
/// From how many bytes on, read and written, elementwise calls are joined with a product: 4096 numbers of four bytes.
const JOINED: f64 = 2.0 * 4.0 * 4096.0;
/// What a byte costs that is stored with the program, in nanoseconds.
const STORED: f64 = 1e-4;
/// How many views are between a product and a part of it, at most.
const VIEWS: usize = 3;
/// How many calls an operator is taken apart into, at most.
const PARTS: usize = 2000;

/// A cost model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Model {
    /// What runs the program.
    pub target: Target,
    /// Whether weights are constants; lifted constants always are.
    pub frozen: bool,
    /// Whether only operators are computed before the first call whose results are the same bits everywhere.
    pub exact_folds: bool,
}

impl Model {
    /// The coefficients of a class.
    pub fn rate(&self, class: Class) -> Rate {
        let row = RATES.iter().find(|(c, ..)| *c == class);
        let (_, cpu, aten) = row.expect("law: every class has coefficients");
        if self.target == Target::Cpu { *cpu } else { *aten }
    }

    /// The time of a call, in nanoseconds.
    pub fn time(&self, cost: &Cost) -> f64 {
        let rate = self.rate(cost.class);
        rate.launch + (cost.flops / rate.flops).max(cost.bytes / rate.bytes)
    }

    /// The price of a term of a class, in picoseconds. What calls cost by themselves is noted.
    pub(crate) fn price(&self, graph: &Graph<'_>, term: &Term, class: Id, noted: &PerCall<f64>) -> u64 {
        let Term::Op(name, kids) = term else { return 0 };
        let data = &graph[class].data;
        // A value that is constant may be written as one that is computed from inputs, too.
        let nanoseconds = if data.is_static && kids.iter().all(|&kid| graph[kid].data.is_static) {
            STORED * data.kind.tensors().into_iter().map(|t| bytes(t, &graph.analysis.types.env)).sum::<f64>()
        } else {
            let kinds = kids.iter().chain([&class]).map(|id| &graph[*id].data.kind);
            let own = noted.of(CallRef { op: *name, kinds: kinds.collect() }, |call| self.own(graph, call));
            own + self.part(graph, term, class)
        };
        (nanoseconds * 1e3).min(1e17) as u64
    }

    /// What a call costs wherever it is, in nanoseconds.
    fn own(&self, graph: &Graph<'_>, CallRef { op: name, kinds }: &CallRef<'_>) -> f64 {
        let types = &graph.analysis.types;
        let op = types.registry.op(name.as_str());
        let kinds: Vec<&Kind> = kinds.iter().map(|kind| &***kind).collect();
        let (result, kids) = kinds.split_last().expect("law: a call has a result");
        let own = match op.def().map(|def| &def.kernel) {
            // A step of the plan has all its results at hand.
            _ if op.is_getitem() => Some(0.0),
            Some(Kernel::None) => self.of_parts(graph, &op, kids),
            _ => types.cost(name.as_str(), kids, result).map(|cost| self.time(&cost)),
        };
        own.unwrap_or(UNKNOWN)
    }

    /// What it costs to take a part of a product. What is elementwise behind a product is computed in the pass of the
    /// product; behind a part of it, in a pass of its own.
    fn part(&self, graph: &Graph<'_>, term: &Term, class: Id) -> f64 {
        let size = |id: Id| size(graph, id);
        let is_whole = |id: Id| size(id) > size(class) && is_product(graph, id, VIEWS);
        let is_part = |term: &Term| {
            is(graph, term, |def| matches!(def.kernel, Kernel::View(_)))
                && term.children().first().is_some_and(|&of| is_whole(of))
        };
        let views = match term {
            // An element of a list is a view if the list is one of views.
            Term::Op(name, kids) if graph.analysis.types.registry.op(name.as_str()).is_getitem() => {
                &graph[kids[0]].nodes[..]
            }
            term => std::slice::from_ref(term),
        };
        if views.iter().any(is_part) { self.part_of_product(size(class)) } else { 0.0 }
    }

    /// What is lost where a part of a product is taken, of so many bytes, in nanoseconds.
    pub fn part_of_product(&self, bytes: f64) -> f64 {
        let moved = 2.0 * bytes;
        let is_joined = self.target == Target::Cpu && moved >= JOINED;
        if is_joined { moved / self.rate(Class::Pointwise).bytes } else { 0.0 }
    }

    /// What an operator without a kernel costs: what it is made of.
    fn of_parts(&self, graph: &Graph<'_>, op: &Op, kids: &[&Kind]) -> Option<f64> {
        let (mut parts, mut env) = (oxport_ir::Graph::new(), graph.analysis.types.env.clone());
        let arguments: Option<Vec<Argument>> = kids.iter().map(|k| argument(&mut parts, k)).collect();
        let (args, kwargs) = written(op, arguments?);
        let mut call = Node::new("call", NodeKind::CallFunction(op.clone()), args);
        call.kwargs = kwargs;
        let (mut sum, mut open) = (0.0, vec![parts.append(call).ok()?]);
        while let Some(id) = open.pop() {
            let node = parts.node(id).clone();
            let Some(op) = node.op() else { continue };
            match op.def() {
                Some(def) if matches!(def.kernel, Kernel::None) => {
                    let last = parts.ids().last();
                    let values = bind_build(&parts, op, &node.args, &node.kwargs).ok()?;
                    let args = Args::new(&values, op, &());
                    let mut b = Builder::new(&mut parts, &mut env, graph.analysis.types.registry).bounded();
                    match def.decomp {
                        Decomp::None => return None,
                        Decomp::Fn(f) => f(&mut b, &args).map(drop).ok()?,
                        Decomp::Expr(text) => b.expr(text, &|name| args.argument(name)).map(drop).ok()?,
                    }
                    open.extend(parts.ids().skip_while(|i| Some(*i) != last).skip(1));
                }
                _ if op.is_getitem() || op.is_python() => {}
                _ => sum += infer::cost_of(&parts, &node, &env).map_or(UNKNOWN, |cost| self.time(&cost)),
            }
            if parts.len() > PARTS {
                return None;
            }
        }
        Some(sum)
    }
}

/// Whether something holds for the row of a term's operator.
fn is(graph: &Graph<'_>, term: &Term, holds: impl Fn(&OpDef) -> bool) -> bool {
    let Term::Op(name, _) = term else { return false };
    graph.analysis.types.registry.op(name.as_str()).def().is_some_and(holds)
}

/// True for what a product yields, or a view of all of it: a class has terms of both kinds once rules were applied, and
/// one of them before that and in what is chosen, and its price must not change with the search.
fn is_product(graph: &Graph<'_>, class: Id, views: usize) -> bool {
    let is_whole = |of: Id| views > 0 && size(graph, of) == size(graph, class) && is_product(graph, of, views - 1);
    graph[class].nodes.iter().any(|term| {
        is(graph, term, |def| match def.kernel {
            Kernel::View(_) => term.children().first().is_some_and(|&of| is_whole(of)),
            _ => matches!(def.work, Work::Counted(Class::Product | Class::Convolution, _)),
        })
    })
}

/// The bytes of what a class yields.
fn size(graph: &Graph<'_>, class: Id) -> f64 {
    graph[class].data.kind.tensors().into_iter().map(|t| bytes(t, &graph.analysis.types.env)).sum()
}

/// An argument of a scratch graph: what is computed is a placeholder there.
fn argument(parts: &mut oxport_ir::Graph, kind: &Kind) -> Option<Argument> {
    Some(match kind {
        Kind::Const(c) => c.argument(),
        Kind::List(l) => Argument::List(l.iter().map(|k| argument(parts, k)).collect::<Option<_>>()?),
        Kind::Value(val) => {
            let mut node = Node::new(parts.unique_name("x"), NodeKind::Placeholder, Vec::new());
            node.meta.val = Some(val.clone());
            parts.append(node).ok()?.into()
        }
        Kind::Unknown => return None,
    })
}
