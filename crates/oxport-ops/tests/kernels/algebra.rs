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

/// What PyTorch 2.15 gives on the CPU (x86-64, MKL), to four digits: signs are LAPACK's.
mod vectors_of_small_matrices {
    #[test]
    fn have_the_signs_that_pytorch_gives() {
        let rows = [
            (
                "linalg_svd",
                "f32[[-3, 1, 0], [-5, 0, 0], [4, -1, 0]], False",
                "-0.4357 0.5657 0.7001 -0.6931 -0.7071 0.1400 0.5743 -0.4243 0.7001 7.1414 1.0000 0.0000 \
                0.9899 -0.1414 0.0000 0.1414 0.9899 0.0000 0.0000 0.0000 1.0000",
            ),
            (
                "linalg_svd",
                "f32[[-1, 4, 4], [-1, -5, -3], [-1, -3, 1], [-1, -1, 5]], False",
                "-0.6597 -0.0445 -0.7502 0.6543 -0.3080 -0.5571 0.1607 -0.5437 -0.1090 -0.3329 -0.7795 \
                0.3390 8.6040 5.5401 1.1305 0.0207 -0.7043 -0.7096 0.3025 0.6809 -0.6670 0.9529 -0.2009 \
                0.2271",
            ),
            (
                "linalg_svd",
                "f32[[1, -4, -3], [3, 1, 5], [5, -5, 2], [-4, 0, -1], [-2, 5, -4]], False",
                "-0.1473 0.6937 -0.1913 -0.3472 -0.6642 -0.0402 -0.6656 0.2139 -0.2252 0.2811 0.1689 0.6856 \
                0.5794 -0.0578 -0.6641 10.7403 6.9114 3.7254 -0.6331 0.6021 -0.4864 -0.1142 -0.6942 \
                -0.7107 -0.7656 -0.3944 0.5083",
            ),
            (
                "linalg_svd",
                "f32[[3, -1, 1, -2], [-4, -4, 2, 3], [0, 4, 3, -3]], False",
                "0.2569 0.3076 -0.9162 -0.7840 -0.4881 -0.3836 0.5652 -0.8168 -0.1158 7.9138 4.5568 3.2569 \
                0.4936 0.6495 0.0486 -0.5763 0.6309 -0.3561 -0.6845 0.0814 -0.3728 0.6103 -0.6235 0.3159",
            ),
            (
                "linalg_svd",
                "f32[[5, 2, 5, 3], [0, 2, -1, 2]], False",
                "0.9958 -0.0914 0.0914 0.9958 7.9661 2.9225 0.6250 0.2730 0.6136 0.3980 -0.1564 0.6189 \
                -0.4972 0.5876",
            ),
            (
                "linalg_eigh",
                r#"f32[[2, 0, 0], [1, -3, 0], [4, 2, 1]], "L""#,
                "-3.9484 -2.0641 6.0125 -0.1922 -0.6718 0.7154 -0.8460 0.4828 0.2261 0.4973 0.5618 0.6611",
            ),
            (
                "linalg_eigh",
                r#"f32[[3, -1, 1, -2], [-4, -4, 2, 3], [0, 4, 3, -3], [4, 1, 4, 2]], "U""#,
                "-6.2702 0.7121 2.7176 6.8405 0.0366 -0.6222 0.5932 -0.5096 0.8496 -0.3784 -0.3478 0.1182 \
                -0.3219 -0.2393 -0.7189 -0.5677 -0.4161 -0.6422 -0.1018 0.6357",
            ),
            (
                "linalg_svd",
                "f64[[-1, 4, 4, -1], [-1, -5, -3, 5], [-1, -3, 1, 0], [-1, -1, 5, -5]], False",
                "-0.4726 0.2514 0.8447 0.0000 0.6891 -0.3461 0.4885 0.4082 0.0723 -0.5367 0.2002 -0.8165 \
                -0.5446 -0.7273 -0.0882 0.4082 10.6264 5.9041 3.0368 0.0000 0.0241 -0.4713 -0.6219 0.6250 \
                0.2301 0.8593 -0.3607 0.2803 -0.4759 0.1396 0.5506 0.6715 0.8485 -0.1414 0.4243 0.2828",
            ),
            (
                "linalg_svd",
                "f64[[1, -4], [3, 1], [5, -5], [-4, 0], [-2, 5], [0, -1]], False",
                "-0.3747 0.3601 -0.1168 -0.5896 -0.7111 -0.1264 0.2590 0.6149 0.5169 -0.3348 -0.0775 0.1285 \
                9.9036 4.9918 -0.6412 0.7674 -0.7674 -0.6412",
            ),
            (
                "linalg_eigh",
                r#"f64[[3, -1, 1, -2], [-4, -4, 2, 3], [0, 4, 3, -3], [4, 1, 4, 2]], "L""#,
                "-7.2763 -3.0912 6.1140 8.2535 0.3912 0.3979 -0.7107 -0.4284 0.8647 -0.1174 0.4760 -0.1090 \
                -0.2820 0.5520 0.5122 -0.5944 -0.1403 -0.7233 -0.0772 -0.6717",
            ),
            (
                "linalg_eigh",
                r#"f64[[1, -4, -3], [3, 1, 5], [5, -5, 2]], "U""#,
                "-3.8791 -1.5337 9.4128 -0.3438 0.7906 -0.5067 -0.7946 0.0426 0.6056 0.5004 0.6109 0.6136",
            ),
            (
                "linalg_svd",
                "f32[[2, 0, 0], [0, -3, 0], [0, 0, 1]], True",
                "0.0000 1.0000 0.0000 1.0000 0.0000 0.0000 0.0000 0.0000 1.0000 3.0000 2.0000 1.0000 0.0000 \
                -1.0000 0.0000 1.0000 0.0000 0.0000 0.0000 0.0000 1.0000",
            ),
        ];
        for (op, arguments, want) in rows {
            let got = crate::trial::call(&format!("aten::{op}"), arguments);
            let tensors = got.split("; ").map(|tensor| tensor.rsplit_once([']', '}']).expect("sizes, then numbers").1);
            let got: Vec<f64> = tensors.flat_map(str::split_whitespace).map(|x| x.parse().expect("a number")).collect();
            let want: Vec<f64> = want.split_whitespace().map(|x| x.parse().expect("a number")).collect();
            let is_near = got.iter().zip(&want).all(|(got, want)| (got - want).abs() < 1e-4);
            assert!(got.len() == want.len() && is_near, "{op}({arguments})\n got {got:?}\nwant {want:?}");
        }
    }
}
