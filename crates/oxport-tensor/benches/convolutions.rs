//! Convolutions with constant weights, GFLOP/s of the direct sum: over planes (contiguous), over pixels
//! (channels-last), and by Winograd's algorithm, where it is for them.
//!
//! ```sh
//! OXPORT_ISA=avx2 cargo bench -p oxport-tensor --bench convolutions
//! cargo bench -p oxport-tensor --bench convolutions -- 16x112     # those whose line has this
//! ```
//!
//! The least time of many runs on one thread.

use oxport_tensor::conv::{Convolution, Form, Geometry, PackedWeight, Winograd, convolve};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// `(input channels, plane, output channels, kernel, stride, groups)`: those of ResNet-50, then others.
const SHAPES: &[[usize; 6]] = &[
    [3, 224, 64, 7, 2, 1],
    [64, 56, 64, 1, 1, 1],
    [64, 56, 64, 3, 1, 1],
    [64, 56, 256, 1, 1, 1],
    [256, 56, 64, 1, 1, 1],
    [128, 56, 128, 3, 2, 1],
    [128, 28, 128, 3, 1, 1],
    [128, 28, 512, 1, 1, 1],
    [256, 56, 512, 1, 2, 1],
    [256, 14, 256, 3, 1, 1],
    [256, 14, 1024, 1, 1, 1],
    [1024, 14, 256, 1, 1, 1],
    [512, 7, 512, 3, 1, 1],
    [512, 7, 2048, 1, 1, 1],
    [2048, 7, 512, 1, 1, 1],
    [3, 224, 32, 3, 2, 1],
    [3, 224, 16, 3, 2, 1],
    [16, 112, 16, 1, 1, 1],
    [16, 112, 48, 1, 1, 1],
    [16, 112, 64, 1, 1, 1],
    [32, 112, 16, 1, 1, 1],
    [144, 28, 40, 1, 1, 1],
    [16, 28, 64, 1, 1, 1],
    [64, 56, 24, 1, 1, 1],
    [24, 56, 72, 1, 1, 1],
    [72, 56, 24, 1, 1, 1],
    [40, 28, 120, 1, 1, 1],
    [120, 28, 40, 1, 1, 1],
    [240, 14, 80, 1, 1, 1],
    [80, 14, 480, 1, 1, 1],
    [112, 14, 672, 1, 1, 1],
    [672, 14, 112, 1, 1, 1],
    [160, 7, 960, 1, 1, 1],
    [960, 7, 160, 1, 1, 1],
    [128, 56, 128, 3, 1, 32],
    [128, 28, 128, 3, 1, 32],
    [256, 28, 256, 3, 2, 32],
    [256, 14, 256, 3, 1, 32],
    [512, 14, 512, 3, 1, 32],
    [64, 28, 64, 3, 1, 32],
    [1024, 7, 1024, 3, 1, 32],
    [160, 14, 160, 3, 1, 10],
    [400, 7, 400, 3, 1, 25],
    [440, 7, 440, 3, 1, 55],
    [192, 28, 192, 3, 1, 8],
    [256, 14, 256, 3, 1, 8],
    [16, 112, 16, 3, 1, 16],
    [64, 112, 64, 3, 2, 64],
    [72, 56, 72, 3, 1, 72],
    [72, 56, 72, 5, 2, 72],
    [120, 28, 120, 5, 1, 120],
    [240, 14, 240, 3, 1, 240],
    [672, 14, 672, 5, 1, 672],
    [96, 56, 96, 7, 1, 96],
];

/// `(input channels, frames, plane, output channels)` of volumes, with kernels of 3×3×3: those of a ResNet of videos.
const VOLUMES: &[[usize; 4]] = &[[64, 8, 56, 64], [128, 4, 28, 128], [256, 2, 14, 256], [512, 1, 7, 512]];

/// `(input channels, height, width, output channels, kernel, stride)` of transposed convolutions: those of a U-Net, of
/// a network that draws images, and of one that makes sound of spectrograms.
const TRANSPOSED: &[[usize; 6]] = &[
    [128, 32, 32, 64, 2, 2],
    [64, 64, 64, 32, 2, 2],
    [512, 4, 4, 256, 4, 2],
    [128, 16, 16, 64, 4, 2],
    [512, 1, 50, 256, 16, 8],
    [256, 1, 400, 128, 16, 8],
    [128, 1, 3200, 64, 4, 2],
];

fn cases() -> impl Iterator<Item = (String, Geometry)> {
    let forward = |[frames, depth]: [usize; 2], [c, h, o, k, s, groups]: [usize; 6]| {
        let geometry = Geometry {
            batch: 1,
            groups,
            in_channels: c,
            out_channels: o,
            input: [frames, h, h],
            kernel: [depth, k, k],
            stride: [1, s, s],
            padding: [depth / 2, k / 2, k / 2],
            dilation: [1; 3],
            transposed: false,
            output_padding: [0; 3],
        };
        let frames = if depth > 1 { format!("{frames}x") } else { String::new() };
        (format!("{c}x{frames}{h}x{h} {k}x{k}/{s} {o} groups {groups}"), geometry)
    };
    let transposed = move |&[c, h, w, o, k, s]: &[usize; 6]| {
        let of = |n: usize| if h > 1 { n } else { 1 };
        let (padding, (_, plain)) = ((k - s) / 2, forward([1, 1], [c, h, o, k, s, 1]));
        let geometry = Geometry {
            input: [1, h, w],
            kernel: [1, of(k), k],
            stride: [1, of(s), s],
            padding: [0, if h > 1 { padding } else { 0 }, padding],
            transposed: true,
            ..plain
        };
        (format!("{c}x{h}x{w} {k}x{k}/{s} {o} transposed"), geometry)
    };
    let planes = SHAPES.iter().map(move |&shape| forward([1, 1], shape));
    let volumes = VOLUMES.iter().map(move |&[c, frames, h, o]| forward([frames, 3], [c, h, o, 3, 1, 1]));
    planes.chain(volumes).chain(TRANSPOSED.iter().map(transposed))
}

fn least(mut f: impl FnMut()) -> Duration {
    let (begin, mut best) = (Instant::now(), Duration::MAX);
    let mut runs = 0;
    while runs < 5 || (begin.elapsed() < Duration::from_millis(250) && runs < 20_000) {
        let start = Instant::now();
        f();
        best = best.min(start.elapsed());
        runs += 1;
    }
    best
}

fn main() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("one thread");
    let wanted = std::env::args().skip(1).find(|arg| !arg.starts_with("--")).unwrap_or_default();
    pool.install(|| {
        println!("{:>30} {:>20} {:>20} {:>20}", "", "planes", "pixels", "Winograd");
        for (name, geometry) in cases() {
            let Geometry { groups, in_channels: c, out_channels: o, input: [d, h, w], kernel, transposed, .. } =
                geometry;
            let [od, oh, ow] = geometry.output().expect("a valid case");
            let noise = |n: usize| (0..n).map(|i| (i * 7919 % 1009) as f32 / 331.0 - 1.5).collect::<Vec<f32>>();
            // Tensors of a plan begin at cache lines.
            let aligned = |n: usize| {
                let data = noise(n + 16);
                let at = data.as_ptr().align_offset(64);
                (data, at)
            };
            let ((x, x_at), (mut y, y_at)) = (aligned(c * d * h * w), aligned(o * od * oh * ow));
            let (weight, bias) = (noise(geometry.weight().iter().product()), noise(o));
            let mut line = format!("{name:>30}");
            if !line.contains(&wanted) {
                continue;
            }
            for form in [Form::Planes, Form::Pixels] {
                let strides = |c: usize, [d, h, w]: [usize; 3]| match form {
                    Form::Planes => [c * d * h * w, d * h * w, h * w, w, 1],
                    Form::Pixels => [c * d * h * w, 1, h * w * c, w * c, c],
                };
                // Images that a user gives are planes.
                let x_strides = match c {
                    ..=4 => [c * h * w, h * w, h * w, w, 1],
                    _ => strides(c, [d, h, w]),
                };
                let packed = PackedWeight::new(form, &geometry, &weight);
                let conv = Convolution {
                    geometry,
                    x: &x[x_at..],
                    x_strides,
                    weight: &weight,
                    packed: packed.as_ref(),
                    bias: Some(&bias),
                    after: None,
                };
                let ys = strides(o, [od, oh, ow]);
                let mut measure = |run: &mut dyn FnMut(&mut [f32])| {
                    let time = least(|| run(black_box(&mut y[y_at..]))).as_nanos() as f64;
                    let pixels = if transposed { d * h * w } else { od * oh * ow };
                    let flops = (2 * pixels * o * (c / groups) * kernel.iter().product::<usize>()) as f64;
                    line += &format!(" {:>10.1} us {:>6.1}", time / 1e3, flops / time);
                };
                measure(&mut |y| convolve(&conv, y, ys));
                if form == Form::Pixels && Winograd::fits(&geometry) {
                    let made = Winograd::new(&weight, [o, c, kernel[0]]);
                    measure(&mut |y| made.convolve(&conv, y, ys));
                }
            }
            println!("{line}");
        }
    });
}
