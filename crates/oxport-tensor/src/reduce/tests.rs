//! Reductions against naive ones, over layouts and thread counts.

use super::*;
use crate::{DType, Layout};

/// Every layout of the same values: row-major, transposed, stepped.
fn layouts(x: &Tensor) -> Vec<Tensor> {
    let copied = |layout: Layout| {
        let mut out = TensorMut::empty(x.dtype(), layout).unwrap();
        crate::copy(x, &mut out).unwrap();
        out.freeze()
    };
    let rank = x.rank() as i64;
    let reversed: Vec<i64> = (0..rank).rev().collect();
    let sizes: Vec<i64> = x.sizes().iter().rev().copied().collect();
    let transposed = Layout::contiguous(&sizes).unwrap().permute(&reversed).unwrap();
    let mut doubled = x.sizes().to_vec();
    doubled[rank as usize - 1] *= 2;
    let stepped = Layout::contiguous(&doubled).unwrap().slice(-1, None, None, 2).unwrap();
    vec![copied(Layout::contiguous(x.sizes()).unwrap()), copied(transposed), copied(stepped)]
}

fn drawn(sizes: &[i64], seed: u64) -> Tensor {
    let mut state = seed;
    let n = sizes.iter().product::<i64>();
    let draw = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / 1e6 - 7.5
    };
    Tensor::from_vec(sizes, (0..n).map(draw).collect()).unwrap()
}

fn output(x: &Tensor, dims: &[usize], dtype: DType) -> TensorMut {
    let sizes: Vec<i64> = (0..x.rank()).filter(|d| !dims.contains(d)).map(|d| x.sizes()[d]).collect();
    TensorMut::empty(dtype, Layout::contiguous(&sizes).unwrap()).unwrap()
}

/// Row-major values grouped by output.
fn groups(x: &Tensor, dims: &[usize]) -> Vec<Vec<f64>> {
    let values = Vec::<f64>::from(x);
    let kept: Vec<usize> = (0..x.rank()).filter(|d| !dims.contains(d)).collect();
    let outputs: usize = kept.iter().map(|&d| x.sizes()[d] as usize).product();
    let mut groups = vec![Vec::new(); outputs];
    for (i, v) in values.into_iter().enumerate() {
        let mut rest = i;
        let mut index = vec![0; x.rank()];
        for d in (0..x.rank()).rev() {
            index[d] = rest % x.sizes()[d] as usize;
            rest /= x.sizes()[d] as usize;
        }
        let output = kept.iter().fold(0, |o, &d| o * x.sizes()[d] as usize + index[d]);
        groups[output].push(v);
    }
    groups
}

/// Sizes, and the dimensions to reduce; for Miri with just more than a block.
const CASES: &[(&[i64], &[usize])] = if cfg!(miri) { SMALL } else { LARGE };
const SMALL: &[(&[i64], &[usize])] = &[
    (&[3, 4, 5], &[1]),
    (&[3, 4, 5], &[2]),
    (&[3, 4, 5], &[0, 2]),
    (&[3, 4, 5], &[]),
    (&[1, 10, 1], &[1]),
    (&[1030, 1], &[0]),
    (&[40, 3], &[0]),
    (&[37, 33], &[0]),
    (&[259, 33], &[0]),
];
const LARGE: &[(&[i64], &[usize])] = &[
    (&[3, 4, 5], &[1]),
    (&[3, 4, 5], &[2]),
    (&[3, 4, 5], &[0, 2]),
    (&[3, 4, 5], &[0, 1, 2]),
    (&[3, 4, 5], &[]),
    (&[9, 3], &[1]),
    (&[9, 8], &[1]),
    (&[5, 13], &[1]),
    (&[6, 17], &[1]),
    (&[5, 2, 2048], &[2]),
    (&[1, 100, 1], &[1]),
    (&[2, 40, 70], &[1]),
    (&[1100, 32], &[0]),
    (&[5, 96], &[0]),
    (&[2, 70, 90], &[1]),
    (&[2, 70, 90], &[0, 2]),
    (&[5, 3000], &[1]),
    (&[3000, 20], &[0]),
    (&[1500, 3], &[0]),
    (&[256, 40], &[0]),
    (&[2, 1311, 33], &[1]),
    (&[1027, 64], &[0]),
];

#[test]
fn sums_have_the_same_bits_for_all_layouts_and_threads() {
    let big: &[(&[i64], &[usize])] = &[(&[200_001], &[0]), (&[150_000, 9], &[0]), (&[3, 100_000], &[1])];
    let cases = CASES.iter().chain(if cfg!(miri) { &[] } else { big });
    for &(sizes, dims) in cases {
        let x = drawn(sizes, 1);
        let signed: Vec<i64> = dims.iter().map(|&d| d as i64).collect();
        let mut bits: Option<Vec<u32>> = None;
        for x in layouts(&x) {
            for threads in [1, 3] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let mut out = output(&x, dims, DType::F32);
                pool.install(|| sum::<f32, f32>(&x, &signed, &mut out)).unwrap();
                let got: Vec<u32> = out.freeze().to_vec::<f32>().unwrap().iter().map(|v| v.to_bits()).collect();
                assert_eq!(bits.get_or_insert(got.clone()), &got, "{sizes:?} over {dims:?}");
            }
        }
        for (got, group) in bits.unwrap().iter().zip(groups(&x, dims)) {
            let (want, scale) = (group.iter().sum::<f64>(), group.iter().map(|v| v.abs()).sum::<f64>());
            assert!((f64::from(f32::from_bits(*got)) - want).abs() <= scale * 1e-6, "{sizes:?} over {dims:?}");
        }
    }
}

/// Of one element in memory, which is quick under Miri, too.
#[test]
fn one_element_repeated_on_several_threads() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    // Tasks of outputs, and parts of one output.
    for (outputs, length) in [(4, PARALLEL / 4), (1, BLOCK * TASK_BLOCKS + 100)] {
        let x = Tensor::scalar(1f32).view(|l| l.expand(&[outputs, length as i64])).unwrap();
        let mut out = output(&x, &[1], DType::F32);
        pool.install(|| sum::<f32, f32>(&x, &[1], &mut out)).unwrap();
        assert_eq!(out.freeze().to_vec::<f32>().unwrap(), vec![length as f32; outputs as usize]);
    }
}

#[test]
fn extremes_and_positions() {
    for &(sizes, dims) in CASES {
        let signed: Vec<i64> = dims.iter().map(|&d| d as i64).collect();
        for (seed, nan) in [(2, false), (3, true)] {
            let mut values = drawn(sizes, seed).to_vec::<f32>().unwrap();
            for v in &mut values {
                *v = v.round();
            }
            if nan {
                values[2] = f32::NAN;
            }
            let x = Tensor::from_vec(sizes, values).unwrap();
            let groups = groups(&x, dims);
            let first = |beats: fn(f64, f64) -> bool| -> Vec<i64> {
                let position = |g: &Vec<f64>| {
                    let best = (1..g.len())
                        .fold(0, |b, i| if !g[b].is_nan() && (g[i].is_nan() || beats(g[i], g[b])) { i } else { b });
                    best as i64
                };
                groups.iter().map(position).collect()
            };
            for x in layouts(&x) {
                let mut out = output(&x, dims, DType::I64);
                argmax::<f32>(&x, &signed, &mut out).unwrap();
                assert_eq!(out.freeze().to_vec::<i64>().unwrap(), first(|a, b| a > b));
                let mut out = output(&x, dims, DType::I64);
                argmin::<f32>(&x, &signed, &mut out).unwrap();
                assert_eq!(out.freeze().to_vec::<i64>().unwrap(), first(|a, b| a < b));
                let mut out = output(&x, dims, DType::F32);
                amax::<f32>(&x, &signed, &mut out).unwrap();
                let want: Vec<f64> = first(|a, b| a > b).iter().zip(&groups).map(|(&i, g)| g[i as usize]).collect();
                let same = |(a, b): (&f64, &f64)| a == b || a.is_nan() && b.is_nan();
                assert!(out.freeze().to_vec::<f64>().unwrap().iter().zip(&want).all(same));
            }
        }
    }
}

#[test]
fn means_and_variances() {
    for &(sizes, dims) in CASES {
        let x = drawn(sizes, 5);
        let signed: Vec<i64> = dims.iter().map(|&d| d as i64).collect();
        for x in layouts(&x) {
            let (mut v, mut m) = (output(&x, dims, DType::F32), output(&x, dims, DType::F32));
            var::<f32>(&x, &signed, 1.0, &mut v, Some(&mut m)).unwrap();
            let mut plain = output(&x, dims, DType::F32);
            mean::<f32>(&x, &signed, &mut plain).unwrap();
            let (v, m, plain) = (
                v.freeze().to_vec::<f64>().unwrap(),
                m.freeze().to_vec::<f64>().unwrap(),
                plain.freeze().to_vec::<f64>().unwrap(),
            );
            for (i, g) in groups(&x, dims).iter().enumerate() {
                let n = g.len() as f64;
                let mean = g.iter().sum::<f64>() / n;
                let var = g.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0);
                assert!((m[i] - mean).abs() < 1e-5 && (plain[i] - mean).abs() < 1e-5);
                assert!((v[i] - var).abs() < 1e-4 || v[i].is_nan() && n == 1.0, "{} {var}", v[i]);
            }
        }
    }
}

#[test]
fn integers_bools_and_nothing() {
    let check = |x: &Tensor, dims: &[i64], dtype: DType, f: &dyn Fn(&Tensor, &[i64], &mut TensorMut) -> Result<()>| {
        let drop: Vec<usize> = dims.iter().map(|&d| d as usize).collect();
        let mut out = output(x, &drop, dtype);
        f(x, dims, &mut out).map(|()| Vec::<f64>::from(&out.freeze()))
    };
    let x = Tensor::from_vec(&[2, 2], vec![200u8, 100, 0, 3]).unwrap();
    assert_eq!(check(&x, &[1], DType::I64, &sum::<u8, i64>).unwrap(), [300.0, 3.0]);
    assert_eq!(check(&x, &[0], DType::I64, &prod::<u8, i64>).unwrap(), [0.0, 300.0]);
    assert_eq!(check(&x, &[1], DType::Bool, &all::<u8, bool>).unwrap(), [1.0, 0.0]);
    assert_eq!(check(&x, &[1], DType::U8, &any::<u8, u8>).unwrap(), [1.0, 1.0]);
    let none = Tensor::zeros(DType::F32, &[2, 0]).unwrap();
    assert_eq!(check(&none, &[1], DType::F32, &sum::<f32, f32>).unwrap(), [0.0, 0.0]);
    assert_eq!(check(&none, &[1], DType::F32, &prod::<f32, f32>).unwrap(), [1.0, 1.0]);
    assert_eq!(check(&none, &[1], DType::Bool, &all::<f32, bool>).unwrap(), [1.0, 1.0]);
    assert!(check(&none, &[1], DType::F32, &mean::<f32>).unwrap()[0].is_nan());
    assert!(check(&none, &[1], DType::F32, &amax::<f32>).is_err());
    assert_eq!(check(&none, &[0], DType::F32, &amax::<f32>).unwrap(), [0.0; 0]);
    assert!(check(&x, &[0], DType::F32, &sum::<u8, i64>).is_err());
    let half = Tensor::from_vec(&[4096], vec![half::f16::from_f32(1.0); 4096]).unwrap();
    assert_eq!(check(&half, &[0], DType::F16, &sum::<half::f16, half::f16>).unwrap(), [4096.0]);
    assert_eq!(fold_slice(&[1u8; 5000], 0i64, |a, x| a + i64::from(x), |a, b| a + b), 5000);
}
