//! The program JSON during reading.
//!
//! ```text
//! text ──> Document: offsets of calls and tensor metas ──> one record after the other ──> nodes
//! ```
//!
//! The calls and the tensor metas of the top graph, which are nearly all of a large document, are parsed one by one
//! when their node is created, and the record is dropped afterwards. So peak memory is the graph and the text; pages of
//! a mapped text are released as the graph grows. Subgraphs are parsed together with their call.
//!
//! Invariant: errors are the same as if the document were parsed at once: after a failure it is parsed again as a
//! whole, for the diagnostic.

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;

use oxport_ir::Loc;
use serde::de::{Deserialize, DeserializeOwned, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::model::{self, Argument, CustomObjArgument, Dict, SymBool, SymFloat, SymInt, TensorMeta};
use crate::{Error, Limits, Result, json};

/// The text of a program.
pub(crate) struct DocumentText<'a> {
    name: &'a str,
    given: &'a str,
    /// With Python's bare words quoted.
    text: Cow<'a, str>,
    forget: &'a dyn Fn(),
    /// Bytes read since memory was last released.
    read: Cell<usize>,
}

/// A program whose top graph is mostly unparsed text.
pub(crate) type Document<'a> = model::ExportedProgram<GraphText<'a>>;

impl<'a> DocumentText<'a> {
    /// The text, checked against the limits; errors name it `name`, `forget` releases its memory.
    pub(crate) fn new(name: &'a str, bytes: &'a [u8], limits: &Limits, forget: &'a dyn Fn()) -> Result<Self> {
        let given = json::checked(name, bytes, limits)?;
        let text = json::quote_bare_words(given).map_or(Cow::Borrowed(given), Cow::Owned);
        Ok(DocumentText { name, given, text, forget, read: Cell::new(0) })
    }

    /// The program with unparsed calls and tensor metas.
    pub(crate) fn document(&self) -> Result<Document<'_>> {
        let document = serde_json::from_str(&self.text).map_err(|_| self.diagnostic());
        self.forget();
        document
    }

    /// The error of a document of which a part failed to parse.
    pub(super) fn diagnostic(&self) -> Error {
        match json::parse::<model::ExportedProgram>(self.name, self.given) {
            Err(error) => error,
            Ok(_) => Error::invalid("json", Loc::Json(self.name.to_string()), "the document does not match the schema"),
        }
    }

    /// Releases the memory of the text.
    pub(super) fn forget(&self) {
        (self.forget)();
    }

    /// Counts bytes that are no longer needed.
    pub(super) fn passed(&self, bytes: usize) {
        let read = self.read.get() + bytes;
        self.read.set(if read < FORGET_EVERY { read } else { 0 });
        if read >= FORGET_EVERY {
            self.forget();
        }
    }
}

const FORGET_EVERY: usize = 1 << 15;

/// The top graph, with its long parts as unparsed text.
#[derive(serde::Deserialize)]
pub(crate) struct GraphText<'a> {
    inputs: Vec<Argument>,
    outputs: Vec<Argument>,
    #[serde(borrow)]
    nodes: Vec<&'a RawValue>,
    #[serde(borrow)]
    tensor_values: Entries<'a>,
    sym_int_values: Dict<SymInt>,
    sym_bool_values: Dict<SymBool>,
    #[serde(default)]
    is_single_tensor_return: bool,
    #[serde(default)]
    custom_obj_values: Dict<CustomObjArgument>,
    #[serde(default)]
    sym_float_values: Dict<SymFloat>,
}

/// A record, or its unparsed text.
#[derive(Clone, Copy)]
pub(super) enum Lazy<'a, T> {
    Text(&'a RawValue),
    Record(&'a T),
}

impl<'a, T: DeserializeOwned + Clone> Lazy<'a, T> {
    /// The record, or `None` if the text does not parse.
    pub(super) fn read(&self) -> Option<Cow<'a, T>> {
        match self {
            Lazy::Text(text) => serde_json::from_str(text.get()).ok().map(Cow::Owned),
            Lazy::Record(record) => Some(Cow::Borrowed(record)),
        }
    }

    /// The bytes of text.
    pub(super) fn len(&self) -> usize {
        if let Lazy::Text(text) = self { text.get().len() } else { 0 }
    }
}

/// A graph to be read part by part.
pub(super) struct Body<'a> {
    pub(super) inputs: &'a [Argument],
    pub(super) outputs: &'a [Argument],
    pub(super) nodes: Box<dyn Iterator<Item = Lazy<'a, model::Node>> + 'a>,
    pub(super) tensor_values: Box<dyn Iterator<Item = (Cow<'a, str>, Lazy<'a, TensorMeta>)> + 'a>,
    pub(super) sym_int_values: &'a Dict<SymInt>,
    pub(super) sym_bool_values: &'a Dict<SymBool>,
    pub(super) sym_float_values: &'a Dict<SymFloat>,
    pub(super) custom_obj_values: &'a Dict<CustomObjArgument>,
    pub(super) is_single_tensor_return: bool,
}

/// The fields of a graph in either form.
macro_rules! body {
    ($graph:ident, $nodes:expr, $tensors:expr) => {
        Body {
            inputs: &$graph.inputs,
            outputs: &$graph.outputs,
            nodes: Box::new($nodes),
            tensor_values: Box::new($tensors),
            sym_int_values: &$graph.sym_int_values,
            sym_bool_values: &$graph.sym_bool_values,
            sym_float_values: &$graph.sym_float_values,
            custom_obj_values: &$graph.custom_obj_values,
            is_single_tensor_return: $graph.is_single_tensor_return,
        }
    };
}

impl<'a> From<&'a mut GraphText<'_>> for Body<'a> {
    /// The tensor metas are taken out.
    fn from(graph: &'a mut GraphText<'_>) -> Body<'a> {
        let tensors = std::mem::take(&mut graph.tensor_values.0);
        let tensors = tensors.into_iter().map(|(name, text)| (name, Lazy::Text(text)));
        body!(graph, graph.nodes.iter().map(|text| Lazy::Text(text)), tensors)
    }
}

impl<'a> From<&'a model::Graph> for Body<'a> {
    fn from(graph: &'a model::Graph) -> Body<'a> {
        let tensors = graph.tensor_values.iter().map(|(name, meta)| (Cow::Borrowed(name.as_str()), Lazy::Record(meta)));
        body!(graph, graph.nodes.iter().map(Lazy::Record), tensors)
    }
}

/// The keys of an object, each with the text of its value.
struct Entries<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Entries<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Entries<'a>, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Entries<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries<'de>, A::Error> {
                let mut entries = Vec::new();
                while let Some((Key(key), value)) = map.next_entry()? {
                    entries.push((key, value));
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(Object)
    }
}

#[derive(serde::Deserialize)]
#[serde(transparent)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);
