//! Lists of tensors made alike, and products of packed weights.

use crate::support::composite::{composed, composite};
use oxport_ir::{Args, Argument, Build, Builder, Exact, NodeId, OpDef, Result, ensure};

/// The table.
pub static OPS: &[OpDef] = &[
    composed(
        "aten::pad_sequence(Tensor[] sequences, bool batch_first=False, float padding_value=0., str \
        padding_side=\"right\") -> Tensor",
        pad_sequence,
    )
    .exact(Exact::Bits)
    .doc("Sequences filled up to the longest one, and stacked.")
    .samples(&["[f32[2, 3], f32[4, 3]]", "[f32[2], f32[4], f32[1]], True, 1.0, \"left\"", "![f32[2], f32[4, 3]]"]),
    composed("aten::atleast_1d.Sequence(Tensor[] tensors) -> Tensor[]", |b, a| each(b, a, "atleast_1d"))
        .exact(Exact::Bits)
        .doc("Each with at least 1 dimension.")
        .samples(&["[f32[], f32[2]]"]),
    composed("aten::atleast_2d.Sequence(Tensor[] tensors) -> Tensor[]", |b, a| each(b, a, "atleast_2d"))
        .exact(Exact::Bits)
        .doc("Each with at least 2 dimensions.")
        .samples(&["[f32[], f32[2]]"]),
    composed("aten::atleast_3d.Sequence(Tensor[] tensors) -> Tensor[]", |b, a| each(b, a, "atleast_3d"))
        .exact(Exact::Bits)
        .doc("Each with at least 3 dimensions.")
        .samples(&["[f32[], f32[2]]"]),
    composite(
        "aten::_weight_int8pack_mm(Tensor self, Tensor mat2, Tensor scales) -> Tensor",
        "mul.Tensor(mm(self, t(type_as(mat2, self))), scales)",
    )
    .doc("The product with a transposed int8 weight, each of whose rows has a scale.")
    .samples(&["f32[2, 3], i8[4, 3], f32[4]"]),
];

fn each(b: &mut Builder<'_>, a: &Args<'_, Build>, op: &str) -> Result<Vec<Argument>> {
    let tensors: Vec<NodeId> = a.at(0)?;
    let all = tensors.into_iter().map(|t| Ok(b.call(op, (t,))?.into())).collect::<Result<_>>()?;
    Ok(vec![Argument::List(all)])
}

fn pad_sequence(b: &mut Builder<'_>, a: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (sequences, batch_first, value, side): (Vec<NodeId>, bool, f64, &str) = a.unpack()?;
    ensure!(!sequences.is_empty(), "pad_sequence of no sequences");
    ensure!(side == "left" || side == "right", "pad_sequence: padding_side `{side}`");
    let mut lengths = Vec::with_capacity(sequences.len());
    let first = b.fake(sequences[0])?.clone();
    for &s in &sequences {
        let s = b.fake(s)?;
        let rest = s.dim() > 0 && s.dim() == first.dim() && s.sizes[1..] == first.sizes[1..];
        ensure!(rest, "pad_sequence of {first} and {s}");
        let open = || oxport_ir::Error::unsupported("pad_sequence of a symbolic length");
        lengths.push(s.sizes[0].as_int().ok_or_else(open)?);
    }
    let longest = lengths.iter().copied().max().unwrap_or(0);
    let mut padded: Vec<Argument> = Vec::with_capacity(sequences.len());
    for (s, n) in sequences.into_iter().zip(lengths) {
        let mut pads = vec![0i64; 2 * first.dim()];
        // Paddings are listed from the last dimension: the first one's are at the end, `left` before `right`.
        let place = pads.len() - if side == "left" { 2 } else { 1 };
        pads[place] = longest - n;
        padded.push(b.call("constant_pad_nd", (s, pads, value))?.into());
    }
    Ok(vec![b.call("stack", (Argument::List(padded), if batch_first { 0i64 } else { 1 }))?.into()])
}
