//! Activations, dropout, and what else has no state and computes element by element.

use super::{init, stateless};
use crate::{Forward, Module, Parameter, Tensor, Value, Visitor};

stateless! {
    /// `torch.nn.ReLU`
    "activation" ReLU(inplace: bool = false) |s, x| if s.inplace { x.relu_() } else { x.relu() };
    /// `torch.nn.ReLU6`
    "activation" ReLU6() |_s, x| x.hardtanh(0.0, 6.0);
    /// `torch.nn.GELU`
    "activation" GELU(is_tanh: bool = false) |s, x| match s.is_tanh {
        true => x.call("gelu", &[], &[("approximate", "tanh".into())]),
        false => x.gelu(),
    };
    /// `torch.nn.SiLU`
    "activation" SiLU() |_s, x| x.silu();
    /// `torch.nn.Mish`
    "activation" Mish() |_s, x| x.mish();
    /// `torch.nn.Sigmoid`
    "activation" Sigmoid() |_s, x| x.sigmoid();
    /// `torch.nn.Tanh`
    "activation" Tanh() |_s, x| x.tanh();
    /// `torch.nn.ELU`
    "activation" ELU(alpha: f64 = 1.0) |s, x| x.call("elu", &[s.alpha.into()], &[]);
    /// `torch.nn.SELU`
    "activation" SELU() |_s, x| x.selu();
    /// `torch.nn.CELU`
    "activation" CELU(alpha: f64 = 1.0) |s, x| x.celu(s.alpha);
    /// `torch.nn.LeakyReLU`
    "activation" LeakyReLU(negative_slope: f64 = 0.01) |s, x| x.leaky_relu(s.negative_slope);
    /// `torch.nn.Softplus`
    "activation" Softplus(beta: f64 = 1.0, threshold: f64 = 20.0) |s, x| x.softplus(s.beta, s.threshold);
    /// `torch.nn.Hardswish`
    "activation" Hardswish() |_s, x| x.hardswish();
    /// `torch.nn.Hardsigmoid`
    "activation" Hardsigmoid() |_s, x| x.hardsigmoid();
    /// `torch.nn.Hardtanh`
    "activation" Hardtanh(min_val: f64 = -1.0, max_val: f64 = 1.0) |s, x| x.hardtanh(s.min_val, s.max_val);
    /// `torch.nn.LogSigmoid`
    "activation" LogSigmoid() |_s, x| x.log_sigmoid();
    /// `torch.nn.Softsign`
    "activation" Softsign() |_s, x| x.div(x.abs().add(1i64));
    /// `torch.nn.Tanhshrink`
    "activation" Tanhshrink() |_s, x| x.sub(x.tanh());
    /// `torch.nn.Threshold`
    "activation" Threshold(threshold: f64 = 0.0, value: f64 = 0.0) |s, x| x.threshold(s.threshold, s.value);
    /// `torch.nn.Hardshrink`
    "activation" Hardshrink(lambd: f64 = 0.5) |s, x| x.hardshrink(s.lambd);
    /// `torch.nn.Softshrink`
    "activation" Softshrink(lambd: f64 = 0.5) |s, x| x.softshrink(s.lambd);
    /// `torch.nn.GLU`
    "activation" GLU(dim: i64 = -1) |s, x| x.glu(s.dim);
    /// `torch.nn.Softmax`
    "activation" Softmax(dim: i64 = -1) |s, x| x.softmax(s.dim);
    /// `torch.nn.LogSoftmax`
    "activation" LogSoftmax(dim: i64 = -1) |s, x| x.log_softmax(s.dim);
    /// `torch.nn.RReLU`: slopes are drawn while training.
    "activation" RReLU(lower: f64 = 1.0 / 8.0, upper: f64 = 1.0 / 3.0) |s, x| {
        x.call("rrelu", &[s.lower.into(), s.upper.into(), s.mode.is_training().into()], &[])
    };
    /// `torch.nn.Softmax2d`: over the channels.
    "activation" Softmax2d() |_s, x| x.softmax(-3);
    /// `torch.nn.Softmin`
    "activation" Softmin(dim: i64 = -1) |s, x| x.neg().softmax(s.dim);
    /// `torch.nn.Unflatten`
    "flatten" Unflatten(dim: i64 = 1, sizes: Vec<i64> = Vec::new()) |s, x| x.unflatten(s.dim, s.sizes.clone());
    /// `torch.nn.Fold`: adds up sliding blocks.
    "fold" Fold(
        output_size: [i64; 2] = [1, 1],
        kernel_size: [i64; 2] = [1, 1],
        dilation: i64 = 1,
        padding: i64 = 0,
        stride: i64 = 1
    ) |s, x| {
        let rest = [s.dilation, s.padding, s.stride].map(|n| Value::from([n; 2]));
        x.call("col2im", &[&[s.output_size.into(), s.kernel_size.into()], &rest[..]].concat(), &[])
    };
    /// `torch.nn.Unfold`: takes sliding blocks out.
    "fold" Unfold(kernel_size: [i64; 2] = [1, 1], dilation: i64 = 1, padding: i64 = 0, stride: i64 = 1)
        |s, x| x.im2col(s.kernel_size, [s.dilation; 2], [s.padding; 2], [s.stride; 2]);
    /// `torch.nn.ChannelShuffle`
    "channelshuffle" ChannelShuffle(groups: i64 = 1) |s, x| x.channel_shuffle(s.groups);
    /// `torch.nn.Identity`
    "linear" Identity() |_s, x| x.clone();
    /// `torch.nn.Flatten`
    "flatten" Flatten(start_dim: i64 = 1, end_dim: i64 = -1) |s, x| x.flatten(s.start_dim, s.end_dim);
    /// `torch.nn.PixelShuffle`
    "pixelshuffle" PixelShuffle(upscale_factor: i64 = 2) |s, x| x.pixel_shuffle(s.upscale_factor);
    /// `torch.nn.PixelUnshuffle`
    "pixelshuffle" PixelUnshuffle(downscale_factor: i64 = 2) |s, x| x.pixel_unshuffle(s.downscale_factor);
    /// `torch.nn.Dropout`
    "dropout" Dropout(p: f64 = 0.5) |s, x| x.dropout(s.p, s.mode.is_training());
    /// `torch.nn.Dropout1d`: whole channels.
    "dropout" Dropout1d(p: f64 = 0.5) |s, x| x.feature_dropout(s.p, s.mode.is_training());
    /// `torch.nn.Dropout3d`: whole channels.
    "dropout" Dropout3d(p: f64 = 0.5) |s, x| x.feature_dropout(s.p, s.mode.is_training());
    /// `torch.nn.FeatureAlphaDropout`: whole channels.
    "dropout" FeatureAlphaDropout(p: f64 = 0.5)
        |s, x| x.call("feature_alpha_dropout", &[s.p.into(), s.mode.is_training().into()], &[]);
    /// `torch.nn.Dropout2d`: whole channels.
    "dropout" Dropout2d(p: f64 = 0.5) |s, x| x.feature_dropout(s.p, s.mode.is_training());
    /// `torch.nn.AlphaDropout`
    "dropout" AlphaDropout(p: f64 = 0.5) |s, x| x.alpha_dropout(s.p, s.mode.is_training());
}

impl Dropout {
    /// With this probability.
    pub fn new(p: f64) -> Dropout {
        Dropout { p, ..Dropout::default() }
    }
}

/// `torch.nn.PReLU`
#[derive(Clone, Debug)]
pub struct PReLU {
    /// `[1]`, or one for each channel.
    pub weight: Parameter,
}

impl PReLU {
    /// With these many slopes.
    pub fn new(slopes: i64) -> PReLU {
        PReLU { weight: Parameter::new(init::constant(&[slopes], 0.25)) }
    }
}

impl Module for PReLU {
    fn visit(&self, visitor: &mut dyn Visitor) {
        visitor.parameter("weight", &self.weight);
    }
    fn class(&self) -> String {
        "torch.nn.modules.activation.PReLU".into()
    }
}

impl Forward<&Tensor> for PReLU {
    type Output = Tensor;
    fn forward(&self, x: &Tensor) -> Tensor {
        x.prelu(self.weight.get())
    }
}
