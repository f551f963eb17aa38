//! The greatest and the least: `amax`, `max`, `argmax`, `aminmax` and their kin.
//!
//! Laws: a NaN is greater and less than everything; of equal elements the first counts; nothing has no greatest
//! element.

use crate::reduce::over::{Over, Rule, left, over, reduced, refuse_empty, wide, widest};
use crate::support::meta::{MetaArgs, Metas};
use crate::support::rowmajor::as_dtype;
use oxport_ir::{Args, Class, Exact, OpDef, Real, Result, ensure};
use oxport_tensor::{DType, Layout, Real as Ordered, Tensor, TensorMut, reduce};

/// An extreme without indices.
macro_rules! extreme {
    ($schema:literal, $meta:expr, $kernel:expr, $doc:literal, [$($sample:literal),* $(,)?]) => {
        OpDef::new($schema, $meta)
            .fill($kernel).work(Class::Reduction)
            .any_strides()
            .exact(Exact::Bits)
            .doc($doc)
            .samples(&[$($sample),*])
    };
}

/// The table.
pub static OPS: &[OpDef] = &[
    extreme!(
        "aten::amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",
        |a| some(a, &[Rule::Same]),
        |a, o| greatest(a, &mut o[0]),
        "The greatest elements over some dimensions.",
        ["f32[2, 3], [1]", "i64[2, 3]", "b8[2, 3], [0], True", "!f32[0, 3], [0]"]
    ),
    extreme!(
        "aten::amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",
        |a| some(a, &[Rule::Same]),
        |a, o| least(a, &mut o[0]),
        "The least elements over some dimensions.",
        ["f32[2, 3], [1]", "i64[2, 3]", "!f32[0, 3], [0]"]
    ),
    extreme!(
        "aten::max(Tensor self) -> Tensor",
        |a| some(a, &[Rule::Same]),
        |a, o| greatest(a, &mut o[0]),
        "The greatest element.",
        ["f32[2, 3]", "u8[3]", "!f32[0]"]
    ),
    extreme!(
        "aten::min(Tensor self) -> Tensor",
        |a| some(a, &[Rule::Same]),
        |a, o| least(a, &mut o[0]),
        "The least element.",
        ["f32[2, 3]", "!f32[0]"]
    ),
    extreme!(
        "aten::max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
        |a| some(a, &[Rule::Same, Rule::Index]),
        |a, o| with_index(a, o, true),
        "The greatest elements along a dimension, and where they are.",
        ["f32[2, 3], 1", "f32[2, 3], 0, True", "f32[], 0", "!f32[2, 0], 1"]
    ),
    extreme!(
        "aten::min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
        |a| some(a, &[Rule::Same, Rule::Index]),
        |a, o| with_index(a, o, false),
        "The least elements along a dimension, and where they are.",
        ["f32[2, 3], 1", "b8[2, 3], 0"]
    ),
    extreme!(
        "aten::argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",
        index_meta,
        |a, o| place(a, &mut o[0], true),
        "Where the greatest element is, along a dimension or in the flattened tensor.",
        ["f32[2, 3]", "f32[2, 3], 1, True", "i32[4], 0", "!f32[0]", "!b8[3]"]
    ),
    extreme!(
        "aten::argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",
        index_meta,
        |a, o| place(a, &mut o[0], false),
        "Where the least element is, along a dimension or in the flattened tensor.",
        ["f32[2, 3]", "f32[2, 3], 1, True"]
    ),
    extreme!(
        "aten::aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)",
        |a| some(a, &[Rule::Same, Rule::Same]),
        |a, o| {
            least(a, &mut o[0])?;
            greatest(a, &mut o[1])
        },
        "The least and the greatest elements.",
        ["f32[2, 3]", "f32[2, 3], dim=1, keepdim=True", "!f32[0]"]
    ),
];

/// The meta of an extreme: something to reduce, and an order.
fn some(args: &MetaArgs<'_>, rules: &[Rule]) -> Metas {
    let x: &oxport_ir::Fake = args.at(0)?;
    ensure!(!x.dtype.is_complex(), "{} of {}: complex numbers have no order", args.name(), x.dtype.name());
    refuse_empty(args)?;
    reduced(args, rules)
}

/// The meta of the place of an extreme.
fn index_meta(args: &MetaArgs<'_>) -> Metas {
    let x: &oxport_ir::Fake = args.at(0)?;
    ensure!(!x.dtype.is_bool(), "{} of bool", args.name());
    some(args, &[Rule::Index])
}

fn greatest(args: &Args<'_, Real>, out: &mut TensorMut) -> Result<()> {
    let x: &Tensor = args.at(0)?;
    let (dims, wide) = (over(args, x.rank())?.loops(), widest(x.dtype()));
    as_dtype(out, wide, |out| wide!(real wide, |T| Ok(reduce::amax::<T>(&x.to_dtype(wide)?, &dims, out)?)))
}

fn least(args: &Args<'_, Real>, out: &mut TensorMut) -> Result<()> {
    let x: &Tensor = args.at(0)?;
    let (dims, wide) = (over(args, x.rank())?.loops(), widest(x.dtype()));
    as_dtype(out, wide, |out| wide!(real wide, |T| Ok(reduce::amin::<T>(&x.to_dtype(wide)?, &dims, out)?)))
}

fn place(args: &Args<'_, Real>, out: &mut TensorMut, greatest: bool) -> Result<()> {
    let x: &Tensor = args.at(0)?;
    places(x, &over(args, x.rank())?, out, greatest)
}

fn places(x: &Tensor, over: &Over, out: &mut TensorMut, greatest: bool) -> Result<()> {
    fn run<T: Ordered>(x: &Tensor, dims: &[i64], out: &mut TensorMut, greatest: bool) -> Result<()> {
        Ok(if greatest { reduce::argmax::<T>(x, dims, out) } else { reduce::argmin::<T>(x, dims, out) }?)
    }
    let (dims, wide) = (over.loops(), widest(x.dtype()));
    if dims.is_empty() {
        return Ok(oxport_tensor::fill(out, oxport_tensor::Scalar::Int(0))?);
    }
    wide!(real wide, |T| run::<T>(&x.to_dtype(wide)?, &dims, out, greatest))
}

fn with_index(args: &Args<'_, Real>, outs: &mut [TensorMut], greatest: bool) -> Result<()> {
    let x: &Tensor = args.at(0)?;
    let over = over(args, x.rank())?;
    // The values are gathered from where the indices say.
    let kept = Over { dims: over.dims.clone(), keepdim: true };
    let sizes = left(x.sizes(), &kept);
    let mut index = TensorMut::empty(DType::I64, Layout::contiguous(&sizes)?)?;
    places(x, &kept, &mut index, greatest)?;
    let index = index.freeze();
    let mut values = TensorMut::empty(x.dtype(), Layout::contiguous(&sizes)?)?;
    match over.dims[..] {
        [d] => oxport_tensor::index::gather(x, d as i64, &index, &mut values)?,
        _ => oxport_tensor::copy(x, &mut values)?,
    }
    let flat: Vec<i64> = outs[0].sizes().to_vec();
    oxport_tensor::copy(&values.freeze().reshape(&flat)?, &mut outs[0])?;
    Ok(oxport_tensor::copy(&index.reshape(&flat)?, &mut outs[1])?)
}
