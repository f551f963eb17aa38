//! Recurrent layers and cells: LSTM, GRU and plain.
//!
//! ```text
//! x [T, B, I] → x·W_ihᵀ + b_ih for all steps in one product; then step by step gates = that + h·W_hhᵀ (+ b_hh)
//! ```
//!
//! Laws: layers run one after the other, the two directions of a layer are concatenated; packed input (`.data`) is the
//! same with a batch that shrinks from step to step; with `batch_first` the result is a transposed view of `[T, B, ·]`.

mod cell;

use crate::support::checks::{floating, fresh, of_dim, of_numel, same_dtype};
use crate::support::class::Fill;
use crate::support::dense::{Dense, computed, fill};
use crate::support::meta::{MetaArgs, Metas};
use cell::{Cell, Kind, Layer, Panels, Weights, run_layer, step, weight};
use oxport_ir::work::pass;
use oxport_ir::{Arg, Args, Class, Cost, Error, Fake, FromArg, Meta, OpDef, Real, Result, RunCx, Val, World, ensure};
use oxport_sym::Expr;
use oxport_tensor::{DType, Tensor, TensorMut, filled};

/// The operators of this family.
pub static OPS: &[OpDef] = &[
    layers(
        "aten::lstm.input(Tensor input, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, \
        float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor, Tensor)",
        |a, o| run(a, o, Kind::Lstm),
    )
    .samples(&[
        "f32[5, 2, 3], [f32[1, 2, 4], f32[1, 2, 4]], [f32[16, 3], f32[16, 4], f32[16], f32[16]], True, \
        1, 0.0, False, False, False",
        "f32[5, 0, 3], [f32[1, 0, 4], f32[1, 0, 4]], [f32[16, 3], f32[16, 4], f32[16], f32[16]], True, \
        1, 0.0, False, False, False",
        "!f32[5, 2, 3], [f32[1, 2, 4], f32[1, 1, 4]], [f32[16, 3], f32[16, 4], f32[16], f32[16]], True, \
        1, 0.0, False, False, False",
        "!f32[0, 2, 3], [f32[1, 2, 4], f32[1, 2, 4]], [f32[16, 3], f32[16, 4], f32[16], f32[16]], True, \
        1, 0.0, False, False, False",
        "!f32[5, 2, 3], [f32[1, 2, 0], f32[1, 2, 0]], [f32[0, 3], f32[0, 0], f32[0], f32[0]], True, 1, \
        0.0, False, False, False",
    ])
    .autocast_fake(lstm_fake),
    layers(
        "aten::lstm.data(Tensor data, Tensor batch_sizes, Tensor[] hx, Tensor[] params, bool has_biases, \
        int num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, Tensor, Tensor)",
        |a, o| run(a, o, Kind::Lstm),
    ),
    layers(
        "aten::gru.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, \
        float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)",
        |a, o| run(a, o, Kind::Gru),
    )
    .samples(&[
        "f32[2, 5, 3], f32[2, 2, 4], [f32[12, 3], f32[12, 4], f32[12, 3], f32[12, 4]], False, 1, 0.0, \
        False, True, True",
        "f32[0, 5, 3], f32[2, 0, 4], [f32[12, 3], f32[12, 4], f32[12, 3], f32[12, 4]], False, 1, 0.0, \
        False, True, True",
        "f32[2, 5, 3], f32[1, 2, 0], [f32[0, 3], f32[0, 0]], False, 1, 0.0, False, False, True",
    ]),
    layers(
        "aten::gru.data(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool has_biases, \
        int num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, Tensor)",
        |a, o| run(a, o, Kind::Gru),
    ),
    layers(
        "aten::rnn_tanh.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, \
        float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)",
        |a, o| run(a, o, Kind::Tanh),
    ),
    layers(
        "aten::rnn_tanh.data(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool \
        has_biases, int num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, Tensor)",
        |a, o| run(a, o, Kind::Tanh),
    ),
    layers(
        "aten::rnn_relu.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, \
        float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)",
        |a, o| run(a, o, Kind::Relu),
    ),
    layers(
        "aten::rnn_relu.data(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool \
        has_biases, int num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, Tensor)",
        |a, o| run(a, o, Kind::Relu),
    ),
    one_cell(
        "aten::lstm_cell(Tensor input, Tensor[] hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? \
        b_hh=None) -> (Tensor, Tensor)",
        |a, o| run_cell(a, o, Kind::Lstm),
    )
    .samples(&[
        "f32[2, 3], [f32[2, 4], f32[2, 4]], f32[16, 3], f32[16, 4], f32[16], f32[16]",
        "!f32[2, 3], [], f32[16, 3], f32[16, 4], f32[16], f32[16]",
        "!f32[2, 3], [f32[2, 4], f32[1, 4]], f32[16, 3], f32[16, 4], f32[16], f32[16]",
        "!f32[2, 3], [f32[2, 4], f32[2, 3]], f32[16, 3], f32[16, 4], f32[16], f32[16]",
    ]),
    one_cell(
        "aten::gru_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? \
        b_hh=None) -> Tensor",
        |a, o| run_cell(a, o, Kind::Gru),
    )
    .samples(&[
        "f32[2, 3], f32[2, 4], f32[12, 3], f32[12, 4]",
        "!f32[2, 3], f32[1, 4], f32[12, 3], f32[12, 4]",
        "!f32[3], f32[4], f32[12, 3], f32[12, 4]",
    ]),
    one_cell(
        "aten::rnn_tanh_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, \
        Tensor? b_hh=None) -> Tensor",
        |a, o| run_cell(a, o, Kind::Tanh),
    ),
    one_cell(
        "aten::rnn_relu_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, \
        Tensor? b_hh=None) -> Tensor",
        |a, o| run_cell(a, o, Kind::Relu),
    ),
    OpDef::new(
        "aten::mkldnn_rnn_layer(Tensor input, Tensor weight0, Tensor weight1, Tensor weight2, Tensor \
        weight3, Tensor hx_, Tensor cx_, bool reverse, int[] batch_sizes, int mode, int hidden_size, \
        int num_layers, bool has_biases, bool bidirectional, bool batch_first, bool train) -> (Tensor, \
        Tensor, Tensor, Tensor)",
        fused_meta,
    )
    .doc("One direction of one LSTM layer; the fourth result is a workspace.")
    .fill(fused)
    .cost(Class::Recurrence, cell_cost)
    .prepare(|args, _| Panels::of(args, &[args.at(1)?, args.at(2)?]))
    .samples(&[
        "f32[3, 1, 2], f32[12, 2], f32[12, 3], f32[12], f32[12], f32[1, 3], f32[1, 3], False, [], 2, 3, \
        1, True, False, False, False",
        "!f32[3, 1, 2], f32[12, 2], f32[12, 3], f32[12], f32[12], f32[1, 3], f32[1, 1], False, [], 2, 3, \
        1, True, False, False, False",
        "!f32[3, 2, 2], f32[12, 2], f32[12, 3], f32[12], f32[12], f32[1, 3], f32[1, 3], False, [], 2, 3, \
        1, True, False, False, False",
    ]),
];

const fn layers(schema: &'static str, kernel: Fill) -> OpDef {
    OpDef::new(schema, layers_meta)
        .doc("Recurrent layers over a sequence; gives the sequence and the last states.")
        .fill(kernel)
        .cost(Class::Recurrence, layers_cost)
        .prepare(|args, _| Panels::of(args, &args.named::<Vec<_>>("params")?))
        .random_if(&["dropout", "train"])
}
const fn one_cell(schema: &'static str, kernel: Fill) -> OpDef {
    OpDef::new(schema, cell_meta)
        .doc("One step of a recurrent layer.")
        .fill(kernel)
        .cost(Class::Recurrence, cell_cost)
        .prepare(|args, _| Panels::of(args, &[args.at(2)?, args.at(3)?]))
}

/// PyTorch's fake LSTM is a sequence of oneDNN layers, whose results have the dtypes of what they are given, or, with a
/// projection, of `linear`.
fn lstm_fake(args: &Args<'_, Meta>, low: DType) -> Result<Vec<DType>> {
    let s = spec(args)?;
    let dtypes = [s.x.dtype, s.states[0].dtype, s.states.last().map_or(low, |c| c.dtype)];
    Ok(if s.projected() { vec![low, low, DType::promote(low, dtypes[2]).unwrap_or(low)] } else { dtypes.to_vec() })
}

/// Every step multiplies its state or input by each matrix of weights.
fn layers_cost(args: &Args<'_, Meta>, outs: &[Val]) -> Cost {
    let cost = pass(args, outs);
    let count = |t: &Fake| args.cx.hint(&t.numel()).unwrap_or(1) as f64;
    let (Ok(x), Ok(weights)) = (args.at::<&Fake>(0), args.named::<Vec<&Fake>>("params")) else { return cost };
    let features = x.sizes.last().and_then(|n| args.cx.hint(n)).unwrap_or(1).max(1) as f64;
    let products: f64 = weights.into_iter().filter(|w| w.dim() == 2).map(count).sum();
    Cost { flops: cost.flops + 2.0 * products * count(x) / features, ..cost }
}

/// Every weight, a matrix among the arguments that share its rows, is multiplied with each row of what goes in.
fn cell_cost(args: &Args<'_, Meta>, outs: &[Val]) -> Cost {
    let cost = pass(args, outs);
    let hint = |e: &oxport_sym::Expr| args.cx.hint(e).unwrap_or(1).max(1) as f64;
    let Ok(x) = args.at::<&Fake>(0) else { return cost };
    let rows = hint(&x.numel()) / x.sizes.last().map_or(1.0, hint);
    let weights = args.values[1..].iter().filter_map(|a| match a {
        oxport_ir::Arg::Tensor(w) if w.dim() == 2 => Some(hint(&w.numel())),
        _ => None,
    });
    Cost { flops: cost.flops + 2.0 * rows * weights.sum::<f64>(), ..cost }
}

/// What the layered forms have in common.
struct Spec<'a, T> {
    x: &'a T,
    batch_sizes: Option<&'a T>,
    /// `h`, and `c` of an LSTM.
    states: Vec<&'a T>,
    params: Vec<&'a T>,
    biases: bool,
    layers: usize,
    directions: usize,
    batch_first: bool,
    /// The probability that an element between two layers is dropped.
    dropout: f64,
}

impl<T> Spec<'_, T> {
    /// Parameters of one direction of one layer.
    fn per_direction(&self) -> usize {
        let all = self.layers.saturating_mul(self.directions);
        self.params.len().checked_div(all).unwrap_or(0)
    }
    /// True if an LSTM projects its output: then there is one more weight.
    fn projected(&self) -> bool {
        self.per_direction() % 2 == 1
    }
}

fn spec<'a, W: World>(args: &Args<'a, W>) -> Result<Spec<'a, W::Tensor>>
where
    &'a W::Tensor: FromArg<'a, W>,
{
    let batch_sizes = args.op.schema().and_then(|s| s.arg("batch_sizes"));
    let (states, is_lstm) = states(args)?;
    let layers: i64 = args.named("num_layers")?;
    let (dropout, train): (f64, bool) = (args.named("dropout")?, args.named("train")?);
    let two: bool = args.named("bidirectional")?;
    let s = Spec {
        x: args.at(0)?,
        batch_sizes: batch_sizes.map(|(i, _)| args.at(i)).transpose()?,
        states,
        params: args.named("params")?,
        biases: args.named("has_biases")?,
        layers: layers.max(0) as usize,
        directions: if two { 2 } else { 1 },
        batch_first: batch_sizes.is_none() && args.named("batch_first")?,
        dropout: if train && layers > 1 { dropout } else { 0.0 },
    };
    ensure!((0.0..=1.0).contains(&s.dropout), "dropout probability has to be between 0 and 1, but got {dropout}");
    let least = if s.biases { 4 } else { 2 };
    let count = s.per_direction();
    let fits = count.checked_mul(s.layers).and_then(|n| n.checked_mul(s.directions)) == Some(s.params.len())
        && (count == least || is_lstm && count == least + 1);
    ensure!(s.layers > 0 && fits, "{}: {} parameters for {} layers", args.name(), s.params.len(), s.layers);
    ensure!(s.states.len() == if is_lstm { 2 } else { 1 }, "{}: {} states", args.name(), s.states.len());
    Ok(s)
}

fn layers_meta(args: &MetaArgs<'_>) -> Metas {
    let s = spec(args)?;
    floating(args, s.x, false)?;
    same_dtype(args, &[&[s.x], &s.states[..], &s.params[..]].concat())?;
    let packed = s.batch_sizes.is_some();
    of_dim(args, s.x, if packed { 2..=2 } else { 3..=3 }, "the input")?;
    for state in &s.states {
        of_dim(args, state, 3..=3, "a state")?;
        let n = s.layers.checked_mul(s.directions).and_then(|n| i64::try_from(n).ok());
        ensure!(
            state.sizes[0].as_int().is_none_or(|m| Some(m) == n),
            "{}: a state of {state} for {} layers",
            args.name(),
            s.layers
        );
        crate::support::checks::agree(args.cx, &state.sizes[1], &s.states[0].sizes[1], "batch sizes of the states")?;
    }
    if let Some(w) = s.params.first() {
        of_dim(args, w, 2..=2, "a weight")?;
        crate::support::checks::agree(args.cx, &s.x.sizes[s.x.dim() - 1], &w.sizes[1], "features of input and weight")?;
    }
    let features = s.states[0].sizes[2].clone() * s.directions as i64;
    let [first, second] = [&s.x.sizes[0], &s.x.sizes[1]];
    let out = if packed {
        fresh(s.x, s.x.dtype, [first.clone(), features])
    } else {
        let (time, batch) = if s.batch_first { (second, first) } else { (first, second) };
        crate::support::checks::agree(args.cx, batch, &s.states[0].sizes[1], "batch sizes of input and state")?;
        ensure!(!args.cx.is(time, 0), "Expected sequence length to be larger than 0 in RNN");
        let plain = fresh(s.x, s.x.dtype, [time.clone(), batch.clone(), features]);
        if s.batch_first {
            let swap = |d: &[Expr]| [d[1].clone(), d[0].clone(), d[2].clone()].into_iter().collect();
            Fake { sizes: swap(&plain.sizes), strides: swap(&plain.strides), ..plain }
        } else {
            plain
        }
    };
    let states = s.states.iter().map(|state| fresh(s.x, s.x.dtype, state.sizes.clone()));
    Ok(std::iter::once(out).chain(states).map(Val::from).collect())
}

fn run(args: &Args<'_, Real>, outs: &mut [TensorMut], kind: Kind) -> Result<()> {
    let s = spec(args)?;
    if kind != Kind::Lstm && outs.iter().all(|out| out.numel() == 0) {
        return Ok(());
    }
    computed!(s.x.dtype(), |T| run_as::<T>(&s, kind, args.prepared(), args.cx, outs))
}

fn run_as<T: Cell>(
    s: &Spec<'_, Tensor>,
    kind: Kind,
    panels: Option<&Panels>,
    cx: &RunCx,
    outs: &mut [TensorMut],
) -> Result<()> {
    let x = if s.batch_first { s.x.view(|l| l.transpose(0, 1))? } else { s.x.clone() };
    let batches: Vec<usize> = match s.batch_sizes {
        Some(sizes) => {
            let counted =
                |&b: &i64| usize::try_from(b).map_err(|_| Error::invalid(format!("a batch of {b} sequences")));
            sizes.to_vec::<i64>()?.iter().map(counted).collect::<Result<_>>()?
        }
        None => filled(x.sizes()[1] as usize, x.sizes()[0] as usize)?,
    };
    ensure!(batches.windows(2).all(|w| w[0] >= w[1]), "batch sizes must not grow");
    let lead = x.sizes()[..x.rank() - 1].iter().product::<i64>() as usize;
    let rows = batches.iter().try_fold(0usize, |n, &b| n.checked_add(b)).filter(|&n| n == lead);
    let rows = rows.ok_or_else(|| Error::invalid("batch sizes do not add up to the input"))?;
    let states: Vec<Dense<T>> = s.states.iter().map(|t| Dense::of(t)).collect::<Result<_>>()?;
    let batch = s.states[0].sizes()[1] as usize;
    ensure!(batches.first().is_none_or(|&b| b <= batch), "more sequences than states");
    let mut input = x.to_vec::<T>()?;
    let mut features = *x.sizes().last().unwrap_or(&0) as usize;
    let mut last: Vec<Vec<T>> = vec![Vec::new(); s.states.len()];
    let params: Vec<Dense<T>> = s.params.iter().map(|t| Dense::of(t)).collect::<Result<_>>()?;
    let widths: Vec<usize> = s.states.iter().map(|t| t.sizes()[2] as usize).collect();
    for layer in 0..s.layers {
        let width = widths[0];
        let mut output = filled(T::zero(), rows * width * s.directions)?;
        for direction in 0..s.directions {
            let at = layer * s.directions + direction;
            let first = at * s.per_direction();
            let p = &params[first..][..s.per_direction()];
            let projection = s.projected().then(|| weight(&p[p.len() - 1], panels, first + p.len() - 1));
            let weights = Weights {
                input: weight(&p[0], panels, first)?,
                hidden: weight(&p[1], panels, first + 1)?,
                input_bias: s.biases.then(|| &*p[2]),
                hidden_bias: s.biases.then(|| &*p[3]),
                projection: projection.transpose()?,
            };
            let mut state: Vec<Vec<T>> =
                states.iter().zip(&widths).map(|(d, &w)| d[at * batch * w..(at + 1) * batch * w].to_vec()).collect();
            let call = Layer { kind, weights, features, width, batches: &batches, reverse: direction == 1 };
            check_weights(&call, widths[widths.len() - 1])?;
            // Where there is no row, there is no second half of one.
            let half = output.get_mut(direction * width..).unwrap_or_default();
            run_layer(&call, &input, &mut state, half, width * s.directions)?;
            last.iter_mut().zip(state).for_each(|(all, one)| all.extend(one));
        }
        if layer + 1 < s.layers {
            drop_some(&mut output, s.dropout, cx);
        }
        (input, features) = (output, width * s.directions);
    }
    if s.batch_first {
        let plain = outs[0].layout().transpose(0, 1)?;
        crate::support::product::part(&mut outs[0], plain, |out| {
            fill(out, |out: &mut [T]| out.copy_from_slice(&input))
        })?;
    } else {
        fill(&mut outs[0], |out: &mut [T]| out.copy_from_slice(&input))?;
    }
    for (out, state) in outs[1..].iter_mut().zip(&last) {
        fill(out, |out: &mut [T]| out.copy_from_slice(state))?;
    }
    Ok(())
}

/// As `at::dropout` in training: a draw an element in the order of memory, none where nothing or everything is dropped.
fn drop_some<T: Cell>(elements: &mut [T], p: f64, cx: &RunCx) {
    if p == 0.0 {
        return;
    }
    let mut generator = cx.generator();
    let scale = T::one() / T::of(1.0 - p);
    for x in elements {
        let is_kept = p < 1.0 && generator.bernoulli(1.0 - p);
        *x *= if is_kept { scale } else { T::zero() };
    }
}

/// Refuses weights that do not fit; `cells` is the size of the inner state.
fn check_weights<T: Cell>(layer: &Layer<'_, T>, cells: usize) -> Result<()> {
    let w = &layer.weights;
    // A call without rows may state any size.
    let gates = |n: usize| layer.kind.gates().checked_mul(cells)?.checked_mul(n);
    let bias = |b: Option<&[T]>| b.is_none_or(|b| gates(1) == Some(b.len()));
    let fits = (layer.width > 0 && cells > 0)
        && gates(layer.features) == Some(w.input.rows.len())
        && gates(layer.width) == Some(w.hidden.rows.len())
        && bias(w.input_bias)
        && bias(w.hidden_bias)
        && match &w.projection {
            Some(p) => layer.width.checked_mul(cells) == Some(p.rows.len()),
            None => cells == layer.width,
        };
    ensure!(fits, "recurrent weights do not fit {} features and {} states", layer.features, layer.width);
    Ok(())
}

/// The states of a call, and whether they are an LSTM's, which come in a list.
fn states<'a, W: World>(args: &Args<'a, W>) -> Result<(Vec<&'a W::Tensor>, bool)>
where
    &'a W::Tensor: FromArg<'a, W>,
{
    Ok(match args.named::<&Arg<W>>("hx")? {
        Arg::List(_) => (args.named("hx")?, true),
        _ => (vec![args.named("hx")?], false),
    })
}

fn cell_meta(args: &MetaArgs<'_>) -> Metas {
    let (states, is_lstm) = states(args)?;
    let (x, w): (&Fake, &Fake) = (args.at(0)?, args.at(2)?);
    floating(args, x, false)?;
    same_dtype(args, &[&[x, w], &states[..]].concat())?;
    ensure!(!is_lstm || states.len() == 2, "lstm_cell expects two hidden states");
    ensure!(x.dim() == 2, "Expected 2D input (batch x feature), but got {}D input", x.dim());
    of_dim(args, w, 2..=2, "a weight")?;
    for (i, t) in states.iter().enumerate() {
        of_dim(args, t, 2..=2, "a hidden state")?;
        let (rows, have) = (&x.sizes[0], &t.sizes[0]);
        let fits = args.cx.may_be_same(rows, have);
        ensure!(fits, "Input batch size {rows} doesn't match hidden{i} batch size {have}");
        crate::support::checks::agree(args.cx, &t.sizes[1], &states[0].sizes[1], "features of the hidden states")?;
    }
    crate::support::checks::agree(
        args.cx,
        &x.sizes[x.dim() - 1],
        &w.sizes[w.dim() - 1],
        "features of input and weight",
    )?;
    Ok(states.iter().map(|s| fresh(x, x.dtype, s.sizes.clone()).into()).collect())
}

fn run_cell(args: &Args<'_, Real>, outs: &mut [TensorMut], kind: Kind) -> Result<()> {
    let (states, _) = states(args)?;
    let (x, w_ih, w_hh): (&Tensor, &Tensor, &Tensor) = (args.at(0)?, args.at(2)?, args.at(3)?);
    let (b_ih, b_hh): (Option<&Tensor>, Option<&Tensor>) = (args.at(4)?, args.at(5)?);
    let [features, width] =
        [*x.sizes().last().unwrap_or(&0) as usize, *states[0].sizes().last().unwrap_or(&0) as usize];
    let rows = x.sizes()[0] as usize;
    computed!(x.dtype(), |T| {
        let (x, ih, hh) = (Dense::<T>::of(x)?, Dense::<T>::of(w_ih)?, Dense::<T>::of(w_hh)?);
        let (bi, bh) = (Dense::<T>::maybe(b_ih)?, Dense::<T>::maybe(b_hh)?);
        let weights = Weights {
            input: weight(&ih, args.prepared(), 0)?,
            hidden: weight(&hh, args.prepared(), 1)?,
            input_bias: bi.as_deref(),
            hidden_bias: bh.as_deref(),
            projection: None,
        };
        let batches = [rows];
        let call = Layer { kind, weights, features, width, batches: &batches, reverse: false };
        check_weights(&call, width)?;
        let mut state: Vec<Vec<T>> = states.iter().map(|t| Ok(t.to_vec()?)).collect::<Result<_>>()?;
        step(&call, &x, &mut state)?;
        for (out, state) in outs.iter_mut().zip(&state) {
            fill(out, |out: &mut [T]| out.copy_from_slice(state))?;
        }
        Ok(())
    })
}

fn fused_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, hx, cx): (&Fake, &Fake, &Fake) = (args.at(0)?, args.at(5)?, args.at(6)?);
    floating(args, x, false)?;
    of_dim(args, x, 3..=3, "the input")?;
    let (mode, hidden): (i64, i64) = (args.at(9)?, args.at(10)?);
    ensure!(mode == 2, "{}: mode {mode} is no LSTM", args.name());
    ensure!(hidden > 0, "{}: a hidden size of {hidden}", args.name());
    for (state, what) in [(hx, "the hidden state"), (cx, "the cell state")] {
        of_numel(args, state, &(&x.sizes[1] * hidden), what)?;
    }
    let out = fresh(x, x.dtype, [x.sizes[0].clone(), x.sizes[1].clone(), Expr::from(hidden)]);
    let state = |s: &Fake| fresh(s, s.dtype, s.sizes.clone());
    // The workspace is PyTorch's own business: there is none here.
    Ok([out, state(hx), state(cx)].into_iter().map(Val::from).chain([Val::None]).collect())
}

fn fused(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, w_ih, w_hh, b_ih, b_hh): (&Tensor, &Tensor, &Tensor, &Tensor, &Tensor) = args.unpack()?;
    let (hx, cx, reverse): (&Tensor, &Tensor, bool) = (args.at(5)?, args.at(6)?, args.at(7)?);
    let biases: bool = args.at(12)?;
    let sizes = x.sizes();
    let [time, batch, features] = [sizes[0] as usize, sizes[1] as usize, sizes[2] as usize];
    let width = outs[0].sizes()[2] as usize;
    computed!(x.dtype(), |T| {
        let (x, ih, hh) = (Dense::<T>::of(x)?, Dense::<T>::of(w_ih)?, Dense::<T>::of(w_hh)?);
        let (bi, bh) = (Dense::<T>::maybe(biases.then_some(b_ih))?, Dense::<T>::maybe(biases.then_some(b_hh))?);
        let weights = Weights {
            input: weight(&ih, args.prepared(), 0)?,
            hidden: weight(&hh, args.prepared(), 1)?,
            input_bias: bi.as_deref(),
            hidden_bias: bh.as_deref(),
            projection: None,
        };
        let batches = filled(batch, time)?;
        let call = Layer { kind: Kind::Lstm, weights, features, width, batches: &batches, reverse };
        check_weights(&call, width)?;
        let mut state = vec![hx.to_vec()?, cx.to_vec()?];
        fill(&mut outs[0], |out: &mut [T]| run_layer(&call, &x, &mut state, out, width))??;
        for (out, state) in outs[1..].iter_mut().zip(&state) {
            fill(out, |out: &mut [T]| out.copy_from_slice(state))?;
        }
        Ok(())
    })
}
