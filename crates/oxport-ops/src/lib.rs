//! The operator tables, a folder per area and a file per family: schema, doc, meta, kernel, decomposition, cost and
//! samples side by side, `*_backward` beside its forward.
//!
//! [`registry`] is what the other crates are given. A new operator is one row in one family file; a new family is one
//! file and one word in the list below. `docs/add-an-op.md` walks through it.
//!
//! Laws: every schema is the pinned one of `schemas/aten_schemas.txt` (where PyTorch has the operator); a meta function
//! decides dtype, sizes *and* strides of a result, as PyTorch's CPU kernels do, and the kernel fills what it is given.

use oxport_ir::{OpDef, Registry};
use std::sync::OnceLock;

macro_rules! families {
    ($($folder:ident $doc:literal [$($support:ident),*] { $($family:ident),* })*) => {
        $(
            #[doc = $doc]
            pub mod $folder {
                $(pub mod $support;)*
                $(pub mod $family;)*
            }
        )*
        /// The tables of all families, by folder and file.
        pub static FAMILIES: &[(&str, &[OpDef])] =
            &[$($((concat!(stringify!($folder), "/", stringify!($family)), $folder::$family::OPS),)*)*];
        /// The tables of all families.
        pub static TABLES: &[&[OpDef]] = &[$($($folder::$family::OPS,)*)*];
    };
}

// A folder, what its files share, and the files with a table `OPS` each.
families! {
    support "What the families share: classes of operators, metas, loops over rows and slices." [
        checks, class, complex_parts, composite, dense, gather, linear_backward, meta, product, promote,
        rowmajor, rows
    ] {
    }
    pointwise "Elementwise operators." [bessel, orthogonal, scalar_math] {
        activation, arithmetic, backward, cast, clamp, compare, complex, power, specials, ternary, unary
    }
    reduce "Reductions, scans, orders and counts." [over] {
        covariance, gradient, histogram, histogramdd, integrate, minmax, moments, quantiles, scan,
        searchsorted, segment, sort, sums, unique
    }
    view "Views and rearrangements of elements." [by_meta] {
        expand, flip, join, repeat, reshape, scatter_views, slice, split, transpose, triangular, view_backward
    }
    index "Reading and writing by indices and masks." [] {
        advanced, combinatorics, masked, scatter, select
    }
    create "Tensors from nothing." [] {
        constants, distributions, random, ranges, windows
    }
    linalg "Products and factorizations of matrices, distances of vectors."
        [bidiagonal, matrices, spectral, tridiagonal, turns] {
        check, cholesky, contract, cross, distance, distance_backward, eig, einsum, function, grouped, kron, ldl,
        linear, lu, matmul, norm, qr, rank, solve, svd, triangular, vander, vector_norm
    }
    nn "Layers of neural networks, their losses, and the gradients of both." [batch_norm_stats] {
        attention, attention_backward, batch_norm, class_loss, conv, conv_backward, ctc, dropout, embedding,
        embedding_bag, embedding_bag_backward, encoder, fold, foreach, group_norm, loss, loss_backward, norm,
        norm_backward, pad, pad_backward, pool, pool_backward, rnn, sequences, shuffle, softmax,
        softmax_backward, weight_norm
    }
    resample "Resampling of images." [] {
        grid, grid_backward, resize, resize_backward
    }
    fft "Fourier transforms." [] {
        stft, transforms
    }
    quantize "Quantization." [] {
        affine, torchao
    }
    detection "Regions of images." [] {
        deform, roi
    }
    audio "Filters of waveforms." [] {
        filter
    }
    symbolic "Numbers: sizes, assertions, Python's own functions." [python_number] {
        numbers, python
    }
    prims "PyTorch's primitive operators." [] {
        elementwise, movement
    }
    hop "Operators that take subgraphs." [] {
        control_flow
    }
}

/// The pinned schemas: every overload that PyTorch 2.15 registers, with its tags. (The file is a link, which `cargo
/// package` replaces by what it points to.)
pub static SCHEMAS: &str = include_str!("../aten_schemas.txt");

/// All operators of this crate over the pinned schemas.
pub fn registry() -> &'static Registry {
    static REGISTRY: OnceLock<Registry> = OnceLock::new();
    REGISTRY.get_or_init(|| Registry::new(TABLES, SCHEMAS))
}
