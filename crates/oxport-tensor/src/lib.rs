//! Tensors: dtypes, layouts, storages, and the dtype-generic loops that kernels are made of.

pub mod conv;
pub mod gemm;
mod scratch;
