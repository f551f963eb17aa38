//! Operators whose kernels are one elementwise loop, by their rows, in a pass with others.

use crate::all;
use oxport::compare::{Tolerance, compare};
use oxport::{Fake, Opt, PlanOptions, Value, registry};
use oxport_ir::{Argument, OpDef};
use oxport_testkit::samples::parse;

/// Samples of the kind that a row excepts: a batch norm that measures its input.
const NOT_JOINED: &[(&str, &str)] = &[("aten::batch_norm", "f32[5, 4], None, None, None, None, True, 0.1, 1e-5, True")];

/// The call of every sample between copies of its operands and of its result.
#[test]
fn operators_of_one_loop_are_joined() {
    let rows = oxport_ops::TABLES.iter().flat_map(|table| table.iter()).filter(|def| def.one_loop.is_some());
    let is_single = |def: &&OpDef| registry().op(def.name()).schema().is_some_and(|s| s.returns.len() == 1);
    let calls: Vec<_> = rows
        .filter(is_single)
        .flat_map(|def| def.samples.iter().map(move |text| (def.name(), *text)))
        .filter(|(name, text)| !text.starts_with('!') && !NOT_JOINED.contains(&(*name, *text)))
        .collect();
    assert!(calls.len() > 400, "{}", calls.len());
    all(calls, |&(name, text)| is_joined(name, text).map_err(|e| format!("{name}({text}): {e}")));
}

fn is_joined(name: &str, text: &str) -> Result<(), String> {
    let sample = parse(text)?;
    let run = || -> oxport::Result<_> {
        let mut b = oxport::ProgramBuilder::new(registry());
        let mut ids = Vec::new();
        for (i, t) in sample.tensors.iter().enumerate() {
            let x = b.input(&format!("x{i}"), Fake::of(t))?;
            ids.push(b.calls().call("clone", (x,))?);
        }
        let tensor = |i: usize| Argument::Node(ids[i]);
        let args = sample.args.iter().map(|a| a.argument(&tensor)).collect();
        let kwargs = sample.kwargs.iter().map(|(k, a)| (k.as_str().into(), a.argument(&tensor))).collect();
        let call = b.calls().call_op(&registry().op(name), args, kwargs)?;
        let copy = b.calls().call("clone", (call,))?;
        let program = b.finish(&[copy])?;
        let program = oxport::Toolchain::standard().unverified().prepare(&program, Opt::None)?;
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
