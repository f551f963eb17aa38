//! Every convolution algorithm against the definition.

use super::*;
use crate::gemm::tests::each;
use crate::gemm::{Activation, Channels, Finished, Residual, ScaleShift, Tail};
use crate::scratch::Scratch;
use half::f16;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

mod halves;
mod tails;

fn numbers(n: usize, seed: usize) -> Vec<f32> {
    (0..n).map(|i| ((i * 7919 + seed * 104_729) % 13) as f32 - 6.0).collect()
}

fn contiguous(n: usize, c: usize, s: [usize; 3]) -> [usize; 5] {
    let _ = n;
    [c * s[0] * s[1] * s[2], s[0] * s[1] * s[2], s[1] * s[2], s[2], 1]
}

fn channels_last(c: usize, s: [usize; 3]) -> [usize; 5] {
    [c * s[0] * s[1] * s[2], 1, s[1] * s[2] * c, s[2] * c, c]
}

/// The definition: every input pixel meets every tap.
fn naive(g: &Geometry, x: &[f32], xs: [usize; 5], w: &[f32], bias: &[f32], y: &mut [f32], ys: [usize; 5]) {
    let out = g.output().expect("a valid case");
    let offset = |s: [usize; 5], n: usize, c: usize, p: [usize; 3]| {
        n * s[0] + c * s[1] + p[0] * s[2] + p[1] * s[3] + p[2] * s[4]
    };
    let all = |s: [usize; 3]| (0..s[0] * s[1] * s[2]).map(move |i| [i / (s[1] * s[2]), i / s[2] % s[1], i % s[2]]);
    let (ig, og) = (g.in_group(), g.out_group());
    for n in 0..g.batch {
        for o in 0..g.out_channels {
            for p in all(out) {
                y[offset(ys, n, o, p)] = bias[o];
            }
            for (i, p) in (0..ig).flat_map(|i| all(g.input).map(move |p| (i, p))) {
                for (t, tap) in all(g.kernel).enumerate() {
                    let (mut q, mut inside) = ([0; 3], true);
                    for d in 0..3 {
                        let (pad, reach) = (g.padding[d] as isize, (tap[d] * g.dilation[d]) as isize);
                        let (p, s) = (p[d] as isize, g.stride[d] as isize);
                        let at = if g.transposed { p * s + reach - pad } else { p + pad - reach };
                        let at = if g.transposed {
                            at
                        } else if at % s == 0 {
                            at / s
                        } else {
                            -1
                        };
                        inside &= at >= 0 && at < out[d] as isize;
                        q[d] = at as usize;
                    }
                    if inside {
                        let c = o / og * ig + i;
                        let w = if g.transposed {
                            w[(c * og + o % og) * g.taps() + t]
                        } else {
                            w[(o * ig + i) * g.taps() + t]
                        };
                        y[offset(ys, n, o, q)] += w * x[offset(xs, n, c, p)];
                    }
                }
            }
        }
    }
}

fn geometry(text: &str) -> Geometry {
    let numbers: Vec<Vec<usize>> =
        text.split_whitespace().map(|w| w.split(',').map(|x| x.parse().expect("a number")).collect()).collect();
    let three = |i: usize| [numbers[i][0], numbers[i][1], numbers[i][2]];
    Geometry {
        batch: numbers[0][0],
        groups: numbers[0][1],
        in_channels: numbers[0][2],
        out_channels: numbers[0][3],
        input: three(1),
        kernel: three(2),
        stride: three(3),
        padding: three(4),
        dilation: three(5),
        transposed: numbers.len() > 6,
        output_padding: if numbers.len() > 6 { three(6) } else { [0; 3] },
    }
}

/// `batch,groups,C,O  input  kernel  stride  padding  dilation  [output padding: transposed]`. For Miri as few numbers
/// as every algorithm takes.
const CASES: &[&str] = if cfg!(miri) {
    &[
        "1,1,3,5 1,2,5 1,1,1 1,1,1 0,0,0 1,1,1",
        "2,1,2,3 1,4,5 1,3,3 1,1,1 0,1,1 1,1,1",
        "1,2,4,4 1,4,3 1,3,3 1,2,2 0,1,1 1,1,1",
        "1,1,2,3 2,5,6 2,2,3 2,1,2 1,0,1 1,2,1",
        "1,2,2,4 1,5,4 1,3,3 1,2,2 0,1,1 1,1,1",
        "1,9,9,9 1,3,10 1,2,3 1,1,1 0,1,1 1,1,1",
        "1,1,2,9 1,2,13 1,2,3 1,1,1 0,1,1 1,1,1",
        "1,3,6,6 1,2,9 1,2,3 1,1,2 0,1,1 1,1,1",
        "1,1,2,3 1,3,4 1,3,3 1,2,2 0,1,1 1,1,1 0,1,1",
        "2,2,4,2 1,1,5 1,1,3 1,1,1 0,0,1 1,1,1 0,0,0",
        "1,1,2,9 1,2,3 1,3,2 1,2,2 0,1,0 1,1,1 0,1,0",
    ]
} else {
    &[
        "1,1,5,7 1,6,9 1,1,1 1,1,1 0,0,0 1,1,1",
        "1,1,20,57 1,7,9 1,1,1 1,1,1 0,0,0 1,1,1",
        // Windows along a line: by rows of the kernel, by taps, of lines that tiles cross.
        "1,1,20,24 1,9,41 1,3,3 1,1,1 0,1,1 1,1,1",
        "2,1,16,20 1,11,63 1,3,3 1,2,2 0,1,1 1,1,1",
        "1,1,70,24 1,5,33 1,3,3 1,1,1 0,1,1 1,1,1",
        "2,1,40,20 1,9,60 1,3,3 1,2,2 0,1,1 1,1,1",
        "1,1,17,17 3,5,30 3,3,3 1,1,1 1,1,1 1,1,1",
        "1,1,24,16 1,7,40 1,3,3 1,1,1 0,2,2 1,2,2",
        "1,1,24,16 1,9,61 1,1,1 1,2,2 0,0,0 1,1,1",
        "1,2,36,32 1,5,43 1,3,3 1,1,1 0,0,1 1,1,1",
        "2,1,4,390 1,5,7 1,3,3 1,2,2 0,1,1 1,1,1",
        "2,1,3,8 1,9,11 1,3,3 1,1,1 0,1,1 1,1,1",
        "2,1,4,6 1,9,10 1,3,3 1,2,2 0,1,1 1,1,1",
        "1,1,3,5 1,12,13 1,3,5 1,3,2 0,2,3 1,2,3",
        "2,2,6,4 1,7,7 1,3,3 1,1,1 0,1,1 1,1,1",
        "2,2,4,8 1,7,7 1,1,1 1,1,1 0,0,0 1,1,1",
        "1,4,4,4 1,10,70 1,3,3 1,1,1 0,1,1 1,1,1",
        "2,4,4,8 1,10,9 1,3,3 1,2,2 0,1,1 1,1,1",
        "1,3,3,3 1,12,12 1,5,5 1,1,1 0,4,4 1,2,2",
        "2,37,37,37 1,9,8 1,3,3 1,1,1 0,1,1 1,1,1",
        "1,20,20,20 4,5,6 3,3,2 2,1,1 1,1,0 1,1,2",
        "1,17,17,17 1,60,61 1,5,5 1,1,2 0,2,2 1,1,1",
        "1,9,9,18 1,70,33 1,7,3 1,2,1 0,1,0 1,1,3",
        "1,20,20,20 1,9,21 1,7,7 1,1,1 0,3,3 1,1,1",
        "2,33,33,33 1,15,31 1,3,3 1,2,2 0,1,1 1,1,1",
        "1,16,16,16 1,8,7 1,5,5 1,1,1 0,2,2 1,1,1",
        "1,5,5,5 1,16,27 1,7,7 1,3,2 0,3,3 1,2,1",
        "1,17,17,17 1,15,33 1,5,5 1,2,2 0,2,2 1,1,1",
        "1,16,16,16 1,13,30 1,7,7 1,2,2 0,3,3 1,1,1",
        "1,17,17,17 1,9,20 1,3,3 1,1,1 0,2,2 1,1,1",
        "1,16,16,16 1,9,19 1,5,5 1,2,2 0,3,3 1,1,1",
        "2,5,20,20 1,9,31 1,3,3 1,1,1 0,1,1 1,1,1",
        "1,9,18,36 1,8,17 1,3,3 1,2,2 0,1,1 1,1,1",
        "1,3,24,24 1,7,20 1,3,3 1,1,1 0,1,1 1,1,1",
        "2,7,14,14 3,5,12 2,3,3 1,1,3 1,2,4 2,1,2",
        "1,6,12,24 1,1,2 1,3,5 1,2,3 0,3,7 1,2,1",
        "1,3,48,48 1,7,30 1,3,3 1,2,2 0,1,1 1,1,1",
        "2,2,10,24 1,6,9 1,3,2 1,1,1 0,1,1 1,1,2",
        "1,33,66,66 1,4,60 1,1,2 1,1,1 0,0,1 1,1,1",
        "1,1,2,3 5,6,7 3,2,3 2,1,1 1,0,1 1,2,1",
        "2,1,3,20 1,5,40 1,3,3 1,1,1 0,1,1 1,1,1",
        "1,1,3,16 1,6,61 1,3,3 1,2,2 0,1,1 1,1,1",
        "1,1,5,41 2,5,66 2,3,5 1,1,2 1,1,3 1,2,2",
        "3,1,2,4 1,1,30 1,1,4 1,1,3 0,0,2 1,1,2",
        "1,1,40,20 1,1,1 1,1,1 1,2,2 0,0,0 1,1,1",
        "1,1,0,2 1,3,3 1,3,3 1,1,1 0,0,0 1,1,1",
        "1,1,2,3 1,70,71 1,70,70 1,1,1 0,0,0 1,1,1",
        "1,1,4,3 1,5,6 1,3,3 1,2,2 0,1,1 1,1,1 0,1,1",
        "2,2,4,6 1,5,6 1,2,2 1,2,2 0,0,0 1,1,1 0,0,0",
        "1,1,3,2 3,4,5 2,3,2 1,3,2 1,0,1 2,1,2 0,2,1",
        "2,4,4,4 1,1,9 1,1,5 1,1,1 0,0,2 1,1,1 0,0,0",
        "2,1,5,9 1,5,6 1,2,2 1,2,2 0,0,0 1,1,1 0,0,0",
        "1,2,6,20 1,4,5 1,3,4 1,2,2 0,1,1 1,1,1 0,1,1",
        "1,1,17,33 1,6,5 1,5,3 1,3,2 0,2,0 1,2,1 0,2,1",
        "2,1,3,8 2,3,4 3,2,2 2,1,2 1,0,1 1,2,1 1,0,0",
        "1,1,4,8 1,3,4 1,1,2 1,2,3 0,0,0 1,1,1 0,1,2",
        "1,1,8,64 1,20,30 1,3,3 1,2,2 0,1,1 1,1,1 0,1,1",
        "3,1,12,16 1,1,30 1,1,8 1,1,4 0,0,9 1,1,1 0,0,0",
    ]
};
const THREADS: &[usize] = if cfg!(miri) { &[3] } else { &[1, 3] };

#[test]
fn every_algorithm_equals_the_definition() {
    for text in CASES {
        let g = geometry(text);
        let out = g.output().expect("a valid case");
        let count = |c: usize, s: [usize; 3]| g.batch * c * s.iter().product::<usize>();
        let x = numbers(count(g.in_channels, g.input), 1);
        let w = numbers(g.weight().iter().product(), 2);
        let bias = numbers(g.out_channels, 3);
        for (last_in, last_out) in [(false, false), (true, false), (false, true), (true, true)] {
            let strides = |last: bool, c: usize, s: [usize; 3]| {
                if last { channels_last(c, s) } else { contiguous(g.batch, c, s) }
            };
            let (xs, ys) = (strides(last_in, g.in_channels, g.input), strides(last_out, g.out_channels, out));
            let mut expected = vec![0.0; count(g.out_channels, out)];
            naive(&g, &x, xs, &w, &bias, &mut expected, ys);
            for &threads in THREADS {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("law: a pool starts");
                let mut y = vec![0.0; expected.len()];
                let form = if last_out { Form::Pixels } else { Form::Planes };
                let packed = PackedWeight::new(form, &g, &w).filter(|_| threads == 3);
                let conv = Convolution {
                    geometry: g,
                    x: &x,
                    x_strides: xs,
                    weight: &w,
                    packed: packed.as_ref(),
                    bias: Some(&bias),
                    after: None,
                };
                pool.install(|| convolve(&conv, &mut y, ys));
                assert!(y == expected, "f32 {text} {last_in} {last_out} {threads}");
                // Handed on, all of it or nothing; a packed weight of halves is the same numbers.
                let handed_on = AtomicBool::new(false);
                let negate = |part| {
                    handed_on.store(true, Relaxed);
                    each::<f32>(part, |y| *y = -*y)
                };
                let narrow: Vec<_> = w.iter().map(|&w| f16::from_f32(w)).collect();
                let packed = packed.as_ref().and_then(|_| PackedWeight::new(form, &g, &narrow));
                let after = Some(After { f: &negate, writes: false, tail: None });
                pool.install(|| convolve(&Convolution { packed: packed.as_ref(), after, ..conv }, &mut y, ys));
                let sign = if handed_on.load(Relaxed) { -1.0 } else { 1.0 };
                assert!(y.iter().zip(&expected).all(|(y, e)| *y == sign * e), "{text} {last_in} {last_out} {threads}");
            }
        }
    }
}

/// Outputs of any strides, of inputs of any strides, are the same bits, packed weights or not.
#[test]
fn strides_do_not_change_bits() {
    for text in CASES {
        let g = geometry(text);
        let out = g.output().expect("a valid case");
        let noise = |n: usize| (0..n).map(|i| (i * 7919 % 1009) as f32 / 331.0 - 1.5).collect::<Vec<_>>();
        let all = |s: [usize; 3]| (0..s[0] * s[1] * s[2]).map(move |i| [i / (s[1] * s[2]), i / s[2] % s[1], i % s[2]]);
        let at = |s: [usize; 5], [n, c]: [usize; 2], p: [usize; 3]| {
            n * s[0] + c * s[1] + p[0] * s[2] + p[1] * s[3] + p[2] * s[4]
        };
        let (w, bias) = (noise(g.weight().iter().product()), noise(g.out_channels));
        let planes = noise(g.batch * g.in_channels * g.input.iter().product::<usize>());
        let (xp, yp) = (contiguous(1, g.in_channels, g.input), contiguous(1, g.out_channels, out));
        let (xl, yl) = (channels_last(g.in_channels, g.input), channels_last(g.out_channels, out));
        let mut pixels = planes.clone();
        for i in 0..g.batch * g.in_channels {
            let i = [i / g.in_channels, i % g.in_channels];
            all(g.input).for_each(|p| pixels[at(xl, i, p)] = planes[at(xp, i, p)]);
        }
        let run = |x: &[f32], xs: [usize; 5], last: bool, form: Option<Form>| {
            let (ys, packed) = (if last { yl } else { yp }, form.and_then(|form| PackedWeight::new(form, &g, &w)));
            let mut y = vec![f32::NAN; g.batch * g.out_channels * out.iter().product::<usize>()];
            let (packed, bias) = (packed.as_ref(), Some(&bias[..]));
            let conv = Convolution { geometry: g, x, x_strides: xs, weight: &w, packed, bias, after: None };
            convolve(&conv, &mut y, ys);
            let outputs = (0..g.batch * g.out_channels).map(|i| [i / g.out_channels, i % g.out_channels]);
            outputs
                .flat_map(|i| all(out).map(move |p| (i, p)))
                .map(|(i, p)| y[at(ys, i, p)].to_bits())
                .collect::<Vec<_>>()
        };
        let expected = run(&planes, xp, false, None);
        for (x, xs) in [(&planes, xp), (&pixels, xl)] {
            for last in [false, true] {
                for form in [None, Some(Form::Planes), Some(Form::Pixels)] {
                    assert!(run(x, xs, last, form) == expected, "{text} {xs:?} {last} {form:?}");
                }
            }
        }
    }
}

/// Kernels of one channel, with just enough work for several threads.
#[test]
fn threads_do_not_change_bits() {
    let g = geometry("1,17,17,17 1,1,64 1,1,65 1,1,1 0,0,32 1,1,1");
    let (x, weight) = (numbers(17 * 64, 1), numbers(17 * 65, 2));
    for last in [false, true] {
        let s = if last { channels_last(17, g.input) } else { contiguous(1, 17, g.input) };
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("law: a pool starts");
            let mut y = vec![0.0; 17 * 64];
            let (packed, bias, after) = (None, None, None);
            let conv = Convolution { geometry: g, x: &x, x_strides: s, weight: &weight, packed, bias, after };
            pool.install(|| convolve(&conv, &mut y, s));
            y
        };
        assert!(run(1) == run(3), "{last}");
    }
}

#[test]
fn refuses_what_has_no_output() {
    for text in [
        "1,1,5,7 1,2,9 1,3,3 1,1,1 0,0,0 1,1,1",
        "1,2,5,8 1,6,9 1,1,1 1,1,1 0,0,0 1,1,1",
        "1,1,5,7 1,6,9 1,1,1 1,0,1 0,0,0 1,1,1",
        "1,0,5,7 1,6,9 1,1,1 1,1,1 0,0,0 1,1,1",
    ] {
        assert_eq!(geometry(text).output(), None, "{text}");
    }
}

/// What follows an algorithm by rows of pixels is given every output once: clamped, where it is, or elsewhere than in
/// the output, which it writes; in memory that is not lent again meanwhile.
#[test]
fn rows_of_pixels_are_handed_on() {
    // A kernel per channel by whole rows and by windows, groups, and few channels; for Miri with few numbers.
    let cases = if cfg!(miri) {
        [
            "1,3,6,6 1,2,9 1,2,3 1,1,2 0,1,1 1,1,1",
            "1,9,9,9 1,2,9 1,3,3 1,1,1 0,1,1 1,1,1",
            "1,9,9,9 1,2,15 1,3,3 1,1,2 0,1,1 1,1,1",
            "1,1,2,9 1,2,13 1,2,3 1,1,1 0,1,1 1,1,1",
        ]
    } else {
        [
            "1,9,18,18 1,9,21 1,3,3 1,1,1 0,1,1 1,1,1",
            "1,20,20,20 1,9,21 1,7,7 1,1,1 0,3,3 1,1,1",
            "1,9,9,9 1,5,6 1,3,3 1,1,1 0,1,1 1,1,1",
            "1,1,3,20 1,9,61 1,3,3 1,2,2 0,1,1 1,1,1",
        ]
    };
    for text in cases {
        let g = geometry(text);
        let out = g.output().expect("a valid case");
        let x = numbers(g.in_channels * g.input.iter().product::<usize>(), 1);
        let weight = numbers(g.weight().iter().product(), 2);
        let strides = if g.groups > 1 { channels_last } else { |c, s| contiguous(1, c, s) };
        let (xs, ys) = (strides(g.in_channels, g.input), channels_last(g.out_channels, out));
        let run = |after: Option<After<'_>>| {
            let mut y = vec![f32::NAN; g.out_channels * out.iter().product::<usize>()];
            let (packed, bias) = (None, None);
            convolve(
                &Convolution { geometry: g, x: &x, x_strides: xs, weight: &weight, packed, bias, after },
                &mut y,
                ys,
            );
            y
        };
        let y = run(None);
        let write = |f: &dyn Fn(f32) -> f32, part: Finished| {
            Scratch::take::<f32>(part.rows * part.cols).slice::<f32>(part.rows * part.cols).fill(f32::NAN);
            let (from, apart) =
                part.made.map_or((part.start.cast::<f32>(), part.stride), |(p, apart)| (p.cast(), apart));
            let first = if part.made.is_some() { 0 } else { part.at };
            for i in 0..part.rows * part.cols {
                let (r, c) = (i / part.cols, i % part.cols);
                // SAFETY: finished elements belong to whom they are given to.
                unsafe {
                    let y = *from.add(first + r * apart + c);
                    *part.start.cast::<f32>().add(part.at + r * part.stride + c) = f(y);
                }
            }
        };
        let negate = |part| write(&|y| -y, part);
        let negated: Vec<f32> = y.iter().map(|y| -y).collect();
        for writes in [false, true] {
            assert!(negated == run(Some(After { f: &negate, writes, tail: None })), "{text} {writes}");
        }
        let clamp = |part: Finished| {
            if !part.has_tail {
                write(&|y| y.clamp(-20.0, 35.0), part);
            }
        };
        let clamped: Vec<f32> = y.iter().map(|y| y.clamp(-20.0, 35.0)).collect();
        let tail = Tail { activation: Some(Activation::Clamp([-20.0, 35.0])), ..Tail::default() };
        assert!(clamped == run(Some(After { f: &clamp, writes: true, tail: Some(tail) })), "{text}");
        let (count, [scale, shift]) = (g.out_channels, [3, 4].map(|seed| numbers(g.out_channels, seed)));
        let columns = ScaleShift { scale: scale.as_ptr(), shift: shift.as_ptr() };
        let normalize = |y: f32, channel: usize| (y * scale[channel] + shift[channel]).clamp(-20.0, 35.0);
        let normalized: Vec<f32> = y.iter().enumerate().map(|(i, &y)| normalize(y, i % count)).collect();
        let normal = |part: Finished| {
            // Every run has the same channels.
            for i in 0..if part.has_tail { 0 } else { part.cols } {
                let made = part.made.map(|(p, apart)| (p.wrapping_add(i * size_of::<f32>()), apart));
                write(&|y| normalize(y, (part.at + i) % count), Finished { at: part.at + i, cols: 1, made, ..part });
            }
        };
        let tail = Tail { channels: Some(Channels { columns, count, output: 0 }), ..tail };
        assert!(normalized == run(Some(After { f: &normal, writes: true, tail: Some(tail) })), "{text}");
        let residual = Residual { first: y.as_ptr(), len: y.len(), output: 0 };
        let tail = Tail { residual: Some(residual), ..tail };
        let untailed = |part: Finished| assert!(!part.has_tail);
        run(Some(After { f: &untailed, writes: true, tail: Some(tail) }));
    }
}

/// Winograd's algorithm is near the sum in `f64`, hands on what it has finished, and gives the same bits on any number
/// of threads: planes of all remainders of a tile, of few and of many blocks.
#[test]
fn winograd_is_near_the_sum() {
    let cases: &[(&str, f64)] = if cfg!(miri) {
        &[("1,1,16,16 1,8,9 1,3,3 1,1,1 0,1,1 1,1,1", 4e-6), ("1,1,16,16 2,8,8 2,3,3 1,1,1 1,1,1 1,1,1", 4e-6)]
    } else {
        &[
            ("1,1,16,16 1,8,8 1,3,3 1,1,1 0,1,1 1,1,1", 4e-6),
            ("2,1,17,33 1,11,13 1,3,3 1,1,1 0,0,0 1,1,1", 4e-6),
            ("1,1,64,40 1,30,21 1,3,3 1,1,1 0,2,1 1,1,1", 4e-6),
            ("3,1,24,17 1,9,10 1,3,3 1,1,1 0,1,2 1,1,1", 4e-6),
            ("1,1,400,96 1,14,15 1,3,3 1,1,1 0,1,1 1,1,1", 4e-6),
            // Volumes: of one frame and of several blocks of them, with less and with more zeros than the kernel has
            // planes, of parts of several slices of k.
            ("1,1,16,24 1,9,10 3,3,3 1,1,1 1,1,1 1,1,1", 4e-6),
            ("2,1,20,16 5,10,9 3,3,3 1,1,1 1,1,1 1,1,1", 4e-6),
            ("1,1,16,17 19,8,12 2,3,3 1,1,1 3,1,1 1,1,1", 4e-6),
            ("1,1,120,16 6,9,8 5,3,3 1,1,1 2,1,1 1,1,1", 4e-6),
            ("1,1,32,32 4,12,12 1,3,3 1,1,1 0,1,1 1,1,1", 4e-6),
        ]
    };
    for &(text, bound) in cases {
        let g = geometry(text);
        assert!(Winograd::fits(&g), "{text}");
        let out = g.output().expect("a valid case");
        let mut state = 1u32;
        let mut noise = |n: usize| -> Vec<f32> {
            let mut next = || {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 8) as f32 / 8_388_608.0 - 1.0
            };
            (0..n).map(|_| next()).collect()
        };
        let x = noise(g.batch * g.in_channels * g.input.iter().product::<usize>());
        let (weight, bias) = (noise(g.weight().iter().product()), noise(g.out_channels));
        let (xs, ys) = (channels_last(g.in_channels, g.input), channels_last(g.out_channels, out));
        let count = g.batch * g.out_channels * out.iter().product::<usize>();
        let wide = |x: &[f32]| x.iter().map(|&x| f64::from(x)).collect::<Vec<_>>();
        let (x64, weight64, bias64) = (wide(&x), wide(&weight), wide(&bias));
        let mut expected = vec![0.0; count];
        let conv = Convolution {
            geometry: g,
            x: &x64[..],
            x_strides: xs,
            weight: &weight64,
            packed: None,
            bias: Some(&bias64),
            after: None,
        };
        convolve(&conv, &mut expected, ys);
        let made = Winograd::new(&weight, [g.out_channels, g.in_channels, g.kernel[0]]);
        let run = |threads: usize, after: Option<After<'_>>| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("law: a pool starts");
            let (mut y, bias) = (vec![f32::NAN; count], Some(&bias[..]));
            let output = y.as_ptr().addr();
            let own = |tail: Tail| Tail { residual: tail.residual.map(|r| Residual { output, ..r }), ..tail };
            let after = after.map(|after| After { tail: after.tail.map(own), ..after });
            let conv = Convolution { geometry: g, x: &x, x_strides: xs, weight: &weight, packed: None, bias, after };
            pool.install(|| made.convolve(&conv, &mut y, ys));
            y
        };
        let y = run(1, None);
        let largest = expected.iter().fold(0.0, |most: f64, y| most.max(y.abs()));
        let error = y.iter().zip(&expected).fold(0.0, |most: f64, (&y, e)| most.max((f64::from(y) - e).abs()));
        assert!(error <= bound * largest, "{text}: {:e}", error / largest);
        assert!(y == run(3, None), "{text}");
        let planes = contiguous(1, g.in_channels, g.input);
        let mut turned = vec![0.0; x.len()];
        for i in 0..x.len() {
            let (c, p) = (i % g.in_channels, i / g.in_channels);
            let area = g.input.iter().product::<usize>();
            turned[p / area * planes[0] + c * area + p % area] = x[i];
        }
        let mut of_planes = vec![f32::NAN; count];
        let conv = Convolution {
            geometry: g,
            x: &turned,
            x_strides: planes,
            weight: &weight,
            packed: None,
            bias: Some(&bias),
            after: None,
        };
        made.convolve(&conv, &mut of_planes, ys);
        assert!(y == of_planes, "{text}");
        let negate = |part| each::<f32>(part, |y| *y = -*y);
        let negated: Vec<f32> = y.iter().map(|y| -y).collect();
        assert!(negated == run(3, Some(After { f: &negate, writes: false, tail: None })), "{text}");
        let has_tail = AtomicBool::new(true);
        let clamp = |part: Finished| has_tail.store(has_tail.load(Relaxed) && part.has_tail, Relaxed);
        let more = numbers(count, 9);
        let mut residual = Residual { first: more.as_ptr(), len: count, output: 0 };
        let tail =
            Tail { residual: Some(residual), activation: Some(Activation::Clamp([-1.5, 2.0])), ..Tail::default() };
        let clamped: Vec<f32> = y.iter().zip(&more).map(|(y, more)| (y + more).clamp(-1.5, 2.0)).collect();
        assert!(clamped == run(3, Some(After { f: &clamp, writes: true, tail: Some(tail) })), "{text}");
        assert!(has_tail.load(Relaxed), "{text}");
        // One that is too short is not read.
        residual.len -= 1;
        let tail = Some(Tail { residual: Some(residual), ..Tail::default() });
        assert!(y == run(3, Some(After { f: &clamp, writes: false, tail })), "{text}");
        assert!(!has_tail.into_inner(), "{text}");
    }
}
