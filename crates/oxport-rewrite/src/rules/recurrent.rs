//! Recurrent layers, and how PyTorch's decomposition writes their steps out.
//!
//! ```text
//! X = linear(x, w_ih, b_ih);  h_t = cell(linear(h_(t−1), w_hh, b_hh), X[t])
//! cat([h_1, …, h_n])  =  rnn(x, h_0, [w_ih, w_hh, b_ih, b_hh], …)[0],  h_n  =  …[1]
//! ```
//!
//! The steps are said once ([`written_out`]), over any terms: `roll` reads the operands from the first step, writes all
//! steps over them, and compares; the checker of proofs writes them from the call.
//!
//! Law: all steps have the same weights, begin with the state before them, and read the rows of one product in order,
//! or all in reverse.

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

impl<I: Copy> Operands<I> {
    /// From the input, a state, the weights, the biases, and the second state of an LSTM.
    pub fn in_order(all: &[I]) -> Operands<I> {
        let states = [&all[1..2], &all[6..]].concat();
        Operands { input: all[0], states, weights: [all[2], all[3]], biases: [all[4], all[5]] }
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
