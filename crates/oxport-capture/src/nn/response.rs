//! Normalization over neighboring channels.

use super::stateless;
use crate::{Error, SymInt, Value};

stateless! {
    /// `torch.nn.LocalResponseNorm`
    "normalization" LocalResponseNorm(size: i64 = 5, alpha: f64 = 1e-4, beta: f64 = 0.75, k: f64 = 1.0)
        |s, x| {
            let (before, after, sizes) = (s.size / 2, (s.size - 1) / 2, x.shape());
            let squares = x * x;
            let means = match &sizes[..] {
                [_, _, _] => {
                    let padded = squares.unsqueeze(1).call("pad", &[[0, 0, before, after].into()], &[]);
                    padded.call("avg_pool2d", &[[s.size, 1].into(), 1.into()], &[]).squeeze(1)
                }
                [batch, channels, first, _, ..] => {
                    let rows: Vec<SymInt> =
                        vec![batch.clone(), 1.into(), channels.clone(), first.clone(), (-1).into()];
                    let padded = squares.view(rows).call("pad", &[[0, 0, 0, 0, before, after].into()], &[]);
                    let means = padded.call("avg_pool3d", &[[s.size, 1, 1].into(), 1.into()], &[]);
                    means.squeeze(1).view(Value::from(sizes.clone()))
                }
                sizes => {
                    let dims = sizes.len();
                    let message = format!("Expected 3D or higher dimensionality input (got {dims} dimensions)");
                    x.tracer.refuse(Error::invalid(message));
                    x.tracer.void()
                }
            };
            x / (means * s.alpha + s.k).pow(s.beta)
        };
}
