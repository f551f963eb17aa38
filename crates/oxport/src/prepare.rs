//! The passes between reading a program and running it.

use crate::{Result, Toolchain};
use oxport_ir::{Dialect, Effect, ExportedProgram, Kernel, Op};
use oxport_passes::{
    Budget, Sharing, bind_calls, decompose, decompose_where, drop_unread, eliminate_common, eliminate_dead,
    fold_constants, functionalize, inline_wraps, separate_outputs, stored_bytes, unwrap_calls, unwrap_subclasses,
    unwrap_vmaps, written_composites,
};
use oxport_rewrite::cost::Model;
use oxport_rewrite::rule::Soundness;
use oxport_rewrite::{Limits, Report, optimize};
use oxport_run::{Plan, PlanOptions};
use std::time::{Duration, Instant};

/// The optimization level.
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
        let mut program = decompose(&program, &self.registry)?;
        eliminate_dead(&mut program);
        separate_outputs(&mut program, &self.registry, Some(&before))?;
        if opt != Opt::None {
            // A plan's weights are constants: nobody is given the program.
            let model = Model { frozen: true, ..Model::default() };
            program = self.optimize_valid(&program, opt, &Limits { model, ..Limits::default() })?.0;
        }
        Ok(program)
    }

    /// Optimizes a functional program: equality saturation, CSE, constant folding, DCE.
    ///
    /// If the limits' model says that weights are constants, those that nothing reads any more are dropped; where the
    /// program would then need more memory than [`Limits::grow`] allows, weights stay as they are.
    ///
    /// # Errors
    /// The program is not valid, or the optimized program cannot be built.
    pub fn optimize(&self, program: &ExportedProgram, opt: Opt, limits: &Limits) -> Result<(ExportedProgram, Report)> {
        self.require_valid(program)?;
        // What is folded here is run elsewhere, too: to the bit means in PyTorch as well.
        let model = Model { exact_folds: opt == Opt::Exact, ..limits.model };
        let (mut result, mut report) = self.optimize_valid(program, opt, &Limits { model, ..*limits })?;
        if model.frozen {
            report.dropped = drop_unread(&mut result);
            let largest = stored_bytes(program) as f64 * (1.0 + limits.grow) + GROWTH;
            if stored_bytes(&result) as f64 > largest {
                let model = Model { frozen: false, ..model };
                (result, report) = self.optimize_valid(program, opt, &Limits { model, ..*limits })?;
                report.is_too_large = true;
            }
        }
        Ok((result, report))
    }

    fn optimize_valid(
        &self,
        program: &ExportedProgram,
        opt: Opt,
        limits: &Limits,
    ) -> Result<(ExportedProgram, Report)> {
        let soundness = if opt == Opt::Fast { Soundness::Rounding } else { Soundness::Bitwise };
        let before = Sharing::of(program);
        let start = Instant::now();
        let (mut program, mut report) = optimize(program, &self.registry, &Limits { soundness, ..*limits })?;
        eliminate_common(&mut program);
        let left = limits.time.map_or(FOLD_TIME, |time| time.saturating_sub(start.elapsed()).min(FOLD_TIME));
        self.fold(&mut program, &limits.model, Instant::now() + left)?;
        eliminate_dead(&mut program);
        separate_outputs(&mut program, &self.registry, Some(&before))?;
        report.nodes_after = program.graph.len();
        Ok((program, report))
    }

    /// Folds constants until `deadline`. A computation that does not end by then, or panics, is not folded; its thread
    /// runs on to its end, because kernels cannot be interrupted.
    fn fold(&self, program: &mut ExportedProgram, model: &Model, deadline: Instant) -> Result<()> {
        let run = |part: &ExportedProgram| {
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
        };
        let (frozen, exact) = (model.frozen, model.exact_folds);
        let budget = Budget { bytes: FOLD_BYTES, work: FOLD_WORK, deadline, frozen, exact };
        Ok(fold_constants(program, &budget, &run).map(drop)?)
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
        program.dialect = Dialect::Aten;
        Ok(program)
    }

    /// `run_decompositions()`: functionalized, and operators outside of Core ATen decomposed if oxport has a
    /// decomposition. The command line's `decompose`.
    ///
    /// # Errors
    /// As [`functionalize`](Toolchain::functionalize), or a decomposition fails.
    pub fn decompose(&self, program: &ExportedProgram) -> Result<ExportedProgram> {
        let program = self.functionalize(program)?;
        let composite = |op: &Op| op.namespace() == "aten" && (!op.has_tag("core") || is_kernel_free(op));
        let before = Sharing::of(&program);
        let mut program = decompose_where(&program, &self.registry, &composite)?;
        eliminate_dead(&mut program);
        separate_outputs(&mut program, &self.registry, Some(&before))?;
        Ok(program)
    }
}

/// What a program may grow by beside [`Limits::grow`], in bytes.
const GROWTH: f64 = 65536.0;
/// Constant folding: the maximum size of a result in bytes,
const FOLD_BYTES: usize = 64 << 20;
/// the maximum cost of all results (operations and bytes moved, about a second),
const FOLD_WORK: f64 = 4e9;
/// and the time limit.
const FOLD_TIME: Duration = Duration::from_secs(4);

fn is_kernel_free(op: &Op) -> bool {
    op.def().is_some_and(|d| matches!(d.kernel, Kernel::None))
}
