//! Counts that come from arguments: closed forms, PyTorch's answers where nothing is left to do, and refusals before
//! anything is built.

use crate::trial::check;
use oxport_ir::{Arg, Args, Fake, Meta, MetaCx};
use oxport_sym::{Expr, ShapeEnv};
use oxport_tensor::DType;

#[test]
fn counts_have_closed_forms() {
    check(&[
        ("tril_indices", "3, 9223372036854775807, -1", "i64[2, 3] 1 2 2 0 0 1"),
        ("tril_indices", "4, 2, 0", "i64[2, 7] 0 1 1 2 2 3 3 0 0 1 0 1 0 1"),
        ("tril_indices", "2, 3, -5", "i64[2, 0]"),
        ("triu_indices", "9223372036854775807, 3, 1", "i64[2, 3] 0 0 1 1 2 2"),
        ("triu_indices", "2, 2, -9223372036854775808", "i64[2, 4] 0 0 1 1 0 1 0 1"),
        ("tril_indices", "9223372036854775807, 9223372036854775807", "error"),
        ("combinations", "f32[1, 2], 1000000000000", "f32[0, 1000000000000]"),
        ("combinations", "f32[], 9223372036854775807, True", "f32[0, 9223372036854775807]"),
        ("combinations", "f32[1, 2], 9223372036854775807, True", "error"),
        ("combinations", "i64[1, 2, 3, 4], 3", "i64[4, 3] 1 2 3 1 2 4 1 3 4 2 3 4"),
        // PyTorch's kernel has the order as a C int, and Hermite polynomials up to a degree.
        ("polygamma", "9223372036854775807, f32[1, 2]", "f32[2] nan nan"),
        ("special_hermite_polynomial_he.n_scalar", "f32[0.5, 2], 1000000000", "f32[2] nan nan"),
        ("special_hermite_polynomial_h.n_scalar", "f64[0, 0], 129", "f64[2] 0 0"),
    ]);
}

#[test]
fn work_from_arguments_is_refused() {
    check(&[
        ("mvlgamma", "f32[5, 6, 7], 4611686018427387904", "error"),
        ("special_multigammaln", "f32[5, 6, 7], 4294967296", "error"),
        ("chunk", "f32[], 100000000000", "error"),
        ("unsafe_chunk", "f32[], 100000000000", "error"),
        ("tensor_split.sections", "f32[1, 2], 9223372036854775807", "error"),
        ("hsplit.int", "f32[], 1099511627776", "error"),
        ("vsplit.int", "f32[[1, 2], [3, 4]], 9223372036854775807", "error"),
        ("repeat_interleave.Tensor", "i64[1, 9223372036854775807]", "error"),
        ("repeat_interleave.Tensor", "i64[4611686018427387904, 4611686018427387904, 9]", "error"),
        ("bincount", "i64[9223372036854775806]", "error"),
    ]);
}

#[test]
fn parts_of_tensors_that_have_no_elements_are_counted_first() {
    let parts = |op: &str, arguments: &[i64]| {
        let op = oxport_ops::registry().implemented(op).unwrap();
        let mut values = vec![Arg::<Meta>::Tensor(Fake::new(DType::F32, [0i64, 1 << 40].map(Expr::from)))];
        values.extend(arguments.iter().map(|&n| Arg::Int(n.into())));
        let (env, def) = (ShapeEnv::new(), op.def().unwrap());
        let refused = (def.meta)(&Args::new(&values, &op, &MetaCx::new(&env))).unwrap_err();
        assert!(refused.is_unsupported() && refused.to_string().contains("results, more than 16384"), "{refused}");
    };
    parts("aten::unbind.int", &[1]);
    parts("aten::unbind_copy.int", &[1]);
    parts("aten::split.Tensor", &[1, 1]);
    parts("aten::chunk", &[1 << 30, 1]);
}

#[test]
fn operands_of_kernels_that_make_their_results_must_fit() {
    check(&[
        ("bincount", "i64[1, 1], f32[], 6", "error"),
        ("bincount", "i64[], f32[1, 2], 3", "i64[3] 0 0 0"),
        ("bincount", "i64[1, 1], f32[2, 3], 3", "f32[3] 0 5 0"),
        (
            "_embedding_bag_per_sample_weights_backward",
            "f32[[1]], f32[[2], [3]], i64[0, 1], i64[0], i64[0, 5], 0",
            "error",
        ),
    ]);
}

#[test]
fn regions_far_beyond_their_image_end() {
    let boxes = ["0, nan, 0, 4, 4", "0, -1e18, -1e18, 1e18, 1e18", "0, 0, 0, inf, inf", "0, -3e9, 0, 3e9, 4"];
    for aligned in ["True", "False"] {
        for region in boxes {
            let call = format!("f32[[[[1, 2], [3, 4]]]], f32[[{region}]], 1.0, 1, 1, -1, {aligned}");
            let got = crate::trial::call("torchvision::roi_align", &call);
            assert!(got.starts_with("f32[1, 1, 1, 1] "), "{region}: {got}");
        }
    }
    let many =
        crate::trial::call("torchvision::roi_align", "f32[[[[1]]]], f32[[0, 0, 0, 1, 1]], 1.0, 1, 1, 2000000000, True");
    assert!(many.contains("the most is 1024"), "{many}");
}
