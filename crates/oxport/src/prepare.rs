//! From a program as it was read to one that the engine runs.

use crate::{Result, Toolchain};
use oxport_ir::{Dialect, Effect, ExportedProgram, Kernel, Op};
use oxport_passes::{
    Budget, Sharing, bind_calls, decompose, decompose_where, eliminate_common, eliminate_dead, fold_constants,
    functionalize, inline_wraps, separate_outputs, unwrap_calls, unwrap_subclasses, unwrap_vmaps, written_composites,
};
use oxport_rewrite::rule::Soundness;
use oxport_rewrite::{Limits, Report, optimize};
use oxport_run::{Plan, PlanOptions};
use std::time::{Duration, Instant};

/// How much a program is optimised before it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Opt {
    /// Not at all.
    None,
    /// By rules that change no bit of any result.
    #[default]
    Exact,
    /// By rules that may round differently, too.
    Fast,
}

impl Toolchain {
    /// Makes a program ready for [`Toolchain::plan`]: mode blocks inlined, functional, operators without kernel decomposed, and
    /// optimised.
    ///
    /// # Errors
    /// The program is not valid ([`Error::diagnostics`](crate::Error::diagnostics)), a write has no functional form, or a
    /// decomposition refuses its call.
    pub fn prepare(&self, program: &ExportedProgram, opt: Opt) -> Result<ExportedProgram> {
        let program = self.functional(program)?;
        let before = Sharing::of(&program);
        let mut program = decompose(&program, &self.registry)?;
        eliminate_dead(&mut program);
        separate_outputs(&mut program, &self.registry, Some(&before))?;
        if opt != Opt::None {
            program = self.improved(&program, opt, &Limits::default())?.0;
        }
        Ok(program)
    }

    /// Improves a functional program by equality saturation, merges equal nodes, and computes once what depends on
    /// constants only.
    ///
    /// # Errors
    /// The program is not valid, or cannot be built anew.
    pub fn improve(&self, program: &ExportedProgram, opt: Opt, limits: &Limits) -> Result<(ExportedProgram, Report)> {
        self.admit(program)?;
        self.improved(program, opt, limits)
    }

    fn improved(&self, program: &ExportedProgram, opt: Opt, limits: &Limits) -> Result<(ExportedProgram, Report)> {
        let soundness = if opt == Opt::Fast { Soundness::Rounding } else { Soundness::Bitwise };
        let before = Sharing::of(program);
        let start = Instant::now();
        let (mut program, mut report) = optimize(program, &self.registry, &Limits { soundness, ..*limits })?;
        eliminate_common(&mut program);
        let left = limits.time.saturating_sub(start.elapsed());
        self.fold(&mut program, Instant::now() + left.min(FOLD_TIME))?;
        eliminate_dead(&mut program);
        separate_outputs(&mut program, &self.registry, Some(&before))?;
        report.nodes_after = program.graph.len();
        Ok((program, report))
    }

    /// Folds until `deadline`. What does not end by then, or panics, is left to the run; it goes on in a thread of its own until
    /// it ends, as nothing stops a kernel.
    fn fold(&self, program: &mut ExportedProgram, deadline: Instant) -> Result<()> {
        let run = |part: &ExportedProgram| {
            let left = deadline.checked_duration_since(Instant::now())?;
            let (registry, part) = (self.registry.clone(), part.clone());
            let (done, result) = std::sync::mpsc::channel();
            let work = move || -> Option<_> {
                let part = decompose(&part, &registry).ok()?;
                let options = PlanOptions { max_buffer_bytes: FOLD_BYTES, ..PlanOptions::default() };
                let plan = Plan::new(&part, &registry, &options).ok()?;
                plan.run(Vec::new()).ok().map(|outputs| outputs.user)
            };
            let thread = std::thread::Builder::new().name("oxport-fold".to_string());
            // A receiver that is gone wants no result; one that waits learns of a panic, since the sender is dropped.
            thread.spawn(move || drop(done.send(work()))).ok()?;
            result.recv_timeout(left).ok().flatten()
        };
        let budget = Budget { bytes: FOLD_BYTES, work: FOLD_WORK, deadline };
        Ok(fold_constants(program, &budget, &run).map(drop)?)
    }

    /// What `run_decompositions({})` does: no writes, mutations as outputs, mode blocks inlined.
    ///
    /// # Errors
    /// The program is not valid, or a write has no functional form.
    pub fn functional(&self, program: &ExportedProgram) -> Result<ExportedProgram> {
        self.admit(program)?;
        let program = bind_calls(program, &self.registry)?;
        let program = unwrap_subclasses(&program)?;
        let program = unwrap_vmaps(&program, &self.registry)?;
        let program = inline_wraps(&program, &self.registry)?;
        let program = unwrap_calls(&program, &self.registry)?;
        // What writes and is made of other operators writes by those: lists of tensors, `fill_diagonal_`.
        // And what may be an alias of what is written, unsaid by its schema, is what its parts are.
        let aliases = written_composites(&program);
        let program = decompose_where(&program, &self.registry, &|op| op.is_mutable() || aliases.contains(op))?;
        let program = functionalize(&program, &self.registry)?;
        // As PyTorch does it: dropout in evaluation mode is nothing.
        let drops = |op: &Op| op.effect() == Effect::Random && op.is_alias_at_times();
        let mut program = decompose_where(&program, &self.registry, &drops)?;
        eliminate_dead(&mut program);
        program.dialect = Dialect::Aten;
        Ok(program)
    }

    /// What `run_decompositions()` does: functional, and operators outside of Core ATen decomposed where oxport knows how.
    ///
    /// # Errors
    /// As [`functional`](Toolchain::functional), or a decomposition refuses its call.
    pub fn core(&self, program: &ExportedProgram) -> Result<ExportedProgram> {
        let program = self.functional(program)?;
        let composite = |op: &Op| op.namespace() == "aten" && (!op.has_tag("core") || is_kernel_free(op));
        let before = Sharing::of(&program);
        let mut program = decompose_where(&program, &self.registry, &composite)?;
        eliminate_dead(&mut program);
        separate_outputs(&mut program, &self.registry, Some(&before))?;
        Ok(program)
    }
}

/// Results of constants are computed once if they are at most this large,
const FOLD_BYTES: usize = 64 << 20;
/// if all of them take at most so many operations and bytes moved, about a second,
const FOLD_WORK: f64 = 4e9;
/// and within this time at most, whatever the costs say.
const FOLD_TIME: Duration = Duration::from_secs(4);

fn is_kernel_free(op: &Op) -> bool {
    op.def().is_some_and(|d| matches!(d.kernel, Kernel::None))
}
