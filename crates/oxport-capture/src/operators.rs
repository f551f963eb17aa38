//! The operators of Rust on [`Tensor`], and what makes tensors of a [`Tracer`].
//!
//! Laws: `x + 1` is `torch.Tensor.__add__`; a number before a tensor is `__radd__` and its like.

use crate::methods::{first, tensors};
use crate::{Tensor, Tracer, Value};
use oxport_tensor::DType;

macro_rules! operators {
    ($($trait:ident $method:ident $op:literal $reversed:literal;)*) => {$(
        impl<R: Into<Value>> std::ops::$trait<R> for &Tensor {
            type Output = Tensor;
            #[track_caller]
            fn $method(self, other: R) -> Tensor {
                self.call($op, &[other.into()], &[])
            }
        }
        impl<R: Into<Value>> std::ops::$trait<R> for Tensor {
            type Output = Tensor;
            #[track_caller]
            fn $method(self, other: R) -> Tensor {
                self.call($op, &[other.into()], &[])
            }
        }
        operators!(@number $trait $method $reversed f64);
        operators!(@number $trait $method $reversed i64);
    )*};
    (@number $trait:ident $method:ident $reversed:literal $number:ty) => {
        impl std::ops::$trait<Tensor> for $number {
            type Output = Tensor;
            #[track_caller]
            fn $method(self, tensor: Tensor) -> Tensor {
                reversed($reversed, self.into(), &tensor)
            }
        }
        impl std::ops::$trait<&Tensor> for $number {
            type Output = Tensor;
            #[track_caller]
            fn $method(self, tensor: &Tensor) -> Tensor {
                reversed($reversed, self.into(), tensor)
            }
        }
    };
}
operators! {
    Add add "add" "add";
    Sub sub "sub" "rsub";
    Mul mul "mul" "mul";
    Div div "div" "";
    Rem rem "remainder" "remainder";
    BitAnd bitand "__and__" "bitwise_and";
    BitOr bitor "__or__" "bitwise_or";
    BitXor bitxor "__xor__" "bitwise_xor";
    Shl shl "__lshift__" "bitwise_left_shift";
    Shr shr "__rshift__" "bitwise_right_shift";
}

/// A number before a tensor, as `torch.Tensor.__radd__` and its like have it.
#[track_caller]
fn reversed(op: &str, number: Value, tensor: &Tensor) -> Tensor {
    match op {
        "" => tensor.reciprocal().mul(number),
        "remainder" | "bitwise_left_shift" | "bitwise_right_shift" => {
            first(&tensor.tracer, tensors(tensor.tracer.lenient(&format!("aten.{op}"), &[number, tensor.into()], &[])))
        }
        op => tensor.call(op, &[number], &[]),
    }
}

impl std::ops::Neg for &Tensor {
    type Output = Tensor;
    #[track_caller]
    fn neg(self) -> Tensor {
        self.call("neg", &[], &[])
    }
}
impl std::ops::Neg for Tensor {
    type Output = Tensor;
    #[track_caller]
    fn neg(self) -> Tensor {
        self.call("neg", &[], &[])
    }
}
impl std::ops::Not for &Tensor {
    type Output = Tensor;
    #[track_caller]
    fn not(self) -> Tensor {
        self.call("bitwise_not", &[], &[])
    }
}
impl std::ops::Not for Tensor {
    type Output = Tensor;
    #[track_caller]
    fn not(self) -> Tensor {
        self.call("bitwise_not", &[], &[])
    }
}

impl Tracer {
    /// Calls an operator that takes no tensor first, `t.make("arange", &[5.into()], &[])`, or a list of them: the
    /// first result.
    #[track_caller]
    pub fn make(&self, name: &str, args: &[Value], kwargs: &[(&str, Value)]) -> Tensor {
        first(self, tensors(self.lenient(&format!("aten.{name}"), args, kwargs)))
    }
    /// `torch.cat`
    #[track_caller]
    pub fn cat(&self, tensors: &[Tensor], dim: i64) -> Tensor {
        self.make("cat", &[tensors.into(), dim.into()], &[])
    }
    /// `torch.stack`
    #[track_caller]
    pub fn stack(&self, tensors: &[Tensor], dim: i64) -> Tensor {
        self.make("stack", &[tensors.into(), dim.into()], &[])
    }
    /// `torch.where`
    #[track_caller]
    pub fn select_where(&self, condition: &Tensor, a: impl Into<Value>, b: impl Into<Value>) -> Tensor {
        self.make("where", &[condition.into(), a.into(), b.into()], &[])
    }
    /// `torch.einsum`
    #[track_caller]
    pub fn einsum(&self, equation: &str, tensors: &[Tensor]) -> Tensor {
        self.make("einsum", &[equation.into(), tensors.into()], &[])
    }
    /// `torch.arange(end)`
    #[track_caller]
    pub fn arange(&self, end: impl Into<Value>) -> Tensor {
        self.make("arange", &[end.into()], &[])
    }
    /// `torch.tensor(number)`, as an argument that must be a tensor.
    ///
    /// # Errors
    /// It is no number.
    #[track_caller]
    pub fn scalar_tensor(&self, number: Value, dtype: DType) -> crate::Result<Tensor> {
        let made = self.op("aten.scalar_tensor", &[number], &[("dtype", dtype.into())])?;
        made.as_tensor().cloned().ok_or_else(|| crate::Error::invalid("expected a number"))
    }
    /// `torch.zeros`
    #[track_caller]
    pub fn zeros(&self, size: impl Into<Value>) -> Tensor {
        self.make("zeros", &[size.into()], &[])
    }
    /// `torch.ones`
    #[track_caller]
    pub fn ones(&self, size: impl Into<Value>) -> Tensor {
        self.make("ones", &[size.into()], &[])
    }
    /// `torch.full`
    #[track_caller]
    pub fn full(&self, size: impl Into<Value>, value: impl Into<Value>) -> Tensor {
        self.make("full", &[size.into(), value.into()], &[])
    }
}
