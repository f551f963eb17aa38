//! Products with constant weights: GFLOP/s, and up to four rows the GB/s at which the weight is read (as if of f32).
//!
//! ```sh
//! OXPORT_ISA=avx2 cargo bench -p oxport-tensor --bench products
//! ```
//!
//! The least time of many runs on one thread: on a busy machine the only figure that says something.

use half::bf16;
use oxport_tensor::gemm::{Mat, MatMut, Multiply, Packed, Product, Rhs, gemm};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// `(m, n, k)`
const SHAPES: &[(usize, usize, usize)] = &[
    (1, 256, 256),
    (1, 1024, 1024),
    (1, 768, 3072),
    (1, 8192, 4096),
    (2, 1024, 1024),
    (4, 768, 768),
    (4, 4096, 4096),
    (8, 768, 768),
    (16, 256, 256),
    (16, 768, 768),
    (28, 768, 768),
    (49, 512, 2048),
    (64, 768, 768),
    (128, 3072, 768),
    (197, 768, 3072),
    (1500, 384, 1536),
    (1500, 1536, 384),
];

/// Bytes of weights that take turns where they come from far.
const FAR: usize = 256 << 20;

fn least(mut f: impl FnMut()) -> Duration {
    let (begin, mut best) = (Instant::now(), Duration::MAX);
    let mut runs = 0;
    while runs < 5 || (begin.elapsed() < Duration::from_millis(400) && runs < 20_000) {
        let start = Instant::now();
        f();
        best = best.min(start.elapsed());
        runs += 1;
    }
    best
}

fn main() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("one thread");
    pool.install(|| {
        let titles = ["packed", "packed, far", "weight [n, k]", "weight [k, n]", "packed bf16"];
        println!("{:>16} {}", "m x n x k", titles.map(|title| format!("{title:>24}")).join(" "));
        for &(m, n, k) in SHAPES {
            let noise = |n: usize| (0..n).map(|i| (i * 7919 % 1009) as f32 / 331.0 - 1.5).collect::<Vec<f32>>();
            let (a, b, mut c) = (noise(m * k), noise(k * n), vec![0.0; m * n]);
            let packed = [Packed::rhs(k, n, Mat::new(&b[..], 1, k))];
            // As in a network: what was read last is the weight of another product.
            let copies = (FAR / (4 * n * k)).clamp(2, 512);
            let others: Vec<_> = (0..copies).map(|_| [Packed::rhs(k, n, Mat::new(&b[..], 1, k))]).collect();
            let halves: Vec<bf16> = b.iter().map(|&x| bf16::from_f32(x)).collect();
            let narrow = [bf16::packed_right(k, n, Mat::new(&halves[..], 1, k))];
            let [by_columns, by_rows] = [(1, k), (n, 1)].map(|(rows, cols)| Rhs::Strided(Mat::new(&b, rows, cols)));
            let mut line = format!("{:>16}", format!("{m}x{n}x{k}"));
            let far = others.iter().map(|packed| Rhs::Packed(packed)).collect();
            for rights in [vec![Rhs::Packed(&packed)], far, vec![by_columns], vec![by_rows], vec![Rhs::Packed(&narrow)]]
            {
                let product = |b| {
                    let product = Product::new(m, n, k, Mat::new(&a, k, 1), Mat::new(&[][..], 0, 0));
                    Product { b, ..product }
                };
                let products: Vec<_> = rights.into_iter().map(product).collect();
                let mut turn = products.iter().cycle();
                let time = least(|| {
                    let product = turn.next().expect("law: there is a right operand");
                    gemm(product, MatMut { data: black_box(&mut c), rows: n, cols: 1 })
                });
                let rate = |x: usize| x as f64 / time.as_nanos() as f64;
                line += &format!(
                    " {:>11.1} us {:>8.1}",
                    time.as_nanos() as f64 / 1e3,
                    rate(if m > 4 { 2 * m * n * k } else { 4 * n * k })
                );
                line += if m > 4 { "G" } else { "B" };
            }
            println!("{line}");
        }
    });
}
