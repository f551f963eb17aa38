//! Times products, convolutions and friends: `cargo run --release -p oxport-tensor --example timing -- THREADS
//! [FILTER]`. The lines carry the names that a script over another framework would print, so that tables can be put
//! side by side.

use oxport_tensor::conv::{Convolution, Form, Geometry, PackedWeight, convolve};
use oxport_tensor::gemm::{Batch, Mat, MatMut, Multiply, Packed, Product, Rhs, Start, gemm};
use std::time::{Duration, Instant};

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let threads = args.get(1).and_then(|a| a.parse().ok()).unwrap_or(1);
    let filter = args.get(2).cloned().unwrap_or_default();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("law: a pool starts");
    pool.install(|| {
        let bench = Bench { filter };
        products(&bench);
        convolutions(&bench);
    });
}

struct Bench {
    filter: String,
}

impl Bench {
    /// Prints the fastest of many runs (others may share the machine), and the rate where the work is known.
    fn run(&self, name: &str, flops: f64, mut f: impl FnMut()) {
        if !name.contains(&self.filter) {
            return;
        }
        let (mut times, begin) = (Vec::new(), Instant::now());
        f();
        while begin.elapsed() < Duration::from_millis(500) || times.len() < 5 {
            let start = Instant::now();
            f();
            times.push(start.elapsed().as_secs_f64());
        }
        times.sort_by(f64::total_cmp);
        let t = times[0];
        println!("{name:44} {:9.3} ms {:7.1} GF", t * 1e3, flops / t / 1e9);
    }
}

fn noise(n: usize) -> Vec<f32> {
    (0..n).map(|i| ((i * 7919 + 13) % 1009) as f32 / 505.0 - 1.0).collect()
}

fn products(bench: &Bench) {
    for (m, k, n) in [
        (197, 768, 768),
        (128, 768, 3072),
        (128, 3072, 768),
        (197, 768, 2304),
        (3136, 576, 64),
        (784, 1152, 128),
        (512, 512, 512),
        (1024, 1024, 1024),
        (64, 64, 64),
        (16, 768, 768),
        (1, 4096, 4096),
        (4096, 4096, 1),
    ] {
        let (a, b, bias) = (noise(m * k), noise(k * n), noise(n));
        let mut c = vec![0.0; m * n];
        let flops = 2.0 * (m * n * k) as f64;
        let mut p = Product::new(m, n, k, Mat::new(&a, k, 1), Mat::new(&b, 1, k));
        p.epilogue.start = Start::PerColumn(&bias);
        let mut run = |name: &str, p: &Product<'_, f32>| {
            bench.run(&format!("mm {m}x{k}x{n} {name}"), flops, || {
                gemm(p, MatMut { data: &mut c, rows: n, cols: 1 });
            });
        };
        run("linear(BT)", &p);
        let packed = [Packed::rhs(k, n, Mat::new(&b, 1, k))];
        p.b = Rhs::Packed(&packed);
        run("linear(packed)", &p);
        run("NN", &Product::new(m, n, k, Mat::new(&a, k, 1), Mat::new(&b, n, 1)));
    }
    let (q, k) = (noise(12 * 128 * 128), noise(12 * 128 * 64));
    let mut c = vec![0.0; 12 * 128 * 128];
    for (name, n, depth, bs) in [("NT", 128, 64, (1, 64)), ("NN", 64, 128, (64, 1))] {
        let mut p = Product::new(128, n, depth, Mat::new(&q, depth, 1), Mat::new(&k, bs.0, bs.1));
        let strides = [[128 * depth], [128 * 64], [128 * n]];
        p.batch = Batch { sizes: &[12], a: &strides[0], b: &strides[1], c: &strides[2], start: &[] };
        bench.run(&format!("bmm 12x128x{depth}x{n} {name}"), 2.0 * (12 * 128 * n * depth) as f64, || {
            gemm(&p, MatMut { data: &mut c, rows: n, cols: 1 });
        });
    }
    typed::<f64>(bench, "f64", [197, 768, 768], |x| x.into());
    typed::<half::bf16>(bench, "bf16", [197, 768, 768], half::bf16::from_f32);
    typed::<half::f16>(bench, "f16", [197, 768, 768], half::f16::from_f32);
    typed::<half::bf16>(bench, "bf16", [1, 4096, 4096], half::bf16::from_f32);
    typed::<num_complex::Complex<f32>>(bench, "c64", [128, 128, 128], |x| num_complex::Complex::new(x, -x));
    typed::<i64>(bench, "i64", [128, 128, 128], |x| (x * 9.0) as i64);
}

fn typed<T: Multiply>(bench: &Bench, name: &str, [m, k, n]: [usize; 3], of: impl Fn(f32) -> T) {
    let make = |n: usize| noise(n).into_iter().map(&of).collect::<Vec<T>>();
    let (a, b, mut c) = (make(m * k), make(k * n), make(m * n));
    let p = Product::new(m, n, k, Mat::new(&a, k, 1), Mat::new(&b, 1, k));
    bench.run(&format!("{name} {m}x{k}x{n} (BT)"), 2.0 * (m * n * k) as f64, || {
        gemm(&p, MatMut { data: &mut c, rows: n, cols: 1 });
    });
}

fn convolutions(bench: &Bench) {
    for [c, h, o, k, s, p, g] in [
        [3, 224, 64, 7, 2, 3, 1],
        [64, 56, 64, 3, 1, 1, 1],
        [64, 56, 128, 3, 2, 1, 1],
        [64, 56, 128, 1, 2, 0, 1],
        [128, 28, 128, 3, 1, 1, 1],
        [128, 28, 256, 3, 2, 1, 1],
        [256, 14, 256, 3, 1, 1, 1],
        [256, 14, 512, 3, 2, 1, 1],
        [512, 7, 512, 3, 1, 1, 1],
        [96, 112, 96, 3, 2, 1, 96],
        [144, 56, 144, 3, 1, 1, 144],
        [576, 14, 576, 3, 1, 1, 576],
        [960, 7, 960, 3, 1, 1, 960],
        [16, 112, 96, 1, 1, 0, 1],
        [320, 7, 1280, 1, 1, 0, 1],
        [96, 56, 96, 7, 1, 3, 96],
        [64, 56, 64, 3, 1, 1, 4],
    ] {
        one_convolution(bench, "conv", [c, h, o, k, s, p, g], false);
    }
    one_convolution(bench, "convT", [64, 28, 32, 2, 2, 0, 1], true);
}

fn one_convolution(bench: &Bench, name: &str, [c, h, o, k, s, p, g]: [usize; 7], transposed: bool) {
    let geometry = Geometry {
        batch: 1,
        groups: g,
        in_channels: c,
        out_channels: o,
        input: [1, h, h],
        kernel: [1, k, k],
        stride: [1, s, s],
        padding: [0, p, p],
        dilation: [1; 3],
        transposed,
        output_padding: [0; 3],
    };
    let [_, oh, ow] = geometry.output().expect("law: a valid case");
    let (x, w, bias) = (noise(c * h * h), noise(geometry.weight().iter().product()), noise(o));
    let mut y = vec![0.0; o * oh * ow];
    let packed = PackedWeight::new(Form::Planes, &geometry, &w);
    for (kind, packed) in [("plain", None), ("packed", packed.as_ref())] {
        let conv = Convolution {
            geometry,
            x: &x,
            x_strides: [c * h * h, h * h, h, h, 1],
            weight: &w,
            packed,
            bias: Some(&bias),
            after: None,
        };
        let flops = 2.0 * (oh * ow * o * c / g * k * k) as f64;
        bench.run(&format!("{name} {c}x{h} -> {o} k{k} s{s} g{g} {kind}"), flops, || {
            convolve(&conv, &mut y, [o * oh * ow, oh * ow, oh * ow, ow, 1]);
        });
    }
}
