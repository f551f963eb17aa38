//! Whether both sides of a rule agree on an instance: to the bit, or up to rounding against a run in `float64`.

use super::instance::Instance;
use crate::compare::{Tolerance, compare};
use crate::{DType, ExportedProgram, Opt, Plan, PlanOptions, Tensor, Toolchain, Value, registry};
use oxport_rewrite::rule::Soundness;
use oxport_rewrite::term::Term;
use oxport_rewrite::typing::Typing;
use oxport_tensor::Complex;

/// A rule as it is tried.
pub(crate) struct Tried {
    pub soundness: Soundness,
    /// Of the numbers on which rules that round are tried.
    pub seed: u64,
    pub rewrite: egg::Rewrite<Term, Typing<'static>>,
}

/// What became of an instance.
#[derive(Debug, PartialEq)]
pub(crate) enum Outcome {
    /// The left side is no program, or the rule does not fire.
    Nothing,
    Agrees,
    Differs(String),
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

/// Tries a rule on an instance; `exact` is the instance in `float64`.
pub(crate) fn judge(tried: &Tried, instance: &Instance, exact: Option<&Instance>) -> Result<Outcome, String> {
    // A call that is refused, or of a dtype without kernel, is no program.
    if !crate::verify(&instance.program).is_empty() {
        return Ok(Outcome::Nothing);
    }
    let applied = oxport_rewrite::apply(&instance.program, registry(), &tried.rewrite).map_err(|e| e.to_string())?;
    let (Some(right), Ok(left)) = (applied, plan(&instance.program)) else { return Ok(Outcome::Nothing) };
    if let Some(d) = crate::verify(&right).first() {
        return Ok(Outcome::Differs(format!("the right side is not valid: {d}")));
    }
    let right = plan(&right).map_err(|e| format!("the right side: {e}"))?;
    let exact = exact.and_then(|i| plan(&i.program).ok());
    let mut ran = false;
    let sizes: &[i64] = if instance.tensors.iter().any(|t| t.open.is_some()) { &[4, 2, 1, 0] } else { &[0] };
    let fresh = if tried.soundness == Soundness::Rounding { tried.seed } else { 0 };
    for seed in 0..6 {
        for &size in sizes {
            let draw = |(t, i): (&super::instance::Input, u64)| t.draw(tried.soundness, fresh + seed + 6 * i, size);
            let inputs: Vec<Tensor> = instance.tensors.iter().zip(0..).map(draw).collect();
            let Ok(before) = run(&left, &inputs) else { continue };
            ran = true;
            let after = match run(&right, &inputs) {
                Ok(after) => after,
                Err(e) => return Ok(Outcome::Differs(format!("seed {seed}: the right side fails: {e}"))),
            };
            let difference = match (tried.soundness, before.as_tensor(), after.as_tensor()) {
                (Soundness::Rounding, Some(b), Some(a)) if b.dtype().is_float() || b.dtype().is_complex() => {
                    let wide: Vec<Tensor> = inputs.iter().map(in_float64).collect();
                    let exact = exact.as_ref().and_then(|plan| run(plan, &wide).ok());
                    rounds_alike(b, a, exact.as_ref().and_then(Value::as_tensor), &inputs)
                }
                _ => Some(compare(&after, &before, Tolerance::Exact)).filter(|c| !c.agree).map(|c| c.detail),
            };
            if let Some(how) = difference {
                return Ok(Outcome::Differs(format!("seed {}, size {size}: {how}", fresh + seed)));
            }
        }
    }
    Ok(if ran { Outcome::Agrees } else { Outcome::Nothing })
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
