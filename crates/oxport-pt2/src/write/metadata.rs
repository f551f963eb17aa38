//! The metadata strings of a node.

use oxport_ir::NodeMeta;

use crate::model::Dict;

/// The metadata of a node: common keys first, then the rest in their order.
pub(super) fn write_metadata(meta: &NodeMeta) -> Dict<String> {
    let known =
        [("stack_trace", &meta.stack_trace), ("nn_module_stack", &meta.nn_module_stack), ("torch_fn", &meta.torch_fn)];
    let known = known.into_iter().filter_map(|(key, text)| Some((key.to_string(), text.as_ref()?.to_string())));
    let rest = meta.extra.iter().filter(|(key, _)| ![NodeMeta::INPUT_NAMES, NodeMeta::TENSOR_LIST].contains(&&**key));
    known.chain(rest.map(|(key, text)| (key.to_string(), text.to_string()))).collect()
}
