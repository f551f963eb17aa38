//! Sequences made equally long.

use crate::support::composite::composed;
use oxport_ir::{Args, Argument, Build, Builder, Exact, NodeId, OpDef, Result, ensure};

/// The table.
pub static OPS: &[OpDef] = &[composed(
    "aten::pad_sequence(Tensor[] sequences, bool batch_first=False, float padding_value=0., str \
        padding_side=\"right\") -> Tensor",
    pad_sequence,
)
.exact(Exact::Bits)
.doc("Sequences filled up to the longest one, and stacked.")
.samples(&["[f32[2, 3], f32[4, 3]]", "[f32[2], f32[4], f32[1]], True, 1.0, \"left\"", "![f32[2], f32[4, 3]]"])];

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
