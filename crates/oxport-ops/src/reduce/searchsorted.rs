//! Places in sorted sequences, and whether there is one: `searchsorted`, `bucketize`, `isin`.
//!
//! Law: NaN is after everything in a sorted sequence.

use crate::reduce::over::{wide, widest};
use crate::support::meta::{MetaArgs, Metas, one};
use crate::support::rowmajor::{dense, fill_dense};
use oxport_ir::{Args, Class, Exact, Fake, Meta, OpDef, Operand, Real, Result, World, ensure};
use oxport_sym::Expr;
use oxport_tensor::{DType, Real as Ordered, Tensor, TensorMut};

/// The table.
pub static OPS: &[OpDef] = &[
    OpDef::new(
        "aten::searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool \
        right=False, str? side=None, Tensor? sorter=None) -> Tensor",
        |a| search_meta(a, 0, 1),
    )
    .fill(|a, o| search(a, o, 0, 1))
    .work(Class::Search)
    .exact(Exact::Bits)
    .doc("The first place in a sorted last dimension where each element could be inserted.")
    .samples(&[
        "f32[5], f32[2, 3]",
        "f32[2, 5], f32[2, 3], right=True, out_int32=True",
        "f32[5], f32[2], sorter=i64[5]<5>",
        "f32[5], f16[2, 3]",
        "f16[5], f32[2]",
        "i64[5], f32[2]",
        "!f32[5], c64[2]",
        "!f32[2, 5], f32[3, 2]",
        "!f32[5], f32[2], right=True, side=\"left\"",
    ]),
    OpDef::new(
        "aten::searchsorted.Scalar(Tensor sorted_sequence, Scalar self, *, bool out_int32=False, bool \
        right=False, str? side=None, Tensor? sorter=None) -> Tensor",
        |a| search_meta(a, 0, 1),
    )
    .fill(|a, o| search(a, o, 0, 1))
    .work(Class::Search)
    .exact(Exact::Bits)
    .doc("The first place in a sorted vector where a number could be inserted.")
    .samples(&["f32[5], 0.5"]),
    OpDef::new(
        "aten::bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32=False, bool \
        right=False) -> Tensor",
        |a| search_meta(a, 1, 0),
    )
    .fill(|a, o| search(a, o, 1, 0))
    .work(Class::Search)
    .exact(Exact::Bits)
    .doc("Between which boundaries each element lies.")
    .samples(&["f32[2, 3], f32[4]", "i64[3], i64[4], right=True", "!f32[3], f32[2, 2]"]),
    OpDef::new(
        "aten::bucketize.Scalar(Scalar self, Tensor boundaries, *, bool out_int32=False, bool \
        right=False) -> Tensor",
        |a| search_meta(a, 1, 0),
    )
    .fill(|a, o| search(a, o, 1, 0))
    .work(Class::Search)
    .exact(Exact::Bits)
    .doc("Between which boundaries a number lies.")
    .samples(&["0.5, f32[4]"]),
    OpDef::new(
        "aten::isin.Tensor_Tensor(Tensor elements, Tensor test_elements, *, bool assume_unique=False, \
        bool invert=False) -> Tensor",
        isin_meta,
    )
    .fill(isin)
    .work(Class::Search)
    .exact(Exact::Bits)
    .doc("Whether each element is one of others.")
    .samples(&["i64[2, 3]<4>, i64[2]<4>", "f32[3], i64[2], invert=True"]),
    OpDef::new(
        "aten::isin.Tensor_Scalar(Tensor elements, Scalar test_element, *, bool assume_unique=False, \
        bool invert=False) -> Tensor",
        isin_meta,
    )
    .fill(isin)
    .work(Class::Search)
    .exact(Exact::Bits)
    .doc("Whether each element is a number.")
    .samples(&["i64[3]<3>, 1"]),
    OpDef::new(
        "aten::isin.Scalar_Tensor(Scalar element, Tensor test_elements, *, bool assume_unique=False, \
        bool invert=False) -> Tensor",
        isin_meta,
    )
    .fill(isin)
    .work(Class::Search)
    .exact(Exact::Bits)
    .doc("Whether a number is one of some elements.")
    .samples(&["1, i64[3]<3>"]),
];

/// True if equal elements are passed over: the argument `right`, or `side="right"`.
fn right<W: World>(args: &Args<'_, W>) -> Result<bool> {
    let right: bool = args.named("right")?;
    let schema = args.op.schema().expect("law: it is in the table");
    let side = schema.arg("side").map_or(Ok(None), |(i, _)| args.at::<Option<&str>>(i))?;
    ensure!(side.is_none_or(|s| s == "left" || s == "right"), "side is neither left nor right");
    ensure!(side != Some("left") || !right, "side is left and right is true");
    Ok(right || side == Some("right"))
}

fn search_meta(args: &MetaArgs<'_>, sequence: usize, values: usize) -> Metas {
    let (line, values): (&Fake, Operand<'_, Meta>) = (args.at(sequence)?, args.at(values)?);
    right(args)?;
    let dtype = if args.named("out_int32")? { DType::I32 } else { DType::I64 };
    ensure!(line.dim() > 0 && !line.dtype.is_complex(), "{} in {line}", args.name());
    let bucketize = sequence == 1;
    ensure!(!bucketize || line.dim() == 1, "bucketize by boundaries of {} dimensions", line.dim());
    let sizes = match &values {
        Operand::Number(_) => {
            ensure!(line.dim() == 1, "{}: a number in {line}", args.name());
            Vec::new()
        }
        Operand::Tensor(t) => {
            ensure!(!t.dtype.is_complex(), "{}: {} in {}", args.name(), t.dtype.name(), line.dtype.name());
            let (rows, own) = (line.dim() - 1, t.dim());
            let same = |(a, b): (&Expr, &Expr)| args.cx.may_be_same(a, b);
            let fits = rows == 0 || own == rows + 1 && line.sizes[..rows].iter().zip(&t.sizes[..rows]).all(same);
            ensure!(fits, "{}: {t} in {line}", args.name());
            t.sizes.to_vec()
        }
    };
    if let Some((i, _)) = args.op.schema().and_then(|s| s.arg("sorter"))
        && let Some(sorter) = args.at::<Option<&Fake>>(i)?
    {
        ensure!(sorter.dtype == DType::I64 && sorter.dim() == line.dim(), "a sorter {sorter} for {line}");
        let same = |(a, b): (&Expr, &Expr)| args.cx.may_be_same(a, b);
        ensure!(sorter.sizes.iter().zip(&line.sizes).all(same), "a sorter {sorter} for {line}");
    }
    one(Fake { device: line.device.clone(), ..Fake::new(dtype, sizes) })
}

fn search(args: &Args<'_, Real>, outs: &mut [TensorMut], sequence: usize, values: usize) -> Result<()> {
    fn run<T: Ordered>(
        x: &[T],
        values: &[T],
        n: usize,
        right: bool,
        sorter: Option<&[i64]>,
        out: &mut TensorMut,
    ) -> Result<()> {
        let rows = if n == 0 { 1 } else { x.len() / n };
        let each = values.len() / rows.max(1);
        fill_dense::<i64>(out, |out| {
            for (i, (out, v)) in out.iter_mut().zip(values).enumerate() {
                let row = if rows > 1 { i / each * n } else { 0 };
                let at =
                    |k: usize| sorter.map_or(x.get(row + k), |s| x[row..row + n].get(s[row + k] as usize)).copied();
                let (mut low, mut high) = (0, n);
                while low < high {
                    let middle = low + (high - low) / 2;
                    let order = at(middle).map_or(std::cmp::Ordering::Greater, |x| x.order(*v));
                    if order.is_lt() || right && order.is_eq() { low = middle + 1 } else { high = middle }
                }
                *out = low as i64;
            }
            Ok(())
        })
    }
    let (line, values): (&Tensor, Operand<'_, Real>) = (args.at(sequence)?, args.at(values)?);
    let (right, n) = (right(args)?, line.sizes().last().map_or(0, |&n| n as usize));
    let sorter = match args.op.schema().and_then(|s| s.arg("sorter")) {
        Some((i, _)) => args.at::<Option<&Tensor>>(i)?.map(dense::<i64>).transpose()?,
        None => None,
    };
    if let Some(sorter) = &sorter {
        ensure!(sorter.iter().all(|&i| (0..n as i64).contains(&i)), "a sorter index is out of range");
    }
    // Both sides in a dtype that holds both.
    let values = match values {
        Operand::Tensor(t) => t.clone(),
        Operand::Number(v) => {
            let v = v.known().expect("law: real numbers are known");
            Tensor::from_scalar(v, if line.dtype().is_float() { line.dtype() } else { v.dtype() })
        }
    };
    let common = DType::promote(widest(line.dtype()), widest(values.dtype())).map_or(DType::F64, widest);
    wide!(real common, |T| run::<T>(&dense(line)?, &dense(&values)?, n, right, sorter.as_deref(), &mut outs[0]))
}

fn isin_meta(args: &MetaArgs<'_>) -> Metas {
    let x: Operand<'_, Meta> = args.at(0)?;
    one(match x {
        Operand::Tensor(x) => Fake { device: x.device.clone(), ..Fake::new(DType::Bool, x.sizes.clone()) },
        Operand::Number(_) => Fake::new(DType::Bool, []),
    })
}

fn isin(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    fn run<T: Ordered>(x: &[T], others: &[T], invert: bool, out: &mut TensorMut) -> Result<()> {
        let mut others: Vec<T> = others.iter().copied().filter(|x| !x.is_nan()).collect();
        others.sort_unstable_by(|a, b| a.order(*b));
        fill_dense::<bool>(out, |out| {
            let found = |x: &T| others.binary_search_by(|o| o.order(*x)).is_ok();
            out.iter_mut().zip(x).for_each(|(out, x)| *out = found(x) != invert);
            Ok(())
        })
    }
    let (x, others): (Operand<'_, Real>, Operand<'_, Real>) = args.unpack()?;
    let tensor = |o: Operand<'_, Real>| match o {
        Operand::Tensor(t) => t.clone(),
        Operand::Number(n) => {
            let n = n.known().expect("law: real numbers are known");
            Tensor::from_scalar(n, if n.dtype() == DType::F32 { DType::F64 } else { n.dtype() })
        }
    };
    let (x, others) = (tensor(x), tensor(others));
    let common = DType::promote(widest(x.dtype()), widest(others.dtype())).map_or(DType::F64, widest);
    let invert = args.named("invert")?;
    wide!(real common, |T| run::<T>(&dense(&x)?, &dense(&others)?, invert, &mut outs[0]))
}
