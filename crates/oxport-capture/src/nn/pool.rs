//! Pooling, padding and resampling.

use super::stateless;
use crate::Value;

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
    /// `torch.nn.ReflectionPad2d`
    "padding" ReflectionPad2d(padding: [i64; 4] = [0; 4]) |s, x| x.pad(s.padding, "reflect", Value::None);
    /// `torch.nn.ReplicationPad2d`
    "padding" ReplicationPad2d(padding: [i64; 4] = [0; 4]) |s, x| x.pad(s.padding, "replicate", Value::None);
    /// `torch.nn.ConstantPad1d`
    "padding" ConstantPad1d(padding: [i64; 2] = [0; 2], value: f64 = 0.0) |s, x| x.pad(s.padding, "constant", s.value);
    /// `torch.nn.ConstantPad2d`, and `ZeroPad2d`
    "padding" ConstantPad2d(padding: [i64; 4] = [0; 4], value: f64 = 0.0) |s, x| x.pad(s.padding, "constant", s.value);
}

impl MaxPool2d {
    /// Of this kernel and step.
    pub fn new(kernel_size: i64, stride: i64) -> MaxPool2d {
        MaxPool2d { kernel_size, stride: Some(stride), ..MaxPool2d::default() }
    }
}
