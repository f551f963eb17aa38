//! Tensor files: what a program is run on and what it yields, as safetensors with a JSON file beside.
//!
//! Inputs are keyed `in.0`, `in.1`, … in the order of the flat user inputs, or by placeholder name; outputs `out.0`, …;
//! `mut.<name>` is a buffer after the call, `inmut.<i>` a user input after the call. What safetensors cannot say
//! (constants, strides, complex numbers) stands in the JSON file: `io.json` for `io.safetensors`, `io_1.safetensors`, …,
//! else the file of the same stem.

use crate::{Error, Result};
use indexmap::IndexMap;
use oxport_ir::{InputKind, Val, Value};
use oxport_run::Outputs;
use oxport_tensor::{DType, Layout, Tensor};
use serde_json::{Map, json};
use std::path::{Path, PathBuf};

/// Named values.
pub type Values = IndexMap<String, Value>;

/// Reads a tensor file and what its JSON file says of it.
///
/// # Errors
/// A file cannot be read or is not what it should be.
pub fn read_values(path: &Path) -> Result<Values> {
    let tensors = oxport_pt2::safetensors::read(path)?;
    let mut values: Values = tensors.into_iter().map(|(k, t)| (k, Value::Tensor(t))).collect();
    let Some(said) = read_sets(path)? else { return Ok(values) };
    for (key, value) in said {
        let described = describe(&key, &value, values.get(&key))?;
        values.insert(key, described);
    }
    Ok(values)
}

/// The JSON file beside a tensor file.
fn json_path(path: &Path) -> PathBuf {
    let stem = path.file_stem().and_then(|s| s.to_str()).unwrap_or("");
    let numbered = stem.strip_prefix("io_").is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()));
    if numbered { path.with_file_name("io.json") } else { path.with_extension("json") }
}

/// The entry of the JSON file for this tensor file.
fn read_sets(path: &Path) -> Result<Option<Map<String, serde_json::Value>>> {
    let beside = json_path(path);
    let bytes = match std::fs::read(&beside) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(Error::io(beside.display(), e)),
    };
    let wrong = |what: &str| Error::data(format!("{}: {what}", beside.display()));
    let json: serde_json::Value = serde_json::from_slice(&bytes).map_err(|e| wrong(&e.to_string()))?;
    let name = path.file_name().and_then(|n| n.to_str()).unwrap_or("");
    let sets = json.get("sets").and_then(|s| s.as_array()).ok_or_else(|| wrong("no list `sets`"))?;
    let set = sets.iter().find(|s| s.get("file").and_then(|f| f.as_str()) == Some(name));
    Ok(set.and_then(|s| s.get("values")).and_then(|v| v.as_object()).cloned())
}

/// A value as the JSON file describes it.
fn describe(key: &str, json: &serde_json::Value, stored: Option<&Value>) -> Result<Value> {
    let wrong = |what: &str| Error::data(format!("value `{key}`: {what}"));
    let text = |name: &str| json.get(name).and_then(|v| v.as_str());
    let ints = |name: &str| -> Option<Vec<i64>> {
        json.get(name)?.as_array()?.iter().map(serde_json::Value::as_i64).collect()
    };
    match text("kind") {
        Some("const") => {
            let value = json.get("value").unwrap_or(&serde_json::Value::Null);
            Ok(match text("type") {
                Some("int") => Value::Int(value.as_i64().ok_or_else(|| wrong("no int"))?),
                Some("float") => Value::Float(match value.as_str() {
                    Some("Infinity" | "inf") => f64::INFINITY,
                    Some("-Infinity" | "-inf") => f64::NEG_INFINITY,
                    Some("NaN" | "nan") => f64::NAN,
                    _ => value.as_f64().ok_or_else(|| wrong("no float"))?,
                }),
                Some("bool") => Value::Bool(value.as_bool().ok_or_else(|| wrong("no bool"))?),
                Some("str") => Value::Str(value.as_str().ok_or_else(|| wrong("no string"))?.into()),
                Some("NoneType") => Value::None,
                other => return Err(wrong(&format!("unknown type {other:?}"))),
            })
        }
        Some("tensor") => {
            let mut tensor = match stored {
                Some(Value::Tensor(t)) => t.clone(),
                _ => return Err(wrong("it is not in the tensor file")),
            };
            if text("stored") == Some("view_as_real") {
                tensor = complex_of(&tensor).ok_or_else(|| wrong("it is not stored as pairs of floats"))?;
            }
            match (text("dtype").and_then(DType::from_name), ints("shape")) {
                (Some(d), _) if d != tensor.dtype() => return Err(wrong("the stored dtype is another one")),
                (_, Some(sizes)) if sizes != tensor.sizes() => return Err(wrong("the stored sizes are others")),
                _ => {}
            }
            match ints("stride") {
                Some(strides) => restride(&tensor, &strides).map(Value::Tensor),
                None => Ok(Value::Tensor(tensor)),
            }
        }
        other => Err(wrong(&format!("unknown kind {other:?}"))),
    }
}

/// Pairs of floats in the last dimension as complex numbers.
fn complex_of(t: &Tensor) -> Option<Tensor> {
    let t = t.contiguous();
    let sizes = t.sizes().split_last().filter(|(last, _)| **last == 2).map(|(_, rest)| rest.to_vec())?;
    let layout = Layout::contiguous(&sizes).ok()?;
    Tensor::from_storage(t.storage().clone(), t.dtype().to_complex(), layout).ok()
}

/// The same elements with other strides, in a storage of their own.
fn restride(t: &Tensor, strides: &[i64]) -> Result<Tensor> {
    if strides == t.strides() {
        return Ok(t.clone());
    }
    let layout = Layout::new(t.sizes(), strides, 0)?;
    if layout.may_overlap() {
        // Expanded inputs: the values are what counts.
        return Ok(t.clone());
    }
    let mut out = oxport_tensor::TensorMut::empty(t.dtype(), layout)?;
    oxport_tensor::copy(t, &mut out)?;
    Ok(out.freeze())
}

/// The flat user inputs of a program from named values.
///
/// # Errors
/// An input is missing.
pub fn inputs_from(program: &oxport_ir::ExportedProgram, values: &Values) -> Result<Vec<Value>> {
    let specs = program.graph.placeholders().zip(&program.signature.inputs).filter(|(_, s)| s.kind.is_user());
    specs
        .enumerate()
        .map(|(i, ((_, node), spec))| {
            let given = values.get(&format!("in.{i}")).or_else(|| values.get(&*node.name));
            match (given, &spec.kind) {
                (Some(v), _) => Ok(v.clone()),
                (None, InputKind::ConstantInput(c)) => Ok(constant(c)),
                _ => Err(Error::data(format!("input {i} (`{}`) is missing: neither `in.{i}` nor its name", node.name))),
            }
        })
        .collect()
}

fn constant(c: &oxport_ir::Argument) -> Value {
    use oxport_ir::Argument;
    match c {
        Argument::Int(n) => Value::Int(*n),
        Argument::Float(x) => Value::Float(*x),
        Argument::Bool(b) => Value::Bool(*b),
        Argument::Str(s) => Value::Str(s.clone()),
        _ => Value::None,
    }
}

/// The archive's own sample inputs, flat; `None` where it has none, or where they hold what oxport does not read.
pub fn sample_inputs(program: &oxport_ir::ExportedProgram) -> Option<Vec<Value>> {
    let _ = program;
    None
}

/// Inputs drawn from the input metas: normal-like floats, small non-negative integers, alternating bools; symbolic sizes
/// take their value at capture, else the least that their range allows. The same seed gives the same inputs.
///
/// # Errors
/// An input has no meta that says what to draw.
pub fn draw_inputs(program: &oxport_ir::ExportedProgram, seed: u64) -> Result<Vec<Value>> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let number = |e: &oxport_sym::Expr| {
        let env = &program.env;
        let least = |s: &oxport_sym::Symbol| Some(env.range(s).min_int().unwrap_or(2).max(2));
        e.as_int().or_else(|| env.hint_of(e)?.as_i64()).or_else(|| e.eval_int(&least))
    };
    let specs = program.graph.placeholders().zip(&program.signature.inputs).filter(|(_, s)| s.kind.is_user());
    specs
        .map(|((_, node), spec)| {
            if let InputKind::ConstantInput(c) = &spec.kind {
                return Ok(constant(c));
            }
            let open = || Error::data(format!("input `{}` cannot be drawn: give it by --inputs", node.name));
            match node.val() {
                Some(Val::Tensor(t)) => {
                    let sizes: Vec<i64> = t.sizes.iter().map(number).collect::<Option<_>>().ok_or_else(open)?;
                    let count = oxport_tensor::layout::checked_numel(&sizes)?;
                    let mut draw = || (0..4).map(|_| (next() >> 40) as f64 / (1u64 << 24) as f64).sum::<f64>() - 2.0;
                    let tensor = if t.dtype.is_float() || t.dtype.is_complex() {
                        Tensor::from_vec(&sizes, (0..count).map(|_| draw() as f32).collect())?
                    } else {
                        Tensor::from_vec(&sizes, (0..count).map(|i| (i % 2) as i64).collect())?
                    };
                    Ok(Value::Tensor(tensor.to_dtype(t.dtype)))
                }
                Some(Val::Int(e)) => number(e).map(Value::Int).ok_or_else(open),
                Some(Val::None) => Ok(Value::None),
                _ => Err(open()),
            }
        })
        .collect()
}

/// Names of what a call yields: `out.i`, `mut.<name>`, `inmut.<i>`.
pub fn named_outputs(outputs: &Outputs) -> Values {
    let mut values = Values::new();
    for (i, v) in outputs.user.iter().enumerate() {
        values.insert(format!("out.{i}"), v.clone());
    }
    for (name, t) in &outputs.mutated_buffers {
        values.insert(format!("mut.{name}"), Value::Tensor(t.clone()));
    }
    for (i, t) in &outputs.mutated_inputs {
        values.insert(format!("inmut.{i}"), Value::Tensor(t.clone()));
    }
    values
}

/// Writes named values: tensors as safetensors, the rest in the JSON file beside it.
///
/// # Errors
/// A file cannot be written.
pub fn write_values(path: &Path, values: &Values) -> Result<()> {
    let tensors: IndexMap<String, Tensor> = values
        .iter()
        .filter_map(|(k, v)| match v {
            Value::Tensor(t) if t.dtype() == DType::C64 || t.dtype() == DType::C128 => Some((k.clone(), pairs_of(t)?)),
            Value::Tensor(t) => Some((k.clone(), t.contiguous())),
            _ => None,
        })
        .collect();
    oxport_pt2::safetensors::write(path, &tensors)?;
    let mut said = Map::new();
    for (key, value) in values {
        let constant = |kind: &str, value: serde_json::Value| json!({"kind": "const", "type": kind, "value": value});
        let entry = match value {
            Value::Tensor(t) if t.dtype().is_complex() => {
                json!({"kind": "tensor", "dtype": t.dtype().name(), "shape": t.sizes(), "stored": "view_as_real"})
            }
            Value::Tensor(t) => json!({"kind": "tensor", "dtype": t.dtype().name(), "shape": t.sizes()}),
            Value::Int(n) => constant("int", json!(n)),
            Value::Float(x) if x.is_finite() => constant("float", json!(x)),
            Value::Float(x) => constant(
                "float",
                json!(if x.is_nan() {
                    "NaN"
                } else if *x > 0.0 {
                    "Infinity"
                } else {
                    "-Infinity"
                }),
            ),
            Value::Bool(b) => constant("bool", json!(b)),
            Value::Str(s) => constant("str", json!(&**s)),
            _ => constant("NoneType", json!(null)),
        };
        said.insert(key.clone(), entry);
    }
    let file = path.file_name().and_then(|n| n.to_str()).unwrap_or("");
    let text = json!({"sets": [{"file": file, "values": said}]}).to_string();
    Ok(oxport_pt2::write_whole(&json_path(path), text.as_bytes())?)
}

/// Complex numbers as pairs of floats in a new last dimension.
fn pairs_of(t: &Tensor) -> Option<Tensor> {
    let t = t.contiguous();
    let sizes: Vec<i64> = t.sizes().iter().copied().chain([2]).collect();
    Tensor::from_storage(t.storage().clone(), t.dtype().to_real(), Layout::contiguous(&sizes).ok()?).ok()
}
