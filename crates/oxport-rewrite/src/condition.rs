//! Conditions of rules: data, so that they print. That both sides have the same type is no condition: it always must
//! hold.

use crate::term::Constant;
use crate::typing::Graph;
use egg::Subst;
use oxport_tensor::DType;

/// When a rule holds. Variables are named without their question mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// The variable is a tensor of floats.
    Float(&'static str),
    /// The variable is a tensor of integers (no bools).
    Integer(&'static str),
    /// The variable is a tensor of floats or integers, not of bools or complex numbers.
    Real(&'static str),
    /// The variable is a tensor of floats or signed integers.
    Signed(&'static str),
    /// The variable is a list of all dimensions in their order.
    Identity(&'static str),
    /// The variable is a constant whose reciprocal is exact: a power of two, far from the ends of the range.
    PowerOfTwo(&'static str),
    /// The variable is a constant number.
    Number(&'static str),
    /// The variable is a finite constant float of the whole's dtype, so that a product of such stays in range.
    ModestFloat(&'static str),
    /// The two variables are tensors of the same dtype.
    SameDType(&'static str, &'static str),
    /// The variable is a tensor of that many dimensions.
    Rank(&'static str, usize),
}

impl Condition {
    /// True if it holds for a match.
    pub fn holds(&self, graph: &Graph<'_>, subst: &Subst) -> bool {
        let class = |name: &str| {
            let var = format!("?{name}").parse().ok()?;
            subst.get(var).map(|id| &graph[*id].data.kind)
        };
        let dtype = |name: &str| class(name).and_then(|k| k.tensor()).map(|t| t.dtype);
        let number = |name: &str| class(name).and_then(|k| k.constant()).and_then(Constant::number);
        match self {
            Condition::Float(v) => dtype(v).is_some_and(DType::is_float),
            Condition::Integer(v) => dtype(v).is_some_and(DType::is_integer),
            Condition::Real(v) => dtype(v).is_some_and(|d| d.is_float() || d.is_integer()),
            Condition::Signed(v) => dtype(v).is_some_and(|d| d.is_float() || d.is_integer() && d.is_signed()),
            Condition::Identity(v) => class(v)
                .and_then(|k| k.ints())
                .is_some_and(|l| l.iter().enumerate().all(|(i, &d)| d == i as i64 || d + l.len() as i64 == i as i64)),
            Condition::PowerOfTwo(v) => number(v).is_some_and(|x| {
                let exponent = x.abs().log2();
                exponent.fract() == 0.0 && exponent.abs() <= 10.0
            }),
            Condition::Number(v) => number(v).is_some(),
            Condition::ModestFloat(v) => number(v).is_some_and(|x| x != 0.0 && (1e-6..1e6).contains(&x.abs())),
            Condition::SameDType(a, b) => dtype(a).is_some() && dtype(a) == dtype(b),
            Condition::Rank(v, n) => class(v).and_then(|k| k.tensor()).is_some_and(|t| t.dim() == *n),
        }
    }
}
