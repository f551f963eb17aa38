//! Paddings: by a constant, by reflection, by repetition of the edge, and around.
//!
//! Laws: `pad` lists pairs from the last dimension to the first; negative numbers crop; channels last is kept, except
//! around. `constant_pad_nd` that only crops is a copy that preserves strides.

use crate::support::checks::{fresh, fresh_in_format};
use crate::support::class::Fill;
use crate::support::gather::{NOWHERE, gather};
use crate::support::meta::{MetaArgs, Metas, one, preserved_strides};
use oxport_ir::opdef::MetaFn;
use oxport_ir::{Args, Argument, Build, Builder, Class, Error, Fake, OpDef, Real, Result, ensure};
use oxport_sym::Expr;
use oxport_tensor::{Scalar, Tensor, TensorMut, table};

/// The operators of this family.
pub static OPS: &[OpDef] = &[
    OpDef::new("aten::pad(Tensor self, SymInt[] pad, str mode=\"constant\", float? value=None) -> Tensor", pad_meta)
        .doc("Pads the last dimensions.")
        .fill(pad)
        .work(Class::Move)
        .any_strides()
        .decomp(pad_decomp)
        .exact(oxport_ir::Exact::Bits)
        .samples(&[
            "f32[2, 3], [1, 2]",
            "f32[2, 3, 4], [1, -1, 2, 0], \"constant\", 1.5",
            "f32[2, 3, 4], [2, 1], \"reflect\"",
            "f32[2, 3, 4, 4], [1, 1, 2, 0], \"replicate\"",
            "f32[2, 3, 4], [3, 2], \"circular\"",
            "!f32[2, 3, 4], [4, 0], \"reflect\"",
            "!f32[2, 3], [1]",
        ]),
    OpDef::new("aten::constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor", constant_meta)
        .doc("Pads with a number.")
        .fill(constant)
        .work(Class::Move)
        .any_strides()
        .exact(oxport_ir::Exact::Bits)
        .samples(&[
            "f32[2, 3], [1, 2], 0.5",
            "i64[2, 3], [-1, 1, 0, 2]",
            "b8[3], [1, 1], True",
            "f32[0, 4], [1099511627776, 1]",
        ]),
    reflection::<1>("aten::reflection_pad1d(Tensor self, SymInt[2] padding) -> Tensor"),
    reflection::<2>("aten::reflection_pad2d(Tensor self, SymInt[4] padding) -> Tensor"),
    reflection::<3>("aten::reflection_pad3d(Tensor self, SymInt[6] padding) -> Tensor"),
    replication::<1>("aten::replication_pad1d(Tensor self, SymInt[2] padding) -> Tensor"),
    replication::<2>("aten::replication_pad2d(Tensor self, SymInt[4] padding) -> Tensor")
        .samples(&["f32[2, 3, 4], [3, 2, 1, 1]", "f32[0, 2, 3, 4], [1099511627776, 1, 1, 1]"]),
    replication::<3>("aten::replication_pad3d(Tensor self, SymInt[6] padding) -> Tensor"),
    OpDef::new("aten::_pad_circular(Tensor self, SymInt[] pad) -> Tensor", circular_meta)
        .doc("Pads with what comes from the other side.")
        .fill(|a, o| edge(a, o, Edge::Circular))
        .work(Class::Move)
        .any_strides()
        .exact(oxport_ir::Exact::Bits)
        .samples(&["f32[2, 3, 4], [3, 2]"]),
];

// Each row says how many dimensions, `N`, it pads.

const fn reflection<const N: usize>(schema: &'static str) -> OpDef {
    near_edge(schema, |a| edge_meta(a, N, Edge::Reflect), |a, o| edge(a, o, Edge::Reflect))
}
const fn replication<const N: usize>(schema: &'static str) -> OpDef {
    near_edge(schema, |a| edge_meta(a, N, Edge::Replicate), |a, o| edge(a, o, Edge::Replicate))
}
const fn near_edge(schema: &'static str, meta: MetaFn, kernel: Fill) -> OpDef {
    OpDef::new(schema, meta)
        .doc("Pads with elements near the edge.")
        .fill(kernel)
        .work(Class::Move)
        .any_strides()
        .exact(oxport_ir::Exact::Bits)
}

/// What stands outside of the input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Edge {
    /// One value.
    Constant,
    /// The input backwards, without its edge.
    Reflect,
    /// The edge, over and over.
    Replicate,
    /// The input over again.
    Circular,
}

impl Edge {
    /// The edge that the argument `mode` asks for.
    fn of_mode(mode: &str) -> Result<Edge> {
        Ok(match mode {
            "constant" => Edge::Constant,
            "reflect" => Edge::Reflect,
            "replicate" => Edge::Replicate,
            "circular" => Edge::Circular,
            other => return Err(Error::invalid(format!("no padding mode `{other}`"))),
        })
    }
    /// The source of position `i`, counted from the input's first element.
    pub fn source(self, i: i64, n: i64) -> usize {
        let source = match self {
            Edge::Constant if !(0..n).contains(&i) => return NOWHERE,
            Edge::Constant => i,
            Edge::Reflect if i < 0 => -i,
            Edge::Reflect if i >= n => 2 * (n - 1) - i,
            Edge::Reflect => i,
            Edge::Replicate => i.clamp(0, n - 1),
            Edge::Circular => i.rem_euclid(n),
        };
        source as usize
    }
}

/// The sizes of a padded tensor.
fn padded(args: &MetaArgs<'_>, x: &Fake, pad: &[Expr], edge: Edge) -> Result<Vec<Expr>> {
    let name = args.name();
    ensure!(
        pad.len().is_multiple_of(2) && pad.len() / 2 <= x.dim(),
        "{name}: {} numbers of padding for {x}",
        pad.len()
    );
    let padded = pad.len() / 2;
    if edge != Edge::Constant {
        let fits = (1..=3).contains(&padded) && (padded + 1..=padded + 2).contains(&x.dim());
        ensure!(fits, "{name}: only the last 1 to 3 of {} dimensions can be padded so", x.dim());
        let inside = usize::from(x.dim() == padded + 2);
        ensure!(!x.sizes[inside..].iter().any(|s| args.cx.is(s, 0)), "{name}: {x} has no elements to pad with");
    }
    let mut sizes = x.sizes.to_vec();
    for (i, pair) in pad.chunks_exact(2).enumerate() {
        let d = x.dim() - 1 - i;
        let size = &x.sizes[d];
        let out = size + &pair[0] + &pair[1];
        let least = if edge == Edge::Constant { 0 } else { 1 };
        ensure!(out.as_int().is_none_or(|n| n >= least), "{name}: a size would be {out}");
        for p in pair {
            let fits = match edge {
                Edge::Reflect => args.cx.decide(&p.lt(size), true),
                Edge::Circular => args.cx.decide(&p.le(size), true),
                _ => true,
            };
            ensure!(fits, "{name}: padding {p} is too large for a size of {size}");
        }
        sizes[d] = out;
    }
    Ok(sizes)
}

fn result(args: &MetaArgs<'_>, x: &Fake, pad: &[Expr], edge: Edge) -> Metas {
    let sizes = padded(args, x, pad, edge)?;
    let crops = pad.iter().all(|p| p.as_int().is_some_and(|p| p <= 0));
    one(match edge {
        Edge::Constant if crops => {
            let cropped = Fake { sizes: sizes.into_iter().collect(), ..x.clone() };
            Fake { strides: preserved_strides(args.cx, &cropped), ..cropped }
        }
        Edge::Circular => fresh(x, x.dtype, sizes),
        _ => fresh_in_format(args.cx, x, x.dtype, sizes),
    })
}

fn pad_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, pad, mode, value): (&Fake, Vec<Expr>, &str, Option<f64>) = args.unpack()?;
    let edge = Edge::of_mode(mode)?;
    ensure!(edge == Edge::Constant || value.is_none_or(|v| v == 0.0), "{}: mode `{mode}` takes no value", args.name());
    result(args, x, &pad, edge)
}

fn constant_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, pad): (&Fake, Vec<Expr>) = args.unpack()?;
    result(args, x, &pad, Edge::Constant)
}

fn edge_meta(args: &MetaArgs<'_>, n: usize, edge: Edge) -> Metas {
    let (x, pad): (&Fake, Vec<Expr>) = args.unpack()?;
    ensure!(pad.len() == 2 * n, "{}: padding: expected {} numbers", args.name(), 2 * n);
    result(args, x, &pad, edge)
}

fn circular_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, pad): (&Fake, Vec<Expr>) = args.unpack()?;
    result(args, x, &pad, Edge::Circular)
}

/// Where `count` elements of a line of `n` elements come from, with so much padding on the left.
pub(crate) fn sources(edge: Edge, n: i64, count: i64, left: i64) -> Result<Vec<usize>> {
    let mut sources = table(count.max(0) as usize)?;
    // What is repeated is what a negative padding leaves.
    let (first, left, kept) = match edge {
        Edge::Circular => {
            let right = count - n - left;
            let first = (-left).max(0);
            (first, left.max(0), n - first - (-right).max(0))
        }
        _ => (0, left, n),
    };
    let source = |i: i64| edge.source(i.saturating_sub(left), kept).saturating_add(first as usize);
    sources.extend((0..count).map(|i| if kept <= 0 { NOWHERE } else { source(i) }));
    Ok(sources)
}

fn run(x: &Tensor, pad: &[i64], edge: Edge, filler: Scalar, out: &mut TensorMut) -> Result<()> {
    if out.numel() == 0 {
        return Ok(());
    }
    let rank = x.rank();
    let map = |d: usize| {
        let left = pad.get(2 * (rank - 1 - d)).copied().unwrap_or(0);
        sources(edge, x.sizes()[d], out.sizes()[d], left)
    };
    let maps = (0..rank).map(map).collect::<Result<Vec<_>>>()?;
    gather(x, &maps, filler, out)
}

fn pad(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, pad, mode, value): (&Tensor, Vec<i64>, &str, Option<f64>) = args.unpack()?;
    run(x, &pad, Edge::of_mode(mode)?, Scalar::Float(value.unwrap_or(0.0)), &mut outs[0])
}

fn constant(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, pad, value): (&Tensor, Vec<i64>, Scalar) = args.unpack()?;
    run(x, &pad, Edge::Constant, value, &mut outs[0])
}

fn edge(args: &Args<'_, Real>, outs: &mut [TensorMut], edge: Edge) -> Result<()> {
    let (x, pad): (&Tensor, Vec<i64>) = args.unpack()?;
    run(x, &pad, edge, Scalar::Int(0), &mut outs[0])
}

fn pad_decomp(b: &mut Builder<'_>, args: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (x, pad, mode, value): (Argument, Vec<Argument>, &str, Option<f64>) = args.unpack()?;
    let n = pad.len() / 2;
    let y = match Edge::of_mode(mode)? {
        Edge::Constant => b.call("constant_pad_nd", (x, pad, value.unwrap_or(0.0)))?,
        Edge::Reflect => b.call(&format!("reflection_pad{n}d"), (x, pad))?,
        Edge::Replicate => b.call(&format!("replication_pad{n}d"), (x, pad))?,
        Edge::Circular => b.call("_pad_circular", (x, pad))?,
    };
    Ok(vec![y.into()])
}
