//! What kernels are made of.

mod einsum {
    use oxport_ops::linalg::einsum::*;

    #[test]
    fn equations() {
        let letters = |s: &str| s.chars().map(Name::Letter).collect::<Vec<_>>();
        let eq = parse("ij, jk -> ik", &[2, 2]).unwrap();
        assert_eq!((eq.operands, eq.result), (vec![letters("ij"), letters("jk")], letters("ik")));
        assert_eq!(parse("ba", &[2]).unwrap().result, letters("ab"));
        assert_eq!(parse("ij,jk", &[2, 2]).unwrap().result, letters("ik"));
        let eq = parse("...i,...i", &[3, 2]).unwrap();
        assert_eq!(eq.result, [Name::Dots(1), Name::Dots(0)]);
        for (text, ranks) in
            [("ij", &[1][..]), ("i,j", &[1]), ("i->j", &[1]), ("i->ii", &[1]), ("i1", &[2]), ("...ij", &[1])]
        {
            assert!(parse(text, ranks).is_err(), "{text}");
        }
    }
}

mod gather {
    use oxport_ops::support::gather::{NOWHERE, gather, longest_run};
    use oxport_tensor::Layout;
    use oxport_tensor::{Scalar, Tensor, TensorMut};

    #[test]
    fn gathers() {
        let x = Tensor::from_vec(&[2, 3], vec![1i32, 2, 3, 4, 5, 6]).unwrap();
        let mut out = TensorMut::empty(x.dtype(), Layout::contiguous(&[3, 5]).unwrap()).unwrap();
        let maps = [vec![1, NOWHERE, 0], vec![2, 0, 1, 2, NOWHERE]];
        gather(&x, &maps, Scalar::Int(9), &mut out).unwrap();
        assert_eq!(out.freeze().to_vec::<i32>().unwrap(), [6, 4, 5, 6, 9, 9, 9, 9, 9, 9, 3, 1, 2, 3, 9]);
        assert_eq!(longest_run(&[0, 0, 1, 2, 2], 0), (1, 4));
        assert_eq!(longest_run(&[NOWHERE, 0, NOWHERE], 1), (1, 2));
        assert_eq!(longest_run(&[], 0), (0, 0));
    }
}

mod linalg {
    use num_complex::Complex;
    use oxport_ops::linalg::matrices::{Field, Mat, matrices};
    use oxport_tensor::Tensor;

    #[test]
    fn matrices_lie_column_by_column() {
        let a = Mat { rows: 2, cols: 3, data: vec![1.0, 4.0, 2.0, 5.0, 3.0, 6.0] };
        assert_eq!((a[(0, 2)], a[(1, 0)]), (3.0, 4.0));
        assert_eq!(a.times(&a.transpose()).data, [14.0, 32.0, 32.0, 77.0]);
        let x = Tensor::from_vec(&[1, 2, 3], vec![1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        assert_eq!(matrices::<f64>(&x, &[2]).unwrap(), [a.clone(), a]);
    }

    #[test]
    fn conjugation() {
        let z = Complex::new(3.0, 4.0);
        let a = Mat { rows: 1, cols: 1, data: vec![z] };
        assert_eq!(a.adjoint().data, [Complex::new(3.0, -4.0)]);
        assert_eq!((z.modulus(), z.weight(), z.sign()), (5.0, 7.0, Complex::new(0.6, 0.8)));
        assert_eq!(Field::sign(0.0), 0.0);
    }
}

mod linalg_check {
    #[test]
    fn reports_become_errors() {
        let say = |api, matrix| oxport_ops::linalg::check::check([0, 2], matrix, api).unwrap_err().to_string();
        assert!(say("linalg.solve", false).contains("linalg.solve: (Batch element 1): The solver failed"));
        assert!(say("torch.linalg.lu_factor", true).contains("torch.linalg.lu_factor: U[2,2] is zero"));
        assert!(oxport_ops::linalg::check::check([0, 0], true, "linalg.inv").is_ok());
    }
}

mod orthogonal {
    use oxport_ops::pointwise::orthogonal::*;

    #[test]
    fn values_by_torch() {
        type F = fn(f64, f64) -> f64;
        let table: &[(F, f64, f64, f64)] = &[
            (chebyshev_t, 0.3, 5.0, 0.99888),
            (chebyshev_t, 0.3, 9.9, 0.388_827_648_000_000_5),
            (chebyshev_u, 1.5, 3.0, 21.0),
            (chebyshev_v, 0.5, 2.0, -1.0),
            (chebyshev_w, 0.5, 2.0, 1.0),
            (hermite_h, 0.5, 3.0, -5.0),
            (hermite_he, 0.5, 3.0, -1.375),
            (laguerre_l, 0.5, 2.0, 0.125),
            (legendre_p, 0.5, 3.0, -0.4375),
            (chebyshev_t, 0.5, -1.0, 0.0),
        ];
        for (i, &(f, x, n, want)) in table.iter().enumerate() {
            assert!((f(x, n) - want).abs() < 1e-12, "row {i}: {} for {want}", f(x, n));
        }
        assert!(hermite_h(0.5, 1e18).is_nan());
        assert_eq!((legendre_p(0.5, -0.9), legendre_p(0.5, f64::NAN)), (1.0, 0.0));
    }
}

mod pad {
    use oxport_ops::nn::pad::Edge;
    use oxport_ops::support::gather::NOWHERE;

    #[test]
    fn edges() {
        let line = |e: Edge| (-2..6).map(|i| e.source(i, 4)).collect::<Vec<_>>();
        assert_eq!(line(Edge::Constant), [NOWHERE, NOWHERE, 0, 1, 2, 3, NOWHERE, NOWHERE]);
        assert_eq!(line(Edge::Reflect), [2, 1, 0, 1, 2, 3, 2, 1]);
        assert_eq!(line(Edge::Replicate), [0, 0, 0, 1, 2, 3, 3, 3]);
        assert_eq!(line(Edge::Circular), [2, 3, 0, 1, 2, 3, 0, 1]);
    }
}

mod pool_averages {
    use crate::waves::{call, wave};
    use oxport_ir::Arg;

    /// Averages by rows of windows, in both memory orders, against sums of windows: strides, borders, adaptive ones.
    #[test]
    fn windows_are_averaged() {
        let (height, width) = (9usize, 37usize);
        let x = wave(&[1, 40, height as i64, width as i64], 0.7, 0.1);
        let last = x.view(|l| l.permute(&[0, 2, 3, 1])).unwrap().contiguous().unwrap();
        let last = last.view(|l| l.permute(&[0, 3, 1, 2])).unwrap();
        let at = x.to_vec::<f32>().unwrap();
        let ints = |v: [i64; 2]| Arg::List(v.iter().map(|&n| Arg::Int(n)).collect());
        for (kernel, stride, pad, counts) in
            [([3, 3], [1, 1], [1, 1], true), ([3, 3], [2, 2], [1, 1], false), ([2, 5], [1, 3], [0, 2], true)]
        {
            let mut results = Vec::new();
            for x in [&x, &last] {
                let rest = [Arg::Bool(false), Arg::Bool(counts), Arg::None];
                let args: Vec<_> = [Arg::Tensor(x.clone()), ints(kernel), ints(stride), ints(pad)].into();
                let args = args.into_iter().chain(rest).collect::<Vec<_>>();
                results.push(call("aten::avg_pool2d", &args).unwrap().remove(0));
            }
            let sizes = results[0].sizes().to_vec();
            let (got, same) = (results[0].to_vec::<f32>().unwrap(), results[1].to_vec::<f32>().unwrap());
            assert_eq!(got, same, "{kernel:?}: memory orders");
            for (i, &got) in got.iter().enumerate() {
                let [c, h, w] = [i as i64 / (sizes[2] * sizes[3]), i as i64 / sizes[3] % sizes[2], i as i64 % sizes[3]];
                let range = |at: i64, d: usize, size: usize| {
                    let first = at * stride[d] - pad[d];
                    let whole = (first + kernel[d]).min(size as i64 + pad[d]) - first;
                    (first.max(0)..(first + kernel[d]).min(size as i64), whole)
                };
                let ((hs, hn), (ws, wn)) = (range(h, 0, height), range(w, 1, width));
                let n = if counts { hn * wn } else { (hs.end - hs.start) * (ws.end - ws.start) };
                let places = hs.flat_map(|h| ws.clone().map(move |w| (c * height as i64 + h) * width as i64 + w));
                let sum = places.fold(0f32, |sum, p| sum + at[p as usize]);
                assert_eq!(got, sum / n as f32, "{kernel:?} at {i}");
            }
        }
    }

    /// One window as large as the plane: sums in parts of pixels and blocks of channels, near sums in double precision.
    #[test]
    fn planes_are_averaged() {
        for (images, channels, height, width) in [(1, 5, 7, 7), (1, 96, 14, 14), (2, 33, 40, 41), (1, 200, 1, 3)] {
            let x = wave(&[images, channels, height, width], 0.7, 0.1);
            let last = x.view(|l| l.permute(&[0, 2, 3, 1])).unwrap().contiguous().unwrap();
            let last = last.view(|l| l.permute(&[0, 3, 1, 2])).unwrap();
            let one = || Arg::List(vec![Arg::Int(1), Arg::Int(1)]);
            let averages = [&x, &last].map(|x| {
                let found = call("aten::adaptive_avg_pool2d", &[Arg::Tensor(x.clone()), one()]).unwrap().remove(0);
                found.to_vec::<f32>().unwrap()
            });
            let numbers = x.to_vec::<f32>().unwrap();
            let planes = numbers.chunks((height * width) as usize);
            assert_eq!(averages[0].len(), planes.len());
            for (i, plane) in planes.enumerate() {
                let sum: f64 = plane.iter().map(|&v| f64::from(v)).sum();
                let size: f64 = plane.iter().map(|&v| f64::from(v).abs()).sum();
                for average in &averages {
                    let error = (f64::from(average[i]) - sum / plane.len() as f64).abs();
                    assert!(error <= 1e-6 * size / plane.len() as f64, "{channels} × {height} × {width}: plane {i}");
                }
            }
        }
    }
}

mod pool_windows {
    use oxport_ops::nn::pool::windows::*;

    #[test]
    fn windows_lie_where_pytorch_has_them() {
        let spans =
            |a: oxport_ir::Result<Axis>| a.unwrap().windows.iter().map(|&(a, b, n)| (a, b, n)).collect::<Vec<_>>();
        assert_eq!(spans(sliding(7, 4, [3, 2, 1, 1])), [(0, 2, 3), (1, 4, 3), (3, 6, 3), (5, 7, 3)]);
        assert_eq!(spans(sliding(5, 3, [2, 2, 0, 1])), [(0, 2, 2), (2, 4, 2), (4, 5, 1)]);
        assert_eq!(spans(sliding(5, 3, [3, 1, 1, 2]))[0], (1, 4, 3));
        assert_eq!(spans(adaptive(5, 3)), [(0, 2, 2), (1, 4, 3), (3, 5, 2)]);
        assert_eq!(spans(fractional(9, 2, 3, 0.5, true)), [(0, 3, 3), (6, 9, 3)]);
    }
}

mod python_number {
    use oxport_ir::Result;
    use oxport_ops::symbolic::python_number::*;
    use oxport_tensor::Scalar;

    #[test]
    fn python_agrees() {
        use Scalar::{Bool, Float, Int};
        type Two = fn(Scalar, Scalar) -> Result<Scalar>;
        // Values by CPython 3.11.
        let table: &[(Two, Scalar, Scalar, Scalar)] = &[
            (floordiv, Int(-7), Int(2), Int(-4)),
            (floordiv, Int(7), Int(-2), Int(-4)),
            (floordiv, Int(-7), Int(-2), Int(3)),
            (floordiv, Int(-8), Int(-2), Int(4)),
            (floordiv, Float(-7.5), Int(2), Float(-4.0)),
            (floordiv, Float(1.0), Float(0.1), Float(9.0)),
            (modulo, Int(-7), Int(3), Int(2)),
            (modulo, Int(7), Int(-3), Int(-2)),
            (modulo, Float(7.5), Float(-2.0), Float(-0.5)),
            (truediv, Int(i64::MAX), Int(3), Float(3.0744573456182584e18)),
            (truediv, Int(9007199254740993), Int(9007199254740992), Float(1.0)),
            (pow, Int(2), Int(-1), Float(0.5)),
            (pow, Int(-3), Int(3), Int(-27)),
            (pow, Int(0), Int(0), Int(1)),
            (add, Bool(true), Bool(true), Int(2)),
            (and, Bool(true), Int(3), Int(1)),
            (rshift, Int(-7), Int(1), Int(-4)),
            (lshift, Int(-7), Int(3), Int(-56)),
            (lt, Int(9007199254740993), Float(9007199254740992.0), Bool(false)),
            (eq, Int(9007199254740993), Float(9007199254740992.0), Bool(false)),
            (gt, Float(2.5), Int(2), Bool(true)),
            (ne, Float(f64::NAN), Float(f64::NAN), Bool(true)),
            (max, Int(3), Float(2.5), Float(3.0)),
            (min, Int(3), Bool(true), Int(1)),
        ];
        for (i, &(f, a, b, want)) in table.iter().enumerate() {
            assert_eq!(f(a, b).unwrap(), want, "row {i}: {a:?}, {b:?}");
        }
        assert!(truediv(Int(1), Int(0)).is_err() && modulo(Float(1.0), Float(0.0)).is_err());
        assert!(add(Int(i64::MAX), Int(1)).unwrap_err().is_unsupported());
        assert_eq!(round(Float(2.675), Some(2)).unwrap(), Float(2.67));
        assert_eq!(round(Float(-2.5), None).unwrap(), Int(-2));
        assert_eq!(round(Float(0.5), Some(0)).unwrap(), Float(0.0));
    }
}

mod resample_taps {
    use oxport_ops::resample::resize::taps::*;

    #[test]
    fn nearest_elements() {
        assert_eq!(nearest(3, 6, None, false).unwrap(), [0, 0, 1, 1, 2, 2]);
        assert_eq!(nearest(5, 3, None, false).unwrap(), [0, 1, 3]);
        assert_eq!(nearest(5, 3, None, true).unwrap(), [0, 2, 4]);
    }

    #[test]
    fn weights_sum_to_one() {
        for filter in [Filter::Linear, Filter::Cubic] {
            for (antialias, align, input, count) in [
                (false, false, 5, 8),
                (false, true, 5, 8),
                (true, false, 9, 4),
                (true, false, 4, 9),
                (false, false, 7, 3),
            ] {
                let taps = Taps::<f64>::new(filter, antialias, align, input, count, None).unwrap();
                for i in 0..taps.count() {
                    let (first, w) = taps.at(i);
                    assert!(
                        (w.iter().sum::<f64>() - 1.0).abs() < 1e-12 && first + w.len() <= input as usize,
                        "{filter:?} {i}"
                    );
                }
            }
        }
    }
}

mod special {
    use oxport_ops::pointwise::{bessel, scalar_math as special};

    fn near(x: f64, got: f64, want: f64) {
        assert!((got - want).abs() <= 4e-15 * want.abs(), "at {x:e}: {got:?}, not {want:?}");
    }

    /// Against 40 digits of mpmath, on both sides of every seam.
    #[test]
    fn quantiles() {
        for (p, want) in [
            (5e-324, -38.467405617144344),
            (1e-300, -37.0470962993612),
            (1e-12, -7.034483825301132),
            (0.001, -3.0902323061678136),
            (0.02, -2.053748910631823),
            (0.07, -1.4757910281791706),
            (0.0750001, -1.4395307645017297),
            (0.3, -0.5244005127080408),
            (0.5, 0.0),
            (0.75, 0.6744897501960817),
            (0.93, 1.475791028179171),
            (0.999999, 4.753424308817087),
        ] {
            near(p, special::ndtri(p), want);
        }
        assert!(special::ndtri(0.5).is_sign_positive());
        assert_eq!([0.0, 1.0].map(special::ndtri), [f64::NEG_INFINITY, f64::INFINITY]);
        assert!([-0.1, 1.1, f64::NAN].into_iter().all(|p| special::ndtri(p).is_nan()));
    }

    #[test]
    fn modified_bessel_functions_of_the_second_kind() {
        for (x, k0, k1) in [
            (1e-300, 690.8914594138721, 9.999999999999999e+299),
            (1e-9, 20.83919737344402, 1000000000.9999999),
            (0.01, 4.768694028544462, 100.97864845824004),
            (0.5, 1.5241093857739094, 2.731009708211786),
            (2.0, 0.8415682150707714, 1.0334768470686886),
            (2.0000001, 0.8415681958799089, 1.033476814585711),
            (3.7, 0.6322180591987406, 0.7130065010495761),
            (10.0, 0.39163193443659866, 0.41076657059578875),
            (24.9, 0.24993215015402473, 0.25490238558081707),
            (25.0, 0.2494366045755967, 0.25437732954208525),
            (80.0, 0.13990735522662032, 0.14077907713800053),
            (600.0, 0.05115568572023596, 0.05119829772547244),
        ] {
            near(x, bessel::k0e(x), k0);
            near(x, bessel::k1e(x), k1);
        }
        for k in [bessel::k0, bessel::k1, bessel::k0e, bessel::k1e] {
            assert_eq!((k(0.0), k(f64::INFINITY)), (f64::INFINITY, 0.0));
            assert!(k(-1.0).is_nan() && k(f64::NAN).is_nan());
        }
    }

    /// Where it is small, too; the numbers are SciPy's.
    #[test]
    fn airy_function() {
        for (x, ai) in [(1.25, 0.09964454475691659), (60.0, 2.7831487094969454e-136), (100.0, 2.6344821520883423e-291)]
        {
            // The exponent is rounded: that is a relative error of the exponential.
            let error = bessel::airy_ai(x) / ai - 1.0;
            assert!(error.abs() < 3e-13, "at {x}: off by {error:e}");
        }
    }
}

mod rows {
    use oxport_ops::support::rows::*;

    #[test]
    fn folds() {
        let row: Vec<f32> = (1..=37).map(|i| i as f32).collect();
        assert_eq!(sum(&row, |x| x), 703.0);
        assert_eq!(max(&row), 37.0);
        assert!(max(&[1.0f32, f32::NAN, 2.0]).is_nan());
        assert_eq!(max::<f32>(&[]), f32::NEG_INFINITY);
        assert_eq!(moments(&[1.0f64, 3.0]), (2.0, 1.0));
    }

    #[test]
    fn every_element_of_a_row_is_exponentiated_once() {
        use oxport_ops::support::dense::Compute;
        for n in [0, 1, 15, 16, 17, 31, 32, 33, 49] {
            let row: Vec<f32> = (0..n).map(|i| (i as f32 * 0.37).sin() * 9.0).collect();
            let expected: Vec<f32> = row.iter().map(|x| (x - 2.5).fast_exp()).collect();
            let (mut out, mut own) = (vec![f32::NAN; n], row.clone());
            let total = exp_sum(&row, 2.5, &mut out);
            assert_eq!((&out, total), (&expected, sum(&expected, |x| x)), "{n}");
            assert_eq!((exp_in_place(&mut own, 2.5), own), (total, expected), "{n}");
        }
    }

    #[test]
    fn rows_in_parallel_are_all_visited() {
        let x: Vec<u32> = (0..100_000).collect();
        let mut out = vec![0u32; 50_000];
        for_rows(&x, 2, &mut out, 1, |i, x, out| out[0] = x[0] + x[1] - i as u32);
        assert!(out.iter().enumerate().all(|(i, &y)| y == 3 * i as u32 + 1));
        let by_row = |i: usize, x: &[u32], out: &mut [u32]| out[0] = x[0] + x[1] - i as u32;
        let mut again = vec![0u32; 50_000];
        for_rows_vectorized(&x, 2, &mut again, 1, by_row);
        assert_eq!(again, out);
    }
}

mod spread {
    use oxport_ops::support::linear_backward::{Axis, spread};
    use oxport_tensor::Layout;
    use oxport_tensor::{Tensor, TensorMut};

    #[test]
    fn shares_are_added_up() {
        let grad = Tensor::from_vec(&[2, 3], vec![1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        let mut out = TensorMut::empty(grad.dtype(), Layout::contiguous(&[1, 2]).unwrap()).unwrap();
        let rows = Axis { size: 1, shares: vec![vec![(0, 1.0f32)], vec![(0, 0.5)]] };
        let columns = Axis { size: 2, shares: vec![vec![(0, 1.0)], vec![(0, 1.0), (1, 1.0)], vec![]] };
        spread(&grad, &[rows, columns], &mut out).unwrap();
        assert_eq!(out.freeze().to_vec::<f32>().unwrap(), [1.0 + 2.0 + 2.0 + 2.5, 2.0 + 2.5]);
    }
}
