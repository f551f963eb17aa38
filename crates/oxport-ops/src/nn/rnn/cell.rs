//! One direction of one recurrent layer: products and gates.

use crate::support::dense::Compute;
use crate::support::product::packed_once;
use oxport_ir::{Args, Prepared, Real, Result};
use oxport_tensor::gemm::{self, Epilogue, Mat, MatMut, Multiply, Packed, PackedMatrix, Product, Rhs, Start, gemm};
use oxport_tensor::simd::vectorize;
use oxport_tensor::{Tensor, filled};
use std::sync::Arc;

/// What a step does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    /// Gates i, f, g, o; `c = σ(f)·c + σ(i)·tanh(g)`, `h = σ(o)·tanh(c)`.
    Lstm,
    /// Gates r, z, n; `n = tanh(x_n + σ(r)·h_n)`, `h = n + σ(z)·(h − n)`.
    Gru,
    /// `h = tanh(gate)`
    Tanh,
    /// `h = max(gate, 0)`
    Relu,
}

impl Kind {
    pub(super) fn gates(self) -> usize {
        match self {
            Kind::Lstm => 4,
            Kind::Gru => 3,
            Kind::Tanh | Kind::Relu => 1,
        }
    }
}

/// A weight of `n` rows, row-major, and its panels if they are prepared.
pub(super) struct Weight<'a, T> {
    pub(super) rows: &'a [T],
    pub(super) panels: Option<&'a [Packed<T>]>,
}

/// What is prepared: the panels of weights, by their place among the parameters.
pub(super) struct Panels(Vec<Option<Arc<PackedMatrix>>>);

impl Panels {
    pub(super) fn of(args: &Args<'_, Real>, weights: &[Option<&Tensor>]) -> Result<Option<Prepared>> {
        let pack = |w: &Option<&Tensor>| {
            let turned = w.filter(|w| w.rank() == 2).map(|w| w.view(|l| l.transpose(0, 1))).transpose()?;
            packed_once(args, turned.as_ref())
        };
        let all: Vec<_> = weights.iter().map(pack).collect::<Result<_>>()?;
        Ok(all.iter().any(Option::is_some).then(|| Prepared::new(Arc::new(Panels(all)))))
    }
}

/// A weight with its panels, parameter `i` of what was prepared.
pub(super) fn weight<'a, T: Cell>(rows: &'a [T], panels: Option<&'a Panels>, i: usize) -> Result<Weight<'a, T>> {
    let panels = panels.and_then(|p| p.0.get(i)?.as_deref());
    Ok(Weight { rows, panels: panels.map(|p| p.panels::<T>()).transpose()? })
}

/// The weights of one direction, gates stacked.
pub(super) struct Weights<'a, T> {
    pub(super) input: Weight<'a, T>,
    pub(super) hidden: Weight<'a, T>,
    pub(super) input_bias: Option<&'a [T]>,
    pub(super) hidden_bias: Option<&'a [T]>,
    /// From cells to outputs.
    pub(super) projection: Option<Weight<'a, T>>,
}

/// One direction of one layer.
pub(super) struct Layer<'a, T> {
    pub(super) kind: Kind,
    pub(super) weights: Weights<'a, T>,
    /// Features of the input.
    pub(super) features: usize,
    /// Features of `h`.
    pub(super) width: usize,
    /// How many sequences go on at each step; never grows.
    pub(super) batches: &'a [usize],
    pub(super) reverse: bool,
}

/// Number types that layers run in.
pub(super) trait Cell: Compute + Multiply<Acc = Self> + gemm::Compute {}
impl<T: Compute + Multiply<Acc = T> + gemm::Compute> Cell for T {}

/// `y = start + x @ wᵀ`, `w` of `n` rows of `k`.
fn project<T: Cell>(x: &[T], w: &Weight<'_, T>, [m, n, k]: [usize; 3], start: Start<'_, T>, y: &mut [T]) {
    let mut product = Product::new(m, n, k, Mat::new(x, k, 1), Mat::new(w.rows, k, 1).t());
    if let Some(panels) = w.panels {
        product.b = Rhs::Packed(panels);
    }
    gemm(&Product { epilogue: Epilogue { start, after: None }, ..product }, MatMut { data: y, rows: n, cols: 1 });
}

fn bias<T: Cell>(b: Option<&[T]>) -> Start<'_, T> {
    b.map_or(Start::Zero, Start::PerColumn)
}

/// Runs all steps over `x`, rows of all steps one after the other; `state` is `h` (and `c`), row by row; `out` gets `h`
/// of every row, `pitch` numbers apart.
///
/// # Errors
/// There is no memory for the gates.
pub(super) fn run_layer<T: Cell>(
    layer: &Layer<'_, T>,
    x: &[T],
    state: &mut [Vec<T>],
    out: &mut [T],
    pitch: usize,
) -> Result<()> {
    let rows: usize = layer.batches.iter().sum();
    let columns = layer.weights.hidden.rows.len() / layer.width;
    let mut gates = filled(T::of(0.0), rows * columns)?;
    project(x, &layer.weights.input, [rows, columns, layer.features], bias(layer.weights.input_bias), &mut gates);
    let mut firsts: Vec<(usize, usize)> = Vec::with_capacity(layer.batches.len());
    let mut first = 0;
    for &batch in layer.batches {
        firsts.push((first, batch));
        first += batch;
    }
    if layer.reverse {
        firsts.reverse();
    }
    for (first, batch) in firsts {
        advance(layer, &mut gates[first * columns..(first + batch) * columns], batch, state)?;
        for (row, h) in state[0].chunks_exact(layer.width).take(batch).enumerate() {
            out[(first + row) * pitch..][..layer.width].copy_from_slice(h);
        }
    }
    Ok(())
}

/// One step from the rows of `x`.
///
/// # Errors
/// There is no memory for the gates.
pub(super) fn step<T: Cell>(layer: &Layer<'_, T>, x: &[T], state: &mut [Vec<T>]) -> Result<()> {
    let batch = layer.batches[0];
    let columns = layer.kind.gates() * layer.width;
    let mut gates = filled(T::of(0.0), batch * columns)?;
    project(x, &layer.weights.input, [batch, columns, layer.features], bias(layer.weights.input_bias), &mut gates);
    advance(layer, &mut gates, batch, state)
}

/// One step of the first `batch` sequences, from the input's part of the gates.
fn advance<T: Cell>(layer: &Layer<'_, T>, gates: &mut [T], batch: usize, state: &mut [Vec<T>]) -> Result<()> {
    if batch == 0 {
        return Ok(());
    }
    let columns = gates.len() / batch;
    let cells = columns / layer.kind.gates();
    let width = layer.width;
    let sizes = [batch, columns, width];
    let hidden = &layer.weights.hidden;
    if layer.kind == Kind::Gru {
        let mut own = filled(T::of(0.0), gates.len())?;
        project(&state[0][..batch * width], hidden, sizes, bias(layer.weights.hidden_bias), &mut own);
        let rows = gates.chunks_exact(columns).zip(own.chunks_exact(columns)).zip(state[0].chunks_exact_mut(width));
        rows.for_each(|((x, own), h)| {
            vectorize(
                #[inline(always)]
                || gru(x, own, h),
            )
        });
        return Ok(());
    }
    project(&state[0][..batch * width], hidden, sizes, Start::Scaled(T::of(1.0)), gates);
    if let Some(bias) = layer.weights.hidden_bias {
        for row in gates.chunks_exact_mut(columns) {
            row.iter_mut().zip(bias).for_each(|(g, &b)| *g += b);
        }
    }
    let [h, rest @ ..] = state else { return Ok(()) };
    match layer.kind {
        Kind::Lstm => {
            let mut made = filled(T::of(0.0), if layer.weights.projection.is_some() { batch * cells } else { 0 })?;
            let target = if made.is_empty() { &mut h[..] } else { &mut made[..] };
            let rows =
                gates.chunks_exact(columns).zip(rest[0].chunks_exact_mut(cells)).zip(target.chunks_exact_mut(cells));
            rows.for_each(|((g, c), h)| {
                vectorize(
                    #[inline(always)]
                    || lstm(g, c, h),
                )
            });
            if let Some(w) = &layer.weights.projection {
                project(&made, w, [batch, width, cells], Start::Zero, &mut h[..batch * width]);
            }
        }
        Kind::Relu => h.iter_mut().zip(&*gates).for_each(|(h, &g)| *h = if g < T::of(0.0) { T::of(0.0) } else { g }),
        _ => vectorize(
            #[inline(always)]
            || h.iter_mut().zip(&*gates).for_each(|(h, &g)| *h = g.fast_tanh()),
        ),
    }
    Ok(())
}

#[inline(always)]
fn lstm<T: Compute>(gates: &[T], c: &mut [T], h: &mut [T]) {
    let n = c.len();
    let (i, gates) = gates.split_at(n);
    let (f, gates) = gates.split_at(n);
    let (g, o) = gates.split_at(n);
    for k in 0..n {
        c[k] = f[k].sigmoid() * c[k] + i[k].sigmoid() * g[k].fast_tanh();
        h[k] = o[k].sigmoid() * c[k].fast_tanh();
    }
}

#[inline(always)]
fn gru<T: Compute>(x: &[T], own: &[T], h: &mut [T]) {
    let n = h.len();
    for k in 0..n {
        let reset = (x[k] + own[k]).sigmoid();
        let update = (x[n + k] + own[n + k]).sigmoid();
        let new = (x[2 * n + k] + reset * own[2 * n + k]).fast_tanh();
        h[k] = new + update * (h[k] - new);
    }
}
