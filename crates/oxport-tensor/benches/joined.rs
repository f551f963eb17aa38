//! Elementwise passes behind a convolution with a constant weight, over pixels: by themselves, and joined with it.
//!
//! ```sh
//! OXPORT_ISA=avx2 cargo bench -p oxport-tensor --bench joined
//! ```
//!
//! Microseconds, the least time of many runs on one thread: the convolution, what the passes add by themselves, and
//! what they add when each finished part of the convolution goes through them.

use oxport_tensor::conv::{ConvOptions, Form, PackedKernel, convolution};
use oxport_tensor::gemm::After;
use oxport_tensor::join::{Call, Producer, join};
use oxport_tensor::{DType, Layout, SharedLayout, Tensor, TensorMut, add, clamp, clamp_gate, map, math, zip3};
use std::time::{Duration, Instant};

/// `(input channels, plane, output channels, kernel, stride, groups)`.
const SHAPES: &[[i64; 6]] = &[
    [64, 56, 64, 3, 1, 1],
    [64, 56, 256, 1, 1, 1],
    [256, 14, 1024, 1, 1, 1],
    [512, 7, 512, 3, 1, 1],
    [16, 112, 64, 1, 1, 1],
    [16, 112, 16, 3, 1, 16],
    [72, 56, 24, 1, 1, 1],
    [24, 56, 72, 1, 1, 1],
    [40, 28, 240, 1, 1, 1],
    [80, 14, 480, 1, 1, 1],
    [160, 7, 960, 1, 1, 1],
    [72, 56, 72, 3, 1, 72],
    [672, 14, 672, 5, 1, 672],
];

fn least(mut f: impl FnMut()) -> Duration {
    let (begin, mut best) = (Instant::now(), Duration::MAX);
    let mut runs = 0;
    while runs < 5 || (begin.elapsed() < Duration::from_millis(200) && runs < 20_000) {
        let start = Instant::now();
        f();
        best = best.min(start.elapsed());
        runs += 1;
    }
    best
}

type Pass<'a> = &'a dyn Fn(&Tensor, &mut TensorMut) -> bool;

fn main() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("one thread");
    pool.install(|| SHAPES.iter().for_each(measure));
}

fn measure(&[c, h, o, k, s, groups]: &[i64; 6]) {
    let noise = |sizes: &[i64]| {
        let n = sizes.iter().product::<i64>();
        Tensor::from_vec(sizes, (0..n).map(|i| (i * 7919 % 1009) as f32 / 331.0 - 1.5).collect()).expect("a valid case")
    };
    let last =
        |sizes: &[i64]| TensorMut::empty(DType::F32, Layout::channels_last(sizes).expect("an image")).expect("memory");
    let turned = |x: &Tensor| {
        let mut out = last(x.sizes());
        oxport_tensor::copy(x, &mut out).expect("the same sizes");
        out.freeze()
    };
    let (x, weight) = (turned(&noise(&[1, c, h, h])), noise(&[o, c / groups, k, k]));
    let options = ConvOptions { stride: &[s], padding: &[k / 2], groups, ..Default::default() };
    let packed = PackedKernel::new(&weight, Form::Pixels, &options).expect("a valid case");
    let sizes = options.output_sizes(x.sizes(), weight.sizes()).expect("a valid case");
    let (residual, scale, shift) = (turned(&noise(&sizes)), noise(&[1, o, 1, 1]), noise(&[1, o, 1, 1]));
    let bias = noise(&[o]);
    let conv = |out: &mut TensorMut, after: Option<After<'_>>| {
        convolution(&x, &weight, Some(&bias), &options, packed.as_ref(), after, out).is_ok()
    };
    let relu: Pass<'_> = &|x, out| clamp(x, out, 0f32, None).is_ok();
    let gate: Pass<'_> = &|x, out| clamp_gate(x, out, 3f32, [0.0, 6.0], 1.0 / 6.0).is_ok();
    let silu: Pass<'_> = &|x, out| map(x, out, math::silu::<f32>).is_ok();
    let norm: Pass<'_> = &|x, out| zip3(x, &scale, &shift, out, |x: f32, a: f32, b: f32| x * a + b).is_ok();
    let sum: Pass<'_> = &|x, out| add(x, &residual, out).is_ok();
    let mut out = last(&sizes);
    let alone = least(|| assert!(conv(&mut out, None)));
    let mut line = format!("{:>34} {:>9.1}", format!("{c}x{h}x{h} {k}x{k} {o} groups {groups}"), micros(alone));
    for (name, passes) in [
        ("relu", &[relu][..]),
        ("hardswish", &[gate]),
        ("silu", &[silu]),
        ("add", &[sum]),
        ("norm, add, relu", &[norm, sum, relu]),
    ] {
        let mut outs: Vec<TensorMut> = (0..=passes.len()).map(|_| last(&sizes)).collect();
        let apart = least(|| {
            assert!(conv(&mut outs[0], None));
            for (i, pass) in passes.iter().enumerate() {
                let x = std::mem::replace(&mut outs[i], last(&[1, 1, 1, 1])).freeze();
                assert!(pass(&x, &mut outs[i + 1]));
                outs[i] = x.into_mut().expect("nobody else has it");
            }
        });
        let joined = least(|| {
            let layout = || out.layout().clone();
            let values: Vec<Tensor> = (0..=passes.len())
                .map(|_| Tensor::absent(DType::F32, SharedLayout::new(layout()).expect("small")).expect("small"))
                .collect();
            let kernels: Vec<_> = (0..passes.len())
                .map(|i| {
                    let (pass, x) = (passes[i], &values[i]);
                    move |outs: &mut [TensorMut]| pass(x, &mut outs[0])
                })
                .collect();
            let mut calls: Vec<Call<'_>> =
                (0..passes.len()).map(|i| Call { value: &values[i + 1], out: None, kernel: &kernels[i] }).collect();
            calls.last_mut().expect("a pass").out = Some(&mut outs[0]);
            assert!(join(&mut calls, Some(Producer { value: &values[0], out: None, kernel: &conv })));
        });
        let more = |time: Duration| micros(time) - micros(alone);
        line += &format!("   {name} +{:.1} +{:.1}", more(apart), more(joined));
    }
    println!("{line}");
}

fn micros(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e3
}
