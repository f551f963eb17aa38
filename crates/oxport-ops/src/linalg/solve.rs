//! Linear systems and inverses.
//!
//! Laws: a right-hand side that has one dimension less than the system is a vector; the `_ex` forms report a singular
//! matrix, the others refuse it.

use crate::linalg::check::check;
use crate::linalg::lu::{Lu, cheap_factors, factors, store_factors};
use crate::linalg::matrices::{
    Field, Mat, columnwise, common, each, field, keep, lead, matrices, square, store, store_flat, with,
};
use crate::support::checks::{fresh, same_dtype};
use crate::support::meta::{MetaArgs, Metas, one};
use oxport_ir::{Args, Class, Fake, OpDef, Real, Result, Val, World, ensure};
use oxport_sym::Expr;
use oxport_tensor::{DType, Tensor, TensorMut};

/// A solution.
macro_rules! solve {
    ($schema:literal, $doc:literal, [$($sample:literal),*]) => {
        OpDef::new($schema, solve_meta).fill(solve).work(Class::Solve).doc($doc).samples(&[$($sample),*])
    };
}
/// An inverse.
macro_rules! inverse {
    ($schema:literal, $doc:literal, [$($sample:literal),*]) => {
        OpDef::new($schema, inverse_meta).fill(inverse).work(Class::Solve).doc($doc).samples(&[$($sample),*])
    };
}

/// The table.
pub static OPS: &[OpDef] = &[
    solve!(
        "aten::linalg_solve(Tensor A, Tensor B, *, bool left=True) -> Tensor",
        "The solution of a system; refuses a singular one.",
        [
            "f32[3, 3], f32[3, 2]",
            "f32[3, 3], f32[3]",
            "c64[2, 3, 3], c64[4, 1, 2, 3], left=False",
            "f32[2, 3, 3], f32[2, 3]",
            "!f32[3, 3], f32[2, 2]",
            "!f32[2, 3], f32[2]",
            "!f32[3, 3], f32[3], left=False"
        ]
    ),
    solve!(
        "aten::linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> \
        (Tensor result, Tensor info)",
        "The solution of a system, and where it is singular.",
        ["f32[3, 3], f32[3, 2]"]
    ),
    solve!(
        "aten::_linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> \
        (Tensor result, Tensor LU, Tensor pivots, Tensor info)",
        "The solution of a system, its factorization, and where it is singular.",
        ["f32[3, 3], f32[3, 2]", "f32[2, 3, 3], f32[2, 3]"]
    ),
    inverse!(
        "aten::linalg_inv(Tensor A) -> Tensor",
        "The inverse; refuses a singular matrix.",
        ["f32[3, 3]", "c64[2, 3, 3]", "!f32[2, 3]", "!f16[2, 2]"]
    ),
    inverse!("aten::inverse(Tensor self) -> Tensor", "The inverse; refuses a singular matrix.", ["f32[3, 3]"]),
    inverse!(
        "aten::linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)",
        "The inverse, and where the matrix is singular.",
        ["f32[2, 3, 3]"]
    ),
    OpDef::new("aten::linalg_tensorinv(Tensor self, int ind=2) -> Tensor", tensorinv_meta)
        .fill(tensorinv)
        .work(Class::Solve)
        .doc("The inverse of a tensor as a map from its last dimensions to its first.")
        .samples(&["f32[2, 3, 6]", "f32[6, 3, 2], 1", "!f32[2, 3, 5]", "!f32[2, 2], 0"]),
    OpDef::new("aten::linalg_tensorsolve(Tensor self, Tensor other, int[]? dims=None) -> Tensor", tensorsolve_meta)
        .fill(tensorsolve)
        .work(Class::Solve)
        .doc("The solution of a system whose matrix and vectors have several dimensions a side.")
        .samples(&[
            "f32[2, 3, 6], f32[2, 3]",
            "f32[3, 4, 4, 3], f32[3, 4], [0, 2]",
            "f32[], f32[], [-1]",
            "!f32[2, 3, 5], f32[2, 3]",
        ]),
];

/// Is the right-hand side a vector, or a batch of them?
fn is_vector<S: PartialEq>(a: &[S], b: &[S], same: impl Fn(&S, &S) -> bool) -> bool {
    b.len() == 1 || a.len() == b.len() + 1 && a.iter().zip(b).all(|(a, b)| same(a, b))
}

fn solve_meta(args: &MetaArgs<'_>) -> Metas {
    let (a, b, left): (&Fake, &Fake, bool) = args.unpack()?;
    let (batch, n) = square(args, a)?;
    same_dtype(args, &[a, b])?;
    let vector = is_vector(&a.sizes, &b.sizes, |x, y| args.cx.same(x, y));
    ensure!(left || !vector, "{}: a vector cannot be solved for from the right", args.name());
    ensure!(b.dim() > 0, "{}: the right-hand side is a number", args.name());
    let mut sizes = b.sizes.to_vec();
    if vector {
        sizes.push(Expr::from(1i64));
    }
    let rank = sizes.len();
    let fits = args.cx.may_be_same(&sizes[rank - if left { 2 } else { 1 }], &n);
    ensure!(fits, "{}: incompatible shapes {a} and {b}", args.name());
    let common = common(args, batch, &sizes[..rank - 2])?;
    let mut sizes = with(&common, [&sizes[rank - 2], &sizes[rank - 1]]);
    if vector {
        sizes.pop();
    }
    let result = if left { columnwise(b, b.dtype, sizes) } else { fresh(b, b.dtype, sizes) };
    let (lu, pivots) = (columnwise(a, a.dtype, a.sizes.to_vec()), fresh(a, DType::I32, with(batch, [&n])));
    let info = fresh(a, DType::I32, batch.to_vec());
    match args.op.schema().map_or(1, |s| s.returns.len()) {
        2 => keep(args, [result, info]),
        _ => keep(args, [result, lu, pivots, info]),
    }
}

/// Whether a report is an error.
fn strict<W: World>(args: &Args<'_, W>) -> Result<bool> {
    args.op.schema().and_then(|s| s.arg("check_errors")).map_or(Ok(true), |(i, _)| args.at(i))
}

/// Stores a system's factors and reports behind its solution.
fn store_rest<T: Field>(outs: &mut [TensorMut], factors: &[Lu<T>]) -> Result<()> {
    match outs.len() {
        1 => Ok(()),
        2 => store_flat(&mut outs[1], factors.iter().map(|f| f.info).collect()),
        _ => store_factors(&mut outs[1..], factors),
    }
}

fn solve(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (a, b, left): (&Tensor, &Tensor, bool) = args.unpack()?;
    let vector = is_vector(a.sizes(), b.sizes(), |x, y| x == y);
    let b = if vector { b.view(|l| l.unsqueeze(-1))? } else { b.clone() };
    field!(a.dtype(), |T| {
        let factors = factors::<T>(a)?;
        if strict(args)? {
            check(factors.iter().map(|f| f.info), a.rank() == 2, "torch.linalg.solve")?;
        }
        // The result's batch, and for each matrix of it the factorization that it broadcasts from.
        let inner = if vector { 1 } else { 2 };
        let batch = outs[0].sizes()[..outs[0].rank() - inner].to_vec();
        let numbers = Tensor::from_vec(lead(a, 2), (0..factors.len() as i64).collect())?;
        let which = numbers.view(|l| l.expand(&batch))?.to_vec::<i64>()?;
        let pairs = which.into_iter().zip(matrices::<T>(&b, &batch)?).collect();
        let solved = each(pairs, |(f, b): (i64, Mat<T>)| {
            let f = &factors[f as usize];
            if left { f.solve(b, false) } else { f.solve_right(&b, false) }
        });
        if vector {
            store_flat::<T>(&mut outs[0], solved.into_iter().flat_map(|x| x.data).collect())?;
        } else {
            store(&mut outs[0], &solved)?;
        }
        store_rest(outs, &factors)
    })
}

fn inverse_meta(args: &MetaArgs<'_>) -> Metas {
    let x: &Fake = args.at(0)?;
    let (batch, _) = square(args, x)?;
    keep(args, [columnwise(x, x.dtype, x.sizes.to_vec()), fresh(x, DType::I32, batch.to_vec())])
}

fn inverse(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let a: &Tensor = args.at(0)?;
    field!(a.dtype(), |T| {
        let (factors, turned) = cheap_factors::<T>(a)?;
        if strict(args)? {
            check(factors.iter().map(|f| f.info), a.rank() == 2, "linalg.inv")?;
        }
        store(&mut outs[0], &inverses(&factors, turned))?;
        store_rest(outs, &factors)
    })
}

/// Inverses from factorizations, of the transposes if `turned`.
pub fn inverses<T: Field>(factors: &[Lu<T>], turned: bool) -> Vec<Mat<T>> {
    each(factors.iter().collect(), |f: &Lu<T>| f.solve(Mat::identity(f.lu.rows, f.lu.rows), turned))
}

fn product(sizes: &[Expr]) -> Expr {
    sizes.iter().fold(Expr::from(1i64), |n, s| &n * s)
}

fn tensorinv_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, ind): (&Fake, i64) = args.unpack()?;
    crate::linalg::matrices::wide(args, x)?;
    ensure!(ind > 0, "linalg_tensorinv: expected a positive number of dimensions, got {ind}");
    let at = (ind as usize).min(x.dim());
    let (to, from) = x.sizes.split_at(at);
    let n = product(from);
    ensure!(args.cx.may_be_same(&product(to), &n), "linalg_tensorinv: {x} is not square when split at {ind}");
    // The inverse lies column by column, so the dimensions that it maps to lie inside.
    let mut out = fresh(x, x.dtype, from.iter().chain(to).cloned());
    let (inside, outside) = (fresh(x, x.dtype, from.to_vec()), fresh(x, x.dtype, to.to_vec()));
    out.strides = inside.strides.iter().cloned().chain(outside.strides.iter().map(|s| s * &n)).collect();
    one(out)
}

fn tensorinv(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, ind): (&Tensor, i64) = args.unpack()?;
    let n = x.sizes()[(ind as usize).min(x.rank())..].iter().product::<i64>();
    field!(x.dtype(), |T| {
        let (factors, turned) = cheap_factors::<T>(&x.reshape(&[n, n])?)?;
        check(factors.iter().map(|f| f.info), true, "linalg.inv")?;
        let inverse = inverses(&factors, turned).remove(0);
        store_flat(&mut outs[0], inverse.transpose().data)
    })
}

/// The order of the system's dimensions: some moved to the end. A scalar's only one, 0, is none.
fn order(rank: usize, dims: Option<Vec<i64>>) -> Result<Vec<usize>> {
    let last = crate::support::meta::wrap_dims(&dims.unwrap_or_default(), rank)?;
    Ok((0..rank).filter(|d| !last.contains(d)).chain(last.iter().copied().filter(|&d| d < rank)).collect())
}

fn tensorsolve_meta(args: &MetaArgs<'_>) -> Metas {
    let (a, b, dims): (&Fake, &Fake, Option<Vec<i64>>) = args.unpack()?;
    crate::linalg::matrices::wide(args, a)?;
    same_dtype(args, &[a, b])?;
    ensure!(a.dim() >= b.dim(), "linalg_tensorsolve: incompatible {a} and {b}");
    let sizes: Vec<Expr> = order(a.dim(), dims)?.into_iter().map(|d| a.sizes[d].clone()).collect();
    let (to, from) = sizes.split_at(b.dim());
    let square = args.cx.may_be_same(&product(to), &product(from)) && args.cx.may_be_same(&product(to), &b.numel());
    ensure!(square, "linalg_tensorsolve: {a} and {b} make no square system");
    Ok(vec![Val::Tensor(fresh(b, b.dtype, from.to_vec()))])
}

fn tensorsolve(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (a, b, dims): (&Tensor, &Tensor, Option<Vec<i64>>) = args.unpack()?;
    let order: Vec<i64> = order(a.rank(), dims)?.into_iter().map(|d| d as i64).collect();
    let n = b.numel() as i64;
    let a = a.view(|l| l.permute(&order))?.contiguous()?.reshape(&[n, n])?;
    field!(a.dtype(), |T| {
        let (factors, turned) = cheap_factors::<T>(&a)?;
        check(factors.iter().map(|f| f.info), true, "torch.linalg.solve")?;
        let b = matrices::<T>(&b.reshape(&[n, 1])?, &[])?.remove(0);
        store_flat(&mut outs[0], factors[0].solve(b, turned).data)
    })
}
