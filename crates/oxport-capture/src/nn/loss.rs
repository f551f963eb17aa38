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
    ($($(#[$doc:meta])* $name:ident($($field:ident: $t:ty = $default:expr),*) |$s:ident, $($x:ident),*|
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
        impl Forward<($(losses!(@tensor $x)),*)> for $name {
            type Output = Tensor;
            fn forward(&self, ($($x),*): ($(losses!(@tensor $x)),*)) -> Tensor {
                let $s = self;
                $body
            }
        }
    )*};
    (@tensor $x:ident) => {
        &Tensor
    };
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
    /// `torch.nn.HingeEmbeddingLoss`
    HingeEmbeddingLoss(margin: f64 = 1.0)
        |s, x, y| x.call("hinge_embedding_loss", &[y.into(), s.margin.into(), s.reduction.into()], &[]);
    /// `torch.nn.SoftMarginLoss`
    SoftMarginLoss() |s, x, y| x.call("soft_margin_loss", &[y.into(), s.reduction.into()], &[]);
    /// `torch.nn.MultiLabelMarginLoss`
    MultiLabelMarginLoss() |s, x, y| x.call("multilabel_margin_loss", &[y.into(), s.reduction.into()], &[]);
    /// `torch.nn.MultiLabelSoftMarginLoss`
    MultiLabelSoftMarginLoss() |s, x, y| {
        let likelihood = y * x.log_sigmoid() + (1i64 - y) * x.neg().log_sigmoid();
        let last = x.ndim() as i64 - 1;
        let losses = likelihood.neg().sum_dim([last], false) / x.size(-1);
        match s.reduction {
            Reduction::None => losses,
            Reduction::Mean => losses.mean(),
            Reduction::Sum => losses.sum(),
        }
    };
    /// `torch.nn.MultiMarginLoss`
    MultiMarginLoss(p: i64 = 1, margin: f64 = 1.0) |s, x, y| {
        let rest = [y.into(), s.p.into(), s.margin.into(), Value::None, s.reduction.into()];
        x.call("multi_margin_loss", &rest, &[])
    };
    /// `torch.nn.PoissonNLLLoss`
    PoissonNLLLoss(log_input: bool = true, full: bool = false, eps: f64 = 1e-8) |s, x, y| {
        let rest = [y.into(), s.log_input.into(), s.full.into(), s.eps.into(), s.reduction.into()];
        x.call("poisson_nll_loss", &rest, &[])
    };
    /// `torch.nn.KLDivLoss`
    KLDivLoss() |s, x, y| x.kl_div(y, s.reduction);
    /// `torch.nn.CosineEmbeddingLoss`
    CosineEmbeddingLoss(margin: f64 = 0.0) |s, a, b, y| {
        a.call("cosine_embedding_loss", &[b.into(), y.into(), s.margin.into(), s.reduction.into()], &[])
    };
    /// `torch.nn.MarginRankingLoss`
    MarginRankingLoss(margin: f64 = 0.0) |s, a, b, y| {
        a.call("margin_ranking_loss", &[b.into(), y.into(), s.margin.into(), s.reduction.into()], &[])
    };
    /// `torch.nn.TripletMarginLoss`
    TripletMarginLoss(margin: f64 = 1.0, p: f64 = 2.0, eps: f64 = 1e-6, swap: bool = false)
        |s, anchor, positive, negative| {
            let options = [s.margin.into(), s.p.into(), s.eps.into(), s.swap.into(), s.reduction.into()];
            anchor.call("triplet_margin_loss", &[&[positive.into(), negative.into()], &options[..]].concat(), &[])
        };
}

/// `torch.nn.CosineSimilarity`
#[derive(Clone, Debug)]
pub struct CosineSimilarity {
    /// Along this dimension.
    pub dim: i64,
    /// The least length by which is divided.
    pub eps: f64,
}

impl Default for CosineSimilarity {
    fn default() -> CosineSimilarity {
        CosineSimilarity { dim: 1, eps: 1e-8 }
    }
}

impl Module for CosineSimilarity {
    fn visit(&self, _: &mut dyn Visitor) {}
    fn class(&self) -> String {
        "torch.nn.modules.distance.CosineSimilarity".into()
    }
}

impl Forward<(&Tensor, &Tensor)> for CosineSimilarity {
    type Output = Tensor;
    fn forward(&self, (a, b): (&Tensor, &Tensor)) -> Tensor {
        a.cosine_similarity(b, self.dim, self.eps)
    }
}

/// `torch.nn.PairwiseDistance`
#[derive(Clone, Debug)]
pub struct PairwiseDistance {
    /// The norm.
    pub p: f64,
    /// What is added to each difference.
    pub eps: f64,
    /// Whether the last dimension stays, of size 1.
    pub keepdim: bool,
}

impl Default for PairwiseDistance {
    fn default() -> PairwiseDistance {
        PairwiseDistance { p: 2.0, eps: 1e-6, keepdim: false }
    }
}

impl Module for PairwiseDistance {
    fn visit(&self, _: &mut dyn Visitor) {}
    fn class(&self) -> String {
        "torch.nn.modules.distance.PairwiseDistance".into()
    }
}

impl Forward<(&Tensor, &Tensor)> for PairwiseDistance {
    type Output = Tensor;
    fn forward(&self, (a, b): (&Tensor, &Tensor)) -> Tensor {
        a.call("pairwise_distance", &[b.into(), self.p.into(), self.eps.into(), self.keepdim.into()], &[])
    }
}
