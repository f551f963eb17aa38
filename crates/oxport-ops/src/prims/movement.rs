//! PyTorch's primitive operators that move, reduce and make elements, as the ATen operators that they are. The
//! elementwise ones are in `prims`.
//!
//! Law: a reduction by a primitive keeps the dtype, unless another one is named.

use crate::support::composite::{composed, composite};
use oxport_ir::{Args, Argument, Build, Builder, Effect, Exact, NodeId, OpDef, Result, ensure};
use oxport_tensor::DType;

/// The table.
pub static OPS: &[OpDef] = &[
    composite("prims::transpose(Tensor(a) a, int[] permutation) -> Tensor(a)", "permute(a, permutation)")
        .doc("The dimensions in another order.")
        .samples(&["f32[2, 3, 4], [2, 0, 1]"]),
    composite("prims::squeeze(Tensor(a) a, int[] dimensions) -> Tensor(a)", "squeeze.dims(a, dimensions)")
        .doc("Without some dimensions of size 1.")
        .samples(&["f32[2, 1, 3], [1]"]),
    composite("prims::view_of(Tensor(a) a) -> Tensor(a)", "alias(a)").doc("The tensor itself.").samples(&["f32[2, 3]"]),
    composite("prims::view_of_dtype(Tensor(a) a, ScalarType dtype) -> Tensor(a)", "view.dtype(a, dtype)")
        .doc("The same bytes read as another dtype.")
        .samples(&["f32[2, 3], int32"]),
    composite("prims::rev(Tensor a, int[] dims) -> Tensor", "flip(a, dims)")
        .exact(Exact::Bits)
        .doc("Some dimensions reversed.")
        .samples(&["f32[2, 3], [0]"]),
    composite("prims::cat(Tensor[] tensors, int dim) -> Tensor", "cat(tensors, dim)")
        .exact(Exact::Bits)
        .doc("Tensors one after the other along a dimension.")
        .samples(&["[f32[2, 3], f32[2, 1]], 1"]),
    composite(
        "prims::collapse_view(Tensor(a) a, int start, int end) -> Tensor(a)",
        "flatten.using_ints(a, start, end)",
    )
    .doc("Neighboring dimensions made one.")
    .samples(&["f32[2, 3, 4], 0, 1"]),
    composite("prims::collapse(Tensor a, int start, int end) -> Tensor", "clone(flatten.using_ints(a, start, end))")
        .doc("Neighboring dimensions made one, copied.")
        .samples(&["f32[2, 3, 4], 0, 1"]),
    composite(
        "prims::split_dim(Tensor(a) a, int dim, SymInt outer_length) -> Tensor(a)",
        "unflatten.int(a, dim, [outer_length, -1])",
    )
    .doc("One dimension made two.")
    .samples(&["f32[6, 2], 0, 3"]),
    composite("prims::reshape(Tensor a, SymInt[] shape) -> Tensor", "reshape(a, shape)")
        .doc("The elements in other sizes.")
        .samples(&["f32[6], [2, 3]"]),
    composed(
        "prims::broadcast_in_dim(Tensor(a) a, SymInt[] shape, int[] broadcast_dimensions) -> Tensor(a)",
        broadcast_in_dim,
    )
    .doc("Broadcast to some sizes; each dimension says where it goes.")
    .samples(&["f32[3], [2, 3, 4], [1]", "f32[], [2], []", "!f32[3], [2, 3], [0, 1]"]),
    composite(
        "prims::as_strided_scatter(Tensor self, Tensor src, SymInt[] size, SymInt[] stride, SymInt \
        storage_offset) -> Tensor",
        "as_strided_scatter(self, src, size, stride, storage_offset)",
    )
    .exact(Exact::Bits)
    .doc("A copy with the elements of a strided view of it replaced.")
    .samples(&["f32[8], f32[2, 3], [2, 3], [3, 1], 1"]),
    composite("prims::device_put(Tensor a, Device device, bool non_blocking=False) -> Tensor", "clone(a)")
        .doc("A copy on a device; there is one.")
        .samples(&["f32[2], \"cpu\""]),
    composed("prims::sum(Tensor inp, int[]? dims, *, ScalarType? output_dtype=None) -> Tensor", sum)
        .doc("Sums over dimensions.")
        .samples(&["f32[2, 3], [1]", "i32[2, 3], [0, 1]", "f32[], []"]),
    composed("prims::prod(Tensor inp, int[]? dims, *, ScalarType? output_dtype=None) -> Tensor", prod)
        .doc("Products over dimensions.")
        .samples(&["f32[2, 3], [1]", "i32[2, 3], [0, 1]", "f32[], []"]),
    composed("prims::amax(Tensor inp, int[]? dims, *, ScalarType? output_dtype=None) -> Tensor", |b, a| {
        reduce(b, a, "amax")
    })
    .doc("Greatest elements over dimensions.")
    .samples(&["f32[2, 3], [1]"]),
    composed("prims::amin(Tensor inp, int[]? dims, *, ScalarType? output_dtype=None) -> Tensor", |b, a| {
        reduce(b, a, "amin")
    })
    .doc("Least elements over dimensions.")
    .samples(&["f32[2, 3], [1]"]),
    composite(
        "prims::var(Tensor inp, int[]? dims, float? correction=1, *, ScalarType? output_dtype=None) -> \
        Tensor",
        "var.correction(inp, dims, correction=correction)",
    )
    .doc("Variances over dimensions.")
    .samples(&["f32[2, 3], [1]", "f32[2, 3], [0], 0.0"]),
    composite(
        "prims::empty_strided(SymInt[] shape, SymInt[] strides, *, ScalarType dtype, Device device, bool \
        requires_grad) -> Tensor",
        "empty_strided(shape, strides, dtype=dtype)",
    )
    .exact(Exact::Random)
    .doc("Any values with given strides; here zeros."),
    composite(
        "prims::empty(SymInt[] shape, *, ScalarType dtype, Device device, bool requires_grad) -> Tensor",
        "empty.memory_format(shape, dtype=dtype)",
    )
    .exact(Exact::Random)
    .doc("Any values; here zeros."),
    composite(
        "prims::empty_permuted(SymInt[] shape, int[] physical_layout, *, ScalarType dtype, Device \
        device, bool requires_grad) -> Tensor",
        "empty_permuted(shape, physical_layout, dtype=dtype)",
    )
    .exact(Exact::Random)
    .doc("Any values, dense with its dimensions in a given order; here zeros."),
    composite(
        "prims::full(SymInt[] shape, Scalar fill_value, *, ScalarType dtype, Device device, bool \
        requires_grad) -> Tensor",
        "full(shape, fill_value, dtype=dtype)",
    )
    .exact(Exact::Bits)
    .doc("Sizes filled with a number."),
    composite(
        "prims::full_like(Tensor a, Scalar fill_value, *, ScalarType dtype, Device device, bool \
        requires_grad) -> Tensor",
        "full_like(a, fill_value, dtype=dtype)",
    )
    .exact(Exact::Bits)
    .doc("Like another tensor, filled with a number."),
    composite(
        "prims::normal(SymInt[] shape, *, Scalar mean, Scalar std, ScalarType dtype, Device device, bool \
        requires_grad, Generator? generator=None) -> Tensor",
        "add.Scalar(mul.Scalar(randn(shape, dtype=dtype), std), mean)",
    )
    .effect(Effect::Random)
    .exact(Exact::Random)
    .doc("Normal random numbers."),
    composed(
        "prims::uniform(SymInt[] shape, *, Scalar low, Scalar high, ScalarType dtype, Device device, \
        SymInt[] stride, Generator? generator=None) -> Tensor",
        uniform,
    )
    .effect(Effect::Random)
    .exact(Exact::Random)
    .doc("Random numbers of equal chance from `low` to `high`."),
    composite("prims::fft_c2c(Tensor self, *, int[] dim, bool forward) -> Tensor", "_fft_c2c(self, dim, 0, forward)")
        .doc("The unscaled Fourier transform of complex numbers.")
        .samples(&["c64[4, 5], dim=[1], forward=True", "c64[4, 5], dim=[0, 1], forward=False"]),
    composite("prims::fft_r2c(Tensor self, *, int[] dim, bool onesided) -> Tensor", "_fft_r2c(self, dim, 0, onesided)")
        .doc("The unscaled Fourier transform of real numbers.")
        .samples(&["f32[4, 5], dim=[1], onesided=True"]),
    composite(
        "prims::fft_c2r(Tensor self, *, int[] dim, SymInt last_dim_size) -> Tensor",
        "_fft_c2r(self, dim, 0, last_dim_size)",
    )
    .doc("The unscaled inverse Fourier transform to real numbers.")
    .samples(&["c64[4, 3], dim=[1], last_dim_size=4"]),
    composed("prims::frexp(Tensor self) -> (Tensor mantissa, Tensor exponent)", frexp)
        .exact(Exact::Bits)
        .doc("Mantissa in ±[½, 1) and exponent of 2.")
        .samples(&["f32[2, 3]"]),
    composite("prims::fma(Tensor a, Tensor b, Tensor c) -> Tensor", "add.Tensor(mul.Tensor(a, b), c)")
        .doc("`a · b + c`.")
        .samples(&["f32[3], f32[3], f32[3]"]),
];

fn broadcast_in_dim(b: &mut Builder<'_>, a: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (x, shape, places): (NodeId, Vec<Argument>, Vec<i64>) = a.unpack()?;
    ensure!(b.fake(x)?.dim() == places.len(), "broadcast_in_dim of {} dimensions to {places:?}", b.fake(x)?.dim());
    ensure!(places.windows(2).all(|w| w[0] < w[1]), "broadcast_in_dim to {places:?}, which does not rise");
    ensure!(places.iter().all(|p| (0..shape.len() as i64).contains(p)), "broadcast_in_dim to {places:?}");
    let mut free = (0..shape.len() as i64).filter(|d| !places.contains(d));
    let x = free.try_fold(x, |x, d| b.call("unsqueeze", (x, d)))?;
    Ok(vec![b.call("expand", (x, Argument::List(shape)))?.into()])
}

/// The dtype that a reduction is asked for, or the input's.
fn result_dtype(b: &Builder<'_>, a: &Args<'_, Build>) -> Result<DType> {
    let wanted: Option<DType> = a.named("output_dtype")?;
    Ok(wanted.unwrap_or(b.fake(a.at(0)?)?.dtype))
}

fn reduce(b: &mut Builder<'_>, a: &Args<'_, Build>, op: &str) -> Result<Vec<Argument>> {
    let (x, dims): (NodeId, Option<Vec<i64>>) = a.unpack()?;
    Ok(vec![b.call(op, (x, dims.unwrap_or_default()))?.into()])
}

fn sum(b: &mut Builder<'_>, a: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (x, dims): (NodeId, Option<Vec<i64>>) = a.unpack()?;
    let dtype = result_dtype(b, a)?;
    Ok(vec![b.call_kw("sum.dim_IntList", (x, dims.unwrap_or_default()), &[("dtype", dtype.into())])?.into()])
}

/// One dimension after the other, the last one first.
fn prod(b: &mut Builder<'_>, a: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (mut x, dims): (NodeId, Option<Vec<i64>>) = a.unpack()?;
    let (dtype, rank) = (result_dtype(b, a)?, b.fake(x)?.dim());
    let mut dims = crate::support::meta::wrap_dims(&dims.unwrap_or_else(|| (0..rank as i64).collect()), rank)?;
    dims.sort_unstable();
    for d in dims.into_iter().rev().filter(|_| rank > 0) {
        x = b.call_kw("prod.dim_int", (x, d as i64), &[("dtype", dtype.into())])?;
    }
    if rank == 0 || b.fake(x)?.dtype != dtype {
        x = b.call_kw("_to_copy", (x,), &[("dtype", dtype.into())])?;
    }
    Ok(vec![x.into()])
}

fn uniform(b: &mut Builder<'_>, a: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (shape, low, high): (Argument, f64, f64) = (a.at(0)?, a.named("low")?, a.named("high")?);
    let x = b.call_kw("rand", (shape,), &[("dtype", a.named::<DType>("dtype")?.into())])?;
    let x = b.call("mul.Scalar", (x, high - low))?;
    Ok(vec![b.call("add.Scalar", (x, low))?.into()])
}

fn frexp(b: &mut Builder<'_>, a: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let x: NodeId = a.at(0)?;
    let both = b.call("frexp.Tensor", (x,))?;
    Ok(vec![b.getitem(both, 0)?.into(), b.getitem(both, 1)?.into()])
}
