//! The metadata strings of a node.

use std::collections::hash_map::RandomState;
use std::sync::Arc;

use hashbrown::HashSet;
use oxport_ir::NodeMeta;

use crate::model::Dict;

/// Interned metadata texts.
pub(super) type Texts = HashSet<Arc<str>, RandomState>;

/// The metadata of a node, without its meta value. Texts are interned in `texts`.
pub(super) fn read_metadata(json: &Dict<String>, texts: &mut Texts) -> NodeMeta {
    // Hashed once, because hashing dominates.
    let mut shared = |text: &str| texts.get_or_insert_with(text, |text| text.into()).clone();
    let mut meta = NodeMeta::default();
    for (key, text) in json {
        match key.as_str() {
            "stack_trace" => meta.stack_trace = Some(shared(text)),
            "nn_module_stack" => meta.nn_module_stack = Some(shared(text)),
            "torch_fn" => meta.torch_fn = Some(text.as_str().into()),
            _ => meta.extra.push((shared(key), shared(text))),
        }
    }
    meta
}
