//! Recurrent layers and cells.

use super::init;
use crate::{Forward, Mode, Module, Parameter, Tensor, Value, Visitor};
use oxport_tensor::DType;
use std::marker::PhantomData;

/// What differs between recurrent layers: the operator, the class, how many gates there are, and how many states.
pub trait Gates {
    /// The operator of a whole sequence.
    const SEQUENCE: &'static str;
    /// The operator of one step.
    const STEP: &'static str;
    /// PyTorch's class.
    const CLASS: &'static str;
    /// How many gates there are.
    const GATES: i64;
    /// How many states there are.
    const STATES: usize;
}

/// The gates of an [`LSTM`].
#[derive(Clone, Debug)]
pub enum Lstm {}
/// The gates of a [`GRU`].
#[derive(Clone, Debug)]
pub enum Gru {}
/// The one gate of an [`RNN`].
#[derive(Clone, Debug)]
pub enum Tanh {}
/// The one gate of a [`ReluRNN`].
#[derive(Clone, Debug)]
pub enum Relu {}

macro_rules! gates {
    ($($t:ident $sequence:literal $step:literal $class:literal $gates:literal $states:literal;)*) => {$(
        impl Gates for $t {
            const SEQUENCE: &'static str = $sequence;
            const STEP: &'static str = $step;
            const CLASS: &'static str = $class;
            const GATES: i64 = $gates;
            const STATES: usize = $states;
        }
    )*};
}
gates! {
    Lstm "lstm.input" "lstm_cell" "LSTM" 4 2;
    Gru "gru.input" "gru_cell" "GRU" 3 1;
    Tanh "rnn_tanh.input" "rnn_tanh_cell" "RNN" 1 1;
    Relu "rnn_relu.input" "rnn_relu_cell" "RNN" 1 1;
}

/// `torch.nn.LSTM`
pub type LSTM = Recurrent<Lstm>;
/// `torch.nn.GRU`
pub type GRU = Recurrent<Gru>;
/// `torch.nn.RNN`
pub type RNN = Recurrent<Tanh>;
/// `torch.nn.RNN` with `nonlinearity='relu'`
pub type ReluRNN = Recurrent<Relu>;
/// `torch.nn.RNNCell`
pub type RNNCell = Cell<Tanh>;
/// `torch.nn.RNNCell` with `nonlinearity='relu'`
pub type ReluRNNCell = Cell<Relu>;
/// `torch.nn.LSTMCell`
pub type LSTMCell = Cell<Lstm>;
/// `torch.nn.GRUCell`
pub type GRUCell = Cell<Gru>;

/// A recurrent layer over whole sequences; its options are public, and may be set before use where no weight depends
/// on them.
#[derive(Clone, Debug)]
pub struct Recurrent<G> {
    weights: Vec<(String, Parameter)>,
    hidden: i64,
    layers: i64,
    is_bidirectional: bool,
    /// Whether the batch is the first dimension.
    pub batch_first: bool,
    /// The dropout between layers.
    pub dropout: f64,
    mode: Mode,
    gates: PhantomData<G>,
}

impl<G: Gates> Recurrent<G> {
    /// One layer in one direction.
    pub fn new(inputs: i64, hidden: i64) -> Recurrent<G> {
        Recurrent::stacked(inputs, hidden, 1, false)
    }
    /// So many layers, in one direction or both.
    pub fn stacked(inputs: i64, hidden: i64, layers: i64, is_bidirectional: bool) -> Recurrent<G> {
        let bound = if hidden > 0 { 1.0 / (hidden as f64).sqrt() } else { 0.0 };
        let draw = |sizes: &[i64]| Parameter::new(init::uniform(sizes, -bound, bound));
        let directions = if is_bidirectional { 2 } else { 1 };
        let (rows, mut weights) = (G::GATES * hidden, Vec::new());
        for layer in 0..layers {
            let width = if layer == 0 { inputs } else { hidden * directions };
            for suffix in ["", "_reverse"].iter().take(directions as usize) {
                let name = |what: &str| format!("{what}_l{layer}{suffix}");
                weights.push((name("weight_ih"), draw(&[rows, width])));
                weights.push((name("weight_hh"), draw(&[rows, hidden])));
                weights.push((name("bias_ih"), draw(&[rows])));
                weights.push((name("bias_hh"), draw(&[rows])));
            }
        }
        let (mode, gates) = (Mode::default(), PhantomData);
        Recurrent { weights, hidden, layers, is_bidirectional, batch_first: false, dropout: 0.0, mode, gates }
    }
    /// With the batch as the first dimension.
    pub fn batch_first(self) -> Recurrent<G> {
        Recurrent { batch_first: true, ..self }
    }
}

impl<G: Gates> Module for Recurrent<G> {
    fn visit(&self, visitor: &mut dyn Visitor) {
        self.weights.iter().for_each(|(name, weight)| visitor.parameter(name, weight));
        visitor.mode(&self.mode);
    }
    fn class(&self) -> String {
        format!("torch.nn.modules.rnn.{}", G::CLASS)
    }
}

/// From a state of zeros: the outputs of all steps, and the last states.
impl<G: Gates> Forward<&Tensor> for Recurrent<G> {
    type Output = (Tensor, Vec<Tensor>);
    fn forward(&self, x: &Tensor) -> (Tensor, Vec<Tensor>) {
        let directions = if self.is_bidirectional { 2 } else { 1 };
        let batch = x.size(if self.batch_first { 0 } else { 1 });
        let zeros = |_| {
            let sizes: Vec<Value> = vec![(self.layers * directions).into(), (&batch).into(), self.hidden.into()];
            x.tracer().make("zeros", &[Value::List(sizes)], &[("dtype", x.dtype().into())])
        };
        // An LSTM makes one tensor of zeros for each of its states.
        let states: Vec<Tensor> = (0..G::STATES).map(zeros).collect();
        self.forward((x, &states[..]))
    }
}

/// From these states.
impl<G: Gates> Forward<(&Tensor, &[Tensor])> for Recurrent<G> {
    type Output = (Tensor, Vec<Tensor>);
    fn forward(&self, (x, states): (&Tensor, &[Tensor])) -> (Tensor, Vec<Tensor>) {
        let hx: Value = match states {
            [one] if G::STATES == 1 => one.into(),
            all => all.into(),
        };
        let weights: Vec<Tensor> = self.weights.iter().map(|(_, weight)| weight.get()).collect();
        let rest = [
            hx,
            weights.into(),
            true.into(),
            self.layers.into(),
            self.dropout.into(),
            self.mode.is_training().into(),
            self.is_bidirectional.into(),
            self.batch_first.into(),
        ];
        let mut all = x.call_all(G::SEQUENCE, &rest, &[]).into_iter();
        let outputs = all.next().unwrap_or_else(|| x.tracer.void());
        (outputs, all.collect())
    }
}

/// One step of a recurrent layer.
#[derive(Clone, Debug)]
pub struct Cell<G> {
    weights: [Parameter; 4],
    hidden: i64,
    gates: PhantomData<G>,
}

impl<G: Gates> Cell<G> {
    /// From so many inputs to such a state.
    pub fn new(inputs: i64, hidden: i64) -> Cell<G> {
        let bound = if hidden > 0 { 1.0 / (hidden as f64).sqrt() } else { 0.0 };
        let rows = G::GATES * hidden;
        let sizes: [&[i64]; 4] = [&[rows, inputs], &[rows, hidden], &[rows], &[rows]];
        let weights = sizes.map(|sizes| Parameter::new(init::uniform(sizes, -bound, bound)));
        Cell { weights, hidden, gates: PhantomData }
    }
}

impl<G: Gates> Module for Cell<G> {
    fn visit(&self, visitor: &mut dyn Visitor) {
        let names = ["weight_ih", "weight_hh", "bias_ih", "bias_hh"];
        names.iter().zip(&self.weights).for_each(|(name, weight)| visitor.parameter(name, weight));
    }
    fn class(&self) -> String {
        format!("torch.nn.modules.rnn.{}Cell", G::CLASS)
    }
}

/// From these states, or from zeros where there are none: the next states.
impl<G: Gates> Forward<(&Tensor, &[Tensor])> for Cell<G> {
    type Output = Vec<Tensor>;
    fn forward(&self, (x, states): (&Tensor, &[Tensor])) -> Vec<Tensor> {
        let zeros = || {
            let sizes: Vec<Value> = vec![x.size(0).into(), self.hidden.into()];
            let dtype: DType = x.dtype();
            x.tracer().make("zeros", &[Value::List(sizes)], &[("dtype", dtype.into())])
        };
        let states = if states.is_empty() { vec![zeros(); G::STATES] } else { states.to_vec() };
        let hx: Value = match &states[..] {
            [one] if G::STATES == 1 => one.into(),
            all => all.into(),
        };
        let mut rest = vec![hx];
        rest.extend(self.weights.iter().map(|w| Value::from(w.get())));
        x.call_all(G::STEP, &rest, &[])
    }
}
