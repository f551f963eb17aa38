//! Writing programs: the reverse of reading.
//!
//! Law: writing what was read gives the same JSON value, with the schema version of today; and the same program always
//! gives the same bytes.

mod arguments;
mod graph;
mod metadata;
mod older;
mod signature;
mod symbols;
mod weights;

use std::collections::HashMap;
use std::io::{self, Write};
use std::path::Path;

use oxport_ir::{Constant, Diagnostic, Dialect, ExportedProgram, Loc};

use crate::model::versions::Version;
use crate::model::{self, Bound, Dict, NamedTupleDef, RangeConstraint, SchemaVersion};
use crate::read::OBJECTS;
use crate::replace::replace_file;
use crate::zip::{Names, ROOT, ZipWriter, check_payload_name};
use crate::{Error, Result, SCHEMA_VERSION, json};
use symbols::Symbols;
pub(crate) use weights::{Payload, Payloads, gather_constants, gather_state};

/// How to write.
#[derive(Clone, Debug)]
pub struct WriteOptions {
    /// For which version of the schema: of those in [`RELEASED`](crate::model::versions::RELEASED), from 8.2 on.
    pub schema: Version,
    /// The most bytes of tensors that go into one safetensors file; without, all go into one. Archives are never split.
    pub shard_size: Option<u64>,
}

impl Default for WriteOptions {
    fn default() -> WriteOptions {
        WriteOptions { schema: SCHEMA_VERSION, shard_size: None }
    }
}

/// Writes a program as a `.pt2` archive that `torch.export.load` takes: of PyTorch 2.9 to 2.15, or where the options ask
/// for an older schema, of the version that had it. The file appears whole or not at all.
///
/// Errors say what the program JSON, or the older version of it, cannot express.
pub fn write_pt2(program: &ExportedProgram, path: &Path, options: &WriteOptions) -> Result<()> {
    check_names(program)?;
    let text = document_text(&to_model(program)?, options.schema)?;
    replace_file(path, |out| write_archive(program, &text, options.schema, out))
}

/// The bytes of the `.pt2` archive of a program.
///
/// Errors as [`write_pt2`].
pub fn write_pt2_bytes(program: &ExportedProgram) -> Result<Vec<u8>> {
    check_names(program)?;
    let text = document_text(&to_model(program)?, SCHEMA_VERSION)?;
    let mut bytes = Vec::new();
    write_archive(program, &text, SCHEMA_VERSION, &mut bytes).map_err(|e| Error::io("cannot write", e))?;
    Ok(bytes)
}

/// The names that a program gives to entries pass the checks that names pass when they are read: those of extra files, and
/// of constants that are objects. All other names are made here.
pub(crate) fn check_names(program: &ExportedProgram) -> Result<()> {
    let mut problems = Vec::new();
    let mut complain = |name: &str, (code, message): (&'static str, String)| {
        problems.push(Diagnostic::error(code, Loc::Entry(name.to_string()), message));
    };
    let mut names = Names::default();
    for (name, bytes) in &program.origin.extra_files {
        names.add_extra(name).unwrap_or_else(|wrong| complain(name, wrong));
        if std::str::from_utf8(bytes).is_err() {
            complain(name, ("entry", "an extra file is no text in UTF-8, which PyTorch demands".into()));
        }
    }
    let mut objects = HashMap::new();
    for constant in program.constants.values() {
        let Constant::Opaque { file, bytes } = constant else { continue };
        if !OBJECTS.iter().any(|prefix| file.starts_with(prefix)) {
            complain(file, ("name", format!("expected the name of an object, {}…", OBJECTS.join("… or "))));
        }
        check_payload_name(file).unwrap_or_else(|message| complain(file, ("name", message)));
        let (first, held) = objects.entry(file.to_ascii_lowercase()).or_insert((file, bytes));
        if *first != file || *held != bytes {
            complain(file, ("duplicate", "two objects have this name; case makes no difference".into()));
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(Error::all(problems)) }
}

/// The text of a document in that version of the schema.
pub(crate) fn document_text(document: &model::ExportedProgram, version: Version) -> Result<String> {
    if version == SCHEMA_VERSION { Ok(json::to_string(document)) } else { older::lowered(document, version) }
}

fn write_archive(program: &ExportedProgram, document: &str, version: Version, out: &mut dyn Write) -> io::Result<()> {
    let mut zip = ZipWriter::new(out);
    if version < older::ROOTED {
        older::write_flat(program, document, version, &mut zip)?;
        return zip.finish().map(drop);
    }
    let mut add = |name: &str, data: &[u8]| zip.add(&format!("{ROOT}/{name}"), data);
    if version < older::RAW {
        add("data/weights/model.pt", &older::pickled_state(program)?)?;
        add("data/constants/model.pt", &older::pickled_constants(program)?)?;
    } else {
        for (kind, payloads) in
            [("weights", gather_state(program.state.iter())), ("constants", gather_constants(program.constants.iter()))]
        {
            for (path, payload) in &payloads.files {
                add(&format!("data/{kind}/{path}"), payload.bytes())?;
            }
            add(&format!("data/{kind}/model_{kind}_config.json"), json::to_string(&payloads.config).as_bytes())?;
        }
    }
    add("models/model.json", document.as_bytes())?;
    add("data/sample_inputs/model.pt", program.example_inputs.as_deref().unwrap_or(&[]))?;
    for (name, bytes) in &program.origin.extra_files {
        add(name, bytes)?;
    }
    add("archive_format", b"pt2")?;
    add("archive_version", b"0")?;
    add(".data/version", b"6\n")?;
    add("byteorder", b"little")?;
    zip.finish().map(drop)
}

/// The document of a program.
///
/// Errors name every node that the program JSON cannot say: lists that mix kinds, values without meta, ….
pub fn to_model(program: &ExportedProgram) -> Result<model::ExportedProgram> {
    let mut problems = Vec::new();
    let symbols = Symbols::new(program);
    let graph = graph::write_graph(&program.graph, Some(&program.signature), &symbols, "", &mut problems);
    let signature = signature::write_signature(program, &mut problems);
    let origin = &program.origin;
    let fields = origin.namedtuple_fields.iter().map(|(name, fields)| {
        (name.to_string(), NamedTupleDef { field_names: fields.iter().map(|f| f.to_string()).collect(), extra: None })
    });
    let graph_module = model::GraphModule {
        graph,
        signature,
        module_call_graph: signature::write_module_calls(program),
        metadata: origin.metadata.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect(),
        treespec_namedtuple_fields: fields.collect(),
        extra: None,
    };
    let mut opset: Dict<i64> = origin.opset.iter().map(|(k, v)| (k.to_string(), *v)).collect();
    if origin.schema_version.is_none() {
        opset.entry("aten".into()).or_insert(10);
    }
    let dialect = match program.dialect {
        Dialect::Training => "TRAINING",
        Dialect::Aten => "ATEN",
    };
    let mut document = model::ExportedProgram {
        graph_module,
        opset_version: opset,
        range_constraints: ranges(program),
        schema_version: SchemaVersion { major: SCHEMA_VERSION.0.into(), minor: SCHEMA_VERSION.1.into(), extra: None },
        verifiers: match &origin.verifiers {
            Some(list) => list.iter().map(|v| v.to_string()).collect(),
            None => vec![dialect.to_string()],
        },
        torch_version: origin.torch_version.as_deref().unwrap_or("oxport").to_string(),
        guards_code: program.guards.iter().map(|guard| guard.to_string()).collect(),
        extra: None,
    };
    restore_unknown(program, &mut document);
    if problems.is_empty() { Ok(document) } else { Err(Error::all(problems)) }
}

fn ranges(program: &ExportedProgram) -> Dict<RangeConstraint> {
    let text = |expr: &oxport_sym::Expr| {
        let own = expr.to_string();
        let kept = program.origin.unknown.get(format!("range:{own}").as_str());
        kept.map_or(own, |kept| kept.to_string())
    };
    let range =
        |r: &oxport_ir::RangeConstraint| RangeConstraint { min_val: Bound(r.min), max_val: Bound(r.max), extra: None };
    program.ranges.iter().map(|(expr, r)| (text(expr), range(r))).collect()
}

/// Unknown keys of the document and of its graph module stand where they stood.
fn restore_unknown(program: &ExportedProgram, document: &mut model::ExportedProgram) {
    for (place, text) in &program.origin.unknown {
        let Ok(value) = serde_json::from_str(text) else { continue };
        let (extra, key) = match place.strip_prefix("graph_module.") {
            _ if place.starts_with("range:") => continue,
            Some(key) => (&mut document.graph_module.extra, key),
            None => (&mut document.extra, &**place),
        };
        extra.get_or_insert_default().insert(key.to_string(), value);
    }
}

#[cfg(test)]
mod tests;
