//! Pooling and resampling.

use super::stateless;
use crate::{Tensor, Value};

/// A stride that is the kernel's size where it is not said, as PyTorch leaves it out.
fn step(stride: &Option<i64>, n: usize) -> Value {
    stride.map_or(Value::List(Vec::new()), |s| vec![s; n].into())
}

/// The stride of modules that fill in the kernel's size themselves.
fn filled(stride: &Option<i64>, kernel: i64) -> i64 {
    stride.unwrap_or(kernel)
}

stateless! {
    /// `torch.nn.MaxPool1d`
    "pooling" MaxPool1d(kernel_size: i64 = 2, stride: Option<i64> = None, padding: i64 = 0, dilation: i64 = 1,
        ceil_mode: bool = false)
        |s, x| x.max_pool1d(s.kernel_size, filled(&s.stride, s.kernel_size), s.padding, s.dilation, s.ceil_mode);
    /// `torch.nn.MaxPool2d`
    "pooling" MaxPool2d(kernel_size: i64 = 2, stride: Option<i64> = None, padding: i64 = 0, dilation: i64 = 1,
        ceil_mode: bool = false)
        |s, x| x.max_pool2d(s.kernel_size, filled(&s.stride, s.kernel_size), s.padding, s.dilation, s.ceil_mode);
    /// `torch.nn.MaxPool3d`
    "pooling" MaxPool3d(kernel_size: i64 = 2, stride: Option<i64> = None, padding: i64 = 0, dilation: i64 = 1,
        ceil_mode: bool = false)
        |s, x| x.max_pool3d(s.kernel_size, filled(&s.stride, s.kernel_size), s.padding, s.dilation, s.ceil_mode);
    /// `torch.nn.AvgPool1d`
    "pooling" AvgPool1d(kernel_size: i64 = 2, stride: Option<i64> = None, padding: i64 = 0)
        |s, x| x.avg_pool1d(s.kernel_size, filled(&s.stride, s.kernel_size), s.padding, false, true);
    /// `torch.nn.AvgPool2d`
    "pooling" AvgPool2d(kernel_size: i64 = 2, stride: Option<i64> = None, padding: i64 = 0)
        |s, x| x.avg_pool2d(s.kernel_size, filled(&s.stride, s.kernel_size), s.padding, false, true, Value::None);
    /// `torch.nn.AvgPool3d`
    "pooling" AvgPool3d(kernel_size: i64 = 2, stride: Option<i64> = None, padding: i64 = 0)
        |s, x| x.avg_pool3d(s.kernel_size, step(&s.stride, 3), s.padding, false, true, Value::None);
    /// `torch.nn.AdaptiveAvgPool1d`
    "pooling" AdaptiveAvgPool1d(output_size: i64 = 1) |s, x| x.adaptive_avg_pool1d(s.output_size);
    /// `torch.nn.AdaptiveAvgPool2d`
    "pooling" AdaptiveAvgPool2d(output_size: [i64; 2] = [1, 1]) |s, x| x.adaptive_avg_pool2d(s.output_size);
    /// `torch.nn.AdaptiveAvgPool3d`
    "pooling" AdaptiveAvgPool3d(output_size: [i64; 3] = [1, 1, 1]) |s, x| x.adaptive_avg_pool3d(s.output_size);
    /// `torch.nn.Upsample(scale_factor=…, mode='nearest')` of images.
    "upsampling" UpsamplingNearest2d(scale_factor: f64 = 2.0)
        |s, x| x.call("upsample_nearest2d.vec", &[Value::None, vec![s.scale_factor; 2].into()], &[]);
    /// `torch.nn.Upsample(scale_factor=…, mode='bilinear')` of images.
    "upsampling" UpsamplingBilinear2d(scale_factor: f64 = 2.0, align_corners: bool = false)
        |s, x| {
            let factors: Value = vec![s.scale_factor; 2].into();
            x.call("upsample_bilinear2d.vec", &[Value::None, s.align_corners.into(), factors], &[])
        };
    /// `torch.nn.AdaptiveMaxPool1d`
    "pooling" AdaptiveMaxPool1d(output_size: [i64; 1] = [1])
        |s, x| x.call("adaptive_max_pool1d", &[s.output_size.into()], &[]);
    /// `torch.nn.AdaptiveMaxPool2d`
    "pooling" AdaptiveMaxPool2d(output_size: [i64; 2] = [1, 1])
        |s, x| x.call("adaptive_max_pool2d", &[s.output_size.into()], &[]);
    /// `torch.nn.AdaptiveMaxPool3d`
    "pooling" AdaptiveMaxPool3d(output_size: [i64; 3] = [1, 1, 1])
        |s, x| x.call("adaptive_max_pool3d", &[s.output_size.into()], &[]);
    /// `torch.nn.LPPool1d`
    "pooling" LPPool1d(norm_type: f64 = 2.0, kernel_size: i64 = 2, stride: Option<i64> = None)
        |s, x| {
            let powers = x.pow(s.norm_type);
            let means = powers.call("avg_pool1d", &[s.kernel_size.into(), step(&s.stride, 1)], &[]);
            root(&means, s.kernel_size, s.norm_type)
        };
    /// `torch.nn.LPPool2d`
    "pooling" LPPool2d(norm_type: f64 = 2.0, kernel_size: i64 = 2, stride: Option<i64> = None)
        |s, x| {
            let powers = x.pow(s.norm_type);
            let means = powers.call("avg_pool2d", &[s.kernel_size.into(), step(&s.stride, 2)], &[]);
            root(&means, s.kernel_size * s.kernel_size, s.norm_type)
        };
    /// `torch.nn.Upsample`: to this size, or by this factor.
    "upsampling" Upsample(
        size: Option<Vec<i64>> = None,
        scale_factor: Option<f64> = None,
        mode_of: Upsampling = Upsampling::Nearest,
        align_corners: bool = false
    )
        |s, x| {
            let dims = x.ndim().saturating_sub(2);
            let op = match (s.mode_of, dims) {
                (Upsampling::Nearest, _) => format!("upsample_nearest{dims}d.vec"),
                (Upsampling::Linear, 1) => "upsample_linear1d.vec".to_string(),
                (Upsampling::Linear, 2) => "upsample_bilinear2d.vec".to_string(),
                (Upsampling::Linear, _) => "upsample_trilinear3d.vec".to_string(),
                (Upsampling::Cubic, _) => "upsample_bicubic2d.vec".to_string(),
            };
            let factors: Value = s.scale_factor.map(|factor| vec![factor; dims]).into();
            let mut rest = vec![s.size.clone().into(), factors];
            if s.mode_of != Upsampling::Nearest {
                rest.insert(1, s.align_corners.into());
            }
            x.call(&op, &rest, &[])
        };
}

/// The kind of an [`Upsample`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Upsampling {
    /// The nearest element.
    #[default]
    Nearest,
    /// Lines, planes or volumes between elements: PyTorch's `linear`, `bilinear`, `trilinear`.
    Linear,
    /// Cubic curves between the elements of an image: PyTorch's `bicubic`.
    Cubic,
}

/// The root of the sum whose mean over so many elements is given, as `F.lp_pool1d` has it.
fn root(means: &Tensor, count: i64, norm_type: f64) -> Tensor {
    (means.sign() * means.abs().relu() * count).pow(1.0 / norm_type)
}

impl MaxPool2d {
    /// Of this kernel and step.
    pub fn new(kernel_size: i64, stride: i64) -> MaxPool2d {
        MaxPool2d { kernel_size, stride: Some(stride), ..MaxPool2d::default() }
    }
}
