//! Normalizations.

use super::init;
use crate::{Buffer, Forward, Mode, Module, Parameter, Tensor, Value, Visitor};

/// Whether PyTorch's CPU build would use cuDNN, which its normalizations say to their operators.
const CUDNN: bool = false;

fn ones(sizes: &[i64]) -> Option<Parameter> {
    Some(Parameter::new(init::constant(sizes, 1.0)))
}
fn zeros(sizes: &[i64]) -> Option<Parameter> {
    Some(Parameter::new(init::constant(sizes, 0.0)))
}
fn traced(p: &Option<Parameter>) -> Value {
    p.as_ref().map(Parameter::get).into()
}

/// `torch.nn.BatchNorm1d`, `2d`, `3d`: of `N` dimensions.
#[derive(Clone, Debug)]
pub struct BatchNorm<const N: usize> {
    /// `[channels]`
    pub weight: Option<Parameter>,
    /// `[channels]`
    pub bias: Option<Parameter>,
    /// `[channels]`; training updates it.
    pub running_mean: Buffer,
    /// `[channels]`; training updates it.
    pub running_var: Buffer,
    /// How many batches were seen.
    pub num_batches_tracked: Buffer,
    /// How much the newest batch counts.
    pub momentum: f64,
    /// What is added to the variance.
    pub eps: f64,
    mode: Mode,
}

/// `torch.nn.BatchNorm1d`
pub type BatchNorm1d = BatchNorm<1>;
/// `torch.nn.BatchNorm2d`
pub type BatchNorm2d = BatchNorm<2>;
/// `torch.nn.BatchNorm3d`
pub type BatchNorm3d = BatchNorm<3>;

impl<const N: usize> BatchNorm<N> {
    /// Over these many channels.
    pub fn new(channels: i64) -> BatchNorm<N> {
        BatchNorm {
            weight: ones(&[channels]),
            bias: zeros(&[channels]),
            running_mean: Buffer::new(init::constant(&[channels], 0.0)),
            running_var: Buffer::new(init::constant(&[channels], 1.0)),
            num_batches_tracked: init::counter(),
            momentum: 0.1,
            eps: 1e-5,
            mode: Mode::default(),
        }
    }
}

impl<const N: usize> Module for BatchNorm<N> {
    fn visit(&self, visitor: &mut dyn Visitor) {
        self.weight.iter().for_each(|w| visitor.parameter("weight", w));
        self.bias.iter().for_each(|b| visitor.parameter("bias", b));
        visitor.buffer("running_mean", &self.running_mean);
        visitor.buffer("running_var", &self.running_var);
        visitor.buffer("num_batches_tracked", &self.num_batches_tracked);
        visitor.mode(&self.mode);
    }
    fn class(&self) -> String {
        format!("torch.nn.modules.batchnorm.BatchNorm{N}d")
    }
}

impl<const N: usize> Forward<&Tensor> for BatchNorm<N> {
    type Output = Tensor;
    fn forward(&self, x: &Tensor) -> Tensor {
        let training = self.mode.is_training();
        if training {
            self.num_batches_tracked.get().add_(1i64);
        }
        let (mean, var) = (self.running_mean.get(), self.running_var.get());
        x.batch_norm(traced(&self.weight), traced(&self.bias), mean, var, training, self.momentum, self.eps, CUDNN)
    }
}

/// `torch.nn.InstanceNorm1d`, `2d`, `3d`: of `N` dimensions, without running statistics.
#[derive(Clone, Debug)]
pub struct InstanceNorm<const N: usize> {
    /// `[channels]`
    pub weight: Option<Parameter>,
    /// `[channels]`
    pub bias: Option<Parameter>,
    /// What is added to the variance.
    pub eps: f64,
    mode: Mode,
}

/// `torch.nn.InstanceNorm1d`
pub type InstanceNorm1d = InstanceNorm<1>;
/// `torch.nn.InstanceNorm2d`
pub type InstanceNorm2d = InstanceNorm<2>;
/// `torch.nn.InstanceNorm3d`
pub type InstanceNorm3d = InstanceNorm<3>;

impl<const N: usize> InstanceNorm<N> {
    /// With or without weight and bias over these many channels.
    pub fn new(channels: i64, affine: bool) -> InstanceNorm<N> {
        let part = |make: fn(&[i64]) -> Option<Parameter>| if affine { make(&[channels]) } else { None };
        InstanceNorm { weight: part(ones), bias: part(zeros), eps: 1e-5, mode: Mode::default() }
    }
}

impl<const N: usize> Module for InstanceNorm<N> {
    fn visit(&self, visitor: &mut dyn Visitor) {
        self.weight.iter().for_each(|w| visitor.parameter("weight", w));
        self.bias.iter().for_each(|b| visitor.parameter("bias", b));
        visitor.mode(&self.mode);
    }
    fn class(&self) -> String {
        format!("torch.nn.modules.instancenorm.InstanceNorm{N}d")
    }
}

impl<const N: usize> Forward<&Tensor> for InstanceNorm<N> {
    type Output = Tensor;
    fn forward(&self, x: &Tensor) -> Tensor {
        let none = || Value::None;
        x.instance_norm(traced(&self.weight), traced(&self.bias), none(), none(), true, 0.1, self.eps, CUDNN)
    }
}

/// `torch.nn.LayerNorm`
#[derive(Clone, Debug)]
pub struct LayerNorm {
    /// The sizes of the trailing dimensions.
    pub normalized_shape: Vec<i64>,
    /// Of those sizes.
    pub weight: Option<Parameter>,
    /// Of those sizes.
    pub bias: Option<Parameter>,
    /// What is added to the variance.
    pub eps: f64,
}

impl LayerNorm {
    /// Over the last dimension of this size.
    pub fn new(size: i64) -> LayerNorm {
        LayerNorm::over(&[size])
    }
    /// Over the trailing dimensions of these sizes.
    pub fn over(sizes: &[i64]) -> LayerNorm {
        LayerNorm { normalized_shape: sizes.to_vec(), weight: ones(sizes), bias: zeros(sizes), eps: 1e-5 }
    }
    /// With this addition to the variance.
    pub fn eps(self, eps: f64) -> LayerNorm {
        LayerNorm { eps, ..self }
    }
}

impl Module for LayerNorm {
    fn visit(&self, visitor: &mut dyn Visitor) {
        self.weight.iter().for_each(|w| visitor.parameter("weight", w));
        self.bias.iter().for_each(|b| visitor.parameter("bias", b));
    }
    fn class(&self) -> String {
        "torch.nn.modules.normalization.LayerNorm".into()
    }
}

impl Forward<&Tensor> for LayerNorm {
    type Output = Tensor;
    fn forward(&self, x: &Tensor) -> Tensor {
        x.layer_norm(self.normalized_shape.clone(), traced(&self.weight), traced(&self.bias), self.eps, CUDNN)
    }
}

/// `torch.nn.RMSNorm`
#[derive(Clone, Debug)]
pub struct RMSNorm {
    /// The sizes of the trailing dimensions.
    pub normalized_shape: Vec<i64>,
    /// Of those sizes.
    pub weight: Option<Parameter>,
    /// What is added to the mean square; that of the dtype where not said.
    pub eps: Option<f64>,
}

impl RMSNorm {
    /// Over the last dimension of this size.
    pub fn new(size: i64) -> RMSNorm {
        RMSNorm { normalized_shape: vec![size], weight: ones(&[size]), eps: None }
    }
    /// With this addition to the mean square.
    pub fn eps(self, eps: f64) -> RMSNorm {
        RMSNorm { eps: Some(eps), ..self }
    }
}

impl Module for RMSNorm {
    fn visit(&self, visitor: &mut dyn Visitor) {
        self.weight.iter().for_each(|w| visitor.parameter("weight", w));
    }
    fn class(&self) -> String {
        "torch.nn.modules.normalization.RMSNorm".into()
    }
}

impl Forward<&Tensor> for RMSNorm {
    type Output = Tensor;
    fn forward(&self, x: &Tensor) -> Tensor {
        x.rms_norm(self.normalized_shape.clone(), traced(&self.weight), self.eps)
    }
}

/// `torch.nn.GroupNorm`
#[derive(Clone, Debug)]
pub struct GroupNorm {
    /// How many groups of channels there are.
    pub num_groups: i64,
    /// `[channels]`
    pub weight: Option<Parameter>,
    /// `[channels]`
    pub bias: Option<Parameter>,
    /// What is added to the variance.
    pub eps: f64,
}

impl GroupNorm {
    /// Of these many groups over these many channels.
    pub fn new(groups: i64, channels: i64) -> GroupNorm {
        GroupNorm { num_groups: groups, weight: ones(&[channels]), bias: zeros(&[channels]), eps: 1e-5 }
    }
}

impl Module for GroupNorm {
    fn visit(&self, visitor: &mut dyn Visitor) {
        self.weight.iter().for_each(|w| visitor.parameter("weight", w));
        self.bias.iter().for_each(|b| visitor.parameter("bias", b));
    }
    fn class(&self) -> String {
        "torch.nn.modules.normalization.GroupNorm".into()
    }
}

impl Forward<&Tensor> for GroupNorm {
    type Output = Tensor;
    fn forward(&self, x: &Tensor) -> Tensor {
        let rest = [self.num_groups.into(), traced(&self.weight), traced(&self.bias), self.eps.into(), CUDNN.into()];
        x.call("group_norm", &rest, &[])
    }
}
