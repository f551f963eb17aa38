//! Functions of data-dependent control flow, captured and run on several inputs each: the outputs are PyTorch's, run
//! eagerly (`models/branches_outputs.py` wrote them).

use crate::capture::{execute, traced};
use oxport::Tensor;
use oxport_ir::Value;
use oxport_tensor::DType;

/// What one run gave: dtype, sizes and elements of each output.
fn expected(text: &str) -> Vec<(DType, Vec<i64>, Vec<f64>)> {
    let output = |text: &str| {
        let mut parts = text.split(':');
        let mut part = || parts.next().expect("law: dtype, sizes, elements");
        let dtype = DType::from_name(part()).expect("law: a dtype");
        let numbers = |text: &str| text.split(',').map(|n| n.trim().parse::<f64>()).collect::<Result<Vec<_>, _>>();
        let sizes = part().trim_matches(['[', ']']);
        let sizes = if sizes.is_empty() { Vec::new() } else { numbers(sizes).expect("law: sizes") };
        (dtype, sizes.into_iter().map(|n| n as i64).collect(), numbers(part()).expect("law: elements"))
    };
    text.split(';').map(output).collect()
}

fn check(entry: &str, runs: &[(&str, &str)]) -> Result<(), String> {
    let text = include_str!("models/branches.py").to_string();
    let program = traced(text, entry, &["x: f32[4]"], &[], None)?;
    let found = oxport::verify(&program);
    if !found.is_empty() {
        return Err(format!("{found:?}\n{}", oxport_ir::print::readable(&program)));
    }
    for (input, outputs) in runs {
        let elements: Vec<f32> = input.split(',').map(|n| n.parse().expect("law: a number")).collect();
        let x = Tensor::from_vec(&[4], elements).map_err(|e| e.to_string())?;
        let got = execute(&program, vec![Value::Tensor(x)])?;
        let expected = expected(outputs);
        if got.len() != expected.len() {
            return Err(format!("{} outputs, expected {}", got.len(), expected.len()));
        }
        for (got, (dtype, sizes, elements)) in got.iter().zip(&expected) {
            let Value::Tensor(got) = got else { return Err("an output is no tensor".into()) };
            if got.dtype() != *dtype || got.sizes() != sizes {
                return Err(format!("{input}: {:?} {:?}, expected {dtype:?} {sizes:?}", got.dtype(), got.sizes()));
            }
            let got = got.to_dtype(DType::F64).and_then(|t| t.to_vec::<f64>()).map_err(|e| e.to_string())?;
            let is_close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-6 + 1e-5 * b.abs();
            if !got.iter().zip(elements).all(is_close) {
                let program = oxport_ir::print::readable(&program);
                return Err(format!("{input}: {got:?}, expected {elements:?}\n{program}"));
            }
        }
    }
    Ok(())
}

#[test]
fn control_flow_on_data_gives_what_pytorch_computes() {
    let mut entries: Vec<(&str, Vec<(&str, &str)>)> = Vec::new();
    for line in include_str!("models/branches.tsv").lines() {
        let [name, input, outputs] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("law: three columns") };
        match entries.last_mut().filter(|(last, _)| *last == name) {
            Some((_, runs)) => runs.push((input, outputs)),
            None => entries.push((name, vec![(input, outputs)])),
        }
    }
    assert!(entries.len() >= 60, "{} functions", entries.len());
    let failures: Vec<String> =
        entries.iter().filter_map(|(entry, runs)| check(entry, runs).err().map(|e| format!("{entry}: {e}"))).collect();
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), entries.len(), failures.join("\n\n"));
}

#[test]
fn the_snippets_of_the_manual_are_captured() {
    let manual = include_str!("../../../docs/capture-python.md");
    let snippets: Vec<&str> =
        manual.split("```python\n").skip(1).map(|rest| rest.split("```").next().unwrap_or(rest)).collect();
    assert!(!snippets.is_empty());
    for snippet in snippets {
        let program = traced(snippet.to_string(), "f", &["x: f32[4]"], &[], None).unwrap_or_else(|e| panic!("{e}"));
        let found = oxport::verify(&program);
        assert!(found.is_empty(), "{found:?}");
    }
}
