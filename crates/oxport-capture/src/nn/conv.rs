//! Convolutions.

use super::init;
use crate::{Forward, Module, Parameter, Tensor, Value, Visitor};

/// How an input is padded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PaddingMode {
    /// With zeros.
    #[default]
    Zeros,
    /// Mirrored at the edge.
    Reflect,
    /// By the edge.
    Replicate,
    /// By the other side.
    Circular,
}

/// A convolution over `N` dimensions; its options are public, and may be set before use.
#[derive(Clone, Debug)]
pub struct Conv<const N: usize> {
    /// `[out, in / groups, kernel…]`
    pub weight: Parameter,
    /// `[out]`
    pub bias: Option<Parameter>,
    /// The step.
    pub stride: [i64; N],
    /// What is added at both ends.
    pub padding: [i64; N],
    /// The distance of the kernel's elements.
    pub dilation: [i64; N],
    /// How many groups of channels there are.
    pub groups: i64,
    /// How it is padded.
    pub padding_mode: PaddingMode,
}

/// `torch.nn.Conv1d`
pub type Conv1d = Conv<1>;
/// `torch.nn.Conv2d`
pub type Conv2d = Conv<2>;
/// `torch.nn.Conv3d`
pub type Conv3d = Conv<3>;

impl<const N: usize> Conv<N> {
    /// With a bias, in one group, of stride 1, without padding.
    pub fn new(inputs: i64, outputs: i64, kernel: i64) -> Conv<N> {
        Conv::grouped(inputs, outputs, [kernel; N], 1, true)
    }
    /// With a kernel of these sizes, in groups, with or without a bias.
    pub fn grouped(inputs: i64, outputs: i64, kernel: [i64; N], groups: i64, has_bias: bool) -> Conv<N> {
        let sizes: Vec<i64> = [outputs, inputs / groups.max(1)].into_iter().chain(kernel).collect();
        let weight = init::weight(&sizes);
        let bias = has_bias.then(|| init::bias(&sizes, outputs));
        let (stride, padding, dilation) = ([1; N], [0; N], [1; N]);
        Conv { weight, bias, stride, padding, dilation, groups, padding_mode: PaddingMode::Zeros }
    }
    /// With this step in all dimensions.
    pub fn stride(self, stride: i64) -> Conv<N> {
        Conv { stride: [stride; N], ..self }
    }
    /// With this padding in all dimensions.
    pub fn padding(self, padding: i64) -> Conv<N> {
        Conv { padding: [padding; N], ..self }
    }
    /// With this distance of the kernel's elements.
    pub fn dilation(self, dilation: i64) -> Conv<N> {
        Conv { dilation: [dilation; N], ..self }
    }
}

impl<const N: usize> Module for Conv<N> {
    fn visit(&self, visitor: &mut dyn Visitor) {
        visitor.parameter("weight", &self.weight);
        self.bias.iter().for_each(|bias| visitor.parameter("bias", bias));
    }
    fn class(&self) -> String {
        format!("torch.nn.modules.conv.Conv{N}d")
    }
}

impl<const N: usize> Forward<&Tensor> for Conv<N> {
    type Output = Tensor;
    fn forward(&self, x: &Tensor) -> Tensor {
        let (weight, bias): (Value, Value) = (self.weight.get().into(), self.bias.as_ref().map(Parameter::get).into());
        let (stride, dilation): (Value, Value) = (self.stride.into(), self.dilation.into());
        let mode = match self.padding_mode {
            PaddingMode::Zeros => None,
            PaddingMode::Reflect => Some("reflect"),
            PaddingMode::Replicate => Some("replicate"),
            PaddingMode::Circular => Some("circular"),
        };
        let (x, padding) = match mode {
            None => (x.clone(), self.padding),
            Some(mode) => {
                // The last dimension comes first, both of its ends.
                let ends: Vec<i64> = self.padding.iter().rev().flat_map(|&p| [p, p]).collect();
                (x.pad(ends, mode, Value::None), [0; N])
            }
        };
        x.call(&format!("conv{N}d"), &[weight, bias, stride, padding.into(), dilation, self.groups.into()], &[])
    }
}

/// A transposed convolution over `N` dimensions.
#[derive(Clone, Debug)]
pub struct ConvTranspose<const N: usize> {
    /// `[in, out / groups, kernel…]`
    pub weight: Parameter,
    /// `[out]`
    pub bias: Option<Parameter>,
    /// The step.
    pub stride: [i64; N],
    /// What is taken away at both ends.
    pub padding: [i64; N],
    /// What is added at one end.
    pub output_padding: [i64; N],
    /// The distance of the kernel's elements.
    pub dilation: [i64; N],
    /// How many groups of channels there are.
    pub groups: i64,
}

/// `torch.nn.ConvTranspose1d`
pub type ConvTranspose1d = ConvTranspose<1>;
/// `torch.nn.ConvTranspose2d`
pub type ConvTranspose2d = ConvTranspose<2>;
/// `torch.nn.ConvTranspose3d`
pub type ConvTranspose3d = ConvTranspose<3>;

impl<const N: usize> ConvTranspose<N> {
    /// With a bias, in one group, of stride 1.
    pub fn new(inputs: i64, outputs: i64, kernel: i64) -> ConvTranspose<N> {
        let sizes: Vec<i64> = [inputs, outputs].into_iter().chain([kernel; N]).collect();
        let weight = init::weight(&sizes);
        let bias = Some(init::bias(&sizes, outputs));
        let (stride, zero) = ([1; N], [0; N]);
        ConvTranspose { weight, bias, stride, padding: zero, output_padding: zero, dilation: [1; N], groups: 1 }
    }
    /// With this step in all dimensions.
    pub fn stride(self, stride: i64) -> ConvTranspose<N> {
        ConvTranspose { stride: [stride; N], ..self }
    }
    /// With this padding in all dimensions.
    pub fn padding(self, padding: i64) -> ConvTranspose<N> {
        ConvTranspose { padding: [padding; N], ..self }
    }
    /// With this much more at one end of each dimension.
    pub fn output_padding(self, padding: i64) -> ConvTranspose<N> {
        ConvTranspose { output_padding: [padding; N], ..self }
    }
}

impl<const N: usize> Module for ConvTranspose<N> {
    fn visit(&self, visitor: &mut dyn Visitor) {
        visitor.parameter("weight", &self.weight);
        self.bias.iter().for_each(|bias| visitor.parameter("bias", bias));
    }
    fn class(&self) -> String {
        format!("torch.nn.modules.conv.ConvTranspose{N}d")
    }
}

impl<const N: usize> Forward<&Tensor> for ConvTranspose<N> {
    type Output = Tensor;
    fn forward(&self, x: &Tensor) -> Tensor {
        let (weight, bias): (Value, Value) = (self.weight.get().into(), self.bias.as_ref().map(Parameter::get).into());
        let (stride, padding, more): (Value, Value, Value) =
            (self.stride.into(), self.padding.into(), self.output_padding.into());
        let rest = [weight, bias, stride, padding, more, self.groups.into(), self.dilation.into()];
        x.call(&format!("conv_transpose{N}d"), &rest, &[])
    }
}
