//! Shuffles: pixels to channels and back, channels among themselves.
//!
//! Law: channels last is kept.

use crate::support::checks::fresh_in_format;
use crate::support::class::Fill;
use crate::support::meta::{MetaArgs, Metas, one};
use crate::support::product::part;
use oxport_ir::opdef::MetaFn;
use oxport_ir::{Args, Class, Error, Exact, Fake, OpDef, Real, Result, ensure};
use oxport_sym::Expr;
use oxport_tensor::{Tensor, TensorMut, copy};

/// The operators of this family.
pub static OPS: &[OpDef] = &[
    to_pixels("aten::pixel_shuffle(Tensor self, int upscale_factor) -> Tensor").samples(&[
        "f32[2, 8, 3, 3], 2",
        "f32[4, 2, 3], 2",
        "!f32[3, 2, 2], 2",
    ]),
    to_channels("aten::pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor").samples(&["f32[2, 2, 4, 6], 2"]),
    of_channels("aten::channel_shuffle(Tensor self, SymInt groups) -> Tensor").samples(&["f32[2, 6, 3, 3], 3"]),
    of_channels("aten::native_channel_shuffle(Tensor self, SymInt groups) -> Tensor").samples(&["f32[2, 6, 3, 3], 3"]),
];

const fn to_pixels(schema: &'static str) -> OpDef {
    shuffle(schema, |a| shuffle_meta(a, Shuffle::ToPixels), |a, o| shuffle_kernel(a, o, Shuffle::ToPixels))
}
const fn to_channels(schema: &'static str) -> OpDef {
    shuffle(schema, |a| shuffle_meta(a, Shuffle::ToChannels), |a, o| shuffle_kernel(a, o, Shuffle::ToChannels))
}
const fn of_channels(schema: &'static str) -> OpDef {
    shuffle(schema, |a| shuffle_meta(a, Shuffle::OfChannels), |a, o| shuffle_kernel(a, o, Shuffle::OfChannels))
}
const fn shuffle(schema: &'static str, meta: MetaFn, kernel: Fill) -> OpDef {
    OpDef::new(schema, meta)
        .doc("Rearranges channels and pixels.")
        .fill(kernel)
        .work(Class::Move)
        .any_strides()
        .exact(Exact::Bits)
}

/// What goes where.
#[derive(Clone, Copy)]
enum Shuffle {
    /// `r²` channels become blocks of `r` by `r` pixels.
    ToPixels,
    /// The reverse.
    ToChannels,
    /// The first channel of every group, then the second of every group …
    OfChannels,
}

fn shuffle_meta(args: &MetaArgs<'_>, shuffle: Shuffle) -> Metas {
    let (x, n): (&Fake, Expr) = args.unpack()?;
    let name = args.name();
    let factor = n.as_int().ok_or_else(|| Error::unsupported(format!("{name}: a symbolic factor")))?;
    let rank = x.dim();
    ensure!(rank >= 3 && factor > 0, "{name}: {x} by {factor}");
    let square = factor.checked_mul(factor).ok_or_else(|| Error::invalid(format!("{name}: {x} by {factor}")))?;
    let divided = |size: &Expr, by: i64| -> Result<Expr> {
        ensure!(size.as_int().is_none_or(|s| s % by == 0), "{name}: size {size} is no multiple of {by}");
        Ok(size.floor_div(&Expr::from(by)))
    };
    let mut sizes = x.sizes.to_vec();
    match shuffle {
        Shuffle::ToPixels => {
            sizes[rank - 3] = divided(&sizes[rank - 3], square)?;
            sizes[rank - 2] = &sizes[rank - 2] * factor;
            sizes[rank - 1] = &sizes[rank - 1] * factor;
        }
        Shuffle::ToChannels => {
            sizes[rank - 3] = &sizes[rank - 3] * square;
            sizes[rank - 2] = divided(&sizes[rank - 2], factor)?;
            sizes[rank - 1] = divided(&sizes[rank - 1], factor)?;
        }
        Shuffle::OfChannels => sizes[1] = &divided(&sizes[1], factor)? * factor,
    }
    one(fresh_in_format(args.cx, x, x.dtype, sizes))
}

fn shuffle_kernel(args: &Args<'_, Real>, outs: &mut [TensorMut], shuffle: Shuffle) -> Result<()> {
    let (x, r): (&Tensor, i64) = args.unpack()?;
    let out = &mut outs[0];
    if x.numel() == 0 {
        return Ok(());
    }
    let rank = x.rank() as i64;
    let (from, to) = match shuffle {
        Shuffle::ToPixels => {
            // [.., C, r, r, H, W] to [.., C, H, r, W, r]
            let split = x.view(|l| l.unflatten(rank - 3, &[-1, r, r]))?;
            let lead: Vec<i64> = (0..rank - 2).collect();
            let order: Vec<i64> = lead.iter().copied().chain([rank, rank - 2, rank + 1, rank - 1]).collect();
            let rows = out.layout().unflatten(rank - 2, &[-1, r])?;
            (split.view(|l| l.permute(&order))?, rows.unflatten(rank, &[-1, r])?)
        }
        Shuffle::ToChannels => {
            let rows = x.view(|l| l.unflatten(rank - 2, &[-1, r])?.unflatten(rank, &[-1, r]))?;
            // [.., C, H, r, W, r] to [.., C, r, r, H, W]
            let lead: Vec<i64> = (0..rank - 2).collect();
            let order: Vec<i64> = lead.iter().copied().chain([rank - 1, rank + 1, rank - 2, rank]).collect();
            (rows.view(|l| l.permute(&order))?, out.layout().unflatten(rank - 3, &[-1, r, r])?)
        }
        Shuffle::OfChannels => {
            let split = x.view(|l| l.unflatten(1, &[r, -1]))?;
            (split.view(|l| l.transpose(1, 2))?, out.layout().unflatten(1, &[-1, r])?)
        }
    };
    part(out, to, |out| Ok(copy(&from, out)?))
}
