//! Files of values of any kind: safetensors, `.npy`, `.npz`, `.pt` of plain tensors, and numbers as text.
//!
//! Invariants: the content decides what a file is, not its name; nothing in it is executed; numbers as text have no
//! dtype until an input gives them one.

use super::literal::Literal;
use super::npy::{read_npy, read_npz};
use crate::io::{Values, read_values};
use crate::kind::FileKind;
use crate::{Error, Result, Value};
use oxport_pt2::Limits;
use oxport_pt2::pickle::{Pickled, TorchFile};
use std::path::Path;

/// What a file of values has.
pub(super) enum Content {
    /// Values with their dtypes, by name; the name of an only value may be empty.
    Values(Values),
    /// Numbers as text.
    Text(Literal),
}

impl Content {
    /// The values; numbers as text have the dtype that `torch.tensor` chooses, and no name.
    pub fn into_values(self) -> Result<Values> {
        match self {
            Content::Values(values) => Ok(values),
            Content::Text(literal) => Ok(Values::from_iter([(String::new(), literal.value(None)?)])),
        }
    }
}

/// The values of a file, by name; the name of an only value may be empty. Standard input is a safetensors file.
///
/// # Errors
/// The file cannot be read, or has no values.
pub fn read_any(path: &Path, limits: &Limits) -> Result<Values> {
    read_content(path, limits)?.into_values()
}

/// As [`read_any`], with text as it is.
pub(super) fn read_content(path: &Path, limits: &Limits) -> Result<Content> {
    if oxport_pt2::is_standard_input(path) || !path.exists() {
        // A set of constants may have no tensors file.
        return read_values(path, limits).map(Content::Values);
    }
    let file = oxport_pt2::open_file(path)?;
    let name = path.display().to_string();
    let text = || std::str::from_utf8(file.bytes()).ok().and_then(Literal::parse_file);
    let values = match FileKind::of(&file, limits) {
        FileKind::Safetensors => read_values(path, limits)?,
        FileKind::Npy => Values::from_iter([(String::new(), Value::Tensor(read_npy(&name, file.bytes())?))]),
        FileKind::Npz => {
            let arrays = read_npz(&name, file.bytes(), limits)?;
            arrays.into_iter().map(|(key, array)| (key, Value::Tensor(array))).collect()
        }
        FileKind::TorchSave | FileKind::StateDict | FileKind::PickledModule => {
            let saved = TorchFile::read(&name, &file, limits).map_err(|e| Error::of_values(&name, e))?;
            let mut values = Values::new();
            collect(&saved, &saved.value, String::new(), &mut values).map_err(|e| {
                e.map_or_else(|what| Error::data(format!("{name}: {what}")), |e| Error::of_values(&name, e))
            })?;
            values
        }
        FileKind::Json | FileKind::Text if let Some(literal) = text() => return Ok(Content::Text(literal)),
        kind => {
            return Err(Error::data(format!(
                "{name}: expected values (safetensors, .npy, .npz, .pt of tensors, or numbers as text), got {kind}"
            )));
        }
    };
    Ok(Content::Values(values))
}

/// The plain values of a saved tree; their names are the keys on the way, joined by dots.
fn collect(
    file: &TorchFile,
    value: &Pickled,
    name: String,
    into: &mut Values,
) -> Result<(), Result<oxport_pt2::Error, String>> {
    let below = |key: &str| if name.is_empty() { key.to_string() } else { format!("{name}.{key}") };
    let refused = |what: &str| match name.as_str() {
        "" => Err(format!("expected tensors, got {what}")),
        name => Err(format!("`{name}`: expected tensors, got {what}")),
    };
    let entries: Vec<(String, &Pickled)> = match value {
        Pickled::Dict(entries) => {
            let key = |k: &Pickled| match k {
                Pickled::Str(s) => Ok(below(s)),
                Pickled::Int(n) => Ok(below(&n.to_string())),
                _ => Err(refused("a key that is neither a string nor an int")),
            };
            entries.iter().map(|(k, v)| key(k).map(|key| (key, v))).collect::<Result<_, _>>()?
        }
        Pickled::Tuple(items) | Pickled::List(items) => {
            items.iter().enumerate().map(|(i, v)| (below(&i.to_string()), v)).collect()
        }
        _ => {
            let plain = file.plain(value).map_err(Ok)?;
            let what = match value {
                Pickled::Object { class, .. } | Pickled::Global(class) => format!("an object of {class}"),
                _ => "another object".to_string(),
            };
            let plain = plain.ok_or_else(|| refused(&what))?;
            into.insert(name, plain);
            return Ok(());
        }
    };
    entries.into_iter().try_for_each(|(name, value)| collect(file, value, name, into))
}
