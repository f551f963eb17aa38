//! Pools: maxima and averages over windows, fixed and adaptive, of one, two and three dimensions.
//!
//! Laws: a result without batch dimension comes from an input without one; channels last is kept, except by
//! `avg_pool3d` and the adaptive pools of three dimensions; among equal maxima the first one counts, NaN wins.

mod element;
mod kernel;
mod pixels;
pub mod windows;

use crate::support::checks::{fresh, fresh_in_format, in_c_int, per_dim};
use crate::support::meta::{MetaArgs, Metas};
use kernel::{average, maximum, scatter};
use oxport_ir::work::repeated;
use oxport_ir::{
    Args, Argument, Build, Builder, Class, Cost, Fake, FromArg, Meta, MetaCx, NodeId, OpDef, Real, Result, Val, World,
    ensure,
};
use oxport_sym::Expr;
use oxport_tensor::{DType, Tensor, TensorMut};
use windows::{Axis, adaptive, fractional, sliding};

/// The operators of this family.
pub static OPS: &[OpDef] = &[
    max::<1>(
        "aten::max_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], int[1] \
        dilation=[1], bool ceil_mode=False) -> Tensor",
    )
    .samples(&[
        "f32[2, 3, 8], 2",
        "f32[3, 8], [3], [2], [1]",
        "!f32[1, 1, 7], 3, 1, 0, 9223372036854775807",
        "!f32[1, 1, 7], 3, 1, 0, 2147483647",
    ]),
    max::<2>(
        "aten::max_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] \
        dilation=1, bool ceil_mode=False) -> Tensor",
    )
    .decomp(|b, a| first_of(b, a, "max_pool2d_with_indices"))
    .samples(&[
        "f32[2, 3, 8, 8], 2",
        "bf16[2, 3, 7, 7], [3, 3], [2, 2], [1, 1]",
        "f32[3, 7, 7], 2, 2, 0, 1, True",
        "i64[2, 3, 7, 7], 3, 1, 0, 2",
        "f32[2, 3, 8, 8]{192, 1, 24, 3}, 2",
        "!f32[2, 3, 8, 8], 2, 2, 2",
        "!f32[8, 8], 2",
    ]),
    max::<3>(
        "aten::max_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, int[3] \
        dilation=1, bool ceil_mode=False) -> Tensor",
    )
    .decomp(|b, a| first_of(b, a, "max_pool3d_with_indices"))
    .samples(&["f32[2, 3, 4, 4, 4], 2"]),
    max::<1>(
        "aten::max_pool1d_with_indices(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] \
        padding=[0], int[1] dilation=[1], bool ceil_mode=False) -> (Tensor, Tensor)",
    ),
    max::<2>(
        "aten::max_pool2d_with_indices(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] \
        padding=0, int[2] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)",
    )
    .samples(&["f32[2, 3, 8, 8], 2", "f32[2, 3, 7, 7], [3, 3], [2, 2], [1, 1]"]),
    max::<3>(
        "aten::max_pool3d_with_indices(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] \
        padding=0, int[3] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)",
    ),
    avg::<1>(
        "aten::avg_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], bool \
        ceil_mode=False, bool count_include_pad=True) -> Tensor",
    )
    .samples(&["f32[2, 3, 8], 2"]),
    avg::<2>(
        "aten::avg_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, bool \
        ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor",
    )
    .samples(&[
        "f32[2, 3, 8, 8], 2",
        "f64[2, 3, 7, 7], [3, 3], [2, 2], [1, 1], True, False",
        "f32[2, 3, 8, 8], 2, divisor_override=3",
    ]),
    avg::<3>(
        "aten::avg_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, bool \
        ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor",
    ),
    adaptive_avg::<1>("aten::adaptive_avg_pool1d(Tensor self, int[1] output_size) -> Tensor"),
    adaptive_avg::<2>("aten::adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor")
        .decomp(|b, a| mean_or(b, a, "_adaptive_avg_pool2d"))
        .samples(&[
            "f32[2, 3, 8, 7], [3, 4]",
            "bf16[2, 3, 8, 8]{192, 1, 24, 3}, [1, 1]",
            "f32[3, 8, 7], [3, 4]",
            "f32[0, 3, 4, 4], [1099511627776, 4]",
        ]),
    adaptive_avg::<3>("aten::adaptive_avg_pool3d(Tensor self, SymInt[3] output_size) -> Tensor")
        .decomp(|b, a| mean_or(b, a, "_adaptive_avg_pool3d")),
    adaptive_avg::<2>("aten::_adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor"),
    adaptive_avg::<3>("aten::_adaptive_avg_pool3d(Tensor self, SymInt[3] output_size) -> Tensor"),
    adaptive_max::<1>("aten::adaptive_max_pool1d(Tensor self, int[1] output_size) -> (Tensor, Tensor)"),
    adaptive_max::<2>("aten::adaptive_max_pool2d(Tensor self, int[2] output_size) -> (Tensor, Tensor)")
        .samples(&["f32[2, 3, 8, 7], [3, 4]", "f32[0, 3, 4, 4], [1099511627776, 4]"]),
    adaptive_max::<3>("aten::adaptive_max_pool3d(Tensor self, int[3] output_size) -> (Tensor, Tensor)"),
    fractional_form::<2>(
        "aten::fractional_max_pool2d(Tensor self, int[2] kernel_size, int[2] output_size, Tensor \
        random_samples) -> (Tensor, Tensor)",
    ),
    fractional_form::<3>(
        "aten::fractional_max_pool3d(Tensor self, int[3] kernel_size, int[3] output_size, Tensor \
        random_samples) -> (Tensor, Tensor)",
    ),
    unpool_form::<2>("aten::max_unpool2d(Tensor self, Tensor indices, SymInt[2] output_size) -> Tensor")
        .samples(&["f32[1, 2, 2, 2], i64[1, 2, 2, 2]<16, [4, 4]"]),
    unpool_form::<3>(
        "aten::max_unpool3d(Tensor self, Tensor indices, SymInt[3] output_size, int[3] stride, int[3] \
        padding) -> Tensor",
    ),
];

// Each row says over how many dimensions, `N`, its windows extend.

const fn max<const N: usize>(schema: &'static str) -> OpDef {
    OpDef::new(schema, |a| pool_meta(a, N, Kind::Max))
        .doc("The greatest element of each window (and where it was).")
        .fill(|a, o| max_pool(a, o, N))
        .cost(Class::Reduction, windows_cost::<N>)
        .any_strides()
}
const fn avg<const N: usize>(schema: &'static str) -> OpDef {
    OpDef::new(schema, |a| pool_meta(a, N, Kind::Average))
        .doc("The average of each window.")
        .fill(|a, o| avg_pool(a, o, N))
        .cost(Class::Reduction, windows_cost::<N>)
        .any_strides()
}
const fn adaptive_avg<const N: usize>(schema: &'static str) -> OpDef {
    OpDef::new(schema, |a| adaptive_meta(a, N, Kind::Average))
        .doc("The averages of so many windows.")
        .fill(|a, o| adaptive_avg_pool(a, o, N))
        .work(Class::Reduction)
        .any_strides()
}
const fn adaptive_max<const N: usize>(schema: &'static str) -> OpDef {
    OpDef::new(schema, |a| adaptive_meta(a, N, Kind::Max))
        .doc("The maxima of so many windows, and where they were.")
        .fill(|a, o| adaptive_max_pool(a, o, N))
        .work(Class::Reduction)
        .any_strides()
}
const fn fractional_form<const N: usize>(schema: &'static str) -> OpDef {
    OpDef::new(schema, |a| fractional_meta(a, N))
        .doc("The maxima of windows at random places.")
        .fill(fractional_pool)
        .cost(Class::Reduction, windows_cost::<N>)
}
const fn unpool_form<const N: usize>(schema: &'static str) -> OpDef {
    OpDef::new(schema, |a| unpool_meta(a, N))
        .doc("Zeros, with elements where a pool found them.")
        .fill(|a, o| unpool(a, o, N))
        .work(Class::Reduction)
        .any_strides()
}

/// Every element of the result, or of its gradient, takes part as often as a window has elements.
pub(super) fn windows_cost<const N: usize>(args: &Args<'_, Meta>, outs: &[Val]) -> Cost {
    let sizes = args.named::<Vec<i64>>("kernel_size").unwrap_or_default();
    let side = |d: usize| sizes.get(d).or(sizes.first()).map_or(1.0, |n| (*n).max(1) as f64);
    repeated(args, outs, (0..N).map(side).product())
}

/// What a pool takes of each window.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Max,
    Average,
}

/// How windows slide: one number per spatial dimension.
struct Window {
    kernel: Vec<i64>,
    stride: Vec<i64>,
    padding: Vec<i64>,
    dilation: Vec<i64>,
    ceil: bool,
}

fn window<'a, W: World>(args: &Args<'a, W>, n: usize) -> Result<Window> {
    let name = args.name();
    let numbers = |name: &str| per_dim(&args.named::<Vec<i64>>(name)?, n, name);
    let kernel = numbers("kernel_size")?;
    let stride: Vec<i64> = args.named("stride")?;
    let stride = if stride.is_empty() { kernel.clone() } else { per_dim(&stride, n, "stride")? };
    let padding = numbers("padding")?;
    let dilation = if args.has("dilation") { numbers("dilation")? } else { vec![1; n] };
    in_c_int(&[&kernel, &stride, &padding, &dilation])?;
    for d in 0..n {
        ensure!(
            kernel[d] > 0 && stride[d] > 0 && dilation[d] > 0,
            "{name}: kernel, stride and dilation must be positive"
        );
        let reach = (kernel[d] - 1) * dilation[d] + 1;
        ensure!((0..=reach / 2).contains(&padding[d]), "{name}: padding must be at most half of the kernel");
    }
    Ok(Window { kernel, stride, padding, dilation, ceil: args.named("ceil_mode")? })
}

/// Checks ranks and that there is something to pool.
fn checked_input<'a>(args: &MetaArgs<'a>, n: usize) -> Result<&'a Fake> {
    let x: &Fake = args.at(0)?;
    ensure!((n + 1..=n + 2).contains(&x.dim()), "{}: expected {} or {} dimensions, got {x}", args.name(), n + 1, n + 2);
    let empty = x.sizes.iter().skip(usize::from(x.dim() == n + 2)).any(|s| args.cx.is(s, 0));
    ensure!(!empty, "{}: input {x} has nothing to pool", args.name());
    ensure!(!x.dtype.is_complex() && !x.dtype.is_bool(), "{} is not implemented for {}", args.name(), x.dtype.name());
    Ok(x)
}

/// The results of a pool: values, in the input's memory format or contiguous, and indices where the operator gives
/// them.
fn results(args: &MetaArgs<'_>, x: &Fake, spatial: Vec<Expr>, keeps_format: bool) -> Metas {
    let n = spatial.len();
    let sizes: Vec<Expr> = x.sizes[..x.dim() - n].iter().cloned().chain(spatial).collect();
    let two = args.op.schema().is_some_and(|s| s.returns.len() == 2);
    let out = match keeps_format {
        true if n == 1 && x.dim() == 3 => of_one_row(args.cx, x, sizes),
        true => fresh_in_format(args.cx, x, x.dtype, sizes),
        false => fresh(x, x.dtype, sizes),
    };
    let indices = two.then(|| out.with_dtype(DType::I64));
    Ok([Some(out), indices].into_iter().flatten().map(Into::into).collect())
}

/// The result over a batch of sequences: they are pooled as images of one row.
fn of_one_row(cx: &MetaCx<'_>, x: &Fake, sizes: Vec<Expr>) -> Fake {
    let mut row = x.clone();
    row.sizes.insert(2, Expr::from(1i64));
    row.strides.insert(2, &x.strides[2] * &x.sizes[2]);
    let mut image = sizes.clone();
    image.insert(2, Expr::from(1i64));
    let mut out = fresh_in_format(cx, &row, x.dtype, image);
    out.sizes.remove(2);
    out.strides.remove(2);
    out
}

fn pool_meta(args: &MetaArgs<'_>, n: usize, kind: Kind) -> Metas {
    let w = window(args, n)?;
    let x = checked_input(args, n)?;
    if args.has("divisor_override") {
        let divisor: Option<i64> = args.named("divisor_override")?;
        ensure!(divisor != Some(0), "{}: divisor_override must not be 0", args.name());
    }
    let mut spatial = Vec::with_capacity(n);
    for d in 0..n {
        let size = &x.sizes[x.dim() - n + d];
        let reach = (w.kernel[d] - 1) * w.dilation[d] + 1;
        let slack = if w.ceil { w.stride[d] - 1 } else { 0 };
        let steps = (size + (2 * w.padding[d] - reach + slack)).floor_div(&Expr::from(w.stride[d]));
        // The last window must begin inside the input or its left padding.
        let begins = (&steps * w.stride[d]).ge(&(size + w.padding[d]));
        let out = if w.ceil && args.cx.decide(&begins, false) { steps } else { steps + 1 };
        ensure!(
            out.as_int().is_none_or(|n| n > 0),
            "{}: the kernel does not fit {x}: a size would be {out}",
            args.name()
        );
        spatial.push(out);
    }
    // `max_pool1d` has a kernel of its own.
    let is_own = n == 1 && kind == Kind::Max && args.op.schema().is_some_and(|s| s.returns.len() == 1);
    results(args, x, spatial, (n < 3 || kind == Kind::Max) && !is_own)
}

fn adaptive_meta(args: &MetaArgs<'_>, n: usize, kind: Kind) -> Metas {
    let x = checked_input(args, n)?;
    let sizes: Vec<Expr> = args.at(1)?;
    ensure!(sizes.len() == n, "{}: output_size: expected {n} numbers", args.name());
    ensure!(sizes.iter().all(|s| s.as_int().is_none_or(|s| s >= 0)), "{}: negative output size", args.name());
    // A global average is a mean, which keeps channels last in three dimensions too.
    let is_mean = kind == Kind::Average && sizes.iter().all(|s| args.cx.is(s, 1));
    results(args, x, sizes, n < 3 || is_mean)
}

/// The axes of a pool over a tensor, absent ones in front.
fn axes(x: &Tensor, n: usize, axis: impl Fn(usize, i64) -> Result<Axis>) -> Result<[Axis; 3]> {
    let sizes = &x.sizes()[x.rank() - n..];
    let mut all = [Axis::single(), Axis::single(), Axis::single()];
    for (d, &size) in sizes.iter().enumerate() {
        all[3 - n + d] = axis(d, size)?;
    }
    Ok(all)
}

fn sliding_axes(args: &Args<'_, Real>, x: &Tensor, out: &TensorMut, n: usize) -> Result<[Axis; 3]> {
    let w = window(args, n)?;
    let outs = &out.sizes()[x.rank() - n..];
    axes(x, n, |d, size| sliding(size, outs[d], [w.kernel[d], w.stride[d], w.padding[d], w.dilation[d]]))
}

fn max_pool(args: &Args<'_, Real>, outs: &mut [TensorMut], n: usize) -> Result<()> {
    let x: &Tensor = args.at(0)?;
    if outs[0].numel() == 0 {
        return Ok(());
    }
    let axes = sliding_axes(args, x, &outs[0], n)?;
    maximum(x, &|_| Ok(axes.clone()), false, n, outs)
}

fn avg_pool(args: &Args<'_, Real>, outs: &mut [TensorMut], n: usize) -> Result<()> {
    let x: &Tensor = args.at(0)?;
    let with_padding: bool = args.named("count_include_pad")?;
    let divisor: Option<i64> = if args.values.len() > 6 { args.at(6)? } else { None };
    if outs[0].numel() == 0 {
        return Ok(());
    }
    let mut axes = sliding_axes(args, x, &outs[0], n)?;
    if !with_padding {
        axes.iter_mut().for_each(Axis::forget_padding);
    }
    average(x, &axes, divisor, n, &mut outs[0])
}

fn adaptive_axes(args: &Args<'_, Real>, x: &Tensor, n: usize) -> Result<[Axis; 3]> {
    let sizes: Vec<i64> = args.at(1)?;
    axes(x, n, |d, size| adaptive(size, sizes[d]))
}

fn adaptive_avg_pool(args: &Args<'_, Real>, outs: &mut [TensorMut], n: usize) -> Result<()> {
    let x: &Tensor = args.at(0)?;
    if outs[0].numel() == 0 {
        return Ok(());
    }
    average(x, &adaptive_axes(args, x, n)?, None, n, &mut outs[0])
}

fn adaptive_max_pool(args: &Args<'_, Real>, outs: &mut [TensorMut], n: usize) -> Result<()> {
    let x: &Tensor = args.at(0)?;
    if outs[0].numel() == 0 {
        return Ok(());
    }
    let axes = adaptive_axes(args, x, n)?;
    maximum(x, &|_| Ok(axes.clone()), false, n, outs)
}

/// Per dimension the input's size, and first element, end and count of each window.
pub(crate) type Windows = Vec<(usize, Vec<(usize, usize, i64)>)>;

/// The windows of an average pool's call, by its kernel size.
pub(crate) fn sliding_windows(args: &Args<'_, Real>, x: &Tensor, outs: &[i64]) -> Result<Windows> {
    let w = window(args, outs.len())?;
    let with_padding: bool = args.named("count_include_pad")?;
    windows_of(x, outs, |d, size| {
        let mut axis = sliding(size, outs[d], [w.kernel[d], w.stride[d], w.padding[d], 1])?;
        if !with_padding {
            axis.forget_padding();
        }
        Ok(axis)
    })
}

/// The windows of an adaptive average pool's call.
pub(crate) fn adaptive_windows(_: &Args<'_, Real>, x: &Tensor, outs: &[i64]) -> Result<Windows> {
    windows_of(x, outs, |d, size| adaptive(size, outs[d]))
}

fn windows_of(x: &Tensor, outs: &[i64], axis: impl Fn(usize, i64) -> Result<Axis>) -> Result<Windows> {
    let sizes = x.sizes()[x.rank() - outs.len()..].iter().enumerate();
    sizes.map(|(d, &size)| axis(d, size).map(|axis| (axis.input, axis.windows))).collect()
}

fn fractional_meta(args: &MetaArgs<'_>, n: usize) -> Metas {
    let x = checked_input(args, n)?;
    let (_, kernel, sizes): (&Fake, Vec<i64>, Vec<i64>) = args.unpack()?;
    ensure!(kernel.len() == n && sizes.len() == n, "{}: sizes want {n} numbers", args.name());
    for d in 0..n {
        let input = x.sizes[x.dim() - n + d].as_int().unwrap_or(i64::MAX);
        let fits = sizes[d] > 0 && kernel[d] > 0 && sizes[d].checked_add(kernel[d] - 1).is_some_and(|end| end <= input);
        ensure!(fits, "{}: the kernel does not fit {x}", args.name());
    }
    // A sample for every plane and dimension; planes without a batch are one batch.
    let batch = if x.dim() == n + 2 { x.sizes[0].clone() } else { Expr::from(1i64) };
    let samples: &Fake = args.at(3)?;
    ensure!(samples.dim() == 3, "expected _random_samples to have 3 dimensions, got {samples}");
    let enough = args.cx.decide(&samples.sizes[0].ge(&batch), true);
    ensure!(enough, "expected _random_samples.size(0) no less than the input's batch size {batch}, got {samples}");
    for (have, want) in samples.sizes[1..].iter().zip([&x.sizes[x.dim() - n - 1], &Expr::from(n)]) {
        crate::support::checks::agree(args.cx, have, want, "sizes of _random_samples and the input")?;
    }
    results(args, x, sizes.into_iter().map(Expr::from).collect(), false)
}

fn fractional_pool(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, kernel, sizes, samples): (&Tensor, Vec<i64>, Vec<i64>, &Tensor) = args.unpack()?;
    let n = kernel.len();
    let samples = samples.to_vec::<f64>()?;
    let single = x.dtype() != DType::F64;
    // Two dimensions take their samples in the other order.
    let sample = move |plane: usize, d: usize| samples[plane * n + if n == 2 { 1 - d } else { d }];
    let of = |plane: usize| axes(x, n, |d, size| fractional(size, sizes[d], kernel[d], sample(plane, d), single));
    if x.numel() == 0 {
        return Ok(());
    }
    maximum(x, &of, true, n, outs)
}

fn unpool_meta(args: &MetaArgs<'_>, n: usize) -> Metas {
    let (x, indices, sizes): (&Fake, &Fake, Vec<Expr>) = args.unpack()?;
    ensure!((n + 1..=n + 2).contains(&x.dim()), "{}: expected {} or {} dimensions, got {x}", args.name(), n + 1, n + 2);
    ensure!(indices.dtype == DType::I64, "{}: indices must be int64", args.name());
    ensure!(x.dim() == indices.dim(), "{}: indices {indices} of {x}", args.name());
    for (a, b) in x.sizes.iter().zip(&indices.sizes) {
        crate::support::checks::agree(args.cx, a, b, "sizes of input and indices")?;
    }
    ensure!(sizes.len() == n, "{}: output_size: expected {n} numbers", args.name());
    let first = usize::from(x.dim() == n + 2);
    ensure!(!x.sizes[first..].iter().any(|s| args.cx.is(s, 0)), "{}: input {x} is empty", args.name());
    if args.values.len() > 3 {
        let (stride, padding): (Vec<i64>, Vec<i64>) = (args.at(3)?, args.at(4)?);
        ensure!(stride.len() == 3 && padding.len() == 3, "{}: stride and padding want 3 numbers", args.name());
        ensure!(stride.iter().all(|&s| s > 0), "{}: strides must be positive", args.name());
    }
    let sizes: Vec<Expr> = x.sizes[..x.dim() - n].iter().cloned().chain(sizes).collect();
    let out = if n == 2 { fresh_in_format(args.cx, x, x.dtype, sizes) } else { fresh(x, x.dtype, sizes) };
    crate::support::meta::one(out)
}

fn unpool(args: &Args<'_, Real>, outs: &mut [TensorMut], n: usize) -> Result<()> {
    let (x, indices): (&Tensor, &Tensor) = args.unpack()?;
    scatter(x, indices, n, &mut outs[0])
}

/// The first result of another operator on the same arguments.
fn first_of(b: &mut Builder<'_>, args: &Args<'_, Build>, op: &str) -> Result<Vec<Argument>> {
    let all: Vec<Argument> = args.values.iter().filter_map(Argument::from_arg).collect();
    Ok(vec![b.call_item(op, all, 0)?.into()])
}

/// The mean where there is one window, else another operator on the same arguments.
fn mean_or(b: &mut Builder<'_>, args: &Args<'_, Build>, op: &str) -> Result<Vec<Argument>> {
    let (x, sizes): (NodeId, Vec<Argument>) = args.unpack()?;
    if sizes.iter().all(|s| *s == Argument::Int(1)) {
        let dims: Vec<i64> = (1..=sizes.len() as i64).map(|d| -d).collect();
        return Ok(vec![b.call("mean.dim", (x, dims, true))?.into()]);
    }
    Ok(vec![b.call(op, (x, sizes))?.into()])
}
