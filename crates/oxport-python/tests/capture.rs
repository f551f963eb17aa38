//! Models of Python source, captured and run: the outputs are PyTorch's (`scripts/models.py` made them).

use indexmap::IndexMap;
use oxport::{Module, Opt, PlanOptions, Tensor};
use oxport_ir::{ExportedProgram, Value};
use oxport_python::torch::{Dim, Input, Options, capture};
use oxport_python::{Limits, NoModules, STACK};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

/// The entry, its inputs, the ranges of sizes.
const MODELS: &[(&str, &[&str], &[&str])] = &[
    ("Mlp", &["x: f32[b, 8]"], &["b=1..64"]),
    ("Cnn", &["x: f32[b, 3, 16, 16]"], &["b=1..8"]),
    ("Cell", &["x: f32[3, b, 4]", "h: f32[b, 4]", "c: f32[b, 4]"], &["b=1..8"]),
    ("Attention", &["x: f32[b, n, 8]"], &["b=1..8", "n=2..16"]),
    ("Tagger", &["words: i64[2, 5]"], &[]),
    ("Encoder", &["x: f32[2, 5, 8]"], &[]),
    ("Inplace", &["x: f32[b, 3]"], &["b=2..8"]),
    ("Mixed", &["x: f32[b, 2, 4]"], &["b=2..8"]),
    ("Library", &["x: f32[b, 4, n]"], &["b=1..8", "n=2..16"]),
    ("Losses", &["x: f32[4, 5]", "y: f32[4, 5]", "labels: i64[4]"], &[]),
    ("Critic", &["x: f32[2, 2, 4]"], &[]),
    ("Heads", &["x: f32[2, 5, 8]", "y: f32[2, 3, 6]", "padding: b8[2, 5]"], &[]),
    ("Methods", &["x: f32[3, 4]", "z: f32[3, 4]"], &[]),
    ("Odds", &["x: f32[5, 4]"], &[]),
    ("constants", &["x: f32[2, 8]"], &[]),
    ("layouts", &["x: f32[4, 3]"], &[]),
    ("function", &["x: f32[b, 3]", "y: f32[b, 3]"], &[]),
];

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/models")
}

pub(crate) fn execute(program: &ExportedProgram, inputs: Vec<Value>) -> Result<Vec<Value>, String> {
    let run = || -> oxport::Result<Vec<Value>> {
        let program = oxport::prepare(program, Opt::None)?;
        let plan = oxport::plan(&program, &PlanOptions::default())?;
        Ok(plan.run(inputs)?.user)
    };
    run().map_err(|e| e.to_string())
}

fn evaluate(program: &ExportedProgram) -> Result<Vec<Tensor>, String> {
    let tensor = |value| match value {
        Value::Tensor(tensor) => Ok(tensor),
        _ => Err("expected a tensor".to_string()),
    };
    execute(program, Vec::new())?.into_iter().map(tensor).collect()
}

pub(crate) fn traced(
    text: String,
    entry: &str,
    inputs: &[&str],
    dims: &[&str],
    weights: Option<IndexMap<String, Tensor>>,
) -> Result<ExportedProgram, String> {
    traced_within(text, entry, inputs, dims, weights, Limits::DEFAULT)
}

pub(crate) fn traced_within(
    text: String,
    entry: &str,
    inputs: &[&str],
    dims: &[&str],
    weights: Option<IndexMap<String, Tensor>>,
    limits: Limits,
) -> Result<ExportedProgram, String> {
    let options = || -> Result<(Vec<Input>, Vec<Dim>), String> {
        Ok((
            inputs.iter().map(|t| Input::parse(t)).collect::<Result<_, _>>()?,
            dims.iter().map(|t| Dim::parse(t)).collect::<Result<_, _>>()?,
        ))
    };
    let ((inputs, dims), entry) = (options()?, entry.to_string());
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, || {
            let options = Options {
                file: "models.py".into(),
                text,
                module: None,
                entry,
                inputs,
                dims,
                weights: weights.as_ref(),
                train: false,
                limits,
            };
            capture(&options, Rc::new(NoModules), Rc::new(evaluate)).map_err(|e| e.to_string())
        });
        thread.expect("law: a thread starts").join().expect("no source makes the interpreter panic")
    })
}

fn check(entry: &str, inputs: &[&str], dims: &[&str]) -> Result<(), String> {
    let text = std::fs::read_to_string(folder().join("models.py")).map_err(|e| e.to_string())?;
    let path = folder().join(format!("{entry}.safetensors"));
    let kept = oxport::io::read_values(&path, &oxport::ReadLimits::DEFAULT).map_err(|e| e.to_string())?;
    let part = |prefix: &str| -> IndexMap<String, Tensor> {
        let named = kept.iter().filter_map(|(name, value)| match value {
            Value::Tensor(tensor) => Some((name.strip_prefix(prefix)?.to_string(), tensor.clone())),
            _ => None,
        });
        named.collect()
    };
    let weights = entry.starts_with(char::is_uppercase).then(|| part("w."));
    let program = traced(text, entry, inputs, dims, weights)?;
    let found = oxport::verify(&program);
    if !found.is_empty() {
        return Err(format!("{found:?}"));
    }
    let given = part("in.");
    let inputs = (0..given.len()).map(|n| Value::Tensor(given[&n.to_string()].clone())).collect();
    let outputs = execute(&program, inputs)?;
    for (name, expected) in part("out.") {
        let at: usize = name.parse().map_err(|_| "a name of an output")?;
        let Some(Value::Tensor(got)) = outputs.get(at) else { return Err(format!("output {at} is no tensor")) };
        if got.sizes() != expected.sizes() || got.dtype() != expected.dtype() {
            return Err(format!("output {at}: sizes {:?}, expected {:?}", got.sizes(), expected.sizes()));
        }
        let (got, expected) = (got.to_vec::<f64>(), expected.to_vec::<f64>());
        let (got, expected) = (got.map_err(|e| e.to_string())?, expected.map_err(|e| e.to_string())?);
        let is_close = |(a, b): (&f64, &f64)| a == b || (a - b).abs() <= 1e-6 + 1e-5 * b.abs();
        if let Some((a, b)) = got.iter().zip(&expected).find(|pair| !is_close(*pair)) {
            return Err(format!("output {at}: {a}, expected {b}"));
        }
    }
    Ok(())
}

#[test]
fn captured_models_give_the_outputs_of_pytorch() {
    let failures: Vec<String> = MODELS
        .iter()
        .filter_map(|(entry, inputs, dims)| check(entry, inputs, dims).err().map(|e| format!("{entry}: {e}")))
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

#[test]
fn each_call_makes_the_tensors_of_forward_anew() {
    let source = "import torch\n\
                  def f(x):\n    n = torch.tensor([3, 4])\n    n.mul_(2)\n    m = torch.as_tensor([1.0, 2.0])\n    \
                  m += x\n    return x * n[0] + m\n";
    let program = traced(source.into(), "f", &["x: f32[2]"], &[], None).unwrap_or_else(|e| panic!("{e}"));
    let program = oxport::prepare(&program, Opt::None).expect("law: a captured program is prepared");
    let plan = oxport::plan(&program, &PlanOptions::default()).expect("law: a captured program has a plan");
    let mut module = Module::new(Arc::new(plan));
    for _ in 0..2 {
        let input = Tensor::from_vec(&[2], vec![1.0_f32, -1.0]).expect("law: two elements");
        let outputs = module.call_flat(vec![Value::Tensor(input)]).expect("law: the program runs").user;
        let [Value::Tensor(got)] = &outputs[..] else { panic!("expected one tensor, got {outputs:?}") };
        assert_eq!(got.to_vec::<f32>().expect("law: floats"), [8.0, -5.0]);
    }
}
