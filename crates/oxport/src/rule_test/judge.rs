//! Whether both sides of a rule agree on an instance: to the bit, or up to rounding against a run in `float64`.

use super::instance::Instance;
use crate::compare::{Tolerance, compare};
use crate::{DType, ExportedProgram, Opt, Plan, PlanOptions, Tensor, Toolchain, Value, registry};
use egg::Rewrite;
use oxport_rewrite::rule::Soundness;
use oxport_rewrite::term::Term;
use oxport_rewrite::typing::Typing;
use oxport_tensor::Complex;
use std::cell::OnceCell;

/// What became of an instance.
#[derive(Debug, PartialEq)]
pub enum Outcome {
    /// The left side is no program, or the rule does not fire.
    Nothing,
    /// Both sides are equal.
    Agrees,
    /// They are not.
    Differs(String),
}

/// The left side of a rule on an instance; what it computes is kept for all rules that are tried on it.
pub struct Left {
    instance: Instance,
    /// The instance in `float64`.
    exact: Option<Instance>,
    soundness: Soundness,
    plans: OnceCell<Option<(Plan, Option<Plan>)>>,
    /// By seed and size.
    runs: Vec<(u64, i64, OnceCell<Option<Run>>)>,
}

/// What the left side yields.
struct Run {
    inputs: Vec<Tensor>,
    before: Value,
    exact: Option<Value>,
}

fn plan(program: &ExportedProgram) -> crate::Result<Plan> {
    let options = PlanOptions { threads: 1, max_buffer_bytes: MAX_BYTES, ..PlanOptions::default() };
    let toolchain = Toolchain::standard();
    toolchain.plan(&toolchain.prepare(program, Opt::None)?, &options)
}

/// The largest buffer: examples are small, and a constant of one may ask for much.
const MAX_BYTES: usize = 1 << 24;

fn run(plan: &Plan, inputs: &[Tensor]) -> crate::Result<Value> {
    Ok(plan.run(inputs.iter().cloned().map(Value::Tensor).collect())?.user.remove(0))
}

impl Left {
    /// `None` for a call that is refused, or of a dtype without kernel: it is no program.
    /// Rules that round are tried on the numbers of `seed`.
    pub(crate) fn of(instance: Instance, exact: Option<Instance>, soundness: Soundness, seed: u64) -> Option<Left> {
        if !crate::verify(&instance.program).is_empty() {
            return None;
        }
        let sizes: &[i64] = if instance.tensors.iter().any(|t| t.open.is_some()) { &[4, 2, 1, 0] } else { &[0] };
        let seed = if soundness == Soundness::Rounding { seed } else { 0 };
        let runs =
            (seed..seed + 6).flat_map(|seed| sizes.iter().map(move |&size| (seed, size, OnceCell::new()))).collect();
        Some(Left { instance, exact, soundness, plans: OnceCell::new(), runs })
    }

    /// Tries a rule of this left side.
    ///
    /// # Errors
    /// What the rule makes cannot be planned.
    pub fn judge(&self, rewrite: &Rewrite<Term, Typing<'static>>) -> Result<Outcome, String> {
        let program = &self.instance.program;
        let applied = oxport_rewrite::apply(program, registry(), rewrite).map_err(|e| e.to_string())?;
        let (Some(right), Some((left, exact))) = (applied, self.plans()) else { return Ok(Outcome::Nothing) };
        if let Some(d) = crate::verify(&right).first() {
            return Ok(Outcome::Differs(format!("the right side is not valid: {d}")));
        }
        let right = plan(&right).map_err(|e| format!("the right side: {e}"))?;
        let mut ran = false;
        for (seed, size, made) in &self.runs {
            let Some(made) = made.get_or_init(|| self.run(left, exact.as_ref(), *seed, *size)) else { continue };
            ran = true;
            let after = match run(&right, &made.inputs) {
                Ok(after) => after,
                Err(e) => return Ok(Outcome::Differs(format!("seed {seed}: the right side fails: {e}"))),
            };
            let difference = match (self.soundness, made.before.as_tensor(), after.as_tensor()) {
                (Soundness::Rounding, Some(b), Some(a)) if b.dtype().is_float() || b.dtype().is_complex() => {
                    rounds_alike(b, a, made.exact.as_ref().and_then(Value::as_tensor), &made.inputs)
                }
                _ => Some(compare(&after, &made.before, Tolerance::Exact)).filter(|c| !c.agree).map(|c| c.detail),
            };
            if let Some(how) = difference {
                return Ok(Outcome::Differs(format!("seed {seed}, size {size}: {how}")));
            }
        }
        Ok(if ran { Outcome::Agrees } else { Outcome::Nothing })
    }

    fn plans(&self) -> Option<&(Plan, Option<Plan>)> {
        let plans = || {
            let exact = self.exact.as_ref().and_then(|i| plan(&i.program).ok());
            plan(&self.instance.program).ok().map(|left| (left, exact))
        };
        self.plans.get_or_init(plans).as_ref()
    }

    fn run(&self, left: &Plan, exact: Option<&Plan>, seed: u64, size: i64) -> Option<Run> {
        let draw = |(t, i): (&super::instance::Input, u64)| t.draw(self.soundness, seed + 6 * i, size);
        let inputs: Vec<Tensor> = self.instance.tensors.iter().zip(0..).map(draw).collect();
        let before = run(left, &inputs).ok()?;
        let wide = || inputs.iter().map(in_float64).collect::<Vec<Tensor>>();
        let exact = exact.and_then(|plan| run(plan, &wide()).ok());
        Some(Run { inputs, before, exact })
    }
}

fn in_float64(t: &Tensor) -> Tensor {
    if t.dtype().is_float() { t.to_dtype(DType::F64).expect("law: floats are floats") } else { t.clone() }
}

/// The numbers of a tensor, of complex ones both parts.
fn numbers(t: &Tensor) -> Vec<f64> {
    let law = "law: floats and complex numbers have these forms";
    if t.dtype().is_complex() {
        let values: Vec<Complex<f64>> = t.to_dtype(DType::C128).and_then(|t| t.to_vec()).expect(law);
        return values.iter().flat_map(|c| [c.re, c.im]).collect();
    }
    t.to_dtype(DType::F64).and_then(|t| t.to_vec()).expect(law)
}

/// What is wrong with the result after a rule that rounds: no finite value may have become infinite or NaN, nor the
/// reverse, and the error against the exact result is at most four times the error before and eight units in the last
/// place of the largest value.
fn rounds_alike(before: &Tensor, after: &Tensor, exact: Option<&Tensor>, inputs: &[Tensor]) -> Option<String> {
    if before.dtype() != after.dtype() || before.sizes() != after.sizes() {
        return Some(format!("{}{:?} became {}{:?}", before.dtype(), before.sizes(), after.dtype(), after.sizes()));
    }
    let unit = match before.dtype() {
        DType::F64 | DType::C128 => f64::EPSILON,
        DType::F16 => f64::powi(2.0, -10),
        DType::BF16 => f64::powi(2.0, -7),
        _ => f64::from(f32::EPSILON),
    };
    let (b, a) = (numbers(before), numbers(after));
    let is_real = before.dtype().is_float();
    let exact = exact
        .filter(|e| is_real && e.dtype().is_float() && e.sizes() == before.sizes())
        .map(numbers)
        .unwrap_or_else(|| b.clone());
    let changed = b.iter().zip(&a).find(|(b, a)| b.is_finite() != a.is_finite() || b.is_nan() != a.is_nan());
    if let Some((b, a)) = changed {
        return Some(format!("{b} became {a}"));
    }
    let read = inputs.iter().filter(|t| t.dtype().is_float() || t.dtype().is_complex()).flat_map(numbers);
    let largest = read.chain(b.iter().copied()).filter(|x| x.is_finite()).fold(0.0, |m: f64, x| m.max(x.abs()));
    let error = |of: &[f64]| {
        let finite = of.iter().zip(&exact).filter(|(x, e)| x.is_finite() && e.is_finite());
        finite.map(|(x, e)| (x - e).abs()).fold(0.0, f64::max)
    };
    let (was, is, limit) = (error(&b), error(&a), 4.0 * error(&b) + 8.0 * unit * largest);
    (is > limit).then(|| format!("an error of {was:e} became {is:e}, which is more than {limit:e}"))
}
