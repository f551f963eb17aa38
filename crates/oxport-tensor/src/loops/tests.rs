//! The loops against naive ones, with random sizes and strides.

use proptest::prelude::*;

use super::*;
use crate::Layout;

/// A tensor of the given sizes whose strides come from a permutation, a step and broadcasting, filled with 0, 1, 2, …
fn strided(sizes: &[i64], order: usize, step: i64, broadcast: usize) -> Tensor {
    let rank = sizes.len();
    let mut base: Vec<i64> = (0..rank).map(|d| if broadcast >> d & 1 == 1 { 1 } else { sizes[d] * step }).collect();
    let mut dims: Vec<i64> = (0..rank as i64).collect();
    dims.rotate_left(if rank == 0 { 0 } else { order % rank });
    if order > 3 {
        dims.reverse();
    }
    let permuted: Vec<i64> = dims.iter().map(|&d| base[d as usize]).collect();
    let n: i64 = permuted.iter().product();
    let x = Tensor::from_vec(&permuted, (0..n).map(|i| i as i32).collect()).unwrap();
    let mut back = vec![0; rank];
    for (i, &d) in dims.iter().enumerate() {
        back[d as usize] = i as i64;
    }
    let mut x = x.view(|l| l.permute(&back)).unwrap();
    for d in 0..rank {
        if base[d] != 1 {
            x = x.view(|l| l.slice(d as i64, None, None, step)).unwrap();
        }
        base[d] = sizes[d];
    }
    x.view(|l| l.expand(sizes)).unwrap()
}

fn out_like(x: &Tensor) -> TensorMut {
    TensorMut::empty(x.dtype(), x.layout().preserve()).unwrap()
}

/// Sizes of dimensions; the greater ones are enough for rows that are not packed.
const SIZES: &[i64] = if cfg!(miri) { &[1, 2, 33] } else { &[1, 2, 3, 5, 40, 70] };

prop_compose! {
    fn case()(sizes in prop::collection::vec(prop::sample::select(SIZES), 0..4))
        (orders in prop::collection::vec(0usize..8, 3), steps in prop::collection::vec(1i64..3, 3),
         broadcasts in prop::collection::vec(0usize..8, 3), sizes in Just(sizes)) -> (Vec<i64>, Vec<Tensor>) {
        let spread = |i: usize| if steps[i] == 1 { broadcasts[i] } else { 0 };
        let tensors = (0..3).map(|i| strided(&sizes, orders[i], steps[i], spread(i)));
        let tensors = tensors.collect();
        (sizes, tensors)
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 3 } else { 200 },
        failure_persistence: None,
        ..Default::default()
    })]
    #[test]
    fn loops_agree_with_naive_ones((sizes, x) in case()) {
        let naive: Vec<Vec<i64>> =
            x.iter().map(|x| Vec::<f64>::from(x).into_iter().map(|v| v as i64).collect()).collect();
        for shape in [x[0].layout().preserve(), x[1].layout().preserve(), Layout::contiguous(&sizes).unwrap()] {
            let mut out = TensorMut::empty(DType::I64, shape.clone()).unwrap();
            map(&x[0], &mut out, |v: i32| i64::from(v) + 1).unwrap();
            let want: Vec<i64> = naive[0].iter().map(|v| v + 1).collect();
            prop_assert_eq!(out.freeze().to_vec::<i64>().unwrap(), want);

            let mut out = TensorMut::empty(DType::F64, shape.clone()).unwrap();
            zip3(&x[0], &x[1], &x[2], &mut out, |a: i32, b: i32, c: i32| f64::from(a * 2 - b + 7 * c)).unwrap();
            let sum = |i: usize| (naive[0][i] * 2 - naive[1][i] + 7 * naive[2][i]) as f64;
            let want: Vec<f64> = (0..naive[0].len()).map(sum).collect();
            prop_assert_eq!(out.freeze().to_vec::<f64>().unwrap(), want);

            let mut out = TensorMut::empty(DType::I32, shape).unwrap();
            copy(&x[1], &mut out).unwrap();
            update_zip(&mut out, &x[2], |a: i32, b: i32| a - b).unwrap();
            update(&mut out, |a: i32| a * 3).unwrap();
            let want: Vec<i64> = (0..naive[0].len()).map(|i| (naive[1][i] - naive[2][i]) * 3).collect();
            prop_assert_eq!(out.freeze().to_vec::<i64>().unwrap(), want);
        }
    }
}

#[test]
fn inputs_broadcast() {
    let x = strided(&[2, 1, 3], 0, 1, 0);
    let y = strided(&[4, 1], 0, 1, 0);
    let mut out = TensorMut::empty(DType::I32, Layout::contiguous(&[2, 4, 3]).unwrap()).unwrap();
    zip(&x, &y, &mut out, |a: i32, b: i32| 10 * a + b).unwrap();
    let want: Vec<i32> = (0..24).map(|i| 10 * (i / 12 * 3 + i % 3) + i / 3 % 4).collect();
    assert_eq!(out.freeze().to_vec::<i32>().unwrap(), want);
}

/// Rows that are the same in every tile, too short and long enough to be read where they lie.
#[test]
fn rows_are_repeated() {
    for width in [3, 64, 255, 256, 300] {
        let x = strided(&[5, 7, width], 0, 1, 0);
        let row = strided(&[width], 0, 1, 0);
        for gap in [0, 2] {
            let layout = Layout::contiguous(&[5, 7, width + gap]).unwrap();
            let mut whole = TensorMut::empty(DType::I32, layout).unwrap();
            fill(&mut whole, Scalar::Int(-1)).unwrap();
            let part = whole.layout().narrow(2, 0, width).unwrap();
            whole.part(part, |out| zip(&x, &row, out, |a: i32, b: i32| a - 2 * b)).unwrap();
            let got = whole.freeze().to_vec::<i32>().unwrap();
            let want = (0..35 * (width + gap) as i32).map(|i| {
                let (at, i) = (i / (width + gap) as i32, i % (width + gap) as i32);
                if i < width as i32 { at * width as i32 + i - 2 * i } else { -1 }
            });
            assert_eq!(got, want.collect::<Vec<_>>(), "rows of {width}, {gap} between them");
        }
    }
}

#[test]
fn long_copies_on_several_threads() {
    let x = Tensor::from_vec(&[4200], vec![7u8; 4200]).unwrap().view(|l| l.expand(&[8, 4200])).unwrap();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    let mut out = TensorMut::empty(DType::U8, Layout::contiguous(&[8, 4200]).unwrap()).unwrap();
    pool.install(|| copy(&x, &mut out)).unwrap();
    assert!(out.freeze().to_vec::<u8>().unwrap() == vec![7; 8 * 4200]);
}

#[test]
#[cfg_attr(miri, ignore = "Miri takes minutes for so many elements; see long_copies_on_several_threads")]
fn large_tensors_on_several_threads() {
    let n = 1000;
    let x = strided(&[n, n], 1, 1, 0);
    let bias = strided(&[n, 1], 0, 1, 0);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    let mut out = out_like(&strided(&[n, n], 0, 1, 0));
    pool.install(|| zip(&x, &bias, &mut out, |a: i32, b: i32| a - b)).unwrap();
    let (out, x) = (out.freeze().to_vec::<i32>().unwrap(), x.to_vec::<i32>().unwrap());
    assert!((0..(n * n) as usize).all(|i| out[i] == x[i] - (i / n as usize) as i32));
}

#[test]
fn what_does_not_fit_is_refused() {
    let x = strided(&[2, 3], 0, 1, 0);
    let mut out = TensorMut::empty(DType::I32, Layout::contiguous(&[3, 2]).unwrap()).unwrap();
    assert!(map(&x, &mut out, |v: i32| v).unwrap_err().is_shape());
    assert!(zip_rows(&[&x], &mut [], &|_| ()).is_err());
}

#[test]
fn several_outputs() {
    let x = strided(&[5, 70], 1, 1, 0);
    let (mut a, mut b) = (out_like(&x), TensorMut::empty(DType::F32, Layout::contiguous(&[5, 70]).unwrap()).unwrap());
    zip_rows(&[&x], &mut [&mut a, &mut b], &|rows| {
        let (x, a, b) = (rows.input::<i32>(0), rows.output::<i32>(0), rows.output::<f32>(1));
        for i in 0..x.len() {
            (a[i], b[i]) = (x[i] + 1, x[i] as f32 / 2.0);
        }
    })
    .unwrap();
    let x = x.to_vec::<i32>().unwrap();
    assert_eq!(a.freeze().to_vec::<i32>().unwrap(), x.iter().map(|v| v + 1).collect::<Vec<_>>());
    assert_eq!(b.freeze().to_vec::<f32>().unwrap(), x.iter().map(|&v| v as f32 / 2.0).collect::<Vec<_>>());
}

#[test]
fn filled() {
    let mut out =
        TensorMut::empty(DType::BF16, Layout::contiguous(&[3]).unwrap().slice(0, Some(1), None, 1).unwrap()).unwrap();
    fill(&mut out, Scalar::Float(1.5)).unwrap();
    assert_eq!(out.freeze().to_vec::<f32>().unwrap(), [1.5, 1.5]);
}

#[test]
fn operands_of_other_dtypes_are_converted() {
    let rows = if cfg!(miri) { 3 } else { 40 };
    let x = strided(&[rows, 50], 1, 1, 0).to_dtype(DType::BF16).unwrap();
    let y = strided(&[50], 0, 1, 0).to_dtype(DType::U8).unwrap();
    let mut out = TensorMut::empty(DType::F16, Layout::contiguous(&[rows, 50]).unwrap()).unwrap();
    zip(&x, &y, &mut out, |a: f32, b: f64| f64::from(a) / 2.0 + b).unwrap();
    update(&mut out, |v: i64| v + 1).unwrap();
    let want: Vec<f32> = x
        .to_vec::<f32>()
        .unwrap()
        .iter()
        .enumerate()
        .map(|(i, v)| {
            let sum = (v / 2.0 + (i % 50) as f32) as f64;
            Tensor::scalar(sum).to_dtype(DType::F16).unwrap().to_vec::<f32>().unwrap()[0].trunc() + 1.0
        })
        .collect();
    let out = out.freeze().to_vec::<f32>().unwrap();
    let rounded: Vec<f32> =
        want.iter().map(|&v| Tensor::scalar(v).to_dtype(DType::F16).unwrap().to_vec::<f32>().unwrap()[0]).collect();
    assert_eq!(out, rounded);
}

#[test]
fn transposed_blocks() {
    const SIZES: &[(i64, i64)] =
        if cfg!(miri) { &[(7, 9), (66, 5), (1, 5)] } else { &[(64, 64), (7, 9), (130, 67), (1, 5), (66, 3)] };
    for &(m, n) in SIZES {
        for dtype in [DType::U8, DType::I16, DType::I32, DType::F64, DType::C128] {
            let x = strided(&[m, n], 0, 1, 0).to_dtype(dtype).unwrap();
            let y = x.view(|l| l.transpose(0, 1)).unwrap().contiguous().unwrap();
            let (x, y) = (Vec::<f64>::from(&x), Vec::<f64>::from(&y));
            assert!(
                (0..(m * n) as usize).all(|i| x[i] == y[i % n as usize * m as usize + i / n as usize]),
                "{dtype} {m} {n}"
            );
        }
    }
}

#[test]
fn stored_only_dtypes_take_part() {
    let x = strided(&[3, 5], 1, 1, 0).to_dtype(DType::F8E5M2).unwrap();
    let mut out = TensorMut::empty(DType::F8E4M3FN, Layout::contiguous(&[3, 5]).unwrap()).unwrap();
    map(&x, &mut out, |v: f64| v / 2.0).unwrap();
    update(&mut out, |v: f64| v + 1.0).unwrap();
    let want: Vec<f32> = x.to_vec::<f32>().unwrap().iter().map(|v| v / 2.0 + 1.0).collect();
    assert_eq!(out.freeze().to_vec::<f32>().unwrap(), want);
}

#[test]
fn reversed_rows_are_copied() {
    for (dtype, len) in [DType::U8, DType::F16, DType::F32, DType::F64, DType::C128].into_iter().zip([5, 37, 64, 99, 7])
    {
        let numbers: Vec<f64> = (0..3 * len).map(|i| (i % 251) as f64).collect();
        let copied = |x: &Tensor| {
            let mut out = TensorMut::empty(dtype, Layout::contiguous(x.sizes()).unwrap()).unwrap();
            copy(x, &mut out).unwrap();
            out.freeze()
        };
        let x = copied(&Tensor::from_vec(&[3, len as i64], numbers.clone()).unwrap());
        let reversed = copied(&x.view(|l| l.flip(&[1])).unwrap());
        let want: Vec<f64> = numbers.chunks(len).flat_map(|row| row.iter().rev().copied()).collect();
        assert_eq!(Vec::<f64>::from(&reversed), want, "{dtype}");
    }
}

/// Short rows go by registers: nothing beside them is written.
#[test]
fn rows_between_gaps_are_copied() {
    for n in [1, 2, 3, 15, 16, 17, 31, 32, 33, 48, 64, 100, 511, 512, 513, 600] {
        let all: Vec<u8> = (0..5 * (n + 3)).map(|i| (i % 251 + 1) as u8).collect();
        let x = Tensor::from_vec(&[5, n + 3], all).unwrap().view(|l| l.narrow(1, 2, n)).unwrap();
        let mut out = Tensor::zeros(DType::U8, &[5, n + 7]).unwrap().into_mut().unwrap();
        let place = out.layout().narrow(1, 3, n).unwrap();
        out.part(place, |place| copy(&x, place)).unwrap();
        let (x, out) = (x.to_vec::<u8>().unwrap(), out.freeze().to_vec::<u8>().unwrap());
        for (x, row) in x.chunks(n as usize).zip(out.chunks(n as usize + 7)) {
            assert_eq!(row, [&[0; 3], x, &[0; 4]].concat(), "{n}");
        }
    }
}
