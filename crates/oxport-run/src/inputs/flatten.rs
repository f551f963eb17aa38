//! Arguments as a user gives them, by position and keyword, as flat inputs.

use crate::error::{Error, Result};
use crate::inputs::Checks;
use indexmap::IndexMap;
use oxport_ir::{ModuleCallSignature, Value};
use oxport_pytree::{Tree, TreeSpec};

/// The flat inputs of a call, with defaults for omitted trailing positional arguments.
pub(crate) fn flatten(
    signature: Option<&ModuleCallSignature>,
    checks: &Checks,
    mut args: Vec<Tree<Value>>,
    kwargs: IndexMap<String, Tree<Value>>,
) -> Result<Vec<Value>> {
    let signature = signature.ok_or_else(|| Error::input("the program has no call signature (module_call_graph)"))?;
    if let Tree::Node(_, call) = &signature.in_spec
        && let Some(Tree::Node(_, positional)) = call.first()
    {
        let given = positional.iter().take(args.len()).map(TreeSpec::num_leaves).sum::<usize>();
        let left_out = positional.iter().skip(args.len()).take_while(|place| matches!(place, Tree::Leaf(())));
        let defaults: Vec<Tree<Value>> =
            left_out.zip(checks.defaults(given)).map(|(_, default)| Tree::Leaf(default)).collect();
        args.extend(defaults);
    }
    let call = Tree::call(args, kwargs);
    let leaves = signature.in_spec.flatten_like(&call);
    let leaves = leaves.map_err(|e| Error::input(format!("the arguments do not match the program's in_spec: {e}")))?;
    Ok(leaves.into_iter().cloned().collect())
}

/// The path within `(args, kwargs)` as PyTorch prints it: `[0][1]` is `*args[1]`, `[1]['mask']` is `mask`.
pub(super) fn user_path(path: &str) -> String {
    match (path.strip_prefix("[0]"), path.strip_prefix("[1]['")) {
        (Some(rest), _) => format!("*args{rest}"),
        (_, Some(rest)) => rest.replacen("']", "", 1),
        _ => path.into(),
    }
}
