//! Pools against PyTorch's numbers for the same inputs.

use super::*;
use crate::Layout;

fn tensor(sizes: &[i64]) -> Tensor {
    let n = sizes.iter().product::<i64>();
    Tensor::from_vec(sizes, (0..n).map(|i| (i * 7 % 11 - 5) as f32).collect()).expect("a valid case")
}

fn window<'a>(kernel: &'a [i64], stride: &'a [i64], padding: &'a [i64], ceil_mode: bool) -> Window<'a> {
    Window { kernel, stride, padding, dilation: &[1], ceil_mode }
}

fn empty(dtype: DType, sizes: &[i64]) -> TensorMut {
    TensorMut::empty(dtype, Layout::contiguous(sizes).expect("a valid case")).expect("a valid case")
}

fn sizes(x: &Tensor, w: &Window<'_>) -> Vec<i64> {
    let lead = x.rank() - w.kernel.len();
    [&x.sizes()[..lead], &w.output_sizes(&x.sizes()[lead..]).expect("a valid case")].concat()
}

fn max(x: &Tensor, w: &Window<'_>) -> (Vec<f32>, Vec<i64>) {
    let (mut y, mut at) = (empty(x.dtype(), &sizes(x, w)), empty(DType::I64, &sizes(x, w)));
    max_pool(x, w, &mut y, Some(&mut at)).expect("a valid case");
    let mut alone = empty(x.dtype(), &sizes(x, w));
    max_pool(x, w, &mut alone, None).expect("a valid case");
    let bits = |x: TensorMut| x.freeze().to_vec::<f32>().unwrap().into_iter().map(f32::to_bits).collect::<Vec<_>>();
    let y = bits(y);
    assert_eq!(bits(alone), y);
    (y.into_iter().map(f32::from_bits).collect(), at.freeze().to_vec().unwrap())
}

fn average(x: &Tensor, w: &Window<'_>, by: Average) -> Vec<f32> {
    let mut y = empty(x.dtype(), &sizes(x, w));
    avg_pool(x, w, by, &mut y).expect("a valid case");
    y.freeze().to_vec().unwrap()
}

#[test]
fn maxima_and_their_places() {
    let x = tensor(&[1, 2, 5, 6]);
    let (y, at) = max(&x, &window(&[3, 3], &[2], &[1], false));
    assert_eq!(y, [4., 5., 5., 4., 5., 4., 5., 5., 4., 5., 4., 4., 5., 4., 5., 1., 4., 5.]);
    assert_eq!(at, [6, 3, 3, 6, 14, 17, 25, 25, 28, 6, 9, 9, 6, 9, 17, 18, 20, 28]);
    let (_, at) = max(&x, &window(&[2, 2], &[], &[0], true));
    assert_eq!(at, [6, 3, 4, 12, 14, 17, 25, 26, 28, 6, 9, 4, 12, 20, 17, 24, 26, 28]);
    let dilated = Window { dilation: &[2, 2], ..window(&[2, 3], &[1], &[1, 1], false) };
    let (y, at) = max(&x, &dilated);
    assert_eq!(y[..8], [3., 4., 3., -1., 5., 5., 5., 5.]);
    assert_eq!(at[..20], [9, 6, 9, 10, 3, 14, 3, 14, 9, 6, 9, 20, 25, 14, 25, 14, 21, 20, 23, 20]);
    let (y, at) = max(&tensor(&[1, 1, 3, 4, 4]), &window(&[2, 2, 2], &[1], &[0], false));
    assert_eq!(y, [4., 4., 5., 5., 5., 4., 5., 5., 5., 5., 4., 4., 5., 5., 4., 5., 5., 5.]);
    assert_eq!(at, [17, 6, 3, 25, 25, 6, 25, 14, 14, 36, 17, 39, 25, 25, 39, 25, 25, 47]);
    let (y, at) = max(&tensor(&[1, 7]), &window(&[3], &[2], &[1], true));
    assert_eq!((y, at), (vec![2., 5., 5., 4.], vec![1, 3, 3, 6]));
    let (mut y, mut at) = (empty(DType::F32, &[1, 2, 3, 4]), empty(DType::I64, &[1, 2, 3, 4]));
    adaptive_max_pool(&x, 2, &mut y, Some(&mut at)).expect("a valid case");
    let at = at.freeze().to_vec::<i64>().unwrap();
    assert_eq!(at, [6, 1, 3, 4, 6, 14, 9, 17, 25, 25, 28, 28, 6, 1, 9, 4, 6, 20, 9, 17, 18, 20, 28, 28]);
}

#[test]
fn nan_wins_and_infinity_counts() {
    let mut x = tensor(&[1, 1, 3, 3]).to_vec::<f32>().unwrap();
    (x[0], x[4]) = (f32::NAN, f32::NAN);
    let (y, at) = max(&Tensor::from_vec(&[1, 1, 3, 3], x).expect("a valid case"), &window(&[2, 2], &[1], &[0], false));
    assert!(y.iter().all(|y| y.is_nan()) && at == [4, 4, 4, 4]);
    let low = Tensor::from_vec(&[1, 1, 2, 2], vec![f32::NEG_INFINITY; 4]).expect("a valid case");
    let (y, at) = max(&low, &window(&[2, 2], &[1], &[1], false));
    assert!(y.iter().all(|&y| y == f32::NEG_INFINITY) && at == [0, 0, 1, 0, 0, 1, 2, 2, 3]);
}

#[test]
fn averages() {
    let x = tensor(&[1, 2, 5, 6]);
    let near = |got: Vec<f32>, expected: &[f32]| {
        assert!(got.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6), "{got:?} {expected:?}");
    };
    let (floor, ceil) = (window(&[3, 3], &[2], &[1], false), window(&[3, 3], &[2], &[1], true));
    near(
        average(&x, &floor, Average::CountPadding),
        &[1. / 9., 4. / 9., 0., 0., 1. / 9., -5. / 9., -1. / 9., 1. / 9., -1. / 3.],
    );
    near(
        average(&x, &ceil, Average::CountInput),
        &[0.25, 2. / 3., 0., -4., 0., 1. / 9., -5. / 9., 1. / 3., -0.25, 1. / 6., -0.5, 1.],
    );
    near(average(&x, &ceil, Average::CountPadding), &[1. / 9., 4. / 9., 0., -4. / 3., 0., 1. / 9., -5. / 9., 1. / 6.]);
    near(
        average(&x, &window(&[2, 2], &[3], &[0], false), Average::By(3)),
        &[1. / 3., 8. / 3., -1. / 3., -5. / 3., 5. / 3.],
    );
    near(
        average(&tensor(&[1, 1, 7]), &window(&[3], &[2], &[1], true), Average::CountPadding),
        &[-1., 5. / 3., 1., 1. / 3.],
    );
    let deep = average(&tensor(&[1, 1, 3, 4, 4]), &window(&[2, 2, 2], &[2], &[1], false), Average::CountPadding);
    near(deep, &[-0.625, 0., 0.625, -0.375, 0.375, -0.625, 0.25, 0.375, 0.125, -0.5]);
    let mut y = empty(DType::F32, &[1, 2, 3, 4]);
    adaptive_avg_pool(&x, 2, &mut y).expect("a valid case");
    near(
        y.freeze().to_vec().unwrap(),
        &[0.25, -1., 2., -2., 0., -1. / 3., -1., -4. / 3., -0.25, 1.25, -1.25, 0.25, 1.25, 0.],
    );
    let mut y = empty(DType::I64, &[1, 1, 2, 2]);
    avg_pool(
        &tensor(&[1, 1, 4, 4]).to_dtype(DType::I64).unwrap(),
        &window(&[2, 2], &[], &[0], false),
        Average::CountPadding,
        &mut y,
    )
    .expect("a valid case");
    assert_eq!(y.freeze().to_vec::<i64>().unwrap(), [-1, 1, 0, 0]);
}

#[test]
fn refuses_what_does_not_fit() {
    for w in [
        window(&[3, 3], &[1], &[2], false),
        window(&[7, 7], &[1], &[0], false),
        window(&[2, 2], &[0], &[0], false),
        window(&[0, 2], &[1], &[0], false),
        window(&[2, 2], &[1, 1, 1], &[], false),
        window(&[i64::MAX, 1], &[1], &[0], true),
    ] {
        assert!(w.output_sizes(&[5, 6]).is_err(), "{w:?}");
    }
    let x = tensor(&[1, 2, 5, 6]);
    assert!(max_pool(&x, &window(&[2, 2], &[], &[0], false), &mut empty(DType::F32, &[1, 2, 2, 2]), None).is_err());
    assert!(adaptive_avg_pool(&tensor(&[2]), 2, &mut empty(DType::F32, &[2])).is_err());
}
