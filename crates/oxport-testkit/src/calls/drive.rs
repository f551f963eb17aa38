//! One call through every stage: verifier, passes, rules, folding, plan, kernels.
//!
//! Invariant: a call succeeds or gives an error; a panic in any stage is a [`Finding`].

use super::{Call, Item, Mode};
use oxport::{Fake, Opt, PlanOptions, ProgramBuilder, Value, registry};
use oxport_ir::{Argument, Dialect, Kwargs, NodeId, Val};
use oxport_sym::Expr;
use oxport_tensor::Tensor;
use std::cell::Cell;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, Once, PoisonError};
use std::time::Duration;

/// The most bytes of one buffer while a call runs.
pub const MAX_BUFFER: usize = 64 << 20;

/// A failure of a call other than an error.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// `panic`, `slow`; detected by the parent process: `abort`, `endless`.
    pub kind: String,
    /// The stage.
    pub stage: String,
    /// The location in the source, if known.
    pub place: String,
    /// The message.
    pub message: String,
}

/// The last stage that a call reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reached {
    /// It is not a program: a tensor cannot be created, or the meta function rejects the arguments.
    Refused,
    /// The verifier took it.
    Verified,
    /// Kernels computed all results.
    Ran,
}

/// A call that takes longer than this in all stages together is a finding: there are some ten, each over as much as
/// `MAX_WORK`.
pub const TIME_LIMIT: Duration = Duration::from_secs(8);
/// Runs are left out where inputs have more elements: a program may ask for work in proportion to them.
const MAX_WORK: usize = 1 << 20;
/// Runs are left out where the row of the operator says that they take more: a program may ask for work that grows with
/// the product of its sizes. What takes long although its row does not say so is a finding.
const MAX_FLOPS: f64 = (1 << 28) as f64;
/// The maximum number of returned results.
const MAX_RESULTS: usize = 2048;

thread_local! {
    static STAGE: Cell<&'static str> = const { Cell::new("") };
}

/// The last panic of the process: place and message.
static PANIC: Mutex<Option<(String, String)>> = Mutex::new(None);

fn watch_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            // Other tests of this process panic as they always did.
            let is_ours =
                !STAGE.get().is_empty() || std::thread::current().name().is_some_and(|n| n.starts_with("oxport"));
            if !is_ours {
                return before(info);
            }
            let mut place = info.location().map_or(String::new(), |l| format!("{}:{}", l.file(), l.line()));
            if !place.starts_with("crates/") {
                place = caller().unwrap_or(place);
            }
            let payload = info.payload();
            let text = payload.downcast_ref::<String>().map(String::as_str).or(payload.downcast_ref::<&str>().copied());
            let text = text.unwrap_or("a panic without text").replace(['\n', '\t'], " ");
            *PANIC.lock().unwrap_or_else(PoisonError::into_inner) = Some((place, text));
        }));
    });
}

/// The function of this workspace whose callee in another crate panicked.
fn caller() -> Option<String> {
    let trace = std::backtrace::Backtrace::force_capture().to_string();
    let frame = |l: &str| Some(l.trim().split_once(": ")?.1.to_string());
    let is_ours = |f: &String| f.contains("oxport_") && !f.contains("oxport_testkit");
    trace.lines().filter_map(frame).find(is_ours)
}

/// The processor time of a process, if the system reports it; wall time means little on a busy machine.
pub(super) fn processor_time(process: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // Behind the name in parentheses: utime and stime are fields 14 and 15, in hundredths of a second.
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace().skip(11).take(2);
    Duration::from_millis(fields.map(|f| f.parse().unwrap_or(0u64)).sum::<u64>() * 10)
}

/// Drives a call through all stages.
pub fn drive(call: &Call) -> (Reached, Option<Finding>) {
    watch_panics();
    let start = processor_time(std::process::id());
    let reached = Cell::new(Reached::Refused);
    let mut times = Vec::new();
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        stages(call, &reached, &mut |stage| {
            times.push((stage, processor_time(std::process::id())));
            STAGE.set(stage);
        })
    }));
    let stage = STAGE.replace("");
    let end = processor_time(std::process::id());
    // Constant folding catches panics of kernels; the panic hook still records them.
    let panic = PANIC.lock().unwrap_or_else(PoisonError::into_inner).take();
    let finding = match outcome {
        outcome if outcome.is_err() || panic.is_some() => {
            let (place, message) = panic.unwrap_or_default();
            Some(Finding { kind: "panic".into(), stage: stage.into(), place, message })
        }
        _ if end - start > TIME_LIMIT => {
            let ends = times.iter().skip(1).map(|t| t.1).chain([end]);
            let longest = times.iter().zip(ends).max_by_key(|((_, begin), end)| *end - *begin);
            let stage = longest.map_or("", |((stage, _), _)| stage);
            let message = format!("{:.1} s", (end - start).as_secs_f64());
            Some(Finding { kind: "slow".into(), stage: stage.into(), place: String::new(), message })
        }
        _ => None,
    };
    (reached.get(), finding)
}

/// The stages; an error ends what depends on it, and is no finding.
fn stages(call: &Call, reached: &Cell<Reached>, enter: &mut dyn FnMut(&'static str)) {
    enter("build");
    let Ok((program, inputs)) = build(call) else { return };
    enter("verify");
    if !oxport_ir::diagnostic::is_valid(&oxport::verify(&program)) {
        return;
    }
    reached.set(Reached::Verified);
    let work: usize = call.tensors().iter().map(|t| t.layout().map_or(0, |l| l.numel())).fold(0, usize::saturating_add);
    // Symbols without hints say nothing of the work.
    let sized = (call.mode == Mode::Bounded).then(|| build(&Call { mode: Mode::Plain, ..call.clone() }).ok()).flatten();
    let sized = sized.as_ref().map_or(&program, |(program, _)| program);
    let cost = |(_, node)| oxport_ir::infer::cost_of(&sized.graph, node, &sized.env).map_or(0.0, |cost| cost.flops);
    let flops: f64 = sized.graph.nodes().map(cost).sum();
    let mut run = |program: oxport::Result<oxport::ExportedProgram>, plan: &'static str, run: &'static str| {
        let Ok(program) = program else { return };
        enter(plan);
        let Ok(plan) =
            oxport::plan(&program, &PlanOptions { threads: 1, max_buffer_bytes: MAX_BUFFER, ..PlanOptions::default() })
        else {
            return;
        };
        if work > MAX_WORK || flops > MAX_FLOPS {
            return;
        }
        enter(run);
        // The first call records, the second replays.
        if plan.run(inputs.clone()).is_ok() && plan.run(inputs.clone()).is_ok() {
            reached.set(Reached::Ran);
        }
    };
    STAGE.set("prepare");
    run(oxport::prepare(&program, Opt::None), "plan", "run");
    STAGE.set("core");
    run(core(&program), "plan of core", "run of core");
    STAGE.set("prepare exact");
    run(oxport::prepare(&program, Opt::Exact), "plan of exact", "run of exact");
    STAGE.set("prepare fast");
    run(oxport::prepare(&program, Opt::Fast), "plan of fast", "run of fast");
}

/// The program decomposed to Core ATen, with operators without kernels decomposed further.
fn core(program: &oxport::ExportedProgram) -> oxport::Result<oxport::ExportedProgram> {
    let core = oxport::decompose(program)?;
    oxport::verify(&core);
    oxport::prepare(&core, Opt::None)
}

/// A program of this call and the inputs that it is run with.
///
/// # Errors
/// A tensor cannot be made, or the operator refuses the arguments.
pub fn build(call: &Call) -> Result<(oxport::ExportedProgram, Vec<Value>), String> {
    let mut maker = Maker {
        b: ProgramBuilder::new(registry()),
        mode: call.mode,
        inputs: Vec::new(),
        made: 0,
        symbols: HashMap::new(),
    };
    let args = call.args.iter().map(|i| maker.argument(i)).collect::<Result<Vec<_>, _>>()?;
    let mut kwargs = Kwargs::new();
    for (key, item) in &call.kwargs {
        kwargs.insert(key.as_str().into(), maker.argument(item)?);
    }
    let Maker { mut b, inputs, .. } = maker;
    let op = registry().op(&call.op);
    let made = match b.calls().call_op(&op, args.clone(), kwargs.clone()) {
        // If the meta function cannot infer a result, the recorded meta counts.
        Err(e) if e.is_unsupported() => {
            let claim = Val::Tensor(Fake::new(oxport::DType::F32, [Expr::from(2i64)]));
            b.calls().add(&op, args, kwargs, Some(claim))
        }
        made => made,
    };
    let made = made.map_err(|e| e.to_string())?;
    let outputs = results(&mut b, made).map_err(|e| e.to_string())?;
    let mut program = b.finish(&outputs).map_err(|e| e.to_string())?;
    if op.is_mutable() {
        program.dialect = Dialect::Training;
    }
    Ok((program, inputs))
}

/// Every tensor or number of a call's result, with lists flattened.
fn results(b: &mut ProgramBuilder<'_>, call: NodeId) -> oxport_ir::Result<Vec<NodeId>> {
    let mut open = vec![call];
    let mut flat = Vec::new();
    while let Some(id) = open.pop() {
        let mut calls = b.calls();
        match calls.val(id)?.clone() {
            Val::List(l) => {
                for i in (0..l.len().min(MAX_RESULTS)).rev() {
                    let element = calls.getitem(id, i as i64)?;
                    open.push(element);
                }
            }
            Val::Tensor(_) | Val::Int(_) | Val::Float(_) | Val::Bool(_) => flat.push(id),
            _ => {}
        }
    }
    Ok(flat)
}

struct Maker {
    b: ProgramBuilder<'static>,
    mode: Mode,
    inputs: Vec<Value>,
    made: u64,
    symbols: HashMap<i64, Expr>,
}

impl Maker {
    fn argument(&mut self, item: &Item) -> Result<Argument, String> {
        Ok(match item {
            Item::Tensor(spec) => {
                let t = spec.tensor(self.made + 1)?;
                self.place(t)?.into()
            }
            Item::Const(a) => a.clone(),
            Item::List(l) => Argument::List(l.iter().map(|i| self.argument(i)).collect::<Result<_, _>>()?),
            Item::Size(n) if self.mode == Mode::Constant => Argument::Int(*n),
            Item::Size(n) => {
                let range = self.b.size(&format!("n{}", self.made), 0, Some(n.saturating_mul(2).saturating_add(1)));
                let layout = oxport_tensor::Layout::new(&[*n], &[0], 0).map_err(|e| e.to_string())?;
                let t = Tensor::scalar(0i64).with_layout(layout).map_err(|e| e.to_string())?;
                let fake = Fake { sizes: [range].into_iter().collect(), ..Fake::of(&t) };
                let id = self.input(t, fake)?;
                self.b.call("aten::sym_size.int", (id, 0i64)).map_err(|e| e.to_string())?.into()
            }
            Item::Read(a) => {
                let t = match a {
                    Argument::Int(n) => Tensor::scalar(*n),
                    Argument::Float(x) => Tensor::scalar(*x),
                    Argument::Bool(b) => Tensor::scalar(*b),
                    _ => return Err("expected a number to read".to_string()),
                };
                let id = self.place(t)?;
                self.b.call("aten::_local_scalar_dense", (id,)).map_err(|e| e.to_string())?.into()
            }
        })
    }
    /// A tensor as an input or constant, by the mode.
    fn place(&mut self, t: Tensor) -> Result<NodeId, String> {
        let mut fake = Fake::of(&t);
        match self.mode {
            Mode::Plain => {}
            Mode::Constant => {
                self.made += 1;
                return self.b.constant(&format!("x{}", self.made), t).map_err(|e| e.to_string());
            }
            Mode::Symbolic | Mode::Bounded => {
                let sizes: Vec<Expr> = t.sizes().iter().map(|&n| self.symbol(n)).collect();
                fake = match t.layout().is_contiguous() {
                    true => Fake::new(t.dtype(), sizes),
                    false => Fake { sizes: sizes.into_iter().collect(), ..fake },
                };
            }
        }
        self.input(t, fake)
    }
    fn input(&mut self, t: Tensor, fake: Fake) -> Result<NodeId, String> {
        self.made += 1;
        self.inputs.push(Value::Tensor(t));
        self.b.input(&format!("x{}", self.made), fake).map_err(|e| e.to_string())
    }
    /// The symbol of all sizes that are `n`.
    fn symbol(&mut self, n: i64) -> Expr {
        let with_hint = self.mode == Mode::Symbolic;
        if with_hint && n < 2 {
            return Expr::from(n);
        }
        if let Some(e) = self.symbols.get(&n) {
            return e.clone();
        }
        let bound = if with_hint { None } else { Some(n.saturating_mul(2).max(4)) };
        let name = format!("s{}", self.symbols.len());
        let e = self.b.size(&name, if with_hint { 2 } else { 0 }, bound);
        if with_hint && let Some(s) = e.free_symbols().first() {
            self.b.calls().env.set_hint(s, n);
        }
        self.symbols.insert(n, e.clone());
        e
    }
}
