//! Guards as PyTorch writes them.

use indexmap::IndexMap;
use oxport_sym::{Expr, Func, Symbol};
use std::sync::Arc;

/// A guard as PyTorch writes it into `_guards_code`: symbols by their sources.
pub(crate) fn spelled(sources: &IndexMap<Symbol, Arc<str>>, relation: &Expr) -> Arc<str> {
    let by_source = |s: &Symbol| {
        let source = sources.get(s)?;
        Some(Expr::symbol(&Symbol::new(source, s.assumptions().clone())))
    };
    // Two sizes that are equal are named in the order of the inputs.
    if let Some((Func::Eq, [a, b])) = relation.as_call()
        && let (Some(a), Some(b)) = (a.as_symbol(), b.as_symbol())
        && let (Some((i, _, a)), Some((j, _, b))) = (sources.get_full(a), sources.get_full(b))
    {
        let (first, second) = if i < j { (a, b) } else { (b, a) };
        return format!("{first} == {second}").into();
    }
    let named = relation.subs(&by_source);
    let is_equality = named.as_call().is_some_and(|(f, _)| matches!(f, Func::Eq | Func::Ne));
    let side = |e: &Expr| match e.as_symbol().is_some() || e.is_const() || !is_equality {
        true => infix(e),
        false => format!("({})", infix(e)),
    };
    let text = match named.as_call() {
        Some((f, [a, b])) if let Some(sign) = sign(f) => format!("{} {sign} {}", side(a), side(b)),
        _ => named.to_string(),
    };
    text.into()
}

/// A remainder with the sign of Python.
fn infix(e: &Expr) -> String {
    match e.as_call() {
        Some((Func::Mod | Func::PythonMod, [a, b])) => format!("{a} % {b}"),
        _ => e.to_string(),
    }
}

fn sign(f: Func) -> Option<&'static str> {
    Some(match f {
        Func::Eq => "==",
        Func::Ne => "!=",
        Func::Lt => "<",
        Func::Le => "<=",
        Func::Gt => ">",
        Func::Ge => ">=",
        _ => return None,
    })
}
