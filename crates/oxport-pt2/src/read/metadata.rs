//! The metadata strings of a node.

use oxport_ir::NodeMeta;

use crate::model::Dict;

/// The metadata of a node, without a value.
pub(super) fn read_metadata(json: &Dict<String>) -> NodeMeta {
    let mut meta = NodeMeta::default();
    for (key, text) in json {
        let text = Some(text.as_str().into());
        match key.as_str() {
            "stack_trace" => meta.stack_trace = text,
            "nn_module_stack" => meta.nn_module_stack = text,
            "source_fn_stack" => meta.source_fn_stack = text,
            "torch_fn" => meta.torch_fn = text,
            "from_node" => meta.from_node = text,
            "custom" => meta.custom = text,
            _ => meta.extra.extend(text.map(|text| (key.as_str().into(), text))),
        }
    }
    meta
}
