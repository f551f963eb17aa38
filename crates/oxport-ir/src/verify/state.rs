//! Stored tensors are what the placeholders that are lifted from them say.

use super::Check;
use crate::diagnostic::Loc;
use crate::{Constant, InputKind, Node, StateTensor, Val};

/// The stored thing of a lifted placeholder exists, is of the right kind, and is what the meta says.
pub(super) fn check(c: &mut Check<'_>, node: &Node, kind: &InputKind) {
    let program = c.program;
    let at = || Loc::Node { graph: String::new(), node: node.name.to_string() };
    let constant = |name: &std::sync::Arc<str>| match program.constants.get(name) {
        Some(Constant::Tensor(t)) => Some(t),
        _ => None,
    };
    match kind {
        InputKind::Parameter(name) => match program.state.get(name) {
            None => c.error("state", at(), format!("parameter `{name}` is not in the state dict")),
            Some(t) if !t.is_param => c.error("state", at(), format!("`{name}` is a buffer, not a parameter")),
            Some(t) => stored(c, node, name, t),
        },
        InputKind::Buffer { name, persistent } => match (program.state.get(name), constant(name)) {
            (Some(_), _) if !persistent => {
                c.error("state", at(), format!("non-persistent buffer `{name}` is in the state dict"));
            }
            (Some(t), _) if t.is_param => c.error("state", at(), format!("`{name}` is a parameter, not a buffer")),
            (None, Some(_)) if *persistent => {
                c.error("state", at(), format!("persistent buffer `{name}` is a constant, not in the state dict"));
            }
            (Some(t), _) | (None, Some(t)) => stored(c, node, name, t),
            _ => c.error("state", at(), format!("buffer `{name}` is missing")),
        },
        InputKind::TensorConstant(name) => match constant(name) {
            Some(t) => stored(c, node, name, t),
            _ => c.error("state", at(), format!("constant `{name}` is missing")),
        },
        InputKind::CustomObj { name, .. } => match program.constants.get(name) {
            Some(Constant::Opaque { .. }) => {}
            Some(Constant::Tensor(_)) => c.error("state", at(), format!("`{name}` is a tensor, not an object")),
            None => c.error("state", at(), format!("object `{name}` is missing")),
        },
        _ => {}
    }
}

/// A stored tensor is what its placeholder's meta says: dtype, sizes, strides, device.
fn stored(c: &mut Check<'_>, node: &Node, name: &str, state: &StateTensor) {
    let Some(Val::Tensor(meta)) = node.val() else { return };
    let (layout, dtype) = (state.face(), state.tensor.dtype());
    if state.requires_grad && !(dtype.is_float() || dtype.is_complex()) {
        let message = format!("`{name}` requires a gradient, but only floating and complex tensors can");
        c.node_error("document", &node.name, message);
    }
    let same = |meta: &[oxport_sym::Expr], have: &[i64]| {
        meta.len() == have.len() && meta.iter().zip(have).all(|(a, b)| a.as_int().is_none_or(|a| a == *b))
    };
    if meta.dtype != dtype || !same(&meta.sizes, &layout.sizes) {
        let have = crate::Fake::of(&state.tensor);
        c.node_error("state", &node.name, format!("`{name}` is stored as {have}, its placeholder says {meta}"));
    } else if !same(&meta.strides, &layout.strides) {
        let meta: Vec<String> = meta.strides.iter().map(ToString::to_string).collect();
        let message =
            format!("`{name}` is stored with strides {:?}, its placeholder says [{}]", layout.strides, meta.join(", "));
        c.node_error("stride", &node.name, message);
    } else if !same_device(&meta.device, &state.device) {
        let message = format!("`{name}` is stored for {}, its placeholder says {}", state.device, meta.device);
        c.node_error("device", &node.name, message);
    }
    // The layout of a stored tensor lies within its storage: a law of the tensor.
}

/// Whether two devices may be the same: an index that is not named is any.
pub(super) fn same_device(a: &crate::Device, b: &crate::Device) -> bool {
    a.kind == b.kind && (a.index == b.index || a.index.is_none() || b.index.is_none())
}
