//! Initial values, `torch.nn.init`: drawn from the generator that [`crate::manual_seed`] seeds.
//!
//! Law: the numbers that bound a distribution are computed as PyTorch computes them, so that the same seed gives the
//! same bits.

use crate::module::draw;
use crate::{Buffer, Parameter};
use oxport_tensor::{DType, Tensor as Data};

fn count(sizes: &[i64]) -> usize {
    usize::try_from(sizes.iter().product::<i64>()).unwrap_or(0)
}

fn of(sizes: &[i64], values: Vec<f32>) -> Data {
    Data::from_vec(sizes, values).expect("law: there are as many values as the sizes say")
}

/// Float32 values, all the same.
pub fn constant(sizes: &[i64], value: f32) -> Data {
    of(sizes, vec![value; count(sizes)])
}

/// `torch.nn.init.uniform_`
pub fn uniform(sizes: &[i64], from: f64, to: f64) -> Data {
    let mut values = vec![0f32; count(sizes)];
    draw(&mut values, |g, out| g.fill_uniform(out, from, to));
    of(sizes, values)
}

/// `torch.nn.init.normal_`
pub fn normal(sizes: &[i64], mean: f64, std: f64) -> Data {
    let mut values = vec![0f32; count(sizes)];
    draw(&mut values, |g, out| g.fill_normal(out, mean, std));
    of(sizes, values)
}

/// `_calculate_fan_in_and_fan_out`: of a weight `[out, in, kernel…]`.
fn fans(sizes: &[i64]) -> (f64, f64) {
    let field: i64 = sizes.iter().skip(2).product();
    let size = |i: usize| sizes.get(i).copied().unwrap_or(1);
    ((size(1) * field) as f64, (size(0) * field) as f64)
}

/// `torch.nn.init.kaiming_uniform_` with the slope that linear and convolution layers give.
pub fn kaiming_uniform(sizes: &[i64], slope: f64) -> Data {
    let gain = (2.0 / (1.0 + slope * slope)).sqrt();
    let std = gain / fans(sizes).0.sqrt();
    let bound = 3f64.sqrt() * std;
    uniform(sizes, -bound, bound)
}

/// `torch.nn.init.xavier_uniform_`
pub fn xavier_uniform(sizes: &[i64]) -> Data {
    let (fan_in, fan_out) = fans(sizes);
    let std = (2.0 / (fan_in + fan_out)).sqrt();
    let bound = 3f64.sqrt() * std;
    uniform(sizes, -bound, bound)
}

/// The weight of a linear or convolution layer.
pub(crate) fn weight(sizes: &[i64]) -> Parameter {
    Parameter::new(kaiming_uniform(sizes, 5f64.sqrt()))
}

/// The bias of a layer whose weight has these sizes.
pub(crate) fn bias(weight: &[i64], out: i64) -> Parameter {
    let bound = 1.0 / fans(weight).0.sqrt();
    Parameter::new(uniform(&[out], -bound, bound))
}

/// The counter of batches of a normalization.
pub(crate) fn counter() -> Buffer {
    Buffer::new(Data::zeros(DType::I64, &[]).expect("law: a number fits"))
}
