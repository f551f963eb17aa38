//! Tensor files: inputs and outputs of a program, as safetensors with a JSON file next to it.
//!
//! Inputs are keyed `in.0`, `in.1`, … in the order of the flat user inputs, or by placeholder name; outputs `out.0`, …;
//! `mut.<name>` is a buffer after the call, `inmut.<i>` a user input after the call. What safetensors cannot represent
//! (constants, strides, complex numbers) is in the JSON file: `io.json` for `io.safetensors`, `io_1.safetensors`, …,
//! else the file of the same stem.

use crate::{Error, Result};
use indexmap::IndexMap;
use oxport_ir::{Argument, InputKind, OutputKind, Val, Value};
use oxport_pt2::{Limits, ValueSet};
use oxport_run::Outputs;
use oxport_tensor::DType;
use std::path::Path;

/// Named values.
pub type Values = IndexMap<String, Value>;

/// Reads a tensor file with its JSON file.
///
/// # Errors
/// A file cannot be read or parsed.
pub fn read_values(path: &Path, limits: &Limits) -> Result<Values> {
    Ok(oxport_pt2::read_values(path, limits).map_err(|e| Error::data(e.to_string()))?.values)
}

/// Writes named values: tensors as safetensors, the rest in the JSON file next to it.
///
/// # Errors
/// A file cannot be written.
pub fn write_values(path: &Path, values: &Values) -> Result<()> {
    let set = ValueSet { values: values.clone(), ..ValueSet::default() };
    Ok(oxport_pt2::write_values(path, &set)?)
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
                (None, _) if let Some(default) = node.default_value() => Ok(constant(default)),
                _ => Err(Error::data(format!("input {i} is missing: expected the key `in.{i}` or `{}`", node.name))),
            }
        })
        .collect()
}

pub(crate) fn constant(c: &Argument) -> Value {
    match c {
        Argument::Int(n) => Value::Int(*n),
        Argument::Float(x) => Value::Float(*x),
        Argument::Bool(b) => Value::Bool(*b),
        Argument::Str(s) => Value::Str(s.clone()),
        _ => Value::None,
    }
}

/// The archive's sample inputs, flat; `None` if it has none, or they have unsupported values.
pub fn sample_inputs(program: &oxport_ir::ExportedProgram, limits: &Limits) -> Option<Vec<Value>> {
    oxport_pt2::example_inputs(program, limits).ok().flatten()
}

/// The results of a call by name: `out.i`, `mut.<name>`, `inmut.<i>`.
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

/// True if a call has a result that safetensors cannot store: a number, a bool, a string, `None`, or an unsupported
/// complex dtype.
pub fn has_constant_outputs(program: &oxport_ir::ExportedProgram) -> bool {
    let is_plain = |output: &Argument| match output {
        Argument::Node(id) => match program.graph.node(*id).val() {
            Some(Val::Tensor(fake)) => !matches!(fake.dtype, DType::C32 | DType::C128),
            _ => false,
        },
        _ => false,
    };
    let yielded = program.graph.outputs().iter().zip(&program.signature.outputs);
    yielded.filter(|(_, spec)| !matches!(spec.kind, OutputKind::Token)).any(|(output, _)| !is_plain(output))
}
