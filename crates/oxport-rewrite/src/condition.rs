//! Conditions of rules: data, so that they print. That both sides have the same type is no condition: it always must
//! hold.
//!
//! Law: conditions about sizes hold for all values that the symbols may have; a hint decides nothing.

use crate::compute::{as_int, normal_range, order, wrap};
use crate::constant::Constant;
use crate::kind::Kind;
use crate::terms::Terms;
use oxport_ir::fake::contiguous_strides;
use oxport_ir::{Fake, MetaCx};
use oxport_sym::Expr;
use oxport_tensor::DType;
use std::cell::Cell;
use std::fmt;

/// When a rule holds. Variables are named without their question mark.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Condition {
    /// The variable is a tensor of floats.
    Float(&'static str),
    /// The variable is a tensor of floats in which kernels compute.
    Full(&'static str),
    /// The variable is a tensor of half-precision floats.
    Half(&'static str),
    /// The variable is a tensor of integers (no bools).
    Integer(&'static str),
    /// The variable is a tensor of floats or integers, not of bools or complex numbers.
    Real(&'static str),
    /// Neither tensor is of complex numbers.
    NotComplex(&'static str, &'static str),
    /// The variable is a tensor of floats or signed integers.
    Signed(&'static str),
    /// The dtype holds every value of the tensor.
    Holds(&'static str, &'static str),
    /// The variable is a list of all dimensions in their order.
    Identity(&'static str),
    /// The variable is an order of dimensions that exchanges the last two.
    SwapsLast(&'static str),
    /// The variable is an order of dimensions whose last one stays.
    KeepsEnd(&'static str),
    /// The variable is an order of dimensions of the tensor, in which those of sizes other than 1 keep theirs.
    MovesOnes(&'static str, &'static str),
    /// The second variable is the last dimension of the tensor, or a list of it.
    Last(&'static str, &'static str),
    /// The tensor is laid out in row-major order without gaps.
    Contiguous(&'static str),
    /// A reshape of the tensor to its own sizes, which sets the strides of dimensions of size 1, leaves it the memory
    /// format that PyTorch suggests for it: convolutions and others go by that.
    KeepsFormat(&'static str),
    /// The variable is a constant whose reciprocal is exact: a power of two, far from the ends of the range.
    PowerOfTwo(&'static str),
    /// The variable is a constant number.
    Number(&'static str),
    /// The variable is a constant number that is not below 0: what is added to a variance brings it no nearer to 0.
    NotNegative(&'static str),
    /// The variable is a finite constant number, not 0, of a size at which products stay in range.
    Modest(&'static str),
    /// Where the second variable is a tensor of `float16`, the first is a number like a scale of attention: in front of
    /// a product it takes nothing out of the short range of that dtype, and into subnormals only what is tiny.
    ModestInHalf(&'static str, &'static str),
    /// One of two scales of a tensor cannot take out of the range what the other would bring back: the first is at most
    /// 1, or the second at least, or both are modest in a range as wide as that of `float32`.
    NoOverflowBetween(&'static str, &'static str, &'static str),
    /// The variable is this constant number, an integer or a float.
    Is(&'static str, f64),
    /// The second variable is this number, to as many digits as the tensor's dtype has, and to seven at most.
    Near(&'static str, &'static str, f64),
    /// The variable is a list of zeros.
    Zeros(&'static str),
    /// The two variables are tensors of the same dtype.
    SameDType(&'static str, &'static str),
    /// The first variable is the dtype of the tensor; or `None`, and the tensor is of `float32`.
    OfDType(&'static str, &'static str),
    /// The variable is a tensor of that many dimensions.
    Rank(&'static str, usize),
    /// The variable is a tensor of more than two dimensions.
    Batched(&'static str),
    /// The two variables are tensors of as many dimensions.
    SameRank(&'static str, &'static str),
    /// The first variable has one number for each channel of what the weight yields (its size in that dimension), in
    /// the place where channels of batched results are.
    PerChannel(&'static str, &'static str, usize),
    /// The middle of the weight's kernel lies on the element, if that is padded by the list.
    Centers(&'static str, &'static str),
    /// The weight reads one channel for each that it yields.
    OneInput(&'static str),
    /// No element of the tensor is infinite or NaN.
    Finite(&'static str),
    /// The variable is a number so low that sums with scores of attention are this number: −∞, or near the lowest of
    /// `float32`.
    Hides(&'static str),
    /// The variable is a number of at most this size.
    AtMost(&'static str, f64),
    /// The first variable is a tensor that expands to the sizes of the product of the others.
    Expands(&'static str, &'static str, &'static str),
    /// The last dimension of the tensor has the size 1.
    OneLast(&'static str),
    /// The list has the last sizes of the tensor, so many.
    KeepsLast(&'static str, &'static str, usize),
    /// The first variable is a tensor of as many elements as the product of the others.
    AsMany(&'static str, &'static str, &'static str),
    /// As far as the tensor has sizes that are not 1, the list has the last sizes of the product of two tensors.
    KeepsBehind(&'static str, &'static str, &'static str, &'static str),
    /// The list splits the second of the four dimensions of the tensor into channels and squares: `[n, c, r, r, h, w]`.
    SplitsSquares(&'static str, &'static str),
    /// A vector of so many numbers, reshaped to the list, lies along a dimension of the tensor and is as long:
    /// `LiesAlong(n, s, x, d)`.
    LiesAlong(&'static str, &'static str, &'static str, &'static str),
    /// `e` expands the third dimension of `[b, h, 1, s, d]`, of which `k` is `[b, h, s, d]`, and `t` joins it to the
    /// second: heads are repeated one by one.
    Repeats(&'static str, &'static str, &'static str),
}

/// The tensor with the strides that `computeStride` gives dimensions of size 1 where sizes stay as they are: the next
/// dimension's stride times its size.
fn with_strides_of_ones(cx: &MetaCx<'_>, t: &Fake) -> Fake {
    let mut of = t.clone();
    for d in (0..t.dim().saturating_sub(1)).rev().filter(|&d| cx.is(&t.sizes[d], 1)) {
        of.strides[d] = &of.strides[d + 1] * &of.sizes[d + 1];
    }
    of
}

/// As it is written in a text of rules: `Is(c, 0.5)`.
impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&format!("{self:?}").replace('"', ""))
    }
}

/// A match that is looked at.
struct Match<'a, T: Terms> {
    terms: &'a T,
    /// What the variables stand for.
    at: &'a dyn Fn(&str) -> Option<T::Id>,
    /// The last two sizes that were not shown to be equal.
    unequal: Cell<Option<(Expr, Expr)>>,
}

impl<'a, T: Terms> Match<'a, T> {
    fn kind(&self, name: &str) -> Option<&'a Kind> {
        (self.at)(name).map(|id| self.terms.kind(id))
    }
    fn tensor(&self, name: &str) -> Option<&'a Fake> {
        self.kind(name)?.tensor()
    }
    fn dtype(&self, name: &str) -> Option<DType> {
        self.tensor(name).map(|t| t.dtype)
    }
    fn is_contiguous(&self, name: &str) -> Option<bool> {
        let laid = self.terms.laid((self.at)(name)?).tensor()?;
        Some([self.tensor(name)?, laid].iter().all(|t| self.equal(&t.strides, &contiguous_strides(&t.sizes))))
    }
    fn number(&self, name: &str) -> Option<f64> {
        self.kind(name)?.constant().and_then(Constant::number)
    }
    fn equal(&self, a: &[Expr], b: &[Expr]) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.is_equal(a, b))
    }
    fn is_equal(&self, a: &Expr, b: &Expr) -> bool {
        self.is_shown(self.terms.env().equal(a, b), a, b)
    }
    /// The sizes of the product of two tensors that have the same sizes before the last two.
    fn product(&self, x: &str, y: &str) -> Option<Vec<Expr>> {
        let (x, y) = (&self.tensor(x)?.sizes, &self.tensor(y)?.sizes);
        let (rows, columns) = (x.get(x.len().checked_sub(2)?)?, y.last()?);
        let lead = first(x, 2).filter(|lead| first(y, 2).is_some_and(|other| self.equal(lead, other)))?;
        Some(lead.iter().chain([rows, columns]).cloned().collect())
    }
    fn is_one(&self, size: &Expr) -> bool {
        self.is_shown(self.terms.env().is(size, 1) == Some(true), size, &Expr::int(1))
    }
    /// Whether two sizes were shown to be equal; else they are noted.
    fn is_shown(&self, is_equal: bool, a: &Expr, b: &Expr) -> bool {
        if !is_equal {
            self.unequal.set(Some((a.clone(), b.clone())));
        }
        is_equal
    }
}

impl Condition {
    /// True if it holds for a match, whose variables stand for what `at` says.
    pub fn holds<T: Terms>(&self, terms: &T, at: &dyn Fn(&str) -> Option<T::Id>) -> bool {
        self.decide(&Match { terms, at, unequal: Cell::default() }).unwrap_or(false)
    }

    /// Two sizes that it asks to be equal, and that are not for all sizes in range: one reason why it does not hold.
    pub fn unequal<T: Terms>(&self, terms: &T, at: &dyn Fn(&str) -> Option<T::Id>) -> Option<(Expr, Expr)> {
        let asked = Match { terms, at, unequal: Cell::default() };
        match self.decide(&asked) {
            Some(true) => None,
            _ => asked.unequal.take(),
        }
    }

    /// The variables that it is about.
    pub fn variables(&self) -> Vec<String> {
        // As it prints: strings are variables.
        format!("{self:?}").split('"').skip(1).step_by(2).map(str::to_string).collect()
    }

    fn decide<T: Terms>(&self, m: &Match<'_, T>) -> Option<bool> {
        let is_real = |d: DType| d.is_float() || d.is_integer();
        Some(match *self {
            Condition::Float(v) => m.dtype(v)?.is_float(),
            Condition::Full(v) => matches!(m.dtype(v)?, DType::F32 | DType::F64),
            Condition::Half(v) => matches!(m.dtype(v)?, DType::F16 | DType::BF16),
            Condition::Integer(v) => m.dtype(v)?.is_integer(),
            Condition::Real(v) => is_real(m.dtype(v)?),
            Condition::NotComplex(x, y) => !m.dtype(x)?.is_complex() && !m.dtype(y)?.is_complex(),
            Condition::Signed(v) => m.dtype(v).is_some_and(|d| is_real(d) && (d.is_float() || d.is_signed())),
            Condition::Holds(x, d) => {
                let Constant::DType(code) = m.kind(d)?.constant()? else { return None };
                holds_all(m.dtype(x)?, DType::from_code(*code)?)
            }
            Condition::Identity(v) => {
                let order = order(m.kind(v)?)?;
                order.iter().enumerate().all(|(i, &d)| d == i)
            }
            Condition::SwapsLast(a) => {
                let order = order(m.kind(a)?)?;
                let n = order.len();
                n >= 2 && order.iter().enumerate().all(|(i, &d)| d == if i + 2 < n { i } else { 2 * n - 3 - i })
            }
            Condition::KeepsEnd(a) => {
                let order = order(m.kind(a)?)?;
                order.last().is_some_and(|&d| d + 1 == order.len())
            }
            Condition::MovesOnes(a, x) => {
                let (order, sizes) = (order(m.kind(a)?)?, &m.tensor(x)?.sizes);
                let wide: Vec<usize> =
                    order.into_iter().filter(|&d| sizes.get(d).is_some_and(|s| !m.is_one(s))).collect();
                wide.is_sorted()
            }
            Condition::Last(d, x) => {
                let n = m.tensor(x)?.dim();
                let dim = match m.kind(d)? {
                    Kind::Const(Constant::Int(dim)) => *dim,
                    list => *list.ints()?.first().filter(|_| list.ints().is_some_and(|l| l.len() == 1))?,
                };
                wrap(dim, n)? + 1 == n
            }
            Condition::Contiguous(x) => m.is_contiguous(x)?,
            Condition::KeepsFormat(x) => {
                let (env, tensors) = (m.terms.env(), [m.tensor(x)?, m.terms.laid((m.at)(x)?).tensor()?]);
                // Whichever way open questions are answered.
                [MetaCx::new(env), MetaCx::contrary(env)].iter().all(|cx| {
                    let last = |t: &Fake| cx.suggests_channels_last(t);
                    tensors.iter().all(|t| last(t) == last(&with_strides_of_ones(cx, t)))
                })
            }
            Condition::PowerOfTwo(v) => {
                let exponent = m.number(v)?.abs().log2();
                exponent.fract() == 0.0 && exponent.abs() <= 10.0
            }
            Condition::Number(v) => m.number(v).is_some(),
            Condition::NotNegative(v) => m.number(v)? >= 0.0,
            Condition::Modest(v) => is_modest(m.number(v)?),
            // From 1 / √1024 to 1.
            Condition::ModestInHalf(c, t) => m.dtype(t)? != DType::F16 || (0.03125..=1.0).contains(&m.number(c)?.abs()),
            Condition::NoOverflowBetween(x, a, b) => {
                let (a, b, is_wide) = (m.number(a)?, m.number(b)?, m.dtype(x)? != DType::F16);
                a.abs() <= 1.0 || b.abs() >= 1.0 || is_wide && is_modest(a) && is_modest(b)
            }
            Condition::Is(v, x) => m.number(v)?.to_bits() == x.to_bits(),
            Condition::Near(t, v, x) => {
                let unit = if m.dtype(t)? == DType::F64 { f64::EPSILON } else { 1e-7 };
                (m.number(v)? - x).abs() <= unit * x.abs()
            }
            Condition::Zeros(v) => m.kind(v)?.ints()?.iter().all(|n| *n == 0),
            Condition::SameDType(a, b) => m.dtype(a)? == m.dtype(b)?,
            Condition::OfDType(d, x) => match m.kind(d)?.constant()? {
                Constant::DType(code) => *code == m.dtype(x)?.code(),
                Constant::None => m.dtype(x)? == DType::F32,
                _ => false,
            },
            Condition::Rank(v, n) => m.tensor(v)?.dim() == n,
            Condition::Batched(v) => m.tensor(v)?.dim() > 2,
            Condition::SameRank(a, b) => m.tensor(a)?.dim() == m.tensor(b)?.dim(),
            Condition::PerChannel(s, w, dim) => {
                let (s, w) = (m.tensor(s)?, m.tensor(w)?);
                let channels = w.sizes.get(dim)?;
                let own = match s.dim() {
                    n if n + 1 == w.dim() => 0,
                    n if n == w.dim() => 1,
                    _ => return None,
                };
                let is_one = |(i, size): (usize, &Expr)| i == own || m.is_one(size);
                m.equal(std::slice::from_ref(s.sizes.get(own)?), std::slice::from_ref(channels))
                    && s.sizes.iter().enumerate().all(is_one)
            }
            Condition::Centers(w, p) => {
                let (kernel, zeros) = (m.tensor(w)?.sizes.get(2..)?, m.kind(p)?.ints()?);
                let is_middle =
                    |(k, zeros): (&Expr, &i64)| k.as_int().is_some_and(|k| Some(k - 1) == zeros.checked_mul(2));
                kernel.len() == zeros.len() && kernel.iter().zip(&zeros).all(is_middle)
            }
            Condition::OneInput(w) => m.is_one(m.tensor(w)?.sizes.get(1)?),
            Condition::Hides(v) => m.number(v)? <= -1e30,
            Condition::AtMost(v, most) => m.number(v)?.abs() <= most,
            Condition::Expands(a, x, y) => {
                let (a, x, y) = (&m.tensor(a)?.sizes, &m.tensor(x)?.sizes, &m.tensor(y)?.sizes);
                let is = |size: &Expr, of: Option<&Expr>| of.is_some_and(|of| m.terms.env().equal(size, of));
                let fits = |i: usize| {
                    let size = &a[a.len() - i];
                    let [in_x, in_y] = [x, y].map(|of| of.len().checked_sub(i).map(|at| &of[at]));
                    // Where there are no keys, what would be added to all of them hides none.
                    i != 1 && (m.is_one(size) || is(size, in_x)) || i != 2 && is(size, in_y)
                };
                a.len() <= x.len().max(y.len()) && (1..=a.len()).all(fits)
            }
            Condition::OneLast(v) => m.is_one(m.tensor(v)?.sizes.last()?),
            Condition::KeepsLast(s, x, count) => {
                let s = listed(m.kind(s)?)?;
                m.equal(last(&m.tensor(x)?.sizes, count)?, last(&s, count)?)
            }
            Condition::AsMany(a, x, y) => {
                let product = m.product(x, y)?.iter().fold(Expr::int(1), |n, size| n * size);
                m.is_equal(&m.tensor(a)?.numel(), &product)
            }
            Condition::KeepsBehind(s, a, x, y) => {
                let (s, a, product) = (listed(m.kind(s)?)?, &m.tensor(a)?.sizes, m.product(x, y)?);
                let count = a.len() - a.iter().take_while(|size| m.is_one(size)).count();
                m.equal(last(&s, count)?, last(&product, count)?)
            }
            Condition::Finite(v) => is_finite(m.terms, (m.at)(v)?, 8),
            Condition::SplitsSquares(a, x) => {
                let (a, x) = (listed(m.kind(a)?)?, &m.tensor(x)?.sizes);
                a.len() == 6 && x.len() == 4 && m.is_equal(&a[2], &a[3]) && m.equal(&a[4..], &x[2..])
            }
            Condition::LiesAlong(n, s, x, d) => {
                let (n, s, x) = (integer(m.kind(n)?)?, listed(m.kind(s)?)?, &m.tensor(x)?.sizes);
                let along = wrap(as_int(m.kind(d)?)?, x.len())?;
                let is = |(i, size): (usize, &Expr)| match i == along {
                    true => size.as_int() == Some(-1) || m.is_equal(size, &n),
                    false => size.as_int() == Some(1),
                };
                s.len() == x.len() && m.is_equal(&n, &x[along]) && s.iter().enumerate().all(is)
            }
            Condition::Repeats(k, e, t) => {
                let k = &m.tensor(k)?.sizes;
                let (e, t) = (listed(m.kind(e)?)?, listed(m.kind(t)?)?);
                let is = |size: &Expr, of: usize| size.as_int() == Some(-1) || m.is_equal(size, &k[of]);
                k.len() == 4
                    && e.len() == 5
                    && t.len() == 4
                    && [(0, 0), (1, 1), (3, 2), (4, 3)].iter().all(|&(i, of)| is(&e[i], of))
                    && [0, 2, 3].iter().all(|&i| is(&t[i], i))
            }
        })
    }
}

/// A scale at which what is computed with stays in range, but for numbers near the end of it.
fn is_modest(scale: f64) -> bool {
    (1e-4..=1e4).contains(&scale.abs())
}

fn last(sizes: &[Expr], count: usize) -> Option<&[Expr]> {
    sizes.get(sizes.len().checked_sub(count)?..)
}

/// All sizes but the last.
fn first(sizes: &[Expr], but: usize) -> Option<&[Expr]> {
    sizes.get(..sizes.len().checked_sub(but)?)
}

/// The integers of a list, symbolic ones too.
fn listed(kind: &Kind) -> Option<Vec<Expr>> {
    let Kind::List(items) = kind else { return None };
    items.iter().map(integer).collect()
}

/// An integer, a symbolic one too.
fn integer(kind: &Kind) -> Option<Expr> {
    match kind {
        Kind::Const(Constant::Int(n)) => Some(Expr::int(*n)),
        Kind::Value(v) => v.as_int().cloned(),
        _ => None,
    }
}

/// True if a dtype holds every value of another, to the bit.
fn holds_all(from: DType, to: DType) -> bool {
    // Of floats: bits of the significand, and the exponents of the least and largest numbers.
    let float = |d: DType| match d {
        DType::F16 => Some((11, -24, 15)),
        DType::BF16 => Some((8, -133, 127)),
        DType::F32 => Some((24, -149, 127)),
        DType::F64 => Some((53, -1074, 1023)),
        _ => None,
    };
    let bits = |d: DType| 8 * d.size() as i32 - i32::from(d.is_signed());
    match (float(from), float(to)) {
        _ if from == to => true,
        (Some(a), Some(b)) => a.0 <= b.0 && a.1 >= b.1 && a.2 <= b.2,
        (None, Some(b)) if from.is_integer() => bits(from) <= b.0 && bits(from) <= b.2,
        (None, None) if from.is_integer() && to.is_integer() => {
            bits(from) <= bits(to) && (to.is_signed() || !from.is_signed())
        }
        (None, _) if from.is_bool() => to.is_integer() || float(to).is_some(),
        _ => false,
    }
}

/// True if no element can be infinite or NaN, as far as the terms of a class show within some steps.
fn is_finite<T: Terms>(terms: &T, class: T::Id, steps: usize) -> bool {
    let Some(left) = steps.checked_sub(1) else { return false };
    let number = match terms.kind(class) {
        Kind::Const(c) => return c.number().is_some_and(f64::is_finite),
        kind => kind.tensor(),
    };
    if number.is_some_and(|t| t.dtype.is_bool() || t.dtype.is_integer()) {
        return true;
    }
    let dtype = |id: &T::Id| terms.kind(*id).tensor().map(|t| t.dtype);
    let finite = |id: &T::Id| is_finite(terms, *id, left);
    // A number or an element may be finite, and not in the dtype of the result.
    let stays_finite = |id: &T::Id| {
        let Some(to) = number.map(|t| t.dtype) else { return false };
        match terms.kind(*id) {
            Kind::Const(c) => normal_range(to).zip(c.number()).is_some_and(|((_, largest), x)| x.abs() <= largest),
            _ => dtype(id).is_some_and(|from| holds_all(from, to)) && finite(id),
        }
    };
    terms.any_call(class, &mut |name, kids| {
        let op = terms.registry().op(name);
        let Some(schema) = op.schema() else { return false };
        if let Some(of) = op.def().and_then(|def| def.finite_of) {
            let is_finite = |name: &&str| schema.arg(name).and_then(|(i, _)| kids.get(i)).is_some_and(stays_finite);
            return of.iter().all(is_finite);
        }
        schema.is_view() && kids.first().is_some_and(stays_finite)
    })
}
