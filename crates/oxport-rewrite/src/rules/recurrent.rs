//! Recurrent layers whose steps are written out, as PyTorch's decomposition leaves them, made one call again.
//!
//! ```text
//! X = linear(x, w_ih, b_ih);  h_t = cell(linear(h_(t−1), w_hh, b_hh), X[t])
//! cat([h_1, …, h_n])  →  rnn(x, h_0, [w_ih, w_hh, b_ih, b_hh], …)[0],  h_n  →  …[1]
//! ```
//!
//! The steps are said once ([`written_out`]), over any terms: the searcher reads the operands from the first step,
//! writes all steps over them, and compares; the checker of proofs writes them from the call.
//!
//! Laws: all steps have the same weights, begin with the state before them, and read the rows of one product in order
//! (or all in reverse); a call depends on operands of the first step only, and never on its own results; rolling
//! rounds; a result has the type of what it stands for, strides included.

use super::merge::Ast;
use crate::applied::{Applied, Part, Step};
use crate::constant::Constant;
use crate::kind::Kind;
use crate::term::{Term, discriminant_of_op};
use crate::terms::Terms;
use crate::typing::{Graph, first};
use egg::{Id, Pattern, Searcher, Subst, Symbol, Var};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// What a step does with the two products.
enum Cell {
    Lstm,
    Gru,
    /// This function of their sum.
    Plain(&'static str),
}

/// A recurrent operator, and its step.
pub(crate) struct Layer {
    pub op: &'static str,
    /// The name of its rule.
    pub rule: &'static str,
    /// The rows of a weight for each row of the state.
    gates: i64,
    cell: Cell,
}

impl Layer {
    /// How many states there are.
    pub fn states(&self) -> usize {
        if let Cell::Lstm = self.cell { 2 } else { 1 }
    }
}

pub(crate) const LAYERS: &[Layer] = &[
    Layer { op: "aten::lstm.input", rule: "roll-lstm", gates: 4, cell: Cell::Lstm },
    Layer { op: "aten::gru.input", rule: "roll-gru", gates: 3, cell: Cell::Gru },
    Layer { op: "aten::rnn_tanh.input", rule: "roll-rnn-tanh", gates: 1, cell: Cell::Plain("aten::tanh") },
    Layer { op: "aten::rnn_relu.input", rule: "roll-rnn-relu", gates: 1, cell: Cell::Plain("aten::relu") },
];

/// What a layer of one direction reads.
#[derive(Clone)]
pub(crate) struct Operands<I> {
    pub input: I,
    /// The states before the first step: one, or two of an LSTM.
    pub states: Vec<I>,
    /// Of the input and of the state.
    pub weights: [I; 2],
    /// Likewise; constants `None` where there are none.
    pub biases: [I; 2],
}

/// How its steps are written.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub steps: i64,
    /// The size of the state.
    pub hidden: i64,
    /// From the last row to the first.
    pub is_reversed: bool,
}

/// Where terms are written.
pub(crate) trait Write {
    type Id: Copy;
    fn constant(&mut self, constant: Constant) -> Self::Id;
    fn list(&mut self, items: Vec<Self::Id>) -> Self::Id;
    /// `None` if the call is ill-typed.
    fn call(&mut self, op: &str, args: Vec<Self::Id>) -> Option<Self::Id>;
    fn int(&mut self, n: i64) -> Self::Id {
        self.constant(Constant::Int(n))
    }
    fn sum(&mut self, a: Self::Id, b: Self::Id) -> Option<Self::Id> {
        let one = self.int(1);
        self.call("aten::add.Tensor", vec![a, b, one])
    }
    fn piece(&mut self, of: Self::Id, dim: i64, from: i64, to: i64) -> Option<Self::Id> {
        let args = [dim, from, to, 1].map(|n| self.int(n));
        self.call("aten::slice.Tensor", [&[of], &args[..]].concat())
    }
    fn flip(&mut self, of: Self::Id) -> Option<Self::Id> {
        let zero = self.int(0);
        let dims = self.list(vec![zero]);
        self.call("aten::flip", vec![of, dims])
    }
}

impl<T: Terms> Write for T {
    type Id = T::Id;

    fn constant(&mut self, constant: Constant) -> T::Id {
        Terms::constant(self, constant)
    }
    fn list(&mut self, items: Vec<T::Id>) -> T::Id {
        Terms::list(self, items)
    }
    fn call(&mut self, op: &str, args: Vec<T::Id>) -> Option<T::Id> {
        Terms::call(self, op, args)
    }
}

/// The results of a layer written out: the states after all steps joined, and those after the last one. `is_one` is
/// asked of the state after each step; nothing is written behind one for which it is false.
pub(crate) fn written_out<W: Write>(
    w: &mut W,
    layer: &Layer,
    operands: &Operands<W::Id>,
    shape: Shape,
    is_one: &mut dyn FnMut(&W, i64, W::Id) -> bool,
) -> Option<Vec<W::Id>> {
    let Operands { input, weights, biases, .. } = operands;
    let mut rows = w.call("aten::linear", vec![*input, weights[0], biases[0]])?;
    if shape.is_reversed {
        rows = w.flip(rows)?;
    }
    let mut states = operands.states.clone();
    let mut all = Vec::new();
    for step in 0..shape.steps {
        let row = w.piece(rows, 0, step, step + 1)?;
        let zero = w.int(0);
        let outer = w.list(vec![zero]);
        let row = w.call("aten::squeeze.dims", vec![row, outer])?;
        let product = w.call("aten::linear", vec![states[0], weights[1], biases[1]])?;
        states = after_step(w, layer, &states, (product, row), shape.hidden)?;
        if !is_one(w, step, states[0]) {
            return None;
        }
        all.push(states[0]);
    }
    if shape.is_reversed {
        all.reverse();
    }
    let (all, along) = (w.list(all), w.int(0));
    let all = w.call("aten::cat", vec![all, along])?;
    Some([&[all], &states[..]].concat())
}

/// The states after a step.
fn after_step<W: Write>(
    w: &mut W,
    layer: &Layer,
    states: &[W::Id],
    (product, row): (W::Id, W::Id),
    hidden: i64,
) -> Option<Vec<W::Id>> {
    let gate = |w: &mut W, of: W::Id, dim: i64, number: i64| w.piece(of, dim, number * hidden, (number + 1) * hidden);
    let of = |w: &mut W, function: &str, x: W::Id| w.call(function, vec![x]);
    let times = |w: &mut W, a: W::Id, b: W::Id| w.call("aten::mul.Tensor", vec![a, b]);
    match layer.cell {
        Cell::Plain(function) => {
            let sum = w.sum(product, row)?;
            Some(vec![of(w, function, sum)?])
        }
        Cell::Lstm => {
            let sum = w.sum(product, row)?;
            let mut gates = Vec::new();
            for (number, function) in (0..).zip(["aten::sigmoid", "aten::sigmoid", "aten::tanh", "aten::sigmoid"]) {
                let gate = gate(w, sum, 2, number)?;
                gates.push(of(w, function, gate)?);
            }
            let kept = times(w, gates[1], states[1])?;
            let new = times(w, gates[0], gates[2])?;
            let cell = w.sum(kept, new)?;
            let bounded = of(w, "aten::tanh", cell)?;
            Some(vec![times(w, gates[3], bounded)?, cell])
        }
        Cell::Gru => {
            let mut gates = Vec::new();
            for number in 0..2 {
                let (of_state, of_row) = (gate(w, product, 2, number)?, gate(w, row, 1, number)?);
                let sum = w.sum(of_state, of_row)?;
                gates.push(of(w, "aten::sigmoid", sum)?);
            }
            let (of_row, of_state) = (gate(w, row, 1, 2)?, gate(w, product, 2, 2)?);
            let kept = times(w, of_state, gates[0])?;
            let sum = w.sum(of_row, kept)?;
            let new = of(w, "aten::tanh", sum)?;
            let one = w.int(1);
            let difference = w.call("aten::sub.Tensor", vec![states[0], new, one])?;
            let kept = times(w, difference, gates[1])?;
            Some(vec![w.sum(kept, new)?])
        }
    }
}

/// The results of the call of a layer, as those of [`written_out`].
pub(crate) fn rolled<W: Write>(
    w: &mut W,
    layer: &Layer,
    operands: &Operands<W::Id>,
    has_biases: bool,
    is_reversed: bool,
) -> Option<Vec<W::Id>> {
    let Operands { input, states, weights, biases } = operands;
    let input = if is_reversed { w.flip(*input)? } else { *input };
    let state = if let [one] = states[..] { one } else { w.list(states.clone()) };
    let biases = if has_biases { &biases[..] } else { &[] };
    let weights = w.list([weights, biases].concat());
    let (one, none, no) = (w.int(1), w.constant(Constant::Float(0)), w.constant(Constant::Bool(false)));
    let biased = w.constant(Constant::Bool(has_biases));
    let call = w.call(layer.op, vec![input, state, weights, biased, one, none, no, no, no])?;
    let mut results = Vec::new();
    for number in 0..=states.len() as i64 {
        let number = w.int(number);
        results.push(w.call("_operator::getitem", vec![call, number])?);
    }
    if is_reversed {
        results[0] = w.flip(results[0])?;
    }
    Some(results)
}

/// The size of the state, if a weight and the rows of states are of a layer's.
pub(crate) fn shape<T: Terms>(
    terms: &T,
    layer: &Layer,
    operands: &Operands<T::Id>,
    is_reversed: bool,
) -> Option<Shape> {
    let sizes = |id: T::Id| terms.kind(id).tensor().map(|t| t.sizes.clone());
    let (input, weight) = (sizes(operands.input)?, sizes(operands.weights[1])?);
    let [rows, hidden] = weight[..].iter().map(|size| size.as_int()).collect::<Option<Vec<_>>>()?[..] else {
        return None;
    };
    let is_shape = input.len() == 3 && hidden > 0 && rows == layer.gates * hidden;
    is_shape.then_some(Shape { steps: input[0].as_int()?, hidden, is_reversed })
}

/// Whether there are biases; `None` if there is one of two.
pub(crate) fn has_biases<T: Terms>(terms: &T, operands: &Operands<T::Id>) -> Option<bool> {
    let is_none = |id: &T::Id| matches!(terms.kind(*id), Kind::Const(Constant::None));
    match [is_none(&operands.biases[0]), is_none(&operands.biases[1])] {
        [false, false] => Some(true),
        [true, true] => Some(false),
        _ => None,
    }
}

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

impl<I: Copy> Operands<I> {
    /// In the order of [`names`].
    fn in_order(all: &[I]) -> Operands<I> {
        let states = [&all[1..2], &all[6..]].concat();
        Operands { input: all[0], states, weights: [all[2], all[3]], biases: [all[4], all[5]] }
    }
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
