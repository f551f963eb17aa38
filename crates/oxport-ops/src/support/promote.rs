//! Type promotion, as `torch.result_type` and TensorIterator do it.
//!
//! Participants count in three priorities: tensors with dimensions, 0-d tensors, Python numbers. The result has the
//! highest category (bool < int < float < complex) that occurs anywhere; its dtype comes from the highest priority that
//! has this category, and numbers only raise the category.

use oxport_ir::{Error, Fake, Operand, Result, World};
use oxport_tensor::{Category, DType, Tensor};

/// What promotion looks at in a tensor.
pub trait Typed {
    /// The element type.
    fn dtype(&self) -> DType;
    /// The number of dimensions.
    fn dim(&self) -> usize;
}
impl Typed for Fake {
    fn dtype(&self) -> DType {
        self.dtype
    }
    fn dim(&self) -> usize {
        self.sizes.len()
    }
}
impl Typed for Tensor {
    fn dtype(&self) -> DType {
        Tensor::dtype(self)
    }
    fn dim(&self) -> usize {
        self.sizes().len()
    }
}

/// How a pointwise operator's result dtype follows from the promoted one: PyTorch's `ELEMENTWISE_TYPE_PROMOTION_KIND`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promotion {
    /// The promoted dtype: `add`.
    Default,
    /// Integers and bools compute and result in the default float dtype: `sin`, `div`.
    IntToFloat,
    /// Computes in the promoted dtype, results in bool: `eq`.
    AlwaysBool,
    /// Complex results in its real dtype: `abs`.
    ComplexToFloat,
    /// Bools compute and result in int64: `pow` with a bool base.
    BoolToLong,
}

impl Promotion {
    /// The dtype that the operator computes in.
    pub fn compute(self, promoted: DType) -> DType {
        match self {
            Promotion::IntToFloat if !promoted.is_float() && !promoted.is_complex() => DType::F32,
            Promotion::BoolToLong if promoted.is_bool() => DType::I64,
            _ => promoted,
        }
    }
    /// The dtype of the result.
    pub fn result(self, promoted: DType) -> DType {
        match self {
            Promotion::AlwaysBool => DType::Bool,
            Promotion::ComplexToFloat => promoted.to_real(),
            _ => self.compute(promoted),
        }
    }
}

/// The promoted dtype of some operands.
///
/// # Errors
/// Two dtypes have no common one (`uint16` with `int32`, `float8` with anything).
pub fn promote<W: World>(operands: &[&Operand<'_, W>]) -> Result<DType>
where
    W::Tensor: Typed,
{
    let (mut dims, mut zero, mut number) = (None, None, None);
    for operand in operands {
        match operand {
            Operand::Tensor(t) if t.dim() > 0 => dims = join(dims, t.dtype())?,
            Operand::Tensor(t) => zero = join(zero, t.dtype())?,
            Operand::Number(n) => number = join(number, n.default_dtype())?,
        }
    }
    let category = |d: Option<DType>| d.map(DType::category);
    let top = category(dims).max(category(zero)).max(category(number)).unwrap_or(Category::Bool);
    // A wrapped float or complex number takes the float width of the tensors, if they have one.
    let mut result = None;
    for group in [dims, zero] {
        if category(group) == Some(top) {
            result = group;
            break;
        }
    }
    // Beside floats with dimensions a complex number without any gives its category only.
    if let (Some(Category::Float), Some(Category::Complex), Some(floats)) = (category(dims), category(result), dims) {
        result = Some(floats.to_complex());
    }
    if let Some(d) = result {
        // A lower-priority group of the same category does not widen; but unsigned dtypes and float8 mix with nothing.
        for other in [dims, zero].into_iter().flatten() {
            join(Some(d), other)?;
        }
        return Ok(d);
    }
    let number = number.unwrap_or(DType::Bool);
    Ok(match top {
        Category::Complex => {
            let width = [dims, zero].into_iter().flatten().find(|d| d.is_float());
            width.map_or(DType::C64, DType::to_complex)
        }
        _ => number,
    })
}

/// The common dtype of some tensors.
pub(crate) fn common_dtype<'a, W: World>(tensors: &[&'a W::Tensor]) -> Result<DType>
where
    W::Tensor: Typed + 'a,
{
    let operands: Vec<Operand<'a, W>> = tensors.iter().map(|t| Operand::Tensor(*t)).collect();
    promote(&operands.iter().collect::<Vec<_>>())
}

fn join(a: Option<DType>, b: DType) -> Result<Option<DType>> {
    let Some(a) = a else { return Ok(Some(b)) };
    let both = DType::promote(a, b);
    both.map(Some).ok_or_else(|| Error::invalid(format!("no common dtype of {} and {}", a.name(), b.name())))
}
