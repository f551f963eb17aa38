//! From a program as it was read to one that the engine runs.

use crate::{Result, Toolchain};
use oxport_ir::{Dialect, ExportedProgram, Kernel, Op};
use oxport_passes::{
    Sharing, bind_calls, decompose, decompose_where, eliminate_common, eliminate_dead, fold_constants, functionalize,
    inline_wraps, separate_outputs, unwrap_calls, unwrap_subclasses, unwrap_vmaps,
};
use oxport_rewrite::rule::Soundness;
use oxport_rewrite::{Limits, Report, optimize};
use oxport_run::{Plan, PlanOptions};

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
    /// A write has no functional form, or a decomposition refuses its call.
    pub fn prepare(&self, program: &ExportedProgram, opt: Opt) -> Result<ExportedProgram> {
        let program = self.functional(program)?;
        let before = Sharing::of(&program);
        let mut program = decompose(&program, &self.registry)?;
        eliminate_dead(&mut program);
        separate_outputs(&mut program, &self.registry, Some(&before))?;
        if opt != Opt::None {
            program = self.improve(&program, opt, &Limits::default())?.0;
        }
        Ok(program)
    }

    /// Improves a functional program by equality saturation, merges equal nodes, and computes once what depends on
    /// constants only.
    ///
    /// # Errors
    /// The evaluation of a constant fails.
    pub fn improve(&self, program: &ExportedProgram, opt: Opt, limits: &Limits) -> Result<(ExportedProgram, Report)> {
        let soundness = if opt == Opt::Fast { Soundness::Rounding } else { Soundness::Bitwise };
        let before = Sharing::of(program);
        let (mut program, mut report) = optimize(program, &self.registry, &Limits { soundness, ..*limits })?;
        eliminate_common(&mut program);
        self.fold(&mut program)?;
        eliminate_dead(&mut program);
        separate_outputs(&mut program, &self.registry, Some(&before))?;
        report.nodes_after = program.graph.len();
        Ok((program, report))
    }

    fn fold(&self, program: &mut ExportedProgram) -> Result<()> {
        let run = |part: &ExportedProgram| {
            let part = decompose(part, &self.registry)?;
            let plan = Plan::new(&part, &self.registry, &PlanOptions::default());
            let outputs =
                plan.and_then(|p| p.run(Vec::new())).map_err(|e| oxport_ir::Error::unsupported(e.to_string()))?;
            Ok(outputs.user)
        };
        match fold_constants(program, FOLD_BYTES, &run) {
            // What cannot be computed now will say so when the program runs.
            Err(e) if e.is_unsupported() => Ok(()),
            done => Ok(done.map(drop)?),
        }
    }

    /// What `run_decompositions({})` does: no writes, mutations as outputs, mode blocks inlined.
    ///
    /// # Errors
    /// A write has no functional form.
    pub fn functional(&self, program: &ExportedProgram) -> Result<ExportedProgram> {
        let program = bind_calls(program, &self.registry)?;
        let program = unwrap_subclasses(&program)?;
        let program = unwrap_vmaps(&program, &self.registry)?;
        let program = inline_wraps(&program, &self.registry)?;
        let program = unwrap_calls(&program, &self.registry)?;
        // What writes and is made of other operators writes by those: lists of tensors, `fill_diagonal_`.
        let program = decompose_where(&program, &self.registry, &Op::is_mutable)?;
        let program = functionalize(&program, &self.registry)?;
        // As PyTorch does it: dropout in evaluation mode is nothing.
        let mut program = decompose_where(&program, &self.registry, &|op| op.name() == "aten::dropout")?;
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
        // A decomposition may lay its result out otherwise, and so what stayed behind it; one mended meta shows the next.
        for _ in 0..program.graph.len() {
            if oxport_ir::verify::fix::fix(&mut program, &self.registry).is_empty() {
                break;
            }
        }
        Ok(program)
    }
}

/// Results of constants are computed once if they are at most this large.
const FOLD_BYTES: usize = 64 << 20;

fn is_kernel_free(op: &Op) -> bool {
    op.def().is_some_and(|d| matches!(d.kernel, Kernel::None))
}
