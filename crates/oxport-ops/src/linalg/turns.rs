//! What decompositions of small real matrices take in LAPACK's order: reflections, rotations, and a scale against
//! overflow. Signs of singular vectors and eigenvectors follow from these steps, and the steps from the precision: what
//! is computed in double precision gets the signs that it has in single precision.

use crate::linalg::matrices::{Field, Mat};
use num_traits::{Float, NumAssign};

/// LAPACK divides and conquers where there are more values than these, and signs are others.
const MOST: usize = 25;

/// Whether a decomposition has the vectors of LAPACK: the matrix is real and small.
pub fn is_small<T: Field>(a: &Mat<T>) -> bool {
    !T::COMPLEX && (1..=MOST).contains(&a.rows.min(a.cols))
}

/// A real number of the precision that a tensor has.
pub trait Number: Float + NumAssign {
    /// The nearest one.
    fn nearest(x: f64) -> Self;
    /// In double precision.
    fn double(self) -> f64;
}
impl Number for f32 {
    fn nearest(x: f64) -> f32 {
        x as f32
    }
    fn double(self) -> f64 {
        self.into()
    }
}
impl Number for f64 {
    fn nearest(x: f64) -> f64 {
        x
    }
    fn double(self) -> f64 {
        self
    }
}

/// Which columns point the other way in single precision; `None` if one of them points elsewhere, since others are as
/// good.
pub fn opposite(double: &Mat<f64>, single: &Mat<f32>) -> Option<Vec<bool>> {
    let is_opposite = |j: usize| {
        let pairs = double.column(j).iter().zip(single.column(j));
        let cosine: f64 = pairs.map(|(&x, &y)| x * f64::from(y)).sum();
        (cosine.abs() > 0.7).then_some(cosine < 0.0)
    };
    (0..double.cols).map(is_opposite).collect()
}

/// The columns, these ones the other way around.
pub fn pointed(mut a: Mat<f64>, are_opposite: &[bool]) -> Mat<f64> {
    for (j, _) in are_opposite.iter().enumerate().filter(|(_, is_opposite)| **is_opposite) {
        a.column_mut(j).iter_mut().for_each(|x| *x = -*x);
    }
    a
}

/// A real matrix in a tensor's precision.
pub fn narrowed<T: Field, R: Number>(a: &Mat<T>) -> Mat<R> {
    Mat { rows: a.rows, cols: a.cols, data: a.data.iter().map(|x| R::nearest(x.re())).collect() }
}

/// The same in double precision.
pub fn widened<R: Number, T: Field>(a: &Mat<R>) -> Mat<T> {
    Mat { rows: a.rows, cols: a.cols, data: a.data.iter().map(|x| T::real(x.double())).collect() }
}

/// Half the distance from 1 to the next number.
pub fn half_ulp<R: Number>() -> R {
    R::epsilon() / (R::one() + R::one())
}

/// A matrix of zeros but for ones on its diagonal.
pub fn identity<R: Number>(n: usize) -> Mat<R> {
    Mat::by(n, n, |i, j| if i == j { R::one() } else { R::zero() })
}

/// The transpose.
pub fn turned<R: Number>(a: &Mat<R>) -> Mat<R> {
    Mat::by(a.cols, a.rows, |i, j| a[(j, i)])
}

/// The matrix times a power of two, with which no square of an element is lost, and the inverse of this power.
pub fn scaled<R: Number>(a: &Mat<R>) -> (Mat<R>, R) {
    let largest = a.data.iter().fold(R::zero(), |largest, x| largest.max(x.abs()));
    let small = R::min_positive_value().sqrt() / R::epsilon();
    let two = R::one() + R::one();
    let scale = match largest.is_zero() || (small..small.recip()).contains(&largest) {
        true => R::one(),
        false => {
            let most = R::min_positive_value().recip().log2();
            two.powi(-largest.log2().max(-most).min(most).to_i32().unwrap_or(0))
        }
    };
    (Mat { rows: a.rows, cols: a.cols, data: a.data.iter().map(|&x| x * scale).collect() }, scale.recip())
}

/// `I − τ·v·vᵀ` on the rows from `at` on.
pub struct Reflection<R> {
    /// The first of these rows.
    pub at: usize,
    /// The vector, which begins with 1.
    pub v: Vec<R>,
    /// Twice the inverse of its squared length, or 0.
    pub tau: R,
}

impl<R: Number> Reflection<R> {
    /// The one that leaves of a vector its first element only, and that element.
    pub fn of(x: impl Iterator<Item = R>, at: usize) -> (R, Reflection<R>) {
        let mut v: Vec<R> = x.collect();
        let first = std::mem::replace(&mut v[0], R::one());
        let rest = v[1..].iter().fold(R::zero(), |n, &x| n.hypot(x));
        if rest.is_zero() {
            return (first, Reflection { at, v, tau: R::zero() });
        }
        let length = -first.hypot(rest).copysign(first);
        v[1..].iter_mut().for_each(|x| *x /= first - length);
        (length, Reflection { at, v, tau: (length - first) / length })
    }
    /// Applies it to the columns from `from` on.
    pub fn apply(&self, to: &mut Mat<R>, from: usize) {
        for j in from..to.cols {
            let start = j * to.rows + self.at;
            let column = &mut to.data[start..start + self.v.len()];
            let dot = self.v.iter().zip(&*column).fold(R::zero(), |sum, (&v, &x)| sum + v * x);
            column.iter_mut().zip(&self.v).for_each(|(x, &v)| *x -= self.tau * dot * v);
        }
    }
}

/// A rotation of two neighbors.
#[derive(Clone, Copy)]
pub struct Turn<R> {
    /// The cosine.
    pub cos: R,
    /// The sine.
    pub sin: R,
}

impl<R: Number> Turn<R> {
    /// No rotation.
    pub fn none() -> Self {
        Turn { cos: R::one(), sin: R::zero() }
    }
    /// The one that turns `(f, g)` to `(r, 0)`, and `r`, which has the sign of `f`.
    pub fn of(f: R, g: R) -> (Self, R) {
        if g.is_zero() {
            return (Turn::none(), f);
        }
        if f.is_zero() {
            return (Turn { cos: R::zero(), sin: R::one().copysign(g) }, g.abs());
        }
        let r = (f * f + g * g).sqrt().copysign(f);
        (Turn { cos: f / r, sin: g / r }, r)
    }
    /// As LAPACK had it before 3.10, and MKL has it for eigenvectors: where `f` is not the larger, `r` is positive.
    pub fn older(f: R, g: R) -> (Self, R) {
        let (turn, r) = Turn::of(f, g);
        let is_opposite = if f.is_zero() { g < R::zero() } else { f < R::zero() && !g.is_zero() };
        match is_opposite && f.abs() <= g.abs() {
            true => (Turn { cos: -turn.cos, sin: -turn.sin }, -r),
            false => (turn, r),
        }
    }
    /// The one of neighbors that are met in the other order.
    pub fn back(self) -> Self {
        Turn { sin: -self.sin, ..self }
    }
    /// Turns columns `j` and `j + 1`.
    pub fn apply(self, to: &mut Mat<R>, j: usize) {
        let (left, right) = to.data[j * to.rows..].split_at_mut(to.rows);
        for (x, y) in left.iter_mut().zip(right) {
            (*x, *y) = (self.cos * *x + self.sin * *y, self.cos * *y - self.sin * *x);
        }
    }
}
