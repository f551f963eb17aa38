//! Laws of kernels that take several lines, planes or channels at once: each result is that of its part alone, to the
//! bit, however many there are beside it.

use crate::waves::{call, wave};
use oxport_ir::{Arg, Real};
use oxport_tensor::{DType, Tensor};

fn bits(t: &Tensor) -> Vec<u64> {
    t.to_vec::<f64>().unwrap().iter().map(|x| x.to_bits()).collect()
}

fn narrow(t: &Tensor, dim: i64, at: i64) -> Tensor {
    t.view(|l| l.narrow(dim, at, 1)).unwrap().contiguous().unwrap()
}

/// Compares a call with calls of its parts: the arguments at `cut` lie side by side along `dim`, as the results do.
#[track_caller]
fn check(name: &str, values: &[Arg<Real>], cut: &[usize], dim: i64) {
    let whole = call(name, values).unwrap();
    let Arg::Tensor(first) = &values[cut[0]] else { panic!("a tensor is cut") };
    for at in 0..first.sizes()[dim as usize] {
        let part = |(i, value): (usize, &Arg<Real>)| match value {
            Arg::Tensor(t) if cut.contains(&i) => Arg::Tensor(narrow(t, dim, at)),
            other => other.clone(),
        };
        let parts = call(name, &values.iter().enumerate().map(part).collect::<Vec<_>>()).unwrap();
        for (whole, part) in whole.iter().zip(&parts) {
            assert_eq!(bits(&narrow(whole, dim, at)), bits(part), "{name}: part {at}");
        }
    }
}

#[test]
fn lines() {
    for (sizes, dim) in [([9, 300], 1), ([300, 9], 0)] {
        let x = || Arg::Tensor(wave(&sizes, 1.7, 0.3));
        let across = 1 - dim;
        check("aten::cumsum", &[x(), Arg::Int(dim), Arg::None], &[0], across);
        check("aten::cumprod", &[x(), Arg::Int(dim), Arg::None], &[0], across);
        check("aten::cummax", &[x(), Arg::Int(dim)], &[0], across);
        check("aten::cummin", &[x(), Arg::Int(dim)], &[0], across);
        check("aten::logcumsumexp", &[x(), Arg::Int(dim)], &[0], across);
        for n in [1, 3] {
            check("aten::diff", &[x(), Arg::Int(n), Arg::Int(dim), Arg::None, Arg::None], &[0], across);
        }
    }
    let keep = Arg::Bool(true);
    let dims = |d| Arg::List(vec![Arg::Int(d)]);
    check("aten::logsumexp", &[Arg::Tensor(wave(&[9, 300], 1.7, 0.3)), dims(1), keep.clone()], &[0], 0);
    check("aten::logsumexp", &[Arg::Tensor(wave(&[300, 200], 1.7, 0.3)), dims(0), keep], &[0], 1);
}

#[test]
fn rows_of_distances() {
    for features in [3, 37] {
        let (x, y) = (wave(&[6, features], 1.7, 0.3), wave(&[11, features], 0.9, 0.1));
        for p in [0.0, 1.0, 2.0, 3.0, f64::INFINITY] {
            let values = [Arg::Tensor(x.clone()), Arg::Tensor(y.clone()), Arg::Float(p), Arg::None];
            check("aten::cdist", &values, &[0], 0);
            let turned = [Arg::Tensor(y.clone()), Arg::Tensor(x.clone()), Arg::Float(p), Arg::None];
            check("aten::cdist", &turned, &[0], 0);
        }
    }
}

#[test]
fn channels_of_images() {
    let image = || Arg::Tensor(wave(&[2, 19, 7, 9], 1.7, 0.3));
    let grid = Arg::Tensor(wave(&[2, 5, 6, 2], 0.9, 0.1));
    for mode in 0..3 {
        for padding in 0..3 {
            let values = [image(), grid.clone(), Arg::Int(mode), Arg::Int(padding), Arg::Bool(false)];
            check("aten::grid_sampler", &values, &[0], 1);
        }
    }
    let corners = [0.0, 1.3, 0.4, 6.9, 5.5, 1.0, -2.0, 3.0, 12.0, 6.0f32];
    let regions = Arg::Tensor(Tensor::from_vec(&[2, 5], corners.to_vec()).unwrap());
    for samples in [0, 2] {
        let bins = [Arg::Float(0.8), Arg::Int(3), Arg::Int(4), Arg::Int(samples), Arg::Bool(true)];
        let values = [&[image(), regions.clone()], &bins[..]].concat();
        check("torchvision::roi_align", &values, &[0], 1);
    }
    let doubled = Arg::List(vec![Arg::Int(14), Arg::Int(11)]);
    check("aten::upsample_nearest2d", &[image(), doubled.clone(), Arg::None, Arg::None], &[0], 1);
    check("aten::upsample_bilinear2d", &[image(), doubled, Arg::Bool(false), Arg::None, Arg::None], &[0], 1);
}

#[test]
fn losses() {
    let (x, y) = (wave(&[3, 5000], 1.7, 0.3), wave(&[3, 5000], 0.9, 0.1));
    for (name, more) in [
        ("aten::mse_loss", None),
        ("aten::smooth_l1_loss", Some(0.5)),
        ("aten::huber_loss", Some(0.5)),
        ("aten::soft_margin_loss", None),
    ] {
        let values = |reduction| {
            let values = [Arg::Tensor(x.clone()), Arg::Tensor(y.clone()), Arg::Int(reduction)];
            values.into_iter().chain(more.map(Arg::Float)).collect::<Vec<_>>()
        };
        check(name, &values(0), &[0, 1], 0);
        let each = call(name, &values(0)).unwrap()[0].to_vec::<f64>().unwrap();
        let all = |reduction| call(name, &values(reduction)).unwrap()[0].to_vec::<f64>().unwrap()[0];
        let total: f64 = each.iter().sum();
        assert!((all(2) - total).abs() < 1e-6 * total && (all(1) - total / 15000.0).abs() < 1e-6, "{name}");
    }
    let classes = Tensor::from_vec(&[9], (0..9).map(|i| i * 5 % 40).collect::<Vec<i64>>()).unwrap();
    for smoothing in [0.0, 0.1] {
        let logits = Arg::Tensor(wave(&[9, 40], 1.7, 0.3));
        let rest = [Arg::None, Arg::Int(0), Arg::Int(-100), Arg::Float(smoothing)];
        let values = [&[logits, Arg::Tensor(classes.clone())], &rest[..]].concat();
        check("aten::cross_entropy_loss", &values, &[0, 1], 0);
    }
}

/// Rows of 16 bits, widened one at a time: what `f32` gives, rounded once.
#[test]
fn halves_are_rounded_once() {
    for dtype in [DType::BF16, DType::F16] {
        let x = wave(&[70, 300], 1.7, 0.3).to_dtype(dtype).unwrap();
        let w = wave(&[300], 0.9, 0.1).to_dtype(dtype).unwrap();
        let last = || Arg::List(vec![Arg::Int(300)]);
        let dims = |d| [Arg::List(vec![Arg::Int(d)]), Arg::Bool(false), Arg::None];
        let normed = |more: &[Arg<Real>]| [&[last(), Arg::Tensor(w.clone())], more].concat();
        let calls: [(&str, Vec<Arg<Real>>); 8] = [
            ("aten::_softmax", vec![Arg::Int(1), Arg::Bool(false)]),
            ("aten::_log_softmax", vec![Arg::Int(1), Arg::Bool(false)]),
            ("aten::layer_norm", normed(&[Arg::Tensor(w.clone()), Arg::Float(1e-5), Arg::Bool(true)])),
            ("aten::rms_norm", normed(&[Arg::Float(1e-5)])),
            ("aten::sum.dim_IntList", dims(0).to_vec()),
            ("aten::sum.dim_IntList", dims(1).to_vec()),
            ("aten::mean.dim", dims(0).to_vec()),
            ("aten::mean.dim", dims(1).to_vec()),
        ];
        for (name, rest) in calls {
            let of = |dtype| {
                let cast = |value: &Arg<Real>| match value {
                    Arg::Tensor(t) => Arg::Tensor(t.to_dtype(dtype).unwrap()),
                    other => other.clone(),
                };
                let values: Vec<_> = [Arg::Tensor(x.clone())].iter().chain(&rest).map(cast).collect();
                call(name, &values).unwrap().remove(0)
            };
            assert_eq!(bits(&of(dtype)), bits(&of(DType::F32).to_dtype(dtype).unwrap()), "{name} of {dtype}");
        }
    }
}

/// Columns that windows go along, in vectors and by themselves.
#[test]
fn windows_of_rows() {
    for (size, kernel, stride, padding) in [(41i64, 3, 2, 1), (40, 2, 2, 0), (40, 3, 1, 1), (41, 5, 4, 2), (9, 9, 9, 0)]
    {
        let x = wave(&[3, 2, size], 1.7, 0.3);
        let list = |n| Arg::List(vec![Arg::Int(n)]);
        let windows = [list(kernel), list(stride), list(padding)];
        let max = [&[Arg::Tensor(x.clone())], &windows[..], &[list(1), Arg::Bool(false)]].concat();
        let average = [&[Arg::Tensor(x.clone())], &windows[..], &[Arg::Bool(false), Arg::Bool(false)]].concat();
        let x = x.to_vec::<f64>().unwrap();
        let found = call("aten::max_pool1d", &max).unwrap()[0].to_vec::<f64>().unwrap();
        let means = call("aten::avg_pool1d", &average).unwrap()[0].to_vec::<f64>().unwrap();
        let count = (size + 2 * padding - kernel) / stride + 1;
        assert_eq!(found.len() as i64, 6 * count);
        for (i, (found, mean)) in found.iter().zip(&means).enumerate() {
            let (line, first) = (i as i64 / count * size, i as i64 % count * stride - padding);
            let taps = first.max(0)..(first + kernel).min(size);
            let taps = &x[(line + taps.start) as usize..(line + taps.end) as usize];
            assert_eq!(*found, taps.iter().copied().fold(f64::NEG_INFINITY, f64::max), "{size} by {kernel}, {stride}");
            assert!((mean - taps.iter().sum::<f64>() / taps.len() as f64).abs() < 1e-6, "{size} by {kernel}, {stride}");
        }
    }
}

/// `a·b`, row by row, of square matrices.
fn product(a: &[f64], b: &[f64], n: usize) -> Vec<f64> {
    let one = |at: usize| (0..n).map(|k| a[at / n * n + k] * b[k * n + at % n]).sum();
    (0..n * n).map(one).collect()
}

/// Matrices of more columns than are made at once, with pivots from below, and more right sides than are solved
/// together.
#[test]
fn factors_multiply_to_the_matrix() {
    for n in [21usize, 75] {
        let sizes = [n as i64, n as i64];
        let entry = |i: usize| ((i * i * 31 + i * 7) % 101) as f32 / 50.0 - 1.0;
        let a = Tensor::from_vec(&sizes, (0..n * n).map(entry).collect()).unwrap();
        let values = |a: &Tensor, more: &[Arg<Real>]| [&[Arg::Tensor(a.clone())], more].concat();
        let numbers = |t: &Tensor| t.contiguous().unwrap().to_vec::<f64>().unwrap();
        let close = |got: &[f64], expected: &[f64], scale: f64, what: &str| {
            let error = got.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(error < 1e-5 * scale, "{what} of {n}: {error}");
        };
        let turned = |x: &[f64]| (0..n * n).map(|at| x[at % n * n + at / n]).collect::<Vec<_>>();
        let (m, one) = (numbers(&a), (0..n * n).map(|i| f64::from(i / n == i % n)).collect::<Vec<_>>());
        let inverse = numbers(&call("aten::linalg_inv_ex", &values(&a, &[Arg::Bool(false)])).unwrap()[0]);
        let size = inverse.iter().fold(1.0f64, |m, x| m.max(x.abs()));
        close(&product(&m, &inverse, n), &one, size, "an inverse");
        let qr = call("aten::linalg_qr", &values(&a, &[Arg::Str("reduced".into())])).unwrap();
        let (q, r) = (numbers(&qr[0]), numbers(&qr[1]));
        close(&product(&q, &r, n), &m, 10.0, "Q and R");
        close(&product(&turned(&q), &q, n), &one, 10.0, "Q and its transpose");
        let definite: Vec<f32> = product(&m, &turned(&m), n).iter().map(|&x| x as f32).collect();
        let definite =
            Tensor::from_vec(&sizes, definite.iter().zip(&one).map(|(x, &i)| x + i as f32).collect()).unwrap();
        let l = numbers(&call("aten::linalg_cholesky", &values(&definite, &[Arg::Bool(false)])).unwrap()[0]);
        close(&product(&l, &turned(&l), n), &numbers(&definite), 100.0, "a Cholesky factor");
        assert!((0..n * n).all(|at| at % n <= at / n || l[at] == 0.0), "a triangle");
        for upper in [false, true] {
            let flags = [Arg::Tensor(a.clone()), Arg::Bool(upper), Arg::Bool(true), Arg::Bool(true)];
            let keep = |at: usize| if upper { at % n > at / n } else { at % n < at / n };
            let small: Vec<f32> = (0..n * n).map(|at| entry(at) / n as f32).collect();
            let small = Tensor::from_vec(&sizes, small).unwrap();
            let x = numbers(&call("aten::linalg_solve_triangular", &values(&small, &flags)).unwrap()[0]);
            let small = numbers(&small);
            let triangle: Vec<f64> = (0..n * n).map(|at| if keep(at) { small[at] } else { one[at] }).collect();
            close(&product(&triangle, &x, n), &m, 10.0, "a triangular system");
        }
    }
}
