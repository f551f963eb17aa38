//! Writing programs: the reverse of reading.
//!
//! Invariant: writing a program that was read gives the same JSON value, with the current schema version; and the same
//! program always gives the same bytes.

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

use oxport_ir::verify::walk;
use oxport_ir::{Constant, Diagnostic, Dialect, ExportedProgram, Loc};
use oxport_sym::Symbol;

use crate::model::versions::Version;
use crate::model::{self, Bound, Dict, NamedTupleDef, RangeConstraint, SchemaVersion};
use crate::read::OBJECTS;
use crate::replace::replace_file;
use crate::zip::{Names, ROOT, ZipWriter, check_payload_name};
use crate::{Error, Result, SCHEMA_VERSION, json};
use symbols::Symbols;
pub(crate) use weights::{Payload, Payloads, gather_constants, gather_state};

/// Options of writing.
#[derive(Clone, Debug)]
pub struct WriteOptions {
    /// The schema version: one of [`RELEASED`](crate::model::versions::RELEASED), from 8.2 on.
    pub schema: Version,
    /// The maximum bytes of tensors in one safetensors file; by default all are in one. Archives are never split.
    pub shard_size: Option<u64>,
}

impl Default for WriteOptions {
    fn default() -> WriteOptions {
        WriteOptions { schema: SCHEMA_VERSION, shard_size: None }
    }
}

/// Writes a program as a `.pt2` archive that `torch.export.load` reads: of PyTorch 2.9 to 2.15, or if the options ask
/// for an older schema, of the version that had it. The file is written atomically.
///
/// Errors: everything that the program JSON, or the older version of it, cannot express.
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

/// Checks the entry names that a program provides (extra files and constants that are objects), as they are checked on
/// reading. All other names are generated.
pub(crate) fn check_names(program: &ExportedProgram) -> Result<()> {
    let mut errors = Vec::new();
    let mut report = |name: &str, (code, message): (&'static str, String)| {
        errors.push(Diagnostic::error(code, Loc::Entry(name.to_string()), message));
    };
    let mut names = Names::default();
    for (name, bytes) in &program.origin.extra_files {
        names.add_extra(name).unwrap_or_else(|wrong| report(name, wrong));
        if std::str::from_utf8(bytes).is_err() {
            report(name, ("entry", "expected UTF-8 text in an extra file".into()));
        }
    }
    let mut objects = HashMap::new();
    for constant in program.constants.values() {
        let Constant::Opaque { file, bytes } = constant else { continue };
        if !OBJECTS.iter().any(|prefix| file.starts_with(prefix)) {
            report(file, ("name", format!("expected the name of an object, {}…", OBJECTS.join("… or "))));
        }
        check_payload_name(file).unwrap_or_else(|message| report(file, ("name", message)));
        let (first, held) = objects.entry(file.to_ascii_lowercase()).or_insert((file, bytes));
        if *first != file || *held != bytes {
            report(file, ("duplicate", "two objects have this name (names are case-insensitive)".into()));
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(Error::all(errors)) }
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
/// Errors: every node that the program JSON cannot represent: lists of mixed kinds, values without meta, ….
pub fn to_model(program: &ExportedProgram) -> Result<model::ExportedProgram> {
    let mut errors = Vec::new();
    let symbols = Symbols::new(program);
    let (graph, values) = graph::write_graph(&program.graph, Some(&program.signature), &symbols, "", &mut errors);
    let signature = signature::write_signature(program, &values, &mut errors);
    let origin = &program.origin;
    let fields = origin.namedtuple_fields.iter().map(|(name, fields)| {
        (name.to_string(), NamedTupleDef { field_names: fields.iter().map(|f| f.to_string()).collect(), extra: None })
    });
    let graph_module = model::GraphModule {
        graph,
        signature,
        module_call_graph: signature::write_module_calls(program, &values),
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
            // Unless the program's dialect has changed.
            Some(list) if list.iter().any(|v| **v == *"TRAINING") == (program.dialect == Dialect::Training) => {
                list.iter().map(|v| v.to_string()).collect()
            }
            _ => vec![dialect.to_string()],
        },
        torch_version: origin.torch_version.as_deref().unwrap_or("oxport").to_string(),
        guards_code: program.guards.iter().map(|guard| guard.to_string()).collect(),
        extra: None,
    };
    restore_unknown(program, &mut document);
    if errors.is_empty() { Ok(document) } else { Err(Error::all(errors)) }
}

fn ranges(program: &ExportedProgram) -> Dict<RangeConstraint> {
    let text = |expr: &oxport_sym::Expr| {
        let own = expr.to_string();
        let kept = program.origin.unknown.get(format!("range:{own}").as_str());
        kept.map_or(own, |kept| kept.to_string())
    };
    let range =
        |r: &oxport_ir::RangeConstraint| RangeConstraint { min_val: Bound(r.min), max_val: Bound(r.max), extra: None };
    let mut ranges: Dict<RangeConstraint> = program.ranges.iter().map(|(expr, r)| (text(expr), range(r))).collect();
    // PyTorch's loader looks for the range of every data-dependent symbol.
    for symbol in unbacked(program) {
        let known = program.env.range(&symbol);
        let own = oxport_ir::RangeConstraint { min: known.min_int(), max: known.max_int() };
        ranges.entry(symbol.name().to_string()).or_insert_with(|| range(&own));
    }
    ranges
}

/// The data-dependent symbols of a program's metas, in order of their appearance.
fn unbacked(program: &ExportedProgram) -> indexmap::IndexSet<Symbol> {
    let mut found = indexmap::IndexSet::new();
    walk(&program.graph, "", &mut |graph, _| {
        for val in graph.nodes().filter_map(|(_, node)| node.val()) {
            val.for_each_expr(&mut |e| {
                if !e.is_const() {
                    found.extend(e.free_symbols().into_iter().filter(Symbol::is_unbacked));
                }
            });
        }
    });
    found
}

/// Restores unknown keys of the document and of its graph module.
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
