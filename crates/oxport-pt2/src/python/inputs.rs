//! Example inputs and dynamic shapes.

use super::forward::Leaf;
use super::state::empty_of;
use super::tree::Types;
use super::{forward, unsupported};
use oxport_ir::print::{argument_with, python_float, python_str};
use oxport_ir::{ExportedProgram, Fake, InputKind, ModuleCallSignature, RangeConstraint, Result, Val};
use oxport_pytree::{Kind, Tree};
use oxport_sym::{Expr, Func, Symbol};
use oxport_tensor::Layout;
use std::collections::BTreeSet;

/// `example_inputs` and `dynamic_shapes`, as lines.
pub(super) fn inputs(program: &ExportedProgram, call: &ModuleCallSignature, types: &mut Types) -> Result<Vec<String>> {
    let leaves = forward::leaves(program, call)?;
    let mut roots: BTreeSet<Symbol> = BTreeSet::new();
    let examples = leaves.iter().map(|leaf| example(program, leaf)).collect::<Result<Vec<String>>>()?;
    let related = related(&leaves);
    let shapes: Vec<String> = leaves.iter().map(|leaf| shape(program, leaf, &related, &mut roots)).collect();
    let tree = |texts: Vec<String>| {
        call.in_spec.unflatten(texts).map_err(|_| unsupported("an input signature that does not fit the inputs"))
    };
    let (args, kwargs) = match tree(examples)?.children() {
        [args, kwargs] => (types.value(args)?, types.value(kwargs)?),
        _ => return Err(unsupported("a call that is not of arguments and keyword arguments")),
    };
    let mut lines = vec![
        "def example_inputs():".to_string(),
        format!("    args = {args}"),
        format!("    kwargs = {kwargs}"),
        "    return args, kwargs".to_string(),
        String::new(),
        String::new(),
    ];
    let is_static = shapes.iter().all(|s| s == "None");
    for symbol in &roots {
        lines.push(dimension(program, symbol));
    }
    if is_static {
        lines.push("dynamic_shapes = None".to_string());
        return Ok(lines);
    }
    lines.push("dynamic_shapes = {".to_string());
    let shapes = tree(shapes)?;
    let given: Vec<&Tree<String>> = shapes.children().iter().flat_map(Tree::children).collect();
    for (name, shape) in forward::arguments(program, call)?.iter().zip(given) {
        lines.push(format!("    {}: {},", python_str(name), types.value(&as_shapes(shape))?));
    }
    lines.push("}".to_string());
    Ok(lines)
}

/// PyTorch reads the shapes of a container of a registered type from a list.
fn as_shapes(tree: &Tree<String>) -> Tree<String> {
    let children = || tree.children().iter().map(as_shapes).collect::<Vec<_>>();
    match tree.kind() {
        None => tree.clone(),
        Some(Kind::Dataclass { .. } | Kind::Custom { .. }) => Tree::list(children()),
        Some(kind) => Tree::node(kind.clone(), children()),
    }
}

fn example(program: &ExportedProgram, leaf: &Leaf<'_>) -> Result<String> {
    if let InputKind::ConstantInput(constant) = leaf.kind {
        return Ok(argument_with(&|_| String::new(), constant));
    }
    let unknown = || unsupported(format!("the input `{}`, of which no example is known,", leaf.node.name));
    match leaf.node.val() {
        Some(Val::Tensor(fake)) => {
            let layout = example_layout(program, fake).ok_or_else(unknown)?;
            Ok(empty_of(&layout, fake.dtype.name(), &fake.device))
        }
        Some(Val::Int(e)) => number(program, e).map(|n| n.to_string()).ok_or_else(unknown),
        Some(Val::Bool(e)) => e.as_bool().map(|b| if b { "True" } else { "False" }.to_string()).ok_or_else(unknown),
        Some(Val::Float(e)) => e.as_float().map(python_float).ok_or_else(unknown),
        Some(Val::None) => Ok("None".to_string()),
        Some(Val::Str(s)) => Ok(python_str(s)),
        _ => Err(unknown()),
    }
}

fn example_layout(program: &ExportedProgram, fake: &Fake) -> Option<Layout> {
    let sizes = fake.sizes.iter().map(|e| number(program, e)).collect::<Option<_>>()?;
    let strides = fake.strides.iter().map(|e| number(program, e)).collect::<Option<_>>()?;
    Some(Layout { sizes, strides, offset: 0 })
}

/// The value with which the program was captured, or one in its range.
fn number(program: &ExportedProgram, e: &Expr) -> Option<i64> {
    let with = |symbol: &Symbol| Some(Expr::int(hint(program, symbol)));
    e.subs(&with).as_int()
}

fn hint(program: &ExportedProgram, symbol: &Symbol) -> i64 {
    let kept = program.env.hint(symbol).and_then(|n| n.as_i64());
    let RangeConstraint { min, max } = declared(program, symbol);
    // Neither 0 nor 1, as PyTorch's users give.
    kept.filter(|n| *n > 1).unwrap_or_else(|| 4.max(min.unwrap_or(2)).min(max.unwrap_or(i64::MAX)))
}

fn declared(program: &ExportedProgram, symbol: &Symbol) -> RangeConstraint {
    program.ranges.get(&Expr::symbol(symbol)).cloned().unwrap_or_default()
}

fn dimension(program: &ExportedProgram, symbol: &Symbol) -> String {
    let RangeConstraint { min, max } = declared(program, symbol);
    // Of a size that no input has by itself, the range of what is derived of it tells what was declared.
    let is_derived = |e: &Expr| e.as_symbol().is_none() && e.free_symbols() == [symbol.clone()];
    let derived = program.ranges.iter().filter(|(e, _)| is_derived(e));
    let ends = derived.flat_map(|(e, range)| [range.min, range.max].map(|n| Some(e.solve(n?)?.1)));
    let min = ends.flatten().chain(min).min();
    let name = symbol.name();
    let bound = |word: &str, n: Option<i64>| n.map_or(String::new(), |n| format!(", {word}={n}"));
    format!("{name} = Dim({}{}{})", python_str(name), bound("min", min), bound("max", max))
}

/// The symbols in several sizes: the same one, or one derived of it.
fn related(leaves: &[Leaf<'_>]) -> BTreeSet<Symbol> {
    let (mut once, mut found) = (BTreeSet::new(), BTreeSet::new());
    for fake in leaves.iter().filter_map(|leaf| leaf.node.val()?.as_tensor()) {
        for symbol in fake.sizes.iter().flat_map(Expr::free_symbols) {
            if !once.insert(symbol.clone()) {
                found.insert(symbol);
            }
        }
    }
    found
}

/// The sizes of an input that are dynamic, by dimension; `None` if none is.
fn shape(
    program: &ExportedProgram,
    leaf: &Leaf<'_>,
    related: &BTreeSet<Symbol>,
    roots: &mut BTreeSet<Symbol>,
) -> String {
    let mut size = |e: &Expr| {
        // A size with guards beside its range: PyTorch finds these again, where none claims that every size is fine.
        if let Some(symbol) = e.as_symbol().filter(|s| !program.guards.is_empty() && !related.contains(s)) {
            let RangeConstraint { min, max } = declared(program, symbol);
            let bound = |word: &str, n: Option<i64>| n.map(|n| format!("{word}={n}"));
            let bounds: Vec<String> = [bound("min", min), bound("max", max)].into_iter().flatten().collect();
            return format!("Dim.AUTO({})", bounds.join(", "));
        }
        let root = match e.free_symbols().as_slice() {
            [root] if is_derived(e) && super::is_identifier(root.name()) => root.clone(),
            // PyTorch finds such a relation of sizes by itself.
            _ => return "Dim.AUTO".to_string(),
        };
        roots.insert(root);
        e.to_string()
    };
    match leaf.node.val() {
        Some(Val::Tensor(fake)) => {
            let dims = fake.sizes.iter().enumerate().filter(|(_, e)| !e.is_const());
            let dims: Vec<String> = dims.map(|(at, e)| format!("{at}: {}", size(e))).collect();
            if dims.is_empty() { "None".to_string() } else { format!("{{{}}}", dims.join(", ")) }
        }
        Some(Val::Int(e)) if !e.is_const() && matches!(leaf.kind, InputKind::UserInput) => match e.as_symbol() {
            Some(symbol) if program.ranges.contains_key(&Expr::symbol(symbol)) => "Dim.DYNAMIC".to_string(),
            _ => "Dim.AUTO".to_string(),
        },
        _ => "None".to_string(),
    }
}

/// Whether a size is `a*s + b`, which a derived `Dim` of PyTorch can say.
fn is_derived(e: &Expr) -> bool {
    match e.as_call() {
        None => e.as_symbol().is_some() || e.as_int().is_some(),
        Some((Func::Add | Func::Mul, args)) => {
            args.iter().filter(|a| a.as_int().is_none()).count() <= 1 && args.iter().all(is_derived)
        }
        Some(_) => false,
    }
}
