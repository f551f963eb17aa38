//! Guards: conditions on inputs, which PyTorch stores as Python code and executes.
//!
//! A guard must be an expression over source paths (`L['x'].size()[0]`); anything else is an error. Nothing is
//! executed:
//! `oxport-run` compiles the guards into run-time checks.

use oxport_ir::{Diagnostic, Loc};
use oxport_sym::Expr;

use super::expressions::{check_text, excerpt, is_too_costly};
use crate::Limits;

/// Reports guards that are not expressions.
pub(super) fn check(guards: &[String], limits: &Limits, errors: &mut Vec<Diagnostic>) {
    if guards.len() as u64 > limits.expressions {
        let message = Limits::exceeded("expressions", format!("{} guards", guards.len()), limits.expressions);
        errors.push(Diagnostic::error("guard", Loc::Json("guards_code".into()), message));
        return;
    }
    for (i, guard) in guards.iter().enumerate() {
        if let Err(message) = check_guard(guard, limits) {
            errors.push(Diagnostic::error("guard", Loc::Json(format!("guards_code[{i}]")), message));
        }
    }
}

/// Checks that a text is a guard.
pub(crate) fn check_guard(text: &str, limits: &Limits) -> Result<(), String> {
    check_text(text, limits)?;
    // Every path is a separate symbol; sizes and strides are not distinguished here.
    let path = |name: &str| is_path(name).then(|| Expr::parse("s0").ok()).flatten();
    let expr = Expr::parse_guard(text, &path).map_err(|e| format!("expected a guard, got {:?}: {e}", excerpt(text)))?;
    if is_too_costly(&expr) {
        return Err(format!("{:?} has a constant that is too large to compute", excerpt(text)));
    }
    let bare = expr.free_symbols().into_iter().find(|s| s.name() != "s0");
    match bare {
        Some(symbol) => {
            Err(format!("expected a guard over inputs, got {:?}, which names {:?}", excerpt(text), symbol.name()))
        }
        None => Ok(()),
    }
}

/// True for paths that begin at an input and continue with keys, field names, and methods of a tensor's layout.
fn is_path(path: &str) -> bool {
    let Some(mut rest) = path.strip_prefix("L[") else { return false };
    rest = match rest.split_once(']') {
        Some((_, rest)) => rest,
        None => return false,
    };
    // After a dot: a field, or one of these method calls.
    rest.split('.').skip(1).all(|part| {
        let name = part.split(['[', '(']).next().unwrap_or_default();
        let is_method = ["size", "stride", "storage_offset", "dim", "numel", "item"].contains(&name);
        !name.starts_with("__") && (is_method || !part.contains('('))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guards_are_conditions_on_sizes() {
        for text in [
            "L['x'].size()[0] == ((-1) + L['y'].size()[0])",
            "(L['x'].size()[0] // 2) != 1",
            "L['n'] >= 2",
            "L['d']['u'].size()[0] <= 64 and not L['d']['u'].stride()[1] == 3",
            "L['flat_args'][3].storage_offset() % 2 == 0",
            "math.floor(L['x'].size()[0] / 2) < max(3, L['x'].size()[1])",
            "L['p'].field.size()[0] > 1",
            "round(L['x'].size()[0] / 3) == 4",
            "int(10 * round(L['x'].size()[0] / 7, 2)) == 4",
        ] {
            assert_eq!(check_guard(text, &Limits::default()), Ok(()), "{text}");
        }
        for text in [
            "__import__('os').system('x')",
            "L['x'].size()[0] >= 2 and __import__('os').system('x')",
            "True\nimport os",
            "L['x'].__class__.__init__",
            "L['x'].apply()",
            "L['x']",
            "(lambda: 1)()",
            "open",
            "L['x'",
            "",
            "9**9**9 > L['x'].size()[0]",
        ] {
            let found = check_guard(text, &Limits::default());
            assert_eq!(found.is_err(), text != "L['x']", "{text}: {found:?}");
        }
    }
}
