//! Higher-order operators and their subgraphs: operands and placeholders agree in number, dtype and shape; what a
//! subgraph returns is what its operator expects (a truth value, the carried values, the same as the other branch).
//!
//! [`layouts`] says where an operator has its subgraphs and operands, and what each subgraph must give.

use super::Check;
use super::compare::{Compare, kind};
use crate::infer::{bind_meta, val_of_argument};
use crate::{Argument, Graph, Intrinsic, Node, NodeKind, Op, Val};
use oxport_tensor::DType;

/// Where operands stand, and how a subgraph sees them.
#[derive(Clone, Copy)]
enum Source {
    /// A list, as it is.
    List(&'static str),
    /// Everything behind the parameters.
    Rest,
    /// A list of tensors, each without its first dimension.
    Slices(&'static str),
    /// As [`Source::Slices`], but only the dtypes count: the subgraph combines blocks of any shape.
    Blocks(&'static str),
}

/// What a subgraph must give.
#[derive(Clone, Copy)]
enum Returns {
    /// Anything; what the operator's recorded result is, is checked with all metas.
    Anything,
    /// One truth value, bare.
    Bool,
    /// Values like the operands in that list, and nothing else.
    Like(&'static str),
    /// Values like the operands in that list, then anything.
    LikeThen(&'static str),
    /// As many values as that list has, of their dtypes.
    AsMany(&'static str),
    /// Values like those of the first subgraph, sizes aside.
    LikeFirst,
}

/// A subgraph: its parameter, its operands, its results.
type Layout = (&'static str, &'static [Source], Returns);

/// The subgraphs of an intrinsic.
fn layouts(intrinsic: Intrinsic) -> &'static [Layout] {
    use Returns::{Anything, AsMany, Bool, Like, LikeFirst, LikeThen};
    use Source::{Blocks, List, Rest, Slices};
    const CARRIED: &[Source] = &[List("carried_inputs"), List("additional_inputs")];
    match intrinsic {
        Intrinsic::Cond => &[("true_fn", &[List("operands")], Anything), ("false_fn", &[List("operands")], LikeFirst)],
        Intrinsic::WhileLoop | Intrinsic::WhileLoopStackOutput => {
            &[("cond_fn", CARRIED, Bool), ("body_fn", CARRIED, Like("carried_inputs"))]
        }
        Intrinsic::MapImpl => &[("f", &[Slices("xs"), List("pos_args")], Anything)],
        Intrinsic::Scan => {
            &[("combine_fn", &[List("init"), Slices("xs"), List("additional_inputs")], LikeThen("init"))]
        }
        Intrinsic::AssociativeScan => {
            &[("combine_fn", &[Blocks("xs"), Blocks("xs"), List("additional_inputs")], AsMany("xs"))]
        }
        Intrinsic::WrapWithSetGradEnabled | Intrinsic::WrapWithAutocast => &[("wrapped_func", &[Rest], Anything)],
        Intrinsic::InvokeSubgraph => &[("subgraph", &[Rest], Anything)],
        Intrinsic::RunConstGraph => &[("graph", &[List("args")], Anything)],
        Intrinsic::StrictMode => &[("callable", &[List("operands")], Anything)],
        Intrinsic::HintsWrapper => &[("body_fn", &[List("args")], Anything)],
        Intrinsic::Wrap => &[("func", &[Rest], Anything)],
        Intrinsic::ActivationCheckpoint => &[("function", &[Rest], Anything)],
        _ => &[],
    }
}

/// What a subgraph is given, by the operands of a call: the metas of its placeholders, as far as they are known. `None`
/// if the parameter takes no subgraph, or the operands are no lists.
pub fn subgraph_inputs(graph: &Graph, call: &Node, parameter: &str) -> Option<Vec<Option<Val>>> {
    let (_, from, _) = layouts(call.intrinsic()?).iter().find(|(name, ..)| *name == parameter)?;
    Some(operands(graph, call, from)?.into_iter().map(|operand| operand.val).collect())
}

/// Checks a call of a higher-order operator; false if it is so wrong that its meta cannot be inferred.
pub(super) fn check(c: &mut Check<'_>, node: &Node, op: &Op) -> bool {
    let before = c.found.len();
    let Some(intrinsic) = op.intrinsic() else { return true };
    let layouts = layouts(intrinsic);
    for layout in layouts {
        subgraph(c, node, op, layout, layouts[0].0);
    }
    match intrinsic {
        Intrinsic::Cond => predicate(c, node),
        Intrinsic::Switch => switch(c, node),
        Intrinsic::WithEffects => with_effects(c, node),
        Intrinsic::AutoFunctionalized | Intrinsic::AutoFunctionalizedV2 => functionalized(c, node),
        _ => {}
    }
    c.found.len() == before
}

/// The place of a parameter in the call.
fn place(node: &Node, parameter: &str) -> String {
    node.intrinsic().and_then(|i| i.position(parameter)).map_or(parameter.to_string(), |i| i.to_string())
}

fn report(c: &mut Check<'_>, node: &Node, at: impl Into<String>, message: impl Into<String>) {
    let at = c.at_argument(node, at);
    c.error("subgraph", at, message);
}

fn subgraph(c: &mut Check<'_>, node: &Node, op: &Op, &(parameter, from, returns): &Layout, first: &str) {
    let (graph, name, at) = (c.graph, op.short_name(), &*place(node, parameter));
    let Some(sub) = graph_at(graph, node, parameter) else {
        return report(c, node, at, format!("argument {at} of {name} is not a subgraph"));
    };
    let Some(operands) = operands(graph, node, from) else {
        return report(c, node, at, format!("{name}: expected lists of operands after its subgraphs"));
    };
    let title = title(node, graph, parameter);
    takes(c, node, &title, sub, &operands, name);
    form(c, node, &title, sub, at, returns);
    match returns {
        Returns::Anything => {}
        Returns::Bool => truth(c, node, &title, sub, at),
        Returns::Like(list) => like(c, node, &title, sub, at, list, false, true),
        Returns::LikeThen(list) => like(c, node, &title, sub, at, list, true, true),
        Returns::AsMany(list) => like(c, node, &title, sub, at, list, false, false),
        Returns::LikeFirst => {
            if let Some(other) = graph_at(graph, node, first) {
                like_first(c, node, &title, sub, other, at);
            }
        }
    }
}

/// The subgraph that an argument names.
fn graph_at<'g>(graph: &'g Graph, node: &Node, parameter: &str) -> Option<&'g Graph> {
    graph.subgraph_of(node.argument(parameter)?.as_node()?)
}

/// The name of the subgraph that an argument names.
fn title(node: &Node, graph: &Graph, parameter: &str) -> String {
    let id = node.argument(parameter).and_then(Argument::as_node);
    match id.map(|id| &graph.node(id).kind) {
        Some(NodeKind::GetAttr(name)) => format!("`{name}`"),
        _ => "the subgraph".to_string(),
    }
}

/// An operand as a subgraph sees it: where it stands, its value if known, whether its shape counts.
struct Operand {
    place: String,
    val: Option<Val>,
    shape_counts: bool,
}

fn operands(graph: &Graph, node: &Node, from: &[Source]) -> Option<Vec<Operand>> {
    let mut all = Vec::new();
    for from in from {
        let (list, list_at): (&[Argument], _) = match *from {
            Source::Rest => (node.operands(), None),
            Source::List(list) | Source::Slices(list) | Source::Blocks(list) => match node.argument(list) {
                Some(Argument::List(l)) => (l, Some(place(node, list))),
                None => (&[], None),
                Some(_) => return None,
            },
        };
        for (k, operand) in list.iter().enumerate() {
            if matches!(operand, Argument::Dict(_)) {
                continue;
            }
            let val = val_of_argument(graph, operand);
            let (val, shape_counts) = match from {
                Source::Slices(_) => (val.map(slice), true),
                Source::Blocks(_) => (val, false),
                _ => (val, true),
            };
            let place = match &list_at {
                Some(at) => format!("{at}[{k}]"),
                None => (node.args.len() - list.len() + k).to_string(),
            };
            all.push(Operand { place, val, shape_counts });
        }
    }
    Some(all)
}

/// A tensor without its first dimension.
fn slice(val: Val) -> Val {
    match val {
        Val::Tensor(mut t) if t.dim() > 0 => {
            t.sizes.remove(0);
            if !t.strides.is_empty() {
                t.strides.remove(0);
            }
            Val::Tensor(t)
        }
        other => other,
    }
}

/// The placeholders of a subgraph take the operands.
fn takes(c: &mut Check<'_>, node: &Node, title: &str, sub: &Graph, operands: &[Operand], name: &str) {
    let placeholders: Vec<&Node> = sub.placeholders().map(|(_, n)| n).collect();
    if placeholders.len() != operands.len() {
        let message = format!("{title} takes {} operands, {name} gives {}", placeholders.len(), operands.len());
        return report(c, node, title.trim_matches('`'), message);
    }
    for (placeholder, operand) in placeholders.into_iter().zip(operands) {
        let (Some(want), Some(have)) = (placeholder.val(), &operand.val) else { continue };
        if let Some(difference) = mismatch(c, want, have, operand.shape_counts) {
            let message = format!("{title} takes `{}`, {difference}", placeholder.name);
            report(c, node, operand.place.clone(), message);
        }
    }
}

/// How a value that is given differs from one that is wanted.
fn mismatch(c: &Check<'_>, want: &Val, have: &Val, shape_counts: bool) -> Option<String> {
    let differs = match (want, have) {
        (Val::Tensor(a), Val::Tensor(b)) => {
            a.dtype != b.dtype || shape_counts && Compare::new(c.env).values(want, have).is_some()
        }
        // A number becomes a 0-d tensor when a loop carries it.
        (Val::Tensor(a), Val::Int(_) | Val::Float(_) | Val::Bool(_)) => a.dim() != 0,
        (Val::Int(_), Val::Int(_)) | (Val::Float(_), Val::Float(_)) | (Val::Bool(_), Val::Bool(_)) => {
            want != have && Compare::new(c.env).values(want, have).is_some()
        }
        (Val::None, _) | (_, Val::None) => false,
        (Val::Token | Val::Object(_), _) | (_, Val::Token | Val::Object(_)) => false,
        _ => kind(want) != kind(have),
    };
    let text = super::compare::article;
    differs.then(|| format!("{}, but is given {}", text(want), text(have)))
}

/// A condition returns its value bare, every other subgraph a tuple, unless the operator's own result is bare.
fn form(c: &mut Check<'_>, node: &Node, title: &str, sub: &Graph, at: &str, returns: Returns) {
    let count = sub.outputs().len();
    if sub.is_single_return && count != 1 {
        let message = format!("{title} is said to return one bare value, but returns {count}");
        return report(c, node, at, message);
    }
    let bare = match (returns, node.val()) {
        (Returns::Bool, _) => true,
        (_, Some(Val::List(_))) => false,
        _ => return,
    };
    if sub.is_single_return != bare {
        let form = |bare| if bare { "one bare value" } else { "a tuple" };
        let message = format!("{title} returns {}, but {} is wanted", form(sub.is_single_return), form(bare));
        report(c, node, at, message);
    }
}

/// The values that a subgraph returns.
fn results(sub: &Graph) -> Vec<Option<Val>> {
    sub.outputs().iter().map(|a| val_of_argument(sub, a)).collect()
}

/// One truth value, bare.
fn truth(c: &mut Check<'_>, node: &Node, title: &str, sub: &Graph, at: &str) {
    let results = results(sub);
    let [Some(result)] = results.as_slice() else {
        let message = format!("the condition {title} gives {} values, not one", results.len());
        return report(c, node, at, message);
    };
    let fits = match result {
        Val::Tensor(t) => t.dtype == DType::Bool && t.dim() == 0,
        Val::Bool(_) => true,
        _ => false,
    };
    if !fits {
        let message = format!("the condition {title} gives {}, not one bool", super::compare::article(result));
        report(c, node, at, message);
    }
}

/// Values like the operands in a list.
#[allow(clippy::too_many_arguments, reason = "a row of the table, spelled out")]
fn like(c: &mut Check<'_>, node: &Node, title: &str, sub: &Graph, at: &str, list: &str, more: bool, shapes: bool) {
    let graph = c.graph;
    let Some(Argument::List(carried)) = node.argument(list) else { return };
    let results = results(sub);
    if results.len() < carried.len() || !more && results.len() > carried.len() {
        let message = format!("{title} gives {} values for {} that are carried", results.len(), carried.len());
        return report(c, node, at, message);
    }
    let seen: Vec<Option<&Val>> = sub.placeholders().map(|(_, p)| p.val()).collect();
    for (i, (result, operand)) in results.iter().zip(carried).enumerate() {
        let (Some(result), Some(operand)) = (result, val_of_argument(graph, operand)) else { continue };
        // The carried value as the subgraph sees it: sizes that change from trip to trip are symbols there.
        let seen = seen.get(i).copied().flatten();
        let fits = [Some(&operand), seen].into_iter().flatten().any(|v| mismatch(c, v, result, shapes).is_none());
        if !fits && let Some(difference) = mismatch(c, &operand, result, shapes) {
            report(c, node, at, format!("value {i} that {title} carries on was {difference}"));
        }
    }
}

/// Branches give the same number of values, of the same kinds, dtypes and ranks.
fn like_first(c: &mut Check<'_>, node: &Node, title: &str, sub: &Graph, other: &Graph, at: &str) {
    let (ours, theirs) = (results(sub), results(other));
    if ours.len() != theirs.len() {
        let message = format!("{title} gives {} values, the other branch {}", ours.len(), theirs.len());
        return report(c, node, at, message);
    }
    for (i, (a, b)) in ours.iter().zip(&theirs).enumerate() {
        let (Some(a), Some(b)) = (a, b) else { continue };
        let differs = match (a, b) {
            (Val::Tensor(a), Val::Tensor(b)) => a.dtype != b.dtype || a.dim() != b.dim(),
            _ => kind(a) != kind(b),
        };
        if differs {
            let text = super::compare::article;
            let message = format!("value {i} of {title} is {}, the other branch gives {}", text(a), text(b));
            report(c, node, at, message);
        }
    }
}

/// The predicate of `cond` is one bool.
fn predicate(c: &mut Check<'_>, node: &Node) {
    let Some(val) = node.argument("pred").and_then(|a| val_of_argument(c.graph, a)) else { return };
    let one = |e: &oxport_sym::Expr| e.as_int().is_none_or(|n| n == 1);
    let fits = match &val {
        Val::Tensor(t) => t.dtype == DType::Bool && t.sizes.iter().all(one),
        Val::Bool(_) => true,
        _ => false,
    };
    if !fits {
        report(c, node, "0", format!("the predicate is {}, not one bool", super::compare::article(&val)));
    }
}

fn switch(c: &mut Check<'_>, node: &Node) {
    let graph = c.graph;
    let (Some(Argument::List(branches)), Some(Argument::List(given))) =
        (node.argument("branches"), node.argument("operands"))
    else {
        return report(c, node, "1", "switch: expected an index, a list of branches and a list of operands");
    };
    let subs: Vec<_> = branches.iter().map(|b| b.as_node().and_then(|id| graph.subgraph_of(id))).collect();
    if subs.is_empty() {
        report(c, node, "1", "switch has no branch");
    }
    for (i, sub) in subs.iter().enumerate() {
        let Some(sub) = sub else {
            report(c, node, format!("1[{i}]"), format!("branch {i} of switch is not a subgraph"));
            continue;
        };
        let title = format!("branch {i}");
        let values = given.iter().enumerate().map(|(k, a)| Operand {
            place: format!("2[{k}]"),
            val: val_of_argument(graph, a),
            shape_counts: true,
        });
        takes(c, node, &title, sub, &values.collect::<Vec<_>>(), "switch");
        if let Some(Some(first)) = subs.first().filter(|_| i > 0) {
            like_first(c, node, &title, sub, first, "1");
        }
    }
}

/// `with_effects(token, op, …)`: the rest are the operator's arguments.
fn with_effects(c: &mut Check<'_>, node: &Node) {
    let Some(Argument::Op(op)) = node.argument("op") else {
        return report(c, node, "1", "with_effects: expected a token and an operator");
    };
    if let Err(e) = bind_meta(c.graph, op, node.operands(), &node.kwargs) {
        report(c, node, "1", e.message());
    }
}

/// `auto_functionalized(op, name=…)`: the names are the operator's.
fn functionalized(c: &mut Check<'_>, node: &Node) {
    let Some(Argument::Op(op)) = node.argument("_mutable_op") else {
        return report(c, node, "0", "auto_functionalized: expected an operator");
    };
    let Some(schema) = op.schema() else { return };
    for key in node.kwargs.keys().filter(|k| !k.starts_with('_')) {
        if schema.arg(key).is_none() {
            report(c, node, &**key, format!("{} has no argument `{key}`", op.name()));
        }
    }
}
