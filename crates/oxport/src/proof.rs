//! Proofs of optimization: made together with the optimized program, and checked without it.

use crate::{Error, ExportedProgram, Limits, Model, Opt, ReadLimits, Report, Result, Target, Toolchain};
use oxport_ir::{Registry, Value};
use oxport_rewrite::proof::{self, Checked, Context, Fold, Proof, Refused, Rules, Start};
use std::path::Path;
use std::time::{Duration, Instant};

/// What an optimization did, for its proof.
pub(crate) struct Trace {
    /// The steps of the search.
    pub log: Proof,
    /// The program before constants were computed.
    pub unfolded: Option<ExportedProgram>,
    /// What was computed.
    pub folds: Vec<Fold>,
}

impl Trace {
    fn new(rules: Rules, start: Start, frozen: bool) -> Trace {
        Trace { log: Proof::new(rules, start, frozen), unfolded: None, folds: Vec::new() }
    }
    /// The trace of an optimization that has not begun.
    pub fn of(opt: Opt, model: &Model) -> Result<Trace> {
        let rules = match opt {
            Opt::None => return Err(Error::usage("without rules there is nothing to prove")),
            Opt::Exact => Rules::Exact,
            Opt::Fast => Rules::Fast,
        };
        let start = match model.target {
            Target::Aten => Start::Aten,
            Target::Cpu => Start::Cpu,
        };
        Ok(Trace::new(rules, start, model.frozen))
    }
    /// The same before anything was done.
    pub fn anew(&self, frozen: bool) -> Trace {
        Trace::new(self.log.rules, self.log.start, frozen)
    }
}

/// The longest time to compute the constants of a proof.
const EVALUATION: Duration = Duration::from_secs(60);

impl Toolchain {
    /// Optimizes a program as it was read, and proves that the result is equal: [`Toolchain::optimize`] of what the
    /// target needs, [`Toolchain::functionalize`] or [`Toolchain::prepare`]. The proof is one that
    /// [`Toolchain::check_proof`] accepts.
    ///
    /// # Errors
    /// As [`Toolchain::optimize`]. That there is no proof is no error of the optimization: the reason is given instead.
    pub fn optimize_with_proof(
        &self,
        program: &ExportedProgram,
        opt: Opt,
        limits: &Limits,
    ) -> Result<(ExportedProgram, Report, Result<Proof, Refused>)> {
        let mut trace = Trace::of(opt, &limits.model)?;
        let program = self.start_of(program, trace.log.start)?;
        let (result, report) = self.optimize_traced(&program, opt, limits, Some(&mut trace))?;
        let proof = self.with_context(&|context| {
            let unfolded = trace.unfolded.as_ref().unwrap_or(&program);
            proof::prove(context, &program, unfolded, &result, &trace.log, &trace.folds)
        });
        Ok((result, report, proof))
    }

    /// Checks that a proof shows that `after` is `before`, optimized: outputs, mutations and effects are equal, in
    /// order, and the same results share storages.
    ///
    /// # Errors
    /// A program is not valid, or cannot be made functional. That the proof is refused is no error: the reason is given
    /// instead.
    pub fn check_proof(
        &self,
        before: &ExportedProgram,
        after: &ExportedProgram,
        proof: &Proof,
    ) -> Result<Result<Checked, Refused>> {
        let start = self.start_of(before, proof.start)?;
        self.require_valid(after)?;
        Ok(self.with_context(&|context| proof::check(context, &start, after, proof)))
    }

    fn start_of(&self, program: &ExportedProgram, start: Start) -> Result<ExportedProgram> {
        let target = match start {
            Start::Aten => Target::Aten,
            Start::Cpu => Target::Cpu,
        };
        self.functional_for(program, target)
    }

    fn with_context<T>(&self, use_it: &dyn Fn(Context<'_>) -> T) -> T {
        let deadline = Instant::now() + EVALUATION;
        let registry: &Registry = self.registry();
        let evaluate = |part: &ExportedProgram| -> Option<Vec<Value>> { self.evaluate(part, deadline) };
        use_it(Context { registry, further: &self.rules, evaluate: &evaluate })
    }

    /// As [`Toolchain::optimize`], with what was done.
    pub(crate) fn optimize_traced(
        &self,
        program: &ExportedProgram,
        opt: Opt,
        limits: &Limits,
        mut trace: Option<&mut Trace>,
    ) -> Result<(ExportedProgram, Report)> {
        self.require_valid(program)?;
        // What is folded here is run elsewhere, too: to the bit means in PyTorch as well.
        let model = Model { exact_folds: opt == Opt::Exact, ..limits.model };
        let limits = Limits { model, ..limits.clone() };
        let (mut result, mut report) = self.optimize_valid(program, opt, &limits, trace.as_deref_mut())?;
        if model.frozen {
            report.dropped = oxport_passes::drop_unread(&mut result);
            report.nodes_after = result.graph.len();
            let largest = oxport_passes::stored_bytes(program) as f64 * (1.0 + limits.grow) + GROWTH;
            if oxport_passes::stored_bytes(&result) as f64 > largest {
                let limits = Limits { model: Model { frozen: false, ..model }, ..limits };
                if let Some(trace) = trace.as_deref_mut() {
                    *trace = trace.anew(false);
                }
                (result, report) = self.optimize_valid(program, opt, &limits, trace)?;
                report.is_too_large = true;
            }
        }
        Ok((result, report))
    }
}

/// What a program may grow by beside [`Limits::grow`], in bytes.
const GROWTH: f64 = 65536.0;

/// Reads a proof.
///
/// # Errors
/// The file cannot be read, is no proof, or is larger than a limit.
pub fn read_proof(path: &Path, limits: &ReadLimits) -> Result<Proof> {
    let name = path.display().to_string();
    let bytes = oxport_pt2::open_file(path)?;
    oxport_pt2::json::from_slice(&name, bytes.bytes(), limits).map_err(|e| Error::of_values(&name, e))
}

/// Writes a proof, atomically.
///
/// # Errors
/// The file cannot be written.
pub fn write_proof(path: &Path, proof: &Proof) -> Result<()> {
    Ok(oxport_pt2::write_atomic(path, text(proof).as_bytes())?)
}

/// A proof as text: a line for each term and each step.
fn text(proof: &Proof) -> String {
    let json = |value: serde_json::Result<String>| value.expect("law: a proof has string keys and finite numbers");
    let lines = |lines: Vec<String>| match lines.is_empty() {
        true => "[]".to_string(),
        false => format!("[\n{}\n]", lines.join(",\n")),
    };
    let terms = lines(proof.terms.iter().map(|t| json(serde_json::to_string(t))).collect());
    let steps = lines(proof.steps.iter().map(|s| json(serde_json::to_string(s))).collect());
    let (format, rules, start) = (&proof.format, json(serde_json::to_string(&proof.rules)), &proof.start);
    let (start, frozen) = (json(serde_json::to_string(start)), proof.frozen);
    let format = json(serde_json::to_string(format));
    format!(
        "{{\"format\": {format}, \"rules\": {rules}, \"start\": {start}, \"frozen\": {frozen},\n\
        \"terms\": {terms},\n\"steps\": {steps}}}\n"
    )
}
