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
use oxport_tensor::{Element, Tensor, TensorMut, dispatch};

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
    .samples(&["f32[2, 12, 16], [5, 5], [2, 2], [1, 1], [0, 0], [1, 1]"]),
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
    /// The pixel of tap `k` of block `i` along a dimension, if it is inside.
    fn place(&self, d: usize, i: usize, k: usize, size: usize) -> Option<usize> {
        let at = i as i64 * self.stride[d] - self.padding[d] + k as i64 * self.dilation[d];
        usize::try_from(at).ok().filter(|&at| at < size)
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
            for (r, out) in out.chunks_exact_mut(columns).enumerate() {
                let Some(row) = b.place(0, r, kh, height).map(|h| &plane[h * width..][..width]) else {
                    out.fill(T::default());
                    continue;
                };
                for (c, y) in out.iter_mut().enumerate() {
                    *y = b.place(1, c, kw, width).map_or(T::default(), |w| row[w]);
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
    let count = &b.along(0, &sizes[0]) * &b.along(1, &sizes[1]);
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
                    for (r, from) in from.chunks_exact(columns).enumerate() {
                        let Some(h) = b.place(0, r, kh, height) else { continue };
                        for (c, &v) in from.iter().enumerate() {
                            if let Some(w) = b.place(1, c, kw, width) {
                                out[h * width + w] += v;
                            }
                        }
                    }
                }
            });
        })
    })
}
