//! Eigenvectors of small symmetric matrices as LAPACK's `syevd` gives them, signs included: what PyTorch returns on the
//! CPU for up to 25 rows.
//!
//! ```text
//!   A = Q·T·Qᵀ      reflections; T has a diagonal and one on each side of it
//!   T = Z·Λ·Zᵀ      rotations that drive what is beside the diagonal to zero, from its smaller end on
//! ```

use crate::linalg::matrices::Mat;
use crate::linalg::turns::{Number, Reflection, Turn, half_ulp, identity, scaled};

/// Sweeps for each eigenvalue until the iteration is given up.
const SWEEPS: usize = 30;

/// Rising eigenvalues and the eigenvectors of a symmetric matrix, of which LAPACK is given the upper triangle or the
/// lower one. `None` if the iteration does not end.
pub fn eigh<R: Number>(a: &Mat<R>, is_upper: bool) -> Option<(Vec<R>, Mat<R>)> {
    let n = a.rows;
    let (a, scale) = scaled(a);
    // The upper triangle is reduced from its other end.
    let at = |i: usize| if is_upper { n - 1 - i } else { i };
    let (mut d, mut e, reflections) = reduced(Mat::by(n, n, |i, j| a[(at(i), at(j))]));
    let mut q = identity(n);
    reflections.iter().rev().for_each(|reflection| reflection.apply(&mut q, 0));
    if is_upper {
        d.reverse();
        e.reverse();
    }
    let mut sweeps = Sweeps { d, e, z: Mat::by(n, n, |i, j| q[(at(i), at(j))]) };
    sweeps.run()?;
    let Sweeps { mut d, mut z, .. } = sweeps;
    for i in 0..n {
        let least = (i..n).fold(i, |least, j| if d[j] < d[least] { j } else { least });
        if least != i {
            d.swap(i, least);
            (0..n).for_each(|k| z.data.swap(i * n + k, least * n + k));
        }
    }
    Some((d.into_iter().map(|x| x * scale).collect(), z))
}

/// The diagonal of a symmetric matrix, what is beside it, and the reflections that left these.
fn reduced<R: Number>(mut a: Mat<R>) -> (Vec<R>, Vec<R>, Vec<Reflection<R>>) {
    let n = a.rows;
    let two = R::one() + R::one();
    let (mut e, mut reflections) = (Vec::new(), Vec::new());
    for k in 0..n.saturating_sub(1) {
        let from = k + 1;
        let (x, reflection) = Reflection::of((from..n).map(|i| a[(i, k)]), from);
        let (v, tau) = (&reflection.v, reflection.tau);
        let times_v = |i: usize| tau * (from..n).fold(R::zero(), |sum, j| sum + a[(i, j)] * v[j - from]);
        let mut w: Vec<R> = (from..n).map(times_v).collect();
        let half = tau / two * w.iter().zip(v).fold(R::zero(), |sum, (&w, &v)| sum + w * v);
        w.iter_mut().zip(v).for_each(|(w, &v)| *w -= half * v);
        for j in from..n {
            for i in from..n {
                a[(i, j)] -= v[i - from] * w[j - from] + w[i - from] * v[j - from];
            }
        }
        e.push(x);
        reflections.push(reflection);
    }
    ((0..n).map(|i| a[(i, i)]).collect(), e, reflections)
}

/// The iteration: `d` and `e` are the diagonals, the vectors turn with them.
struct Sweeps<R> {
    d: Vec<R>,
    e: Vec<R>,
    z: Mat<R>,
}

impl<R: Number> Sweeps<R> {
    fn run(&mut self) -> Option<()> {
        let n = self.d.len();
        let eps = half_ulp::<R>();
        let (mut left, mut next) = (SWEEPS * n, 0);
        while next < n {
            // A block whose second diagonal has nothing negligible.
            let first = next;
            if first > 0 {
                self.e[first - 1] = R::zero();
            }
            let is_end = |k: &usize| {
                let bound = self.d[*k].abs().sqrt() * self.d[k + 1].abs().sqrt() * eps;
                self.e[*k].is_zero() || self.e[*k].abs() <= bound
            };
            let last = (first..n - 1).find(is_end).unwrap_or(n - 1);
            if last + 1 < n {
                self.e[last] = R::zero();
            }
            next = last + 1;
            if first < last {
                match self.d[last].abs() < self.d[first].abs() {
                    true => self.down(last, first, &mut left)?,
                    false => self.up(first, last, &mut left)?,
                }
                // What has become negligible may end the block elsewhere.
                next = 0;
                if self.e.iter().all(R::is_zero) {
                    break;
                }
            }
        }
        Some(())
    }

    /// Whether what is beside the diagonal at `k` is nothing to what is on it.
    fn is_small(&self, k: usize) -> bool {
        let eps = half_ulp::<R>();
        let e = self.e[k].abs();
        e * e <= eps * eps * self.d[k].abs() * self.d[k + 1].abs() + R::min_positive_value()
    }

    /// A shift near an eigenvalue of the two by two block of `at` and its neighbor, as it meets the other end.
    fn shifted(&self, at: usize, neighbor: usize, beside: usize, end: usize) -> R {
        let two = R::one() + R::one();
        let g = (self.d[neighbor] - self.d[at]) / (two * self.e[beside]);
        self.d[end] - self.d[at] + self.e[beside] / (g + g.hypot(R::one()).copysign(g))
    }

    /// Finds the eigenvalues from `at` up to `end`: implicit QL steps.
    fn up(&mut self, mut at: usize, end: usize, left: &mut usize) -> Option<()> {
        let two = R::one() + R::one();
        while at <= end {
            let m = (at..end).find(|&k| self.is_small(k)).unwrap_or(end);
            if m < end {
                self.e[m] = R::zero();
            }
            if m == at {
                at += 1;
                continue;
            }
            if m == at + 1 {
                self.pair(at);
                at += 2;
                continue;
            }
            *left = left.checked_sub(1)?;
            let mut g = self.shifted(at, at + 1, at, m);
            let (mut turn, mut p) = (Turn { cos: R::one(), sin: R::one() }, R::zero());
            for k in (at..m).rev() {
                let (f, b) = (turn.sin * self.e[k], turn.cos * self.e[k]);
                let r;
                (turn, r) = Turn::older(g, f);
                if k + 1 < m {
                    self.e[k + 1] = r;
                }
                g = self.d[k + 1] - p;
                let r = (self.d[k] - g) * turn.sin + two * turn.cos * b;
                p = turn.sin * r;
                self.d[k + 1] = g + p;
                g = turn.cos * r - b;
                turn.back().apply(&mut self.z, k);
            }
            self.d[at] -= p;
            self.e[at] = g;
        }
        Some(())
    }

    /// Finds the eigenvalues from `at` down to `end`: implicit QR steps.
    fn down(&mut self, mut at: usize, end: usize, left: &mut usize) -> Option<()> {
        let two = R::one() + R::one();
        loop {
            let m = (end..at).rev().find(|&k| self.is_small(k)).map_or(end, |k| k + 1);
            if m > end {
                self.e[m - 1] = R::zero();
            }
            let found = if m + 1 >= at { at - m + 1 } else { 0 };
            if found == 2 {
                self.pair(m);
            }
            if found > 0 {
                if at < end + found {
                    return Some(());
                }
                at -= found;
                continue;
            }
            *left = left.checked_sub(1)?;
            let mut g = self.shifted(at, at - 1, at - 1, m);
            let (mut turn, mut p) = (Turn { cos: R::one(), sin: R::one() }, R::zero());
            for k in m..at {
                let (f, b) = (turn.sin * self.e[k], turn.cos * self.e[k]);
                let r;
                (turn, r) = Turn::older(g, f);
                if k > m {
                    self.e[k - 1] = r;
                }
                g = self.d[k] - p;
                let r = (self.d[k + 1] - g) * turn.sin + two * turn.cos * b;
                p = turn.sin * r;
                self.d[k] = g + p;
                g = turn.cos * r - b;
                turn.apply(&mut self.z, k);
            }
            self.d[at] -= p;
            self.e[at - 1] = g;
        }
    }

    /// Diagonalizes the two by two block that begins there: the eigenvalue of the larger modulus first.
    fn pair(&mut self, k: usize) {
        let (a, b, c) = (self.d[k], self.e[k], self.d[k + 1]);
        let (one, two) = (R::one(), R::one() + R::one());
        let (sum, difference, twice) = (a + c, a - c, b + b);
        let (high, low) = if a.abs() > c.abs() { (a, c) } else { (c, a) };
        let root = difference.abs().hypot(twice.abs());
        let is_negative = sum < R::zero();
        let first = if is_negative { (sum - root) / two } else { (sum + root) / two };
        let second = if sum.is_zero() { -root / two } else { (high / first) * low - (b / first) * b };
        let is_falling = difference >= R::zero();
        let x = if is_falling { difference + root } else { difference - root };
        let mut turn = if x.abs() > twice.abs() {
            let cotangent = -twice / x;
            let sin = one / (one + cotangent * cotangent).sqrt();
            Turn { cos: cotangent * sin, sin }
        } else if twice.is_zero() {
            Turn::none()
        } else {
            let tangent = -x / twice;
            let cos = one / (one + tangent * tangent).sqrt();
            Turn { cos, sin: tangent * cos }
        };
        if is_negative != is_falling {
            turn = Turn { cos: -turn.sin, sin: turn.cos };
        }
        turn.apply(&mut self.z, k);
        (self.d[k], self.d[k + 1], self.e[k]) = (first, second, R::zero());
    }
}
