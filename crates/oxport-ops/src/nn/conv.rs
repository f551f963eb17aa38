//! Convolutions, forward and transposed, of one, two and three dimensions.
//!
//! Laws: dtypes must be equal; an input without batch dimension gives a result without one; the result is channels last
//! where the input or the weight is (two and three dimensions), else contiguous.

mod composed;

use crate::support::checks::{agree, fresh, per_dim, same_dtype};
use crate::support::meta::{MetaArgs, Metas, channels_last_strides, listed, one};
use crate::support::product::{check_product_dtype, part};
use composed::conv_decomp;
use oxport_ir::work::pass;
use oxport_ir::{
    Arg, Args, Class, Cost, Error, Fake, FromArg, Meta, MetaCx, OpDef, Prepared, Real, Result, Val, World, ensure,
};
use oxport_sym::Expr;
use oxport_tensor::conv::{ConvOptions, Form, PackedKernel, With, convolution};
use oxport_tensor::{DType, Layout, Tensor, TensorMut, copy};
use std::sync::Arc;

/// The operators of this family.
pub static OPS: &[OpDef] = &[
    direct(
        "aten::convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, \
        SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups) -> Tensor",
    )
    .samples(&[
        "f32[2, 3, 8], f32[4, 3, 3], f32[4], [1], [1], [1], False, [0], 1",
        "f32[2, 4, 5, 5], f32[6, 2, 3, 3], None, [2, 2], [1, 1], [1, 1], False, [0, 0], 2",
        "f32[2, 4, 5, 5], f32[4, 3, 3, 3], f32[6], [2, 2], [1, 1], [1, 1], True, [1, 1], 2",
        "f64[1, 2, 4, 4, 4], f64[3, 2, 2, 2, 2], None, [1, 1, 1], [0, 0, 0], [2, 2, 2], False, [0, 0, \
        0], 1",
        "!f32[2, 4, 5, 5], f32[6, 3, 3, 3], None, [1], [0], [1], False, [0], 1",
    ]),
    form(
        "aten::_convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] \
        padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups, bool \
        benchmark, bool deterministic, bool cudnn_enabled, bool allow_tf32) -> Tensor",
    ),
    form(
        "aten::_convolution.deprecated(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, \
        SymInt[] padding, SymInt[] dilation, bool transposed, int[] output_padding, SymInt groups, bool \
        benchmark, bool deterministic, bool cudnn_enabled) -> Tensor",
    ),
    form(
        "aten::_convolution_mode(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, str \
        padding, SymInt[] dilation, SymInt groups) -> Tensor",
    ),
    form(
        "aten::mkldnn_convolution(Tensor self, Tensor weight, Tensor? bias, SymInt[] padding, SymInt[] \
        stride, SymInt[] dilation, SymInt groups) -> Tensor",
    ),
    form(
        "aten::conv1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=[1], SymInt[1] \
        padding=[0], SymInt[1] dilation=[1], SymInt groups=1) -> Tensor",
    )
    .samples(&[
        "f32[2, 3, 8], f32[4, 3, 3], f32[4]",
        "f32[3, 8], f32[4, 3, 3], None, 2, 1",
        "bf16[2, 4, 8], bf16[4, 1, 3], bf16[4], [1], [2], [2], 4",
    ]),
    form(
        "aten::conv1d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=[1], str \
        padding=\"valid\", SymInt[1] dilation=[1], SymInt groups=1) -> Tensor",
    ),
    form(
        "aten::conv2d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, 1], SymInt[2] \
        padding=[0, 0], SymInt[2] dilation=[1, 1], SymInt groups=1) -> Tensor",
    )
    .samples(&[
        "f32[2, 3, 8, 8], f32[4, 3, 3, 3], f32[4]",
        "f32[2, 4, 8, 8]{256, 1, 32, 4}, f32[4, 1, 3, 3], None, [1, 1], [1, 1], [1, 1], 4",
        "f32[2, 3, 8, 8], f32[4, 3, 1, 1], f32[4], 2",
        "i64[3, 8, 8], i64[4, 3, 2, 2]",
        "f32[1, 0, 4, 4], f32[2, 0, 3, 3]",
        "f32[1, 0, 3, 3], f32[2, 0, 3, 3]",
        "!f32[1, 2, 4, 4], f32[0, 2, 3, 3]",
        "!f32[1, 2, 4, 4], f32[2, 2, 0, 3]",
        "c64[1, 2, 4, 4], c64[3, 2, 2, 2]",
        "c64[4, 4, 4], c64[2, 2, 2, 2], c64[2], 2, 1, 1, 2",
        "f32[0, 3, 8, 8], f32[4, 3, 3, 3]",
        "!f32[2, 3, 2, 2], f32[4, 3, 3, 3]",
        "!f32[2, 3, 8, 8], f64[4, 3, 3, 3]",
    ]),
    form(
        "aten::conv2d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, 1], \
        str padding=\"valid\", SymInt[2] dilation=[1, 1], SymInt groups=1) -> Tensor",
    )
    .samples(&[
        "f32[2, 3, 8, 8], f32[4, 3, 3, 2], f32[4], padding=\"same\"",
        "!f32[2, 3, 8, 8], f32[4, 3, 3, 2], f32[4], 2, \"same\"",
    ]),
    form(
        "aten::conv3d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=[1, 1, 1], \
        SymInt[3] padding=[0, 0, 0], SymInt[3] dilation=[1, 1, 1], SymInt groups=1) -> Tensor",
    )
    .samples(&["f32[1, 2, 4, 4, 4], f32[3, 2, 2, 2, 2], f32[3]"]),
    form(
        "aten::conv3d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=[1, 1, \
        1], str padding=\"valid\", SymInt[3] dilation=[1, 1, 1], SymInt groups=1) -> Tensor",
    ),
    form(
        "aten::conv_transpose1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=[1], \
        SymInt[1] padding=[0], SymInt[1] output_padding=[0], SymInt groups=1, SymInt[1] dilation=[1]) \
        -> Tensor",
    )
    .samples(&["f32[2, 3, 8], f32[3, 4, 3], f32[4], 2, 1, 1"]),
    form(
        "aten::conv_transpose2d.input(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] \
        stride=[1, 1], SymInt[2] padding=[0, 0], SymInt[2] output_padding=[0, 0], SymInt groups=1, \
        SymInt[2] dilation=[1, 1]) -> Tensor",
    )
    .samples(&[
        "f32[2, 4, 5, 5], f32[4, 3, 3, 3], f32[6], 2, 1, 1, 2",
        "f32[4, 5, 5], f32[4, 3, 3, 3]{27, 1, 9, 3}",
        "f32[4, 5, 5]{1, 20, 4}, f32[4, 3, 3, 3]",
    ]),
    form(
        "aten::conv_transpose3d.input(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] \
        stride=[1, 1, 1], SymInt[3] padding=[0, 0, 0], SymInt[3] output_padding=[0, 0, 0], SymInt \
        groups=1, SymInt[3] dilation=[1, 1, 1]) -> Tensor",
    )
    .samples(&[
        "f32[1, 2, 3, 3, 3], f32[2, 3, 2, 2, 2]",
        "f32[1, 2, 3, 3, 3]{54, 1, 18, 6, 2}, f32[2, 3, 2, 2, 2]",
        "f32[2, 2, 3, 3, 3]{54, 1, 18, 6, 2}, f32[2, 3, 2, 2, 2]",
    ]),
];

/// A form that is `aten::convolution` with other arguments.
const fn form(schema: &'static str) -> OpDef {
    direct(schema).decomp(conv_decomp)
}

const fn direct(schema: &'static str) -> OpDef {
    OpDef::new(schema, conv_meta)
        .doc("The convolution of images with kernels, or its transpose.")
        .fill(conv)
        .cost(Class::Convolution, conv_cost)
        .prepare(prepare_conv)
        .fills_gaps()
        .reads_rows_if(is_per_channel)
        .channels_last_if(is_faster_channels_last)
}

/// Zeros around the input: given, or by name.
enum Padding<I> {
    Given(Vec<I>),
    Valid,
    Same,
}

/// What the forms have in common; one number per spatial dimension.
struct Spec<'a, T, I> {
    x: &'a T,
    weight: &'a T,
    bias: Option<&'a T>,
    stride: Vec<I>,
    padding: Padding<I>,
    dilation: Vec<I>,
    transposed: bool,
    output_padding: Vec<I>,
    groups: I,
}

/// Whether a call is of a transposed convolution: it says so, or its form pads the output, as only these do.
fn is_transposed<W: World>(args: &Args<'_, W>) -> Result<bool> {
    if args.has("transposed") { args.named("transposed") } else { Ok(args.has("output_padding")) }
}

/// Reads a call; `rank` gives the number of dimensions of a tensor.
fn spec<'a, W: World, I: Clone>(
    args: &Args<'a, W>,
    rank: impl Fn(&W::Tensor) -> usize,
    zero: I,
) -> Result<Spec<'a, W::Tensor, I>>
where
    &'a W::Tensor: FromArg<'a, W>,
    I: FromArg<'a, W>,
{
    let (x, weight): (&W::Tensor, &W::Tensor) = (args.at(0)?, args.at(1)?);
    let n = rank(weight).saturating_sub(2);
    ensure!((1..=3).contains(&n), "{}: a weight of {} dimensions", args.name(), n + 2);
    ensure!(
        (n + 1..=n + 2).contains(&rank(x)),
        "{}: an input of {} dimensions for {n} spatial ones",
        args.name(),
        rank(x)
    );
    let numbers = |name: &str| per_dim(&args.named::<Vec<I>>(name)?, n, name);
    let padding = match padding_name(args)? {
        Some("same") => Padding::Same,
        Some("valid") => Padding::Valid,
        Some(other) => return Err(Error::invalid(format!("{}: no padding `{other}`", args.name()))),
        None => Padding::Given(numbers("padding")?),
    };
    Ok(Spec {
        x,
        weight,
        bias: args.named("bias")?,
        stride: numbers("stride")?,
        padding,
        dilation: numbers("dilation")?,
        transposed: is_transposed(args)?,
        output_padding: if args.has("output_padding") { numbers("output_padding")? } else { vec![zero; n] },
        groups: args.named("groups")?,
    })
}

/// The padding, if it is a name and no numbers.
fn padding_name<'a, W: World>(args: &Args<'a, W>) -> Result<Option<&'a str>> {
    Ok(match args.named::<&Arg<W>>("padding")? {
        Arg::Str(name) => Some(name),
        _ => None,
    })
}

/// A multiplication and an addition for every element of the result (of the input, where transposed) and of one kernel.
fn conv_cost(args: &Args<'_, Meta>, outs: &[Val]) -> Cost {
    let cost = pass(args, outs);
    let count = |t: &Fake| args.cx.hint(&t.numel()).unwrap_or(1) as f64;
    let Ok(s) = spec::<_, Expr>(args, Fake::dim, Expr::from(0i64)) else { return cost };
    let kernels = s.weight.sizes.first().and_then(|n| args.cx.hint(n)).unwrap_or(1).max(1) as f64;
    let elements = if s.transposed { count(s.x) } else { cost.flops };
    Cost { flops: 2.0 * elements * count(s.weight) / kernels, ..cost }
}

fn conv_meta(args: &MetaArgs<'_>) -> Metas {
    let s = spec::<_, Expr>(args, Fake::dim, Expr::from(0i64))?;
    let (cx, name, n) = (args.cx, args.name(), s.weight.dim() - 2);
    let dtype = same_dtype(args, &[s.x, s.weight])?;
    check_product_dtype(dtype)?;
    let batched = s.x.dim() == n + 2;
    let channels = &s.x.sizes[usize::from(batched)];
    let at_least = |values: &[Expr], least: i64| values.iter().all(|v| v.as_int().is_none_or(|v| v >= least));
    ensure!(at_least(&s.stride, 1) && at_least(&s.dilation, 1), "{name}: strides and dilations must be positive");
    ensure!(at_least(std::slice::from_ref(&s.groups), 1), "{name}: groups must be positive");
    let (first, second) = (&s.weight.sizes[0], &s.weight.sizes[1]);
    let (out_channels, expected) =
        if s.transposed { (second * &s.groups, first.clone()) } else { (first.clone(), second * &s.groups) };
    ensure!(
        cx.may_be_same(channels, &expected),
        "Given {}={}, weight of size {}, expected input{} to have {expected} channels, but got {channels} channels \
        instead",
        if s.transposed { "transposed" } else { "groups" },
        if s.transposed { "1".to_string() } else { s.groups.to_string() },
        listed(&s.weight.sizes),
        listed(&s.x.sizes)
    );
    if let (Some(c), Some(g)) = (first.as_int(), s.groups.as_int()) {
        ensure!(
            c >= g,
            "Given groups={g}, expected weight to be at least {g} at dimension 0, but got weight {} instead",
            s.weight
        );
        ensure!(c % g == 0, "{name}: {c} channels do not make {g} groups");
    }
    let hollow = s.weight.sizes[2..].iter().any(|k| cx.is(k, 0)) || s.transposed && cx.is(second, 0);
    ensure!(!hollow, "{name}: kernel size should be greater than zero, but got a weight {}", s.weight);
    has_pixels(cx, s.x, n)?;
    if let Some(bias) = s.bias {
        same_dtype(args, &[s.x, bias])?;
        ensure!(bias.dim() == 1, "{name}: the bias must be one number per channel, got {bias}");
        agree(cx, &bias.sizes[0], &out_channels, "channels of bias and result")?;
    }
    let mut sizes: Vec<Expr> = s.x.sizes[..usize::from(batched)].to_vec();
    sizes.push(out_channels);
    for d in 0..n {
        let (input, kernel) = (&s.x.sizes[s.x.dim() - n + d], &s.weight.sizes[d + 2]);
        let reach = &s.dilation[d] * &(kernel - 1);
        let twice = match &s.padding {
            Padding::Given(p) => {
                ensure!(at_least(&p[d..=d], 0), "{name}: padding must not be negative");
                &p[d] * 2
            }
            Padding::Valid => Expr::from(0i64),
            Padding::Same => {
                ensure!(s.stride[d].as_int() == Some(1), "{name}: padding `same`: expected strides of 1");
                reach.clone()
            }
        };
        let size = if s.transposed {
            let limit = cx.decide(&s.output_padding[d].lt(&s.stride[d].max(&s.dilation[d])), true);
            ensure!(limit, "{name}: output padding must be smaller than stride or dilation");
            &(&(input - 1) * &s.stride[d]) - &twice + &reach + &s.output_padding[d] + 1
        } else {
            (&(input + &twice) - &reach - 1).floor_div(&s.stride[d]) + 1
        };
        ensure!(
            size.as_int().is_none_or(|n| n > 0),
            "{name}: the kernel does not fit the input: a size would be {size}"
        );
        sizes.push(size);
    }
    let out = fresh(s.x, dtype, sizes);
    // A sequence is an image of one row, which is made contiguous first: its weight alone decides.
    let last = match n {
        1 => cx.suggests_channels_last(&as_image(s.weight)),
        _ if s.transposed && is_native(&s, cx) => false,
        // A volume without a batch is in row-major order, whatever its weight.
        _ => batched && cx.suggests_channels_last(s.x) || (batched || n == 2) && cx.suggests_channels_last(s.weight),
    };
    let strides = match (last, batched) {
        (false, _) => out.strides,
        (true, true) => channels_last_strides(&out.sizes),
        (true, false) => {
            let batch: Vec<Expr> = [Expr::from(1i64)].into_iter().chain(out.sizes.iter().cloned()).collect();
            channels_last_strides(&batch).into_iter().skip(1).collect()
        }
    };
    one(Fake { strides, ..out })
}

/// True for the convolutions of volumes that oneDNN is not asked for: PyTorch's own kernels know row-major order only.
/// (`use_mkldnn` of `aten/src/ATen/native/Convolution.cpp`: those of float64, and the small ones of one volume.)
fn is_native(s: &Spec<'_, Fake, Expr>, cx: &MetaCx<'_>) -> bool {
    const SMALL: i64 = 20_480;
    let [_, _, _, height, width] = &s.weight.sizes[..] else { return false };
    let hint = |n: &Expr| cx.hint(n).unwrap_or(1);
    let lead = s.x.sizes.iter().take(s.x.dim() - 1).map(hint).fold(1i64, i64::saturating_mul);
    let is_one = s.x.dim() < s.weight.dim() || cx.is(&s.x.sizes[0], 1);
    match s.x.dtype {
        DType::F16 | DType::BF16 => false,
        DType::F32 => is_one && cx.is(&s.groups, 1) && !(hint(height) > 3 && hint(width) > 3) && lead <= SMALL,
        _ => true,
    }
}

/// A tensor of sequences as images of one row.
fn as_image(t: &Fake) -> Fake {
    let [mut sizes, mut strides] = [&t.sizes, &t.strides].map(|dims| dims.to_vec());
    sizes.insert(2, Expr::from(1i64));
    strides.insert(2, &t.sizes[2] * &t.strides[2]);
    Fake { sizes: sizes.into(), strides: strides.into(), ..t.clone() }
}

/// Whether the kernel is faster over channels that are neighbors: there are enough of them to fill registers.
fn is_faster_channels_last(args: &MetaArgs<'_>) -> Result<bool> {
    let s = spec::<_, Expr>(args, Fake::dim, Expr::from(0i64))?;
    let (n, cx) = (s.weight.dim() - 2, args.cx);
    let weight: Option<Vec<i64>> = s.weight.sizes.iter().map(|size| cx.hint(size)).collect();
    let (Some(weight), Some(groups)) = (weight, s.groups.as_int()) else { return Ok(false) };
    let options = ConvOptions { groups, transposed: s.transposed, ..Default::default() };
    let is_plane = s.x.sizes[2..].iter().all(|size| cx.hint(size).is_none_or(|size| size > 1));
    let is_batched = s.x.dim() == n + 2;
    Ok(is_batched && is_plane && options.is_faster_over_pixels(&weight) && s.x.dtype.is_float())
}

/// Refuses an input whose last `n` dimensions, the pixels, have a size of 0, as PyTorch does when it chooses an
/// algorithm: only batch and channels may be none.
pub(crate) fn has_pixels(cx: &MetaCx<'_>, x: &Fake, n: usize) -> Result<()> {
    let (lead, pixels) = x.sizes.split_at(x.dim() - n);
    let has_zero = |sizes: &[Expr]| sizes.iter().any(|size| cx.is(size, 0));
    ensure!(
        !has_zero(pixels) || has_zero(lead),
        "Only zero batch or zero channel inputs are supported, but got input shape: {x}"
    );
    Ok(())
}

fn conv(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let s = spec::<_, i64>(args, Tensor::rank, 0)?;
    let n = s.weight.rank() - 2;
    let batched = s.x.rank() == n + 2;
    let mut x = if batched { s.x.clone() } else { s.x.view(|l| l.unsqueeze(0))? };
    let padding = match &s.padding {
        Padding::Given(p) => p.clone(),
        Padding::Valid => vec![0; n],
        Padding::Same => {
            let far = || Error::invalid(format!("{}: dilation {:?} is too large", args.name(), s.dilation));
            let total = (0..n).map(|d| s.dilation[d].checked_mul(s.weight.sizes()[d + 2] - 1).ok_or_else(far));
            let total = total.collect::<Result<Vec<i64>>>()?;
            x = grown(&x, &total.iter().map(|t| t % 2).collect::<Vec<_>>())?;
            total.iter().map(|t| t / 2).collect()
        }
    };
    let options = ConvOptions {
        stride: &s.stride,
        padding: &padding,
        dilation: &s.dilation,
        transposed: s.transposed,
        output_padding: &s.output_padding,
        groups: s.groups,
    };
    let out = &mut outs[0];
    let layout = if batched { out.layout().clone() } else { out.layout().unsqueeze(0)? };
    let with = With { packed: args.prepared(), after: args.after(), sliding: args.sliding() };
    part(out, layout, |out| Ok(convolution(&x, s.weight, s.bias, &options, with, out)?))
}

/// Whether it has a constant kernel for each channel, and no padding that is copied around the input.
fn is_per_channel(args: &Args<'_, Real>) -> bool {
    let is_one = |w: &Tensor| w.rank() > 2 && w.sizes()[1] == 1 && w.sizes()[0] > 1;
    let has_one = args.at::<Option<&Tensor>>(1).is_ok_and(|weight| weight.is_some_and(is_one));
    let is_said = args.named::<&Arg<Real>>("padding").is_ok_and(|padding| matches!(padding, Arg::Str(_)));
    has_one && !is_said && is_transposed(args).is_ok_and(|transposed| !transposed)
}

/// The weight's panels, for the strides that the result will have, or what Winograd's algorithm multiplies with.
fn prepare_conv(args: &Args<'_, Real>, result: Option<&Val>) -> Result<Option<Prepared>> {
    let Some(weight) = args.at::<Option<&Tensor>>(1)? else { return Ok(None) };
    let result = result.and_then(Val::as_tensor);
    let is_pixels = result.is_some_and(|out| out.strides.get(1).is_some_and(|stride| stride.as_int() == Some(1)));
    let form = if is_pixels { Form::Pixels } else { Form::Planes };
    let plane = result.filter(|_| is_pixels && args.cx.may_round).and_then(|out| {
        let ([_, _, h, w] | [_, _, _, h, w]) = &out.sizes[..] else { return None };
        Some([h.as_int()?, w.as_int()?])
    });
    if let Some(plane) = plane
        && fits_winograd(args, weight, plane)?
    {
        let made = args.cx.makings().once(weight, |w| Ok(Some(Transformed(Arc::new(PackedKernel::winograd(w)?)))))?;
        return Ok(made.map(|made| Prepared::new(made.0.clone())));
    }
    let (stride, dilation) = (args.named::<Vec<i64>>("stride")?, args.named::<Vec<i64>>("dilation")?);
    let (groups, transposed) = (args.named("groups")?, is_transposed(args)?);
    let options = ConvOptions { stride: &stride, dilation: &dilation, groups, transposed, ..Default::default() };
    let made = args.cx.makings().once(weight, |w| Ok(PackedKernel::of_constant(w, form, &options)?))?;
    Ok(made.map(Prepared::new))
}

/// What Winograd's algorithm takes of a weight, beside the panels that other calls may take of the same one.
struct Transformed(Arc<PackedKernel>);

/// Whether Winograd's algorithm is for a call whose results have such planes.
fn fits_winograd(args: &Args<'_, Real>, weight: &Tensor, plane: [i64; 2]) -> Result<bool> {
    // That of 3×3 by name: another kernel is not for it.
    let padding = match padding_name(args)? {
        Some(name) => vec![i64::from(name == "same")],
        None => args.named("padding")?,
    };
    let options = ConvOptions {
        stride: &args.named::<Vec<i64>>("stride")?,
        padding: &padding,
        dilation: &args.named::<Vec<i64>>("dilation")?,
        transposed: is_transposed(args)?,
        output_padding: &[0],
        groups: args.named("groups")?,
    };
    Ok(options.fits_winograd(weight, plane))
}

/// A tensor with so many zeros more at the end of each spatial dimension.
fn grown(x: &Tensor, more: &[i64]) -> Result<Tensor> {
    if more.iter().all(|&m| m == 0) {
        return Ok(x.clone());
    }
    let sizes: Vec<i64> = x.sizes().iter().enumerate().map(|(d, &s)| s + if d < 2 { 0 } else { more[d - 2] }).collect();
    let mut out = TensorMut::empty(x.dtype(), Layout::contiguous(&sizes)?)?;
    oxport_tensor::dispatch!(all x.dtype(), |T| {
        out.as_mut_slice::<T>().into_iter().for_each(|s| s.fill(T::default()));
        Ok::<(), Error>(())
    })?;
    let inside = Layout::new(x.sizes(), out.strides(), 0)?;
    out.part(inside, |out| copy(x, out))?;
    Ok(out.freeze())
}
