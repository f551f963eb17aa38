//! Elementwise passes behind a convolution with a constant weight, over pixels: by themselves, and joined with it.
//!
//! ```sh
//! OXPORT_ISA=avx2 cargo bench -p oxport-tensor --bench joined
//! ```
//!
//! Microseconds, the least time of many runs on one thread. First, a 1×1 convolution and the kernel per channel behind
//! it: one after the other, and over a sliding window. Then, a convolution, what the passes add by themselves, and what
//! they add when each finished part of the convolution goes through them.

use oxport_tensor::conv::{ConvOptions, Form, PackedKernel, RowReader, RowSource, Sliding, With, convolution};
use oxport_tensor::gemm::After;
use oxport_tensor::join::{Call, Produced, Producer, join};
use oxport_tensor::{DType, Layout, SharedLayout, Tensor, TensorMut, add, clamp, clamp_gate, map, math, zip3};
use std::cell::RefCell;
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

/// `(input channels, plane, channels, kernel, stride)` of a 1×1 convolution and the kernel per channel that reads it.
const PAIRS: &[[i64; 5]] = &[
    [16, 112, 64, 3, 2],
    [16, 112, 96, 3, 2],
    [24, 56, 72, 3, 1],
    [24, 56, 72, 5, 2],
    [24, 56, 144, 3, 1],
    [24, 56, 144, 5, 2],
    [40, 28, 240, 5, 1],
    [40, 28, 240, 3, 2],
];

fn main() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("one thread");
    pool.install(|| PAIRS.iter().for_each(measure_pair));
    pool.install(|| SHAPES.iter().for_each(measure));
}

/// A convolution over pixels with a constant weight.
struct Conv<'a> {
    options: ConvOptions<'a>,
    weight: Tensor,
    bias: Tensor,
    packed: Option<PackedKernel>,
}

impl<'a> Conv<'a> {
    fn new(sizes: &[i64], options: ConvOptions<'a>) -> Self {
        let weight = noise(sizes);
        let packed = PackedKernel::new(&weight, Form::Pixels, &options).expect("a valid case");
        Conv { options, weight, bias: noise(&sizes[..1]), packed }
    }
    /// With an activation, as a joined pass.
    fn run(&self, x: &Tensor, pass: Pass<'_>, sliding: Sliding<'_>, out: &mut TensorMut) -> bool {
        let absent = || {
            let layout = SharedLayout::new(out.layout().clone()).expect("small");
            Tensor::absent(DType::F32, layout).expect("small")
        };
        let (own, result) = (absent(), absent());
        let kernel = |out: &mut TensorMut, after: Option<After<'_>>| {
            let with = With { packed: self.packed.as_ref(), after, sliding };
            match (convolution(x, &self.weight, Some(&self.bias), &self.options, with, out), sliding) {
                (Err(_), _) => Produced::Nothing,
                (_, Sliding::ReadBy(reader)) if reader.has_read() => Produced::Rows,
                _ => Produced::Whole,
            }
        };
        let pass = |outs: &mut [TensorMut]| pass(&own, &mut outs[0]);
        let mut calls = [Call { value: &result, out: Some(out), kernel: &pass }];
        join(&mut calls, Some(Producer { value: &own, out: None, kernel: &kernel }))
    }
}

/// Both after one another, and over a sliding window.
fn measure_pair(&[c, h, o, k, s]: &[i64; 5]) {
    let expand = Conv::new(&[o, c, 1, 1], ConvOptions::default());
    let (stride, padding) = ([s], [k / 2]);
    let each = Conv::new(
        &[o, 1, k, k],
        ConvOptions { stride: &stride, padding: &padding, groups: o, ..ConvOptions::default() },
    );
    let x = turned(&noise(&[1, c, h, h]));
    let sizes = each.options.output_sizes(&[1, o, h, h], each.weight.sizes()).expect("a valid case");
    let mut line = format!("{:>34}", format!("{c}x{h}x{h} 1x1 {o}, {k}x{k} /{s}"));
    let relu: Pass<'_> = &|x, out| clamp(x, out, 0f32, None).is_ok();
    let gate: Pass<'_> = &|x, out| clamp_gate(x, out, 3f32, [0.0, 6.0], 1.0 / 6.0).is_ok();
    let silu: Pass<'_> = &|x, out| map(x, out, math::silu::<f32>).is_ok();
    for (name, pass) in [("relu", relu), ("hardswish", gate), ("silu", silu)] {
        let (mut between, mut out, mut slid) = (last(&[1, o, h, h]), last(&sizes), last(&sizes));
        let mut first = Duration::MAX;
        let apart = least(|| {
            let start = Instant::now();
            assert!(expand.run(&x, pass, Sliding::None, &mut between));
            first = first.min(start.elapsed());
            let made = std::mem::replace(&mut between, last(&[1, 1, 1, 1])).freeze();
            assert!(each.run(&made, pass, Sliding::None, &mut out));
            between = made.into_mut().expect("nobody else has it");
        });
        let together = least(|| {
            let made = SharedLayout::new(between.layout().clone()).expect("small");
            let made = Tensor::absent(DType::F32, made).expect("small");
            let slid = RefCell::new(&mut slid);
            let read = |source: &RowSource<'_>| each.run(&made, pass, Sliding::From(source), &mut slid.borrow_mut());
            let reader = RowReader::new(&read);
            assert!(expand.run(&x, pass, Sliding::ReadBy(&reader), &mut between) && reader.has_read());
        });
        assert_eq!(out.freeze().to_vec::<f32>().expect("small"), slid.freeze().to_vec::<f32>().expect("small"));
        line += &format!("   {name} {:.1} + {:.1} → {:.1}", micros(first), micros(apart - first), micros(together));
    }
    println!("{line}");
}

fn noise(sizes: &[i64]) -> Tensor {
    let n = sizes.iter().product::<i64>();
    Tensor::from_vec(sizes, (0..n).map(|i| (i * 7919 % 1009) as f32 / 331.0 - 1.5).collect()).expect("a valid case")
}

fn last(sizes: &[i64]) -> TensorMut {
    TensorMut::empty(DType::F32, Layout::channels_last(sizes).expect("an image")).expect("memory")
}

fn turned(x: &Tensor) -> Tensor {
    let mut out = last(x.sizes());
    oxport_tensor::copy(x, &mut out).expect("the same sizes");
    out.freeze()
}

fn measure(&[c, h, o, k, s, groups]: &[i64; 6]) {
    let (x, weight) = (turned(&noise(&[1, c, h, h])), noise(&[o, c / groups, k, k]));
    let options = ConvOptions { stride: &[s], padding: &[k / 2], groups, ..Default::default() };
    let packed = PackedKernel::new(&weight, Form::Pixels, &options).expect("a valid case");
    let sizes = options.output_sizes(x.sizes(), weight.sizes()).expect("a valid case");
    let (residual, scale, shift) = (turned(&noise(&sizes)), noise(&[1, o, 1, 1]), noise(&[1, o, 1, 1]));
    let bias = noise(&[o]);
    let conv = |out: &mut TensorMut, after: Option<After<'_>>| {
        let with = With { packed: packed.as_ref(), after, ..With::default() };
        convolution(&x, &weight, Some(&bias), &options, with, out).map_or(Produced::Nothing, |()| Produced::Whole)
    };
    let relu: Pass<'_> = &|x, out| clamp(x, out, 0f32, None).is_ok();
    let gate: Pass<'_> = &|x, out| clamp_gate(x, out, 3f32, [0.0, 6.0], 1.0 / 6.0).is_ok();
    let silu: Pass<'_> = &|x, out| map(x, out, math::silu::<f32>).is_ok();
    let norm: Pass<'_> = &|x, out| zip3(x, &scale, &shift, out, |x: f32, a: f32, b: f32| x * a + b).is_ok();
    let sum: Pass<'_> = &|x, out| add(x, &residual, out).is_ok();
    let mut out = last(&sizes);
    let alone = least(|| assert!(conv(&mut out, None) == Produced::Whole));
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
            assert!(conv(&mut outs[0], None) == Produced::Whole);
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
