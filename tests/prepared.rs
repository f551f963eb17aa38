//! What operators make once of their constant operands changes no bit, whichever of them are constant.

use crate::all;
use crate::joined::call;
use oxport::compare::{Tolerance, compare};
use oxport::{Fake, Opt, PlanOptions, ProgramBuilder, Tensor, Value, registry};
use oxport_testkit::samples::parse;
use std::collections::BTreeSet;
use std::sync::Mutex;

/// A row that prepares something of running statistics, which this form has not.
const NEVER: &[&str] = &["aten::_native_batch_norm_legit.no_stats"];

/// Calls that are large enough for it to pay, of rows whose samples are not.
const LARGER: &[(&str, &str)] = &[
    ("aten::addmm", "f32[20], f32[5, 16], f32[16, 20]"),
    ("aten::baddbmm", "f32[2, 5, 20], f32[2, 5, 16], f32[2, 16, 20]"),
    ("aten::bmm", "f32[2, 5, 16], f32[2, 16, 20]"),
    ("aten::linalg_matmul", "f64[2, 5, 16], f64[16, 20]"),
    ("aten::linear", "bf16[5, 16], bf16[20, 16], bf16[20]"),
    ("aten::matmul", "f32[16], f32[3, 16, 20]"),
    ("aten::mm", "f16[5, 16], f16[16, 20]{1, 16}"),
    ("aten::conv_transpose1d", "f32[2, 3, 8], f32[3, 8, 3], f32[8], 2, 1, 1"),
    ("aten::conv_transpose2d.input", "f32[2, 4, 5, 5], f32[4, 8, 3, 3], f32[16], 2, 1, 1, 2"),
    ("aten::conv_transpose3d.input", "f32[1, 2, 3, 3, 3], f32[2, 8, 2, 2, 2]"),
    ("aten::gru_cell", "f32[2, 16], f32[2, 16], f32[48, 16], f32[48, 16]"),
    (
        "aten::gru.input",
        "f32[2, 5, 16], f32[2, 2, 16], [f32[48, 16], f32[48, 16], f32[48, 16], f32[48, 16]], False, 1, 0.0, False, \
        True, True",
    ),
    ("aten::lstm_cell", "f32[2, 16], [f32[2, 16], f32[2, 16]], f32[64, 16], f32[64, 16], f32[64], f32[64]"),
    (
        "aten::lstm.input",
        "f32[5, 2, 16], [f32[1, 2, 16], f32[1, 2, 16]], [f32[64, 16], f32[64, 16], f32[64], f32[64]], True, 1, 0.0, \
        False, False, False",
    ),
    (
        "aten::mkldnn_rnn_layer",
        "f32[3, 1, 16], f32[64, 16], f32[64, 16], f32[64], f32[64], f32[1, 16], f32[1, 16], False, [], 2, 16, 1, True, \
        False, False, False",
    ),
];

/// Of every sample of rows that prepare something, and of larger calls, the first tensor and at most one other are
/// inputs.
#[test]
fn operators_compute_the_same_of_what_is_prepared() {
    let rows = oxport_ops::TABLES.iter().flat_map(|table| table.iter()).filter(|def| def.prepare.is_some());
    let calls: Vec<_> = rows
        .flat_map(|def| def.samples.iter().map(move |text| (def.name(), *text)))
        .chain(LARGER.iter().copied())
        .filter(|(_, text)| !text.starts_with('!'))
        .collect();
    let done = Mutex::new(BTreeSet::new());
    all(calls.clone(), |&(name, text)| {
        let count = parse(text)?.tensors.len();
        for k in 0..count {
            let is_prepared = agrees(name, text, k).map_err(|e| format!("{name}({text}), input {k}: {e}"))?;
            if is_prepared {
                done.lock().expect("law: no test panics with it").insert(name);
            }
        }
        Ok(())
    });
    let done = done.into_inner().expect("law: no test panics with it");
    let never: BTreeSet<_> = calls.iter().map(|call| call.0).filter(|name| !done.contains(name)).collect();
    assert_eq!(never, NEVER.iter().copied().collect());
}

/// Whether something was prepared; the results are the same.
fn agrees(name: &str, text: &str, other: usize) -> Result<bool, String> {
    let sample = parse(text)?;
    let is_input = |i: usize| i == 0 || i == other;
    let run = || -> oxport::Result<_> {
        let mut b = ProgramBuilder::new(registry());
        let result = call(&mut b, name, &sample, |b, i, t| {
            let name = format!("x{i}");
            if is_input(i) { b.input(&name, Fake::of(t)) } else { b.constant(&name, t.clone()) }
        })?;
        let returns = registry().op(name).schema().map_or(1, |schema| schema.returns.len());
        let results = match returns {
            1 => vec![result],
            n => (0..n).map(|i| b.calls().getitem(result, i as i64)).collect::<Result<_, _>>()?,
        };
        let program = b.finish(&results)?;
        let program = oxport::Toolchain::standard().unverified().prepare(&program, Opt::None)?;
        let given = sample.tensors.iter().enumerate().filter(|(i, _)| is_input(*i));
        let inputs: Vec<Value> = given.map(|(_, t): (_, &Tensor)| Value::Tensor(t.clone())).collect();
        let plan = |prepare| oxport::plan(&program, &PlanOptions { threads: 1, prepare, ..PlanOptions::default() });
        let (plain, plan) = (plan(false)?.run(inputs.clone())?.user, plan(true)?);
        let made = plan.run(inputs.clone())?.user;
        let is_prepared = plan.describe(inputs)?.steps.iter().any(|step| step.is_prepared);
        Ok((plain, made, is_prepared))
    };
    let (plain, made, is_prepared) = run().map_err(|e| e.to_string())?;
    for (plain, made) in plain.iter().zip(&made) {
        let found = compare(made, plain, Tolerance::Exact);
        if !found.agree {
            return Err(found.detail);
        }
    }
    Ok(is_prepared)
}
