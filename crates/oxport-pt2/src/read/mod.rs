//! Reading programs.
//!
//! ```text
//! file ─> Archive ─> model (JSON) ─> upgrade ─> ExportedProgram
//!                └─> payload configs ─> tensors over the mapped file
//! ```
//!
//! Reading collects all errors and reports them together. It checks that the document is well formed (names, kinds of
//! values, arguments by schema, trees); the verifier checks the program itself.

mod arguments;
mod document;
pub(crate) mod expressions;
mod fix_metas;
mod graph;
pub(crate) mod guards;
mod legacy;
mod metadata;
mod metas;
mod signature;
mod target;
mod weights;

pub(crate) use target::is_plain_target;

use std::collections::hash_map::RandomState;
use std::path::Path;
use std::sync::Arc;

use indexmap::IndexMap;
use oxport_ir::program::Origin;
use oxport_ir::{Diagnostic, Dialect, ExportedProgram, Loc, RangeConstraint, Registry};
use oxport_sym::{Range, ShapeEnv};

use crate::archive::{FLAT_PROGRAM, FLAT_SAMPLES, Layout};
use crate::model::{self, Dict, PayloadConfig};
use crate::zip::{self, check_payload_name};
use crate::{Archive, Error, Limits, Result, json, samples, upgrade};
pub(crate) use document::{Document, DocumentText};
use graph::{Context, read_graph};
pub(crate) use weights::{OBJECTS, PayloadReader};

/// Options of reading.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// Limits.
    pub limits: Limits,
    /// The model to read from an archive with several; by default `model`, or the only one.
    pub model: Option<String>,
    /// Whether to check the CRC-32 of weights, which loads all of them from disk. By default they are not accessed
    /// until they are used. Everything else is always checked.
    pub verify_weights: bool,
}

/// Reads a program from a `.pt2` archive, which stays mapped as long as a tensor of the program lives.
///
/// Operators are looked up in the registry; unknown ones are kept by name.
pub fn read_pt2(path: &Path, registry: &Registry, options: &ReadOptions) -> Result<ExportedProgram> {
    read_archive(&Archive::open(path, &options.limits)?, registry, options)
}

/// Reads a program from the bytes of a `.pt2` archive.
pub fn read_pt2_bytes(bytes: &[u8], registry: &Registry, options: &ReadOptions) -> Result<ExportedProgram> {
    read_archive(&Archive::from_bytes(bytes, &options.limits)?, registry, options)
}

/// Reads a program from an opened archive.
pub fn read_archive(archive: &Archive, registry: &Registry, options: &ReadOptions) -> Result<ExportedProgram> {
    let limits = &options.limits;
    let names = match archive.layout() {
        Layout::Flat => Names::flat(),
        Layout::Rooted => Names::of_model(&choose_model(archive, options)?),
    };
    let (program, forget) = (archive.read(&names.program)?, || archive.forget(&names.program));
    let text = DocumentText::new(&names.program, &program, limits, &forget)?;
    let mut parts = Parts::read(text.document()?, &text, registry, limits)?;
    drop(text);
    drop(program);
    forget();
    for (kind, [config, pickled]) in [("weights", &names.weights), ("constants", &names.constants)] {
        if archive.has(pickled) {
            // Up to PyTorch 2.8; if both exist, PyTorch reads this one.
            let file = archive.storage(pickled, options.verify_weights)?;
            let constants = legacy::read_dictionary(pickled, &file, limits, options.verify_weights)?;
            match kind {
                "weights" => parts.program.state = legacy::state(pickled, constants, &mut parts.errors),
                _ => parts.program.constants = constants,
            }
            continue;
        }
        let payloads = |path: &str| {
            check_payload_name(path).map_err(|message| Error::entry("name", path, message))?;
            if kind == "constants" && !CONSTANTS.iter().any(|prefix| path.starts_with(prefix)) {
                let message = format!("expected the name of a constant, which begins with {}", CONSTANTS.join(", "));
                return Err(Error::entry("name", path, message));
            }
            archive.storage(&format!("data/{kind}/{path}"), options.verify_weights)
        };
        let json: PayloadConfig = json::from_slice(config, &archive.read(config)?, limits)?;
        let mut reader = PayloadReader { name: config, payloads: &payloads, limits, errors: &mut parts.errors };
        match kind {
            "weights" => parts.program.state = reader.state(&json),
            _ => parts.program.constants = reader.constants(&json),
        }
    }
    // PyTorch requires them, if only as an empty file.
    let samples = archive.read(&names.samples)?;
    samples::check(&names.samples, &samples, limits)?;
    parts.program.example_inputs = (!samples.is_empty()).then(|| Arc::from(&*samples));
    let mut extra = zip::Names::default();
    for name in archive.names() {
        if let Some(rest) = name.strip_prefix(names.extra) {
            let bytes = archive.read(name)?;
            // Every program that is read can be written, so names are also checked below the root folder that is
            // written.
            let named = extra.add_extra(&format!("extra/{rest}"));
            named.map_err(|(code, message)| Error::entry(code, name, message))?;
            if std::str::from_utf8(&bytes).is_err() {
                return Err(Error::entry("entry", name, "expected UTF-8 text in an extra file"));
            }
            parts.program.origin.extra_files.insert(format!("extra/{rest}").into(), Arc::from(&*bytes));
        }
    }
    parts.finish()
}

/// Prefixes of the names of constants: tensors, script objects, pickled objects.
const CONSTANTS: [&str; 3] = ["tensor_", OBJECTS[0], OBJECTS[1]];

/// Entry names in an archive. State and constants are either a config with payloads, or a pickle.
struct Names {
    program: String,
    weights: [String; 2],
    constants: [String; 2],
    samples: String,
    extra: &'static str,
}

impl Names {
    fn of_model(model: &str) -> Names {
        let kind = |kind: &str| [format!("data/{kind}/{model}_{kind}_config.json"), format!("data/{kind}/{model}.pt")];
        Names {
            program: format!("models/{model}.json"),
            weights: kind("weights"),
            constants: kind("constants"),
            samples: format!("data/sample_inputs/{model}.pt"),
            extra: "extra/",
        }
    }

    fn flat() -> Names {
        let kind = |kind: &str| [format!("serialized_{kind}.pt"), format!("serialized_{kind}.pt")];
        Names {
            program: FLAT_PROGRAM.to_string(),
            weights: kind("state_dict"),
            constants: kind("constants"),
            samples: FLAT_SAMPLES.to_string(),
            extra: "extra_files/",
        }
    }
}

fn choose_model(archive: &Archive, options: &ReadOptions) -> Result<String> {
    let models = archive.models();
    let name = options.model.as_deref().unwrap_or("model");
    match models.as_slice() {
        models if models.contains(&name) => Ok(name.to_string()),
        [only] if options.model.is_none() => Ok(only.to_string()),
        [] => Err(Error::entry("entry", "", "the archive has no model")),
        models => {
            let message = format!("the archive has no model {name:?}; its models are {}", models.join(", "));
            Err(Error::entry("entry", "", message))
        }
    }
}

/// A program during reading.
pub(crate) struct Parts {
    pub(crate) program: ExportedProgram,
    pub(crate) errors: Vec<Diagnostic>,
    pub(crate) unsupported: Vec<Diagnostic>,
}

impl Parts {
    /// Reads the document, without tensors.
    ///
    /// Errors if the schema version is unknown. Other errors are in the result.
    pub(crate) fn read(
        mut document: Document<'_>,
        text: &DocumentText<'_>,
        registry: &Registry,
        limits: &Limits,
    ) -> Result<Parts> {
        let version = upgrade::version(&document)?;
        let expressions = expressions::Expressions::new(limits);
        let mut cx = Context {
            registry,
            limits,
            expressions,
            errors: Vec::new(),
            unsupported: Vec::new(),
            text,
            broken: false,
            is_old: upgrade::has_old_calls(version),
            texts: Default::default(),
            digests: RandomState::new(),
        };
        let module = &mut document.graph_module;
        let name = |i: usize| signature::input_name_at(&module.signature, i);
        let graph = read_graph(&mut cx, (&mut module.graph).into(), "", &name);
        if cx.broken {
            return Err(text.diagnostic());
        }
        (cx.texts, cx.digests) = Default::default();
        let signature = signature::read_signature(&module.signature, &graph, &mut cx.errors);
        let mut env = ShapeEnv::new();
        let (ranges, range_texts) = read_ranges(&document.range_constraints, &mut cx, &mut env);
        let module = &document.graph_module;
        let mut program = ExportedProgram::new(graph, signature, env);
        program.ranges = ranges;
        program.origin = origin(&document, version, range_texts);
        program.dialect = match document.verifiers.iter().any(|v| v == "TRAINING") {
            true => Dialect::Training,
            false => Dialect::Aten,
        };
        program.guards = document.guards_code.iter().map(|guard| guard.as_str().into()).collect();
        guards::check(&document.guards_code, limits, &mut cx.errors);
        program.module_calls = signature::read_module_calls(
            &module.module_call_graph,
            &program.origin.namedtuple_fields,
            limits,
            &mut cx.errors,
        );
        program.origin.spellings = cx.expressions.finish(&mut program.env);
        if version < fix_metas::FIXED_SINCE && cx.errors.is_empty() {
            fix_metas::fix_metas(&mut program);
        }
        Ok(Parts { program, errors: cx.errors, unsupported: cx.unsupported })
    }

    /// The program, if there are no errors.
    pub(crate) fn finish(self) -> Result<ExportedProgram> {
        match (self.errors.is_empty(), self.unsupported.is_empty()) {
            (true, true) => Ok(self.program),
            (false, _) => Err(Error::all(self.errors)),
            (true, false) => Err(Error::all_unsupported(self.unsupported)),
        }
    }
}

/// The declared ranges; and the texts of their expressions, if oxport prints them differently.
fn read_ranges(
    json: &Dict<model::RangeConstraint>,
    cx: &mut Context<'_>,
    env: &mut ShapeEnv,
) -> (IndexMap<oxport_sym::Expr, RangeConstraint>, Vec<(String, String)>) {
    let (mut ranges, mut texts) = (IndexMap::new(), Vec::new());
    for (text, range) in json {
        let at = || Loc::Range(text.clone());
        let expr = match cx.expressions.parse(text) {
            Ok(expr) => expr,
            Err(message) => {
                cx.errors.push(Diagnostic::error("expression", at(), message));
                continue;
            }
        };
        let (min, max) = (range.min_val.0, range.max_val.0);
        if let (Some(min), Some(max)) = (min, max)
            && min > max
        {
            cx.errors.push(Diagnostic::error("range", at(), format!("the range is empty: {min} to {max}")));
            continue;
        }
        if let Some(symbol) = expr.as_symbol() {
            env.set_range(symbol, Range::declared(symbol, min, max));
        }
        if expr.to_string() != *text {
            texts.push((expr.to_string(), text.clone()));
        }
        if ranges.insert(expr, RangeConstraint { min, max }).is_some() {
            cx.errors.push(Diagnostic::error("range", at(), "the expression has two ranges"));
        }
    }
    (ranges, texts)
}

/// The origin of the document: versions and texts to be preserved.
fn origin(json: &Document<'_>, version: (u32, u32), range_texts: Vec<(String, String)>) -> Origin {
    let module = &json.graph_module;
    let mut unknown = IndexMap::new();
    for (place, extra) in [("", &json.extra), ("graph_module.", &module.extra)] {
        for (key, value) in extra.iter().flat_map(|extra| extra.iter()) {
            unknown.insert(format!("{place}{key}").into(), json::to_string(value).into());
        }
    }
    for (expr, text) in range_texts {
        unknown.insert(format!("range:{expr}").into(), text.into());
    }
    let usual = matches!(json.verifiers.as_slice(), [v] if v == "TRAINING" || v == "ATEN");
    Origin {
        schema_version: Some(version),
        torch_version: Some(json.torch_version.as_str().into()),
        opset: json.opset_version.iter().map(|(k, v)| (k.as_str().into(), *v)).collect(),
        metadata: module.metadata.iter().map(|(k, v)| (k.as_str().into(), v.as_str().into())).collect(),
        namedtuple_fields: module
            .treespec_namedtuple_fields
            .iter()
            .map(|(k, v)| (k.as_str().into(), v.field_names.iter().map(|f| f.as_str().into()).collect()))
            .collect(),
        verifiers: (!usual).then(|| json.verifiers.iter().map(|v| v.as_str().into()).collect()),
        unknown,
        ..Origin::default()
    }
}

#[cfg(test)]
mod layouts;
#[cfg(test)]
mod tests;
