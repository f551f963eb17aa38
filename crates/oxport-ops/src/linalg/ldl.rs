//! Factorizations of symmetric and Hermitian matrices that need not be definite: a unit lower triangle and blocks of
//! one or two rows on the diagonal, with Bunch and Kaufman's pivots.
//!
//! Laws: the lower triangle is read; pivots are LAPACK's: row `k` was exchanged with row `p` if it says `p` (from 1),
//! and two rows saying `−p` make a block of two whose second was exchanged with row `p`.

use crate::linalg::check::check;
use crate::linalg::matrices::{
    Field, Mat, batch_of, columnwise, common, each, field, keep, lead, matrices, rows, square, store, store_flat, with,
};
use crate::linalg::triangular::fits;
use crate::support::checks::fresh;
use crate::support::meta::{MetaArgs, Metas};
use oxport_ir::{Args, Class, Fake, OpDef, Real, Result, ensure};
use oxport_tensor::{DType, Tensor, TensorMut};

/// The table.
pub static OPS: &[OpDef] = &[
    OpDef::new(
        "aten::linalg_ldl_factor(Tensor self, *, bool hermitian=False) -> (Tensor LD, Tensor pivots)",
        factor_meta,
    )
    .fill(factor_kernel)
    .work(Class::Solve)
    .doc("The triangle and the blocks of a symmetric matrix, and its row exchanges.")
    .samples(&["f32[3, 3]", "c64[2, 3, 3], hermitian=True", "!f32[2, 3]"]),
    OpDef::new(
        "aten::linalg_ldl_factor_ex(Tensor self, *, bool hermitian=False, bool check_errors=False) -> \
        (Tensor LD, Tensor pivots, Tensor info)",
        factor_meta,
    )
    .fill(factor_kernel)
    .work(Class::Solve)
    .doc("The triangle and the blocks of a symmetric matrix, its row exchanges, and where a block is zero.")
    .samples(&["f32[3, 3]", "c64[2, 3, 3]"]),
    OpDef::new(
        "aten::linalg_ldl_solve(Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False) -> Tensor",
        solve_meta,
    )
    .fill(solve)
    .work(Class::Solve)
    .doc("The solution of a symmetric system from its factorization.")
    .samples(&["f32[3, 3], i32[3]<3..4>, f32[3, 2]", "!f32[3, 3], i64[3], f32[3, 2]"]),
];

/// A factorization of one matrix.
pub struct Ldl<T> {
    a: Mat<T>,
    /// Row exchanges as LAPACK tells them: counted from one, negative for a block of two.
    pub pivots: Vec<i32>,
    info: i64,
    hermitian: bool,
}

impl<T: Field> Ldl<T> {
    /// The element across the diagonal from `x`.
    fn mirror(&self, x: T) -> T {
        if self.hermitian { x.bar() } else { x }
    }
    /// A diagonal element.
    fn diagonal(&self, k: usize) -> T {
        let d = self.a[(k, k)];
        if self.hermitian { T::real(d.re()) } else { d }
    }
    /// Rows and columns `k` and `p > k` of the remaining symmetric matrix exchanged, of which the lower triangle is
    /// kept.
    fn exchange(&mut self, k: usize, p: usize) {
        for i in p + 1..self.a.rows {
            let (x, y) = (self.a[(i, k)], self.a[(i, p)]);
            (self.a[(i, k)], self.a[(i, p)]) = (y, x);
        }
        for i in k + 1..p {
            let (x, y) = (self.mirror(self.a[(i, k)]), self.mirror(self.a[(p, i)]));
            (self.a[(p, i)], self.a[(i, k)]) = (x, y);
        }
        self.a[(p, k)] = self.mirror(self.a[(p, k)]);
        let (x, y) = (self.diagonal(k), self.diagonal(p));
        (self.a[(k, k)], self.a[(p, p)]) = (y, x);
    }
    /// The largest element below the diagonal of column `k`: its place and weight.
    fn largest(&self, k: usize, rows: std::ops::Range<usize>) -> (usize, f64) {
        let weight = |i: usize| self.a[(i, k)].weight();
        rows.fold((k, -1.0), |best, i| if weight(i) > best.1 { (i, weight(i)) } else { best })
    }
    /// The pivot of step `k`: which row comes next, and whether it takes a block of two.
    fn choose(&self, k: usize) -> (usize, bool) {
        let alpha = (1.0 + 17f64.sqrt()) / 8.0;
        let n = self.a.rows;
        let here = self.diagonal(k).weight();
        let (p, most) = self.largest(k, k + 1..n);
        if here >= alpha * most {
            return (k, false);
        }
        // The largest element off the diagonal in row and column p.
        let across = (k..p).map(|j| self.a[(p, j)].weight()).fold(0.0, f64::max);
        let row = across.max(self.largest(p, p + 1..n).1);
        if here * row >= alpha * most * most {
            (k, false)
        } else if self.diagonal(p).weight() >= alpha * row {
            (p, false)
        } else {
            (p, true)
        }
    }
    /// The rest of the matrix less what a step of `count` columns explains; the columns become L's.
    fn eliminate(&mut self, k: usize, count: usize) {
        let (n, next) = (self.a.rows, k + count);
        let column = |f: &Self, j: usize| -> Vec<T> { (next..n).map(|i| f.a[(i, j)]).collect() };
        let old: Vec<Vec<T>> = (k..next).map(|j| column(self, j)).collect();
        let new: Vec<Vec<T>> = if count == 1 {
            let d = self.diagonal(k);
            vec![old[0].iter().map(|&x| x / d).collect()]
        } else {
            let (a, b, c) = (self.diagonal(k), self.a[(k + 1, k)], self.diagonal(k + 1));
            let det = a * c - b * self.mirror(b);
            let pairs = || old[0].iter().zip(&old[1]);
            let first = pairs().map(|(&x, &y)| (x * c - y * b) / det).collect();
            vec![first, pairs().map(|(&x, &y)| (y * a - x * self.mirror(b)) / det).collect()]
        };
        for j in next..n {
            for (old, new) in old.iter().zip(&new) {
                let factor = self.mirror(old[j - next]);
                for i in j..n {
                    self.a[(i, j)] -= new[i - next] * factor;
                }
            }
            self.a[(j, j)] = self.diagonal(j);
        }
        for (c, new) in new.into_iter().enumerate() {
            self.a.column_mut(k + c)[next..].copy_from_slice(&new);
        }
    }
    /// Factorizes.
    pub fn of(a: Mat<T>, hermitian: bool) -> Ldl<T> {
        let n = a.rows;
        let mut f = Ldl { a, pivots: vec![0; n], info: 0, hermitian };
        (0..n).for_each(|k| f.a[(k, k)] = f.diagonal(k));
        let mut k = 0;
        while k < n {
            let most = f.largest(k, k + 1..n).1.max(0.0);
            if f.diagonal(k).weight().max(most) == 0.0 {
                f.info = if f.info == 0 { k as i64 + 1 } else { f.info };
                f.pivots[k] = k as i32 + 1;
                k += 1;
                continue;
            }
            let (p, two) = f.choose(k);
            let moved = k + usize::from(two);
            if p != moved {
                f.exchange(moved, p);
                if two {
                    let (x, y) = (f.a[(k + 1, k)], f.a[(p, k)]);
                    (f.a[(k + 1, k)], f.a[(p, k)]) = (y, x);
                }
            }
            f.eliminate(k, 1 + usize::from(two));
            f.pivots[k..=moved].fill(if two { -(p as i32 + 1) } else { p as i32 + 1 });
            k = moved + 1;
        }
        f
    }
    /// The steps: first column, number of columns, and the exchange of its last one.
    fn steps(&self) -> Result<Vec<(usize, usize, usize)>> {
        let (n, mut k, mut steps) = (self.a.rows, 0, Vec::new());
        while k < n {
            let (p, count) = (self.pivots[k].unsigned_abs() as usize, if self.pivots[k] < 0 { 2 } else { 1 });
            ensure!((1..=n).contains(&p) && k + count <= n, "linalg_ldl_solve: pivots {:?}", self.pivots);
            steps.push((k, count, p - 1));
            k += count;
        }
        Ok(steps)
    }
    /// `x` of `a x = b`.
    pub fn solve(&self, mut b: Mat<T>) -> Result<Mat<T>> {
        let (n, steps) = (self.a.rows, self.steps()?);
        for &(k, count, p) in &steps {
            b.swap_rows(k + count - 1, p);
            for j in 0..b.cols {
                for c in k..k + count {
                    let known = b[(c, j)];
                    (k + count..n).for_each(|i| b[(i, j)] -= self.a[(i, c)] * known);
                }
                if count == 1 {
                    b[(k, j)] /= self.diagonal(k);
                    continue;
                }
                let (a, low, c) = (self.diagonal(k), self.a[(k + 1, k)], self.diagonal(k + 1));
                let det = a * c - low * self.mirror(low);
                let (x, y) = (b[(k, j)], b[(k + 1, j)]);
                (b[(k, j)], b[(k + 1, j)]) = ((x * c - y * self.mirror(low)) / det, (y * a - x * low) / det);
            }
        }
        for &(k, count, p) in steps.iter().rev() {
            for j in 0..b.cols {
                for c in k..k + count {
                    let sum = (k + count..n).fold(T::zero(), |s, i| s + self.mirror(self.a[(i, c)]) * b[(i, j)]);
                    b[(c, j)] -= sum;
                }
            }
            b.swap_rows(k + count - 1, p);
        }
        Ok(b)
    }
}

fn factor_meta(args: &MetaArgs<'_>) -> Metas {
    let x: &Fake = args.at(0)?;
    let (batch, n) = square(args, x)?;
    let pivots = fresh(x, DType::I32, with(batch, [&n]));
    keep(args, [columnwise(x, x.dtype, x.sizes.to_vec()), pivots, fresh(x, DType::I32, batch.to_vec())])
}

fn factor_kernel(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, hermitian): (&Tensor, bool) = args.unpack()?;
    field!(x.dtype(), |T| {
        let factors = each(matrices::<T>(x, lead(x, 2))?, |a| Ldl::of(a, hermitian && T::COMPLEX));
        if outs.len() == 2 || args.at(2)? {
            check(factors.iter().map(|f| f.info), x.rank() == 2, "torch.linalg.ldl_factor_ex")?;
        }
        // The triangle above the diagonal is not written.
        let lower = |f: &Ldl<T>| {
            Mat::by(f.a.rows, f.a.rows, |i, j| if i >= j { f.a[(i, j)] } else { <T as num_traits::Zero>::zero() })
        };
        store(&mut outs[0], &factors.iter().map(lower).collect::<Vec<_>>())?;
        store_flat(&mut outs[1], factors.iter().flat_map(|f| f.pivots.clone()).collect())?;
        outs.get_mut(2).map_or(Ok(()), |out| store_flat(out, factors.iter().map(|f| f.info).collect()))
    })
}

fn solve_meta(args: &MetaArgs<'_>) -> Metas {
    let (ld, pivots, b): (&Fake, &Fake, &Fake) = args.unpack()?;
    fits(args, ld, b, true)?;
    let n = ld.dim();
    let same = pivots.dim() + 1 == n && pivots.sizes.iter().zip(&ld.sizes).all(|(a, b)| args.cx.may_be_same(a, b));
    ensure!(same, "linalg_ldl_solve: pivots {pivots} of {ld}");
    ensure!(pivots.dtype == DType::I32, "linalg_ldl_solve: pivots are int32, not {}", pivots.dtype.name());
    let batch = common(args, &ld.sizes[..n - 2], &b.sizes[..b.dim() - 2])?;
    keep(args, [columnwise(b, b.dtype, with(&batch, [&b.sizes[b.dim() - 2], &b.sizes[b.dim() - 1]]))])
}

fn solve(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (ld, pivots, b, hermitian): (&Tensor, &Tensor, &Tensor, bool) = args.unpack()?;
    field!(ld.dtype(), |T| {
        let batch = batch_of(&outs[0]);
        let pivots = rows::<i32>(pivots, 1, &batch)?;
        let all = matrices::<T>(ld, &batch)?.into_iter().zip(pivots).zip(matrices::<T>(b, &batch)?).collect();
        let solved = each(all, |((a, pivots), b): ((Mat<T>, Vec<i32>), Mat<T>)| {
            Ldl { a, pivots, info: 0, hermitian: hermitian && T::COMPLEX }.solve(b)
        });
        store(&mut outs[0], &solved.into_iter().collect::<Result<Vec<_>>>()?)
    })
}
