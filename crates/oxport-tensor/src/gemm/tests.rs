//! Every matrix-product algorithm against naive loops, and bitwise reproducibility.

use super::*;
use half::{bf16, f16};
use num_complex::Complex;
use std::panic::AssertUnwindSafe;

/// Small integers as elements: exact in every type, so results compare exactly.
trait Sample: Multiply + PartialEq + std::fmt::Debug {
    fn of(x: i64) -> Self;
}
macro_rules! sample { ($($t:ty, |$x:ident| $e:expr;)*) => { $(impl Sample for $t { fn of($x: i64) -> Self { $e } })* } }
sample! {
    f32, |x| x as f32; f64, |x| x as f64; i64, |x| x; i32, |x| x as i32; i8, |x| x as i8; u8, |x| x as u8;
    f16, |x| f16::from_f32(x as f32); bf16, |x| bf16::from_f32(x as f32);
    Complex<f32>, |x| Complex::new(x as f32, -x as f32);
}

/// A fixed stream of numbers in -3..=3.
fn numbers<T: Sample>(n: usize, seed: u64) -> Vec<T> {
    let mut s = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    (0..n)
        .map(|_| {
            s = s.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            T::of((s >> 33) as i64 % 7 - 3)
        })
        .collect()
}

#[derive(Clone, Copy, Debug)]
struct Case {
    m: usize,
    n: usize,
    k: usize,
    a_t: bool,
    b_t: bool,
    c_t: bool,
    start: usize,
    batch: usize,
}

fn strides(t: bool, rows: usize, cols: usize) -> (usize, usize) {
    if t { (1, rows) } else { (cols, 1) }
}

fn check<T: Sample>(case: Case) {
    let Case { m, n, k, a_t, b_t, c_t, start, batch } = case;
    let (a, b) = (numbers::<T>(batch * m * k, 1), numbers::<T>(batch * k * n, 2));
    let bias = numbers::<T>(m.max(n), 3);
    let before = numbers::<T>(batch * m * n, 4);
    let ((ar, ac), (br, bc), (cr, cc)) = (strides(a_t, m, k), strides(b_t, k, n), strides(c_t, m, n));
    let two = T::of(2).widen_one();
    let mut p = Product::new(m, n, k, Mat::new(&a, ar, ac), Mat::new(&b, br, bc));
    let (sa, sb, sc) = ([m * k], [k * n], [m * n]);
    let sizes = [batch];
    p.batch = Batch { sizes: &sizes, a: &sa, b: &sb, c: &sc, start: &[] };
    p.alpha = two;
    p.epilogue.start = match start {
        0 => Start::Zero,
        1 => Start::Scaled(two),
        2 => Start::PerRow(&bias),
        _ => Start::PerColumn(&bias),
    };
    let mut expected = before.clone();
    for x in 0..batch {
        for i in 0..m {
            for j in 0..n {
                let mut s = T::Acc::ZERO;
                for q in 0..k {
                    let (u, v) = (a[x * m * k + i * ar + q * ac], b[x * k * n + q * br + j * bc]);
                    s = u.widen_one().times(v.widen_one()).plus(s);
                }
                let y = &mut expected[x * m * n + i * cr + j * cc];
                let from = match start {
                    0 => T::Acc::ZERO,
                    1 => two.times(y.widen_one()),
                    2 => bias[i].widen_one(),
                    _ => bias[j].widen_one(),
                };
                T::narrow(&[from.plus(two.times(s))], std::slice::from_mut(y));
            }
        }
    }
    for &threads in THREADS {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("law: a pool starts");
        let mut c = before.clone();
        pool.install(|| gemm(&p, MatMut { data: &mut c, rows: cr, cols: cc }));
        assert!(c == expected, "{} {case:?} threads {threads}", std::any::type_name::<T>());
    }
}

/// `(m, n, k)`: narrow by dot products and by sums of rows, a tile, several tiles, an empty k, a column. For Miri as
/// few numbers as each of these takes.
const SIZES: &[(usize, usize, usize)] = if cfg!(miri) {
    &[(1, 32, 33), (1, 1, 1), (3, 7, 5), (5, 17, 9), (5, 7, 0), (9, 1, 33)]
} else {
    &[(1, 1, 1), (1, 70, 100), (3, 37, 45), (14, 32, 16), (15, 33, 17), (29, 65, 300), (5, 7, 0), (70, 1, 40)]
};
const THREADS: &[usize] = if cfg!(miri) { &[3] } else { &[1, 3] };

fn cases() -> Vec<Case> {
    let mut out = Vec::new();
    for (i, &(m, n, k)) in SIZES.iter().enumerate() {
        // Miri sees some combinations of layouts with each size, and all of them among the sizes.
        for bits in (0..8).filter(|bits| !cfg!(miri) || bits % 3 == i % 3) {
            let (a_t, b_t, c_t) = (bits & 1 > 0, bits & 2 > 0, bits & 4 > 0);
            out.push(Case { m, n, k, a_t, b_t, c_t, start: (i + bits) % 4, batch: 1 + bits % 3 });
        }
    }
    out
}

#[test]
fn every_algorithm_equals_naive_loops() {
    for case in cases() {
        check::<f32>(case);
        check::<f64>(case);
        check::<f16>(case);
        check::<bf16>(case);
        check::<i32>(case);
        check::<i64>(case);
        check::<i8>(case);
        check::<u8>(case);
        check::<Complex<f32>>(case);
    }
    let wide = Case { m: 130, n: 270, k: 800, a_t: false, b_t: true, c_t: false, start: 3, batch: 1 };
    let high = Case { m: 300, n: 70, k: 600, a_t: true, b_t: false, c_t: true, start: 2, batch: 1 };
    if !cfg!(miri) {
        check::<f32>(wide);
        return check::<f64>(high);
    }
    // Two slices of k, and planes of complex parts.
    check::<f64>(Case { m: 5, n: 3, k: 270, ..high });
    check::<Complex<f32>>(Case { m: 8, n: 16, k: 32, ..wide });
}

/// Tiles of every number of rows, and of half a register of columns to two, whole ones and parts.
#[test]
fn every_tile_equals_naive_loops() {
    let rows = if cfg!(miri) { 4..5 } else { 1..16 };
    for m in rows {
        for (i, n) in [3, 4, 7, 8, 11, 12, 14, 19, 20, 24, 29].into_iter().enumerate() {
            let case = Case { m, n, k: 9, a_t: false, b_t: true, c_t: false, start: i % 4, batch: 1 };
            check::<f32>(case);
            check::<f64>(case);
        }
    }
}

#[test]
fn threads_do_not_change_bits() {
    let noise = |n: usize| (0..n).map(|i| ((i * 7919 + 13) % 1009) as f32 / 331.0 - 1.5).collect::<Vec<_>>();
    // For Miri just enough work for several threads, on few numbers.
    let (sizes, more): (&[_], &[usize]) = if cfg!(miri) {
        (&[(51, 51, 51)], &[3])
    } else {
        (&[(197, 300, 500), (1, 900, 700), (2, 800, 900), (40, 50, 3000)], &[2, 3, 8])
    };
    for &(m, n, k) in sizes {
        let (a, b) = (noise(m * k), noise(n * k));
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("law: a pool starts");
            let mut c = vec![0.0; m * n];
            let p = Product::new(m, n, k, Mat::new(&a, k, 1), Mat::new(&b, 1, k));
            pool.install(|| gemm(&p, MatMut { data: &mut c, rows: n, cols: 1 }));
            c
        };
        let one = run(1);
        assert!(more.iter().all(|&t| run(t) == one), "{m}x{n}x{k}");
    }
}

/// Calls `f` for finished elements.
pub(crate) fn each<T>(part: Finished, f: impl Fn(&mut T)) {
    for i in 0..part.rows * part.cols {
        let at = part.at + i / part.cols * part.stride + i % part.cols;
        // SAFETY: finished elements belong to whom they are given to.
        f(unsafe { &mut *part.start.cast::<T>().add(at) });
    }
}

#[test]
fn packed_operands_and_the_hook() {
    let (m, n, k) = if cfg!(miri) { (6, 19, 390) } else { (31, 77, 401) };
    let (a, b) = (numbers::<f32>(m * k, 5), numbers::<f32>(k * n, 6));
    let mut plain = vec![0.0; m * n];
    let mut p = Product::new(m, n, k, Mat::new(&a, k, 1), Mat::new(&b, n, 1));
    gemm(&p, MatMut { data: &mut plain, rows: n, cols: 1 });
    let (pa, pb) = ([Packed::lhs(m, k, Mat::new(&a, k, 1))], Packed::rhs(k, n, Mat::new(&b, n, 1)));
    p.a = Lhs::Packed(&pa);
    p.b = Rhs::Packed(std::slice::from_ref(&pb));
    let relu = |part| each::<f32>(part, |y| *y = y.max(0.0) + 1.0);
    p.epilogue.after = Some(After { f: &relu, writes: false, tail: None });
    let mut packed = vec![0.0; m * n];
    gemm(&p, MatMut { data: &mut packed, rows: n, cols: 1 });
    assert!(plain.iter().zip(&packed).all(|(x, y)| x.max(0.0) + 1.0 == *y));
}

/// Panels of halves give the bits of the matrix that they were made of: a row by itself, tiles, several blocks of rows.
#[test]
fn narrow_panels_give_the_same_bits() {
    fn check<S: Sample>((m, n, k): (usize, usize, usize)) {
        let noise = |n: usize, seed: usize| -> Vec<S> {
            (0..n).map(|i| S::of((i * 7919 + seed) as i64 % 1009 - 500)).collect()
        };
        let (a, b) = (noise(m * k, 13), noise(k * n, 29));
        let b = Mat::new(&b[..], 1, k);
        let packed = [S::packed_right(k, n, b)];
        let run = |right: Rhs<'_, S>, threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("law: a pool starts");
            let mut c = vec![S::of(0); m * n];
            let mut p = Product::new(m, n, k, Mat::new(&a, k, 1), b);
            p.b = right;
            pool.install(|| gemm(&p, MatMut { data: &mut c, rows: n, cols: 1 }));
            c
        };
        let expected = run(Rhs::Strided(b), 1);
        for threads in [1, 3] {
            assert!(run(Rhs::Packed(&packed), threads) == expected, "{m}x{n}x{k}, {threads} threads");
        }
    }
    let sizes: &[_] = if cfg!(miri) {
        &[(1, 70, 9), (5, 19, 9)]
    } else {
        &[(1, 300, 401), (1, 33, 7), (3, 70, 401), (16, 24, 40), (31, 77, 800), (300, 40, 50), (20, 300, 390)]
    };
    for &size in sizes {
        check::<bf16>(size);
        check::<f16>(size);
    }
}

/// The chain of multiply-adds that every algorithm is, for `start + alpha·A·B`.
fn chain(a: impl Fn(usize) -> f32, b: impl Fn(usize) -> f32, k: usize, start: Option<f32>, alpha: f32) -> f32 {
    let fused = cfg!(not(miri)) && crate::simd::level() != crate::simd::Level::Base;
    let mut y = start;
    for (k0, kc) in pack::slices::<f32>(k) {
        let step = |s: f32, p: usize| if fused { a(p).mul_add(b(p), s) } else { a(p).mul_then_add(b(p), s) };
        let sum = alpha * (k0..k0 + kc).fold(0.0, step);
        y = Some(y.map_or(sum, |y| y + sum));
    }
    y.unwrap_or(0.0)
}

/// The rows of a matrix in runs of `len` numbers, the last of which are zeros that are not in the data. Without zeros,
/// rows of a line are even.
struct Cut<'a> {
    data: &'a [f32],
    stored: usize,
    count: usize,
    len: usize,
    line: usize,
    offsets: Vec<usize>,
}

impl<'a> Cut<'a> {
    fn new(data: &'a [f32], [stored, count, len]: [usize; 3], line: usize) -> Self {
        Cut { data, stored, count, len, line, offsets: (0..count).map(|r| r * len).collect() }
    }
}

impl Runs<f32> for Cut<'_> {
    fn data(&self) -> &[f32] {
        self.data
    }
    fn count(&self) -> usize {
        self.count
    }
    fn run_len(&self) -> usize {
        self.len
    }
    fn offsets(&self) -> &[usize] {
        &self.offsets
    }
    fn even(&self, _: usize, rows: std::ops::Range<usize>) -> Option<[usize; 2]> {
        let row = self.count * self.len;
        let is_line = rows.start / self.line == rows.end.saturating_sub(1) / self.line;
        (self.stored == self.count && is_line).then_some([rows.start * row, row])
    }
    fn places(&self, _: usize, rows: std::ops::Range<usize>, out: &mut [usize]) {
        for (row, out) in rows.zip(out.chunks_exact_mut(self.count)) {
            for (r, out) in out.iter_mut().enumerate() {
                *out = if r < self.stored { (row * self.stored + r) * self.len } else { ZEROS };
            }
        }
    }
}

/// A product of rows in runs is that of the matrix that they make up.
#[test]
fn runs_are_a_matrix() {
    let noise = |n: usize, by: usize| (0..n).map(|i| ((i * by + 13) % 1009) as f32 / 331.0 - 1.5).collect::<Vec<_>>();
    let sizes: &[(usize, usize, usize, usize, usize)] = if cfg!(miri) {
        &[(3, 19, 2, 3, 5), (1, 3, 1, 1, 390), (2, 384, 1, 2, 2)]
    } else {
        &[
            // So many columns that rows are packed, a part of them at a time.
            (29, 400, 3, 4, 7),
            (301, 384, 2, 3, 350),
            (1, 40, 3, 4, 7),
            (13, 33, 1, 1, 50),
            (29, 70, 9, 9, 64),
            (300, 17, 2, 3, 200),
            (15, 96, 40, 49, 21),
            // Tiles of twice as many rows: of half a register, of one in several slices, behind two.
            (61, 5, 1, 1, 7),
            (118, 16, 1, 1, 901),
            (90, 48, 1, 1, 33),
        ]
    };
    for &(m, n, stored, count, len) in sizes {
        let (k, data, b, bias) = (count * len, noise(m * stored * len, 7919), noise(count * len * n, 31), noise(n, 7));
        let mut whole = vec![0.0; m * k];
        for (row, from) in whole.chunks_exact_mut(k).zip(data.chunks_exact(stored * len)) {
            row[..stored * len].copy_from_slice(from);
        }
        let packed = [Packed::rhs(k, n, Mat::new(&b[..], n, 1))];
        let cuts = [usize::MAX, 37].map(|line| Cut::new(&data, [stored, count, len], line));
        let run = |a: Lhs<'_, f32>, threads: usize| {
            let mut p = Product::new(m, n, k, Mat::new(&whole, k, 1), Mat::new(&b, n, 1));
            (p.a, p.b, p.epilogue.start) = (a, Rhs::Packed(&packed), Start::PerColumn(&bias));
            let mut c = vec![f32::NAN; m * n];
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("law: a pool starts");
            pool.install(|| gemm(&p, MatMut { data: &mut c, rows: n, cols: 1 }));
            c.into_iter().map(f32::to_bits).collect::<Vec<_>>()
        };
        let expected = run(Lhs::Strided(Mat::new(&whole, k, 1)), 1);
        for (cut, threads) in cuts.iter().flat_map(|cut| [(cut, 1), (cut, if cfg!(miri) { 1 } else { 3 })]) {
            let case = || format!("{m}x{n}, {count} runs of {len}, lines of {}, {threads} threads", cut.line);
            assert!(run(Lhs::Runs(cut), threads) == expected, "{}", case());
        }
    }
}

/// Rows that are asked for since they lie far, and results that are written past the caches, have the bits of a few
/// rows by themselves.
#[test]
#[cfg_attr(miri, ignore = "large operands")]
fn what_lies_far_has_the_same_bits() {
    let noise = |n: usize, by: usize| (0..n).map(|i| ((i * by + 13) % 1009) as f32 / 331.0 - 1.5).collect::<Vec<_>>();
    // Panels of two registers, a last one of one, and rows that are not whole cache lines.
    for (n, stored, count, len) in [(128, 1, 1, 40), (128, 2, 3, 16), (112, 1, 1, 300), (120, 1, 1, 8)] {
        let (m, k) = (block::PAST / size_of::<f32>() / n + 999, count * len);
        let (data, b, bias) = (noise(m * stored * len, 7919), noise(k * n, 31), noise(n, 7));
        let packed = [Packed::rhs(k, n, Mat::new(&b[..], n, 1))];
        let run = |rows: std::ops::Range<usize>, c: &mut [f32]| {
            let data = &data[rows.start * stored * len..rows.end * stored * len];
            let cut = Cut::new(data, [stored, count, len], usize::MAX);
            let mut p = Product::new(rows.len(), n, k, Mat::new(data, 0, 0), Mat::new(&b, n, 1));
            (p.a, p.b, p.epilogue.start) = (Lhs::Runs(&cut), Rhs::Packed(&packed), Start::PerColumn(&bias));
            gemm(&p, MatMut { data: c, rows: n, cols: 1 });
        };
        let mut expected = vec![f32::NAN; m * n];
        for (i, c) in expected.chunks_mut(500 * n).enumerate() {
            run(i * 500..i * 500 + c.len() / n, c);
        }
        for (threads, shift) in [(1, 0), (3, 0), (3, 1)] {
            let mut room = vec![f32::NAN; m * n + 17];
            let at = room.as_ptr().align_offset(64) + shift;
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("law: a pool starts");
            pool.install(|| run(0..m, &mut room[at..at + m * n]));
            let differ = room[at..].iter().zip(&expected).position(|(x, y)| x.to_bits() != y.to_bits());
            assert_eq!(differ, None, "{n} columns, {count} runs of {len}, {threads} threads, from {shift}");
            assert!(room[at + m * n..].iter().chain(&room[..at]).all(|x| x.is_nan()), "nothing else is written");
        }
    }
}

/// A run that leaves its data is found before a number is read, of even rows too, and where there are too few offsets.
#[test]
fn runs_are_within_their_operand() {
    let (data, b) = ([1.0; 30], [1.0; 10]);
    let run = |cut: &Cut<'_>| {
        let mut p = Product::new(3, 1, 10, Mat::new(&[], 0, 0), Mat::new(&b, 1, 1));
        p.a = Lhs::Runs(cut);
        gemm(&p, MatMut { data: &mut [0.0; 3], rows: 1, cols: 1 });
    };
    let cut = |len: usize, stored: usize, count: usize| Cut::new(&data[..len], [stored, count, 10 / count], 37);
    let is_refused = |cut: Cut<'_>| std::panic::catch_unwind(AssertUnwindSafe(|| run(&cut))).is_err();
    assert!(!is_refused(cut(30, 2, 2)) && !is_refused(cut(15, 1, 2)) && !is_refused(cut(30, 1, 1)));
    assert!(is_refused(cut(29, 2, 2)) && is_refused(cut(14, 1, 2)) && is_refused(cut(29, 1, 1)));
    assert!(is_refused(Cut { offsets: vec![0], ..cut(30, 2, 2) }));
    assert!(is_refused(Cut { offsets: vec![0, usize::MAX], ..cut(30, 2, 2) }));
}

/// A row's product does not depend on the other rows, on how B lies, or on whether it is packed.
#[test]
fn there_is_one_order_of_summation() {
    let noise = |n: usize, by: usize| (0..n).map(|i| ((i * by + 13) % 1009) as f32 / 331.0 - 1.5).collect::<Vec<_>>();
    let sizes: &[(usize, usize, usize)] = if cfg!(miri) {
        &[(2, 35, 33), (1, 70, 390)]
    } else {
        &[
            (1, 300, 500),
            (1, 33, 1000),
            (2, 70, 39),
            (3, 257, 385),
            (4, 64, 384),
            (5, 45, 800),
            (19, 33, 401),
            (1, 1, 50),
        ]
    };
    for &(m, n, k) in sizes {
        let (a, b, bias) = (noise(m * k, 7919), noise(n * k, 104_729), noise(n, 31));
        let turned: Vec<f32> = (0..n * k).map(|i| b[i % k * n + i / k]).collect();
        for (start, alpha) in [(Start::Zero, 1.0), (Start::PerColumn(&bias), 1.0), (Start::PerColumn(&bias), 0.3)] {
            let one = |i: usize| {
                let (r, c) = (i / n, i % n);
                let from = matches!(start, Start::PerColumn(_)).then(|| bias[c]);
                chain(|p| a[r * k + p], |p| b[p * n + c], k, from, alpha)
            };
            let expected: Vec<f32> = (0..m * n).map(one).collect();
            let (rows, columns) = (Mat::new(&b[..], n, 1), Mat::new(&turned[..], 1, k));
            let packed = [Packed::rhs(k, n, columns)];
            for (lies, b) in [Rhs::Strided(rows), Rhs::Strided(columns), Rhs::Packed(&packed)].into_iter().enumerate() {
                let mut p = Product::new(m, n, k, Mat::new(&a, k, 1), rows);
                (p.b, p.alpha, p.epilogue.start) = (b, alpha, start);
                let mut c = vec![f32::NAN; m * n];
                gemm(&p, MatMut { data: &mut c, rows: n, cols: 1 });
                let differ = c.iter().zip(&expected).position(|(x, y)| x.to_bits() != y.to_bits());
                assert_eq!(differ, None, "{m}x{n}x{k}, B lies {lies}, alpha {alpha}");
            }
        }
    }
}

/// A small product has the same bits in a batch and alone.
#[test]
fn products_of_a_batch_are_those_alone() {
    for (m, n, k) in [(1, 1, 1), (4, 4, 4), (3, 5, 2), (8, 8, 8), (15, 24, 17), (33, 40, 9), (2, 3, 300)] {
        let (a, b) = (numbers::<f32>(3 * m * k, 1), numbers::<f32>(3 * k * n, 2));
        for turned in [false, true] {
            let (rows, cols) = strides(turned, k, n);
            let mut c = vec![f32::NAN; 3 * m * n];
            let mut p = Product::new(m, n, k, Mat::new(&a, k, 1), Mat::new(&b, rows, cols));
            p.alpha = 0.3;
            let apart = [[m * k], [k * n], [m * n]];
            p.batch = Batch { sizes: &[3], a: &apart[0], b: &apart[1], c: &apart[2], start: &[] };
            gemm(&p, MatMut { data: &mut c, rows: n, cols: 1 });
            for (i, c) in c.chunks(m * n).enumerate() {
                let mut alone = vec![f32::NAN; m * n];
                let (a, b) = (Mat::new(&a[i * m * k..], k, 1), Mat::new(&b[i * k * n..], rows, cols));
                let p = Product { alpha: 0.3, ..Product::new(m, n, k, a, b) };
                gemm(&p, MatMut { data: &mut alone, rows: n, cols: 1 });
                assert_eq!(c, alone, "{m}x{n}x{k}, {i} of three");
            }
        }
    }
}
