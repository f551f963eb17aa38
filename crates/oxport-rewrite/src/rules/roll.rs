//! Recurrent layers whose steps are written out, made one call again.
//!
//! A rule over so many terms has no pattern, so it is a searcher of its own: it looks at concatenations of states,
//! reads the operands from the first step, writes all steps over them ([`written_out`]), and unites what is the same
//! class.
//!
//! Laws: a call depends on operands of the first step only, and never on its own results; rolling rounds; a result has
//! the type of what it stands for, strides included.

use super::merge::Ast;
use super::recurrent::{LAYERS, Layer, Operands, Shape, Write, has_biases, rolled, shape, written_out};
use crate::applied::{Applied, Part, Step};
use crate::constant::Constant;
use crate::term::{Term, discriminant_of_op};
use crate::terms::Terms;
use crate::typing::{Graph, first};
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
    graph.rebuild();
    applied
}

/// What is joined of states along the steps, with these and their size.
fn joined(graph: &Graph<'_>) -> Vec<(Id, Vec<Id>, i64)> {
    let op = discriminant_of_op("aten::cat".into(), 2);
    let classes: BTreeSet<Id> = graph.classes_for_op(&op).into_iter().flatten().map(|id| graph.find(id)).collect();
    let mut joined = Vec::new();
    for class in classes {
        for node in &graph[class].nodes {
            let Term::Op(name, kids) = node else { continue };
            let is_outer = |dim: Id| matches!(graph[dim].data.kind.constant(), Some(Constant::Int(0)));
            let list = (name.as_str() == "aten::cat" && is_outer(kids[1])).then_some(kids[0]);
            let items = list.and_then(|list| graph.items(list)).filter(|items| items.len() > 1);
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
        let pairs: Vec<(usize, Id, Id)> = (0..).zip(written).zip(results).map(|((i, a), b)| (i, a, b)).collect();
        let fits = |(_, a, b): &(usize, Id, Id)| {
            let (a, b) = (&graph[*a].data, &graph[*b].data);
            a.is_certain && b.is_certain && b.is_like(&graph.analysis.types.env, a)
        };
        let pairs: Vec<(usize, Id, Id)> = pairs.into_iter().filter(fits).collect();
        let is_new = pairs.first().is_some_and(|(i, a, b)| *i == 0 && graph.find(*a) != graph.find(*b));
        if !is_new || !graph.analysis.fuel.allows_one() {
            continue;
        }
        let made = before..graph.nodes().len();
        let step = graph.analysis.log.is_some().then(|| {
            let numbers: Vec<usize> = pairs.iter().map(|(number, ..)| *number).collect();
            step(graph, layer, (class, &subst), &numbers, shape_of_all, has_biases)
        });
        let rule = Symbol::from(layer.rule);
        let united = pairs.iter().filter(|(_, a, b)| graph.union_trusted(*a, *b, rule)).count();
        graph.analysis.fuel.count(rule);
        let log = graph.analysis.log.iter_mut().zip(step.flatten());
        log.for_each(|(log, step)| log.push(Applied { name: rule, step, made: made.clone() }));
        return Some(united);
    }
    None
}

/// What was done, for a proof.
fn step(
    graph: &Graph<'_>,
    layer: &Layer,
    (class, subst): (Id, &Subst),
    results: &[usize],
    shape: Shape,
    has_biases: bool,
) -> Option<Step> {
    let of_first = |var: Var| subst.get(var).map(|id| (var, first(graph, *id)));
    let variables: HashMap<Var, Id> = names(layer).filter_map(of_first).collect();
    let mut pairs = Vec::new();
    for &number in results {
        let (mut before, operands) = Ast::operands(layer);
        let written = written_out(&mut before, layer, &operands, shape, &mut |_, _, _| true)?;
        let (mut after, operands) = Ast::operands(layer);
        let rolled = rolled(&mut after, layer, &operands, has_biases, shape.is_reversed)?;
        pairs.push((before.up_to(written[number]), after.up_to(rolled[number])));
    }
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
