//! What singular values decide: ranks, pseudo-inverses, least squares.
//!
//! Laws: a singular value counts if it is above `max(atol, rtol · largest)`; `rtol` defaults to the dtype's ε times the
//! larger size, or to 0 where `atol` is positive.

use crate::linalg::eig::{eigh, eigvalsh, mirrored};
use crate::linalg::matrices::{
    Field, Mat, batch_of, columnwise, each, field, matrices, matrix, smaller, store, store_flat, with,
};
use crate::linalg::svd::{singular_values, svd};
use crate::support::checks::{fresh, same_dtype};
use crate::support::meta::{MetaArgs, Metas, broadcast, one};
use num_traits::Zero;
use oxport_ir::{Arg, Args, Class, Fake, OpDef, Real, Result, Val, Value, World, ensure};
use oxport_sym::Expr;
use oxport_tensor::{DType, Layout, Tensor, TensorMut, filled};

/// A rank.
macro_rules! rank {
    ($schema:literal, [$($sample:literal),*]) => {
        OpDef::new($schema, |a| meta(a, false))
            .fill(rank).work(Class::Solve)
            .doc("The number of singular values above a tolerance.")
            .samples(&[$($sample),*])
    };
}
/// A pseudo-inverse.
macro_rules! pinv {
    ($schema:literal, [$($sample:literal),*]) => {
        OpDef::new($schema, |a| meta(a, true))
            .fill(pinv).work(Class::Solve)
            .doc("The pseudo-inverse, singular values up to a tolerance taken for 0.")
            .samples(&[$($sample),*])
    };
}

/// The table.
pub static OPS: &[OpDef] = &[
    rank!(
        "aten::linalg_matrix_rank(Tensor self, float tol, bool hermitian=False) -> Tensor",
        ["f32[3, 2], 0.5", "!f16[2, 2], 0.5"]
    ),
    rank!(
        "aten::linalg_matrix_rank.tol_tensor(Tensor input, Tensor tol, bool hermitian=False) -> Tensor",
        ["f32[3, 2], f32[4]", "f32[3, 3], f32[], True"]
    ),
    rank!(
        "aten::linalg_matrix_rank.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, \
        bool hermitian=False) -> Tensor",
        ["f32[3, 2]", "c64[2, 3, 3], atol=0.5, hermitian=True", "!f32[3, 2], hermitian=True"]
    ),
    rank!(
        "aten::linalg_matrix_rank.atol_rtol_tensor(Tensor input, *, Tensor? atol=None, Tensor? \
        rtol=None, bool hermitian=False) -> Tensor",
        ["f32[2, 3, 2], rtol=f32[4, 1]"]
    ),
    pinv!("aten::linalg_pinv(Tensor self, float rcond, bool hermitian=False) -> Tensor", ["f32[3, 2], 0.01"]),
    pinv!(
        "aten::linalg_pinv.rcond_tensor(Tensor self, Tensor rcond, bool hermitian=False) -> Tensor",
        ["f32[3, 3], f32[4], True"]
    ),
    pinv!(
        "aten::linalg_pinv.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, bool \
        hermitian=False) -> Tensor",
        ["f32[3, 2]", "c64[2, 2, 3], atol=0.01", "!i64[2, 2]"]
    ),
    pinv!(
        "aten::linalg_pinv.atol_rtol_tensor(Tensor self, *, Tensor? atol=None, Tensor? rtol=None, bool \
        hermitian=False) -> Tensor",
        ["f32[2, 3, 2], atol=f32[4, 1]"]
    ),
    pinv!("aten::pinverse(Tensor self, float rcond=1.0000000000000001e-15) -> Tensor", ["f32[3, 2]"]),
    OpDef::new(
        "aten::linalg_lstsq(Tensor self, Tensor b, float? rcond=None, *, str? driver=None) -> (Tensor \
        solution, Tensor residuals, Tensor rank, Tensor singular_values)",
        lstsq_meta,
    )
    .eval(lstsq)
    .work(Class::Solve)
    .doc(
        "The shortest of the nearest solutions, what they leave over, the rank and the singular values, \
        as far as the driver gives them.",
    )
    .samples(&[
        "f32[4, 2], f32[4, 3]",
        "c64[2, 4, 2], c64[2, 4, 3], driver=\"gels\"",
        "f32[2, 3], f32[2, 1], driver=\"gelsd\"",
        "f32[2, 4, 2], f32[2, 4], driver=\"gelss\"",
        "!f32[3], f32[3]",
        "!f32[3, 2], f32[3, 1], driver=\"qr\"",
    ]),
];

/// The arguments that say which singular values count, by the name of what they are.
const TOLERANCES: [(&str, bool); 4] = [("tol", true), ("atol", true), ("rcond", false), ("rtol", false)];

fn argument<'a, W: World>(args: &Args<'a, W>, name: &str) -> Option<&'a Arg<W>> {
    let (i, _) = args.op.schema()?.arg(name)?;
    Some(&args.values[i]).filter(|a| !matches!(a, Arg::None))
}

fn is_hermitian<W: World>(args: &Args<'_, W>) -> Result<bool> {
    args.op.schema().and_then(|s| s.arg("hermitian")).map_or(Ok(false), |(i, _)| args.at(i))
}

fn meta(args: &MetaArgs<'_>, inverse: bool) -> Metas {
    let x: &Fake = args.at(0)?;
    let (batch, m, n) = matrix(args, x)?;
    let hermitian = is_hermitian(args)?;
    ensure!(!hermitian || args.cx.may_be_same(&m, &n), "{}: {x} is not square", args.name());
    let empty = x.sizes.iter().any(|s| args.cx.is(s, 0));
    let mut lead: Vec<Expr> = batch.to_vec();
    for (name, _) in TOLERANCES {
        if let Some(Arg::Tensor(t)) = argument(args, name) {
            ensure!(!t.dtype.is_complex(), "{}: a tolerance of {}", args.name(), t.dtype.name());
            if !(inverse && empty) {
                lead = broadcast(args.cx, &[&lead, &t.sizes])?.to_vec();
            }
        }
    }
    one(if inverse { fresh(x, x.dtype, with(&lead, [&n, &m])) } else { fresh(x, DType::I64, lead) })
}

/// The tolerances of every matrix of a batch: the absolute and the relative one.
fn tolerances(args: &Args<'_, Real>, x: &Tensor, batch: &[i64]) -> Result<Vec<(f64, f64)>> {
    let count = batch.iter().product::<i64>() as usize;
    let mut found: [Option<Vec<f64>>; 2] = [None, None];
    for (name, absolute) in TOLERANCES {
        found[usize::from(!absolute)] = match argument(args, name) {
            Some(Arg::Tensor(t)) => Some(t.to_dtype(DType::F64)?.view(|l| l.expand(batch))?.to_vec()?),
            Some(Arg::Float(tolerance)) => Some(vec![*tolerance; count]),
            Some(Arg::Int(tolerance)) => Some(vec![*tolerance as f64; count]),
            _ => continue,
        };
    }
    let [m, n] = [x.sizes()[x.rank() - 2], x.sizes()[x.rank() - 1]];
    let usual = epsilon(x.dtype()) * m.max(n) as f64;
    // The old forms give one of the two, and 0 for the other.
    let old = ["tol", "rcond"].iter().any(|name| argument(args, name).is_some());
    let of = |i: usize| {
        let atol = found[0].as_ref().map_or(0.0, |a| a[i]);
        let default = if old || atol > 0.0 { 0.0 } else { usual };
        (atol, found[1].as_ref().map_or(default, |r| r[i]))
    };
    Ok((0..count).map(of).collect())
}

/// The distance from 1 to the next number.
fn epsilon(dtype: DType) -> f64 {
    if matches!(dtype, DType::F64 | DType::C128) { f64::EPSILON } else { f64::from(f32::EPSILON) }
}

fn threshold(values: &[f64], (atol, rtol): (f64, f64)) -> f64 {
    atol.max(rtol * values.iter().fold(0.0f64, |most, v| most.max(v.abs())))
}

fn rank(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, hermitian): (&Tensor, bool) = (args.at(0)?, is_hermitian(args)?);
    let batch = outs[0].sizes().to_vec();
    let tolerances = tolerances(args, x, &batch)?;
    field!(x.dtype(), |T| {
        let all = matrices::<T>(x, &batch)?.into_iter().zip(tolerances).collect();
        let ranks = each(all, |(a, tolerance): (Mat<T>, _)| {
            let values = if hermitian { eigvalsh(&mirrored(&a, false))? } else { singular_values(&a)? };
            let least = threshold(&values, tolerance);
            Ok(values.iter().filter(|v| v.abs() > least).count() as i64)
        });
        store_flat(&mut outs[0], ranks.into_iter().collect::<Result<Vec<i64>>>()?)
    })
}

/// `1 / v` where it counts, else 0.
fn inverted(values: &[f64], least: f64) -> Vec<f64> {
    values.iter().map(|&v| if v.abs() > least { 1.0 / v } else { 0.0 }).collect()
}

fn pinv(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, hermitian): (&Tensor, bool) = (args.at(0)?, is_hermitian(args)?);
    if outs[0].numel() == 0 {
        return Ok(());
    }
    let batch = batch_of(&outs[0]);
    let tolerances = tolerances(args, x, &batch)?;
    field!(x.dtype(), |T| {
        let all = matrices::<T>(x, &batch)?.into_iter().zip(tolerances).collect();
        let inverses = each(all, |(a, tolerance): (Mat<T>, _)| {
            if hermitian {
                let (values, v) = eigh(&mirrored(&a, false))?;
                let scales = inverted(&values, threshold(&values, tolerance));
                return Ok(v.clone().scaled_columns(&scales).times(&v.adjoint()));
            }
            let (u, values, vh) = svd(&a, false)?;
            let scales = inverted(&values, threshold(&values, tolerance));
            Ok(vh.adjoint().scaled_columns(&scales).times(&u.adjoint()))
        });
        store(&mut outs[0], &inverses.into_iter().collect::<Result<Vec<Mat<T>>>>()?)
    })
}

/// Which LAPACK routine a call names; they differ in what they report.
fn driver<'a, W: World>(args: &Args<'a, W>) -> Result<&'a str> {
    let driver = args.at::<Option<&str>>(3)?.unwrap_or("gelsy");
    let known = matches!(driver, "gels" | "gelsy" | "gelsd" | "gelss");
    ensure!(known, "linalg_lstsq: `driver` should be one of gels, gelsy, gelsd, gelss, not {driver}");
    Ok(driver)
}

fn lstsq_meta(args: &MetaArgs<'_>) -> Metas {
    let (a, b): (&Fake, &Fake) = args.unpack()?;
    let (batch, m, n) = matrix(args, a)?;
    same_dtype(args, &[a, b])?;
    let vector = b.dim() + 1 == a.dim();
    ensure!(vector || b.dim() == a.dim(), "linalg_lstsq: {a} and {b} do not fit");
    let mut right = b.sizes.to_vec();
    if vector {
        right.push(Expr::from(1i64));
    }
    let k = right.pop().expect("law: it has two dimensions at least");
    let rows = right.pop().expect("law: it has two dimensions at least");
    ensure!(args.cx.may_be_same(&rows, &m), "linalg_lstsq: {a} and {b} have different numbers of rows");
    let batch = broadcast(args.cx, &[batch, &right])?;
    // The solution is the top of a buffer that held the right-hand side.
    let tall = m.max(&n);
    let buffer = columnwise(a, a.dtype, with(&batch, [&tall, &k]));
    let mut solution = Fake { sizes: with(&batch, [&n, &k]).into(), ..buffer };
    if vector {
        solution.sizes.pop();
        solution.strides.pop();
    }
    let driver = driver(args)?;
    let none = |dtype| crate::linalg::matrices::nothing(a, dtype);
    let real = a.dtype.to_real();
    // Where the sizes are symbols, what they were at capture decides, as it does in PyTorch.
    let more = args.cx.known(&m.gt(&n)).unwrap_or_else(|| args.cx.hint(&m) > args.cx.hint(&n));
    let over = driver != "gelsy" && more;
    let residuals = if over { fresh(a, real, with(&batch, [&k])) } else { none(real) };
    let rank = if driver == "gels" { none(DType::I64) } else { fresh(a, DType::I64, batch.to_vec()) };
    let values = if matches!(driver, "gelsd" | "gelss") {
        fresh(a, real, with(&batch, [&smaller(args, &m, &n)]))
    } else {
        none(real)
    };
    Ok([solution, residuals, rank, values].map(Val::Tensor).to_vec())
}

fn lstsq(args: &Args<'_, Real>) -> Result<Vec<Value>> {
    let (a, b, rcond): (&Tensor, &Tensor, Option<f64>) = args.unpack()?;
    let metas = crate::view::by_meta::ask_meta(args, lstsq_meta)?;
    let law = "law: the meta of numbers is numbers";
    let mut outs = Vec::new();
    for t in metas.iter().flat_map(Val::tensors) {
        outs.push(TensorMut::empty(t.dtype, t.concrete_layout().expect(law))?);
    }
    let driver = driver(args)?;
    let vector = b.rank() + 1 == a.rank();
    let b = if vector { b.view(|l| l.unsqueeze(-1))? } else { b.clone() };
    let (batch, n) = (outs[0].sizes()[..a.rank() - 2].to_vec(), a.sizes()[a.rank() - 1]);
    let usual = epsilon(a.dtype()) * a.sizes()[a.rank() - 2].max(n) as f64;
    let rtol = if driver == "gels" { 0.0 } else { rcond.unwrap_or(usual) };
    let full = field!(a.dtype(), |T| {
        let all = matrices::<T>(a, &batch)?.into_iter().zip(matrices::<T>(&b, &batch)?).collect();
        let found = each(all, |(a, b): (Mat<T>, Mat<T>)| nearest(&a, &b, rtol));
        let found: Vec<Nearest<T>> = found.into_iter().collect::<Result<_>>()?;
        let solutions: Vec<Mat<T>> = found.iter().map(|f| f.solution.clone()).collect();
        if vector {
            store_flat::<T>(&mut outs[0], solutions.into_iter().flat_map(|s| s.data).collect())?;
        } else {
            store(&mut outs[0], &solutions)?;
        }
        if outs[1].numel() > 0 {
            store_flat(&mut outs[1], found.iter().flat_map(|f| f.left.clone()).collect())?;
        }
        if driver != "gels" {
            store_flat(&mut outs[2], found.iter().map(|f| f.rank as i64).collect())?;
        }
        if matches!(driver, "gelsd" | "gelss") {
            store_flat(&mut outs[3], found.iter().flat_map(|f| f.values.clone()).collect())?;
        }
        found.iter().all(|f| f.rank as i64 == n)
    });
    let mut results: Vec<Value> = outs.into_iter().map(|o| o.freeze().into()).collect();
    // Where a rank falls short, nothing can be said of what is left over.
    if driver != "gels" && !full {
        let none = TensorMut::empty(a.dtype().to_real(), Layout::contiguous(&[0])?)?;
        results[1] = none.freeze().into();
    }
    Ok(results)
}

/// A least-squares solution of one system.
struct Nearest<T> {
    solution: Mat<T>,
    /// The squared lengths of what the solutions leave over.
    left: Vec<f64>,
    rank: usize,
    values: Vec<f64>,
}

fn nearest<T: Field>(a: &Mat<T>, b: &Mat<T>, rtol: f64) -> Result<Nearest<T>> {
    let (u, values, vh) = svd(a, false)?;
    let least = threshold(&values, (0.0, rtol));
    let scales = inverted(&values, least);
    let solution = vh.adjoint().scaled_columns(&scales).times(&u.adjoint().times(b));
    let reached = a.times(&solution);
    let apart = |j: usize| {
        let pairs = b.column(j).iter().zip(reached.column(j));
        pairs.map(|(&b, &x)| if b == x { 0.0 } else { (b - x).modulus().powi(2) }).sum()
    };
    let rank = scales.iter().filter(|s| !s.is_zero()).count();
    let mut left = filled(0.0, b.cols)?;
    left.iter_mut().enumerate().for_each(|(j, left)| *left = apart(j));
    Ok(Nearest { solution, left, rank, values })
}
