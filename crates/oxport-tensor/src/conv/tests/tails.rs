//! What kernels of products do before they write a sum.

use super::{channels_last, geometry, numbers};
use crate::conv::{Convolution, convolve};
use crate::gemm::{Activation, After, Finished, Gate, Residual, Tail};

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
            let own = |tail: Tail| Tail { residual: tail.residual.map(|r| Residual { output, ..r }), ..tail };
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
        for residual in [None, Some(Residual { first: more.as_ptr(), len: count, output: 0 })] {
            for activation in [None, Some(Activation::Clamp([-20.0, 35.0])), Some(Activation::ClampGate(gate))] {
                let one = |(&y, &more): (&f32, &f32)| {
                    let sum = if residual.is_some() { y + more } else { y };
                    match activation {
                        None => sum,
                        Some(Activation::Clamp([low, high])) => sum.clamp(low, high),
                        Some(Activation::ClampGate(_)) => sum * (sum + 3.0).clamp(0.0, 60.0) * 0.15,
                    }
                };
                let expected: Vec<f32> = y.iter().zip(&more).map(one).collect();
                let tail = Tail { residual, activation };
                assert!(run(Some(tail)) == expected, "{width} {kernel} {} {activation:?}", residual.is_some());
            }
        }
    }
}
