//! Convolutions of 16-bit floats.

use crate::conv::{ConvOptions, Form, PackedKernel, With, convolution};
use crate::{DType, Layout, Result, Tensor, TensorMut};

fn tensor(sizes: &[i64], last: bool) -> Result<Tensor> {
    let n = sizes.iter().product::<i64>();
    let x = Tensor::from_vec(sizes, (0..n).map(|i| ((i * 7919 + 13) % 1009) as f32 / 331.0 - 1.5).collect())?;
    if !last {
        return Ok(x);
    }
    let mut turned = TensorMut::empty(DType::F32, Layout::channels_last(sizes)?)?;
    crate::copy(&x, &mut turned)?;
    Ok(turned.freeze())
}

/// What `float32` gives, rounded once, for all layouts, packed weights or not.
#[test]
fn halves_are_rounded_once() {
    let options = |stride, padding, groups, transposed| ConvOptions {
        stride,
        padding,
        groups,
        transposed,
        ..ConvOptions::default()
    };
    let cases: &[(&[i64], &[i64], ConvOptions<'_>)] = &[
        (&[2, 20, 6, 7], &[24, 20, 3, 3], options(&[1], &[1], 1, false)),
        (&[1, 3, 9, 8], &[16, 3, 3, 3], options(&[2], &[1], 1, false)),
        (&[2, 32, 5, 5], &[40, 32, 1, 1], options(&[1], &[0], 1, false)),
        (&[1, 16, 7, 6], &[16, 1, 3, 3], options(&[1], &[1], 16, false)),
        (&[1, 32, 5, 4], &[32, 16, 3, 3], options(&[1], &[1], 2, false)),
        (&[1, 4, 5, 4], &[6, 2, 2, 2], options(&[1], &[0], 2, false)),
        (&[1, 16, 5, 4], &[16, 12, 2, 2], options(&[2], &[0], 1, true)),
        (&[1, 3, 5, 4], &[3, 2, 3, 3], options(&[2], &[1], 1, true)),
        (&[2, 20, 11], &[9, 20, 3], options(&[2], &[1], 1, false)),
    ];
    for (i, (xs, ws, options)) in cases.iter().enumerate() {
        let sizes = options.output_sizes(xs, ws).unwrap();
        let bias = tensor(&sizes[1..2], false).unwrap();
        // Miri sees one dtype and one pair of layouts with each case.
        for bits in (0..8).filter(|bits| !cfg!(miri) || bits % 4 == i % 4 && bits / 4 == i % 2) {
            let (dtype, last_in, last_out) = ([DType::F16, DType::BF16][bits / 4], bits & 1 > 0, bits & 2 > 0);
            let (last_in, last_out) = (last_in && xs.len() == 4, last_out && xs.len() == 4);
            let half = |x: &Tensor| x.to_dtype(dtype).unwrap();
            let (x, w, b) = (half(&tensor(xs, last_in).unwrap()), half(&tensor(ws, false).unwrap()), half(&bias));
            let layout = if last_out { Layout::channels_last(&sizes) } else { Layout::contiguous(&sizes) }.unwrap();
            let run = |dtype: DType, packed: Option<&PackedKernel>| {
                let [x, w, b] = [&x, &w, &b].map(|x| x.to_dtype(dtype).unwrap());
                let mut out = TensorMut::empty(dtype, layout.clone()).unwrap();
                convolution(&x, &w, Some(&b), options, With { packed, ..With::default() }, &mut out).unwrap();
                out.freeze()
            };
            let expected = run(DType::F32, None).to_dtype(dtype).unwrap().to_vec::<f64>().unwrap();
            let form = if last_out { Form::Pixels } else { Form::Planes };
            let packed = PackedKernel::of_constant(&w, form, options).unwrap();
            for packed in [None, packed.as_ref()] {
                let got = run(dtype, packed).to_vec::<f64>().unwrap();
                assert_eq!(got, expected, "{dtype}: {xs:?} with {ws:?}, {last_in}, {last_out}, {}", packed.is_some());
            }
        }
    }
}
