//! Singular vectors of small real matrices as LAPACK's `gesdd` gives them, signs included: what PyTorch returns on the
//! CPU for up to 25 values.
//!
//! ```text
//!   A = Q·B·Pᵀ      reflections from the left and from the right; B has a diagonal and one beside it
//!   B = U·S·Vᵀ      rotations that drive what is beside the diagonal to zero (Golub & Kahan; Demmel & Kahan 1990)
//! ```
//!
//! A matrix of many more rows than columns is factored into Q·R first.

use crate::linalg::matrices::Mat;
use crate::linalg::turns::{Number, Reflection, Turn, half_ulp, identity, scaled, turned};

/// Sweeps for each singular value until the iteration is given up.
const SWEEPS: usize = 6;

/// Left vectors, falling singular values and right vectors, these in columns: all of them, or as many as there are
/// values. `None` if the iteration does not end.
pub fn svd<R: Number>(a: &Mat<R>, full: bool) -> Option<(Mat<R>, Vec<R>, Mat<R>)> {
    let (mut a, scale) = scaled(a);
    let is_wide = a.rows < a.cols;
    if is_wide {
        a = turned(&a);
    }
    let (m, n) = (a.rows, a.cols);
    let mut reflections = Vec::new();
    // MKL does so from one and a half rows a column on, rounded down, and never for a wide matrix.
    if !is_wide && m >= 3 * n / 2 {
        for k in 0..n {
            let (diagonal, reflection) = Reflection::of((k..m).map(|i| a[(i, k)]), k);
            reflection.apply(&mut a, k + 1);
            a[(k, k)] = diagonal;
            reflections.push(reflection);
        }
        a = Mat::by(n, n, |i, j| if i <= j { a[(i, j)] } else { R::zero() });
    }
    let mut b = Bidiagonal::of(a);
    // The transpose of a wide matrix has its second diagonal below the first.
    let (u, v) = if is_wide { b.of_lower()? } else { b.of_upper()? };
    let u = placed(&u, m, if full { m } else { n }, b.left.iter().rev().chain(reflections.iter().rev()));
    let v = placed(&v, n, n, b.right.iter().rev());
    let values = b.diagonal.iter().map(|&x| x * scale).collect();
    Some(if is_wide { (v, values, u) } else { (u, values, v) })
}

/// A square matrix in the corner of a larger one with ones on the rest of its diagonal, behind reflections.
fn placed<'a, R: Number + 'a>(
    of: &Mat<R>,
    rows: usize,
    cols: usize,
    reflections: impl Iterator<Item = &'a Reflection<R>>,
) -> Mat<R> {
    let mut out = Mat::by(rows, cols, |i, j| match (i < of.rows && j < of.cols, i == j) {
        (true, _) => of[(i, j)],
        (false, true) => R::one(),
        (false, false) => R::zero(),
    });
    reflections.for_each(|reflection| reflection.apply(&mut out, 0));
    out
}

/// A matrix of two diagonals between reflections.
struct Bidiagonal<R> {
    diagonal: Vec<R>,
    /// Above the diagonal.
    beside: Vec<R>,
    left: Vec<Reflection<R>>,
    right: Vec<Reflection<R>>,
}

impl<R: Number> Bidiagonal<R> {
    /// Of a matrix that has as many rows as columns at least.
    fn of(mut a: Mat<R>) -> Self {
        let (m, n) = (a.rows, a.cols);
        let mut b = Bidiagonal { diagonal: vec![], beside: vec![], left: vec![], right: vec![] };
        for k in 0..n {
            let (x, reflection) = Reflection::of((k..m).map(|i| a[(i, k)]), k);
            reflection.apply(&mut a, k + 1);
            b.diagonal.push(x);
            b.left.push(reflection);
            if k + 1 < n {
                let (x, reflection) = Reflection::of((k + 1..n).map(|j| a[(k, j)]), k + 1);
                let mut rows = turned(&a);
                reflection.apply(&mut rows, k + 1);
                a = turned(&rows);
                b.beside.push(x);
                b.right.push(reflection);
            }
        }
        b
    }

    /// Left and right vectors of the transpose, whose second diagonal lies below the first; the vectors are those of
    /// this matrix in the other order.
    fn of_lower(&mut self) -> Option<(Mat<R>, Mat<R>)> {
        let n = self.diagonal.len();
        let mut turns = Vec::new();
        for k in 0..n.saturating_sub(1) {
            let (turn, r) = Turn::of(self.diagonal[k], self.beside[k]);
            self.beside[k] = turn.sin * self.diagonal[k + 1];
            self.diagonal[k + 1] *= turn.cos;
            self.diagonal[k] = r;
            turns.push(turn.back());
        }
        let (u, v) = self.of_upper()?;
        let mut rows = turned(&u);
        turns.iter().enumerate().rev().for_each(|(k, turn)| turn.apply(&mut rows, k));
        Some((v, turned(&rows)))
    }

    /// Left and right vectors; the diagonal becomes the singular values.
    fn of_upper(&mut self) -> Option<(Mat<R>, Mat<R>)> {
        let n = self.diagonal.len();
        let mut sweeps = Sweeps { d: &mut self.diagonal, e: &mut self.beside, u: identity(n), v: identity(n) };
        if n == 1 {
            sweeps.u[(0, 0)] = R::one().copysign(sweeps.d[0]);
            sweeps.d[0] = sweeps.d[0].abs();
        } else {
            sweeps.run()?;
        }
        Some((sweeps.u, sweeps.v))
    }
}

/// The iteration: `d` and `e` are the diagonals, the vectors turn with them.
struct Sweeps<'a, R> {
    d: &'a mut Vec<R>,
    e: &'a mut Vec<R>,
    u: Mat<R>,
    v: Mat<R>,
}

/// The ends of a block whose second diagonal has no zero, and which way it is swept.
#[derive(Clone, Copy)]
struct Block {
    first: usize,
    last: usize,
    is_down: bool,
}

impl<R: Number> Sweeps<'_, R> {
    fn run(&mut self) -> Option<()> {
        let n = self.d.len();
        let count = R::from(n)?;
        let eps = half_ulp::<R>();
        let relative = R::from(10)?.max(R::from(100)?.min(eps.powf(R::from(-0.125)?))) * eps;
        let mut least = self.d[0].abs();
        let mut mu = least;
        for k in 1..n {
            mu = self.d[k].abs() * (mu / (mu + self.e[k - 1].abs()));
            least = least.min(mu);
            if least.is_zero() {
                break;
            }
        }
        let least = if self.d[0].is_zero() { R::zero() } else { least };
        let small = relative * (least / count.sqrt());
        let small = small.max(R::from(SWEEPS)? * (count * (count * R::min_positive_value())));
        let (mut last, mut turns, mut before) = (n - 1, 0, None);
        while last > 0 {
            if turns > SWEEPS * n * n {
                return None;
            }
            // The block that ends there.
            let mut first = last;
            let mut largest = self.d[last].abs();
            while first > 0 && self.e[first - 1].abs() > small {
                first -= 1;
                largest = largest.max(self.d[first].abs()).max(self.e[first].abs());
            }
            if first > 0 {
                self.e[first - 1] = R::zero();
            }
            if first == last {
                last -= 1;
                continue;
            }
            if first + 1 == last {
                self.pair(first, eps);
                last = last.saturating_sub(2);
                if first == 0 {
                    break;
                }
                continue;
            }
            let is_new = before.is_none_or(|b: Block| first > b.last || last < b.first);
            let is_down = match before {
                Some(b) if !is_new => b.is_down,
                _ => self.d[first].abs() >= self.d[last].abs(),
            };
            let block = Block { first, last, is_down };
            let Some(least) = self.converged(block, relative) else { continue };
            before = Some(block);
            let shift = match count * relative * (least / largest) <= eps.max(relative / R::from(100)?) {
                true => R::zero(),
                false => self.shift(block, eps),
            };
            turns += last - first;
            match (shift.is_zero(), is_down) {
                (true, true) => self.down_unshifted(block),
                (true, false) => self.up_unshifted(block),
                (false, true) => self.down(block, shift),
                (false, false) => self.up(block, shift),
            }
            let end = if is_down { last - 1 } else { first };
            if self.e[end].abs() <= small {
                self.e[end] = R::zero();
            }
        }
        self.finish();
        Some(())
    }

    /// Sets what has become negligible to zero; else a bound of the least singular value of the block.
    fn converged(&mut self, b: Block, relative: R) -> Option<R> {
        let (end, beside) = if b.is_down { (b.last, b.last - 1) } else { (b.first, b.first) };
        if self.e[beside].abs() <= relative * self.d[end].abs() {
            self.e[beside] = R::zero();
            return None;
        }
        let mut mu = self.d[if b.is_down { b.first } else { b.last }].abs();
        let mut least = mu;
        for k in 0..b.last - b.first {
            let (beside, next) = match b.is_down {
                true => (b.first + k, b.first + k + 1),
                false => (b.last - k - 1, b.last - k - 1),
            };
            if self.e[beside].abs() <= relative * mu {
                self.e[beside] = R::zero();
                return None;
            }
            mu = self.d[next].abs() * (mu / (mu + self.e[beside].abs()));
            least = least.min(mu);
        }
        Some(least)
    }

    /// The smaller singular value of the two by two block at the end.
    fn shift(&self, b: Block, eps: R) -> R {
        let (at, far) = if b.is_down { (b.last - 1, b.first) } else { (b.first, b.last) };
        let shift = smaller_value(self.d[at], self.e[at], self.d[at + 1]);
        let far = self.d[far].abs();
        let is_lost = far > R::zero() && (shift / far).powi(2) < eps;
        if is_lost { R::zero() } else { shift }
    }

    fn down_unshifted(&mut self, b: Block) {
        let mut cos = R::one();
        let mut before = Turn::none();
        for k in b.first..b.last {
            let (turn, r) = Turn::of(self.d[k] * cos, self.e[k]);
            if k > b.first {
                self.e[k - 1] = before.sin * r;
            }
            let (left, x) = Turn::of(before.cos * r, self.d[k + 1] * turn.sin);
            self.d[k] = x;
            turn.apply(&mut self.v, k);
            left.apply(&mut self.u, k);
            (cos, before) = (turn.cos, left);
        }
        let h = self.d[b.last] * cos;
        self.d[b.last] = h * before.cos;
        self.e[b.last - 1] = h * before.sin;
    }

    fn up_unshifted(&mut self, b: Block) {
        let mut cos = R::one();
        let mut before = Turn::none();
        for k in (b.first + 1..=b.last).rev() {
            let (turn, r) = Turn::of(self.d[k] * cos, self.e[k - 1]);
            if k < b.last {
                self.e[k] = before.sin * r;
            }
            let (right, x) = Turn::of(before.cos * r, self.d[k - 1] * turn.sin);
            self.d[k] = x;
            right.back().apply(&mut self.v, k - 1);
            turn.back().apply(&mut self.u, k - 1);
            (cos, before) = (turn.cos, right);
        }
        let h = self.d[b.first] * cos;
        self.d[b.first] = h * before.cos;
        self.e[b.first] = h * before.sin;
    }

    fn down(&mut self, b: Block, shift: R) {
        let d = self.d[b.first];
        let mut f = (d.abs() - shift) * (R::one().copysign(d) + shift / d);
        let mut g = self.e[b.first];
        for k in b.first..b.last {
            let (right, r) = Turn::of(f, g);
            if k > b.first {
                self.e[k - 1] = r;
            }
            f = right.cos * self.d[k] + right.sin * self.e[k];
            self.e[k] = right.cos * self.e[k] - right.sin * self.d[k];
            g = right.sin * self.d[k + 1];
            self.d[k + 1] *= right.cos;
            let (left, r) = Turn::of(f, g);
            self.d[k] = r;
            f = left.cos * self.e[k] + left.sin * self.d[k + 1];
            self.d[k + 1] = left.cos * self.d[k + 1] - left.sin * self.e[k];
            if k + 1 < b.last {
                g = left.sin * self.e[k + 1];
                self.e[k + 1] *= left.cos;
            }
            right.apply(&mut self.v, k);
            left.apply(&mut self.u, k);
        }
        self.e[b.last - 1] = f;
    }

    fn up(&mut self, b: Block, shift: R) {
        let d = self.d[b.last];
        let mut f = (d.abs() - shift) * (R::one().copysign(d) + shift / d);
        let mut g = self.e[b.last - 1];
        for k in (b.first + 1..=b.last).rev() {
            let (left, r) = Turn::of(f, g);
            if k < b.last {
                self.e[k] = r;
            }
            f = left.cos * self.d[k] + left.sin * self.e[k - 1];
            self.e[k - 1] = left.cos * self.e[k - 1] - left.sin * self.d[k];
            g = left.sin * self.d[k - 1];
            self.d[k - 1] *= left.cos;
            let (right, r) = Turn::of(f, g);
            self.d[k] = r;
            f = right.cos * self.e[k - 1] + right.sin * self.d[k - 1];
            self.d[k - 1] = right.cos * self.d[k - 1] - right.sin * self.e[k - 1];
            if k > b.first + 1 {
                g = right.sin * self.e[k - 2];
                self.e[k - 2] *= right.cos;
            }
            right.back().apply(&mut self.v, k - 1);
            left.back().apply(&mut self.u, k - 1);
        }
        self.e[b.first] = f;
    }

    /// Diagonalizes the two by two block that begins there.
    fn pair(&mut self, k: usize, eps: R) {
        let (values, left, right) = of_pair(self.d[k], self.e[k], self.d[k + 1], eps);
        (self.d[k], self.d[k + 1]) = (values[0], values[1]);
        self.e[k] = R::zero();
        right.apply(&mut self.v, k);
        left.apply(&mut self.u, k);
    }

    /// Makes the values positive and lets them fall.
    fn finish(&mut self) {
        let n = self.d.len();
        for k in 0..n {
            if self.d[k] < R::zero() {
                self.d[k] = -self.d[k];
                self.v.column_mut(k).iter_mut().for_each(|x| *x = -*x);
            }
        }
        for end in (1..n).rev() {
            let least = (1..=end).fold(0, |least, k| if self.d[k] <= self.d[least] { k } else { least });
            if least != end {
                self.d.swap(least, end);
                for vectors in [&mut self.u, &mut self.v] {
                    (0..n).for_each(|i| vectors.data.swap(least * n + i, end * n + i));
                }
            }
        }
    }
}

/// The smaller singular value of `[f g; 0 h]`.
fn smaller_value<R: Number>(f: R, g: R, h: R) -> R {
    let (f, g, h) = (f.abs(), g.abs(), h.abs());
    let (low, high) = (f.min(h), f.max(h));
    if low.is_zero() {
        return R::zero();
    }
    let (sum, difference) = (R::one() + low / high, (high - low) / high);
    if g < high {
        let square = (g / high).powi(2);
        let two = R::one() + R::one();
        return low * (two / ((sum * sum + square).sqrt() + (difference * difference + square).sqrt()));
    }
    let ratio = high / g;
    if ratio.is_zero() {
        return (low * high) / g;
    }
    let root = |x: R| (R::one() + (x * ratio).powi(2)).sqrt();
    let half = (low * (R::one() / (root(sum) + root(difference)))) * ratio;
    half + half
}

/// The singular values of `[f g; 0 h]`, signed, the larger first, and the rotations that make it diagonal.
fn of_pair<R: Number>(f: R, g: R, h: R, eps: R) -> ([R; 2], Turn<R>, Turn<R>) {
    let (one, two) = (R::one(), R::one() + R::one());
    let sign = |x: R| one.copysign(x);
    let is_swapped = h.abs() > f.abs();
    let (ft, ht) = if is_swapped { (h, f) } else { (f, h) };
    let (fa, ha, ga) = (ft.abs(), ht.abs(), g.abs());
    let (mut left, mut right) = (Turn::none(), Turn::none());
    let (mut low, mut high) = (ha, fa);
    if !ga.is_zero() {
        if ga > fa && fa / ga < eps {
            high = ga;
            low = if ha > one { fa / (ga / ha) } else { (fa / ga) * ha };
            left = Turn { cos: one, sin: ht / g };
            right = Turn { cos: ft / g, sin: one };
        } else {
            let d = fa - ha;
            let l = if d == fa { one } else { d / fa };
            let m = g / ft;
            let t = two - l;
            let square = m * m;
            let s = (t * t + square).sqrt();
            let r = if l.is_zero() { m.abs() } else { (l * l + square).sqrt() };
            let a = (s + r) / two;
            low = ha / a;
            high = fa * a;
            let t = match (square.is_zero(), l.is_zero()) {
                (true, true) => two.copysign(ft) * sign(g),
                (true, false) => g / d.copysign(ft) + m / t,
                (false, _) => (m / (s + t) + m / (r + l)) * (one + a),
            };
            let l = (t * t + two + two).sqrt();
            right = Turn { cos: two / l, sin: t / l };
            left = Turn { cos: (right.cos + right.sin * m) / a, sin: (ht / ft) * right.sin / a };
        }
    }
    if is_swapped {
        let swapped = |turn: Turn<R>| Turn { cos: turn.sin, sin: turn.cos };
        (left, right) = (swapped(right), swapped(left));
    }
    let sign_of_high = match (ga > fa, is_swapped) {
        (true, _) => sign(right.sin) * sign(left.cos) * sign(g),
        (false, false) => sign(right.cos) * sign(left.cos) * sign(f),
        (false, true) => sign(right.sin) * sign(left.sin) * sign(h),
    };
    let sign_of_low = sign_of_high * sign(f) * sign(h);
    ([high.copysign(sign_of_high), low.copysign(sign_of_low)], left, right)
}
