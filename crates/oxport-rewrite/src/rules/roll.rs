//! Recurrent layers whose steps are written out, made one call again.
//!
//! A rule over so many terms has no pattern, so it is a searcher of its own: it looks at concatenations of states,
//! reads the operands from the first step, writes all steps over them ([`written_out`]), and unites what is the same
//! class.
//!
//! Laws: a call depends on operands of the first step only, and never on its own results; rolling rounds; a result has
//! the type of what it stands for, strides included.

use super::merge::Ast;
use super::recurrent::{
    LAYERS, Layer, Operands, Shape, Write, has_biases, one_step, rolled, shape, stepped, written_out,
};
use crate::applied::{Applied, Part, Step};
use crate::constant::Constant;
use crate::term::Term;
use crate::terms::Terms;
use crate::typing::{Graph, classes_of, first};
use egg::{Id, Pattern, Searcher, Subst, Symbol, Var};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Adds the call of every layer that is written out; gives how many results each rule united. Some rules are left out.
pub(crate) fn roll(graph: &mut Graph<'_>, without: &BTreeSet<String>) -> BTreeMap<String, usize> {
    let mut applied = BTreeMap::new();
    let layers: Vec<&Layer> = LAYERS.iter().filter(|layer| !without.contains(layer.rule)).collect();
    for (class, items, hidden) in joined(graph) {
        let tried = layers.iter().flat_map(|layer| [(layer, false), (layer, true)]);
        for (layer, is_reversed) in tried {
            let united = unite(graph, layer, (class, &items), hidden, is_reversed).unwrap_or(0);
            if united > 0 {
                graph.rebuild();
                *applied.entry(layer.rule.to_string()).or_insert(0) += united;
                break;
            }
        }
    }
    for layer in layers {
        let Some((_, rule)) = layer.step.filter(|(_, rule)| !without.contains(*rule)) else { continue };
        for (class, hidden) in states(graph, layer) {
            let united = unite_step(graph, layer, rule, class, hidden).unwrap_or(0);
            if united > 0 {
                graph.rebuild();
                *applied.entry(rule.to_string()).or_insert(0) += united;
            }
        }
    }
    graph.rebuild();
    applied
}

/// What may be a state after one step by itself, with its size.
fn states(graph: &Graph<'_>, layer: &Layer) -> Vec<(Id, i64)> {
    let (op, arguments) = if layer.states() == 2 { ("aten::mul.Tensor", 2) } else { ("aten::add.Tensor", 3) };
    let hidden = |class: Id| match &graph[class].data.kind.tensor()?.sizes[..] {
        [_, hidden] => Some((class, hidden.as_int().filter(|n| *n > 0)?)),
        _ => None,
    };
    classes_of(graph, op, arguments).into_iter().filter_map(hidden).collect()
}

/// Makes a step that is written out one call; gives how many results are those of the call now.
fn unite_step(graph: &mut Graph<'_>, layer: &Layer, rule: &str, class: Id, hidden: i64) -> Option<usize> {
    let (mut ast, variables) = Ast::operands(layer);
    let state = one_step(&mut ast, layer, &variables, hidden)?[0];
    let first_step = Pattern::<Term>::new(ast.up_to(state));
    let found = first_step.search_eclass(graph, class)?;
    for subst in found.substs {
        let operands = Operands::of(layer, &subst);
        if graph.analysis.fuel.is_out() || has_biases(graph, &operands).is_none() {
            continue;
        }
        let before = graph.nodes().len();
        let Some(written) = one_step(graph, layer, &operands, hidden) else { continue };
        let Some(results) = stepped(graph, layer, &operands) else { continue };
        let step = |graph: &Graph<'_>, numbers: &[usize]| {
            logged(graph, layer, (class, &subst), numbers, &|ast, operands, is_after| match is_after {
                false => one_step(ast, layer, operands, hidden),
                true => stepped(ast, layer, operands),
            })
        };
        if let Some(united) = same(graph, rule, (written, results), before, step) {
            return Some(united);
        }
    }
    None
}

/// What is joined of states along the steps, with these and their size.
fn joined(graph: &Graph<'_>) -> Vec<(Id, Vec<Id>, i64)> {
    let mut joined = Vec::new();
    for class in classes_of(graph, "aten::cat", 2) {
        for node in &graph[class].nodes {
            let Term::Op(name, kids) = node else { continue };
            let is_outer = |dim: Id| matches!(graph[dim].data.kind.constant(), Some(Constant::Int(0)));
            let list = (name.as_str() == "aten::cat" && is_outer(kids[1])).then_some(kids[0]);
            let items = list.and_then(|list| graph.items(list)).filter(|items| !items.is_empty());
            let Some(items) = items else { continue };
            let Some(state) = graph[items[0]].data.kind.tensor() else { continue };
            let sizes: Vec<Option<i64>> = state.sizes.iter().map(|size| size.as_int()).collect();
            if let [Some(1), _, Some(hidden)] = sizes[..] {
                joined.push((class, items, hidden));
            }
        }
    }
    joined
}

/// Makes a layer that is written out one call; gives how many results are those of the call now.
fn unite(
    graph: &mut Graph<'_>,
    layer: &Layer,
    (class, items): (Id, &[Id]),
    hidden: i64,
    is_reversed: bool,
) -> Option<usize> {
    let steps = items.len() as i64;
    let place = |step: i64| (if is_reversed { steps - 1 - step } else { step }) as usize;
    let shape_of_all = Shape { steps, hidden, is_reversed };
    let (mut ast, variables) = Ast::operands(layer);
    let one_step = Shape { steps: 1, ..shape_of_all };
    let state = written_out(&mut ast, layer, &variables, one_step, &mut |_, _, _| true)?[1];
    let first_step = Pattern::<Term>::new(ast.up_to(state));
    // Terms of another try may be there.
    if !graph.clean {
        graph.rebuild();
    }
    let found = first_step.search_eclass(graph, items[place(0)])?;
    for subst in found.substs {
        let operands = Operands::of(layer, &subst);
        let fits = shape(graph, layer, &operands, is_reversed).is_some_and(|s| (s.steps, s.hidden) == (steps, hidden));
        let Some(has_biases) = has_biases(graph, &operands).filter(|_| fits && !graph.analysis.fuel.is_out()) else {
            continue;
        };
        let before = graph.nodes().len();
        let mut is_one = |graph: &Graph<'_>, step: i64, state: Id| graph.find(state) == graph.find(items[place(step)]);
        let Some(written) = written_out(graph, layer, &operands, shape_of_all, &mut is_one) else { continue };
        if graph.find(written[0]) != graph.find(class) {
            continue;
        }
        let Some(results) = rolled(graph, layer, &operands, has_biases, is_reversed) else { continue };
        let step = |graph: &Graph<'_>, numbers: &[usize]| {
            logged(graph, layer, (class, &subst), numbers, &|ast, operands, is_after| match is_after {
                false => written_out(ast, layer, operands, shape_of_all, &mut |_, _, _| true),
                true => rolled(ast, layer, operands, has_biases, is_reversed),
            })
        };
        if let Some(united) = same(graph, layer.rule, (written, results), before, step) {
            return Some(united);
        }
    }
    None
}

/// Unites results that are written out with those of a call, where they have the same type; gives how many. The terms
/// from `before` on were made for it.
pub(super) fn same(
    graph: &mut Graph<'_>,
    rule: &str,
    (written, results): (Vec<Id>, Vec<Id>),
    before: usize,
    step: impl FnOnce(&Graph<'_>, &[usize]) -> Option<Step>,
) -> Option<usize> {
    let pairs: Vec<(usize, Id, Id)> = (0..).zip(written).zip(results).map(|((i, a), b)| (i, a, b)).collect();
    let fits = |(_, a, b): &(usize, Id, Id)| {
        let (a, b) = (&graph[*a].data, &graph[*b].data);
        a.is_certain && b.is_certain && b.is_like(&graph.analysis.types.env, a)
    };
    let pairs: Vec<(usize, Id, Id)> = pairs.into_iter().filter(fits).collect();
    let is_new = pairs.first().is_some_and(|(i, a, b)| *i == 0 && graph.find(*a) != graph.find(*b));
    if !is_new || !graph.analysis.fuel.allows_one() {
        return None;
    }
    let made = before..graph.nodes().len();
    let step = graph.analysis.log.is_some().then(|| {
        let numbers: Vec<usize> = pairs.iter().map(|(number, ..)| *number).collect();
        step(graph, &numbers)
    });
    let name = Symbol::from(rule);
    let united = pairs.iter().filter(|(_, a, b)| graph.union_trusted(*a, *b, name)).count();
    graph.analysis.fuel.count(name);
    let log = graph.analysis.log.iter_mut().zip(step.flatten());
    log.for_each(|(log, step)| log.push(Applied { name, step, made: made.clone() }));
    Some(united)
}

/// What was done, for a proof: results before and after, written over a layer's operands.
fn logged(
    graph: &Graph<'_>,
    layer: &Layer,
    (class, subst): (Id, &Subst),
    results: &[usize],
    write: &dyn Fn(&mut Ast, &Operands<Id>, bool) -> Option<Vec<Id>>,
) -> Option<Step> {
    let of_first = |var: Var| subst.get(var).map(|id| (var, first(graph, *id)));
    let variables: HashMap<Var, Id> = names(layer).filter_map(of_first).collect();
    let side = |number: usize, is_after: bool| {
        let (mut ast, operands) = Ast::operands(layer);
        let written = write(&mut ast, &operands, is_after)?;
        Some(ast.up_to(written[number]))
    };
    let pairs = results.iter().map(|&number| Some((side(number, false)?, side(number, true)?)));
    let pairs = pairs.collect::<Option<Vec<_>>>()?;
    let kids = names(layer).filter_map(|var| variables.get(&var).copied()).collect();
    Some(Step::Merge { parts: vec![Part { class: first(graph, class), kids }], pairs, variables })
}

/// The variables of a layer's operands.
fn names(layer: &Layer) -> impl Iterator<Item = Var> {
    let all = ["?x", "?h", "?wi", "?wh", "?bi", "?bh", "?c"];
    all.into_iter().take(5 + layer.states()).map(|name| name.parse().expect("law: it is a variable"))
}

impl Operands<Id> {
    fn of(layer: &Layer, subst: &Subst) -> Operands<Id> {
        Operands::in_order(&names(layer).map(|name| subst[name]).collect::<Vec<Id>>())
    }
}

impl Write for Ast {
    type Id = Id;

    fn constant(&mut self, constant: Constant) -> Id {
        self.term(Term::Const(constant))
    }
    fn list(&mut self, items: Vec<Id>) -> Id {
        self.term(Term::List(items.into()))
    }
    fn call(&mut self, op: &str, args: Vec<Id>) -> Option<Id> {
        Some(self.term(Term::Op(op.into(), args.into())))
    }
}

impl Ast {
    /// The operands of a layer as variables.
    fn operands(layer: &Layer) -> (Ast, Operands<Id>) {
        let mut ast = Ast::default();
        let all: Vec<Id> = names(layer).map(|name| ast.variable(name)).collect();
        (ast, Operands::in_order(&all))
    }
}
