//! Guards: conditions on inputs that PyTorch checks at every call, as texts over source paths.

use crate::{ExportedProgram, Node, Val};
use oxport_sym::Expr;
use std::sync::Arc;

/// The source paths by which a guard may name each user input: by argument, by placeholder name, or by position.
pub fn sources(program: &ExportedProgram) -> Vec<Vec<String>> {
    let signature = program.call_signature();
    let paths = signature.map(|s| s.in_spec.paths()).unwrap_or_default();
    let arguments = signature.and_then(|s| s.forward_arg_names.as_deref()).unwrap_or_default();
    let names = users(program).enumerate().map(|(i, node)| {
        let path = paths.get(i).map(ToString::to_string).unwrap_or_default();
        sources_of(&path, &node.name, arguments, i)
    });
    names.collect()
}

fn users(program: &ExportedProgram) -> impl Iterator<Item = &Node> {
    let placeholders = program.graph.placeholders().zip(&program.signature.inputs);
    placeholders.filter(|(_, spec)| spec.kind.is_user()).map(|((_, node), _)| node)
}

fn sources_of(path: &str, placeholder: &str, arguments: &[Arc<str>], number: usize) -> Vec<String> {
    let mut names = vec![format!("L['{placeholder}']"), format!("L['flat_args'][{number}]")];
    if let Some(rest) = path.strip_prefix("[1]") {
        names.push(format!("L{rest}"));
    }
    if let Some((index, rest)) = path.strip_prefix("[0][").and_then(|p| p.split_once(']')) {
        if let Some(name) = index.parse::<usize>().ok().and_then(|i| arguments.get(i)) {
            names.push(format!("L['{name}']{rest}"));
            // `*xs` gives arguments `xs_0`, `xs_1`.
            let is_free = |stem: &str| arguments.iter().all(|a| **a != *stem);
            if let Some((stem, i)) = name.rsplit_once('_').filter(|(stem, i)| is_free(stem) && i.parse::<u32>().is_ok())
            {
                names.push(format!("L['{stem}'][{i}]{rest}"));
            }
        }
        names.push(format!("L['args'][{index}]{rest}"));
    }
    names
}

/// The guards that are about sizes only, as conditions on the program's symbols.
pub fn size_conditions(program: &ExportedProgram) -> Vec<Expr> {
    let tensors = users(program).map(|node| node.val().and_then(Val::as_tensor));
    let inputs: Vec<_> = sources(program).into_iter().zip(tensors).collect();
    let size = |source: &str| {
        let (name, rest) = source.split_once(".size()[")?;
        let (_, tensor) = inputs.iter().find(|(names, _)| names.iter().any(|n| n == name))?;
        tensor.as_ref()?.sizes.get(rest.strip_suffix(']')?.parse::<usize>().ok()?).cloned()
    };
    program.guards.iter().filter_map(|text| Expr::parse_guard(text, &size).ok()).collect()
}
