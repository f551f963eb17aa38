//! The operator tables: one file a family; schema, doc, meta, kernel, decomposition, cost and samples side by side.
//!
//! [`registry`] is what the other rooms are handed. A new operator is one entry in one family file; a new family is one
//! file and one word in the list below. `docs/add-an-op.md` walks through it.
//!
//! Laws: every schema is the pinned one of `schemas/aten_schemas.txt` (where PyTorch has the operator); a meta function
//! decides dtype, sizes *and* strides of a result, as PyTorch's CPU kernels do, and the kernel fills what it is given.

use oxport_ir::{OpDef, Registry};
use std::sync::OnceLock;

mod batch_norm_stats;
pub mod bessel;
pub mod class;
mod complex_parts;
mod composite;
pub mod dense;
pub mod gather;
pub mod linalg;
pub mod linear_backward;
pub mod meta;
pub mod nn;
pub mod orthogonal;
pub mod product;
pub mod promote;
pub mod python_number;
pub mod rowmajor;
pub mod rows;
pub mod special;

macro_rules! families {
    ($($family:ident,)*) => {
        $(pub mod $family;)*
        /// The tables of all families, by the family's name.
        pub static FAMILIES: &[(&str, &[OpDef])] = &[$((stringify!($family), $family::OPS)),*];
        /// The tables of all families.
        pub static TABLES: &[&[OpDef]] = &[$($family::OPS),*];
    };
}

// Each is a file with a table `OPS`.
families! {
    activation,
    advanced,
    arithmetic,
    attention,
    attention_backward,
    backward,
    batch_norm,
    bins,
    cast,
    class_loss,
    combinatorics,
    compare,
    contract,
    conv,
    conv_backward,
    covariance,
    create,
    ctc,
    deform,
    distance,
    distance_backward,
    einsum,
    embed,
    embedding,
    embedding_bag,
    embedding_bag_backward,
    encoder,
    fft,
    fold,
    foreach,
    gradient,
    grid,
    grid_backward,
    grouped,
    higher_order,
    histogram,
    histogramdd,
    index,
    integrate,
    join,
    linalg_check,
    linalg_cholesky,
    linalg_cross,
    linalg_eig,
    linalg_function,
    linalg_ldl,
    linalg_lu,
    linalg_norm,
    linalg_qr,
    linalg_rank,
    linalg_solve,
    linalg_svd,
    linalg_triangular,
    linear,
    loss,
    loss_backward,
    masked,
    matmul,
    minmax,
    moments,
    norm,
    norm_backward,
    pad,
    pointwise,
    pool,
    pool_backward,
    power,
    primitive,
    prims,
    python,
    quantiles,
    quantize,
    random,
    ranges,
    reduce,
    repeat,
    resample,
    resample_backward,
    reshape,
    rnn,
    roi,
    scan,
    scatter,
    segment,
    sequences,
    softmax,
    sort,
    specials,
    split,
    stft,
    symbolic,
    ternary,
    torchao,
    unique,
    view,
    view_backward,
    weight_norm,
}

/// The pinned schemas: every overload that PyTorch 2.15 registers, with its tags.
pub static SCHEMAS: &str = include_str!("../../../schemas/aten_schemas.txt");

/// All operators of this crate over the pinned schemas.
pub fn registry() -> &'static Registry {
    static REGISTRY: OnceLock<Registry> = OnceLock::new();
    REGISTRY.get_or_init(|| Registry::new(TABLES, SCHEMAS))
}
