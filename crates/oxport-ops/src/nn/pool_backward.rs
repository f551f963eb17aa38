//! Gradients of pools.

use crate::nn::pool::{Windows, adaptive_windows, sliding_windows, windows_cost};
use crate::support::checks::{floating, fresh, fresh_in_format, of_sizes};
use crate::support::dense::{Compute, Dense, computed, fill};
use crate::support::linear_backward::{Axis, spread};
use crate::support::meta::{MetaArgs, Metas, one};
use oxport_ir::{Args, Class, Fake, OpDef, Real, Result, ensure};
use oxport_tensor::{DType, Tensor, TensorMut};

/// The operators of this family.
pub static OPS: &[OpDef] = &[
    by_indices::<2>(
        "aten::max_pool2d_with_indices_backward(Tensor grad_output, Tensor self, int[2] kernel_size, \
        int[2] stride, int[2] padding, int[2] dilation, bool ceil_mode, Tensor indices) -> Tensor",
    )
    .samples(&[
        "f32[2, 3, 2, 2], f32[2, 3, 4, 4], 2, 2, 0, 1, False, i64[2, 3, 2, 2]<16",
        "!f32[2, 3, 2, 2], f32[2, 3, 4, 4], 2, 2, 0, 1, False, i64[2, 3, 2, 1]<16",
    ]),
    by_indices::<3>(
        "aten::max_pool3d_with_indices_backward(Tensor grad_output, Tensor self, int[3] kernel_size, \
        int[3] stride, int[3] padding, int[3] dilation, bool ceil_mode, Tensor indices) -> Tensor",
    ),
    by_indices::<2>("aten::adaptive_max_pool2d_backward(Tensor grad_output, Tensor self, Tensor indices) -> Tensor"),
    by_indices::<3>("aten::adaptive_max_pool3d_backward(Tensor grad_output, Tensor self, Tensor indices) -> Tensor"),
    by_indices::<2>(
        "aten::fractional_max_pool2d_backward(Tensor grad_output, Tensor self, int[2] kernel_size, \
        int[2] output_size, Tensor indices) -> Tensor",
    ),
    by_indices::<3>(
        "aten::fractional_max_pool3d_backward(Tensor grad_output, Tensor self, int[3] kernel_size, \
        int[3] output_size, Tensor indices) -> Tensor",
    ),
    by_sliding_windows::<2>(
        "aten::avg_pool2d_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] stride, \
        int[2] padding, bool ceil_mode, bool count_include_pad, int? divisor_override) -> Tensor",
    )
    .samples(&["f32[2, 3, 2, 2], f32[2, 3, 4, 4], [2, 2], [], [0, 0], False, True, None"]),
    by_sliding_windows::<3>(
        "aten::avg_pool3d_backward(Tensor grad_output, Tensor self, int[3] kernel_size, int[3] stride, \
        int[3] padding, bool ceil_mode, bool count_include_pad, int? divisor_override) -> Tensor",
    ),
    by_adaptive_windows::<2>("aten::_adaptive_avg_pool2d_backward(Tensor grad_output, Tensor self) -> Tensor")
        .samples(&["f32[2, 3, 2, 2], f32[2, 3, 5, 4]"]),
    by_adaptive_windows::<3>("aten::_adaptive_avg_pool3d_backward(Tensor grad_output, Tensor self) -> Tensor"),
];

// Each row says over how many dimensions, `N`, its windows extend.

const fn by_indices<const N: usize>(schema: &'static str) -> OpDef {
    OpDef::new(schema, |a| pool_meta(a, N))
        .doc("The gradient of a maximum pool: to where the maxima were.")
        .fill(|a, o| to_indices(a, o, N))
        .work(Class::Reduction)
}
const fn by_sliding_windows<const N: usize>(schema: &'static str) -> OpDef {
    averages::<N>(schema).fill(|a, o| to_windows(a, o, N, sliding_windows)).cost(Class::Reduction, windows_cost::<N>)
}
const fn by_adaptive_windows<const N: usize>(schema: &'static str) -> OpDef {
    averages::<N>(schema).fill(|a, o| to_windows(a, o, N, adaptive_windows)).work(Class::Reduction)
}
const fn averages<const N: usize>(schema: &'static str) -> OpDef {
    OpDef::new(schema, |a| pool_meta(a, N)).doc("The gradient of an average pool: evenly over the windows.")
}

fn pool_meta(args: &MetaArgs<'_>, n: usize) -> Metas {
    let (grad, x): (&Fake, &Fake) = args.unpack()?;
    let name = args.name();
    floating(args, x, false)?;
    ensure!(grad.dim() == x.dim() && (n + 1..=n + 2).contains(&x.dim()), "{name}: gradient {grad} of {x}");
    ensure!(grad.dtype == x.dtype, "{name}: gradient {grad} of {x}");
    for (a, b) in grad.sizes[..x.dim() - n].iter().zip(&x.sizes) {
        crate::support::checks::agree(args.cx, a, b, "sizes of gradient and input")?;
    }
    if let Some((i, _)) = args.op.schema().and_then(|s| s.arg("indices")) {
        let indices: &Fake = args.at(i)?;
        ensure!(indices.dtype == DType::I64, "{name}: indices {indices}");
        of_sizes(args, indices, &grad.sizes, "indices")?;
    }
    let empty = x.sizes[usize::from(x.dim() == n + 2)..].iter().any(|s| args.cx.is(s, 0));
    ensure!(!empty, "{name}: input {x} is empty");
    one(if n == 2 { fresh_in_format(args.cx, x, x.dtype, x.sizes.clone()) } else { fresh(x, x.dtype, x.sizes.clone()) })
}

fn to_indices(args: &Args<'_, Real>, outs: &mut [TensorMut], n: usize) -> Result<()> {
    let (grad, x): (&Tensor, &Tensor) = args.unpack()?;
    let indices: &Tensor = args.named("indices")?;
    let volume = |t: &Tensor| t.sizes()[t.rank() - n..].iter().product::<i64>() as usize;
    let (from, to) = (volume(grad), volume(x));
    let indices = Dense::<i64>::of(indices)?;
    let outside = indices.iter().find(|&&i| i < 0 || i >= to as i64);
    ensure!(outside.is_none(), "{}: index {outside:?} is outside of {to} elements", args.name());
    computed!(grad.dtype(), |T| {
        let grad = Dense::<T>::of(grad)?;
        fill(&mut outs[0], |out: &mut [T]| {
            out.fill(0.0);
            for (plane, out) in out.chunks_exact_mut(to.max(1)).enumerate() {
                for i in plane * from..(plane + 1) * from {
                    out[indices[i] as usize] += grad[i];
                }
            }
        })
    })
}

fn to_windows(
    args: &Args<'_, Real>,
    outs: &mut [TensorMut],
    n: usize,
    windows: fn(&Args<'_, Real>, &Tensor, &[i64]) -> Result<Windows>,
) -> Result<()> {
    let (grad, x): (&Tensor, &Tensor) = args.unpack()?;
    if x.numel() == 0 {
        // Its sizes may be immense nevertheless.
        return Ok(());
    }
    let windows = windows(args, x, &grad.sizes()[grad.rank() - n..])?;
    let divisor: Option<i64> = if args.values.len() > 7 { args.at(7)? } else { None };
    computed!(grad.dtype(), |T| {
        let axes: Vec<Axis<T>> = windows
            .iter()
            .enumerate()
            .map(|(d, (size, windows))| {
                let share = |&(start, end, count): &(usize, usize, i64)| {
                    let all = match divisor {
                        Some(all) => {
                            if d == 0 {
                                all
                            } else {
                                1
                            }
                        }
                        None => count,
                    };
                    (start..end).map(|i| (i, T::of(1.0) / T::of(all as f64))).collect()
                };
                Axis { size: *size, shares: windows.iter().map(share).collect() }
            })
            .collect();
        spread(grad, &axes, &mut outs[0])
    })
}
