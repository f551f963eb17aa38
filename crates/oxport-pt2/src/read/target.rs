//! The allowed names of call targets.
//!
//! PyTorch resolves a target by walking attributes from `torch` (or the named module), so a name can reach anything
//! that is imported. This reader never resolves names, but a program with such a target was not written by
//! `torch.export`.

/// True for names that PyTorch's exporter writes: operators (`torch.ops.aten.add.Tensor`, of any library, with their
/// overload; higher-order ones, which have none), Python's
/// operators on numbers, functions of `torch` by plain names, and extensions (`#namespace:name`).
pub(crate) fn is_plain_target(target: &str) -> bool {
    if target.len() > MAX_LEN {
        return false;
    }
    if let Some(extension) = target.strip_prefix('#') {
        return extension.split_once(':').is_some_and(|(ns, op)| is_word(ns) && op.split(['.', ':']).all(is_word));
    }
    let mut parts = target.split('.');
    let root = parts.next().unwrap_or_default();
    let is_known = matches!(root, "torch" | "_operator" | "operator" | "math" | "builtins");
    let parts: Vec<&str> = parts.collect();
    let is_whole = match parts[..] {
        ["ops", "higher_order", ..] => parts.len() == 3,
        ["ops", ..] => parts.len() == 4,
        _ => !parts.is_empty(),
    };
    is_known && is_whole && parts.iter().all(|part| is_word(part) && !(part.starts_with("__") && is_class(part)))
}

const MAX_LEN: usize = 500;

/// Attributes of Python objects that lead away from an operator; overloads such as `__and__.Tensor` are allowed.
fn is_class(part: &str) -> bool {
    const LEADING_AWAY: [&str; 14] = [
        "__class__",
        "__base__",
        "__bases__",
        "__mro__",
        "__subclasses__",
        "__globals__",
        "__builtins__",
        "__import__",
        "__init__",
        "__dict__",
        "__code__",
        "__getattribute__",
        "__loader__",
        "__reduce__",
    ];
    LEADING_AWAY.contains(&part)
}

fn is_word(part: &str) -> bool {
    !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

#[cfg(test)]
mod tests {
    use super::is_plain_target;

    #[test]
    fn targets_are_names_of_operators() {
        for target in [
            "torch.ops.aten.add.Tensor",
            "torch.ops.aten.__and__.Tensor",
            "torch.ops.my_lib.op.default",
            "torch.ops.higher_order.cond",
            "torch._functorch.predispatch._add_batch_dim",
            "torch.sym_max",
            "_operator.add",
            "math.trunc",
            "builtins.round",
            "#ext:op.default",
        ] {
            assert!(is_plain_target(target), "{target}");
        }
        for target in [
            "",
            "torch",
            "os.system",
            "torch.ops.__class__.__subclasses__",
            "torch.ops.aten.add.Tensor()",
            "torch..ops",
            "torch.ops.aten.relu",
            "torch.ops.aten.\u{430}dd.Tensor",
            "#ext",
            "__import__('os').system('x')",
        ] {
            assert!(!is_plain_target(target), "{target}");
        }
    }
}
