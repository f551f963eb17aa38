//! Proofs of optimization: made together with the optimized program, and checked without it.

use crate::{Error, ExportedProgram, Limits, Model, Opt, ReadLimits, Report, Result, Target, Toolchain, suggest};
use oxport_ir::{Registry, Value};
use oxport_rewrite::proof::{self, Checked, Context, Fold, Optimization, Proof, Refused, Rules, Start};
use oxport_rewrite::{Answer, Question, Record, SerializedGraph, rules};
use std::path::Path;
use std::time::{Duration, Instant};

/// What an optimization did.
pub(crate) struct Trace {
    /// What the search did, and what was asked of it.
    pub search: Record,
    /// The program before constants were computed.
    pub unfolded: Option<ExportedProgram>,
    /// What was computed.
    pub folds: Vec<Fold>,
}

impl Trace {
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
        let search = Record::new(Proof::new(rules, start, model.frozen));
        Ok(Trace { search, unfolded: None, folds: Vec::new() })
    }
    /// The same before anything was done.
    pub fn anew(&self, frozen: bool) -> Trace {
        let log = Proof::new(self.search.log.rules, self.search.log.start, frozen);
        let Record { question, wants_egraph, .. } = self.search.clone();
        let search = Record { question, wants_egraph, ..Record::new(log) };
        Trace { search, unfolded: None, folds: Vec::new() }
    }
}

/// What is asked of an optimization beside its result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inquiry {
    /// Whether a proof is wanted.
    pub proof: bool,
    /// Why a rule did nothing at the value of a node of the program made functional.
    pub why_not: Option<Question>,
    /// The steps of the value of a node of that program or of the result, by its name.
    pub steps_of: Option<String>,
    /// Whether the e-graph at the end of the search is wanted.
    pub egraph: bool,
}

/// What was asked, and is known then.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// The proof, or why there is none.
    pub proof: Option<std::result::Result<Proof, Refused>>,
    /// Why a rule did nothing at a value.
    pub why_not: Option<Answer>,
    /// The steps of a value, as those of a proof.
    pub steps: Option<Proof>,
    /// The e-graph.
    pub egraph: Option<SerializedGraph>,
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
        let inquiry = Inquiry { proof: true, ..Inquiry::default() };
        let (result, report, found) = self.optimize_asked(program, opt, limits, &inquiry)?;
        Ok((result, report, found.proof.expect("law: a proof was asked for")))
    }

    /// As [`Toolchain::optimize_with_proof`], with what is asked.
    ///
    /// # Errors
    /// As [`Toolchain::optimize`]; there is no rule or node of a name that is asked about; the steps of a value are not
    /// known, since the program has something that proofs do not cover.
    pub fn optimize_asked(
        &self,
        program: &ExportedProgram,
        opt: Opt,
        limits: &Limits,
        inquiry: &Inquiry,
    ) -> Result<(ExportedProgram, Report, Findings)> {
        let mut trace = Trace::of(opt, &limits.model)?;
        let start = self.start_of(program, trace.search.log.start)?;
        if let Some(question) = &inquiry.why_not {
            self.require_rule(&question.rule)?;
            require_node(&[&start], &question.node)?;
        }
        (trace.search.question, trace.search.wants_egraph) = (inquiry.why_not.clone(), inquiry.egraph);
        // What nobody asks for is not recorded.
        let recorded = (*inquiry != Inquiry::default()).then_some(&mut trace);
        let (result, report) = self.optimize_traced(&start, opt, limits, recorded)?;
        let unfolded = trace.unfolded.as_ref().unwrap_or(&start);
        let (log, folds) = (&trace.search.log, &trace.folds[..]);
        let done = Optimization { start: &start, unfolded, result: &result, log, folds };
        let mut found = Findings::default();
        if inquiry.proof {
            found.proof = Some(self.with_context(&|context| proof::prove(context, done)));
        }
        if let Some(node) = &inquiry.steps_of {
            require_node(&[&result, &start], node)?;
            let steps = self.with_context(&|context| proof::steps_of(context, done, node));
            let refused = |refused| oxport_ir::Error::unsupported(format!("the steps of `{node}`: {refused}"));
            found.steps = steps.map_err(refused)?;
        }
        (found.why_not, found.egraph) = (trace.search.answer, trace.search.egraph);
        Ok((result, report, found))
    }

    /// An error unless there is a rule of that name.
    fn require_rule(&self, name: &str) -> Result<()> {
        let names: Vec<String> = rules::names().chain(self.rules.iter().map(|r| r.name.to_string())).collect();
        match names.iter().any(|known| known == name) {
            true => Ok(()),
            false => Err(Error::usage(format!("`{name}` is the name of no rule{}", suggest::similar(&names, name)))),
        }
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

/// An error unless one of the programs has a node of that name.
fn require_node(programs: &[&ExportedProgram], name: &str) -> Result<()> {
    let names: Vec<String> =
        programs.iter().flat_map(|p| p.graph.nodes()).map(|(_, node)| node.name.to_string()).collect();
    match names.iter().any(|known| known == name) {
        true => Ok(()),
        false => Err(Error::usage(format!("`{name}` is the name of no node{}", suggest::similar(&names, name)))),
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
