//! PyTorch's CPU autocast: which operators compute in the low precision, which in float32, which in the widest dtype of
//! their tensors. The lists are those of `aten/src/ATen/autocast_mode.cpp` for the CPU, as facts.

use oxport_ir::{Argument, Builder, NodeId, Op, Result};
use oxport_tensor::DType;

/// The casts of one autocast block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Casts {
    /// The dtype to compute in: bfloat16 or float16.
    pub low: DType,
}

/// Operators that compute in the low precision.
const LOW: &[&str] = &[
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_tbc",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "_convolution",
    "mm",
    "bmm",
    "addmm",
    "addbmm",
    "baddbmm",
    "matmul",
    "linear",
    "linalg_vecdot",
    "prelu",
    "scaled_dot_product_attention",
    "_native_multi_head_attention",
    "_addmm_activation",
    "mkldnn_rnn_layer",
];

/// Operators that compute in float32.
const FULL: &[&str] = &[
    "mse_loss",
    "l1_loss",
    "smooth_l1_loss",
    "huber_loss",
    "nll_loss",
    "nll_loss_nd",
    "nll_loss2d",
    "cross_entropy_loss",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "kl_div",
    "margin_ranking_loss",
    "hinge_embedding_loss",
    "cosine_embedding_loss",
    "poisson_nll_loss",
    "ctc_loss",
    "triplet_margin_loss",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "soft_margin_loss",
    "prod",
    "quantile",
    "nanquantile",
    "trace",
    "cdist",
    "polar",
    "view_as_complex",
    "grid_sampler",
    "grid_sampler_2d",
    "grid_sampler_3d",
    "avg_pool3d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool3d",
    "max_pool3d",
    "fractional_max_pool2d",
    "fractional_max_pool3d",
    "max_unpool2d",
    "max_unpool3d",
    "reflection_pad1d",
    "reflection_pad2d",
    "reflection_pad3d",
    "replication_pad1d",
    "replication_pad2d",
    "replication_pad3d",
    "stft",
];

/// Operators that compute in the widest dtype of their tensors.
const WIDEST: &[&str] = &["cat", "stack", "index_copy"];

/// The arguments of a call with the casts that autocast makes.
pub(crate) fn cast_arguments(b: &mut Builder<'_>, op: &Op, args: Vec<Argument>, casts: Casts) -> Result<Vec<Argument>> {
    let short = op.short_name().split('.').next().unwrap_or("");
    if op.namespace() != "aten" {
        return Ok(args);
    }
    let is_full =
        FULL.contains(&short) || short.starts_with("fft_") || short.starts_with("linalg_") && short != "linalg_vecdot";
    let to = if LOW.contains(&short) {
        casts.low
    } else if is_full {
        DType::F32
    } else if WIDEST.contains(&short) {
        let mut widest = casts.low;
        for a in &args {
            a.for_each_node(&mut |n| {
                if b.fake(n).is_ok_and(|t| t.dtype == DType::F32) {
                    widest = DType::F32;
                }
            });
        }
        widest
    } else {
        return Ok(args);
    };
    let mut failed = None;
    let args = args
        .iter()
        .map(|a| {
            a.map_nodes(&mut |n| {
                cast(b, n, to).unwrap_or_else(|e| {
                    failed = Some(e);
                    Argument::Node(n)
                })
            })
        })
        .collect();
    failed.map_or(Ok(args), Err)
}

/// A floating tensor of 16 or 32 bits in another dtype; anything else as it is.
fn cast(b: &mut Builder<'_>, n: NodeId, to: DType) -> Result<Argument> {
    let castable = matches!(b.fake(n).map(|t| t.dtype), Ok(DType::F32 | DType::F16 | DType::BF16));
    if !castable || b.fake(n)?.dtype == to {
        return Ok(n.into());
    }
    Ok(b.call_kw("aten::_to_copy", (n,), &[("dtype", to.into())])?.into())
}
