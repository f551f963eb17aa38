//! Products of matrices and vectors of given ranks: `mm`, `bmm`, `addmm`, `mv`, `dot`, `outer` and their sums.
//!
//! Laws: dtypes must be equal, nothing is promoted; results are contiguous; `beta == 0` ignores the addend, also its
//! NaNs.

use crate::support::checks::{agree, fresh, of_dim, same_dtype};
use crate::support::composite::composite;
use crate::support::meta::{MetaArgs, Metas, broadcast, one, pointwise_strides};
use crate::support::product::{
    Plus, check_product_dtype, inner, last_product, part, prepared_right, product_cost, right,
};
use oxport_ir::opdef::MetaFn;
use oxport_ir::{Args, Class, Cost, Error, Fake, Meta, MetaCx, OpDef, Prepared, Real, Result, Val, ensure};
use oxport_sym::Expr;
use oxport_tensor::gemm::{PackedInt8, Right, int8_matmul};
use oxport_tensor::{DType, Scalar, Tensor, TensorMut};

/// The operators of this family.
pub static OPS: &[OpDef] = &[
    plain("aten::mm(Tensor self, Tensor mat2) -> Tensor", |a| mm_meta(a, 2))
        .doc("The product of two matrices.")
        .samples(&[
            "f32[2, 3], f32[3, 4]",
            "i64[2, 3], i64[3, 4]",
            "c64[2, 3], c64[3, 4]",
            "bf16[0, 3], bf16[3, 4]",
            "f32[3, 2]{1, 3}, f32[2, 4]{1, 2}",
            "!f32[2, 3], f32[4, 3]",
            "!f32[2, 3], f64[3, 4]",
        ]),
    plain("aten::bmm(Tensor self, Tensor mat2) -> Tensor", |a| mm_meta(a, 3))
        .doc("The products of two batches of matrices.")
        .samples(&["f32[5, 2, 3], f32[5, 3, 4]", "f16[2, 2, 0], f16[2, 0, 4]", "!f32[5, 2, 3], f32[4, 3, 4]"]),
    added("aten::addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor", |a| {
        addmm_meta(a, 2)
    })
    .doc("`beta·self + alpha·(mat1 @ mat2)`, with `self` broadcast.")
    .samples(&[
        "f32[4], f32[2, 3], f32[3, 4]",
        "f32[2, 1], f32[2, 3], f32[3, 4], beta=0.5, alpha=2",
        "i32[2, 4], i32[2, 3], i32[3, 4]",
        "f32[4], f32[2, 3], f32[3, 4]{1, 3}",
    ]),
    added(
        "aten::baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
        |a| addmm_meta(a, 3),
    )
    .doc("`beta·self + alpha·(batch1 @ batch2)`, matrix by matrix.")
    .samples(&["f32[5, 2, 4], f32[5, 2, 3], f32[5, 3, 4]", "f32[1], f32[5, 2, 3], f32[5, 3, 4], beta=0, alpha=0.5"]),
    OpDef::new(
        "aten::addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
        addbmm_meta,
    )
    .doc("`beta·self + alpha·Σ batch1 @ batch2`, summed over the batch.")
    .fill(addbmm)
    .cost(Class::Product, addbmm_cost)
    .samples(&["f32[2, 4], f32[5, 2, 3], f32[5, 3, 4], beta=0.5, alpha=2"]),
    OpDef::new("aten::mv(Tensor self, Tensor vec) -> Tensor", mv_meta)
        .doc("A matrix times a vector.")
        .fill(mv)
        .cost(Class::Product, product_cost::<0>)
        .expr("sum.dim_IntList(mul.Tensor(self, vec), [1])")
        .samples(&["f32[2, 3], f32[3]", "f64[3, 2]{1, 3}, f64[2]"]),
    OpDef::new(
        "aten::addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
        addmv_meta,
    )
    .doc("`beta·self + alpha·(mat @ vec)`.")
    .fill(mv)
    .cost(Class::Product, product_cost::<1>)
    .samples(&["f32[2], f32[2, 3], f32[3], beta=2, alpha=3", "f32[], f32[2, 3], f32[3]"]),
    dot_like("aten::dot(Tensor self, Tensor tensor) -> Tensor")
        .doc("The sum of the products of two vectors.")
        .expr("sum.dim_IntList(mul.Tensor(self, tensor), [])")
        .samples(&["f32[3], f32[3]", "i64[0], i64[0]", "!f32[3], f32[2]"]),
    dot_like("aten::vdot(Tensor self, Tensor other) -> Tensor")
        .doc("The sum of the products of two vectors, the first conjugated.")
        .fill(vdot)
        .cost(Class::Product, product_cost::<0>)
        .samples(&["f32[3], f32[3]", "c64[3], c64[3]"]),
    outer("aten::outer(Tensor self, Tensor vec2) -> Tensor"),
    outer("aten::ger(Tensor self, Tensor vec2) -> Tensor"),
    OpDef::new(
        "aten::addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
        addr_meta,
    )
    .doc("`beta·self + alpha·(vec1 ⊗ vec2)`.")
    .fill(addr)
    .work(Class::Pointwise)
    .any_strides()
    .samples(&[
        "f32[2, 3], f32[2], f32[3], beta=2, alpha=0.5",
        "i64[3], i64[2], i64[3]",
        "f32[2, 3]{1, 2}, f32[2], f32[3]",
    ]),
    OpDef::new("aten::_int_mm(Tensor self, Tensor mat2) -> Tensor", int_mm_meta)
        .doc("The product of two int8 matrices in int32.")
        .fill(int_mm)
        .any_strides()
        .cost(Class::Product, product_cost::<0>)
        .prepare(int_mm_prepared)
        .samples(&[
            "i8[17, 8], i8[8, 8]",
            "i8[17, 7]{1, 17}, i8[7, 24]{1, 7}",
            "u8[2, 3], i8[3, 4]",
            "!i8[2, 3], u8[3, 4]",
        ]),
    composite(
        "aten::_weight_int8pack_mm(Tensor self, Tensor mat2, Tensor scales) -> Tensor",
        "mul.Tensor(mm(self, t(type_as(mat2, self))), scales)",
    )
    .doc("The product with a transposed int8 weight, each of whose rows has a scale.")
    .samples(&["f32[2, 3], i8[4, 3], f32[4]"]),
];

const fn plain(schema: &'static str, meta: MetaFn) -> OpDef {
    OpDef::new(schema, meta)
        .fill(mm)
        .any_strides()
        .cost(Class::Product, product_cost::<0>)
        .prepare(|args, _| prepared_right(args, args.at(1)?))
}
const fn added(schema: &'static str, meta: MetaFn) -> OpDef {
    OpDef::new(schema, meta)
        .fill(addmm)
        .any_strides()
        .cost(Class::Product, product_cost::<1>)
        .prepare(|args, _| prepared_right(args, args.at(2)?))
}
const fn dot_like(schema: &'static str) -> OpDef {
    OpDef::new(schema, dot_meta).fill(dot).cost(Class::Product, product_cost::<0>)
}
const fn outer(schema: &'static str) -> OpDef {
    OpDef::new(schema, outer_meta)
        .doc("Every element of one vector times every element of another.")
        .expr("mul.Tensor(unsqueeze(self, 1), vec2)")
        .samples(&["f32[2], f32[3]", "i64[2], f32[3]", "!f32[2, 2], f32[3]"])
}

/// The products of all matrices of the batch, and their sum.
fn addbmm_cost(args: &Args<'_, Meta>, outs: &[Val]) -> Cost {
    let batch = args.at::<&Fake>(1).ok().and_then(|b| args.cx.hint(b.sizes.first()?)).unwrap_or(1);
    let one = product_cost::<1>(args, outs);
    Cost { flops: one.flops * batch as f64, ..one }
}

/// Refuses the product of `a`, of at least one dimension, as rows by a matrix of these sizes, in the words of `mm`.
///
/// # Errors
/// The inner sizes differ.
pub(crate) fn check_multiplied(cx: &MetaCx<'_>, a: &Fake, [rows, columns]: [&Expr; 2]) -> Result<()> {
    let (inner, lead) = a.sizes.split_last().expect("law: at least one dimension");
    ensure!(
        cx.may_be_same(inner, rows),
        "mat1 and mat2 shapes cannot be multiplied ({}x{inner} and {rows}x{columns})",
        Expr::product(lead)
    );
    Ok(())
}

/// The sizes of `a @ b`, both of the same rank, batches equal.
fn product_meta(args: &MetaArgs<'_>, a: &Fake, b: &Fake, ndim: usize) -> Result<Fake> {
    of_dim(args, a, ndim..=ndim, "the left operand")?;
    of_dim(args, b, ndim..=ndim, "the right operand")?;
    let dtype = same_dtype(args, &[a, b])?;
    check_product_dtype(dtype)?;
    if ndim == 3 {
        let agrees = |i: usize, j: usize| args.cx.may_be_same(&a.sizes[i], &b.sizes[j]);
        ensure!(
            agrees(0, 0) && agrees(2, 1),
            "Expected size for first two dimensions of batch2 tensor to be: [{}, {}] but got: [{}, {}].",
            a.sizes[0],
            a.sizes[2],
            b.sizes[0],
            b.sizes[1]
        );
    } else {
        check_multiplied(args.cx, a, [&b.sizes[0], &b.sizes[1]])?;
    }
    let sizes = a.sizes[..ndim - 1].iter().chain([&b.sizes[ndim - 1]]).cloned();
    Ok(fresh(a, dtype, sizes))
}

fn mm_meta(args: &MetaArgs<'_>, ndim: usize) -> Metas {
    let (a, b): (&Fake, &Fake) = args.unpack()?;
    one(product_meta(args, a, b, ndim)?)
}

fn mm(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (a, b): (&Tensor, &Tensor) = args.unpack()?;
    last_product(args, a, right(args, b), &mut outs[0], Scalar::Int(1), Plus::Nothing)
}

/// Refuses an addend that does not broadcast to the product.
fn addend(args: &MetaArgs<'_>, x: &Fake, product: Fake) -> Metas {
    same_dtype(args, &[x, &product])?;
    let sizes = broadcast(args.cx, &[&x.sizes, &product.sizes])?;
    let grown =
        sizes.len() > product.dim() || sizes.iter().zip(&product.sizes).any(|(a, b)| !args.cx.may_be_same(a, b));
    ensure!(!grown, "{}: {x} does not broadcast to {product}", args.name());
    one(product)
}

fn addmm_meta(args: &MetaArgs<'_>, ndim: usize) -> Metas {
    let (x, a, b): (&Fake, &Fake, &Fake) = args.unpack()?;
    addend(args, x, product_meta(args, a, b, ndim)?)
}

fn addmm(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, a, b, beta, alpha): (&Tensor, &Tensor, &Tensor, Scalar, Scalar) = args.unpack()?;
    last_product(args, a, right(args, b), &mut outs[0], alpha, Plus::Scaled(beta, x))
}

fn addbmm_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, a, b): (&Fake, &Fake, &Fake) = args.unpack()?;
    let mut product = product_meta(args, a, b, 3)?;
    product = fresh(a, product.dtype, product.sizes.iter().skip(1).cloned());
    addend(args, x, product)
}

fn addbmm(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, a, b, beta, alpha): (&Tensor, &Tensor, &Tensor, Scalar, Scalar) = args.unpack()?;
    // Σ over the batch is a longer inner dimension: [m, batch·k] @ [batch·k, n].
    let (m, k, n) = (a.sizes()[1], a.sizes()[0] * a.sizes()[2], b.sizes()[2]);
    let a = a.view(|l| l.permute(&[1, 0, 2]))?.reshape(&[m, k])?;
    last_product(args, &a, Right::Tensor(&b.reshape(&[k, n])?), &mut outs[0], alpha, Plus::Scaled(beta, x))
}

fn mv_meta(args: &MetaArgs<'_>) -> Metas {
    one(column_meta(args, args.at(0)?, args.at(1)?)?)
}

fn addmv_meta(args: &MetaArgs<'_>) -> Metas {
    addend(args, args.at(0)?, column_meta(args, args.at(1)?, args.at(2)?)?)
}

/// The sizes of a matrix times a vector.
fn column_meta(args: &MetaArgs<'_>, mat: &Fake, vec: &Fake) -> Result<Fake> {
    of_dim(args, mat, 2..=2, "the matrix")?;
    of_dim(args, vec, 1..=1, "the vector")?;
    let dtype = same_dtype(args, &[mat, vec])?;
    check_product_dtype(dtype)?;
    let (rows, columns, n) = (&mat.sizes[0], &mat.sizes[1], &vec.sizes[0]);
    ensure!(args.cx.may_be_same(columns, n), "size mismatch, got input ({rows}), mat ({rows}x{columns}), vec ({n})");
    Ok(fresh(mat, dtype, [mat.sizes[0].clone()]))
}

fn mv(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (mat, vec, plus, alpha);
    if args.values.len() > 2 {
        let (x, beta): (&Tensor, Scalar) = (args.at(0)?, args.at(3)?);
        (mat, vec, alpha) = (args.at(1)?, args.at::<&Tensor>(2)?, args.at(4)?);
        let column = if x.rank() == 1 { x.view(|l| l.unsqueeze(1))? } else { x.clone() };
        plus = Some((beta, column));
    } else {
        (mat, vec) = args.unpack::<(&Tensor, &Tensor)>()?;
        (plus, alpha) = (None, Scalar::Int(1));
    }
    let vec = vec.view(|l| l.unsqueeze(1))?;
    let column = outs[0].layout().unsqueeze(1)?;
    let plus = plus.as_ref().map_or(Plus::Nothing, |(beta, x)| Plus::Scaled(*beta, x));
    part(&mut outs[0], column, |out| last_product(args, mat, Right::Tensor(&vec), out, alpha, plus))
}

fn dot_meta(args: &MetaArgs<'_>) -> Metas {
    let (a, b): (&Fake, &Fake) = args.unpack()?;
    of_dim(args, a, 1..=1, "the left operand")?;
    of_dim(args, b, 1..=1, "the right operand")?;
    let dtype = same_dtype(args, &[a, b])?;
    check_product_dtype(dtype)?;
    agree(args.cx, &a.sizes[0], &b.sizes[0], "sizes of a dot product")?;
    one(fresh(a, dtype, []))
}

fn dot(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (a, b): (&Tensor, &Tensor) = args.unpack()?;
    inner(a, b, &mut outs[0])
}

fn vdot(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (a, b): (&Tensor, &Tensor) = args.unpack()?;
    if a.dtype().is_complex() { inner(&conjugate(a)?, b, &mut outs[0]) } else { inner(a, b, &mut outs[0]) }
}

/// The complex conjugate, element by element.
pub(crate) fn conjugate(x: &Tensor) -> Result<Tensor> {
    oxport_tensor::dispatch!(complex x.dtype(), |T| {
        let values: Vec<T> = x.to_vec::<T>()?.iter().map(|z| z.conj()).collect();
        Ok(Tensor::from_vec(x.sizes(), values)?)
    })
}

fn vectors<'a>(args: &MetaArgs<'a>, a: usize) -> Result<(&'a Fake, &'a Fake)> {
    let (x, y): (&Fake, &Fake) = (args.at(a)?, args.at(a + 1)?);
    of_dim(args, x, 1..=1, "the left operand")?;
    of_dim(args, y, 1..=1, "the right operand")?;
    Ok((x, y))
}

fn promoted(a: DType, b: DType) -> Result<DType> {
    DType::promote(a, b).ok_or_else(|| Error::invalid(format!("no common dtype of {a} and {b}")))
}

fn outer_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, y) = vectors(args, 0)?;
    one(fresh(x, promoted(x.dtype, y.dtype)?, [x.sizes[0].clone(), y.sizes[0].clone()]))
}

fn addr_meta(args: &MetaArgs<'_>) -> Metas {
    let x: &Fake = args.at(0)?;
    let (a, b) = vectors(args, 1)?;
    let dtype = promoted(promoted(x.dtype, a.dtype)?, b.dtype)?;
    let sizes: [Expr; 2] = [a.sizes[0].clone(), b.sizes[0].clone()];
    addend(args, &x.with_dtype(dtype), fresh(a, dtype, sizes.clone()))?;
    // The sum of a product, which is in row-major order, and of what it is added to.
    let product = fresh(a, dtype, sizes.clone());
    one(Fake { strides: pointwise_strides(args.cx, &sizes, &[x, &product]), ..product })
}

fn addr(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, a, b, beta, alpha): (&Tensor, &Tensor, &Tensor, Scalar, Scalar) = args.unpack()?;
    let dtype = outs[0].dtype();
    if dtype == DType::Bool {
        return addr_bool(x, a, b, beta, alpha, &mut outs[0]);
    }
    let (a, b) = (a.to_dtype(dtype)?.view(|l| l.unsqueeze(1))?, b.to_dtype(dtype)?.view(|l| l.unsqueeze(0))?);
    last_product(args, &a, Right::Tensor(&b), &mut outs[0], alpha, Plus::Scaled(beta, &x.to_dtype(dtype)?))
}

fn addr_bool(x: &Tensor, a: &Tensor, b: &Tensor, beta: Scalar, alpha: Scalar, out: &mut TensorMut) -> Result<()> {
    let x = x.view(|l| l.expand(out.sizes()))?.to_vec::<bool>()?;
    let (a, b) = (a.to_vec::<bool>()?, b.to_vec::<bool>()?);
    crate::support::dense::fill(out, |out: &mut [bool]| {
        for (i, out) in out.iter_mut().enumerate() {
            let product = a[i / b.len()] && b[i % b.len()] && !alpha.is_zero();
            *out = x[i] && !beta.is_zero() || product;
        }
    })
}

fn int_mm_meta(args: &Args<'_, Meta>) -> Metas {
    let (a, b): (&Fake, &Fake) = args.unpack()?;
    let fits = matches!(a.dtype, DType::I8 | DType::U8) && b.dtype == DType::I8;
    ensure!(fits, "_int_mm: expected int8 matrices (the left one may be uint8), got {} and {}", a.dtype, b.dtype);
    one(product_meta(args, a, &b.clone().with_dtype(a.dtype), 2)?.with_dtype(DType::I32))
}

fn int_mm_prepared(args: &Args<'_, Real>, _: Option<&Val>) -> Result<Option<Prepared>> {
    let Some(b) = args.at::<Option<&Tensor>>(1)? else { return Ok(None) };
    Ok(args.cx.makings().once(b, |b| Ok(Some(PackedInt8::new(b)?)))?.map(Prepared::new))
}

fn int_mm(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (a, b): (&Tensor, &Tensor) = args.unpack()?;
    Ok(int8_matmul(a, b, args.prepared(), &mut outs[0], args.after())?)
}
