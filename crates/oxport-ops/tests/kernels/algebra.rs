//! Linear algebra: tables of text, and laws of the factors.

mod grouped {
    #[test]
    fn groups_of_rows_columns_and_inner_sizes() {
        crate::trial::check(&[
            (
                "_grouped_mm",
                "f32[[1, 2], [3, 4], [5, 6]], f32[[[1], [1]], [[2], [0]]], i32[2, 3]",
                "f32[3, 1]{4, 1} 3 7 10",
            ),
            ("_grouped_mm", "f32[[1, 2, 3]], f32[[1], [10], [100]], i32[1, 3]", "f32[2, 1, 1]{4, 4, 1} 1 320"),
            ("_grouped_mm", "f32[[[1]], [[2]]], f32[[1, 2, 3]], i32[1, 3]", "f32[1, 3] 1 4 6"),
            ("_grouped_mm", "f32[[1, 2]], f32[[[1], [1]], [[2], [0]]], i32[0, 1]", "f32[1, 1] 2"),
            ("_grouped_mm", "f32[[1, 2]], f32[[[1], [1]], [[2], [0]]], i32[1, 0]", "error"),
            ("_grouped_mm", "f32[[1, 2]], f32[[[1], [1]], [[2], [0]]], i32[1, 2]", "error"),
            ("_grouped_mm", "f32[[[1]], [[2]]], f32[[[3]], [[4]]]", "f32[2, 1, 1]{4, 4, 1} 3 8"),
        ]);
    }
}

mod linalg_cholesky {
    #[test]
    fn factors_and_solutions() {
        crate::trial::check(&[
            ("linalg_cholesky", "f32[[4, 99], [2, 10]]", "f32[2, 2]{1, 2} 2 0 1 3"),
            ("linalg_cholesky", "f32[[4, 2], [99, 10]], upper=True", "f32[2, 2]{1, 2} 2 1 0 3"),
            ("linalg_cholesky", "f32[[4, 2], [2, 1]]", "error"),
            ("linalg_cholesky_ex", "f32[[[4]], [[0]]]", "f32[2, 1, 1] 2 0; i32[2] 0 1"),
            ("cholesky_solve", "f32[[6], [12]], f32[[2, 9], [1, 3]]", "f32[2, 1] 1 1"),
            ("cholesky_inverse", "f32[[2, 0], [0, 4]], True", "f32[2, 2]{1, 2} 0.25 0 0 0.0625"),
        ]);
    }
}

mod linalg_cross {
    #[test]
    fn powers() {
        crate::trial::check(&[
            ("linalg_vander", "i32[2, 3]", "i64[2, 2] 1 2 1 3"),
            ("vander", "f32[2, 3], 3", "f32[2, 3] 4 2 1 9 3 1"),
            ("vander", "b8[True, False], 2, True", "i64[2, 2] 1 1 1 0"),
            ("linalg_vander", "f32[2, 3], N=1", "error"),
        ]);
    }
}

mod linalg_eig {
    use num_complex::Complex;
    use oxport_ops::linalg::eig::{eig, eigh, mirrored};
    use oxport_ops::linalg::matrices::Mat;

    #[test]
    fn values_of_one_triangle() {
        crate::trial::check(&[
            ("linalg_eigvalsh", "f32[[2, 99], [0, -3]]", "f32[2] -3 2"),
            ("_linalg_eigh", "f32[[2, 0], [99, -3]], \"U\", False", "f32[2] -3 2; f32[0]"),
            ("linalg_eigvalsh", "f32[[nan]]", "error"),
        ]);
    }

    #[test]
    fn vectors_are_stretched_by_their_values() {
        let a = Mat::by(4, 4, |i, j| ((3 * i + 5 * j) % 7) as f64 - 2.0);
        let (values, vectors) = eig(&a).unwrap();
        let a = Mat::by(4, 4, |i, j| Complex::new(a[(i, j)], 0.0));
        let stretched = a.times(&vectors);
        for (j, value) in values.iter().enumerate() {
            let error = stretched.column(j).iter().zip(vectors.column(j)).map(|(a, v)| (a - v * value).norm());
            assert!(error.fold(0.0, f64::max) < 1e-10);
            assert!((vectors.column(j).iter().map(|x| x.norm_sqr()).sum::<f64>() - 1.0).abs() < 1e-12);
        }
        assert!(values.iter().any(|v| v.im != 0.0), "{values:?}");
        let symmetric = mirrored(&Mat::by(4, 4, |i, j| (i * j) as f64 + 1.0), false);
        let (values, vectors) = eigh(&symmetric).unwrap();
        let again = vectors.clone().scaled_columns(&values).times(&vectors.adjoint());
        assert!(again.data.iter().zip(&symmetric.data).all(|(a, b)| (a - b).abs() < 1e-12));
    }
}

mod linalg_function {
    use oxport_ops::linalg::function::exponential;
    use oxport_ops::linalg::matrices::Mat;

    #[test]
    fn roots_and_exponentials() {
        crate::trial::check(&[
            ("linalg_matrix_exp", "f32[[0, 0], [3, 0]]", "f32[2, 2] 1 0 3 1"),
            ("linalg_matrix_exp", "f16[[1]]", "f16[1, 1] 2.71875"),
            ("linalg_matrix_sqrth", "f32[[4, 99], [0, -9]]", "f32[2, 2] 2 0 0 0"),
            ("linalg_polar", "f32[[-3]]", "f32[1, 1] -1; f32[1, 1] 3"),
        ]);
    }

    #[test]
    fn the_exponential_of_a_rotation() {
        for angle in [0.3, 2.0, 100.0f64] {
            let a = Mat { rows: 2, cols: 2, data: vec![0.0, angle, -angle, 0.0] };
            let (got, want) = (exponential(&a).data, [angle.cos(), angle.sin(), -angle.sin(), angle.cos()]);
            assert!(got.iter().zip(want).all(|(a, b)| (a - b).abs() < 1e-11), "{got:?} for {want:?}");
        }
    }
}

mod linalg_ldl {
    use num_complex::Complex;
    use oxport_ops::linalg::ldl::Ldl;
    use oxport_ops::linalg::matrices::{Field, Mat};

    #[test]
    fn factors() {
        crate::trial::check(&[
            ("linalg_ldl_factor_ex", "f64[[4, 9], [2, 3]]", "f64[2, 2]{1, 2} 4 0 0.5 2; i32[2] 1 2; i32[] 0"),
            ("linalg_ldl_factor_ex", "f64[[0, 9], [2, 0]]", "f64[2, 2]{1, 2} 0 0 2 0; i32[2] -2 -2; i32[] 0"),
            ("linalg_ldl_factor_ex", "f64[[0]]", "f64[1, 1] 0; i32[1] 1; i32[] 1"),
            ("linalg_ldl_solve", "f64[[0, 9], [2, 0]], i32[-2, -2], f64[[2], [4]]", "f64[2, 1] 2 1"),
            ("linalg_ldl_solve", "f64[[1]], i32[2], f64[[2]]", "error"),
        ]);
    }

    #[test]
    fn factors_solve_what_they_came_from() {
        let entry = |i: usize, j: usize| {
            let (low, high) = (i.min(j) as f64, i.max(j) as f64);
            let z = Complex::new((low * 7.0 + high * 3.0).sin() * 3.0, (low + high * high).cos());
            (
                z,
                if i < j {
                    z.conj()
                } else if i > j {
                    z
                } else {
                    Complex::real(z.re * 0.01)
                },
            )
        };
        for hermitian in [false, true] {
            let a = Mat::by(7, 7, |i, j| if hermitian { entry(i, j).1 } else { entry(i, j).0 });
            let x = Mat::by(7, 2, |i, j| Complex::new(i as f64, j as f64));
            let f = Ldl::of(a.clone(), hermitian);
            assert!(f.pivots.iter().any(|p| *p < 0), "a block of two is tried");
            let got = f.solve(a.times(&x)).unwrap();
            let error = got.data.iter().zip(&x.data).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max);
            assert!(error < 1e-10, "{error} (hermitian: {hermitian})");
        }
    }
}

mod linalg_lu {
    #[test]
    fn factors_and_determinants() {
        crate::trial::check(&[
            ("linalg_lu_factor_ex", "f32[[1, 2], [2, 8]]", "f32[2, 2]{1, 2} 2 8 0.5 -2; i32[2] 2 2; i32[] 0"),
            ("linalg_lu_factor_ex", "f32[[0, 0], [0, 1]]", "f32[2, 2]{1, 2} 0 0 0 1; i32[2] 1 2; i32[] 1"),
            ("linalg_lu_factor", "f32[[0, 0], [0, 1]]", "error"),
            ("linalg_lu", "f32[[1], [2]]", "f32[2, 2] 0 1 1 0; f32[2, 1] 1 0.5; f32[1, 1] 2"),
            (
                "lu_unpack",
                "f32[[2, 8], [0.5, -2]], i32[2, 2], True, False",
                "f32[0]; f32[2, 2] 1 0 0.5 1; f32[2, 2] 2 8 0 -2",
            ),
            ("linalg_lu_solve", "f32[[2, 8], [0.5, -2]], i32[2, 2], f32[[3], [10]]", "f32[2, 1] 1 1"),
            ("linalg_lu_solve", "f32[[2, 8], [0.5, -2]], i32[2, 2], f32[[3, 10]], left=False", "f32[1, 2] 1 1"),
            ("linalg_lu_solve", "f32[[2, 8], [0.5, -2]], i32[2, 2], f32[[3], [10]], adjoint=True", "f32[2, 1] 1 1"),
            ("lu_solve", "f32[[3], [10]], f32[[2, 8], [0.5, -2]], i32[7, 2]", "error"),
            ("linalg_det", "f32[[[1, 2], [2, 8]], [[0, 1], [1, 0]]]", "f32[2] 4 -1"),
            ("slogdet", "f32[[0, 0], [0, 1]]", "f32[] 0; f32[] -inf"),
            ("logdet", "f32[[[0, 1], [1, 0]], [[1, 0], [0, 1]]]", "f32[2] nan 0"),
        ]);
    }
}

mod linalg_qr {
    #[test]
    fn reflections() {
        crate::trial::check(&[
            ("linalg_qr", "f64[[3], [4]]", "f64[2, 1] -0.6000000000000001 -0.8; f64[1, 1] -5"),
            ("linalg_qr", "f64[[2, 1], [0, 3]]", "f64[2, 2]{1, 2} 1 0 0 1; f64[2, 2]{1, 2} 2 1 0 3"),
            ("linalg_qr", "f64[[3], [4]], \"r\"", "f64[0]; f64[1, 1] -5"),
            ("geqrf", "f64[[3], [4]]", "f64[2, 1] -5 0.5; f64[1] 1.6"),
            ("orgqr", "f64[[-5], [0.5]], f64[1.6]", "f64[2, 1] -0.6000000000000001 -0.8"),
            ("ormqr", "f64[[-5], [0.5]], f64[1.6], f64[[-5], [0]]", "f64[2, 1] 3 4"),
            ("ormqr", "f64[[-5], [0.5]], f64[1.6], f64[[3, 4]], False, True", "f64[1, 2] -5 0"),
        ]);
    }
}

mod linalg_rank {
    #[test]
    fn ranks_and_inverses() {
        crate::trial::check(&[
            ("linalg_matrix_rank.atol_rtol_float", "f32[[1, 2], [2, 4]]", "i64[] 1"),
            ("linalg_matrix_rank.tol_tensor", "f32[[4, 0], [0, 1]], f32[0.5, 2, 5]", "i64[3] 2 1 0"),
            ("linalg_matrix_rank", "f32[[0, 9], [2, 0]], 0.5, True", "i64[] 2"),
            ("linalg_pinv", "f32[[4, 0], [0, 1], [0, 0]], 0.5", "f32[2, 3] 0.25 0 0 0 0 0"),
            ("linalg_pinv.atol_rtol_float", "f32[[-4, 9], [0, 1]], atol=2, hermitian=True", "f32[2, 2] -0.25 0 0 0"),
            (
                "linalg_lstsq",
                "f32[[2], [0]], f32[[6], [5]], driver=\"gelsd\"",
                "f32[1, 1] 3; f32[1] 25; i64[] 1; f32[1] 2",
            ),
            (
                "linalg_lstsq",
                "f32[[0], [0]], f32[[6], [5]], driver=\"gelsd\"",
                "f32[1, 1] 0; f32[0]; i64[] 0; f32[1] 0",
            ),
            ("linalg_lstsq", "f32[[2], [0]], f32[6, 5]", "f32[1] 3; f32[0]; i64[] 1; f32[0]"),
        ]);
    }
}

mod linalg_solve {
    #[test]
    fn systems_and_inverses() {
        crate::trial::check(&[
            ("linalg_solve", "f32[[2, 0], [1, 4]], f32[2, 9]", "f32[2] 1 2"),
            ("linalg_solve", "f32[[2, 0], [1, 4]], f32[[4, 8]], left=False", "f32[1, 2] 1 2"),
            ("linalg_solve", "f32[[1, 1], [1, 1]], f32[2, 9]", "error"),
            ("linalg_solve", "f32[[2, 0], [1, 4]], f32[[[2], [9]], [[4], [2]]]", "f32[2, 2, 1] 1 2 2 0"),
            ("linalg_solve_ex", "f32[[0]], f32[1]", "f32[1] inf; i32[] 1"),
            (
                "_linalg_solve_ex",
                "f32[[1, 2], [2, 8]], f32[3, 10]",
                "f32[2] 1 1; f32[2, 2]{1, 2} 2 8 0.5 -2; i32[2] 2 2; i32[] 0",
            ),
            ("linalg_inv", "f32[[2, 0], [1, 4]]", "f32[2, 2]{1, 2} 0.5 0 -0.125 0.25"),
            ("inverse", "f32[[0, 0], [1, 4]]", "error"),
            ("linalg_inv_ex", "f32[[0]]", "f32[1, 1] inf; i32[] 1"),
            ("linalg_tensorinv", "f32[[2, 0], [1, 4]], 1", "f32[2, 2]{1, 2} 0.5 0 -0.125 0.25"),
            ("linalg_tensorsolve", "f32[[2, 0], [1, 4]], f32[2, 9]", "f32[2] 1 2"),
        ]);
    }
}

mod linalg_svd {
    use num_complex::Complex;
    use oxport_ops::linalg::matrices::Mat;
    use oxport_ops::linalg::svd::svd;

    #[test]
    fn values_and_shapes() {
        crate::trial::check(&[
            ("linalg_svdvals", "f32[[3, 0], [0, -4], [0, 0]]", "f32[2] 4 3"),
            ("linalg_svdvals", "f32[[3, inf]]", "error"),
            ("_linalg_svd", "f32[[3, 4]], False, False", "f32[0]; f32[1] 5; f32[0]"),
            ("svd", "f32[[3, 4]], True, False", "f32[1, 1] 0; f32[1] 5; f32[2, 2] 0 0 0 0"),
        ]);
    }

    #[test]
    fn vectors_give_the_matrix() {
        for (m, n, full) in [(4, 3, true), (3, 4, false), (3, 3, true)] {
            let a = Mat::by(m, n, |i, j| Complex::new((i * 3 + j) as f64 % 5.0, (i + 2 * j) as f64 % 3.0));
            let (u, s, v) = svd(&a, full).unwrap();
            assert_eq!((u.cols, v.rows), if full { (m, n) } else { (3, 3) });
            let k = s.len();
            let v = v.adjoint().first_columns(k).adjoint();
            let again = u.first_columns(k).scaled_columns(&s).times(&v);
            assert!(again.data.iter().zip(&a.data).all(|(a, b)| (a - b).norm() < 1e-12));
        }
    }
}

mod linalg_triangular {
    #[test]
    fn substitution() {
        crate::trial::check(&[
            ("linalg_solve_triangular", "f32[[2, 0], [1, 4]], f32[[2], [9]], upper=False", "f32[2, 1] 1 2"),
            ("linalg_solve_triangular", "f32[[2, 1], [9, 4]], f32[[2, 9]], upper=True, left=False", "f32[1, 2] 1 2"),
            ("linalg_solve_triangular", "f32[[0, 0], [1, 1]], f32[[1], [1]], upper=False", "f32[2, 1] inf -inf"),
            (
                "triangular_solve",
                "f32[[2], [9]], f32[[2, 1], [0, 4]], True, True",
                "f32[2, 1] 1 2; f32[2, 2]{1, 2} 2 1 0 4",
            ),
            ("linalg_solve_triangular", "f32[[1]], f64[[1]], upper=True", "error"),
        ]);
    }
}
