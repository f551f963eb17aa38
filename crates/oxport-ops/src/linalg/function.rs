//! Functions of square matrices: powers, the exponential, the square root; and the polar decomposition.
//!
//! Laws: the root reads the lower triangle and takes negative eigenvalues for 0; powers are products in PyTorch's
//! order.

use crate::linalg::eig::{eigh, mirrored};
use crate::linalg::matrices::{Field, Mat, batch_of, columnwise, each, field, lead, matrices, matrix, square, store};
use crate::linalg::svd::svd;
use crate::support::checks::{floating, fresh};
use crate::support::meta::{MetaArgs, Metas, one};
use oxport_ir::{Args, Argument, Build, Builder, Class, Fake, NodeId, OpDef, Real, Result, Val, ensure};
use oxport_tensor::{Tensor, TensorMut};

/// The table.
pub static OPS: &[OpDef] = &[
    OpDef::new("aten::linalg_matrix_power(Tensor self, int n) -> Tensor", power_meta)
        .decomp(power)
        .doc("An integral power; a negative one of the inverse.")
        .samples(&[
            "f32[3, 3], 5",
            "i64[3, 3]<3>, 0",
            "f32[1, 1]<1..2>, -1",
            "c64[2, 1, 1]<1..2>, -3",
            "!f32[2, 3], 2",
        ]),
    OpDef::new("aten::matrix_power(Tensor self, int n) -> Tensor", power_meta)
        .decomp(power)
        .doc("An integral power; a negative one of the inverse.")
        .samples(&["f32[3, 3], 3"]),
    OpDef::new("aten::linalg_matrix_exp(Tensor self) -> Tensor", exp_meta)
        .fill(exp)
        .work(Class::Solve)
        .doc("The exponential.")
        .samples(&["f32[3, 3]", "c64[2, 3, 3]", "f16[2, 2]", "f32[0, 2, 2]", "!f32[2, 3]", "!i64[2, 2]"]),
    OpDef::new("aten::matrix_exp(Tensor self) -> Tensor", exp_meta)
        .fill(exp)
        .work(Class::Solve)
        .doc("The exponential.")
        .samples(&["f32[3, 3]"]),
    OpDef::new("aten::linalg_matrix_sqrth(Tensor self) -> Tensor", root_meta)
        .fill(root)
        .work(Class::Solve)
        .doc("The square root of a Hermitian matrix that is not negative.")
        .samples(&["f32[3, 3]", "c64[2, 3, 3]", "!f32[2, 3]"]),
    OpDef::new("aten::linalg_polar(Tensor A) -> (Tensor U, Tensor H)", polar_meta)
        .fill(polar)
        .work(Class::Solve)
        .doc(
            "Orthonormal columns and a Hermitian matrix without negative eigenvalues whose product is the \
            matrix.",
        )
        .samples(&["f32[3, 2]", "c64[2, 3, 3]", "!f32[2, 3]"]),
];

fn power_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, n): (&Fake, i64) = args.unpack()?;
    ensure!(x.dim() >= 2, "{}: the input tensor must have at least 2 dimensions, got {}", args.name(), x.dim());
    let [a, b] = [&x.sizes[x.dim() - 2], &x.sizes[x.dim() - 1]];
    ensure!(args.cx.may_be_same(a, b), "{}: {x} is not square", args.name());
    if n < 0 {
        square(args, x)?;
    }
    let sizes = x.sizes.to_vec();
    one(if n == -1 { columnwise(x, x.dtype, sizes) } else { fresh(x, x.dtype, sizes) })
}

fn power(b: &mut Builder<'_>, args: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (x, n): (NodeId, i64) = args.unpack()?;
    if n == 0 {
        let (dtype, rank) = (b.fake(x)?.dtype, b.fake(x)?.dim());
        let sizes = (0..rank as i64).map(|d| b.size(x, d)).collect::<Result<Vec<_>>>()?;
        let last = sizes[rank - 1].clone();
        let eye = b.call_kw("eye", (last,), &[("dtype", Argument::DType(dtype))])?;
        let eyes = b.call("expand", (eye, Argument::List(sizes)))?;
        return Ok(vec![b.call("contiguous", (eyes,))?.into()]);
    }
    let mut base = if n < 0 { b.call("linalg_inv", (x,))? } else { x };
    let mut left = n.unsigned_abs();
    if n == -1 {
        return Ok(vec![base.into()]);
    }
    if left == 1 {
        return Ok(vec![
            b.call_kw(
                "clone",
                (base,),
                &[("memory_format", Argument::MemoryFormat(oxport_ir::MemoryFormat::Contiguous))],
            )?
            .into(),
        ]);
    }
    if left == 3 {
        let twice = b.call("matmul", (base, base))?;
        return Ok(vec![b.call("matmul", (twice, base))?.into()]);
    }
    let mut result = None;
    loop {
        if left % 2 == 1 {
            result = Some(match result {
                Some(r) => b.call("matmul", (r, base))?,
                None => base,
            });
        }
        left /= 2;
        if left == 0 {
            break;
        }
        base = b.call("matmul", (base, base))?;
    }
    Ok(vec![result.expect("law: a number that is not 0 has a digit 1").into()])
}

fn exp_meta(args: &MetaArgs<'_>) -> Metas {
    let x: &Fake = args.at(0)?;
    floating(args, x, true)?;
    ensure!(x.dim() >= 2, "{}: the input tensor must have at least 2 dimensions, got {}", args.name(), x.dim());
    let same = args.cx.may_be_same(&x.sizes[x.dim() - 2], &x.sizes[x.dim() - 1]);
    ensure!(same, "{}: {x} is not square", args.name());
    one(fresh(x, x.dtype, x.sizes.to_vec()))
}

fn exp(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let x: &Tensor = args.at(0)?;
    field!(x.dtype(), |T| store(&mut outs[0], &each(matrices::<T>(x, lead(x, 2))?, |a| exponential(&a))))
}

/// By Taylor's series of the matrix scaled to a norm of at most 1/2, squared as often as it was halved.
pub fn exponential<T: Field>(a: &Mat<T>) -> Mat<T> {
    let sums = (0..a.cols).map(|j| a.column(j).iter().map(|x| x.modulus()).sum::<f64>());
    let norm = sums.fold(0.0, f64::max);
    if !a.is_finite() || !norm.is_finite() {
        return Mat::by(a.rows, a.cols, |_, _| T::real(f64::NAN));
    }
    let halvings = if norm > 0.5 { (norm.log2() + 1.0).ceil() as i32 } else { 0 };
    let scaled = Mat { data: a.data.iter().map(|&x| x * T::real(0.5f64.powi(halvings))).collect(), ..*a };
    // The remainder after the 16th power is below 2⁻¹⁷/17!, less than half an ε. Powers are grouped by fours, so that
    // six products make all of them.
    let square = scaled.times(&scaled);
    let (cube, fourth) = (square.times(&scaled), square.times(&square));
    let powers = [Mat::identity(a.rows, a.cols), scaled, square, cube];
    let mut terms = [1.0; 17];
    (1..17).for_each(|k| terms[k] = terms[k - 1] / k as f64);
    let add = |sum: &mut Mat<T>, power: &Mat<T>, term: f64| {
        sum.data.iter_mut().zip(&power.data).for_each(|(sum, &x)| *sum += x * T::real(term));
    };
    let mut sum = Mat::zeros(a.rows, a.cols);
    add(&mut sum, &fourth, terms[16]);
    for (group, terms) in terms.chunks_exact(4).enumerate().rev() {
        powers.iter().zip(terms).rev().for_each(|(power, &term)| add(&mut sum, power, term));
        if group > 0 {
            sum = sum.times(&fourth);
        }
    }
    (0..halvings).fold(sum, |s, _| s.times(&s))
}

fn root_meta(args: &MetaArgs<'_>) -> Metas {
    let x: &Fake = args.at(0)?;
    square(args, x)?;
    one(fresh(x, x.dtype, x.sizes.to_vec()))
}

fn root(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let x: &Tensor = args.at(0)?;
    field!(x.dtype(), |T| {
        let roots = each(matrices::<T>(x, lead(x, 2))?, |a| {
            let (values, v) = eigh(&mirrored(&a, false))?;
            let scales: Vec<f64> = values.iter().map(|v| v.max(0.0).sqrt()).collect();
            Ok(v.clone().scaled_columns(&scales).times(&v.adjoint()))
        });
        store(&mut outs[0], &roots.into_iter().collect::<Result<Vec<Mat<T>>>>()?)
    })
}

fn polar_meta(args: &MetaArgs<'_>) -> Metas {
    let x: &Fake = args.at(0)?;
    let (batch, m, n) = matrix(args, x)?;
    let tall = args.cx.known(&m.ge(&n)) != Some(false);
    ensure!(tall, "linalg.polar: input must have at least as many rows as columns, but got {m} by {n} matrices");
    let sizes = crate::linalg::matrices::with(batch, [&n, &n]);
    Ok(vec![Val::Tensor(fresh(x, x.dtype, x.sizes.to_vec())), Val::Tensor(fresh(x, x.dtype, sizes))])
}

fn polar(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let x: &Tensor = args.at(0)?;
    field!(x.dtype(), |T| {
        let found = each(matrices::<T>(x, &batch_of(&outs[0]))?, |a| {
            let (u, values, vh) = svd(&a, false)?;
            Ok((u.times(&vh), vh.adjoint().scaled_columns(&values).times(&vh)))
        });
        let found: Vec<(Mat<T>, Mat<T>)> = found.into_iter().collect::<Result<_>>()?;
        let (u, h): (Vec<_>, Vec<_>) = found.into_iter().unzip();
        store(&mut outs[0], &u)?;
        store(&mut outs[1], &h)
    })
}
