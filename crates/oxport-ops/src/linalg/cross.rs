//! Cross products, Vandermonde matrices, and adjoints.

use crate::linalg::matrices::field;
use crate::support::checks::{fresh, same_dtype};
use crate::support::meta::{MetaArgs, Metas, broadcast, one, wrap_dim};
use num_traits::One;
use oxport_ir::{Args, Argument, Build, Builder, Exact, Fake, NodeId, OpDef, Real, Result, ensure};
use oxport_sym::Expr;
use oxport_tensor::{DType, Tensor, TensorMut};

/// An adjoint.
macro_rules! adjoint {
    ($schema:literal, [$($sample:literal),*]) => {
        OpDef::new($schema, adjoint_meta)
            .decomp(adjoint)
            .exact(Exact::Bits)
            .doc("The conjugate transpose of matrices.")
            .samples(&[$($sample),*])
    };
}

/// The table.
pub static OPS: &[OpDef] = &[
    OpDef::new("aten::linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor", cross_meta)
        .decomp(cross)
        .doc("Cross products along a dimension of size 3.")
        .samples(&[
            "f32[2, 3], f32[2, 3]",
            "c64[3, 1], c64[3, 4], dim=0",
            "u8[3], u8[3]",
            "!f32[2, 3], f32[3]",
            "!f32[2, 2], f32[2, 2]",
            "!f32[3], i64[3]",
            "!b8[3], b8[3]",
        ]),
    OpDef::new("aten::cross(Tensor self, Tensor other, int? dim=None) -> Tensor", cross_meta)
        .decomp(cross)
        .doc("Cross products along a dimension of size 3: the first such, if none is named.")
        .samples(&["f32[3, 4], f32[3, 4]", "i64[2, 3], i64[2, 3], -1", "!f32[2, 4], f32[2, 4]"]),
    OpDef::new("aten::linalg_vander(Tensor x, *, SymInt? N=None) -> Tensor", |a| vander_meta(a, true))
        .fill(vander)
        .doc("The powers of every element, rising from 0.")
        .samples(&["f32[2, 3]", "i32[3], N=2", "c64[2], N=4", "f32[], N=2", "!f32[3], N=1", "!f16[3]"]),
    OpDef::new("aten::vander(Tensor x, int? N=None, bool increasing=False) -> Tensor", |a| vander_meta(a, false))
        .fill(vander)
        .doc("The powers of every element of a vector, falling to 0 or rising from it.")
        .samples(&["f32[3]", "i32[3], 2, True", "b8[3], 0", "bf16[3], 4", "!f32[2, 3]"]),
    adjoint!("aten::mH(Tensor(a) self) -> Tensor(a)", ["f32[2, 3, 4]", "c64[2, 3]", "f32[]", "!f32[3]"])
        .write_back("mH(value)"),
    adjoint!("aten::adjoint(Tensor(a) self) -> Tensor(a)", ["i64[2, 3, 4]", "c64[2, 3]", "!f32[3]"])
        .write_back("adjoint(value)"),
    adjoint!("aten::matrix_H(Tensor(a) self) -> Tensor(a)", ["f32[2, 3]", "c64[2, 3]", "!f32[2, 3, 4]", "!f32[3]"])
        .write_back("matrix_H(value)"),
];

/// The dimension of a cross product.
fn cross_dim(given: Option<i64>, x: &Fake) -> Result<usize> {
    match given {
        Some(dim) => wrap_dim(dim, x.dim()),
        None => {
            let found = x.sizes.iter().position(|s| s.as_int() == Some(3));
            let is_known = x.sizes.iter().all(|s| s.as_int().is_some());
            found.ok_or_else(|| match is_known {
                true => oxport_ir::Error::invalid("cross: no dimension of size 3 in input"),
                false => oxport_ir::Error::unsupported("cross: which dimension has size 3 depends on symbols"),
            })
        }
    }
}

fn cross_meta(args: &MetaArgs<'_>) -> Metas {
    let (a, b, dim): (&Fake, &Fake, Option<i64>) = args.unpack()?;
    let dtype = same_dtype(args, &[a, b])?;
    ensure!(dtype != DType::Bool, "{} is not implemented for bool", args.op.name());
    ensure!(a.dim() == b.dim() && a.dim() > 0, "{}: inputs must have the same number of dimensions", args.op.name());
    let dim = cross_dim(dim, a)?;
    let three = [a, b].iter().all(|x| args.cx.may_be_same(&x.sizes[dim], &Expr::from(3i64)));
    ensure!(three, "{}: dimension {dim} of {a} and {b} must have length 3", args.op.name());
    one(fresh(a, dtype, broadcast(args.cx, &[&a.sizes, &b.sizes])?))
}

fn cross(b: &mut Builder<'_>, args: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (x, y, dim): (NodeId, NodeId, Option<i64>) = args.unpack()?;
    let dim = cross_dim(dim, b.fake(x)?)? as i64;
    let names = |name: &str| match name {
        "x" => Some(x.into()),
        "y" => Some(y.into()),
        "dim" => Some(dim.into()),
        _ => None,
    };
    let product = |i, j| format!("mul.Tensor(roll(x, [{i}], [dim]), roll(y, [{j}], [dim]))");
    Ok(vec![b.expr(&format!("contiguous(sub.Tensor({}, {}))", product(-1, -2), product(-2, -1)), &names)?])
}

fn vander_meta(args: &MetaArgs<'_>, new: bool) -> Metas {
    let (x, n): (&Fake, Option<Expr>) = args.unpack()?;
    let mut sizes = x.sizes.to_vec();
    if new {
        let refused = matches!(x.dtype, DType::Bool | DType::F16 | DType::BF16);
        ensure!(
            !refused,
            "linalg.vander supports floating point, complex, and integer tensors, but got {}",
            x.dtype.name()
        );
        if sizes.is_empty() {
            sizes.push(Expr::from(1i64));
        }
    } else {
        ensure!(x.dim() == 1, "vander: x must be a one-dimensional tensor, got {} dimensions", x.dim());
    }
    let n = n.unwrap_or_else(|| sizes[sizes.len() - 1].clone());
    let least = Expr::from(if new { 2i64 } else { 0 });
    ensure!(args.cx.known(&n.ge(&least)) != Some(false), "{}: N must be at least {least}, got {n}", args.op.name());
    sizes.push(n);
    let dtype = if x.dtype.is_float() || x.dtype.is_complex() { x.dtype } else { DType::I64 };
    one(fresh(x, dtype, sizes))
}

fn vander(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let x: &Tensor = args.at(0)?;
    let rising = args.values.len() < 3 || args.at(2)?;
    let out = &mut outs[0];
    let n = out.sizes()[out.rank() - 1] as usize;
    if out.dtype() == DType::I64 {
        return powers::<i64>(x, out, n, rising, i64::wrapping_mul);
    }
    field!(x.dtype(), |T| powers::<T>(x, out, n, rising, |a, b| a * b))
}

/// The first `n` powers of every element.
fn powers<T: oxport_tensor::Element + One>(
    x: &Tensor,
    out: &mut TensorMut,
    n: usize,
    rising: bool,
    times: impl Fn(T, T) -> T,
) -> Result<()> {
    let mut powers = vec![T::one(); x.numel() * n];
    for (x, row) in x.to_dtype(T::DTYPE)?.to_vec::<T>()?.into_iter().zip(powers.chunks_exact_mut(n.max(1))) {
        (1..n).for_each(|k| row[k] = times(row[k - 1], x));
        if !rising {
            row.reverse();
        }
    }
    crate::linalg::matrices::store_flat(out, powers)
}

fn adjoint_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, name): (&Fake, &str) = (args.at(0)?, args.op.short_name());
    let n = x.dim();
    ensure!(n != 1 && (n <= 2 || name != "matrix_H"), "{name} of {n} dimensions");
    let mut out = x.clone();
    if n > 1 {
        out.sizes.swap(n - 2, n - 1);
        out.strides.swap(n - 2, n - 1);
    }
    one(out)
}

fn adjoint(b: &mut Builder<'_>, args: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let x: NodeId = args.at(0)?;
    let fake = b.fake(x)?;
    let (rank, is_complex) = (fake.dim(), fake.dtype.is_complex());
    let turned = if rank > 1 { b.call("transpose.int", (x, -2i64, -1i64))? } else { b.call("alias", (x,))? };
    Ok(vec![if is_complex { b.call("_conj_physical", (turned,))? } else { turned }.into()])
}
