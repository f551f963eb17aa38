//! Blocks of images to columns and back.
//!
//! Law: results are contiguous.

use crate::support::checks::{fresh, in_c_int, per_dim};
use crate::support::complex_parts::by_parts;
use crate::support::dense::{Dense, computed, fill};
use crate::support::meta::{MetaArgs, Metas, one};
use crate::support::rows::for_out_rows;
use oxport_ir::{Args, Class, Exact, Fake, OpDef, Real, Result, ensure};
use oxport_sym::Expr;
use oxport_tensor::simd::{fold_into, vectorize};
use oxport_tensor::{Element, Tensor, TensorMut, dispatch};
use std::ops::Range;

/// The operators of this family.
pub static OPS: &[OpDef] = &[
    OpDef::new(
        "aten::im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) \
        -> Tensor",
        im2col_meta,
    )
    .doc("The blocks under a sliding window as columns.")
    .fill(im2col)
    .work(Class::Move)
    .any_strides()
    .exact(Exact::Bits)
    .samples(&["f32[2, 3, 5, 5], [2, 2], [1, 1], [0, 0], [1, 1]", "f32[3, 5, 6], [3, 2], [2, 1], [1, 1], [2, 1]"]),
    OpDef::new(
        "aten::col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, int[2] \
        padding, int[2] stride) -> Tensor",
        col2im_meta,
    )
    .doc("The sum of columns, each put back where its block was.")
    .fill(|a, o| by_parts(a, o, col2im))
    .work(Class::Move)
    .any_strides()
    .samples(&[
        "f32[2, 12, 16], [5, 5], [2, 2], [1, 1], [0, 0], [1, 1]",
        "f64[2, 12, 12], [5, 9], [2, 3], [2, 2], [1, 3], [2, 3]",
        "!f32[9, 1], [1, 1], [3, 3], [1, 1], [0, 0], [1, 1]",
    ]),
];

/// How blocks lie: kernel, dilation, padding, stride of both dimensions.
struct Blocks {
    kernel: Vec<i64>,
    dilation: Vec<i64>,
    padding: Vec<i64>,
    stride: Vec<i64>,
}

fn blocks<'a, W: oxport_ir::World>(args: &Args<'a, W>, first: usize) -> Result<Blocks> {
    let two = |i: usize, what: &str| per_dim(&args.at::<Vec<i64>>(first + i)?, 2, what);
    let b = Blocks {
        kernel: two(0, "kernel_size")?,
        dilation: two(1, "dilation")?,
        padding: two(2, "padding")?,
        stride: two(3, "stride")?,
    };
    let positive = [&b.kernel, &b.dilation, &b.stride].into_iter().flatten().all(|&n| n > 0);
    ensure!(positive && b.padding.iter().all(|&p| p >= 0), "{}: sizes of a window must be positive", args.name());
    in_c_int(&[&b.kernel, &b.dilation, &b.padding, &b.stride])?;
    Ok(b)
}

impl Blocks {
    /// The number of blocks along a dimension of this size.
    fn along(&self, d: usize, size: &Expr) -> Expr {
        let reach = self.dilation[d] * (self.kernel[d] - 1) + 1;
        (size + (2 * self.padding[d] - reach)).floor_div(&Expr::from(self.stride[d])) + 1
    }
    /// Of so many blocks along a dimension, those whose tap `k` is inside of its `size` pixels.
    fn inside(&self, d: usize, k: usize, count: usize, size: usize) -> Inside {
        let (step, at) = (self.stride[d] as usize, k as i64 * self.dilation[d] - self.padding[d]);
        let (before, after) = ((-at).max(0) as usize, at.max(0) as usize);
        let first = before.div_ceil(step);
        let end = (size + before).saturating_sub(after).div_ceil(step).min(count);
        Inside { blocks: first..end.max(first), pixel: (first * step + after).saturating_sub(before), step }
    }
}

/// Neighboring blocks, the pixel of the first one's tap, and how far it is to that of the next.
struct Inside {
    blocks: Range<usize>,
    pixel: usize,
    step: usize,
}

impl Inside {
    /// The pixels of all of these blocks, which are `inner` elements each.
    fn pixels(&self, inner: usize) -> impl Iterator<Item = usize> {
        let (first, step) = (self.pixel * inner, self.step * inner);
        (0..self.blocks.len()).map(move |i| first + i * step)
    }
}

fn im2col_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, b) = (args.at::<&Fake>(0)?, blocks(args, 1)?);
    let n = x.dim();
    ensure!(n == 3 || n == 4, "{}: expected 3 or 4 dimensions, got {x}", args.name());
    ensure!(x.sizes[n - 3..].iter().all(|s| !args.cx.is(s, 0)), "{}: {x} has nothing to unfold", args.name());
    let (h, w) = (b.along(0, &x.sizes[n - 2]), b.along(1, &x.sizes[n - 1]));
    let fits = [&h, &w].iter().all(|s| s.as_int().is_none_or(|s| s > 0));
    ensure!(fits, "{}: the window does not fit {x}", args.name());
    let rows = &x.sizes[n - 3] * (b.kernel[0] * b.kernel[1]);
    one(fresh(x, x.dtype, x.sizes[..n - 3].iter().cloned().chain([rows, &h * &w]).collect::<Vec<_>>()))
}

fn im2col(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, b): (&Tensor, Blocks) = (args.at(0)?, blocks(args, 1)?);
    dispatch!(all x.dtype(), |T| im2col_as::<T>(x, &b, &mut outs[0]))
}

fn im2col_as<T: Element>(x: &Tensor, b: &Blocks, out: &mut TensorMut) -> Result<()> {
    let n = x.rank();
    let [height, width] = [x.sizes()[n - 2] as usize, x.sizes()[n - 1] as usize];
    let count = |d: usize, size: usize| b.along(d, &Expr::from(size)).as_int().unwrap_or(0) as usize;
    let (rows, columns) = (count(0, height), count(1, width));
    let taps = (b.kernel[0] * b.kernel[1]) as usize;
    let x = Dense::<T>::of(x)?;
    fill(out, |out: &mut [T]| {
        for_out_rows(out, rows * columns, rows * columns, |i, out| {
            let (plane, tap) = (&x[i / taps * height * width..][..height * width], i % taps);
            let (kh, kw) = (tap / b.kernel[1] as usize, tap % b.kernel[1] as usize);
            let (down, along) = (b.inside(0, kh, rows, height), b.inside(1, kw, columns, width));
            if down.blocks.len() < rows || along.blocks.len() < columns {
                out.fill(T::default());
            }
            let outs = out.chunks_exact_mut(columns).skip(down.blocks.start);
            for (row, out) in down.pixels(width).zip(outs) {
                let out = &mut out[along.blocks.clone()];
                let row = &plane[row + along.pixel.min(width)..row + width];
                match along.step {
                    1 => out.copy_from_slice(&row[..out.len()]),
                    step => out.iter_mut().zip(row.iter().step_by(step)).for_each(|(y, &v)| *y = v),
                }
            }
        });
    })
}

fn col2im_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, sizes, b): (&Fake, Vec<Expr>, Blocks) = (args.at(0)?, args.at(1)?, blocks(args, 2)?);
    let (n, name) = (x.dim(), args.name());
    ensure!((n == 2 || n == 3) && sizes.len() == 2, "{name}: columns {x} to {} sizes", sizes.len());
    let taps = b.kernel[0] * b.kernel[1];
    let rows = &x.sizes[n - 2];
    ensure!(rows.as_int().is_none_or(|r| r > 0 && r % taps == 0), "{name}: {rows} rows are no blocks of {taps}");
    let (h, w) = (b.along(0, &sizes[0]), b.along(1, &sizes[1]));
    let fits = [&h, &w].iter().all(|s| s.as_int().is_none_or(|s| s > 0));
    ensure!(fits, "{name}: the window does not fit {} by {} pixels", sizes[0], sizes[1]);
    let count = &h * &w;
    ensure!(args.cx.may_be_same(&count, &x.sizes[n - 1]), "{name}: {} columns for {count} blocks", x.sizes[n - 1]);
    let channels = rows.floor_div(&Expr::from(taps));
    one(fresh(x, x.dtype, x.sizes[..n - 2].iter().cloned().chain([channels]).chain(sizes).collect::<Vec<_>>()))
}

fn col2im(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, b): (&Tensor, Blocks) = (args.at(0)?, blocks(args, 2)?);
    let out = &mut outs[0];
    let n = out.rank();
    let [height, width] = [out.sizes()[n - 2] as usize, out.sizes()[n - 1] as usize];
    let count = |d: usize, size: usize| b.along(d, &Expr::from(size)).as_int().unwrap_or(0) as usize;
    let (rows, columns) = (count(0, height), count(1, width));
    let taps = (b.kernel[0] * b.kernel[1]) as usize;
    computed!(x.dtype(), |T| {
        let x = Dense::<T>::of(x)?;
        fill(out, |out: &mut [T]| {
            let work = taps.saturating_mul(rows).saturating_mul(columns);
            for_out_rows(out, height * width, work, |plane, out| {
                out.fill(0.0);
                for tap in 0..taps {
                    let (kh, kw) = (tap / b.kernel[1] as usize, tap % b.kernel[1] as usize);
                    let from = &x[(plane * taps + tap) * rows * columns..][..rows * columns];
                    let (down, along) = (b.inside(0, kh, rows, height), b.inside(1, kw, columns, width));
                    let froms = from.chunks_exact(columns).skip(down.blocks.start);
                    vectorize(
                        #[inline(always)]
                        || {
                            for (row, from) in down.pixels(width).zip(froms) {
                                let from = &from[along.blocks.clone()];
                                let out = &mut out[row + along.pixel.min(width)..row + width];
                                match along.step {
                                    1 => fold_into(&mut out[..from.len()], from, |y, v| y + v),
                                    step => {
                                        let out = out.iter_mut().step_by(step);
                                        out.zip(from).for_each(|(y, &v)| *y += v);
                                    }
                                }
                            }
                        },
                    );
                }
            });
        })
    })
}
