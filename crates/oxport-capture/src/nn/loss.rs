//! Losses.

use crate::{Forward, Mode, Module, Tensor, Value, Visitor};

/// How the losses of elements become one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reduction {
    /// They stay apart.
    None,
    /// Their mean.
    #[default]
    Mean,
    /// Their sum.
    Sum,
}

impl From<Reduction> for Value {
    fn from(r: Reduction) -> Value {
        (r as i64).into()
    }
}

/// Both tensors in one shape, as PyTorch's losses broadcast them first.
fn broadcast(input: &Tensor, target: &Tensor) -> (Tensor, Tensor) {
    let both: Value = vec![input.clone(), target.clone()].into();
    let made = input.tracer.lenient("aten.broadcast_tensors", &[both], &[]);
    match made.as_list() {
        Some([Value::Tensor(a), Value::Tensor(b)]) => (a.clone(), b.clone()),
        _ => (input.tracer.void(), input.tracer.void()),
    }
}

macro_rules! losses {
    ($($(#[$doc:meta])* $name:ident($($field:ident: $t:ty = $default:expr),*) |$s:ident, $x:ident, $y:ident|
        $body:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug)]
        pub struct $name {
            /// How the losses of elements become one.
            pub reduction: Reduction,
            $(#[doc = concat!("`", stringify!($field), "` of PyTorch's module.")] pub $field: $t,)*
            mode: Mode,
        }
        impl $name {
            /// The mean of the losses.
            pub fn new() -> $name {
                $name::default()
            }
            /// With this reduction.
            pub fn reduction(self, reduction: Reduction) -> $name {
                $name { reduction, ..self }
            }
        }
        impl Default for $name {
            fn default() -> $name {
                $name { reduction: Reduction::Mean, $($field: $default,)* mode: Mode::default() }
            }
        }
        impl Module for $name {
            fn visit(&self, visitor: &mut dyn Visitor) {
                visitor.mode(&self.mode);
            }
            fn class(&self) -> String {
                concat!("torch.nn.modules.loss.", stringify!($name)).to_string()
            }
        }
        impl Forward<(&Tensor, &Tensor)> for $name {
            type Output = Tensor;
            fn forward(&self, ($x, $y): (&Tensor, &Tensor)) -> Tensor {
                let $s = self;
                $body
            }
        }
    )*};
}
losses! {
    /// `torch.nn.MSELoss`
    MSELoss() |s, x, y| { let (x, y) = broadcast(x, y); x.mse_loss(y, s.reduction) };
    /// `torch.nn.L1Loss`
    L1Loss() |s, x, y| { let (x, y) = broadcast(x, y); x.l1_loss(y, s.reduction) };
    /// `torch.nn.SmoothL1Loss`
    SmoothL1Loss(beta: f64 = 1.0) |s, x, y| { let (x, y) = broadcast(x, y); x.smooth_l1_loss(y, s.reduction, s.beta) };
    /// `torch.nn.HuberLoss`
    HuberLoss(delta: f64 = 1.0) |s, x, y| { let (x, y) = broadcast(x, y); x.huber_loss(y, s.reduction, s.delta) };
    /// `torch.nn.CrossEntropyLoss`
    CrossEntropyLoss(ignore_index: i64 = -100, label_smoothing: f64 = 0.0)
        |s, x, y| x.cross_entropy_loss(y, Value::None, s.reduction, s.ignore_index, s.label_smoothing);
    /// `torch.nn.NLLLoss`
    NLLLoss(ignore_index: i64 = -100)
        |s, x, y| x.call("nll_loss_nd", &[y.into(), Value::None, s.reduction.into(), s.ignore_index.into()], &[]);
    /// `torch.nn.BCELoss`
    BCELoss() |s, x, y| x.binary_cross_entropy(y, Value::None, s.reduction);
    /// `torch.nn.BCEWithLogitsLoss`
    BCEWithLogitsLoss() |s, x, y| x.binary_cross_entropy_with_logits(y, Value::None, Value::None, s.reduction);
    /// `torch.nn.KLDivLoss`
    KLDivLoss() |s, x, y| x.kl_div(y, s.reduction);
}
