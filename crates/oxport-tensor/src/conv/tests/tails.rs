//! What kernels of products do before they write a sum.

use super::{channels_last, geometry, numbers};
use crate::conv::{Convolution, convolve};
use crate::gemm::{Activation, After, Channels, Finished, Gate, Residual, ScaleShift, Tail};

/// Kernels of products do what follows themselves, in tiles of all widths: whole registers, halves, and parts of them.
#[test]
fn tiles_have_tails() {
    let widths = if cfg!(miri) { &[8, 9][..] } else { &[8, 11, 16, 20, 24, 32, 40, 47, 57, 72] };
    for (width, kernel) in widths.iter().flat_map(|&width| [(width, "1,1,1"), (width, "1,2,1")]) {
        let g = geometry(&format!("1,1,20,{width} 1,6,9 {kernel} 1,1,1 0,0,0 1,1,1"));
        let out = g.output().expect("a valid case");
        let count = width * out.iter().product::<usize>();
        let (x, weight) = (numbers(20 * 54, 1), numbers(g.weight().iter().product(), 2));
        let (bias, more) = (numbers(width, 3), numbers(count, 4));
        let run = |tail: Option<Tail>| {
            let mut y = vec![f32::NAN; count];
            let output = y.as_ptr().addr();
            let own = |tail: Tail| Tail {
                residual: tail.residual.map(|residual| Residual { output, ..residual }),
                channels: tail.channels.map(|channels| Channels { output, ..channels }),
                ..tail
            };
            let (packed, finished) = (None, |part: Finished| assert!(part.has_tail));
            let after = tail.map(|tail| After { f: &finished, writes: true, tail: Some(own(tail)) });
            let (xs, ys) = (channels_last(20, g.input), channels_last(width, out));
            let conv =
                Convolution { geometry: g, x: &x, x_strides: xs, weight: &weight, packed, bias: Some(&bias), after };
            convolve(&conv, &mut y, ys);
            y
        };
        let y = run(None);
        let gate = Gate { shift: 3.0, bounds: [0.0, 60.0], scale: 0.15 };
        let [scale, shift] = [5, 6].map(|seed| numbers(width, seed));
        let columns = ScaleShift { scale: scale.as_ptr(), shift: shift.as_ptr() };
        let normalized = [None, Some(Channels { columns, count: width, output: 0 })];
        let residuals = [None, Some(Residual { first: more.as_ptr(), len: count, output: 0 })];
        let activations = [None, Some(Activation::Clamp([-20.0, 35.0])), Some(Activation::ClampGate(gate))];
        for (i, activation) in (0..4).flat_map(|i| activations.map(|activation| (i, activation))) {
            let (channels, residual) = (normalized[i % 2], residuals[i / 2]);
            let one = |(i, &y): (usize, &f32)| {
                let normal = if channels.is_some() { y * scale[i % width] + shift[i % width] } else { y };
                let sum = if residual.is_some() { normal + more[i] } else { normal };
                match activation {
                    None => sum,
                    Some(Activation::Clamp([low, high])) => sum.clamp(low, high),
                    Some(Activation::ClampGate(_)) => sum * (sum + 3.0).clamp(0.0, 60.0) * 0.15,
                }
            };
            let expected: Vec<f32> = y.iter().enumerate().map(one).collect();
            let tail = Tail { channels, residual, activation, is_part: false };
            assert!(run(Some(tail)) == expected, "{width} {kernel} {i} {activation:?}");
        }
    }
}
