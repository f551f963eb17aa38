//! Laws of kernels that take several lines, planes or channels at once: each result is that of its part alone, to the
//! bit, however many there are beside it.

use crate::waves::{call, wave};
use oxport_ir::{Arg, Real};
use oxport_tensor::Tensor;

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

/// Matrices of more columns than are made at once, with pivots from below, and more right sides than are solved
/// together.
#[test]
fn factors_multiply_to_the_matrix() {
    let n = 21i64;
    let a: Vec<f32> = (0..n * n).map(|i| (i * i * 31 + i * 7) as f32 % 101.0 / 50.0 - 1.0).collect();
    let a = Tensor::from_vec(&[n, n], a).unwrap();
    let values = [Arg::Tensor(a.clone()), Arg::Bool(false)];
    let inverse = &call("aten::linalg_inv_ex", &values).unwrap()[0];
    let (a, inverse) = (a.to_vec::<f64>().unwrap(), inverse.contiguous().unwrap().to_vec::<f64>().unwrap());
    let size = inverse.iter().fold(1.0f64, |m, x| m.max(x.abs()));
    for i in 0..n as usize {
        for j in 0..n as usize {
            let product: f64 = (0..n as usize).map(|k| a[i * n as usize + k] * inverse[k * n as usize + j]).sum();
            assert!((product - f64::from(i == j)).abs() < 1e-5 * size, "{i}, {j}: {product}");
        }
    }
}
