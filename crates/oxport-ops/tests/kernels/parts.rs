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
    fn rows_in_parallel_are_all_visited() {
        let x: Vec<u32> = (0..100_000).collect();
        let mut out = vec![0u32; 50_000];
        for_rows(&x, 2, &mut out, 1, |i, x, out| out[0] = x[0] + x[1] - i as u32);
        assert!(out.iter().enumerate().all(|(i, &y)| y == 3 * i as u32 + 1));
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
