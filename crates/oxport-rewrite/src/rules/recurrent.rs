//! Recurrent layers, and how PyTorch's decomposition writes their steps out.
//!
//! ```text
//! X = linear(x, w_ih, b_ih);  h_t = cell(linear(h_(t−1), w_hh, b_hh), X[t])
//! cat([h_1, …, h_n])  =  rnn(x, h_0, [w_ih, w_hh, b_ih, b_hh], …)[0],  h_n  =  …[1]
//! ```
//!
//! The steps are said once ([`written_out`]), over any terms: `roll` reads the operands from the first step, writes all
//! steps over them, and compares; the checker of proofs writes them from the call. Likewise layers over one another, of
//! one or two directions, are said once ([`layer_by_layer`]) as calls of one layer and one direction, for `stack`.
//!
//! Laws: all steps have the same weights, begin with the state before them, and read the rows of one product in order,
//! or all in reverse; all layers of a call are of one size, and the states are those of layers and directions in order.

use crate::constant::Constant;
use crate::kind::Kind;
use crate::terms::Terms;

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
    /// That of its rule for calls over one another.
    pub stack: &'static str,
    /// Its operator of one step, and the name of that rule.
    pub step: Option<(&'static str, &'static str)>,
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

impl Layer {
    /// The names of its rules.
    pub fn rules(&self) -> impl Iterator<Item = &'static str> {
        [self.rule, self.stack].into_iter().chain(self.step.map(|(_, rule)| rule))
    }
    /// What one of its rules looks for, for a message.
    pub fn expected(&self, rule: &str) -> Option<&'static str> {
        match self.rules().position(|name| name == rule)? {
            0 => Some("the steps of one layer over the same weights, in order"),
            1 => Some("layers that read one another, over parts of one state"),
            _ => Some("one step"),
        }
    }
}

pub(crate) const LAYERS: &[Layer] = &[
    Layer {
        op: "aten::lstm.input",
        rule: "roll-lstm",
        stack: "stack-lstm",
        step: Some(("aten::lstm_cell", "lstm-cell")),
        gates: 4,
        cell: Cell::Lstm,
    },
    Layer {
        op: "aten::gru.input",
        rule: "roll-gru",
        stack: "stack-gru",
        step: Some(("aten::gru_cell", "gru-cell")),
        gates: 3,
        cell: Cell::Gru,
    },
    Layer {
        op: "aten::rnn_tanh.input",
        rule: "roll-rnn-tanh",
        stack: "stack-rnn-tanh",
        step: None,
        gates: 1,
        cell: Cell::Plain("aten::tanh"),
    },
    Layer {
        op: "aten::rnn_relu.input",
        rule: "roll-rnn-relu",
        stack: "stack-rnn-relu",
        step: None,
        gates: 1,
        cell: Cell::Plain("aten::relu"),
    },
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

impl<I: Copy> Operands<I> {
    /// From the input, a state, the weights, the biases, and the second state of an LSTM.
    pub fn in_order(all: &[I]) -> Operands<I> {
        let states = [&all[1..2], &all[6..]].concat();
        Operands { input: all[0], states, weights: [all[2], all[3]], biases: [all[4], all[5]] }
    }

    /// With two weights, or two weights and two biases.
    pub fn of_parameters(input: I, states: Vec<I>, parameters: &[I], none: I) -> Option<Operands<I>> {
        let (weights, biases) = match *parameters {
            [a, b] => ([a, b], [none, none]),
            [a, b, c, d] => ([a, b], [c, d]),
            _ => return None,
        };
        Some(Operands { input, states, weights, biases })
    }

    /// The weights, and the biases if there are any.
    pub fn parameters(&self, has_biases: bool) -> Vec<I> {
        let biases = if has_biases { &self.biases[..] } else { &[] };
        [&self.weights, biases].concat()
    }
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

/// What puts rows in reverse, and what exchanges their first two dimensions.
pub(crate) const FLIP: &str = "aten::flip";
pub(crate) const TURN: &str = "aten::permute";

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
        self.call(FLIP, vec![of, dims])
    }
    /// The first two dimensions exchanged.
    fn turn(&mut self, of: Self::Id) -> Option<Self::Id> {
        let order = [1, 0, 2].map(|d| self.int(d));
        let order = self.list(order.to_vec());
        self.call(TURN, vec![of, order])
    }
    fn join(&mut self, all: Vec<Self::Id>, dim: i64) -> Option<Self::Id> {
        let (all, dim) = (self.list(all), self.int(dim));
        self.call("aten::cat", vec![all, dim])
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
        states = after_step(w, layer, &states, ((product, 2), (row, 1)), shape.hidden)?;
        if !is_one(w, step, states[0]) {
            return None;
        }
        all.push(states[0]);
    }
    if shape.is_reversed {
        all.reverse();
    }
    Some([&[w.join(all, 0)?], &states[..]].concat())
}

/// The states after one step by itself, of rows and states of two dimensions.
pub(crate) fn one_step<W: Write>(
    w: &mut W,
    layer: &Layer,
    operands: &Operands<W::Id>,
    hidden: i64,
) -> Option<Vec<W::Id>> {
    let Operands { input, states, weights, biases } = operands;
    let product = w.call("aten::linear", vec![states[0], weights[1], biases[1]])?;
    let row = w.call("aten::linear", vec![*input, weights[0], biases[0]])?;
    after_step(w, layer, states, ((product, 1), (row, 1)), hidden)
}

/// The results of the operator of one step, as those of [`one_step`].
pub(crate) fn stepped<W: Write>(w: &mut W, layer: &Layer, operands: &Operands<W::Id>) -> Option<Vec<W::Id>> {
    let Operands { input, states, weights, biases } = operands;
    let (op, _) = layer.step?;
    let state = if let [one] = states[..] { one } else { w.list(states.clone()) };
    let call = w.call(op, vec![*input, state, weights[0], weights[1], biases[0], biases[1]])?;
    if states.len() == 1 {
        return Some(vec![call]);
    }
    let results = (0..states.len() as i64).map(|number| {
        let number = w.int(number);
        w.call("_operator::getitem", vec![call, number])
    });
    results.collect()
}

/// The states after a step, of two products, each with the dimension along which its gates lie.
fn after_step<W: Write>(
    w: &mut W,
    layer: &Layer,
    states: &[W::Id],
    ((product, along), (row, along_row)): ((W::Id, i64), (W::Id, i64)),
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
                let gate = gate(w, sum, along, number)?;
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
                let (of_state, of_row) = (gate(w, product, along, number)?, gate(w, row, along_row, number)?);
                let sum = w.sum(of_state, of_row)?;
                gates.push(of(w, "aten::sigmoid", sum)?);
            }
            let (of_row, of_state) = (gate(w, row, along_row, 2)?, gate(w, product, along, 2)?);
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
    let Operands { input, states, .. } = operands;
    let input = if is_reversed { w.flip(*input)? } else { *input };
    let way = Way { layers: 1, is_two_way: false, is_batch_first: false, has_biases };
    let mut results = called(w, layer, input, states, operands.parameters(has_biases), way)?;
    if is_reversed {
        results[0] = w.flip(results[0])?;
    }
    Some(results)
}

/// What a call says beside its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Way {
    pub layers: i64,
    /// Each layer reads the rows in order and in reverse.
    pub is_two_way: bool,
    /// The first two dimensions of rows are exchanged.
    pub is_batch_first: bool,
    pub has_biases: bool,
}

impl Way {
    /// The layers, each direction by itself.
    pub fn count(self) -> i64 {
        self.layers * if self.is_two_way { 2 } else { 1 }
    }
}

/// The results of a call outside of training.
fn called<W: Write>(
    w: &mut W,
    layer: &Layer,
    input: W::Id,
    states: &[W::Id],
    parameters: Vec<W::Id>,
    way: Way,
) -> Option<Vec<W::Id>> {
    let state = if let [one] = states[..] { one } else { w.list(states.to_vec()) };
    let parameters = w.list(parameters);
    let (layers, none) = (w.int(way.layers), w.constant(Constant::Float(0)));
    let [biased, trains, two_way, batch_first] =
        [way.has_biases, false, way.is_two_way, way.is_batch_first].map(|is| w.constant(Constant::Bool(is)));
    let args = vec![input, state, parameters, biased, layers, none, trains, two_way, batch_first];
    let call = w.call(layer.op, args)?;
    let mut results = Vec::new();
    for number in 0..=states.len() as i64 {
        let number = w.int(number);
        results.push(w.call("_operator::getitem", vec![call, number])?);
    }
    Some(results)
}

/// What layers over one another read.
#[derive(Clone)]
pub(crate) struct Stack<I> {
    pub input: I,
    /// The states before the first step of all layers, joined: one, or two of an LSTM.
    pub states: Vec<I>,
    /// The weights of the input and of the state of each layer and direction, and the biases likewise, if there are.
    pub parameters: Vec<Vec<I>>,
}

/// The results of a call of several layers, as those of [`layer_by_layer`].
pub(crate) fn stacked<W: Write>(w: &mut W, layer: &Layer, stack: &Stack<W::Id>, way: Way) -> Option<Vec<W::Id>> {
    let mut results = called(w, layer, stack.input, &stack.states, stack.parameters.concat(), way)?;
    if way.is_batch_first {
        results[0] = w.turn(results[0])?;
    }
    Some(results)
}

/// The results of a call of several layers as those of calls of one layer and one direction: the states after all
/// steps, and those after the last one, of all layers in order, in these sizes.
pub(crate) fn layer_by_layer<W: Write>(
    w: &mut W,
    layer: &Layer,
    stack: &Stack<W::Id>,
    way: Way,
    sizes: W::Id,
) -> Option<Vec<W::Id>> {
    let mut rows = if way.is_batch_first { w.turn(stack.input)? } else { stack.input };
    let mut last: Vec<Vec<W::Id>> = vec![Vec::new(); stack.states.len()];
    let directions: &[bool] = if way.is_two_way { &[false, true] } else { &[false] };
    let none = w.constant(Constant::None);
    for (at, of_level) in (0..).step_by(directions.len()).zip(stack.parameters.chunks(directions.len())) {
        let mut all = Vec::new();
        for (at, (parameters, &is_reversed)) in (at..).zip(of_level.iter().zip(directions)) {
            let mut states = Vec::new();
            for &state in &stack.states {
                states.push(if way.count() == 1 { state } else { w.piece(state, 0, at, at + 1)? });
            }
            let operands = Operands::of_parameters(rows, states, parameters, none)?;
            let results = rolled(w, layer, &operands, way.has_biases, is_reversed)?;
            all.push(results[0]);
            last.iter_mut().zip(&results[1..]).for_each(|(last, &state)| last.push(state));
        }
        rows = if let [one] = all[..] { one } else { w.join(all, 2)? };
    }
    let mut results = vec![rows];
    for states in last {
        results.push(if let [one] = states[..] { one } else { joined(w, states, sizes)? });
    }
    Some(results)
}

/// States of layers as PyTorch's decomposition stacks them.
fn joined<W: Write>(w: &mut W, states: Vec<W::Id>, sizes: W::Id) -> Option<W::Id> {
    let zero = w.int(0);
    let outer = w.list(vec![zero]);
    let states = states.into_iter().map(|state| w.call("aten::squeeze.dims", vec![state, outer]));
    let states = states.collect::<Option<Vec<_>>>()?;
    let all = w.join(states, 0)?;
    w.call("aten::reshape", vec![all, sizes])
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
