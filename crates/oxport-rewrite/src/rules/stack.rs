//! Calls of recurrent layers that read one another, made one call: layers over layers, and both directions of one.
//!
//! ```text
//! y = cat([rnn(x, h[0:1], a)[0], flip(rnn(flip(x), h[1:2], b)[0])], 2)  =  rnn(x, h, [a, b], …, bidirectional)[0]
//! rnn(y, h[2:3], c)[0]                                                  =  rnn(x, h, [a, b, c], num_layers, …)[0]
//! ```
//!
//! As in `roll`, a rule over so many terms is a searcher of its own: it looks at calls of one layer and one direction,
//! follows them from the rows that the first one reads, writes them over the operands ([`layer_by_layer`]), and unites
//! what is the same class. Rows that are read with their first two dimensions exchanged are read as they are.
//!
//! Laws: a call depends on operands of its layers only, and never on its own results; its layers are outside of
//! training, without dropout; a result has the type of what it stands for, strides included.

use super::merge::Ast;
use super::recurrent::{FLIP, LAYERS, Layer, Stack, TURN, Way, layer_by_layer, stacked};
use super::roll::same;
use crate::applied::{Part, Step};
use crate::compute::sizes;
use crate::constant::Constant;
use crate::term::Term;
use crate::terms::Terms;
use crate::typing::{Graph, classes_of, first};
use egg::{Id, Var};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A call of one layer and one direction.
struct Single {
    class: Id,
    input: Id,
    states: Vec<Id>,
    parameters: Vec<Id>,
    has_biases: bool,
}

/// What reads the same rows, and what it gives: one direction, or both.
struct Level<'a> {
    directions: Vec<&'a Single>,
    rows: Id,
}

impl Level<'_> {
    fn input(&self) -> Id {
        self.directions[0].input
    }
}

/// Adds one call for calls over one another; gives how many results each rule united. Some rules are left out.
pub(crate) fn stack(graph: &mut Graph<'_>, without: &BTreeSet<String>) -> BTreeMap<String, usize> {
    let mut applied = BTreeMap::new();
    for layer in LAYERS.iter().filter(|layer| !without.contains(layer.stack)) {
        let singles = singles(graph, layer);
        if singles.is_empty() {
            continue;
        }
        let levels = levels(graph, &singles);
        for chain in chains(graph, &levels) {
            let united = unite(graph, layer, &chain).unwrap_or(0);
            if united > 0 {
                graph.rebuild();
                *applied.entry(layer.stack.to_string()).or_insert(0) += united;
            }
        }
    }
    graph.rebuild();
    applied
}

/// The arguments of the calls of an operator in a class.
fn calls<'a>(graph: &'a Graph<'_>, class: Id, op: &'a str) -> impl Iterator<Item = &'a [Id]> {
    graph[class].nodes.iter().filter_map(move |term| match term {
        Term::Op(name, kids) if name.as_str() == op => Some(&kids[..]),
        _ => None,
    })
}

fn is_constant(graph: &Graph<'_>, id: Id, expected: &Constant) -> bool {
    graph[id].data.kind.constant() == Some(expected)
}

fn is_ints(graph: &Graph<'_>, list: Id, expected: &[i64]) -> bool {
    graph[list].data.kind.ints().is_some_and(|ints| ints == expected)
}

/// The classes of a list.
fn items(graph: &Graph<'_>, list: Id) -> Option<Vec<Id>> {
    Some(graph.items(list)?.into_iter().map(|id| graph.find(id)).collect())
}

/// What a class is with its rows in reverse.
fn flipped(graph: &Graph<'_>, class: Id) -> Option<Id> {
    calls(graph, class, FLIP).find(|kids| is_ints(graph, kids[1], &[0])).map(|kids| graph.find(kids[0]))
}

/// What a class is with its first two dimensions exchanged.
fn turned(graph: &Graph<'_>, class: Id) -> Option<Id> {
    calls(graph, class, TURN).find(|kids| is_ints(graph, kids[1], &[1, 0, 2])).map(|kids| graph.find(kids[0]))
}

fn singles(graph: &Graph<'_>, layer: &Layer) -> Vec<Single> {
    let mut singles = Vec::new();
    for class in classes_of(graph, layer.op, 9) {
        for kids in calls(graph, class, layer.op) {
            let no = Constant::Bool(false);
            let plain = [(4, Constant::Int(1)), (5, Constant::Float(0)), (6, no.clone()), (7, no.clone()), (8, no)];
            let is_plain = plain.iter().all(|(at, expected)| is_constant(graph, kids[*at], expected));
            let Some(Constant::Bool(has_biases)) = graph[kids[3]].data.kind.constant() else { continue };
            let states = if layer.states() == 1 { Some(vec![graph.find(kids[1])]) } else { items(graph, kids[1]) };
            if let (true, Some(states), Some(parameters)) = (is_plain, states, items(graph, kids[2])) {
                let input = graph.find(kids[0]);
                singles.push(Single { class, input, states, parameters, has_biases: *has_biases });
            }
        }
    }
    singles
}

fn levels<'a>(graph: &Graph<'_>, singles: &'a [Single]) -> Vec<Level<'a>> {
    let mut of_rows: BTreeMap<Id, &Single> = BTreeMap::new();
    for class in classes_of(graph, "_operator::getitem", 2) {
        for kids in calls(graph, class, "_operator::getitem").filter(|k| is_constant(graph, k[1], &Constant::Int(0))) {
            let call = graph.find(kids[0]);
            of_rows.extend(singles.iter().find(|single| single.class == call).map(|single| (class, single)));
        }
    }
    let one = of_rows.iter().map(|(&rows, &single)| Level { directions: vec![single], rows });
    let both = classes_of(graph, "aten::cat", 2).into_iter().filter_map(|rows| {
        let kids = calls(graph, rows, "aten::cat").find(|kids| is_constant(graph, kids[1], &Constant::Int(2)))?;
        let [one, other] = items(graph, kids[0])?[..] else { return None };
        let (forward, reverse) = (*of_rows.get(&one)?, *of_rows.get(&flipped(graph, other)?)?);
        let is_one = flipped(graph, reverse.input) == Some(forward.input) && forward.has_biases == reverse.has_biases;
        is_one.then(|| Level { directions: vec![forward, reverse], rows })
    });
    one.chain(both).collect()
}

/// Levels, each of which reads the rows of the one before, from the first.
fn chains<'a>(graph: &Graph<'_>, levels: &'a [Level<'a>]) -> Vec<Vec<&'a Level<'a>>> {
    let is_like = |a: &Level<'_>, b: &Level<'_>| {
        let state =
            |level: &Level<'_>| graph[level.directions[0].states[0]].data.kind.tensor().map(|t| t.sizes.clone());
        a.directions.len() == b.directions.len()
            && a.directions[0].has_biases == b.directions[0].has_biases
            && state(a) == state(b)
    };
    let follows = |a: &Level<'_>, b: &Level<'_>| graph.find(a.rows) == b.input() && is_like(a, b);
    let begins = levels.iter().filter(|level| !levels.iter().any(|before| follows(before, level)));
    begins
        .map(|begin| {
            let mut chain = vec![begin];
            // Equal values may go in a circle.
            let next = |chain: &[&Level<'_>]| {
                let is_new = |level: &&Level<'_>| !chain.iter().any(|before| before.rows == level.rows);
                levels.iter().find(|level| follows(chain[chain.len() - 1], level) && is_new(level))
            };
            while let Some(level) = next(&chain) {
                chain.push(level);
            }
            chain
        })
        .collect()
}

/// What the states of layers are the rows of: one of several, or the one.
fn joined_state(graph: &Graph<'_>, states: &[Id]) -> Option<Id> {
    if let [one] = states {
        return Some(*one);
    }
    let is_row = |kids: &[Id], at: i64| {
        [0, at, at + 1, 1].iter().zip(&kids[1..]).all(|(&n, &id)| is_constant(graph, id, &Constant::Int(n)))
    };
    let mut wholes =
        calls(graph, states[0], "aten::slice.Tensor").filter(|kids| is_row(kids, 0)).map(|k| graph.find(k[0]));
    wholes.find(|&whole| {
        let is_of = |(&state, at): (&Id, i64)| {
            let mut slices = calls(graph, state, "aten::slice.Tensor");
            slices.any(|kids| graph.find(kids[0]) == whole && is_row(kids, at))
        };
        states.iter().zip(0..).all(is_of)
    })
}

/// Makes levels one call; gives how many results are those of the call now.
fn unite(graph: &mut Graph<'_>, layer: &Layer, chain: &[&Level<'_>]) -> Option<usize> {
    let (begin, end) = (chain.first()?, chain.last()?);
    let singles: Vec<&Single> = chain.iter().flat_map(|level| level.directions.iter().copied()).collect();
    let turned = turned(graph, begin.input());
    let way = Way {
        layers: chain.len() as i64,
        is_two_way: begin.directions.len() == 2,
        is_batch_first: turned.is_some(),
        has_biases: singles[0].has_biases,
    };
    if way.count() == 1 && !way.is_batch_first {
        return None;
    }
    let state = |number: usize| {
        let of_all = singles.iter().map(|single| single.states.get(number).copied());
        joined_state(graph, &of_all.collect::<Option<Vec<Id>>>()?)
    };
    let states = (0..layer.states()).map(state).collect::<Option<Vec<Id>>>()?;
    let parameters = singles.iter().map(|single| single.parameters.clone()).collect();
    let stack = Stack { input: turned.unwrap_or(begin.input()), states, parameters };
    let class = end.rows;
    let before = graph.nodes().len();
    let results = stacked(graph, layer, &stack, way)?;
    let sizes = sizes(graph, stack.states[0], results[1])?;
    let written = layer_by_layer(graph, layer, &stack, way, sizes)?;
    if graph.find(written[0]) != graph.find(class) {
        return None;
    }
    let step = |graph: &Graph<'_>, numbers: &[usize]| step(graph, layer, class, (&stack, sizes), way, numbers);
    same(graph, layer.stack, (written, results), before, step)
}

/// What was done, for a proof.
fn step(
    graph: &Graph<'_>,
    layer: &Layer,
    class: Id,
    (stack, sizes): (&Stack<Id>, Id),
    way: Way,
    results: &[usize],
) -> Option<Step> {
    let all: Vec<Id> = [&[stack.input], &stack.states[..], &stack.parameters.concat(), &[sizes]].concat();
    let variable = |number: usize| -> Var { format!("?{number}").parse().expect("law: it is a variable") };
    let operands = |ast: &mut Ast| {
        let all: Vec<Id> = (0..all.len()).map(|number| ast.variable(variable(number))).collect();
        let (states, parameters) = all[1..all.len() - 1].split_at(stack.states.len());
        let parameters = parameters.chunks(stack.parameters[0].len()).map(<[Id]>::to_vec).collect();
        (Stack { input: all[0], states: states.to_vec(), parameters }, all[all.len() - 1])
    };
    let mut pairs = Vec::new();
    for &number in results {
        let mut before = Ast::default();
        let (stack, sizes) = operands(&mut before);
        let written = layer_by_layer(&mut before, layer, &stack, way, sizes)?;
        let mut after = Ast::default();
        let (stack, _) = operands(&mut after);
        let called = stacked(&mut after, layer, &stack, way)?;
        pairs.push((before.up_to(written[number]), after.up_to(called[number])));
    }
    let kids: Vec<Id> = all.iter().map(|&id| first(graph, id)).collect();
    let variables: HashMap<Var, Id> = kids.iter().enumerate().map(|(number, &id)| (variable(number), id)).collect();
    Some(Step::Merge { parts: vec![Part { class: first(graph, class), kids }], pairs, variables })
}
