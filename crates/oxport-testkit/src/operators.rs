//! One operator case: a program of one call is built, prepared, planned, run and compared.

use crate::corpus::{Corpus, Message, argument, float, ints};
use crate::{Record, Status};
use oxport::{DType, Fake, Opt, PlanOptions, Tensor, Value, registry};
use oxport_ir::{Argument, Kwargs, Node, NodeKind, Op, OutputKind, Val};
use serde_json::Value as Json;

/// The result of a case.
pub struct Judged {
    /// Values, dtypes and sizes.
    pub record: Record,
    /// Whether the strides are PyTorch's, if they were compared.
    pub strides: Option<bool>,
}

/// Runs and judges a case.
pub fn judge(corpus: &Corpus, case: &Json) -> Judged {
    let id = format!("{} {}", case["id"].as_str().unwrap_or("?"), case["op"].as_str().unwrap_or("?"));
    let mut strides = None;
    let (status, detail) = match run(corpus, case, &mut strides) {
        Ok(detail) => (Status::Pass, detail),
        Err(failure) => failure,
    };
    Judged { record: Record { id, status, detail }, strides }
}

type Failure = (Status, String);

fn invalid(e: Message) -> Failure {
    (Status::Invalid, e)
}

/// A rejected call.
struct Refusal {
    failure: Failure,
    /// Whether by its arguments, before any kernel ran.
    is_early: bool,
}

impl Refusal {
    fn new(e: &oxport::Error, is_early: bool) -> Refusal {
        let status = if e.is_unsupported() { Status::Unsupported } else { Status::Error };
        Refusal { failure: (status, e.to_string()), is_early }
    }
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Refusal {
        Refusal { failure, is_early: false }
    }
}

fn refused(e: &oxport::Error) -> Refusal {
    Refusal::new(e, true)
}

/// Details of a passing case: the error message, if the call must be rejected.
fn run(corpus: &Corpus, case: &Json, strides: &mut Option<bool>) -> Result<String, Failure> {
    let flags: Vec<&str> = case["flags"].as_array().into_iter().flatten().filter_map(Json::as_str).collect();
    let result = execute(corpus, case);
    if case.get("error").is_some() {
        let asserts = operator(case).is_ok_and(|op| op.effect() == oxport_ir::Effect::Assert);
        return match result {
            Ok(_) => Err((Status::Mismatch, format!("must be refused: {}", case["error"]["message"]))),
            // Errors that depend on sizes, dtypes and numbers only must come from meta functions.
            Err(Refusal { failure: (Status::Error, e), is_early: false })
                if flags.contains(&"error_static") && !asserts =>
            {
                Err((Status::Mismatch, format!("must be refused before it runs: {e}")))
            }
            Err(Refusal { failure: (Status::Error, e), .. }) => Ok(e),
            Err(refusal) => Err(refusal.failure),
        };
    }
    let (outputs, mutated) = result.map_err(|refusal| refusal.failure)?;
    let expected = case["outputs"].as_array().ok_or_else(|| invalid("no outputs".into()))?;
    let mut judge = Judge { corpus, case, flags: &flags, at: 0, tensor: 0, strides };
    for want in expected {
        judge.one(&outputs, want).map_err(|e| (Status::Mismatch, e))?;
    }
    for m in case["mutated"].as_array().into_iter().flatten() {
        let index = m["input"].as_u64().unwrap_or(0) as usize;
        let got = mutated.iter().find(|(i, _)| *i == index).map(|(_, t)| t);
        let got = got.ok_or_else(|| (Status::Mismatch, format!("input {index} was not written")))?;
        judge.values(got, &m["tensor"]).map_err(|e| (Status::Mismatch, format!("input {index}: {e}")))?;
    }
    Ok(String::new())
}

/// Flat outputs, and mutated inputs.
type Results = (Vec<Value>, Vec<(usize, Tensor)>);

fn operator(case: &Json) -> Result<Op, Failure> {
    let name = case["op"].as_str().ok_or_else(|| invalid("no op".into()))?;
    Ok(registry().op(&format!("torch.ops.{name}")))
}

fn execute(corpus: &Corpus, case: &Json) -> Result<Results, Refusal> {
    let op = operator(case)?;
    if op.def().is_none() && !op.is_mutable() {
        return Err((Status::Unsupported, format!("operator {} is not implemented", op.name())).into());
    }
    let mut b = oxport::ProgramBuilder::new(registry());
    let mut inputs: Vec<Value> = Vec::new();
    let mut tensor = |json: &Json| -> Result<Argument, Message> {
        let t = corpus.tensor(json)?.ok_or("an input without values")?;
        let fake = Fake::of(&t);
        inputs.push(Value::Tensor(t));
        let offset = json["storage_offset"].as_i64().unwrap_or(0).into();
        let fake = Fake { offset, ..fake };
        Ok(b.input(&format!("x{}", inputs.len() - 1), fake).map_err(|e| e.to_string())?.into())
    };
    let list = case["args"].as_array().cloned().unwrap_or_default();
    let args = list.iter().map(|a| argument(a, &mut tensor)).collect::<Result<Vec<_>, _>>().map_err(invalid)?;
    let mut kwargs = Kwargs::new();
    for (key, value) in case["kwargs"].as_object().into_iter().flatten() {
        kwargs.insert(key.as_str().into(), argument(value, &mut tensor).map_err(invalid)?);
    }
    let call = if op.def().is_some() {
        b.calls().call_op(&op, args, kwargs)
    } else {
        // An operator that writes has no meta function: its result is the written argument.
        let written = op.schema().and_then(|s| s.args.iter().enumerate().find(|(_, a)| a.is_written()));
        let target = written.and_then(|(i, a)| args.get(i).or_else(|| kwargs.get(&*a.name)));
        let first = target.and_then(Argument::as_node);
        let mut calls = b.calls();
        let val = first.and_then(|n| calls.val(n).ok().cloned());
        calls.add(&op, args, kwargs, val)
    };
    let call = call.map_err(|e| refused(&e.into()))?;
    let outputs = flat_outputs(&mut b, call).map_err(|e| refused(&e.into()))?;
    let mut program = b.finish(&[]).map_err(|e| refused(&e.into()))?;
    set_outputs(&mut program, outputs);
    if op.is_mutable() {
        program.dialect = oxport_ir::Dialect::Training;
    }
    let prepared = oxport::prepare(&program, Opt::None).map_err(|e| refused(&e))?;
    let plan = oxport::plan(&prepared, &PlanOptions { threads: 1, ..PlanOptions::default() });
    let outputs = plan.map_err(|e| refused(&e))?.run(inputs).map_err(|e| Refusal::new(&e.into(), false))?;
    Ok((outputs.user, outputs.mutated_inputs))
}

/// Every tensor or number of a call's result, with lists flattened.
fn flat_outputs(b: &mut oxport::ProgramBuilder<'_>, call: oxport_ir::NodeId) -> oxport_ir::Result<Vec<Argument>> {
    let mut calls = b.calls();
    let Val::List(items) = calls.graph.node(call).val().cloned().unwrap_or(Val::None) else {
        return Ok(vec![call.into()]);
    };
    let mut flat = Vec::new();
    for (i, item) in items.iter().enumerate() {
        let element = calls.getitem(call, i as i64)?;
        match item {
            Val::List(inner) => {
                for j in 0..inner.len() {
                    flat.push(calls.getitem(element, j as i64)?.into());
                }
            }
            _ => flat.push(element.into()),
        }
    }
    Ok(flat)
}

fn set_outputs(program: &mut oxport::ExportedProgram, outputs: Vec<Argument>) {
    if let Some(output) = program.graph.output() {
        debug_assert!(matches!(program.graph.node(output), Node { kind: NodeKind::Output, .. }));
        program.signature.outputs = outputs.iter().map(|_| OutputKind::UserOutput.into()).collect();
        program.graph.set_args(output, outputs, Kwargs::new());
    }
    program.module_calls.clear();
}

struct Judge<'a> {
    corpus: &'a Corpus,
    case: &'a Json,
    flags: &'a [&'a str],
    /// The next flat output.
    at: usize,
    /// The number of output tensors judged.
    tensor: usize,
    strides: &'a mut Option<bool>,
}

impl Judge<'_> {
    fn one(&mut self, outputs: &[Value], want: &Json) -> Result<(), String> {
        let (key, value) = want.as_object().and_then(|o| o.iter().next()).ok_or("an output without a key")?;
        match key.as_str() {
            "as_tensors" | "as_optional_tensors" => {
                for item in value.as_array().into_iter().flatten() {
                    let item = item.get("as_tensor").unwrap_or(item);
                    let got = self.next(outputs);
                    if item.get("as_none").is_none() {
                        self.tensor(got, item)?;
                    }
                }
                Ok(())
            }
            "as_tensor" => {
                let got = self.next(outputs);
                self.tensor(got, value)
            }
            _ => {
                let got = self.next(outputs);
                let want = argument(want, &mut |_| Err("a tensor".into()))?;
                if self.flags.contains(&"random") {
                    return Ok(());
                }
                let c = oxport::compare::compare(&got, &crate::corpus::value(&want), Default::default());
                if c.agree { Ok(()) } else { Err(c.detail) }
            }
        }
    }
    fn next(&mut self, outputs: &[Value]) -> Value {
        self.at += 1;
        outputs.get(self.at - 1).cloned().unwrap_or(Value::None)
    }
    fn tensor(&mut self, got: Value, want: &Json) -> Result<(), String> {
        let index = self.tensor;
        self.tensor += 1;
        let Value::Tensor(got) = got else {
            return Err(format!("output {index}: expected a tensor, got {}", got.kind()));
        };
        self.values(&got, want).map_err(|e| format!("output {index}: {e}"))?;
        let strides = ints(&want["strides"])?;
        let (have, want) = (significant(got.sizes(), got.strides()), significant(got.sizes(), &strides));
        *self.strides = Some(self.strides.unwrap_or(true) && have == want);
        Ok(())
    }
    fn values(&self, got: &Tensor, want: &Json) -> Result<(), String> {
        let sizes = ints(&want["sizes"])?;
        let dtype = want["dtype"].as_u64().and_then(|c| DType::from_code(c as u8)).ok_or("unknown dtype")?;
        if got.sizes() != sizes || got.dtype() != dtype {
            return Err(format!("got {}{:?}, expected {}{sizes:?}", got.dtype().short(), got.sizes(), dtype.short()));
        }
        let skip = ["random", "uninitialised", "undefined", "gauge", "cast_range"];
        if self.flags.iter().any(|f| skip.contains(f)) {
            return Ok(());
        }
        let Some(want) = self.corpus.tensor(want)? else { return Ok(()) };
        let tolerance = |k: &str| self.case["tol"].get(k).and_then(float).unwrap_or(0.0);
        close(got, &want, tolerance("atol"), tolerance("rtol"), self.flags)
    }
}

/// Significant strides: those of sizes above 1 in non-empty tensors.
fn significant(sizes: &[i64], strides: &[i64]) -> Vec<i64> {
    if sizes.contains(&0) {
        return Vec::new();
    }
    sizes.iter().zip(strides).filter(|(n, _)| **n > 1).map(|(_, s)| *s).collect()
}

fn close(got: &Tensor, want: &Tensor, atol: f64, rtol: f64, flags: &[&str]) -> Result<(), String> {
    let is_inexact = want.dtype().is_float() || want.dtype().is_complex();
    if !is_inexact {
        if flags.contains(&"ties") {
            return Ok(());
        }
        let c = oxport::compare::compare_tensors(got, want, oxport::compare::Tolerance::Exact);
        return if c.agree { Ok(()) } else { Err(c.detail) };
    }
    let numbers = |t: &Tensor| t.to_vec::<oxport_tensor::Complex<f64>>().map_err(|e| e.to_string());
    let near = |error: f64, size: f64| size.is_finite() && error <= atol + rtol * size;
    let alike = |a: f64, b: f64| a == b || a.is_nan() && b.is_nan() || near((a - b).abs(), b.abs());
    for (i, (a, b)) in numbers(got)?.into_iter().zip(numbers(want)?).enumerate() {
        // A bound relative to an infinity would accept any number: infinities and NaNs must be equal, part by part.
        let within = near((a - b).norm(), b.norm()) || !b.norm().is_finite() && alike(a.re, b.re) && alike(a.im, b.im);
        let in_range = flags.contains(&"range") && (!a.norm().is_finite() || !b.norm().is_finite());
        if !within && !in_range {
            return Err(format!("element {i}: expected {b}, got {a} (atol {atol:e}, rtol {rtol:e})"));
        }
    }
    Ok(())
}
