//! What a plan may do with an operator by its row: one elementwise loop is computed in a pass with others, and a result
//! that has a place in a later one is made there.

use crate::all;
use oxport::compare::{Tolerance, compare};
use oxport::run::Place;
use oxport::{ExportedProgram, Fake, NodeId, Opt, PlanOptions, ProgramBuilder, Tensor, Value, registry};
use oxport_ir::{Argument, OpDef};
use oxport_testkit::samples::{Sample, parse};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Samples of the kind that a row excepts: a batch norm that measures its input.
const NOT_JOINED: &[(&str, &str)] = &[("aten::batch_norm", "f32[5, 4], None, None, None, None, True, 0.1, 1e-5, True")];

/// The samples that must work, of rows with one result.
fn samples(may: fn(&OpDef) -> bool) -> Vec<(&'static str, &'static str)> {
    let rows = oxport_ops::TABLES.iter().flat_map(|table| table.iter()).filter(|def| may(def));
    let is_single = |def: &&OpDef| registry().op(def.name()).schema().is_some_and(|s| s.returns.len() == 1);
    let calls: Vec<_> = rows
        .filter(is_single)
        .flat_map(|def| def.samples.iter().map(move |text| (def.name(), *text)))
        .filter(|(name, text)| !text.starts_with('!') && !NOT_JOINED.contains(&(*name, *text)))
        .collect();
    calls
}

/// The call of a sample, on what `operand` makes of its tensors.
pub(crate) fn call(
    b: &mut ProgramBuilder<'_>,
    name: &str,
    sample: &Sample,
    operand: impl Fn(&mut ProgramBuilder<'_>, usize, &Tensor) -> oxport_ir::Result<NodeId>,
) -> oxport::Result<NodeId> {
    let mut ids = Vec::new();
    for (i, t) in sample.tensors.iter().enumerate() {
        ids.push(operand(b, i, t)?);
    }
    let tensor = |i: usize| Argument::Node(ids[i]);
    let args = sample.args.iter().map(|a| a.argument(&tensor)).collect();
    let kwargs = sample.kwargs.iter().map(|(k, a)| (k.as_str().into(), a.argument(&tensor))).collect();
    Ok(b.calls().call_op(&registry().op(name), args, kwargs)?)
}

fn input(b: &mut ProgramBuilder<'_>, i: usize, t: &Tensor) -> oxport_ir::Result<NodeId> {
    b.input(&format!("x{i}"), Fake::of(t))
}

fn prepared(b: ProgramBuilder<'_>, result: NodeId) -> oxport::Result<ExportedProgram> {
    let program = b.finish(&[result])?;
    oxport::Toolchain::standard().unverified().prepare(&program, Opt::None)
}

/// The call of every sample between copies of its operands and of its result.
#[test]
fn operators_of_one_loop_are_joined() {
    let calls = samples(|def| def.one_loop.is_some());
    assert!(calls.len() > 400, "{}", calls.len());
    all(calls, |&(name, text)| is_joined(name, text).map_err(|e| format!("{name}({text}): {e}")));
}

fn is_joined(name: &str, text: &str) -> Result<(), String> {
    let sample = parse(text)?;
    let run = || -> oxport::Result<_> {
        let mut b = ProgramBuilder::new(registry());
        let result = call(&mut b, name, &sample, |b, i, t| {
            let x = input(b, i, t)?;
            b.calls().call("clone", (x,))
        })?;
        let copy = b.calls().call("clone", (result,))?;
        let program = prepared(b, copy)?;
        let inputs = || sample.tensors.iter().cloned().map(Value::Tensor).collect::<Vec<_>>();
        let options = |fuse_from| PlanOptions { threads: 1, fuse_from, ..PlanOptions::default() };
        let apart = oxport::plan(&program, &options(usize::MAX))?.run(inputs())?.user;
        let plan = oxport::plan(&program, &options(1))?;
        plan.run(inputs())?;
        let joined = plan.run(inputs())?.user;
        Ok((apart, joined, plan.fused_blocks()))
    };
    let (apart, joined, (open, refused)) = run().map_err(|e| e.to_string())?;
    let found = compare(&joined[0], &apart[0], Tolerance::Exact);
    let is_worth = apart[0].as_tensor().is_some_and(|t| t.numel() > 0 && t.rank() > 0);
    match (found.agree, open, refused) {
        (false, ..) => Err(found.detail),
        (_, 0, 0) if is_worth => Err("no steps were joined".to_string()),
        (_, _, 0) => Ok(()),
        _ => Err("it could not be joined".to_string()),
    }
}

/// The result of every sample beside another tensor, along the last dimension: there are gaps between its rows. Of
/// what is no loop, also with an activation in the same pass.
#[test]
fn operators_fill_their_place_in_a_later_result() {
    let loops = samples(|def| def.one_loop.is_some()).into_iter().map(|(name, text)| (name, text, false));
    let others = samples(|def| def.fills_gaps);
    let others = others.into_iter().flat_map(|(name, text)| [false, true].map(|relu| (name, text, relu)));
    let calls: Vec<_> = loops.chain(others).collect();
    let (count, there) = (calls.len(), AtomicUsize::new(0));
    all(calls, |&(name, text, relu)| {
        let is_part = is_placed(name, text, relu).map_err(|e| format!("{name}({text}), activation: {relu}: {e}"))?;
        there.fetch_add(usize::from(is_part), Relaxed);
        Ok(())
    });
    // The others are empty, or numbers without a dimension.
    let there = there.into_inner();
    assert!(there * 5 > count * 4, "{there} of {count}");
}

/// Whether the result was made in its place; it is the same.
fn is_placed(name: &str, text: &str, relu: bool) -> Result<bool, String> {
    let sample = parse(text)?;
    let run = || -> oxport::Result<_> {
        let mut b = ProgramBuilder::new(registry());
        let mut result = call(&mut b, name, &sample, input)?;
        if relu {
            let is_complex = b.calls().fake(result)?.dtype.is_complex();
            result = b.calls().call(if is_complex { "neg" } else { "relu" }, (result,))?;
        }
        let fake = b.calls().fake(result)?.clone();
        let Some(last) = fake.dim().checked_sub(1) else { return Ok(None) };
        let beside = b.input("beside", fake.clone())?;
        let parts = Argument::List(vec![Argument::Node(beside), Argument::Node(result)]);
        let cat = b.calls().call("cat", (parts, last as i64))?;
        let program = prepared(b, cat)?;
        let layout = fake.concrete_layout().expect("law: sizes of samples are known");
        let beside = Tensor::zeros(fake.dtype, &layout.sizes)?;
        let inputs = || sample.tensors.iter().chain([&beside]).cloned().map(Value::Tensor).collect::<Vec<_>>();
        let options = |in_place| PlanOptions { threads: 1, fuse_from: 1, in_place, ..PlanOptions::default() };
        let copied = oxport::plan(&program, &options(false))?.run(inputs())?.user;
        let plan = oxport::plan(&program, &options(true))?;
        plan.run(inputs())?;
        let there = plan.run(inputs())?.user;
        let steps = plan.describe(inputs())?.steps;
        let is_part = steps.iter().flat_map(|step| &step.results).any(|r| matches!(r.place, Place::Part(_)));
        Ok(Some((copied, there, is_part)))
    };
    let Some((copied, there, is_part)) = run().map_err(|e| e.to_string())? else { return Ok(false) };
    let found = compare(&there[0], &copied[0], Tolerance::Exact);
    if found.agree { Ok(is_part) } else { Err(found.detail) }
}
