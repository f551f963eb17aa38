//! Every exported program: read, verified, run, improved, written and read again.

use crate::{all, programs};
use oxport::compare::{Tolerance, compare};
use oxport::io::{inputs_from, named_outputs, read_values};
use oxport::{ExportedProgram, Opt, PlanOptions, Value};
use oxport_testkit::Status;
use oxport_testkit::programs::{Via, judge, value_files};
use std::path::Path;

fn read(dir: &Path) -> Result<ExportedProgram, String> {
    oxport::read(dir.join("program.pt2")).map_err(|e| e.to_string())
}

fn passes(dir: &Path, opt: Opt, via: Via) -> Result<(), String> {
    let record = judge(dir, opt, via);
    if record.status == Status::Pass { Ok(()) } else { Err(format!("{}: {}", record.status.word(), record.detail)) }
}

#[test]
fn run_as_pytorch_does() {
    all(programs(), |dir| passes(dir, Opt::None, Via::Read));
}

#[test]
fn run_as_pytorch_does_with_bitwise_rules() {
    all(programs(), |dir| passes(dir, Opt::Exact, Via::Read));
}

#[test]
fn run_as_pytorch_does_with_rounding_rules() {
    all(programs(), |dir| passes(dir, Opt::Fast, Via::Read));
}

#[test]
fn run_as_pytorch_does_in_core_aten() {
    all(programs(), |dir| passes(dir, Opt::None, Via::Core));
}

#[test]
fn verify_without_diagnostics() {
    all(programs(), |dir| {
        let found = oxport::verify(&read(dir)?);
        if found.is_empty() { Ok(()) } else { Err(found.iter().map(|d| d.to_string()).collect::<Vec<_>>().join("; ")) }
    });
}

fn outputs(program: &ExportedProgram, inputs: &[Value], options: &PlanOptions) -> Result<oxport::io::Values, String> {
    let run = || -> oxport::Result<_> {
        let plan = oxport::plan(program, options)?;
        // The second run replays what the first one recorded.
        plan.run(inputs.to_vec())?;
        Ok((named_outputs(&plan.run(inputs.to_vec())?), plan.fused_blocks().1))
    };
    match run() {
        Ok((outputs, 0)) => Ok(outputs),
        Ok((_, refused)) => Err(format!("{refused} groups of steps could not be computed in one pass")),
        Err(e) => Err(e.to_string()),
    }
}

fn equal(a: &oxport::io::Values, b: &oxport::io::Values) -> Result<(), String> {
    if a.len() != b.len() {
        return Err(format!("{} and {} outputs", a.len(), b.len()));
    }
    for (name, want) in a {
        let c = compare(b.get(name).unwrap_or(&Value::None), want, Tolerance::Exact);
        if !c.agree {
            return Err(format!("{name}: {}", c.detail));
        }
    }
    Ok(())
}

/// Strides of dimensions of more than one element.
fn equal_strides(a: &oxport::io::Values, b: &oxport::io::Values) -> Result<(), String> {
    for (name, want) in a {
        let (Value::Tensor(want), Some(Value::Tensor(got))) = (want, b.get(name)) else { continue };
        let mut steps = want.strides().iter().zip(got.strides()).zip(want.sizes());
        if want.numel() > 0 && steps.any(|((a, b), &size)| size > 1 && a != b) {
            return Err(format!("{name}: expected strides {:?}, got {:?}", want.strides(), got.strides()));
        }
    }
    Ok(())
}

#[test]
fn bitwise_rules_change_no_bit_and_keep_programs_valid() {
    all(programs(), |dir| {
        let program = read(dir)?;
        let file = value_files(dir).into_iter().next().ok_or("no values")?;
        let inputs = read_values(&file, &oxport::ReadLimits::default())
            .and_then(|v| inputs_from(&program, &v))
            .map_err(|e| e.to_string())?;
        let functional = oxport::functionalize(&program).map_err(|e| e.to_string())?;
        let improved =
            oxport::optimize(&functional, Opt::Exact, &oxport::Limits::default()).map_err(|e| e.to_string())?.0;
        let found = oxport::verify(&improved);
        if let Some(d) = found.first() {
            return Err(format!("the improved program is not valid: {d}"));
        }
        let plain = oxport::prepare(&program, Opt::None).map_err(|e| e.to_string())?;
        let again = oxport::prepare(&improved, Opt::None).map_err(|e| e.to_string())?;
        let one = PlanOptions { threads: 1, ..PlanOptions::default() };
        equal(&outputs(&plain, &inputs, &one)?, &outputs(&again, &inputs, &one)?)
    });
}

#[test]
fn threads_preparing_layouts_joined_passes_and_places_change_no_bit() {
    all(programs(), |dir| {
        let program = read(dir)?;
        let file = value_files(dir).into_iter().next().ok_or("no values")?;
        let inputs = read_values(&file, &oxport::ReadLimits::default())
            .and_then(|v| inputs_from(&program, &v))
            .map_err(|e| e.to_string())?;
        let prepared = oxport::prepare(&program, Opt::Exact).map_err(|e| e.to_string())?;
        let with = |threads, [prepare, layout, fuse, in_place]: [bool; 4]| {
            let fuse_from = if fuse { 1 } else { usize::MAX };
            let options = PlanOptions { threads, prepare, layout, fuse_from, in_place, ..PlanOptions::default() };
            outputs(&prepared, &inputs, &options)
        };
        let (no, yes) = (false, true);
        let plain = with(1, [no; 4])?;
        let one = [[yes, no, no, no], [no, yes, no, no], [no, no, yes, no], [no, no, no, yes], [yes; 4]];
        let three = [[yes; 4], [yes, yes, no, yes], [no, no, yes, no], [no; 4]].map(|kinds| (3, kinds));
        one.map(|kinds| (1, kinds)).into_iter().chain(three).try_for_each(|(threads, kinds)| {
            let other = with(threads, kinds)?;
            equal(&plain, &other)
                .and_then(|()| equal_strides(&plain, &other))
                .map_err(|e| format!("{threads} threads; prepared, layouts, joined, in place: {kinds:?}: {e}"))
        })
    });
}

#[test]
fn writing_loses_nothing() {
    all(programs(), |dir| {
        let program = read(dir)?;
        let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
        let json = |p: &ExportedProgram| -> Result<serde_json::Value, String> {
            let text = oxport_pt2::to_json(p).map_err(|e| e.to_string())?;
            serde_json::from_str(&text).map_err(|e| e.to_string())
        };
        let before = json(&program)?;
        for file in ["a.pt2", "a.json", "b.pt2"] {
            let path = folder.path().join(file);
            oxport::write(&program, &path).map_err(|e| format!("{file}: {e}"))?;
            let again = oxport::read(&path).map_err(|e| format!("{file}: {e}"))?;
            if json(&again)? != before {
                return Err(format!("{file}: the program JSON is another one"));
            }
            for (name, t) in program.tensors() {
                let (_, u) = again.tensors().find(|(n, _)| *n == name).ok_or(format!("{file}: `{name}` is lost"))?;
                let c = oxport::compare::compare_tensors(&u.tensor, &t.tensor, Tolerance::Exact);
                if !c.agree || u.tensor.strides() != t.tensor.strides() {
                    return Err(format!("{file}: `{name}`: {}", c.detail));
                }
            }
        }
        // The same program, the same bytes, whatever the file is called.
        let bytes = |f: &str| std::fs::read(folder.path().join(f)).map_err(|e| e.to_string());
        if bytes("a.pt2")? == bytes("b.pt2")? { Ok(()) } else { Err("two writes of one program differ".into()) }
    });
}

#[test]
fn the_json_read_is_the_json_of_the_archive() {
    all(programs(), |dir| {
        let program = read(dir)?;
        let archive = oxport_pt2::Archive::open(&dir.join("program.pt2"), &oxport_pt2::Limits::default());
        let archive = archive.map_err(|e| e.to_string())?;
        let bytes = archive.read("models/model.json").map_err(|e| e.to_string())?;
        let original: serde_json::Value = serde_json::from_slice(&bytes).map_err(|e| e.to_string())?;
        let text = oxport_pt2::to_json(&program).map_err(|e| e.to_string())?;
        let written: serde_json::Value = serde_json::from_str(&text).map_err(|e| e.to_string())?;
        let at = first_difference(&original, &written, "$");
        at.map_or(Ok(()), Err)
    });
}

/// The place of the first difference of two JSON values.
fn first_difference(a: &serde_json::Value, b: &serde_json::Value, at: &str) -> Option<String> {
    use serde_json::Value::{Array, Object};
    match (a, b) {
        (Object(x), Object(y)) => {
            let missing = x.keys().chain(y.keys()).find(|k| !x.contains_key(*k) || !y.contains_key(*k));
            missing
                .map(|k| format!("{at}.{k} is on one side only"))
                .or_else(|| x.iter().find_map(|(k, v)| first_difference(v, &y[k], &format!("{at}.{k}"))))
        }
        (Array(x), Array(y)) if x.len() == y.len() => {
            x.iter().zip(y).enumerate().find_map(|(i, (v, w))| first_difference(v, w, &format!("{at}[{i}]")))
        }
        (a, b) if a == b => None,
        (a, b) => Some(format!("{at}: {a} became {b}")),
    }
}

#[test]
fn printed_programs_parse_back() {
    use oxport_ir::print::{Style, readable_with};
    all(programs(), |dir| {
        let program = read(dir)?;
        let show = |p: &ExportedProgram| readable_with(p, Style::PLAIN, &|_, _| Vec::new());
        let text = show(&program);
        let again = oxport_ir::parse::parse(&text, oxport::registry())
            .map_err(|e| e.iter().map(|d| d.to_string()).collect::<Vec<_>>().join("; "))?;
        let second = show(&again);
        match text.lines().zip(second.lines()).find(|(a, b)| a != b) {
            Some((a, b)) => Err(format!("`{a}` became `{b}`")),
            None => Ok(()),
        }
    });
}

/// An expansion that ends with another one (`linear`, then the `matmul` in it) ends with it, however often that
/// happens.
#[test]
fn long_chains_decompose() {
    let build = || -> oxport::Result<ExportedProgram> {
        let mut b = oxport::ProgramBuilder::new(oxport::registry());
        let mut x = b.input("x", oxport::Fake::new(oxport::DType::F32, [2, 3, 4].map(oxport::Expr::from)))?;
        let w = b.parameter("w", oxport::Tensor::zeros(oxport::DType::F32, &[4, 4])?)?;
        for _ in 0..100 {
            x = b.call("aten::linear", (x, w))?;
        }
        oxport::decompose(&b.finish(&[x])?)
    };
    let program = build().expect("the chain decomposes");
    assert!(program.graph.nodes().all(|(_, n)| !n.calls("aten::linear") && !n.calls("aten::matmul")));
    assert!(oxport::verify(&program).is_empty());
}
