//! The passes between reading a program and running it.

#[cfg(feature = "rewrite")]
use crate::proof::Trace;
use crate::{Result, Toolchain};
use oxport_ir::{Effect, ExportedProgram, Kernel, Op, Value};
use oxport_passes::{
    Budget, Sharing, bind_calls, decompose, decompose_where, eliminate_common, eliminate_dead, fold_constants,
    functionalize, inline_wraps, merge_numbers, separate_outputs, unwrap_calls, unwrap_subclasses, unwrap_vmaps,
    written_composites,
};
#[cfg(feature = "rewrite")]
use oxport_rewrite::cost::{Model, Target};
#[cfg(feature = "rewrite")]
use oxport_rewrite::{Limits, Report, optimize_logged, proof::Fold, rule::Soundness};
use oxport_run::{Plan, PlanOptions};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The optimization level. Without the feature `rewrite` there are no rules: equal nodes are merged, constants folded
/// and dead nodes dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Opt {
    /// No optimization.
    None,
    /// Rules with bitwise equal results.
    #[default]
    Exact,
    /// Rules that may round differently, too.
    Fast,
}

impl Opt {
    /// The level of a name: `none`, `exact`, `fast`.
    pub fn from_name(name: &str) -> Option<Opt> {
        match name {
            "none" => Some(Opt::None),
            "exact" => Some(Opt::Exact),
            "fast" => Some(Opt::Fast),
            _ => None,
        }
    }

    /// The usual options of a plan of what was prepared at this level.
    pub fn plan_options(self) -> PlanOptions {
        PlanOptions { fast: self == Opt::Fast, ..PlanOptions::default() }
    }
}

impl Toolchain {
    /// Prepares a program for [`Toolchain::plan`]: functionalizes it, decomposes operators without kernel, and
    /// optimizes.
    ///
    /// # Errors
    /// The program is not valid ([`Error::diagnostics`](crate::Error::diagnostics)), a write has no functional variant,
    /// or a decomposition fails.
    pub fn prepare(&self, program: &ExportedProgram, opt: Opt) -> Result<ExportedProgram> {
        let program = self.functionalize(program)?;
        let before = Sharing::of(&program);
        let mut program = self.with_kernels(&program, &before)?;
        if opt != Opt::None {
            program = self.improve(program, opt)?;
            // A rule may have brought in an operator without a kernel (`to.dtype`).
            program = self.with_kernels(&program, &before)?;
        }
        Ok(program)
    }

    /// The program without operators that have a decomposition and no kernel.
    fn with_kernels(&self, program: &ExportedProgram, before: &Sharing) -> Result<ExportedProgram> {
        let mut program = decompose(program, &self.registry)?;
        eliminate_dead(&mut program);
        separate_outputs(&mut program, &self.registry, Some(before))?;
        Ok(program)
    }

    #[cfg(feature = "rewrite")]
    fn improve(&self, program: ExportedProgram, opt: Opt) -> Result<ExportedProgram> {
        // A plan's weights are constants: nobody is given the program.
        let model = Model { frozen: true, ..Model::default() };
        Ok(self.optimize_valid(&program, opt, &Limits { model, ..Limits::default() }, None)?.0)
    }

    #[cfg(not(feature = "rewrite"))]
    fn improve(&self, mut program: ExportedProgram, _: Opt) -> Result<ExportedProgram> {
        let before = Sharing::of(&program);
        self.simplify(&mut program, &before, &budget(true, false, FOLD_TIME))?;
        Ok(program)
    }

    /// The functional program that [`Toolchain::optimize`] is given for what runs it: oxport needs kernels, PyTorch
    /// takes every operator of ATen.
    ///
    /// # Errors
    /// As [`Toolchain::prepare`].
    #[cfg(feature = "rewrite")]
    pub fn functional_for(&self, program: &ExportedProgram, target: Target) -> Result<ExportedProgram> {
        match target {
            Target::Cpu => self.prepare(program, Opt::None),
            Target::Aten => self.functionalize(program),
        }
    }

    /// Optimizes a functional program: equality saturation, CSE, constant folding, DCE.
    ///
    /// If the limits' model says that weights are constants, those that nothing reads any more are dropped; where the
    /// program would then need more memory than [`Limits::grow`] allows, weights stay as they are.
    ///
    /// # Errors
    /// The program is not valid, or the optimized program cannot be built.
    #[cfg(feature = "rewrite")]
    pub fn optimize(&self, program: &ExportedProgram, opt: Opt, limits: &Limits) -> Result<(ExportedProgram, Report)> {
        self.optimize_traced(program, opt, limits, None)
    }

    #[cfg(feature = "rewrite")]
    pub(crate) fn optimize_valid(
        &self,
        program: &ExportedProgram,
        opt: Opt,
        limits: &Limits,
        mut trace: Option<&mut Trace>,
    ) -> Result<(ExportedProgram, Report)> {
        let soundness = if opt == Opt::Fast { Soundness::Rounding } else { Soundness::Bitwise };
        let before = Sharing::of(program);
        let start = Instant::now();
        let limits = &Limits { soundness, ..limits.clone() };
        let record = trace.as_deref_mut().map(|t| &mut t.search);
        let (mut program, mut report) = optimize_logged(program, &self.registry, &self.rules, limits, record)?;
        let left = limits.time.map_or(FOLD_TIME, |time| time.saturating_sub(start.elapsed()).min(FOLD_TIME));
        if let Some(trace) = trace.as_deref_mut() {
            let mut unfolded = program.clone();
            eliminate_common(&mut unfolded);
            trace.unfolded = Some(unfolded);
        }
        let budget = budget(limits.model.frozen, limits.model.exact_folds, left);
        let folded = self.simplify(&mut program, &before, &budget)?;
        report.is_folding_cut = Instant::now() >= budget.deadline;
        if let Some(trace) = trace {
            trace.folds = folded.into_iter().map(|(node, constant)| Fold { node, constant }).collect();
        }
        report.nodes_after = program.graph.len();
        Ok((program, report))
    }

    /// CSE, constant folding, DCE. The outputs lie apart as `before`. Gives the names of the nodes that were folded,
    /// each with that of its constant.
    fn simplify(&self, program: &mut ExportedProgram, before: &Sharing, budget: &Budget) -> Result<Vec<Folded>> {
        eliminate_common(program);
        let folded = self.fold(program, budget)?;
        eliminate_dead(program);
        separate_outputs(program, &self.registry, Some(before))?;
        Ok(folded)
    }

    /// Folds constants.
    fn fold(&self, program: &mut ExportedProgram, budget: &Budget) -> Result<Vec<Folded>> {
        Ok(fold_constants(program, budget, &|part| self.evaluate(part, budget.deadline))?)
    }

    /// The results of a program without user inputs. A computation that does not end by the deadline, or panics, has
    /// none; its thread runs on to its end, because kernels cannot be interrupted.
    pub(crate) fn evaluate(&self, part: &ExportedProgram, deadline: Instant) -> Option<Vec<Value>> {
        let left = deadline.checked_duration_since(Instant::now())?;
        let (registry, part) = (self.registry.clone(), part.clone());
        let (done, result) = std::sync::mpsc::channel();
        let work = move || -> Option<_> {
            let part = decompose(&part, &registry).ok()?;
            let options = PlanOptions { max_buffer_bytes: FOLD_BYTES, prepare: false, ..PlanOptions::default() };
            let plan = Plan::new(&part, &registry, &options).ok()?;
            plan.run(Vec::new()).ok().map(|outputs| outputs.user)
        };
        let thread = std::thread::Builder::new().name("oxport-fold".to_string());
        // If the receiver has timed out, sending fails; if the thread panics, the sender is dropped and receiving
        // fails.
        thread.spawn(move || drop(done.send(work()))).ok()?;
        result.recv_timeout(left).ok().flatten()
    }

    /// `run_decompositions({})`: no writes, mutations as outputs, mode blocks inlined. The command line's `decompose
    /// --to functional`.
    ///
    /// # Errors
    /// The program is not valid, or a write has no functional variant.
    pub fn functionalize(&self, program: &ExportedProgram) -> Result<ExportedProgram> {
        self.require_valid(program)?;
        let program = bind_calls(program, &self.registry)?;
        let program = unwrap_subclasses(&program)?;
        let program = unwrap_vmaps(&program, &self.registry)?;
        let program = inline_wraps(&program, &self.registry)?;
        let program = unwrap_calls(&program, &self.registry)?;
        // Composite operators that write (to lists of tensors, `fill_diagonal_`) are decomposed into operators that
        // have functional variants; composites whose results may alias a written tensor without an annotation in their
        // schema, too.
        let aliases = written_composites(&program);
        let program = decompose_where(&program, &self.registry, &|op| op.is_mutable() || aliases.contains(op))?;
        let program = functionalize(&program, &self.registry)?;
        // As in PyTorch: dropout in evaluation mode is the identity.
        let drops = |op: &Op| op.effect() == Effect::Random && op.is_alias_at_times();
        let mut program = decompose_where(&program, &self.registry, &drops)?;
        eliminate_dead(&mut program);
        Ok(program)
    }

    /// `run_decompositions()`: functionalized, and operators outside of Core ATen decomposed if oxport has a
    /// decomposition. The command line's `decompose`.
    ///
    /// # Errors
    /// As [`functionalize`](Toolchain::functionalize), or a decomposition fails.
    pub fn decompose(&self, program: &ExportedProgram) -> Result<ExportedProgram> {
        let program = self.functionalize(program)?;
        let composite = |op: &Op| op.is_aten() && (!op.has_tag("core") || is_kernel_free(op));
        let before = Sharing::of(&program);
        let mut program = decompose_where(&program, &self.registry, &composite)?;
        merge_numbers(&mut program);
        eliminate_dead(&mut program);
        separate_outputs(&mut program, &self.registry, Some(&before))?;
        Ok(program)
    }
}

/// The name of a node that was folded, and that of its constant.
type Folded = (Arc<str>, Arc<str>);

/// Constant folding: the maximum size of a result in bytes,
const FOLD_BYTES: usize = 64 << 20;
/// the maximum cost of all results (operations and bytes moved, about a second),
const FOLD_WORK: f64 = 4e9;
/// and the time limit, for operators whose cost is wrong: what ends sooner does not depend on the machine.
const FOLD_TIME: Duration = Duration::from_secs(20);

/// What folding may take from now on.
fn budget(frozen: bool, exact: bool, time: Duration) -> Budget {
    Budget { bytes: FOLD_BYTES, work: FOLD_WORK, deadline: Instant::now() + time, frozen, exact }
}

fn is_kernel_free(op: &Op) -> bool {
    op.def().is_some_and(|d| matches!(d.kernel, Kernel::None))
}
