//! What a machine does at most: the speeds that those of a program are compared with.

use crate::{DType, Fake, Opt, PlanOptions, ProgramBuilder, Result, Tensor, Toolchain, Value};
use std::time::{Duration, Instant};

/// The greatest speeds that the engine was seen to reach, with so many threads.
#[derive(Clone, Copy, Debug)]
pub struct Peak {
    /// Operations of `float32` a nanosecond: a product of matrices that stay in the caches.
    pub flops: f64,
    /// Bytes read from memory a nanosecond: a row times a matrix of 64 MB.
    pub bytes: f64,
}

impl Peak {
    /// Measures both, each for some ten milliseconds.
    ///
    /// # Errors
    /// There is no memory for the matrices.
    pub fn measure(toolchain: &Toolchain, options: &PlanOptions) -> Result<Peak> {
        let [m, k, n] = [256, 256, 256];
        let flops = (2 * m * k * n) as f64 / product_time(toolchain, options, [m, k, n])?;
        let [m, k, n] = [1, 2048, 8192];
        let bytes = (4 * k * n) as f64 / product_time(toolchain, options, [m, k, n])?;
        Ok(Peak { flops, bytes })
    }

    /// The part of the peak that is reached: that of the speed which is nearer to it.
    pub fn share(&self, flops: f64, bytes: f64, nanoseconds: f64) -> f64 {
        (flops / self.flops).max(bytes / self.bytes) / nanoseconds.max(f64::MIN_POSITIVE)
    }
}

/// The least time of a product by a constant matrix, in nanoseconds.
fn product_time(toolchain: &Toolchain, options: &PlanOptions, [m, k, n]: [i64; 3]) -> Result<f64> {
    const RUNS: usize = 30;
    let mut b = ProgramBuilder::new(toolchain.registry());
    let x = b.input("x", Fake::new(DType::F32, [m, k].map(Into::into)))?;
    let w = b.constant("w", Tensor::zeros(DType::F32, &[k, n])?)?;
    let product = b.calls().call("aten::mm", (x, w))?;
    // Packing aborts where there is no memory: there must be room for it.
    drop(Tensor::zeros(DType::F32, &[2 * k, n])?);
    let program = toolchain.prepare(&b.finish(&[product])?, Opt::None)?;
    let plan = toolchain.plan(&program, options)?;
    let x = [Value::Tensor(Tensor::zeros(DType::F32, &[m, k])?)];
    let mut least = Duration::MAX;
    for _ in 0..RUNS {
        let start = Instant::now();
        plan.run(x.to_vec())?;
        least = least.min(start.elapsed());
    }
    Ok(least.as_nanos().max(1) as f64)
}
