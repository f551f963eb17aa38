//! Archives for older versions of PyTorch: a document of their schema, tensors as files of `torch.save`, and up to 2.7
//! no root folder.

use std::borrow::Cow;
use std::io::{self, Write};

use oxport_ir::{Constant, Diagnostic, ExportedProgram, Loc};

use crate::model::ExportedProgram as Document;
use crate::model::versions::{RELEASED, Version, lower, spell};
use crate::pickle::TensorPickle;
use crate::zip::ZipWriter;
use crate::{Error, Result, upgrade};

/// From this version on archives have a root folder.
pub(super) const ROOTED: Version = (8, 8);
/// From this version on tensors are raw storages with a config.
pub(super) const RAW: Version = (8, 14);

/// The text of a document in an older version of the schema.
pub(super) fn lowered(document: &Document, version: Version) -> Result<String> {
    let known = &RELEASED[1..];
    if !known.contains(&version) {
        let list: Vec<String> = known.iter().map(|(major, minor)| format!("{major}.{minor}")).collect();
        let message =
            format!("schema {}.{} cannot be written; expected one of {}", version.0, version.1, list.join(", "));
        return Err(Error::unsupported("version", Loc::Json("schema_version".into()), message));
    }
    let mut old = Cow::Borrowed(document);
    if upgrade::has_old_calls(version) {
        old.to_mut().graph_module.graph.nodes.iter_mut().for_each(upgrade::downgrade_call);
    }
    match lower(&old, version) {
        Ok(value) => Ok(spell(&value)),
        Err(errors) => {
            let diagnostic = |(at, message): (String, String)| {
                Diagnostic::error("version", Loc::Json(at.trim_start_matches('.').to_string()), message)
            };
            Err(Error::all_unsupported(errors.into_iter().map(diagnostic).collect()))
        }
    }
}

/// The state dict as `torch.save` writes it.
pub(super) fn pickled_state(program: &ExportedProgram) -> io::Result<Vec<u8>> {
    let mut pickle = TensorPickle::new();
    program.state.iter().for_each(|(name, tensor)| pickle.tensor(name, tensor));
    pickle.finish()
}

/// The constants as `torch.save` writes them.
pub(super) fn pickled_constants(program: &ExportedProgram) -> io::Result<Vec<u8>> {
    let mut pickle = TensorPickle::new();
    for (name, constant) in &program.constants {
        match constant {
            Constant::Tensor(tensor) => pickle.tensor(name, tensor),
            Constant::Opaque { .. } => {
                return Err(io::Error::other(format!(
                    "the object {name:?} cannot be written for this version of the schema"
                )));
            }
        }
    }
    pickle.finish()
}

/// The layout without a root folder.
pub(super) fn write_flat<W: Write>(
    program: &ExportedProgram,
    document: &str,
    version: Version,
    zip: &mut ZipWriter<W>,
) -> io::Result<()> {
    zip.add("version", format!("{}.{}", version.0, version.1).as_bytes())?;
    zip.add("serialized_exported_program.json", document.as_bytes())?;
    zip.add("serialized_state_dict.pt", &pickled_state(program)?)?;
    zip.add("serialized_constants.pt", &pickled_constants(program)?)?;
    let none = || TensorPickle::none();
    let samples = program.example_inputs.as_deref().filter(|bytes| !bytes.is_empty());
    match samples {
        Some(bytes) => zip.add("serialized_example_inputs.pt", bytes)?,
        None => zip.add("serialized_example_inputs.pt", &none()?)?,
    }
    for (name, bytes) in &program.origin.extra_files {
        let name = name.strip_prefix("extra/").unwrap_or(name);
        zip.add(&format!("extra_files/{name}"), bytes)?;
    }
    Ok(())
}
