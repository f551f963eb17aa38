//! The example inputs of an archive, as flat inputs of its program.

use oxport_ir::{ExportedProgram, Value};
use oxport_pytree::{Key, Kind, Tree, TreeSpec};
use oxport_tensor::Storage;

use crate::pickle::{Pickled, TorchFile};
use crate::{Error, Limits, Result};

const NAME: &str = "data/sample_inputs/model.pt";

/// The program's own example inputs, flattened in the order of its user inputs; `None` if it has none.
///
/// Errors if they are not a file of `torch.save`, do not match the program's in_spec, or have leaves that are neither
/// tensors nor constants.
pub fn example_inputs(program: &ExportedProgram, limits: &Limits) -> Result<Option<Vec<Value>>> {
    let Some(bytes) = program.example_inputs.as_ref().filter(|bytes| !bytes.is_empty()) else { return Ok(None) };
    let storage = Storage::copy_of(bytes).map_err(|e| Error::io("cannot hold the inputs", std::io::Error::other(e)))?;
    let file = TorchFile::read(NAME, &storage, limits)?;
    if file.value == Pickled::None {
        return Ok(None);
    }
    let Some(call) = program.call_signature() else {
        return Err(Error::entry("tree", NAME, "the program has no in_spec"));
    };
    let mut leaves = Vec::new();
    flatten(&call.in_spec, &file.value, &file, &mut leaves)?;
    Ok(Some(leaves))
}

fn flatten(spec: &TreeSpec, value: &Pickled, file: &TorchFile, out: &mut Vec<Value>) -> Result<()> {
    let (kind, children) = match spec {
        Tree::Leaf(()) => {
            out.push(leaf(value, file)?);
            return Ok(());
        }
        Tree::Node(kind, children) => (kind, children),
    };
    let found: Option<Vec<&Pickled>> = match (kind.keys(), kind.fields()) {
        (Some(keys), _) => keys.iter().map(|key| entry(value, key)).collect(),
        (None, Some(fields)) => fields_of(kind, fields, value),
        (None, None) => sequence(value),
    };
    match found.filter(|found| found.len() == children.len()) {
        Some(found) => children.iter().zip(found).try_for_each(|(child, value)| flatten(child, value, file, out)),
        None => {
            let message = format!("the example inputs do not match the program's in_spec at a {}", kind.short_name());
            Err(Error::entry("tree", NAME, message))
        }
    }
}

fn entry<'a>(value: &'a Pickled, key: &Key) -> Option<&'a Pickled> {
    let entries = match value {
        Pickled::Dict(entries) | Pickled::Object { entries, .. } => entries,
        _ => return None,
    };
    entries.iter().find(|(k, _)| is_key(k, key)).map(|(_, value)| value)
}

fn is_key(value: &Pickled, key: &Key) -> bool {
    match (value, key) {
        (Pickled::Str(a), Key::Str(b)) => a == b,
        (Pickled::Int(a), Key::Int(b)) => a == b,
        (Pickled::Bool(a), Key::Bool(b)) => a == b,
        (Pickled::Float(a), Key::Float(b)) => a == b,
        (Pickled::None, Key::None) => true,
        (Pickled::Tuple(a), Key::Tuple(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_key(a, b)),
        _ => false,
    }
}

/// The fields of a named tuple (its arguments, in order) or a dataclass (its state).
fn fields_of<'a>(kind: &Kind, fields: &[String], value: &'a Pickled) -> Option<Vec<&'a Pickled>> {
    let Pickled::Object { args, state, .. } = value else { return None };
    match (kind, state.as_deref()) {
        (Kind::Dataclass { .. }, Some(state)) => fields.iter().map(|field| state.get(field)).collect(),
        _ => Some(args.iter().collect()),
    }
}

fn sequence(value: &Pickled) -> Option<Vec<&Pickled>> {
    match value {
        Pickled::Tuple(items) | Pickled::List(items) => Some(items.iter().collect()),
        // The items of a deque are appended; those of a named tuple or structseq are arguments.
        Pickled::Object { items, .. } if !items.is_empty() => Some(items.iter().collect()),
        Pickled::Object { args, .. } => match args.as_slice() {
            [only] if only.items().is_some() => Some(only.items()?.iter().collect()),
            args => Some(args.iter().collect()),
        },
        _ => None,
    }
}

fn leaf(value: &Pickled, file: &TorchFile) -> Result<Value> {
    Ok(match value {
        Pickled::None => Value::None,
        Pickled::Bool(b) => Value::Bool(*b),
        Pickled::Int(n) => Value::Int(*n),
        Pickled::Float(x) => Value::Float(*x),
        Pickled::Complex(re, im) => Value::Complex(oxport_ir::Complex::new(*re, *im)),
        Pickled::Str(s) => Value::Str(s.as_str().into()),
        Pickled::Tensor(tensor) => Value::Tensor(file.tensor(tensor)?),
        other => {
            let what = match other {
                Pickled::Object { class, .. } | Pickled::Global(class) => class.as_str(),
                _ => "a container or a dtype",
            };
            return Err(Error::entry(
                "value",
                NAME,
                format!("expected a tensor or constant as an example input, got {what}"),
            ));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ReadOptions, read_pt2, read_values};
    use oxport_ir::Registry;

    #[test]
    fn fixtures_carry_the_inputs_of_their_first_set() {
        let registry = Registry::new(&[], include_str!("../../../schemas/aten_schemas.txt"));
        let programs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/programs");
        let mut count = 0;
        for folder in std::fs::read_dir(programs).unwrap() {
            let folder = folder.unwrap().path();
            let program = read_pt2(&folder.join("program.pt2"), &registry, &ReadOptions::default()).unwrap();
            let inputs =
                example_inputs(&program, &Limits::default()).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
            let Some(inputs) = inputs else { continue };
            let set = read_values(&folder.join("io.safetensors"), &Limits::default()).unwrap();
            for (i, input) in inputs.iter().enumerate() {
                match (input, &set.values[&format!("in.{i}")]) {
                    (Value::Tensor(a), Value::Tensor(b)) => {
                        assert_eq!((a.dtype(), a.sizes()), (b.dtype(), b.sizes()), "{}: in.{i}", folder.display());
                    }
                    (a, b) => assert_eq!(format!("{a:?}"), format!("{b:?}"), "{}: in.{i}", folder.display()),
                }
            }
            count += 1;
        }
        assert!(count >= 30, "only {count} programs have inputs");
    }
}
