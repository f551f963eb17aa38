//! Kernels that compute element by element, reduce, sort and move, by tables of text.

mod advanced {
    #[test]
    fn indexes_by_tensors_and_masks() {
        crate::trial::check(&[
            ("index.Tensor", "f32[[1, 2, 3], [4, 5, 6]], [i64[1, -1]]", "f32[2, 3] 4 5 6 4 5 6"),
            ("index.Tensor", "f32[[1, 2, 3], [4, 5, 6]], [None, i64[[2], [0]]]", "f32[2, 2, 1] 3 1 6 4"),
            (
                "index.Tensor",
                "i64[[[0, 1], [2, 3]], [[4, 5], [6, 7]]], [i64[0, 1], None, i64[1, 0]]",
                "i64[2, 2] 1 3 4 6",
            ),
            (
                "index.Tensor",
                "f32[[1, 2, 3], [4, 5, 6]], [b8[[True, False, True], [False, False, True]]]",
                "f32[3] 1 3 6",
            ),
            (
                "index_put",
                "f32[[1, 2, 3], [4, 5, 6]], [i64[0, 0]], f32[[1, 1, 1], [2, 2, 2]], True",
                "f32[2, 3] 4 5 6 4 5 6",
            ),
            ("index_put", "f32[[1, 2, 3], [4, 5, 6]], [b8[True, False]], f32 9", "f32[2, 3] 9 9 9 4 5 6"),
            ("index.Tensor", "f32[1, 2], [i64[2]]", "error"),
        ]);
    }
}

mod sums {
    /// A product of floats is added without rounding in between: here 2⁻²⁴ is left.
    #[test]
    fn factors_are_fused() {
        const LEFT: &str = "f32[1] 0.000000014901161193847656";
        crate::trial::check(&[
            (
                "add.Tensor",
                "f32[-1.00048828125], f32[1.000244140625], alpha=1.000244140625",
                "f32[1] 0.00000005960464477539063",
            ),
            (
                "sub.Tensor",
                "f32[1.00048828125], f32[1.000244140625], alpha=1.000244140625",
                "f32[1] -0.00000005960464477539063",
            ),
            (
                "rsub.Tensor",
                "f32[1.000244140625], f32[1.00048828125], alpha=1.000244140625",
                "f32[1] -0.00000005960464477539063",
            ),
            (
                "addcmul",
                "f32[-1.00048828125], f32[1.000244140625], f32[1.000244140625]",
                "f32[1] 0.00000005960464477539063",
            ),
            ("lerp.Scalar", "f32[-0.2501220703125], f32[0.7501220703125], 0.25006103515625", LEFT),
            ("add.Tensor", "u8[200], u8[30], alpha=2", "u8[1] 4"),
            ("sub.Tensor", "u8[1], u8[2], alpha=3", "u8[1] 251"),
        ]);
    }
}

mod strides {
    use oxport_ir::fake::Dims;
    use oxport_ir::{Fake, MetaCx};
    use oxport_ops::support::meta::pointwise_strides;
    use oxport_sym::{Expr, ShapeEnv};
    use oxport_tensor::DType;

    /// The strides are PyTorch's.
    #[test]
    fn dimensions_of_one_keep_theirs_in_volumes() {
        let env = ShapeEnv::new();
        for (sizes, strides, kept) in [
            (&[2, 8, 1, 4, 5][..], &[160, 1, 8, 40, 8][..], &[160, 1, 8, 40, 8][..]),
            (&[2, 8, 1, 5], &[40, 1, 8, 8], &[40, 1, 40, 8]),
        ] {
            let dims = |numbers: &[i64]| numbers.iter().map(|&n| Expr::from(n)).collect::<Dims>();
            let x = Fake { strides: dims(strides), ..Fake::new(DType::F32, dims(sizes)) };
            assert_eq!(pointwise_strides(&MetaCx::new(&env), &x.sizes, &[&x]), dims(kept), "{sizes:?}");
        }
    }
}

mod bounds {
    /// Numbers beyond the integers of a dtype bound nothing; PyTorch refuses those that leave nothing.
    #[test]
    fn numbers_beyond_a_dtype() {
        crate::trial::check(&[
            ("clamp", "u8[2, 4, 5], -1, 3", "u8[3] 2 3 3"),
            ("clamp", "u8[2, 4, 5], 3, 300", "u8[3] 3 4 5"),
            ("clamp_min", "u8[2, 4, 5], -1", "u8[3] 2 4 5"),
            ("clamp_max", "u8[2, 4, 5], -1", "error"),
            ("clamp_min", "i8[2, 4, 5], 128", "error"),
            ("clamp", "i8[-128, 4, 127], -200, 200", "i8[3] -128 4 127"),
            ("clamp_max", "i32[2, 4, 5], 1099511627776", "i32[3] 2 4 5"),
            ("clamp_min", "i64[2, 4, 5], -9223372036854775808", "i64[3] 2 4 5"),
        ]);
    }
}

mod circular {
    /// What a negative padding leaves is repeated.
    #[test]
    fn cropped_and_padded() {
        crate::trial::check(&[
            ("_pad_circular", "f32[[[0, 1, 2, 3, 4]]], [-1, 1]", "f32[1, 1, 5] 1 2 3 4 1"),
            ("_pad_circular", "f32[[[0, 1, 2, 3, 4]]], [2, -1]", "f32[1, 1, 6] 2 3 0 1 2 3"),
            ("_pad_circular", "f32[[[0, 1, 2, 3, 4]]], [1, 2]", "f32[1, 1, 8] 4 0 1 2 3 4 0 1"),
        ]);
    }
}

mod bins {
    #[test]
    fn finds_places_and_counts() {
        crate::trial::check(&[
            ("searchsorted.Tensor", "f32[1, 3, 5], f32[3, nan, 0]", "i64[3] 1 3 0"),
            ("searchsorted.Tensor", "f32[1, 3, 5], f16[3, nan, 0]", "i64[3] 1 3 0"),
            ("searchsorted.Tensor", "f16[1, 1.0001], f32[1.0001]", "i64[1] 2"),
            ("searchsorted.Tensor", "f32[1, 3, 5], f32[3, nan, 0], right=True, out_int32=True", "i32[3] 2 3 0"),
            ("bucketize.Tensor", "i64[1, 4], f32[1.5, 4]", "i64[2] 0 1"),
            ("histc", "f32[1, 2, 3, 3], 2, 0, 3", "f32[2] 1 3"),
            ("bincount", "i64[1, 2, 2], f32[0.5, 1, 2], 4", "f32[4] 0 0.5 3 0"),
            ("isin.Tensor_Tensor", "i64[1, 2, 3], i64[2], invert=True", "b8[3] 1 0 1"),
        ]);
    }
}

mod losses {
    #[test]
    fn cross_entropy_is_of_probabilities() {
        crate::trial::check(&[
            ("binary_cross_entropy", "f32[0], f32[1]", "f32[] 100"),
            ("binary_cross_entropy", "f32[0.5, nan], f32[1, 0]", "error"),
            ("binary_cross_entropy", "f32[0.5], f32[2]", "error"),
        ]);
    }
}

mod choose {
    #[test]
    fn counts_and_lists_choices() {
        crate::trial::check(&[
            ("combinations", "i64[1, 2, 3], 2, True", "i64[6, 2] 1 1 1 2 1 3 2 2 2 3 3 3"),
            ("combinations", "i64[1, 2, 3]", "i64[3, 2] 1 2 1 3 2 3"),
        ]);
    }
}

mod embed {
    #[test]
    fn writes_parts_and_diagonals() {
        crate::trial::check(&[
            ("select_scatter", "f32[[1, 2, 3], [4, 5, 6]], f32[8, 9], 1, -1", "f32[2, 3] 1 2 8 4 5 9"),
            ("slice_scatter", "i64[1, 2, 3, 4], i64[8, 9], 0, 0, 9223372036854775807, 2", "i64[4] 8 2 9 4"),
            ("diagonal_scatter", "i64[[1, 2], [3, 4]], i64[8], 1", "i64[2, 2] 1 8 3 4"),
            ("as_strided_scatter", "i64[1, 2, 3, 4], i64[8, 9], [2], [2], 1", "i64[4] 1 8 3 9"),
            ("diag", "i64[1, 2], -1", "i64[3, 3] 0 0 0 1 0 0 0 2 0"),
            ("diag", "i64[[1, 2], [3, 4]], 1", "i64[1] 2"),
            ("diag_embed", "i64[[1, 2]], 0, 0, 2", "i64[2, 1, 2] 1 0 0 2"),
            ("tril", "f32[[1, 2, 3], [4, 5, 6]]", "f32[2, 3] 1 0 0 4 5 0"),
            ("triu", "f32[[1, 2, 3], [4, 5, 6]], 1", "f32[2, 3] 0 2 3 0 0 6"),
        ]);
    }
}

mod edges {
    #[test]
    fn round_where_pytorch_rounds() {
        crate::trial::check(&[
            ("sinc", "f32[7, 0]", "f32[2] -0.00000006035224231482061 1"),
            ("special_ndtr", "f32[-4.28, 0]", "f32[2] 0.000009357929229736328 0.5"),
        ]);
    }
}

mod extreme {
    #[test]
    fn nan_wins_and_the_first_of_equals() {
        crate::trial::check(&[
            ("amax", "f32[[1, nan], [2, 3]], [1]", "f32[2] nan 3"),
            ("amin", "i64[5, 3, 4], []", "i64[] 3"),
            ("max.dim", "f32[[1, 3, 3], [nan, 5, nan]], 1", "f32[2] 3 nan; i64[2] 1 0"),
            ("min.dim", "b8[[True, False]], 1, True", "b8[1, 1] 0; i64[1, 1] 1"),
            ("argmax", "f32[[1, 2, 3], [4, 5, 6]]", "i64[] 5"),
            ("argmin", "i64[[2, 1, 1]], 1, True", "i64[1, 1] 1"),
            ("aminmax", "f32[[1, 2, 3], [4, 5, 6]], dim=0", "f32[3] 1 2 3; f32[3] 4 5 6"),
        ]);
    }
}

mod histogram {
    #[test]
    fn counts_between_edges() {
        crate::trial::check(&[
            ("histogram.bin_ct", "f32[1, 2, 1], 4, range=[0.0, 3.0]", "f32[4] 0 2 1 0; f32[5] 0 0.75 1.5 2.25 3"),
            (
                "histogram.bins_tensor",
                "f32[1, 2, 3, nan], f32[1, 2, 3], density=True",
                "f32[2] 0.3333333432674408 0.6666666865348816; f32[3] 1 2 3",
            ),
        ]);
    }
}

mod histogramdd {
    #[test]
    fn counts_in_boxes() {
        crate::trial::check(&[
            ("_histogramdd_from_bin_cts", "f32[[0, 0], [1, 1], [1, 0]], [2, 2]", "f32[2, 2] 1 0 1 1"),
            (
                "_histogramdd_from_bin_tensors",
                "f32[[0, 0], [1, 1], [5, 0]], [f32[0, 1], f32[0, 0.5, 1]]",
                "f32[1, 2] 1 1",
            ),
        ]);
    }
}

mod index {
    #[test]
    fn reads_by_indices() {
        crate::trial::check(&[
            ("gather", "f32[[1, 2, 3], [4, 5, 6]], 1, i64[[2, 0], [1, 1]]", "f32[2, 2] 3 1 5 5"),
            ("gather", "f32[1, 2], 0, i64[-1]", "error"),
            ("gather", "f32[1, 2], 0, u8[]", "f32[0]"),
            ("take", "f32[[1, 2, 3], [4, 5, 6]], i64[-1, 0]", "f32[2] 6 1"),
            ("index_select", "f32[[1, 2, 3], [4, 5, 6]], 1, i64[2, 2]", "f32[2, 2] 3 3 6 6"),
        ]);
    }
}

mod join {
    #[test]
    fn joins_as_pytorch_does() {
        crate::trial::check(&[
            ("cat", "[f32[[1, 2]], f32[[3, 4], [5, 6]]], 0", "f32[3, 2] 1 2 3 4 5 6"),
            ("cat", "[f32[], i64[1, 2]], 0", "f32[2] 1 2"),
            ("cat", "[f32[1], i64[1, 2]]", "f32[3] 1 1 2"),
            ("stack", "[i64[1, 2], i64[3, 4]], -1", "i64[2, 2] 1 3 2 4"),
            ("hstack", "[f32[[1], [2]], f32[[3, 4], [5, 6]]]", "f32[2, 3] 1 3 4 2 5 6"),
            ("vstack", "[f32 1, f32[2]]", "f32[2, 1] 1 2"),
            ("column_stack", "[i64[1, 2], i64[[3], [4]]]", "i64[2, 2] 1 3 2 4"),
            ("block_diag", "[i64[[1, 2]], i64 3]", "i64[2, 3] 1 2 0 0 0 3"),
        ]);
    }
}

mod masked {
    #[test]
    fn finds_and_writes_what_is_true() {
        crate::trial::check(&[
            ("nonzero", "i64[[1, 0], [0, 1], [1, 1]]", "i64[4, 2]{1, 4} 0 0 1 1 2 0 2 1"),
            ("where", "i64[[1, 0], [0, 1]]", "[i64[2] 0 1; i64[2] 0 1]"),
            ("masked_select", "f32[[1, 2, 3], [4, 5, 6]], b8[True, False, True]", "f32[4] 1 3 4 6"),
            (
                "masked_scatter",
                "f32[[1, 2, 3], [4, 5, 6]], b8[True, False, True], f32[7, 8, 9, 10]",
                "f32[2, 3] 7 2 8 9 5 10",
            ),
            ("nonzero_static", "b8[True, False, True], size=3", "i64[3, 1] 0 2 -1"),
        ]);
    }
}

mod moments {
    #[test]
    fn spreads_and_norms() {
        crate::trial::check(&[
            ("var", "f32[1, 2, 4]", "f32[] 2.3333332538604736"),
            ("std.correction", "f32[[1, 3]], [1], correction=0", "f32[1] 1"),
            ("var_mean.correction", "f32[[1, 3], [2, 2]], [1]", "f32[2] 2 0; f32[2] 2 2"),
            ("linalg_vector_norm", "f32[3, 4]", "f32[] 5"),
            ("linalg_vector_norm", "f32[-3, 4], inf", "f32[] 4"),
            ("linalg_vector_norm", "f32[0, 4], 0", "f32[] 1"),
            ("norm.ScalarOpt_dim", "f32[[3, 4]], 1, [1], True", "f32[1, 1] 7"),
        ]);
    }
}

mod order {
    #[test]
    fn medians_modes_quantiles() {
        crate::trial::check(&[
            ("median", "f32[4, 1, 3, 2]", "f32[] 2"),
            ("median.dim", "f32[[3, 1, 2], [nan, 1, 0]], 1", "f32[2] 2 nan; i64[2] 2 0"),
            ("nanmedian.dim", "f32[[3, 1, 2], [nan, 1, 0]], 1", "f32[2] 2 0; i64[2] 2 2"),
            ("mode", "i64[[3, 1, 3, 1]]", "i64[1] 1; i64[1] 3"),
            ("mode", "i64[0, 4, 4, 0, 4, 5, 1, 5, 5, 1, 0, 0, 2, 0, 0, 3, 1, 1, 3, 1], 0", "i64[] 0; i64[] 10"),
            ("quantile.scalar", "f32[1, 2, 4], 0.75", "f32[] 3"),
            ("quantile", "f32[[1, 2], [nan, 4]], f32[0, 0.5], 1", "f32[2, 2]{1, 2} 1 nan 1.5 nan"),
        ]);
    }
}

mod reduce {
    #[test]
    fn reduces_as_pytorch_does() {
        crate::trial::check(&[
            ("sum.dim_IntList", "f32[[1, 2, 3], [4, 5, 6]], [0, -1]", "f32[] 21"),
            ("sum.dim_IntList", "f32[[1, 2, 3], [4, 5, 6]], [1], True", "f32[2, 1] 6 15"),
            ("sum", "b8[True, True, False]", "i64[] 2"),
            ("sum", "u8[200, 100]", "i64[] 300"),
            ("sum", "f32[1.5, 2.5], dtype=int64", "i64[] 3"),
            ("prod.dim_int", "f32[[1, 2, 3], [4, 5, 6]], 0", "f32[3] 4 10 18"),
            ("mean.dim", "f32[[1, 2, 3], [4, 5, 6]], [1], True", "f32[2, 1] 2 5"),
            ("mean", "i64[1]", "error"),
            ("nansum", "f32[1, nan, 2]", "f32[] 3"),
            ("nanmean", "f32[1, nan, 2]", "f32[] 1.5"),
            ("all.dim", "i64[[1, 0], [1, 1]], 1", "b8[2] 0 1"),
            ("any", "u8[0, 3]", "u8[] 1"),
            ("any.dims", "i64[[1, 0], [1, 1]], []", "b8[2, 2] 1 0 1 1"),
            ("all", "f32[nan]", "b8[] 1"),
            ("count_nonzero", "f32[[0, 1, 2], [3, 4, 5]], 1", "i64[2] 2 3"),
            (
                "logsumexp",
                "f32[[0, 0], [-inf, -inf], [inf, 0], [nan, 0]], [1]",
                "f32[4] 0.6931471824645996 -inf inf nan",
            ),
        ]);
    }
}

mod repeat {
    #[test]
    fn repeats_and_turns() {
        crate::trial::check(&[
            ("repeat", "i64[[1, 2]], [2, 2]", "i64[2, 4] 1 2 1 2 1 2 1 2"),
            ("tile", "i64[[1, 2]], [2]", "i64[1, 4] 1 2 1 2"),
            ("repeat_interleave.self_int", "i64[[1, 2], [3, 4]], 2, 1", "i64[2, 4] 1 1 2 2 3 3 4 4"),
            ("repeat_interleave.self_Tensor", "i64[[1, 2], [3, 4]], i64[2, 0], 1", "i64[2, 2] 1 1 3 3"),
            ("repeat_interleave.Tensor", "i64[2, 0, 1]", "i64[3] 0 0 2"),
            ("flip", "i64[[1, 2], [3, 4]], [0, 1]", "i64[2, 2] 4 3 2 1"),
            ("roll", "i64[1, 2, 3, 4], [1], [0]", "i64[4] 4 1 2 3"),
            ("roll", "i64[[1, 2], [3, 4]], [1]", "i64[2, 2] 4 1 2 3"),
            ("rot90", "i64[[1, 2], [3, 4]], 1, [0, 1]", "i64[2, 2]{1, 2} 2 4 1 3"),
        ]);
    }
}

mod scan {
    #[test]
    fn scans_front_to_back() {
        crate::trial::check(&[
            ("cumsum", "i64[[1, 2], [3, 4]], 0", "i64[2, 2] 1 2 4 6"),
            ("cumsum", "b8[True, True], 0", "i64[2] 1 2"),
            ("diff", "f32[1, 4, 9, inf]", "f32[3] 3 5 inf"),
            ("diff", "f32[1, 4, 9, inf], 2", "f32[2] 2 inf"),
            ("diff", "f32[[1, 4], [9, 3]], 1, 0", "f32[1, 2] 8 -1"),
            ("diff", "f16[2048, 1, 4096], 2", "f16[1] 6144"),
            ("diff", "u8[1, 0, 3], 1, 0, u8[5]", "u8[3] 252 255 3"),
            ("diff", "b8[True, False, True, True], 2", "b8[2] 0 1"),
            ("diff", "i32[1, 2], 1, 0, None, i32[9]", "i32[2] 1 7"),
            ("diff", "i64[7, 9], 5", "i64[0]"),
            ("cumprod", "f32[[1, 2, 3], [4, 5, 6]], 1", "f32[2, 3] 1 2 6 4 20 120"),
            ("cummax", "f32[1, 3, 2, 3, nan, 4], 0", "f32[6] 1 3 3 3 nan nan; i64[6] 0 1 1 3 4 4"),
            ("cummin", "i64[3, 1, 2, 1], 0", "i64[4] 3 1 1 1; i64[4] 0 1 1 3"),
            ("logcumsumexp", "f32[-inf, 0, 0], 0", "f32[3] -inf 0 0.6931471824645996"),
        ]);
    }
}

mod scatter {
    #[test]
    fn writes_by_indices() {
        crate::trial::check(&[
            (
                "scatter.src",
                "f32[[1, 2, 3], [4, 5, 6]], 1, i64[[2, 0], [1, 1]], f32[[7, 8], [9, 10]]",
                "f32[2, 3] 8 2 7 4 10 6",
            ),
            (
                "scatter.value_reduce",
                "f32[[1, 2, 3], [4, 5, 6]], 1, i64[[2, 0]], 3.0, reduce=\"multiply\"",
                "f32[2, 3] 3 2 9 4 5 6",
            ),
            ("scatter_add", "i64[1, 2, 3], 0, i64[0, 0, 2], i64[1, 1, 1]", "i64[3] 3 2 4"),
            (
                "scatter_reduce.two",
                "f32[1, 2, 3], 0, i64[0, 0, 2], f32[4, 6, 8], \"mean\", include_self=False",
                "f32[3] 5 2 8",
            ),
            ("scatter_reduce.two", "f32[1, 2, 3], 0, i64[0, 0, 2], f32[4, nan, 8], \"amax\"", "f32[3] nan 2 8"),
            ("scatter_reduce.two", "i64[-7, 2, 3], 0, i64[0, 0, 2], i64[4, -6, 8], \"mean\"", "i64[3] -3 2 5"),
            (
                "index_add",
                "f32[[1, 2, 3], [4, 5, 6]], 1, i64[0, 0], f32[[1, 2], [3, 4]], alpha=2",
                "f32[2, 3] 7 2 3 18 5 6",
            ),
            ("index_copy", "f32[[1, 2, 3], [4, 5, 6]], 0, i64[1], f32[[9, 9, 9]]", "f32[2, 3] 1 2 3 9 9 9"),
            ("index_fill.int_Scalar", "f32[[1, 2, 3], [4, 5, 6]], 1, i64[-1], 0", "f32[2, 3] 1 2 0 4 5 0"),
            ("index_reduce", "f32[2, 3], 0, i64[0, 0, 1], f32[4, 5, 6], \"prod\", include_self=False", "f32[2] 20 6"),
            ("put", "i64[1, 2, 3], i64[-1, -1], i64[5, 6], True", "i64[3] 1 2 14"),
            ("scatter_add", "i64[1, 2, 3], 0, i64[3], i64[1]", "error"),
        ]);
    }
}

mod segment {
    #[test]
    fn reduces_segments() {
        crate::trial::check(&[
            ("segment_reduce", "f32[1, 2, 3], \"sum\", lengths=i64[2, 0, 1]", "f32[3] 3 0 3"),
            ("segment_reduce", "f32[1, 2, 3], \"mean\", offsets=i64[0, 2, 2, 3]", "f32[3] 1.5 nan 3"),
            ("segment_reduce", "f32[1, 2, 3], \"max\", lengths=i64[1]", "error"),
        ]);
    }
}

mod sort {
    #[test]
    fn orders_with_nan_last() {
        crate::trial::check(&[
            ("sort", "f32[[3, nan, 1]]", "f32[1, 3] 1 3 nan; i64[1, 3] 2 0 1"),
            ("sort", "i64[1, 3, 1], 0, True", "i64[3] 3 1 1; i64[3] 1 0 2"),
            ("argsort", "i64[3, 1, 2]", "i64[3] 1 2 0"),
            ("msort", "i64[[2, 1], [1, 2]]", "i64[2, 2] 1 1 2 2"),
            ("topk", "i64[1, 5, 3, 5], 2", "i64[2] 5 5; i64[2] 1 3"),
            ("topk", "f32[1, nan, 3], 2, 0, False", "f32[2] 1 3; i64[2] 0 2"),
            ("topk", "i64[0, 3, 1, 2, 5, 0, 4], 4, 0, True, False", "i64[4] 3 4 5 2; i64[4] 1 6 4 3"),
            ("kthvalue", "i64[[4, 1, 3]], 2, 1, True", "i64[1, 1] 3; i64[1, 1] 2"),
        ]);
    }
}

mod unique {
    #[test]
    fn finds_different_elements() {
        crate::trial::check(&[
            ("_unique2", "i64[3, 1, 3], True, True, True", "i64[2] 1 3; i64[3] 1 0 1; i64[2] 1 2"),
            ("_unique2", "f32[nan, 1, nan]", "f32[3] 1 nan nan; i64[0]; i64[0]"),
            ("unique_consecutive", "i64[1, 1, 2, 1], True, True", "i64[3] 1 2 1; i64[4] 0 0 1 2; i64[3] 2 1 1"),
            (
                "unique_dim",
                "i64[[2, 1], [1, 1], [2, 1]], 0, True, True, True",
                "i64[2, 2] 1 1 2 1; i64[3] 1 0 1; i64[2] 1 2",
            ),
        ]);
    }
}

mod view_backward {
    use crate::waves::call;
    use oxport_ir::Arg;
    use oxport_tensor::Tensor;

    #[test]
    fn puts_gradients_where_they_came_from() {
        crate::trial::check(&[
            ("masked_scatter_backward", "f32[1, 2, 3], b8[True, False, True], [4]", "f32[4] 1 3 0 0"),
            ("resize", "f32[[1, 2], [3, 4]], [3]", "f32[3] 1 2 3"),
        ]);
    }

    /// Elements follow each other as a clone has them in memory; from PyTorch 2.15.
    #[test]
    fn resizes_memory() {
        let x = Tensor::from_vec(&[2, 3], (1..7).map(|i| i as f32).collect()).unwrap();
        let turned = x.view(|l| l.transpose(0, 1)).unwrap();
        let column = turned.view(|l| l.slice(0, None, None, 2)).unwrap();
        let repeated = x.view(|l| l.narrow(0, 1, 1)?.expand(&[2, 3])).unwrap();
        for (x, sizes, want) in [
            (&turned, &[6][..], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0][..]),
            (&turned, &[2, 2], &[1.0, 2.0, 3.0, 4.0]),
            (&turned, &[3, 2], &[1.0, 4.0, 2.0, 5.0, 3.0, 6.0]),
            (&column, &[4], &[1.0, 3.0, 4.0, 6.0]),
            (&repeated, &[4], &[4.0, 5.0, 6.0, 4.0]),
        ] {
            let size = Arg::List(sizes.iter().map(|&n| Arg::Int(n)).collect());
            let got = call("aten::resize", &[Arg::Tensor(x.clone()), size, Arg::None]).unwrap().remove(0);
            assert_eq!(got.to_vec::<f32>().unwrap(), want, "{sizes:?}");
        }
    }
}
